"""F8: the tools about files, scripts, settings, the running game and the help, in a real headless editor."""
import json
import os

import pytest

from tools_probe import shared_tools

# The engine reports what a check or a snippet finds in the editor's log, too; that is wanted here.
WANTED_ERRORS = ("SCRIPT ERROR: Parse Error", "SCRIPT ERROR: Invalid call", "ERROR: from a snippet", "ERROR: sad", "WARNING: hmm", "ERROR: again", "ERROR: flood", "queue_free",
                 "changed in the meantime", "no_loader", "Failed loading resource", "SCRIPT ERROR: Compile Error")
SCRIPT = """extends Node2D

@export var speed: float = 3.0
var friend: Node2D = null
var other: Node2D = friend
"""
PLAYER = """class_name Player
extends Node2D

@export var speed: float = 3.0
var friend: Player = null


func twin() -> Player:
\tfriend = self
\treturn friend
"""
# The editor does not pass its own --headless on.
HEADLESS_GAME = '\n[editor]\n\nrun/main_run_args="--headless"\n'
ENEMY = """extends Player
const P := preload("player.gd")
func f(p: Player) -> void:
\tp.twin().speed = 1.0
"""
GAME = """extends Node2D

var frames: int = 0
var nobody: Node = null


func _ready() -> void:
\tprint("hello from the game")
\tpush_error("sad")
\tpush_warning("hmm")


func _process(_delta: float) -> void:
\tframes += 1
\tpush_error("again")
\tif frames == 7:
\t\tnobody.queue_free()
"""


# All that it says in one frame stands behind the news that it is held.
FLOOD = """extends Node2D


func _process(_delta: float) -> void:
\tfor number: int in 300:
\t\tpush_error("flood %d" % number)
\tvar nobody: Node = null
\tnobody.queue_free()
"""


def write(project, path, text):
    path = os.path.join(project, path.removeprefix("res://"))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def fill(project):
    write(project, "actors/player.gd", PLAYER)
    write(project, "actors/enemy.gd", ENEMY)
    for number in range(300):
        write(project, "data/%d/%d.txt" % (number % 20, number), "line\n" * 50 + "needle %d\n" % number)


@pytest.fixture(scope="module")
def editor(tmp_path_factory):
    yield from shared_tools(str(tmp_path_factory.mktemp("tools")), settings=HEADLESS_GAME, expected=WANTED_ERRORS, fill=fill)


@pytest.fixture
def tools(editor):
    editor.begin()
    return editor


def read(tools, path):
    with open(os.path.join(tools.project, path.removeprefix("res://"))) as file:
        return file.read()


# ---- scripts -------------------------------------------------------------------------------------

def make_script(tools, name):
    """A script that a test may change."""
    path = "res://scripts/%s.gd" % name
    tools.call("script_create", path=path, text=SCRIPT)
    return path


def test_F8_a_script_with_mistakes_is_not_written(tools):
    refused = tools.refusal("script_create", path="res://player.gd", text="extends Node2D\nvar a: int = \"x\"\nfunc f(:\n\tpass\n")
    assert "Not written" in refused and "line 3" in refused
    assert not os.path.exists(os.path.join(tools.project, "player.gd"))


def test_F8_a_script_is_written_changed_and_both_undone(tools):
    path = "res://scripts/walker.gd"
    text = PLAYER.replace("Player", "Walker")
    tools.call("script_create", path=path, text=text)
    assert read(tools, path) == text
    tools.call("script_edit", path=path, old="speed: float = 3.0", new="speed: float = 4.0")
    assert "speed: float = 4.0" in read(tools, path)
    assert tools.call("editor_undo") == {"undone": "Edit walker.gd"}
    assert read(tools, path) == text
    assert tools.call("editor_redo") == {"redone": "Edit walker.gd"}
    assert "speed: float = 4.0" in read(tools, path)


def test_F8_what_is_to_be_replaced_must_be_there_once(tools):
    path = make_script(tools, "once")
    tools.call("script_edit", path=path, old="speed: float = 3.0", new="speed: float = 4.0")
    text = tools.refusal("script_edit", path=path, old="speed: float = 3.0", new="speed: float = 4.0")
    assert "is not in the file" in text and "Line 3" in text
    assert "times" in tools.refusal("script_edit", path=path, old="friend", new="pal")
    tools.call("script_edit", path=path, old="friend", new="pal", all=True)
    assert "pal: Node2D = null" in read(tools, path) and "friend" not in read(tools, path)


