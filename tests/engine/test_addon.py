"""The addon itself, with the built-in server: the rows about reloading, restarting and killing again."""
import json
import os
import time

import pytest

import editor
from harness import TETHER, Process, descendants_of, end_strays, free_ports, run, wait_gone
from plugin_scene import Scene
from scene import Watched, kill, owner_variables, wait_until
from test_reload import RELOAD, restartable
from tether import can_bind, identity

BUDGET = 10.0  # seconds; half a second, on a machine that has nothing else to do. What no event told would take 30


class Addon:
    """An editor with the addon, and the status of its server."""

    def __init__(self, folder):
        self.state_dir = folder + "/state"
        os.mkdir(self.state_dir, 0o700)
        self.ports = free_ports()
        env = {"TETHER_HTTP_PORT": str(self.ports[0]), "TETHER_WS_PORT": str(self.ports[1])}
        self.scene = Scene(folder + "/p", self.state_dir, ("driver", "tether"), env, command=restartable)
        self.pid = self.scene.pid  # another one, once it has restarted
        self.settled()

    def status(self):
        argv = [TETHER, "status", "--json", "--http-port", str(self.ports[0]), "--ws-port", str(self.ports[1])]
        done = run(argv, {"TETHER_STATE_DIR": self.state_dir})
        return json.loads(done.output) if done.status == 0 else None

    def settled(self):
        """The status once the editor is the one session, connected, and the owner."""
        def look():
            now = self.status()
            sessions = now["sessions"] if now and now["state"] == "ready" else []
            found = [(session["pid"], session["link"]) for session in sessions] == [(self.pid, "connected")]
            return now if found and now["owner"] == dict(identity(self.pid), alive=True) else None
        return wait_until(look, "one session of %d" % self.pid)

    def check_same(self, before):
        now = self.settled()
        assert now["server"]["pid"] == before["server"]["pid"] and now["restarts"] == before["restarts"]
        assert now["daemon"] == before["daemon"]


@pytest.fixture(scope="module")
def addon(tmp_path_factory):
    """One for all tests of this file, of which the last one kills it."""
    addon = Addon(str(tmp_path_factory.mktemp("addon")))
    Process.running.remove(addon.scene.process)  # what is in that list ends with each test
    yield addon
    kill(addon.pid)
    Process.running.append(addon.scene.process)
    addon.scene.close()
    assert end_strays() == []


def test_A2_daemon_and_server_are_told_their_owner(addon):
    now = addon.settled()
    for part in ("daemon", "server"):
        assert owner_variables(now[part]["pid"]) == {
            "TETHER_OWNER_PID": str(addon.pid), "TETHER_OWNER_START": identity(addon.pid)["start"]}


def test_A1_plugin_that_is_off_and_on_finds_the_same_server(addon):
    before = addon.settled()
    addon.scene.run('EditorInterface.set_plugin_enabled("tether", false)\n'
                    'EditorInterface.set_plugin_enabled("tether", true)')
    old = before["sessions"][0]["session"]
    wait_until(lambda: addon.settled()["sessions"][0]["session"] != old, "another session, when the old one has left")
    addon.check_same(before)


@pytest.mark.parametrize("change", ['(load("res://addons/tether/plugin.gd") as GDScript).reload(true)', RELOAD],
                         ids=["script", "library"])
def test_A1_what_is_reloaded_finds_the_same_server(addon, change):
    before = addon.settled()
    addon.scene.run(change)
    addon.check_same(before)


def test_A1_editor_that_restarts_finds_the_same_server(addon, bystanders):
    before, old, seen = addon.settled(), addon.pid, len(addon.scene.link.events)
    addon.scene.post("EditorInterface.restart_editor.call_deferred(false)")
    wait_gone(old)
    addon.pid = addon.scene.wait_here(seen)
    assert addon.pid != old
    addon.check_same(before)
    bystanders += descendants_of(os.getpid())  # it is nobody's child now; what else has come is told when the addon ends
    assert editor.complaints(addon.scene.process.output) == []


def test_A11_killed_editor_leaves_nothing_behind(addon):
    now = addon.settled()
    with Watched([addon.pid]) as watched, Watched(
            [now[part]["pid"] for part in ("daemon", "guard", "server") if now.get(part)]) as tree:
        kill(addon.pid)
        dead = watched.wait()
        tree.wait()
        took = time.monotonic() - dead
    assert can_bind(addon.ports[0]) and can_bind(addon.ports[1])
    print("SIGKILL of the editor: the built-in server's tree is gone after %.0f ms" % (took * 1000))
    assert took < BUDGET
