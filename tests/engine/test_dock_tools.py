"""I5: the dock's switches for tools, what it tells of calls, and the question before a call, in a real headless editor."""
import json
import os

import pytest

from test_dock import Dock, scene  # noqa: F401  (a fixture)

# Stands in for the toolbox; journal, approvals and switches are the real ones.
TOOLBOX = '''
var script := GDScript.new()
script.source_code = %s
script.reload()
control.tools = script.new()
driver.kept["toolbox"] = control.tools
''' % json.dumps("""extends RefCounted
var journal = load("res://addons/tether/tools/journal.gd").new()
var approvals = load("res://addons/tether/tools/approvals.gd").new()
var progress = []
func get_toolbox(): return self
func get_tools():
	return {"node_add": {"description": "Adds."}, "node_get": {"description": "Gets.", "read": true}, "file_read": {"description": "Reads.", "read": true},
			"script_edit": {"description": "Edits."}, "editor_state": {"description": "Tells.", "read": true}}
func send_progress(_call, _progress, _total, message): progress.append(message)
""")
TREE = 'var panel = dock.find_children("Tools", "", true, false)[0]\nvar tree: Tree = panel.find_children("*", "Tree", true, false)[0]\n' \
       'dock.find_children("*", "TabContainer", true, false)[0].current_tab = panel.get_index()\nawait driver.get_tree().process_frame\n'
# What the tree shows, as a person reads it: {name: [mode, dimmed]}; families in their words.
SHOWN = TREE + '''
var found = {}
for item: TreeItem in panel.get("_items").values():
	found[item.get_text(0)] = [item.get_text(1).split(",")[int(item.get_range(1))], item.get_custom_color(0) != Color()]
return found'''
CHOOSE = TREE + '''
var item: TreeItem = panel.get("_items")[%s]
item.set_range(1, %d)
panel.call("_set_mode", item)
await driver.get_tree().process_frame
'''
SETTINGS = ("read_only", "profile", "switched_off", "ask_first", "ask_limit_ms")


@pytest.fixture
def dock(scene):  # noqa: F811
    found = Dock(scene)
    found.run(TOOLBOX)
    yield found
    found.run('if driver.kept.has("question"):\n\tdriver.kept["question"].free()\n\tdriver.kept.erase("question")\ncontrol.tools = null\n'
              'driver.kept.erase("toolbox")')
    scene.run("".join('ProjectSettings.set_setting("tether/tools/%s", ProjectSettings.property_get_revert("tether/tools/%s"))\n' % (name, name)
                      for name in SETTINGS) + "ProjectSettings.save()")


def saved(scene):  # noqa: F811
    with open(os.path.join(scene.folder, "project.godot")) as file:
        return [line for line in file.read().splitlines() if line.startswith("tools/")]


def setting(dock, name):
    return dock.run('var value = ProjectSettings.get_setting("tether/tools/%s")\nreturn Array(value) if value is PackedStringArray else value' % name)


def test_I5_families_and_tools_are_shown_with_what_they_are(dock):
    shown = dock.run(SHOWN)
    assert shown["node_add"] == ["On", False] and shown["Scenes and nodes"] == ["On", False] and shown["Editor"] == ["On", False]
    dock.run('ProjectSettings.set_setting("tether/tools/switched_off", PackedStringArray(["file"]))\n'
             'ProjectSettings.set_setting("tether/tools/ask_first", PackedStringArray(["node_add"]))\ndock.refresh()')
    shown = dock.run(SHOWN)
    assert shown["node_add"] == ["Ask me", False] and shown["node_get"] == ["On", False] and shown["Scenes and nodes"] == ["Mixed", False]
    assert shown["file_read"] == ["Off", True] and shown["Files and scripts"] == ["Off", False]


def test_I5_modes_are_chosen_in_the_dock_and_kept_in_the_project(dock, scene):  # noqa: F811
    dock.run(CHOOSE % ('"node_add"', 1))
    assert setting(dock, "ask_first") == ["node_add"] and 'tools/ask_first=PackedStringArray("node_add")' in saved(scene)
    dock.run(CHOOSE % ('"file"', 2))
    assert setting(dock, "switched_off") == ["file"]
    dock.run(CHOOSE % ('"script_edit"', 1))
    assert setting(dock, "switched_off") == ["file_read"] and setting(dock, "ask_first") == ["node_add", "script_edit"]
    assert dock.run(SHOWN)["Files and scripts"] == ["Mixed", False]
    for name in ("file", "scene"):
        dock.run(CHOOSE % (json.dumps(name), 0))
    assert saved(scene) == []


