"""Rows A5, A10, A11, F3: what becomes of the server when editors end, each in its own way."""
import json
import os
import time

import pytest

from harness import TETHER, Process, end_strays, free_ports, run, system, wait_gone
from plugin_scene import Scene
from scene import Watched, is_alive, state_of, wait_until
from tether import SERVER, can_bind, identity

BUDGET = 10.0  # seconds; half a second, on a machine that has nothing else to do. What no event told would take 30


def subject_of(ports, **more):
    properties = {"command": [SERVER], "http_port": ports[0], "ws_port": ports[1]}
    properties.update(more)
    return {"SUBJECT": json.dumps(properties)}


def status_of(ports, state_dir):
    argv = [TETHER, "status", "--json", "--http-port", str(ports[0]), "--ws-port", str(ports[1])]
    return json.loads(run(argv, {"TETHER_STATE_DIR": state_dir}).output)


def wait_status(ports, state_dir, sessions, owner):
    """The status once there are so many sessions, and this editor is the owner: one is told before the other."""
    def look():
        status = status_of(ports, state_dir)
        found = len(status["sessions"]) == sessions and status["owner"] == dict(identity(owner.pid), alive=True)
        return status if found else None
    return wait_until(look, "%d sessions and owner %d" % (sessions, owner.pid))


def tree_of(status):
    return [status[part]["pid"] for part in ("daemon", "guard", "server") if status[part]]


def pids_in(path, count):
    """The pids that the test server's escaping children have written down."""
    def look():
        lines = path.read_text().split() if path.exists() else []
        return [int(word) for word in lines] if len(lines) >= count else None
    return wait_until(look, "%d lines in %s" % (count, path))


def open_all(scenes):
    """Waits for editors that were started at the same time."""
    for scene in scenes:
        scene.wait_here()
    return scenes


class Three:
    """Three editors of one server, which the first has started. They end one by one, for whichever test wants it
    first: the first is closed, the third is killed."""
    names = ["First game", "Second game", "Third game"]

    def __init__(self, folder):
        self.ports, self.state_dir = free_ports(), folder + "/state"
        os.mkdir(self.state_dir, 0o700)
        self.scenes = [Scene(folder + "/" + name.split()[0], self.state_dir, title=name, wait=False) for name in self.names]
        open_all(self.scenes)
        self.first, self.second, self.third = self.scenes
        self.servers = [scene.server("shared", self.ports) for scene in self.scenes]
        self.pid = self.servers[0].start()
        self.daemon = self.servers[0].daemon_pid()
        self.found = [server.start() for server in self.servers[1:]]

    def status(self):
        return status_of(self.ports, self.state_dir)

    def wait_status(self, sessions, owner):
        return wait_status(self.ports, self.state_dir, sessions, owner)

    def projects(self):
        return [session["project"] for session in self.status()["sessions"]]

    def without_the_first(self):
        if self.first in self.scenes:
            self.scenes.remove(self.first)
            self.complaints = self.first.quit()
            self.first.close()
        return self

    def without_the_third(self):
        if self.third in self.scenes:
            self.scenes.remove(self.third)
            self.third.process.kill()  # nobody waits for it: a zombie is dead as well
            wait_until(lambda: state_of(self.third.pid) in system.UNWAITED, "zombie")
        return self


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    three = Three(str(tmp_path_factory.mktemp("three")))
    processes = [scene.process for scene in three.scenes]
    for process in processes:
        Process.running.remove(process)  # what is in that list ends with each test
    yield three
    Process.running.extend(processes)
    for scene in three.scenes + [three.third]:
        scene.close()
    three.first.process.stop()
    assert end_strays() == []


def test_A5_F3_three_editors_have_one_server(three):
    assert three.found == [three.pid, three.pid]
    for scene in (three.second, three.third):
        assert "adopted" in [event["event"] for event in scene.link.events]
    assert three.projects() == three.names
    assert three.status()["why"] == "3 sessions, and owner %d lives" % three.first.pid