def test_F8_a_change_that_breaks_a_script_needs_force(tools):
    path = make_script(tools, "force")
    assert "line 4" in tools.refusal("script_edit", path=path, old="= null", new="= Nonsense")
    assert "friend: Node2D = null" in read(tools, path)
    tools.call("script_edit", path=path, old="= null", new="= Nonsense", force=True)
    assert "= Nonsense" in read(tools, path)
    tools.call("script_edit", path=path, text=SCRIPT)
    assert read(tools, path) == SCRIPT


def test_F8_a_file_that_others_changed_is_not_overwritten_by_undo(tools):
    path = make_script(tools, "mine")
    tools.call("script_edit", path=path, text=SCRIPT + "# ours\n")
    with open(os.path.join(tools.project, "scripts/mine.gd"), "a") as file:
        file.write("# mine\n")
    tools.call("editor_undo")
    assert read(tools, path) == SCRIPT + "# ours\n# mine\n"


def test_F8_a_script_is_checked(tools):
    path = "res://actors/player.gd"
    assert tools.call("script_check", path=path) == {"ok": True, "errors": []}
    found = tools.call("script_check", path=path, text=PLAYER + "\nfunc g() -> void:\n\tvar p: Player = 3\n\tzz()\n")
    assert [entry["line"] for entry in found["errors"]] == [13, 14] and not found["ok"]
    assert '"zz()"' in found["errors"][-1]["message"] and "__tether" not in str(found)
    # Checking a text leaves the loaded script alone.
    assert tools.run_code("return load(\"res://actors/player.gd\").source_code.contains(\"zz()\")") is False
    assert tools.run_code("return load(\"res://actors/player.gd\").resource_path") == path


def test_F8_a_script_is_checked_that_uses_another(tools):
    """One of which only the name is known, relative paths, and its own class."""
    tools.call("script_create", path="res://actors/boss.gd", text=ENEMY)
    assert tools.call("script_check", path="res://actors/boss.gd")["ok"]
    tools.call("editor_undo")
    assert not os.path.exists(os.path.join(tools.project, "actors/boss.gd"))


def test_F8_an_open_script_follows_a_change(tools):
    path = make_script(tools, "shown")
    tools.run_code("EditorInterface.edit_script(load(\"%s\"))" % path)
    tools.call("script_edit", path=path, old="3.0", new="2.0")
    shown = "return EditorInterface.get_script_editor().get_current_editor().get_base_editor().text"
    assert "2.0" in tools.run_code(shown)


def test_F8_what_the_user_is_writing_is_not_lost(tools):
    path = make_script(tools, "written")
    tools.run_code("EditorInterface.edit_script(load(\"%s\"))" % path)
    tools.run_code("EditorInterface.get_script_editor().get_current_editor().get_base_editor().text += \"# user\\n\"")
    assert "unsaved changes" in tools.refusal("script_edit", path=path, old="3.0", new="2.0")
    tools.run_code("var code: CodeEdit = EditorInterface.get_script_editor().get_current_editor().get_base_editor()\n"
                   "code.text = FileAccess.get_file_as_string(\"%s\")\ncode.tag_saved_version()" % path)


# ---- code that is run, and the log ---------------------------------------------------------------

def test_F8_code_is_run_and_what_it_prints_is_told(tools):
    answer = tools.call("script_run", code="print(\"one\")\nfor i in 2:\n\tprint(i)\nreturn scene.name")
    assert answer == {"result": {"StringName": "Main"}, "type": "StringName", "printed": "one\n0\n1"}
    assert tools.call("script_run", code="await Engine.get_main_loop().process_frame\nreturn {\"a\": 1}")["result"] == {"a": 1}
    assert tools.call("script_run", code="")["result"] is None


def test_F8_mistakes_in_code_that_is_run_are_told(tools):
    answer = tools.call("script_run", code="if true:\n    push_error(\"from a snippet\")\nvar n = null\nn.foo()\nreturn 1")
    assert answer["result"] is None and len(answer["errors"]) == 2
    assert answer["errors"][1].startswith("line 4: Invalid call")
    assert "line 2: " in tools.refusal("script_run", code="var x = 1\nretrn x")