def test_I5_only_read_and_the_set_of_tools_are_chosen_in_the_dock(dock, scene):  # noqa: F811
    dock.run(TREE)
    dock.press("Only Read")
    shown = dock.run(SHOWN)
    assert saved(scene) == ["tools/read_only=true"] and shown["node_add"] == ["On", True] and shown["node_get"] == ["On", False]
    dock.press("Only Read")
    dock.run(TREE + 'var choice: OptionButton = panel.find_children("*", "OptionButton", true, false)[0]\n'
             'choice.select(1)\nchoice.item_selected.emit(1)')
    assert saved(scene) == ['tools/profile="core"'] and dock.run(SHOWN)["node_add"] == ["On", True]
    dock.run(TREE + 'var choice: OptionButton = panel.find_children("*", "OptionButton", true, false)[0]\n'
             'choice.select(0)\nchoice.item_selected.emit(0)')
    assert saved(scene) == []


KEY = '''
for pressed in [true, false]:
	var event := InputEventKey.new()
	event.keycode = %s
	event.physical_keycode = %s
	event.pressed = pressed
	dock.get_viewport().push_input(event)
await driver.get_tree().process_frame
'''


def key(name):
    return KEY % (name, name)


def test_I5_the_keyboard_reaches_every_switch(dock):
    dock.run(TREE + 'panel.get("_items")["scene"].collapsed = true\ntree.grab_focus()\ntree.set_selected(panel.get("_items")["scene"], 0)')
    assert dock.run(TREE + key("KEY_ENTER") + 'return panel.get("_items")["scene"].collapsed') is False
    dock.run(TREE + key("KEY_RIGHT") + key("KEY_ENTER"))  # the menu of modes is open now
    menu = TREE + 'var menu: PopupMenu = tree.find_children("*", "PopupMenu", true, false)[0]\n'
    assert dock.run(menu + 'return [menu.visible, menu.item_count]') == [True, 3]
    dock.run(menu + 'menu.id_pressed.emit(2)\nmenu.hide()\nawait driver.get_tree().process_frame\nawait driver.get_tree().process_frame')
    assert setting(dock, "switched_off") == ["scene"]


def test_I5_without_tools_the_panel_says_why(dock):
    dock.run('control.tools = null\ndock.refresh()\n' + TREE)
    assert "The tools are shown here once Tether's own server is started." in dock.texts()


# ---- the question --------------------------------------------------------------------------------

ASK = '''
var approvals = driver.kept["toolbox"].approvals
approvals.has_window = true
if not driver.kept.has("question"):
	driver.kept["question"] = load("res://addons/tether/dock/question_panel.gd").new(approvals)
	EditorInterface.get_base_control().add_child(driver.kept["question"])
	driver.kept["said"] = []
var about: Array[String] = ["script_run"]
var ask = func(number):
	driver.kept["said"].append(await approvals.ask(driver.kept["toolbox"], {"id": number, "client": {"name": "Claude\\u202e Code"}}, about, "Script Run",
			{"code": "return 1\\nprint(2)"}))
'''
QUESTION = 'var question = driver.kept["question"]\nvar approvals = driver.kept["toolbox"].approvals\n'


def question_texts(dock):
    return dock.run(QUESTION + "return view.texts(question) if question.visible else []")


def press(dock, words):
    return dock.run(QUESTION + "var was = view.press(question, %s)\nawait driver.get_tree().process_frame\n"
                    "await driver.get_tree().process_frame\nreturn was" % json.dumps(words))


def wait_quiet(dock):
    dock.run(QUESTION + 'await question.get("_quiet").timeout')


def said(dock):
    return dock.run('return driver.kept["said"]')


def test_I5_the_question_names_client_tool_and_arguments_and_each_button_answers(dock):
    for words, meaning in (("Allow Once", "allowed once"), ("Deny", "denied"), ("Allow This Session", "allowed for this session")):
        dock.run(ASK + "ask.call(7)")
        title, arguments, time, *buttons = question_texts(dock)
        assert title == "Claude\\u202e Code wants to use 'script_run'" and arguments == "code: return 1\nprint(2)"
        assert time == "Without an answer nothing is done, in 55 s." and buttons == ["Deny", "Allow Once", "Allow This Session"]
        wait_quiet(dock)
        assert press(dock, words)
        assert said(dock)[-1] == meaning and question_texts(dock) == []


