"""F9: whoever is killed at whatever step, once the owner is dead nothing is left, the ports can be
had, and the next launch works.

A step is brought about by an event (the server's first instruction, a message of the daemon, the
result of a launch), and a short offset from a seeded generator moves the blow within the step.
TETHER_SEED repeats or varies a run."""
import os
import random

import pytest

from harness import IS_WINDOWS, Process
from scene import (SessionProcess, Watched, find_daemon, find_guard, is_alive, kill, server_of, stamps_at, stays,
                   wait_alone, wait_until)
from tether import SERVER, Instance, http_get, start_owner

HERE = "windows" if IS_WINDOWS else "linux"
SEED = os.environ.get("TETHER_SEED", "1")
OPTIONS = ["--grace-ms", "0", "--stop-grace-ms", "150", "--owner-env", "SOME_OWNER"]
MOST = {"linux": 0.02, "windows": 0.2}  # seconds that a blow is moved by; under Wine each step takes longer


class Scene:
    """An instance with its owner and all that a blow may be aimed at."""

    def __init__(self, it, owner, stamps, escapes, offset):
        self.it, self.owner, self.stamps, self.escapes, self.offset = it, owner, stamps, escapes, offset
        self.launcher = None
        self.server = None
        self.hit = None

    def begin_launch(self, *options):
        command = [SERVER, "--stamp", self.stamps.path, "--escape", self.escapes.path]
        self.launcher = Process(self.it.argv("launch", *OPTIONS, *options, "--owner-pid", self.owner.pid, "--",
                                             *command), self.it.env)

    def launch(self):
        self.begin_launch()
        assert self.launcher.wait() == 0, self.launcher.output
        self.server = self.stamps.pids(1)[0]

    def pid_of(self, victim):
        if victim == "launcher":
            return self.launcher.pid if self.launcher and self.launcher.popen.poll() is None else None
        if victim == "owner":
            return self.owner.pid
        if victim == "server":
            return self.server if self.server and is_alive(self.server) else None
        daemon = find_daemon(self.it)
        return daemon if victim == "daemon" else find_guard(daemon)

    def strike(self, victim):
        """Kills the victim, if it is there at this moment."""
        stays(os.getpid(), self.offset)
        pid = self.pid_of(victim)
        if pid:
            kill(pid)
            self.hit = pid


# ---- steps: each brings its moment about and strikes in it ---------------------------------------

def at_the_launch(scene, victim):
    scene.begin_launch()
    scene.strike(victim)


def when_there_is_a_daemon(scene, victim):
    scene.begin_launch()
    wait_until(lambda: find_daemon(scene.it) or scene.launcher.popen.poll() is not None, "there is a daemon")
    scene.strike(victim)


def when_the_server_begins(scene, victim):
    scene.begin_launch()
    scene.server = scene.stamps.pids(1)[0]
    scene.strike(victim)


def when_it_is_ready(scene, victim):
    scene.launch()
    scene.strike(victim)


def when_it_has_a_session(scene, victim):
    """An editor other than the owner: it keeps the server, so it ends after the blow."""
    scene.launch()
    with SessionProcess(scene.it.endpoint) as editor:
        assert editor.welcomed
        scene.strike(victim)


def during_an_adoption(scene, victim):
    scene.launch()
    scene.launcher.stop()
    scene.begin_launch()
    scene.strike(victim)


def when_a_restart_begins(scene, victim):
    scene.launch()
    with scene.it.control() as control:
        control.hello(role="cli")
        assert control.request("restart")["ok"]
        scene.strike(victim)


def when_the_restarted_server_begins(scene, victim):
    scene.launch()
    with scene.it.control() as control:
        control.hello(role="cli")
        assert control.request("restart")["ok"]
        scene.server = scene.stamps.pids(1)[0]
        scene.strike(victim)


def after_a_crash(scene, victim):
    scene.launch()
    kill(scene.server)
    scene.strike(victim)


def when_the_crashed_server_begins_again(scene, victim):
    scene.launch()
    kill(scene.server)
    scene.server = scene.stamps.pids(1)[0]
    scene.strike(victim)


def when_the_stop_begins(scene, victim):
    scene.launch()
    with scene.it.control() as control:
        control.hello(role="cli")
        assert control.request("stop")["ok"]
        scene.strike(victim)


