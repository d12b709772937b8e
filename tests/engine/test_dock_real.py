"""The addon as a user has it, with real servers: what the dock shows of them and does to them."""
import json
import os
import shutil
import socket

import pytest

import plugin_scene
from editor import ROOT, with_texts
from harness import Process, end_strays, free_ports, system, wait_gone
from scene import descendants_of
from tether import SERVER, can_bind

NAMES = '''var control = driver.get_tree().root.find_child("TetherControl", true, false)
var frame = driver.get_tree().root.find_child("Tether", true, false)
var view = load("res://dock_view.gd")
'''


class Addon:
    """An editor with the addon, and what is to be seen in its dock."""

    def __init__(self, folder, command=with_texts, **environment):
        self.ports = free_ports()
        state_dir = os.path.join(folder, "state")
        os.mkdir(state_dir, 0o700)
        project = plugin_scene.make_project(os.path.join(folder, "p"), ("tether", "driver"))
        shutil.copy(os.path.join(ROOT, "tests/support/dock_view.gd"), project)
        with open(os.path.join(project, "project.godot"), "a") as file:
            file.write("\n[tether]\n\nserver/http_port=%d\nserver/ws_port=%d\n" % tuple(self.ports))
        self.scene = plugin_scene.Scene(project, state_dir, plugins=("tether", "driver"),
                                        env=environment, arguments=(), command=command)

    def run(self, code):
        return self.scene.run(NAMES + code)

    def set(self, command, ports=None):
        """Writes settings, as the user would, and lets the addon hear of them."""
        http, ws = ports or self.ports
        self.run('ProjectSettings.set_setting("tether/server/http_port", %d)\n'
                 'ProjectSettings.set_setting("tether/server/ws_port", %d)\n'
                 'ProjectSettings.set_setting("tether/server/command", PackedStringArray(%s))\n'
                 'await driver.get_tree().process_frame\nawait driver.get_tree().process_frame'
                 % (http, ws, json.dumps(list(command))))

    def wait_state(self, state):
        self.run('while control.get_state() != "%s":\n\tawait control.changed' % state)
        return self.texts()

    def wait_for_another(self, first):
        """Waits until another server than that process is ready."""
        self.run('while control.get_state() != "ready" or control.get_status()["server"]["pid"] == %d:\n'
                 '\tawait control.changed' % first)
        wait_gone(first)
        return self.texts()

    def texts(self):
        return self.run("frame.make_visible()\nawait driver.get_tree().process_frame\n"
                        "await driver.get_tree().process_frame\nreturn view.texts(frame)")

    def press(self, words):
        assert self.run("return view.press(frame, %s)" % json.dumps(words)), words

    def pid_of(self, part):
        return self.run('return control.get_status()["%s"]["pid"]' % part)

    def start(self, command=()):
        """Starts a server with these settings, and waits for it; the built-in one if no command is given."""
        self.set(command)
        self.run("control.start()")
        return self.wait_state("ready")

    def stop(self):
        daemon = self.pid_of("daemon")
        self.run("control.stop()")
        texts = self.wait_state("stopped")
        wait_gone(daemon)
        return texts

    def close(self):
        """Closes the editor, which ends the server, and returns its complaints."""
        return self.scene.quit()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.scene.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """The editor of most tests. Its server comes with it, unasked, and one ends with it."""
    with Addon(str(tmp_path_factory.mktemp("dock"))) as made:
        Process.running.remove(made.scene.process)  # what is in that list ends with each test
        try:
            made.wait_state("ready")
            made.stop()
            yield made
            made.start()
            last = made.pid_of("daemon")
        finally:
            Process.running.append(made.scene.process)
        assert made.close() == []
        wait_gone(last)
        assert all(can_bind(port) for port in made.ports)
        assert end_strays() == []


@pytest.fixture
def addon(shared):
    """The shared editor, in which no server runs when the test begins and none is left when it ends."""
    yield shared
    shared.stop()


def test_A1_built_in_server_has_the_tools_of_the_addon(addon):
    texts = addon.start()
    assert "Running" in texts and "http://127.0.0.1:%d/mcp" % addon.ports[0] in texts
    assert "this editor (%d)" % addon.scene.pid in texts
    assert any(text.startswith("built in (") for text in texts)
    assert addon.run('return control.get_status()["tools"]') > 10