def test_F8_neither_a_check_nor_a_run_leaves_a_script_behind(tools):
    count = "return Performance.get_monitor(Performance.OBJECT_COUNT)"
    before = tools.run_code(count)["float"]
    for number in range(20):
        tools.run_code("return %d" % number)
        tools.call("script_check", path="res://new%d.gd" % number, text="extends Node\n")
    assert tools.run_code(count)["float"] <= before + 10


def test_F8_the_log_is_read_by_severity_and_words(tools):
    tools.call("script_run", code="push_error(\"from a snippet: log\")")
    log = tools.call("editor_log", severity="error", contains="from a snippet: log")
    assert log["matching"] == 1 and log["entries"][0]["severity"] == "error"
    tools.run_code("print(\"from a snippet: log, but no error\")")
    assert tools.call("editor_log", severity="error", contains="from a snippet: log")["matching"] == 1


def test_F8_the_newest_of_the_log_come_first_and_what_is_newer_than_known(tools):
    tools.run_code("for i in 5:\n\tprint(\"count %d\" % i)")
    newest = tools.call("editor_log", contains="count ", limit=2)
    assert [entry["text"].strip() for entry in newest["entries"]] == ["count 3", "count 4"] and newest["matching"] == 5
    log = tools.call("editor_log")
    tools.run_code("print(\"later\")")
    assert [entry["text"] for entry in tools.call("editor_log", after=log["last"], contains="later")["entries"]] == ["later"]


# ---- files ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("path, words", [
    ("/etc/passwd", "begin with 'res://'"), ("user://x.gd", "begin with 'res://'"), ("res://../x.gd", "leaves the project"),
    ("res://a/../../x.gd", "leaves the project"), ("res://addons/tether/x.gd", "addons/tether"),
    ("res://Addons/Tether/x.gd", "addons/tether"), ("res://addons/x/../tether/x.gd", "addons/tether"),
    ("res://.godot/x.gd", ".godot"), ("res://project.godot", "project_settings_set"), ("res://x.png", "not a kind of text file")])
def test_F8_nothing_is_written_outside_the_project(tools, path, words):
    assert words in tools.refusal("script_create", path=path, text="extends Node\n")
    assert not os.path.exists(os.path.join(tools.project, "../x.gd"))


def test_F8_nothing_is_read_outside_the_project(tools):
    assert "begin with 'res://'" in tools.refusal("file_read", path="/etc/passwd")
    assert "leaves the project" in tools.refusal("file_list", folder="res://..")
    assert "addons/tether" in tools.refusal("scene_new", path="res://addons/tether/x.tscn")


def test_F8_files_are_listed(tools):
    listed = tools.call("file_list", glob="*.txt", limit=10)
    assert listed["total"] == 300 and len(listed["files"]) == 10 and listed["next"] == 10
    assert tools.call("file_list", glob="data/3/*.txt")["total"] == 15
    assert tools.call("file_list", glob="**/player.gd")["files"] == ["res://actors/player.gd"]
    assert tools.call("file_list", folder="res://actors")["files"] == ["res://actors/enemy.gd", "res://actors/player.gd"]
    assert not [path for path in tools.call("file_list", limit=500)["files"] if "addons" in path]


def test_F8_files_are_searched(tools):
    found = tools.call("file_search", text="needle", limit=200)
    assert len(found["hits"]) == 200 and found["next"] == 200
    assert len(tools.call("file_search", text="needle", limit=200, offset=200)["hits"]) == 100
    assert tools.call("file_search", text="NEEDLE 299", case=False)["hits"] == ["res://data/19/299.txt:51: needle 299"]
    assert len(tools.call("file_search", text=r"^needle 1\d$", regex=True)["hits"]) == 10
    assert tools.call("file_search", text="needle 1.", limit=5) == {"hits": []}
    assert "regular expression" in tools.refusal("file_search", text="(", regex=True)