def test_A10_F3_what_the_closed_editor_started_stays_for_those_who_adopted_it(three):
    assert three.without_the_first().complaints == []
    status = three.wait_status(2, three.second)
    assert status["ownership"] == "adopted"
    assert status["why"] == "2 sessions, and owner %d lives" % three.second.pid


def test_A5_an_owner_that_leaves_and_lives_on_may_come_back(three):
    """As an adopter: it is no owner any more."""
    three.without_the_first().wait_status(2, three.second)
    three.servers[1].do("detach", "disable")
    three.wait_status(1, three.third)
    assert is_alive(three.second.pid)
    assert three.servers[1].start() == three.pid
    assert three.projects() == ["Third game", "Second game"]


def test_A5_A11_the_server_of_a_killed_editor_goes_to_the_one_that_is_left(three):
    three.without_the_first().without_the_third().wait_status(1, three.second)
    assert state_of(three.third.pid) in system.UNWAITED
    assert three.projects() == ["Second game"]
    assert three.status()["server"]["pid"] == three.pid and is_alive(three.pid)
    assert three.servers[1].call("get_state") == "ready"
    wait_until(lambda: three.servers[1].status()["owner"]["pid"] == three.second.pid, "it knows that it is the owner")


def test_A5_A11_with_the_last_editor_the_server_ends(three):
    status = three.without_the_first().without_the_third().wait_status(1, three.second)
    with Watched(tree_of(status) + [three.daemon]) as tree:
        three.second.process.kill()
        tree.wait()
    assert can_bind(three.ports[0]) and can_bind(three.ports[1])


def test_A11_killed_editor_leaves_no_process_and_no_port(tmp_path):
    """By SIGKILL, SIGTERM and SIGSEGV, with a server whose children try to get away."""
    scenes = []
    for number in system.DEADLY:
        (tmp_path / number.name).mkdir(mode=0o700)
        ports = free_ports()
        # An obedient root: what is measured is not its grace. Its children are killed, wherever they went.
        env = subject_of(ports, stop_grace_ms=1000, command=[SERVER, "--escape-obedient", str(tmp_path / (number.name + ".pids"))])
        scenes.append(Scene(str(tmp_path / ("p-" + number.name)), str(tmp_path / number.name),
                            ("driver", "subject"), env, wait=False))
        scenes[-1].ports = ports
    try:
        for scene, number in zip(open_all(scenes), system.DEADLY):
            subject = scene.subject(scene.ports)
            subject.wait_state("ready")
            pids = pids_in(tmp_path / (number.name + ".pids"), 5)
            with Watched(pids + tree_of(subject.status())) as tree, Watched([scene.pid]) as editor:
                scene.process.kill(number)
                dead = editor.wait()
                tree.wait()
                took = time.monotonic() - dead
                free = wait_until(lambda: subject.ports_are_free(), "free ports") and time.monotonic() - dead
            assert state_of(scene.pid) in system.UNWAITED  # nobody has waited for it
            print("%s of the editor: its tree is gone after %.0f ms, its ports are free after %.0f ms"
                  % (number.name, took * 1000, free * 1000))
            assert free < BUDGET
            left = [name for _, _, names in os.walk(scene.state_dir) for name in names
                    if name.endswith((".json", ".sock")) and name != "last.json"]
            assert left == [], left
    finally:
        for scene in scenes:
            scene.close()


HANG_S = 10
# Counts frames, apart from the driver's own count, until it is asked.
WATCH_FRAMES = '''
var seen := {"frames": 0, "longest": 0, "last": Time.get_ticks_usec()}
driver.kept["seen"] = seen
driver.kept["look"] = func() -> void:
	var now := Time.get_ticks_usec()
	seen["frames"] += 1
	seen["longest"] = maxi(seen["longest"], now - seen["last"])
	seen["last"] = now
driver.get_tree().process_frame.connect(driver.kept["look"])'''
FRAMES_SEEN = '''
driver.get_tree().process_frame.disconnect(driver.kept["look"])
return [driver.kept["seen"]["frames"], driver.kept["seen"]["longest"]]'''


