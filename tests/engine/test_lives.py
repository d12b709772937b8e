"""Rows A5, A10, A11, F3: what becomes of the server when editors end, each in its own way."""
import json
import os
import select
import signal
import socket
import time

from harness import TETHER, Process, free_ports, run, wait_gone
from plugin_scene import Scene
from scene import Watched, is_alive, kill, state_of, wait_until
from tether import SERVER, can_bind, identity

BUDGET = 3.0  # seconds; at its defaults it is to be half a second, on a machine that has nothing else to do


def subject_of(ports, **more):
    properties = {"command": [SERVER], "http_port": ports[0], "ws_port": ports[1]}
    properties.update(more)
    return {"SUBJECT": json.dumps(properties)}


def status_of(ports, state_dir):
    argv = [TETHER, "status", "--json", "--http-port", str(ports[0]), "--ws-port", str(ports[1])]
    return json.loads(run(argv, {"TETHER_STATE_DIR": state_dir}).output)


def tree_of(status):
    return [status[part]["pid"] for part in ("daemon", "guard", "server")]


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


def test_A5_A10_A11_F3_server_lives_until_the_last_of_three_editors(tmp_path, state_dir):
    """The first, which started it, closes; the second is killed; the third is killed."""
    ports = free_ports()
    names = ["First game", "Second game", "Third game"]
    scenes = [Scene(str(tmp_path / name.split()[0]), state_dir, title=name, wait=False) for name in names]
    try:
        first, second, third = open_all(scenes)
        servers = [scene.server("shared", ports) for scene in scenes]
        pid = servers[0].start()
        daemon = servers[0].daemon_pid()
        for server in servers[1:]:
            assert server.start() == pid
            assert "adopted" in [event["event"] for event in server.scene.link.events]
        status = status_of(ports, state_dir)
        assert [session["project"] for session in status["sessions"]] == names
        assert status["why"] == "3 sessions, and owner %d lives" % first.pid

        assert first.quit() == []  # A10: what it started stays, for others have adopted it
        status = wait_until(lambda: (lambda s: s if len(s["sessions"]) == 2 else None)(
            status_of(ports, state_dir)), "two sessions")
        assert status["owner"] == dict(identity(second.pid), alive=True) and status["ownership"] == "adopted"
        assert status["why"] == "2 sessions, and owner %d lives" % second.pid

        second.process.kill()  # nobody has waited for it yet: a zombie is dead as well
        wait_until(lambda: state_of(second.pid) == "Z", "zombie")
        status = wait_until(lambda: (lambda s: s if len(s["sessions"]) == 1 else None)(
            status_of(ports, state_dir)), "one session")
        assert state_of(second.pid) == "Z"
        assert status["owner"] == dict(identity(third.pid), alive=True)
        assert [session["project"] for session in status["sessions"]] == ["Third game"]
        assert status["server"]["pid"] == pid and is_alive(pid) and servers[2].call("get_state") == "ready"
        assert servers[2].status()["owner"]["pid"] == third.pid

        with Watched(tree_of(status) + [daemon]) as tree:
            third.process.kill()
            tree.wait()
        assert can_bind(ports[0]) and can_bind(ports[1])
    finally:
        for scene in scenes:
            scene.close()


def test_A11_killed_editor_leaves_no_process_and_no_port(tmp_path):
    """By SIGKILL, SIGTERM and SIGSEGV, with a server whose children try to get away."""
    numbers = [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV]
    scenes = []
    for number in numbers:
        (tmp_path / number.name).mkdir(mode=0o700)
        ports = free_ports()
        # An obedient root: what is measured is not its grace. Its children are killed, wherever they went.
        env = subject_of(ports, command=[SERVER, "--escape-obedient", str(tmp_path / (number.name + ".pids"))])
        scenes.append(Scene(str(tmp_path / ("p-" + number.name)), str(tmp_path / number.name),
                            ("driver", "subject"), env, wait=False))
        scenes[-1].ports = ports
    try:
        for scene, number in zip(open_all(scenes), numbers):
            subject = scene.subject(scene.ports)
            subject.wait_state("ready")
            pids = pids_in(tmp_path / (number.name + ".pids"), 5)
            with Watched(pids + tree_of(subject.status())) as tree, Watched([scene.pid]) as editor:
                scene.process.kill(number)
                dead = editor.wait()
                tree.wait()
                took = time.monotonic() - dead
                free = wait_until(lambda: subject.ports_are_free(), "free ports") and time.monotonic() - dead
            assert state_of(scene.pid) == "Z"  # nobody has waited for it
            print("%s of the editor: its tree is gone after %.0f ms, its ports are free after %.0f ms"
                  % (number.name, took * 1000, free * 1000))
            assert free < BUDGET
            left = [name for _, _, names in os.walk(scene.state_dir) for name in names
                    if name.endswith(".json") or name.endswith(".sock")]
            assert left == [], left
    finally:
        for scene in scenes:
            scene.close()


def test_F8_A10_server_that_is_to_stay_does_and_an_end_waits_for_no_launcher(tmp_path, state_dir):
    """One editor that quits with a server of its own, one that is to stay, one that was there before,
    and a launcher that hangs."""
    with Scene(str(tmp_path / "p"), state_dir) as scene:
        own = scene.server("own")
        own_pid, own_daemon = own.start(), own.daemon_pid()

        kept = scene.server("kept", keep_on_exit=True)
        kept_pid = kept.start()
        assert kept.status()["ownership"] == "unarmed" and kept.status()["owner"] is None

        ports = free_ports()
        manual = json.loads(run([TETHER, "launch", "--http-port", str(ports[0]), "--ws-port", str(ports[1]),
                                 "--", SERVER], {"TETHER_STATE_DIR": state_dir}).output.splitlines()[-1])
        found = scene.server("found", ports)
        assert found.start() == manual["server_pid"]

        hanging = tmp_path / "hanging"
        hanging.write_text("#!/bin/sh\necho $$ >%s\nexec sleep 1000\n" % (tmp_path / "pid"))
        hanging.chmod(0o755)
        never = scene.server("never", launcher=str(hanging))
        scene.run("driver.measure_frames()")
        never.do("start")
        never.wait_state("launching")
        frames, longest = scene.run("await driver.get_tree().create_timer(2).timeout\n"
                                    "return [driver.frames, driver.longest_gap_usec]")
        print("with a launcher that hangs: %d frames in 2 s, the longest gap %.0f ms" % (frames, longest / 1000))
        assert frames > 40 and longest < 1000000
        launcher = pids_in(tmp_path / "pid", 1)[0]
        assert never.call("get_state") == "launching" and is_alive(launcher)
        for order in ("stop", "restart", "start"):
            never.do(order)  # none of which waits

        began = time.monotonic()
        assert scene.quit() == []
        print("the editor quits in %.1f s" % (time.monotonic() - began))
        assert time.monotonic() - began < 10
        wait_gone(launcher)
        wait_gone(own_pid)
        wait_gone(own_daemon)
        assert own.ports_are_free() and never.ports_are_free()
        for pid, pair in ((kept_pid, (kept.http, kept.ws)), (manual["server_pid"], ports)):
            status = wait_until(lambda: (lambda s: s if not s["sessions"] else None)(
                status_of(pair, state_dir)), "no session")
            assert status["server"]["pid"] == pid and status["state"] == "ready"
            run([TETHER, "stop", "--force", "--http-port", str(pair[0]), "--ws-port", str(pair[1])],
                {"TETHER_STATE_DIR": state_dir})
            wait_gone(status["daemon"]["pid"])
