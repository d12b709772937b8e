"""I3, I4: what clients are shown of the tools, and how their arguments are read, in a real headless editor."""
import math
import re

import pytest

from tools_probe import shared_tools

# What the strict mode of OpenAI's function calling and the Schema of Gemini's API know, both by their documents. (A
# strict client adds "additionalProperties": false and makes every member required itself, as OpenAI's own libraries do.)
KEYS = {"type", "description", "enum", "items", "properties", "required"}
TYPES = {"object", "array", "string", "integer", "number", "boolean"}
NAME_LETTERS = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


@pytest.fixture(scope="module")
def editor(tmp_path_factory):
    yield from shared_tools(str(tmp_path_factory.mktemp("listed")))


@pytest.fixture
def tools(editor):
    """With an empty scene."""
    editor.begin()
    return editor


@pytest.fixture(scope="module")
def listed(editor):
    return editor.request(op="list")["answer"]


# ---- what is shown -------------------------------------------------------------------------------

def complaints_of(schema, where):
    """What a strict reader has against a schema."""
    said = ["%s: unknown key %s" % (where, key) for key in set(schema) - KEYS]
    if schema.get("type") not in TYPES:
        said.append("%s: type %r" % (where, schema.get("type")))
    if schema.get("type") == "array" and not schema.get("items", {}).get("type"):
        said.append(where + ": items without a type")
    if schema.get("type") == "object" and "." in where and not schema.get("properties"):
        said.append(where + ": an object without properties")
    if "enum" in schema and (schema.get("type") != "string" or "" in schema["enum"]):
        said.append(where + ": enum of what is no text, or with an empty one")
    for name in schema.get("required", []):
        if name not in schema["properties"]:
            said.append("%s: %s is required and not there" % (where, name))
    for name, inner in schema.get("properties", {}).items():
        said += complaints_of(inner, where + "." + name)
    if "items" in schema:
        said += complaints_of(schema["items"], where + ".[]")
    return said


def test_I3_strict_readers_take_every_schema(listed):
    said = []
    for name, tool in listed.items():
        said += complaints_of(tool["inputSchema"], name)
        if len(name) > 40 or set(name) - NAME_LETTERS:  # clients put up to 24 letters before it; 64 is what they may have
            said.append(name + ": no name for everybody")
    assert said == []


@pytest.mark.parametrize("schema, words", [
    ({"type": "object"}, "without properties"), ({"type": "array", "items": {}}, "items without a type"),
    ({"description": "anything"}, "type None"), ({"type": "integer", "maximum": 3}, "unknown key maximum")])
def test_I3_the_strict_reader_refuses(schema, words):
    found = complaints_of({"type": "object", "properties": {"x": schema}}, "tool")
    assert len(found) >= 1 and words in found[0], found


def test_I3_every_tool_has_a_title_and_hints(listed):
    for name, tool in listed.items():
        assert tool["title"] and tool["title"] != name, name
        assert set(tool) == {"title", "description", "inputSchema", "annotations"}, name
        hints = tool["annotations"]
        assert not (hints.get("readOnlyHint") and "destructiveHint" in hints), name


# Every tool, by what is true of it, written by hand: whoever adds or changes a tool thinks about it here.
# What writes nothing and runs no code of its caller.
READ = """docs_class docs_member docs_search editor_log editor_screenshot editor_state file_list file_read file_search file_uses
    game_get game_monitor game_profile game_tree node_get project_export_presets project_output project_settings_get resource_read
    scene_tree script_check"""
# What editor_undo takes back; or with which nothing is lost: what is open, selected, saved to its own file, stopped.
UNDONE = """file_delete file_import file_move node_add node_duplicate node_groups node_move node_remove node_set node_signals
    project_autoloads project_input_map project_settings_set resource_edit scene_edit scene_instantiate script_attach script_create
    script_edit"""
HARMLESS = "editor_redo editor_undo node_select project_stop scene_new scene_open scene_save"
# What editor_undo does not take back. Clients ask before they call these.
DESTRUCTIVE = "game_debug game_play game_run game_set node_call project_export project_run project_test script_run"
# Of these what runs code, which may reach anything.
OPEN_WORLD = "game_debug game_play game_run node_call project_export project_run project_test script_run"


def test_I3_hints_tell_the_truth(listed):
    hints = {name: tool["annotations"] for name, tool in listed.items()}
    reads = {name for name in hints if hints[name].get("readOnlyHint")}
    destructive = {name for name in set(hints) - reads if hints[name].get("destructiveHint", True)}
    assert reads == set(READ.split()) and destructive == set(DESTRUCTIVE.split())
    assert set(hints) - reads - destructive == set((UNDONE + " " + HARMLESS).split())
    assert {name for name in hints if hints[name].get("openWorldHint", True)} == set(OPEN_WORLD.split())