def hanging_launcher(folder, rest):
    """An executable that stands in for the launcher, and a function that waits for its pid."""
    path, pid = folder / "launcher", folder / "pid"
    folder.mkdir()
    path.write_text('#!/bin/sh\necho $$ >"%s"\n%s\n' % (pid, rest))
    path.chmod(0o755)
    return str(path), lambda: pids_in(pid, 1)[0]


def test_F8_launcher_that_hangs_holds_up_no_frame_and_no_other_server(tmp_path, state_dir):
    """For 10 s, all of which frames are counted; then the server is there as if nothing had been."""
    with Scene(str(tmp_path / "p"), state_dir) as scene:
        launcher, launcher_pid = hanging_launcher(tmp_path / "slow", 'sleep %d\nexec "%s" "$@"' % (HANG_S, TETHER))
        slow = scene.server("slow", launcher=launcher)
        began = time.monotonic()
        scene.run(WATCH_FRAMES + '\n%s.start()' % slow.reach)
        slow.wait_state("launching")

        other = scene.server("other")
        pid, daemon = other.start(), other.daemon_pid()

        assert is_alive(launcher_pid()) and slow.call("get_state") == "launching"
        slow.wait_state("ready")
        took = time.monotonic() - began
        frames, longest = scene.run(FRAMES_SEEN)
        print("with a launcher that hangs: %d frames in %.1f s, the longest gap %.0f ms" % (frames, took, longest / 1000))
        assert took > HANG_S and longest < HANG_S / 2 * 1000000
        slow_pid, slow_daemon = slow.server_pid(), slow.daemon_pid()
        assert is_alive(slow_pid) and slow.states() == ["launching", "ready"]
        assert scene.quit() == []
        for process in (pid, daemon, slow_pid, slow_daemon):
            wait_gone(process)
        assert other.ports_are_free() and slow.ports_are_free()


def let_go(ports, state_dir):
    """The status of a server that nobody uses any more."""
    return wait_until(lambda: (lambda s: s if not s["sessions"] else None)(status_of(ports, state_dir)), "no session")


def test_A10_end_of_the_editor_waits_for_no_launcher_and_leaves_what_is_not_its_own(tmp_path, state_dir):
    """A server that is to stay, and one that was there before."""
    with Scene(str(tmp_path / "p"), state_dir) as scene:
        kept = scene.server("kept", keep_on_exit=True)
        kept_pid = kept.start()
        assert kept.status()["ownership"] == "unarmed" and kept.status()["owner"] is None

        ports = free_ports()
        manual = json.loads(run([TETHER, "launch", "--http-port", str(ports[0]), "--ws-port", str(ports[1]),
                                 "--", SERVER], {"TETHER_STATE_DIR": state_dir}).output.splitlines()[-1])
        found = scene.server("found", ports)
        assert found.start() == manual["server_pid"]

        launcher, launcher_pid = hanging_launcher(tmp_path / "never", "exec sleep 1000")
        never = scene.server("never", launcher=launcher)
        never.do("start")
        launcher = launcher_pid()
        never.wait_state("launching")
        assert is_alive(launcher)
        for order in ("stop", "restart", "start"):
            never.do(order)  # none of which waits

        assert scene.quit() == []
        wait_gone(launcher)
        assert never.ports_are_free()
        for pid, pair in ((kept_pid, (kept.http, kept.ws)), (manual["server_pid"], ports)):
            status = let_go(pair, state_dir)
            assert status["server"]["pid"] == pid and status["state"] == "ready"
            run([TETHER, "stop", "--force", "--http-port", str(pair[0]), "--ws-port", str(pair[1])],
                {"TETHER_STATE_DIR": state_dir})
            wait_gone(status["daemon"]["pid"])