def test_F8_a_file_is_read_in_parts(tools):
    lines = tools.call("file_read", path="res://data/19/299.txt", **{"from": 50, "limit": 1})
    assert lines["text"] == "line" and lines["next"] == 51 and lines["lines"] == 52
    assert "Did you mean 'player.gd'" in tools.refusal("file_read", path="res://actors/playr.gd")


def make_picture(tools):
    tools.run_code("var image := Image.create_empty(4, 2, false, Image.FORMAT_RGBA8)\nimage.save_png(\"res://dot.png\")\n"
                   "EditorInterface.get_resource_filesystem().scan()")
    tools.settle()


def test_F8_a_picture_is_imported_anew(tools):
    make_picture(tools)
    state = tools.call("file_import", path="res://dot.png")
    assert state["importer"] == "texture" and state["valid"] is True and state["settings"]["mipmaps/generate"] is False
    tools.call("file_import", path="res://dot.png", reimport=True)
    tools.settle()
    assert tools.call("file_import")["failed"] == []
    assert "not a file that is imported" in tools.refusal("file_import", path="res://actors/player.gd")


def test_F8_resources_are_read(tools):
    make_picture(tools)
    assert tools.call("resource_read", path="res://dot.png")["type"] == "CompressedTexture2D"
    scene = tools.call("resource_read", path=tools.scene)
    assert scene["type"] == "PackedScene" and "_bundled" in scene["properties"]
    assert "no property" in tools.refusal("resource_read", path="res://dot.png", properties=["lode_path"])
    assert "not a resource" in tools.refusal("resource_read", path="res://data/19/299.txt")


