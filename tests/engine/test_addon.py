"""The addon itself, with the built-in server: the rows about reloading, restarting and killing again."""
import json
import os
import time

import editor
from harness import TETHER, free_ports, run, wait_gone
from plugin_scene import Scene
from scene import Watched, owner_variables, wait_until
from test_reload import RELOAD, restartable
from tether import can_bind, identity

BUDGET = 3.0  # seconds; half a second, on a machine that has nothing else to do


def test_A1_A2_A11_addon_keeps_one_server_through_everything_but_its_end(tmp_path, state_dir):
    ports = free_ports()
    env = {"TETHER_HTTP_PORT": str(ports[0]), "TETHER_WS_PORT": str(ports[1])}

    def status():
        argv = [TETHER, "status", "--json", "--http-port", str(ports[0]), "--ws-port", str(ports[1])]
        done = run(argv, {"TETHER_STATE_DIR": state_dir})
        return json.loads(done.output) if done.status == 0 else None

    def settled(pid):
        """The status once this editor is the one session, connected, and the owner."""
        def look():
            now = status()
            sessions = now["sessions"] if now and now["state"] == "ready" else []
            found = [(session["pid"], session["link"]) for session in sessions] == [(pid, "connected")]
            return now if found and now["owner"]["pid"] == pid else None
        return wait_until(look, "one session of %d" % pid)

    def check_same(now, pid):
        assert now["server"]["pid"] == first["server"]["pid"] and now["restarts"] == 0
        assert now["daemon"] == first["daemon"] and now["owner"] == dict(identity(pid), alive=True)

    with Scene(str(tmp_path / "p"), state_dir, ("driver", "tether"), env, command=restartable) as scene:
        first = settled(scene.pid)
        for part in ("daemon", "server"):
            assert owner_variables(first[part]["pid"]) == {
                "TETHER_OWNER_PID": str(scene.pid), "TETHER_OWNER_START": identity(scene.pid)["start"]}

        def session():
            return settled(scene.pid)["sessions"][0]["session"]

        for change in ('EditorInterface.set_plugin_enabled("tether", false)\n'
                       'EditorInterface.set_plugin_enabled("tether", true)',
                       '(load("res://addons/tether/plugin.gd") as GDScript).reload(true)', RELOAD):
            before = session()
            scene.run(change)
            if "load(" not in change:  # it comes back in another session, when the old one has left
                wait_until(lambda: session() != before, "another session after " + change)
            check_same(settled(scene.pid), scene.pid)

        seen = len(scene.link.events)
        scene.post("EditorInterface.restart_editor.call_deferred(false)")
        wait_gone(scene.pid)
        successor = scene.wait_here(seen)
        now = settled(successor)
        check_same(now, successor)

        with Watched([successor]) as watched, Watched(
                [now[part]["pid"] for part in ("daemon", "guard", "server")]) as tree:
            assert editor.complaints(scene.process.output) == []
            os.kill(successor, 9)
            dead = watched.wait()
            tree.wait()
            took = time.monotonic() - dead
        assert can_bind(ports[0]) and can_bind(ports[1])
        print("SIGKILL of the editor: the built-in server's tree is gone after %.0f ms" % (took * 1000))
        assert took < BUDGET
