"""I8: the dock's tab Connect: what `tether clients` says of AI clients, and does to their files, without the
editor waiting for it. What becomes of files is tests/process/test_client_files.py's."""
import json
import os

import pytest

from harness import system
from test_dock_real import Addon

NAME = "godot-tether"
PANEL = '''frame.make_visible()
await driver.get_tree().process_frame
await driver.get_tree().process_frame
var tabs: TabContainer = frame.find_children("*", "TabContainer", true, false)[0]
var panel: Control = tabs.find_children("Connect", "", true, false)[0]
'''
LOOK = PANEL + '''tabs.current_tab = tabs.get_tab_idx_from_control(panel)
while panel.get("_clients").is_empty():
	await driver.get_tree().process_frame
'''
ROWS = '''var rows: Array = []
for item: TreeItem in panel.get("_list").get_root().get_children():
	rows.append([item.get_text(0), item.get_text(1)])
'''
ANSWERED = '''while not panel.get("_result").visible:
	await driver.get_tree().process_frame
while panel.get("_launcher").get("_thread") != null:
	await driver.get_tree().process_frame
'''


@pytest.fixture
def addon(tmp_path):
    home = str(tmp_path / "home")
    for folder in ("home", "home/.claude", "config", "local"):
        os.mkdir(str(tmp_path / folder))
    place, config = system.native(home), system.native(str(tmp_path / "config"))
    with Addon(str(tmp_path), HOME=place, USERPROFILE=place, XDG_CONFIG_HOME=config, APPDATA=config, CODEX_HOME="",
               LOCALAPPDATA=system.native(str(tmp_path / "local")), TETHER_AUTOSTART="off") as running:
        running.project = str(tmp_path / "p")
        running.scene.settle()
        yield running


def entry(addon):
    with open(addon.project + "/.mcp.json") as file:
        return json.load(file)["mcpServers"].get(NAME)


def test_I8_connect_lists_clients_and_writes_their_files(addon):
    """Those that are there first, the command before the address, with the reason."""
    rows = addon.run(LOOK + ROWS + "return rows")
    assert rows[0] == ["Claude Code", ""] and len(rows) > 30 and ["Goose", "to be pasted"] in rows
    texts = addon.texts()
    assert any("starts before the editor" in text for text in texts)
    assert any('"--project"' in text for text in texts), texts
    assert addon.run(LOOK + 'return view.button(panel, "Take Out") == null')
    assert addon.run(LOOK + 'view.press(panel, "Write to File")\n' + ANSWERED + ROWS + "return rows")[0] == [
        "Claude Code", "connected"]
    assert entry(addon)["args"][:2] == ["mcp", "--project"]
    assert os.path.basename(system.local(entry(addon)["command"])) == system.LAUNCHER
    addon.run(LOOK + 'panel.get("_way").select(1)\npanel.get("_way").item_selected.emit(1)\n'
              'view.press(panel, "Write to File")\n' + ANSWERED)
    assert entry(addon) == {"type": "http", "url": "http://127.0.0.1:%d/mcp" % addon.ports[0]}
    assert addon.run(LOOK + 'view.press(panel, "Take Out")\n' + ANSWERED + ROWS + "return rows")[0] == ["Claude Code", ""]
    assert entry(addon) is None


def test_I8_the_editor_does_not_wait_for_the_launcher(addon):
    """The thread that asks is not the editor's: frames go on, and the answer comes to a later one."""
    asked, later = addon.run(PANEL + '''
var call = load("res://addons/tether/dock/launcher_call.gd").new()
var answers: Array = []
call.ask(control.get_launcher_path(), ["clients", "list", "--json"], func(answer): answers.append(answer))
var at_once: int = answers.size()
while answers.is_empty():
	await driver.get_tree().process_frame
return [at_once, answers[0]["clients"].size()]''')
    assert asked == 0 and later > 30


def test_I8_enabled_for_the_first_time_the_dock_opens_on_connect(addon):
    """Once: who enables it again knows. That is kept where the engine keeps what is one user's, not the project's."""
    again = '''
EditorInterface.set_plugin_enabled("tether", false)
await driver.get_tree().process_frame
await driver.get_tree().process_frame
EditorInterface.set_plugin_enabled("tether", true)
for _i in 4:
	await driver.get_tree().process_frame
'''
    shown = '''frame = driver.get_tree().root.find_child("Tether", true, false)
var tabs: Array = frame.find_children("*", "TabContainer", true, false)
return "" if tabs.is_empty() else str(tabs[0].get_current_tab_control().name)'''
    assert addon.run(again + shown) == "Connect"
    assert addon.run(again + shown) != "Connect"
    addon.scene.run("driver.get_tree().quit.call_deferred()")
    assert addon.scene.process.wait() == 0
    with open(addon.project + "/.godot/editor/project_metadata.cfg") as file:
        assert "welcomed=true" in file.read()