def test_I3_no_other_file_is_written_over_by_a_scene(tools):
    """For that would not be undone."""
    other = tools.scene.replace("main", "other")
    tools.call("scene_new", path=other)
    tools.call("scene_open", path=tools.scene)
    tools.call("node_add", type="Node2D", name="Hero")
    tools.call("scene_save")
    for tool in ("scene_save", "scene_new"):
        assert "file_delete first, which can be undone" in tools.refusal(tool, path=other, overwrite=True)
    assert 'name="Other"' in tools.call("file_read", path=other)["text"]
    tools.call("node_remove", path="Hero")
    tools.call("scene_save")
    assert "Hero" not in tools.call("file_read", path=tools.scene)["text"]
    tools.call("editor_undo")
    tools.call("scene_save")  # what was saved can be had back
    assert "Hero" in tools.call("file_read", path=tools.scene)["text"]


def test_I3_what_is_said_to_be_undoable_is(tools):
    """That a tool is not destructive is said because editor_undo takes it back."""
    tools.call("node_add", type="Node2D", name="Hero")
    tools.call("script_create", path="res://undone.gd", text="extends Node\nvar a: int = 1\n")
    for tool, arguments, look in (
            ("node_remove", {"path": "Hero"}, lambda: tools.call("scene_tree")["nodes"]),
            ("script_edit", {"path": "res://undone.gd", "old": "= 1", "new": "= 2"}, lambda: tools.call("file_read", path="res://undone.gd")["text"]),
            ("project_input_map", {"action": "add", "name": "jump"}, lambda: tools.call("project_input_map")["actions"]),
            ("project_autoloads", {"action": "add", "name": "Undone", "path": "res://undone.gd"}, lambda: tools.call("project_autoloads")["autoloads"])):
        before = look()
        tools.call(tool, **arguments)
        assert look() != before, tool
        tools.call("editor_undo")
        assert look() == before, tool


def test_I3_limits_stand_in_the_descriptions(listed):
    said = listed["scene_tree"]["inputSchema"]["properties"]
    assert "default 4, max 64" in said["depth"]["description"] and "default 100, max 500" in said["limit"]["description"]


# ---- what is found -------------------------------------------------------------------------------

# What people ask for, and the tool that does it, or either of two.
QUESTIONS = {
    "move the player to the left": "node_set",
    "why does my game crash": "project_output game_debug",
    "add an enemy to the level": "scene_instantiate node_add",
    "what nodes are in this scene": "scene_tree",
    "run the game": "project_run",
    "stop the game": "project_stop",
    "take a screenshot of the editor": "editor_screenshot",
    "save the scene": "scene_save",
    "open the main menu scene": "scene_open",
    "make a new scene": "scene_new",
    "undo the last change": "editor_undo",
    "rename the sprite node": "node_move",
    "delete this node": "node_remove",
    "duplicate the tree node": "node_duplicate",
    "connect the button's pressed signal to a function": "node_signals",
    "put the enemy into the enemies group": "node_groups",
    "write a new script for the player": "script_create",
    "attach the script to the player node": "script_attach",
    "fix the code of the enemy script": "script_edit",
    "does my script have syntax errors": "script_check",
    "find where health is used in the code": "file_search",
    "list all files of the project": "file_list",
    "show me the code of main.gd": "file_read",
    "why is my texture not imported": "file_import",
    "change the size of the window": "project_settings_set",
    "add a key for the jump action": "project_input_map",
    "make a singleton that is always loaded": "project_autoloads",
    "press the jump button in the running game": "game_play",
    "what is the velocity of the player while the game is running": "game_get",
    "why is my game so slow": "game_monitor",
    "set a breakpoint in the enemy script": "game_debug",
    "which functions take the longest": "game_profile",
    "what does move_and_slide do": "docs_member",
    "which class of the engine plays sounds": "docs_search docs_class",
    "what warnings does the editor show": "editor_log",
}


def words_of(text):
    return re.findall(r"[a-z0-9]+", text.lower())


def ranked(listed, question):
    """The tools by BM25 over name and description, as clients that load tools on demand look for them."""
    texts = {name: words_of(name.replace("_", " ") + " " + tool["description"]) for name, tool in listed.items()}
    mean = sum(map(len, texts.values())) / len(texts)
    scores = dict.fromkeys(texts, 0.0)
    for word in set(words_of(question)):
        holders = sum(word in text for text in texts.values())
        rarity = math.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
        for name, text in texts.items():
            count = text.count(word)
            scores[name] += rarity * count * 2.5 / (count + 1.5 * (0.25 + 0.75 * len(text) / mean))
    return sorted(scores, key=scores.get, reverse=True)


@pytest.mark.parametrize("question", QUESTIONS)
def test_I4_the_right_tool_is_among_the_first_three(listed, question):
    first = ranked(listed, question)[:3]
    assert set(QUESTIONS[question].split()) & set(first), first


# ---- what clients add, and values as they write them ---------------------------------------------

