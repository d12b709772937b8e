"""The addon as a user has it, with real servers: what the dock shows of them and does to them."""
import json
import os
import shutil
import socket

import pytest

import plugin_scene
from editor import ROOT
from harness import children_of, free_ports, wait_gone
from tether import SERVER, can_bind

NAMES = '''var control = driver.get_tree().root.find_child("TetherControl", true, false)
var frame = driver.get_tree().root.find_child("Tether", true, false)
var view = load("res://dock_view.gd")
'''


class Addon:
    """An editor with the addon, and what is to be seen in its dock."""

    def __init__(self, folder, command=(SERVER,), **environment):
        self.ports = free_ports()
        state_dir = os.path.join(folder, "state")
        os.mkdir(state_dir, 0o700)
        project = plugin_scene.make_project(os.path.join(folder, "p"), ("tether", "driver"))
        shutil.copy(os.path.join(ROOT, "tests/support/dock_view.gd"), project)
        environment.setdefault("TETHER_HTTP_PORT", str(self.ports[0]))
        environment.setdefault("TETHER_WS_PORT", str(self.ports[1]))
        if command:
            environment["TETHER_COMMAND"] = json.dumps(list(command))
        self.scene = plugin_scene.Scene(project, state_dir, plugins=("tether", "driver"),
                                        env=environment, arguments=())

    def run(self, code):
        return self.scene.run(NAMES + code)

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

    def server_pid(self):
        return self.run('return control.get_status()["server"]["pid"]')

    def close(self):
        """Closes the editor, which ends the server, and returns its complaints."""
        return self.scene.quit()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.scene.close()


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path)


def test_A1_A10_server_comes_with_the_editor_and_the_dock_has_its_buttons(folder):
    with Addon(folder, [SERVER, "--say", "hello from the server"]) as addon:
        texts = addon.wait_state("ready")
        assert "Running" in texts and "http://127.0.0.1:%d/mcp" % addon.ports[0] in texts
        assert "this editor (%d)" % addon.scene.pid in texts
        addon.run('var log = view.log_panel(frame)\nwhile not "hello from the server" in log.get_shown_text():\n'
                  '\tawait driver.get_tree().process_frame')
        first = addon.server_pid()
        addon.press("Restart the server")
        assert "Running" in addon.wait_for_another(first)
        addon.press("Stop the server")
        assert "Stopped" in addon.wait_state("stopped")
        assert all(can_bind(port) for port in addon.ports)
        addon.press("Start the server")
        assert "Running" in addon.wait_state("ready")
        last = addon.server_pid()
        assert addon.close() == []
        wait_gone(last)
        assert all(can_bind(port) for port in addon.ports)


def test_A12_F4_stranger_is_named_in_the_dock_which_leads_to_the_next_pair(folder):
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        taken = stranger.getsockname()[1]
        # Set in the project, as a user would: a variable would win over what the button writes.
        with Addon(folder, TETHER_AUTOSTART="off", TETHER_HTTP_PORT="", TETHER_WS_PORT="") as addon:
            addon.run('ProjectSettings.set_setting("tether/server/http_port", %d)\n'
                      'ProjectSettings.set_setting("tether/server/ws_port", %d)\n'
                      'control.start()' % (taken, addon.ports[1]))
            texts = addon.wait_state("blocked")
            assert "Port %d taken" % taken in texts
            assert any("process %d, " % os.getpid() in text for text in texts), texts
            button = next(text for text in texts if text.startswith("Use "))
            pair = [int(port) for port in button[4:].split(" / ")]
            addon.press(button)
            assert "%d, %d" % tuple(pair) in addon.wait_state("ready")
            assert stranger.getsockname()[1] == taken  # untouched
            assert addon.close() == []


def test_D7_crashing_server_shows_its_last_words_and_can_be_started_once_it_is_mended(folder):
    broken = os.path.join(folder, "broken")
    with Addon(folder, [SERVER, "--say", "about to break", "--exit-times", "5", broken]) as addon:
        texts = addon.wait_state("failed")
        assert "Failed" in texts
        assert any("about to break" in text for text in texts), texts
        addon.press("Start the server")  # it has crashed often enough
        assert "Running" in addon.wait_state("ready")
        assert addon.close() == []


def test_A1_disabled_plugin_leaves_nothing_and_comes_back(folder):
    with Addon(folder) as addon:
        addon.wait_state("ready")
        server = addon.server_pid()
        left = addon.run('''
EditorInterface.set_plugin_enabled("tether", false)
await driver.get_tree().process_frame
await driver.get_tree().process_frame
var root = driver.get_tree().root
return [root.find_child("TetherControl", true, false) == null, root.find_child("Tether", true, false) == null,
		ProjectSettings.get_property_list().any(func(info): return info["name"].begins_with("tether/")),
		EditorInterface.get_editor_settings().has_setting("tether/log/wrap_lines")]''')
        assert left == [True, True, False, False]
        wait_gone(server)
        addon.run('EditorInterface.set_plugin_enabled("tether", true)')
        assert "Running" in addon.wait_state("ready")
        assert addon.close() == []


def test_changed_command_of_a_running_server_is_applied_at_a_press(folder):
    with Addon(folder, command=()) as addon:
        first = None
        addon.run('ProjectSettings.set_setting("tether/server/command", PackedStringArray([%s]))\n'
                  'control.stop()' % json.dumps(SERVER))
        addon.wait_state("stopped")
        addon.press("Start the server")
        addon.wait_state("ready")
        first = addon.server_pid()
        addon.run('ProjectSettings.set_setting("tether/server/command", PackedStringArray([%s, "--say", "new"]))\n'
                  'await ProjectSettings.settings_changed\nawait driver.get_tree().process_frame'
                  % json.dumps(SERVER))
        assert "Settings changed: restart to apply." in addon.texts()
        addon.press("Apply")
        texts = addon.wait_for_another(first)
        assert "server --say new (%d)" % addon.server_pid() in texts and "Apply" not in texts
        assert addon.close() == []


def test_built_in_server_has_the_tools_of_the_addon(folder):
    with Addon(folder, command=()) as addon:
        texts = addon.wait_state("ready")
        assert any(text.startswith("built in (") for text in texts)
        assert addon.run('return control.get_status()["tools"]') > 10
        assert addon.close() == []


def test_headless_editor_gets_no_server_and_no_dock(folder):
    with Addon(folder, TETHER_HEADLESS="0") as addon:
        addon.run("while EditorInterface.get_resource_filesystem().is_scanning():\n"
                  "\tawait driver.get_tree().process_frame")
        assert addon.run("return [control == null, frame == null]") == [True, True]
        assert children_of(addon.scene.pid) == []
        assert addon.close() == []
        assert os.listdir(addon.scene.state_dir) == []


def test_malformed_variable_is_told_once_and_the_default_taken(folder):
    with Addon(folder, TETHER_AUTOSTART="off", TETHER_GRACE_MS="soon") as addon:
        addon.run("control.start()")
        addon.wait_state("ready")
        assert addon.run('return control.server.get("grace_ms")') == 500
        told = [line for line in addon.close() if "TETHER_GRACE_MS" in line]
        assert len(told) == 1 and "'soon' is not valid here; the default, 500, is taken" in told[0]