def test_F8_an_imported_scene_is_added_and_not_opened(tools):
    """Opening one would make the editor ask the user; it can be added to a scene."""
    with open(os.path.join(tools.project, "thing.gltf"), "w") as file:
        json.dump({"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"name": "A"}]}, file)
    tools.run_code("EditorInterface.get_resource_filesystem().scan()")
    tools.settle()
    assert "scene_instantiate" in tools.refusal("scene_open", path="res://thing.gltf")
    assert tools.call("scene_instantiate", path="res://thing.gltf") == {"added": "thing", "type": "Node3D"}
    assert "thing (Node3D) instance=res://thing.gltf" in tools.call("scene_tree")["nodes"]
    assert tools.call("editor_undo") == {"undone": "Add thing"}


# ---- settings ------------------------------------------------------------------------------------

def test_F8_settings_are_set_told_and_undone(tools):
    tools.call("project_settings_set", settings={"display/window/size/viewport_width": 320, "rendering/textures/canvas_textures/default_texture_filter": "nearest"})
    assert "window/size/viewport_width=320" in read(tools, "res://project.godot")
    assert tools.call("project_settings_get", name="display/window/size/viewport_width")["value"] == 320
    assert tools.call("project_settings_get", name="rendering/textures/canvas_textures/default_texture_filter")["value"] == 0
    assert tools.call("project_settings_get")["settings"]["display/window/size/viewport_width"] == 320
    tools.call("editor_undo")
    assert "viewport_width" not in read(tools, "res://project.godot")


def test_F8_settings_are_told_in_pages(tools):
    page = tools.call("project_settings_get", name="display/window/", limit=3)
    assert len(page["settings"]) == 3 and page["next"] == 3


def test_F8_settings_that_make_no_sense_are_refused(tools):
    for name, words in (("autoload/Other", "project_autoloads"), ("input/other", "project_input_map")):
        assert words in tools.refusal("project_settings_set", settings={name: "res://x.gd"}, create=True)
    assert "a whole number" in tools.refusal("project_settings_set", settings={"display/window/size/viewport_width": "wide"})
    assert "'display/window/size/viewport_width'" in tools.refusal("project_settings_set", settings={"display/window/size/viewport_widht": 1})


def test_F8_input_actions_are_added_and_removed(tools):
    events = [{"key": "Space", "physical": True}, {"key": "S", "physical": False, "ctrl": True}, {"mouse": "left"},
              {"joy_button": 3}, {"joy_axis": 1, "value": -1}]
    tools.call("project_input_map", action="add", name="jump", events=events)
    assert tools.call("project_input_map")["actions"] == {"jump": {"deadzone": 0.2, "events": events}}
    assert "jump={" in read(tools, "res://project.godot")
    tools.call("project_input_map", action="remove", name="jump")
    assert tools.call("project_input_map")["actions"] == {}
    tools.call("editor_undo")
    assert list(tools.call("project_input_map")["actions"]) == ["jump"]


def test_F8_input_actions_that_make_no_sense_are_refused(tools):
    assert "no key 'Spacce'" in tools.refusal("project_input_map", action="add", name="x", events=[{"key": "Spacce"}])
    assert "engine's own" in tools.refusal("project_input_map", action="remove", name="ui_accept")


def test_F8_autoloads_are_added_and_removed(tools):
    tools.call("script_create", path="res://state.gd", text="extends Node\nvar score: int = 0\n")
    tools.call("project_autoloads", action="add", name="State", path="res://state.gd")
    assert tools.call("project_autoloads")["autoloads"] == {"State": {"path": "res://state.gd", "singleton": True}}
    assert "already" in tools.refusal("project_autoloads", action="add", name="State", path="res://state.gd")
    tools.call("project_autoloads", action="remove", name="State")
    assert tools.call("project_autoloads")["autoloads"] == {}
    assert tools.call("editor_undo")["undone"]
    assert list(tools.call("project_autoloads")["autoloads"]) == ["State"]
    tools.call("project_autoloads", action="remove", name="State")


def test_F8_autoloads_that_make_no_sense_are_refused(tools):
    assert "class of the engine" in tools.refusal("project_autoloads", action="add", name="Node", path="res://actors/player.gd")
    assert "class_name" in tools.refusal("project_autoloads", action="add", name="Player", path="res://actors/player.gd")


def test_F8_export_presets_are_told(tools):
    assert tools.call("project_export_presets") == {"presets": []}


# ---- the game ------------------------------------------------------------------------------------

def run_game(tools, text):
    path = tools.scene.replace("main.tscn", "game.gd")
    tools.call("script_create", path=path, text=text)
    tools.call("script_attach", node=".", path=path)
    tools.call("scene_save")
    assert tools.call("project_run", scene="current") == {"running": tools.scene}
    return path


@pytest.fixture
def game(tools):
    """For tests that run one: it ends with them."""
    yield tools
    tools.call("project_stop")
    tools.until("editor_state", lambda state: state["playing"] is None)


def test_F8_a_game_is_run_and_stopped(game):
    run_game(game, "extends Node2D\n")
    assert "running already" in game.refusal("project_run", scene="current")
    assert game.call("project_stop") == {"stopped": True}
    game.until("editor_state", lambda state: state["playing"] is None)
    assert game.call("project_stop") == {"stopped": False}


def test_F8_a_game_is_not_run_without_a_main_scene(tools):
    assert "no main scene" in tools.refusal("project_run")


def test_F8_what_a_game_says_is_told_and_why_it_is_held(game):
    path = run_game(game, GAME)
    held = game.until("project_output", lambda answer: "held" in answer)
    assert held["connected"] and held["playing"] and "hello from the game" in held["text"]
    assert any("sad" in text for text in held["errors"])
    assert held["errors"][-1].endswith("on a null value. (%s:17)" % path) and "project_stop" in held["held"]
    assert "on a null value." in held["held"]
    assert [text[-9:] for text in held["errors"] if "again" in text] == ["(7 times)"]
    lines = game.call("project_output", **{"from": 0, "limit": 1000})["text"].split("\n")
    assert game.call("project_output", **{"from": 1, "limit": 2})["text"].split("\n") == lines[1:3]


TALK = """extends Node2D


func _ready() -> void:
\tprint_rich("[b]one[/b] [color=red]of[/color] [four]")
\tprint("two\\nthree [b]as it is[/b]")
\tprinterr("five")
\tprint("done")
"""
# Text that is to be found narrows what the panel shows, as a person does.
NARROW = """var panel := EditorInterface.get_base_control().find_children("*", "EditorLog", true, false)[0]
(panel.find_children("*", "LineEdit", true, false)[0] as LineEdit).text = "%s"
"""


def test_F8_what_a_game_says_is_told_whatever_the_panel_shows_of_it(game):
    game.run_code(NARROW % "nothing of it")
    try:
        run_game(game, TALK)
        for again in (True, False):  # what the second one says begins anew
            told = game.until("project_output", lambda answer: answer["connected"] and "done" in answer["text"])
            text = told["text"].split("\n")
            begin = text.index("one of [four]")
            assert text[begin:] == ["one of [four]", "two", "three [b]as it is[/b]", "five", "done"]
            assert text.count("two") == 1 and told["lines"] == told["from"] + len(text)
            middle = game.call("project_output", **{"from": told["from"] + begin + 1, "limit": 2})
            assert middle["text"] == "two\nthree [b]as it is[/b]"
            game.call("project_stop")
            over = game.until("project_output", lambda answer: not (answer["playing"] or answer["connected"]))
            assert over["lines"] == told["lines"]  # it can be read afterwards
            if again:
                game.call("project_run", scene="current")
    finally:
        game.run_code(NARROW % "")


def test_F8_a_game_is_not_told_to_be_held_before_the_error_that_holds_it(game):
    """Much is said before it, which the editor takes a while to hear."""
    run_game(game, FLOOD)
    held = game.until("project_output", lambda answer: "held" in answer)
    assert "queue_free" in held["held"] and "on a null value" in held["errors"][-1]


def test_F8_there_are_no_pictures_without_a_window(tools):
    assert "without a window" in tools.refusal("editor_screenshot")
    assert "No game" in tools.refusal("editor_screenshot", target="game")


# ---- the help ------------------------------------------------------------------------------------

def test_F8_the_help_of_a_class_is_read(tools):
    docs = tools.call("docs_class", name="Node2D", members="methods")
    assert docs["inherits"] == "CanvasItem" and docs["brief"].startswith("A 2D game object")
    assert "method look_at(point: Vector2) -> void" in docs["members"]
    pages = [tools.call("docs_class", name="Node2D", members="methods", limit=4, offset=offset) for offset in (0, 4)]
    assert pages[0]["members"] + pages[1]["members"] == docs["members"][:8] and pages[0]["next"] == 4
    assert tools.call("docs_class", name="Timer", members="signals", inherited=True)["total"] > 10
    assert "'Node2D'" in tools.refusal("docs_class", name="Nod2D")


def test_F8_the_help_is_loaded_without_holding_up_the_editor(tools):
    """When it is asked for first."""
    tools.request(op="detach")
    tools.attach()
    tools.call("docs_class", name="Node2D", members="methods")
    assert tools.last_frames > 1


def test_F8_the_help_of_a_method_is_read(tools):
    method = tools.call("docs_member", **{"class": "Sprite2D", "name": "add_child"})
    assert method["class"] == "Node" and "Adds a child" in method["description"] and "force_readable_name" in method["signature"]
    assert tools.call("docs_member", **{"class": "@GlobalScope", "name": "lerp"})["kind"] == "method"
    assert tools.call("docs_member", **{"class": "@GDScript", "name": "@export_range"})["kind"] == "annotation"
    assert "'look_at'" in tools.refusal("docs_member", **{"class": "Node2D", "name": "lookat"})


def test_F8_the_help_of_a_property_is_read(tools):
    assert "position: Vector2 = Vector2(0, 0)" in tools.call("docs_member", **{"class": "Sprite2D", "name": "position"})["signature"]
    assert tools.call("docs_member", **{"class": "Node", "name": "PROCESS_MODE_ALWAYS"})["signature"] == "ProcessMode.PROCESS_MODE_ALWAYS = 3"


def test_F8_the_help_is_searched(tools):
    assert tools.call("docs_search", text="look at", kind="method")["hits"][0] == "method Node2D.look_at"
    assert tools.last_frames > 3  # searching lets the editor draw
    assert tools.call("docs_search", text="AnimatedSprite", kind="class", names_only=True)["total"] == 2
    assert tools.call("docs_search", text="AnimatedSprite2D", kind="method", names_only=True)["total"] == 0
    assert all(hit.startswith("signal ") for hit in tools.call("docs_search", text="changed", kind="signal", limit=50)["hits"])
    assert "'text' is empty" in tools.refusal("docs_search", text=" ")


def test_F8_a_class_of_the_project_has_help_too(tools):
    player = tools.call("docs_class", name="Player")
    assert player["script"] == "res://actors/player.gd" and "method twin() -> Player" in player["members"]
    assert "reflection" in player["note"]
