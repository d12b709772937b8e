"""Many editors on one machine, an instance each, as where agents or builds have one each: who is killed takes
its own server with it, and nobody else's. `./dev soak farm` does it with more of them."""
import contextlib
import glob
import json
import os
import random

from editor import START_LIMIT, editor, make_project
from harness import free_range, run
from plugin_scene import SETTINGS
from scene import Watched, wait_until
from tether import TETHER, can_bind, http_get

EDITORS = int(os.environ.get("TETHER_FARM_EDITORS", "3"))
SEED = os.environ.get("TETHER_SEED") or str(random.randrange(1 << 32))
WISHED = '[tether]\n\nserver/ports="auto"\nserver/http_port=%d\nserver/ws_port=%d\n'


class Job:
    """An editor on a project and a place of its own. It wishes for the same ports as all others."""

    def __init__(self, folder, ports):
        self.state_dir = os.path.join(folder, "state")
        os.makedirs(self.state_dir, 0o700)
        project = make_project(os.path.join(folder, "p"))
        with open(os.path.join(project, "project.godot"), "w") as file:
            file.write(SETTINGS % ("Job", '"res://addons/tether/plugin.cfg"') + WISHED % ports)
        self.process = editor(project, env={"TETHER_HEADLESS": "1", "TETHER_STATE_DIR": self.state_dir})
        self.seen = self.tree = None

    def look(self):
        """What its server is doing, going by its place alone; None: nothing yet."""
        for record in glob.glob(os.path.join(self.state_dir, "*", "state.json")):
            status = self.status(os.path.basename(os.path.dirname(record)))
            if status and status["state"] == "ready" and status["sessions"]:
                return status
        return None

    def status(self, name):
        http, ws = name.split("-")
        done = run([TETHER, "status", "--json", "--http-port", http, "--ws-port", ws],
                   {"TETHER_STATE_DIR": self.state_dir})
        return json.loads(done.output) if done.status == 0 else None

    def wait_ready(self):
        self.seen = wait_until(self.look, "the server of editor %d is ready" % self.process.pid, START_LIMIT)
        self.tree = Watched([self.seen["daemon"]["pid"], self.seen["guard_pid"], self.seen["server"]["pid"]])

    @property
    def ports(self):
        return self.seen["server"]["http_port"], self.seen["server"]["ws_port"]

    def assert_gone(self):
        self.tree.wait()
        wait_until(lambda: all(can_bind(port) for port in self.ports), "the ports of a killed editor are free")

    def assert_untouched(self):
        now = self.status("%d-%d" % self.ports)
        assert now["daemon"] == self.seen["daemon"] and now["server"]["pid"] == self.seen["server"]["pid"]
        assert now["restarts"] == 0 and [session["pid"] for session in now["sessions"]] == [self.process.pid]
        assert http_get(self.ports[0], "/status")[0] == 200


def test_A11_who_is_killed_among_many_takes_its_own_server_along(tmp_path):
    print("seed %s" % SEED)
    ports = free_range(EDITORS), free_range(EDITORS)
    with contextlib.ExitStack() as stack:
        jobs = []
        for number in range(EDITORS):
            jobs.append(Job(str(tmp_path / str(number)), ports))
            stack.callback(jobs[-1].process.stop)
            jobs[-1].wait_ready()
            stack.enter_context(jobs[-1].tree)
        assert len({port for job in jobs for port in job.ports}) == 2 * EDITORS
        victims = random.Random(SEED).sample(jobs, max(1, EDITORS // 3))
        for job in victims:
            job.process.kill()
        for job in victims:
            job.assert_gone()
        for job in jobs:
            if job not in victims:
                job.assert_untouched()
                job.process.kill()
        for job in jobs:
            job.assert_gone()