def when_the_tree_is_being_killed(scene, victim):
    """Past the stop grace, in which the stubborn tree does nothing."""
    scene.launch()
    with scene.it.control() as control, Watched([scene.server]) as server:
        control.hello(role="cli")
        assert control.request("stop")["ok"]
        try:
            server.wait()
        finally:
            scene.strike(victim)


def after_the_owner(scene, victim):
    scene.launch()
    scene.owner.kill()
    scene.strike(victim)


STEPS = [at_the_launch, when_there_is_a_daemon, when_the_server_begins, when_it_is_ready, when_it_has_a_session,
         during_an_adoption, when_a_restart_begins, when_the_restarted_server_begins, after_a_crash,
         when_the_crashed_server_begins_again, when_the_stop_begins, when_the_tree_is_being_killed,
         after_the_owner]
VICTIMS = ["launcher", "daemon", "guard", "server", "owner"]
NOT_THERE = {"linux": [], "windows": ["guard"]}  # of them
# In these the launcher is still there, or starts a second time.
LAUNCHING = (at_the_launch, when_there_is_a_daemon, when_the_server_begins, during_an_adoption)
POINTS = [(step, victim) for step in STEPS for victim in VICTIMS
          if (victim != "launcher" or step in LAUNCHING) and (victim, step) != ("owner", after_the_owner)]
# Where the victim is there for certain, so that a blow that hits nobody is a fault of the test.
CERTAIN = {(step, victim) for step in (when_it_is_ready, when_it_has_a_session) for victim in VICTIMS[1:]}
CERTAIN |= {(step, "owner") for step, victim in POINTS}
# What the sweep checks at each point, in the order in which it does; docs/kill-table.md publishes it.
CHECKS = ["the launcher has ended by itself;",
          "no process of the server's tree, no daemon and no guard is left;",
          "both ports can be had at once;",
          "the next launch, with another owner, starts a new server, which ends with that owner."]

HITS = {}


def check_the_next_launch(it, stamps):
    """With another owner, and without left-overs in the way."""
    with start_owner() as owner:
        result = it.launch("--grace-ms", 0, "--owner-pid", owner.pid, command=[SERVER, "--stamp", stamps.path])
        assert result["code"] == 0 and result["result"] == "started", result
        assert http_get(it.http)[1].endswith(b"server %d\n" % server_of(it))
        owner.kill()
        it.wait_end()
        assert it.ports_are_free()


@pytest.mark.parametrize("step,victim", POINTS, ids=lambda value: getattr(value, "__name__", value))
def test_F9_kill(state_dir, tmp_path, step, victim):
    random_offsets, most = random.Random("%s %s %s" % (SEED, step.__name__, victim)), MOST[HERE]
    offset = random_offsets.choice([0, random_offsets.uniform(0, most / 5), random_offsets.uniform(0, most)])
    with stamps_at(tmp_path / "stamps") as stamps, stamps_at(tmp_path / "escapes") as escapes, Instance(state_dir) as it:
        owner = start_owner()
        scene = Scene(it, owner, stamps, escapes, offset)
        try:
            step(scene, victim)
            HITS[step, victim] = bool(scene.hit)
            assert scene.hit or (step, victim) not in CERTAIN
            if owner.popen.poll() is None:
                owner.kill()
            scene.launcher.wait()  # CHECKS, from here on
            wait_alone()
            wait_until(it.ports_are_free, "both ports are free", limit=5)
        except BaseException:
            print("offset %.1f ms\n%s" % (offset * 1000, it.log() if os.path.isdir(it.directory) else "no log"))
            raise
        finally:
            owner.stop()
            scene.launcher.stop()
        check_the_next_launch(it, stamps)


def test_F9_blows_hit_somebody():
    """The sweep above is worth something only if the victims are there when they are aimed at."""
    if set(HITS) != {point for point in POINTS if point[1] not in NOT_THERE[HERE]}:
        pytest.skip("only a part of the sweep was run")
    missed = ["%s %s" % (victim, step.__name__) for (step, victim), hit in HITS.items() if not hit]
    print("missed: %s" % missed)
    assert len(missed) <= 15, missed