def test_D1_log_of_the_server_is_shown(addon):
    addon.start([SERVER, "--say", "hello from the server"])
    addon.run('var log = view.log_panel(frame)\nwhile not "hello from the server" in log.get_shown_text():\n'
              '\tawait driver.get_tree().process_frame')


def test_A10_buttons_restart_stop_and_start_the_server(addon):
    addon.start([SERVER])
    first, daemon = addon.pid_of("server"), addon.pid_of("daemon")
    addon.press("Restart the server")
    assert "Running" in addon.wait_for_another(first)
    addon.press("Stop the server")
    assert "Stopped" in addon.wait_state("stopped")
    wait_gone(daemon)
    assert all(can_bind(port) for port in addon.ports)
    addon.press("Start the server")
    assert "Running" in addon.wait_state("ready")


def test_A12_F4_stranger_is_named_in_the_dock_which_leads_to_the_next_pair(addon):
    with socket.socket() as stranger:
        taken = free_ports(1)[0]
        stranger.bind(("127.0.0.1", taken))
        stranger.listen()
        addon.set([SERVER], (taken, addon.ports[1]))
        addon.run("control.start()")
        texts = addon.wait_state("blocked")
        assert "Port %d taken" % taken in texts
        assert any(system.holder(os.getpid()).strip() in text for text in texts), texts
        button = next(text for text in texts if text.startswith("Use "))
        pair = [int(port) for port in button[4:].split(" / ")]
        addon.press(button)
        assert "%d, %d" % tuple(pair) in addon.wait_state("ready")
        assert stranger.getsockname()[1] == taken  # untouched


def test_D7_crashing_server_shows_its_last_words_and_can_be_started_once_it_is_mended(addon, tmp_path):
    addon.set([SERVER, "--say", "about to break", "--exit-times", "5", system.native(tmp_path / "broken")])
    addon.run("control.start()")
    texts = addon.wait_state("failed")
    assert "Failed" in texts
    assert any("about to break" in text for text in texts), texts
    addon.press("Start the server")  # it has crashed often enough
    assert "Running" in addon.wait_state("ready")


def test_A1_disabled_plugin_leaves_nothing_and_comes_back(addon):
    addon.start([SERVER])
    server = addon.pid_of("server")
    left = addon.run('''
EditorInterface.set_plugin_enabled("tether", false)
await driver.get_tree().process_frame
await driver.get_tree().process_frame
var root = driver.get_tree().root
var set = ["tether/server/http_port", "tether/server/ws_port", "tether/server/command"]
return [root.find_child("TetherControl", true, false) == null, root.find_child("Tether", true, false) == null,
		ProjectSettings.get_property_list().any(func(info): return info["name"].begins_with("tether/") and not info["name"] in set),
		EditorInterface.get_editor_settings().has_setting("tether/log/wrap_lines")]''')
    assert left == [True, True, False, False]
    wait_gone(server)
    addon.run('EditorInterface.set_plugin_enabled("tether", true)')
    assert "Running" in addon.wait_state("ready")


def test_changed_command_of_a_running_server_is_applied_at_a_press(addon):
    addon.start([SERVER])
    first = addon.pid_of("server")
    addon.set([SERVER, "--say", "new"])
    assert "Settings changed: restart to apply." in addon.texts()
    addon.press("Apply")
    texts = addon.wait_for_another(first)
    assert "%s --say new (%d)" % (os.path.basename(system.local(SERVER)), addon.pid_of("server")) in texts and "Apply" not in texts


def test_headless_editor_gets_no_server_and_no_dock(tmp_path):
    with Addon(str(tmp_path), TETHER_HEADLESS="0") as addon:
        addon.scene.settle()
        assert addon.run("return [control == null, frame == null]") == [True, True]
        assert descendants_of(addon.scene.pid) == []
        assert addon.close() == []
        assert os.listdir(addon.scene.state_dir) == []


def test_malformed_variable_is_told_once_and_the_default_taken(tmp_path):
    with Addon(str(tmp_path), TETHER_AUTOSTART="off", TETHER_GRACE_MS="soon") as addon:
        addon.run("control.start()")
        addon.wait_state("ready")
        assert addon.run('return control.server.get("grace_ms")') == 500
        told = [line for line in addon.close() if "TETHER_GRACE_MS" in line]
        assert len(told) == 1 and "'soon' is not valid here; the default, 500, is taken" in told[0]