@pytest.mark.parametrize("added", [{"wait_for_previous": True}, {"_reason": "to see", "toolCallId": "x"}, {"dept": 3}, {"": None}])
def test_I3_what_a_client_adds_is_ignored_and_named(tools, added):
    answer = tools.call("scene_tree", **added)
    assert answer["nodes"] == [". (Node2D)"]
    for name in added:
        assert "There is no argument '%s'; it was ignored." % name in answer["arguments_note"]
    assert ("'depth'" in answer["arguments_note"]) == ("dept" in added)


def test_I3_a_part_of_a_call_names_what_was_ignored(tools):
    edits = [{"tool": "node_add", "type": "Node2D", "name": "Hero", "why": "to play", "index": "-7"}]
    notes = tools.call("scene_edit", edits=edits)["notes"]
    assert "Edit 1: There is no argument 'why'" in notes[0] and "-1 was taken" in notes[1]


def test_I3_a_call_that_fails_names_what_was_ignored(tools):
    text = tools.refusal("node_get", paths="Hero")
    assert "'path' is missing" in text and "'paths'" in text and "Did you mean 'path'" in text
    assert "'paths'" in tools.refusal("node_get", path="Nobody", paths="Hero")


def test_I3_bounds_are_taken_and_told(tools):
    for limit, taken in ((0, 1), (-5, 1), (501, 500), (1 << 40, 500)):
        answer = tools.call("file_list", limit=limit)
        assert "'limit' is from 1 to 500, so %d was taken." % taken in answer["arguments_note"]
    assert "arguments_note" not in tools.call("file_list", limit=500)


@pytest.mark.parametrize("arguments", [
    {"path": "Hero", "properties": '{"position": [3, 4], "visible": false}'},
    {"path": "Hero", "properties": {"position": [3, 4], "visible": False}}])
def test_I3_an_object_comes_as_text_or_as_object(tools, arguments):
    tools.call("node_add", type="Node2D", name="Hero")
    tools.call("node_set", **arguments)
    assert tools.call("node_get", path="Hero")["properties"] == {"position": {"Vector2": [3, 4]}, "visible": False}


def test_I3_values_may_be_texts(tools):
    tools.call("node_add", type="Node2D", name="Hero", index="-1")
    assert tools.call("scene_tree", depth="0")["nodes"] == [". (Node2D) +1 children"]
    assert tools.call("node_select", paths="Hero")["selected"] == ["Hero"]
    assert tools.call("node_select", paths='[".", "Hero"]')["selected"] == [".", "Hero"]
    assert len(tools.call("node_get", path="Hero", all="true", limit="3")["properties"]) == 3
    assert tools.call("node_call", path="Hero", method="get_child_count", arguments="[]")["returned"] == 0
    events = '[{"key": "Space"}, {"mouse": "left"}]'
    assert len(tools.call("project_input_map", action="add", name="hop", events=events)["events"]) == 2
    tools.call("editor_undo")
    for wrong, words in (('{"position"', "an object"), ("[1]", "an object")):
        assert words in tools.refusal("node_set", path="Hero", properties=wrong)
    assert "'events[0]'" in tools.refusal("project_input_map", action="add", name="hop", events=[3])


# ---- answers -------------------------------------------------------------------------------------

def served(editor, tool, **arguments):
    return editor.request(op="serve", tool=tool, arguments=arguments)["answer"]


def test_I3_a_files_text_is_plain_lines(tools):
    text = "extends Node\n\n\nfunc hello() -> void:\n\tprint(\"hello\")\n"
    tools.call("script_create", path="res://plain.gd", text=text)
    answer = served(tools, "file_read", path="res://plain.gd", more=1)
    assert [block["type"] for block in answer["content"]] == ["text", "text"]
    assert answer["content"][0]["text"] == text
    assert answer["content"][1]["text"]["lines"] == 6 and "'more'" in answer["content"][1]["text"]["arguments_note"]
    assert "error" in served(tools, "file_read", path="res://none.gd")
    tools.call("editor_undo")


def test_I3_numbers_are_the_shortest(tools):
    tools.call("node_add", type="Sprite2D", name="Hero", properties={"position": [0.7, 1e-5], "rotation": 0.7, "modulate": [0.1, 0.2, 0.3]})
    properties = tools.call("node_get", path="Hero", properties=["position", "rotation", "modulate"])["properties"]
    assert properties == {"position": {"Vector2": [0.7, 1e-5]}, "rotation": 0.7, "modulate": {"Color": [0.1, 0.2, 0.3, 1.0]}}


SAME = """var worst: String = ""
for exponent: int in range(-44, 39):
	for mantissa: float in [1.0, 1.1, 3.3333333, 7.7, 9.999999]:
		var single: float = PackedFloat32Array([mantissa * pow(10.0, exponent)])[0]
		var short: float = preload("res://addons/tether/tools/components.gd").shorten(single)
		if PackedFloat32Array([short])[0] != single:
			worst += "%s %s " % [single, short]
return worst"""


def test_I3_short_numbers_read_back(tools):
    assert tools.run_code(SAME) == ""