def test_I5_what_was_meant_for_something_else_answers_no_question(dock):
    """Neither Enter that is typed elsewhere, nor a click in the moment in which it comes up."""
    dock.run('var field := LineEdit.new()\nfield.name = "Elsewhere"\nEditorInterface.get_base_control().add_child(field)\nfield.grab_focus()')
    dock.run(ASK + "ask.call(7)\nask.call(8)")
    assert not press(dock, "Allow Once") and said(dock) == []
    wait_quiet(dock)
    dock.run(key("KEY_ENTER") + key("KEY_SPACE") + key("KEY_ESCAPE"))
    assert said(dock) == [] and dock.run('return EditorInterface.get_base_control().find_child("Elsewhere", false, false).has_focus()')
    assert "1 more to be asked." in "".join(question_texts(dock))
    # Who goes there on purpose answers this one, and not the next with the same key.
    dock.run(QUESTION + 'question.call("_take_focus")\n' + key("KEY_ENTER") + key("KEY_ENTER") + "await driver.get_tree().process_frame")
    assert said(dock) == ["denied"] and len(question_texts(dock)) == 6
    dock.run(QUESTION + "approvals.withdraw(8)")
    assert said(dock) == ["denied", "withdrawn"] and question_texts(dock) == []
    dock.run('EditorInterface.get_base_control().find_child("Elsewhere", false, false).free()')


def test_I5_a_press_answers_the_question_that_was_seen_and_not_the_next(dock):
    dock.run(ASK + "ask.call(7)\nask.call(8)")
    wait_quiet(dock)
    assert dock.run(QUESTION + 'var was = view.press(question, "Allow Once")\napprovals.withdraw(7)\nfor _i in 3:\n\tawait driver.get_tree().process_frame\nreturn was')
    assert said(dock) == ["withdrawn"]
    dock.run(QUESTION + "approvals.withdraw(8)")


def test_I5_the_question_is_in_the_corner_of_the_window_as_small_as_it_can_be(dock):
    dock.run(ASK + "ask.call(7)\nawait driver.get_tree().process_frame\nawait driver.get_tree().process_frame")
    place, window = dock.run(QUESTION + "var place: Rect2 = question.get_global_rect()\nvar window: Vector2 = EditorInterface.get_base_control().size\n"
                             "return [[place.position.x, place.position.y, place.end.x, place.end.y], [window.x, window.y]]")
    assert 0 < place[0] < place[2] <= window[0] - 10 and 0 < place[1] < place[3] <= window[1] - 40, (place, window)
    assert place[2] - place[0] < 480 and place[3] - place[1] < 300
    dock.run(QUESTION + "approvals.close()")


# ---- what was done -------------------------------------------------------------------------------

def test_I5_the_activity_tells_what_the_user_said(dock):
    dock.run('var journal = driver.kept["toolbox"].journal\n'
             'for said in ["denied", "allowed for this session", ""]:\n'
             '\tvar entry = journal.begin("node_add", {}, "Claude Code 2", false)\n'
             '\tif said:\n\t\tjournal.note(entry, said)\n\tjournal.end(entry, {"error": "no"} if said == "denied" else {"ok": 1}, [])\n'
             'journal.note(journal.begin("node_add", {}, "Claude Code 2", false), "waits for you")\n'
             'var panel = dock.find_children("Activity", "", true, false)[0]\n'
             'dock.find_children("*", "TabContainer", true, false)[0].current_tab = panel.get_index()\n'
             'await driver.get_tree().process_frame\ndock.refresh()')
    shown = dock.run('var root: TreeItem = dock.find_children("Activity", "", true, false)[0].find_children("*", "Tree", true, false)[0].get_root()\n'
                     'return root.get_children().map(func(item): return item.get_text(2))')
    assert shown == ["Waits For You: …", '{"ok":1}', 'Allowed For This Session: {"ok":1}', "Denied: no"]
    assert "Clients: Claude Code 2 (just now)" in dock.texts()
