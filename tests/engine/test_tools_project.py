"""F8: the tools about files, scripts, settings, the running game and the help, in a real headless editor."""
import json
import os

from tools_probe import ToolsEditor, make_tools_project

# The engine reports what a check or a snippet finds in the editor's log, too; that is wanted here.
WANTED_ERRORS = ("SCRIPT ERROR: Parse Error", "SCRIPT ERROR: Invalid call", "ERROR: from a snippet", "ERROR: sad", "WARNING: hmm", "ERROR: again", "queue_free",
                 "changed in the meantime", "no_loader", "Failed loading resource", "SCRIPT ERROR: Compile Error")
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


def read(tools, path):
    with open(os.path.join(tools.project, path.removeprefix("res://"))) as file:
        return file.read()


def check_writing_scripts(tools):
    refused = tools.refusal("script_create", path="res://player.gd", text="extends Node2D\nvar a: int = \"x\"\nfunc f(:\n\tpass\n")
    assert "Not written" in refused and "line 3" in refused
    assert not os.path.exists(os.path.join(tools.project, "player.gd"))
    tools.call("script_create", path="res://actors/player.gd", text=PLAYER)
    assert read(tools, "res://actors/player.gd") == PLAYER
    edit = {"path": "res://actors/player.gd", "old": "speed: float = 3.0", "new": "speed: float = 4.0"}
    tools.call("script_edit", **edit)
    assert "speed: float = 4.0" in read(tools, edit["path"])
    assert tools.call("editor_undo") == {"undone": "Edit player.gd"}
    assert read(tools, edit["path"]) == PLAYER
    assert tools.call("editor_redo") == {"redone": "Edit player.gd"}
    assert "is not in the file" in tools.refusal("script_edit", **edit) and "Line 4" in tools.refusal("script_edit", **edit)
    assert "times" in tools.refusal("script_edit", path=edit["path"], old="friend", new="pal")
    tools.call("script_edit", path=edit["path"], old="friend", new="pal", all=True)
    assert "line 5" in tools.refusal("script_edit", path=edit["path"], old="= null", new="= Nonsense")
    assert "pal: Player = null" in read(tools, edit["path"])
    tools.call("script_edit", path=edit["path"], old="= null", new="= Nonsense", force=True)
    assert "= Nonsense" in read(tools, edit["path"])
    tools.call("script_edit", path=edit["path"], text=PLAYER)
    # A file that was changed by others is not overwritten by undo.
    with open(os.path.join(tools.project, "actors/player.gd"), "a") as file:
        file.write("# mine\n")
    tools.call("editor_undo")
    assert read(tools, edit["path"]) == PLAYER + "# mine\n"


def check_checking(tools):
    path = "res://actors/player.gd"
    assert tools.call("script_check", path=path) == {"ok": True, "errors": []}
    found = tools.call("script_check", path=path, text=PLAYER + "\nfunc g() -> void:\n\tvar p: Player = 3\n\tzz()\n")
    assert [entry["line"] for entry in found["errors"]] == [13, 14] and not found["ok"]
    assert '"zz()"' in found["errors"][-1]["message"] and "__tether" not in str(found)
    # The script uses another one of which only the name is known, relative paths, and its own class.
    tools.call("script_create", path="res://actors/enemy.gd", text="extends Player\nconst P := preload(\"player.gd\")\n"
               "func f(p: Player) -> void:\n\tp.twin().speed = 1.0\n")
    assert tools.call("script_check", path="res://actors/enemy.gd")["ok"]
    # Checking a text leaves the loaded script alone.
    assert tools.run_code("return load(\"res://actors/player.gd\").source_code.contains(\"zz()\")") is False
    assert tools.run_code("return load(\"res://actors/player.gd\").resource_path") == path


def check_paths(tools):
    for path, words in (("/etc/passwd", "begin with 'res://'"), ("user://x.gd", "begin with 'res://'"),
                        ("res://../x.gd", "leaves the project"), ("res://a/../../x.gd", "leaves the project"),
                        ("res://addons/tether/x.gd", "addons/tether"), ("res://Addons/Tether/x.gd", "addons/tether"),
                        ("res://addons/x/../tether/x.gd", "addons/tether"), ("res://.godot/x.gd", ".godot"),
                        ("res://project.godot", "project_settings_set"), ("res://x.png", "not a kind of text file")):
        assert words in tools.refusal("script_create", path=path, text="extends Node\n"), path
    assert "begin with 'res://'" in tools.refusal("file_read", path="/etc/passwd")
    assert "leaves the project" in tools.refusal("file_list", folder="res://..")
    assert "addons/tether" in tools.refusal("scene_new", path="res://addons/tether/x.tscn")
    assert not os.path.exists(os.path.join(tools.project, "../x.gd"))


def check_open_script(tools):
    """What the script editor shows follows a change, and what the user is writing there is not lost."""
    path = "res://actors/enemy.gd"
    tools.run_code("EditorInterface.edit_script(load(\"%s\"))" % path)
    tools.call("script_edit", path=path, old="1.0", new="2.0")
    shown = "return EditorInterface.get_script_editor().get_current_editor().get_base_editor().text"
    assert "2.0" in tools.run_code(shown)
    tools.run_code("EditorInterface.get_script_editor().get_current_editor().get_base_editor().text += \"# user\\n\"")
    assert "unsaved changes" in tools.refusal("script_edit", path=path, old="2.0", new="3.0")
    tools.run_code("var code: CodeEdit = EditorInterface.get_script_editor().get_current_editor().get_base_editor()\n"
                   "code.text = FileAccess.get_file_as_string(\"%s\")\ncode.tag_saved_version()" % path)


def check_running_code(tools):
    answer = tools.call("script_run", code="print(\"one\")\nfor i in 2:\n\tprint(i)\nreturn scene.name")
    assert answer == {"result": {"StringName": "Main"}, "type": "StringName", "printed": "one\n0\n1"}
    answer = tools.call("script_run", code="if true:\n    push_error(\"from a snippet\")\nvar n = null\nn.foo()\nreturn 1")
    assert answer["result"] is None and len(answer["errors"]) == 2
    assert answer["errors"][1].startswith("line 4: Invalid call")
    assert "line 2: " in tools.refusal("script_run", code="var x = 1\nretrn x")
    assert tools.call("script_run", code="await Engine.get_main_loop().process_frame\nreturn {\"a\": 1}")["result"] == {"a": 1}
    assert tools.call("script_run", code="")["result"] is None
    # Neither a check nor a run leaves a script behind.
    count = "return Performance.get_monitor(Performance.OBJECT_COUNT)"
    before = tools.run_code(count)["float"]
    for number in range(20):
        tools.run_code("return %d" % number)
        tools.call("script_check", path="res://new%d.gd" % number, text="extends Node\n")
    assert tools.run_code(count)["float"] <= before + 10
    log = tools.call("editor_log", severity="error", contains="from a snippet")
    assert log["matching"] == 1 and log["entries"][0]["severity"] == "error"
    tools.run_code("print(\"from a snippet, but no error\")")
    assert tools.call("editor_log", severity="error", contains="from a snippet")["matching"] == 1
    tools.run_code("for i in 5:\n\tprint(\"count %d\" % i)")
    newest = tools.call("editor_log", contains="count ", limit=2)
    assert [entry["text"].strip() for entry in newest["entries"]] == ["count 3", "count 4"] and newest["matching"] == 5
    log = tools.call("editor_log")
    tools.run_code("print(\"later\")")
    assert [entry["text"] for entry in tools.call("editor_log", after=log["last"], contains="later")["entries"]] == ["later"]


def check_files(tools):
    for number in range(300):
        folder = os.path.join(tools.project, "data/%d" % (number % 20))
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "%d.txt" % number), "w") as file:
            file.write("line\n" * 50 + "needle %d\n" % number)
    listed = tools.call("file_list", glob="*.txt", limit=10)
    assert listed["total"] == 300 and len(listed["files"]) == 10 and listed["next"] == 10
    assert tools.call("file_list", glob="data/3/*.txt")["total"] == 15
    assert tools.call("file_list", glob="**/player.gd")["files"] == ["res://actors/player.gd"]
    assert tools.call("file_list", folder="res://actors")["files"] == ["res://actors/enemy.gd", "res://actors/player.gd"]
    assert not [path for path in tools.call("file_list", limit=500)["files"] if "addons" in path]
    found = tools.call("file_search", text="needle", limit=200)
    assert len(found["hits"]) == 200 and found["next"] == 200
    assert len(tools.call("file_search", text="needle", limit=200, offset=200)["hits"]) == 100
    assert tools.call("file_search", text="NEEDLE 299", case=False)["hits"] == ["res://data/19/299.txt:51: needle 299"]
    assert len(tools.call("file_search", text=r"^needle 1\d$", regex=True)["hits"]) == 10
    assert tools.call("file_search", text="needle 1.", limit=5) == {"hits": []}
    assert "regular expression" in tools.refusal("file_search", text="(", regex=True)
    lines = tools.call("file_read", path="res://data/19/299.txt", **{"from": 50, "limit": 1})
    assert lines["text"] == "line" and lines["next"] == 51 and lines["lines"] == 52
    assert "Did you mean 'player.gd'" in tools.refusal("file_read", path="res://actors/playr.gd")


def check_resources(tools):
    tools.run_code("var image := Image.create_empty(4, 2, false, Image.FORMAT_RGBA8)\nimage.save_png(\"res://dot.png\")\n"
                   "EditorInterface.get_resource_filesystem().scan()")
    tools.settle()
    state = tools.call("file_import", path="res://dot.png")
    assert state["importer"] == "texture" and state["valid"] is True and state["settings"]["mipmaps/generate"] is False
    tools.call("file_import", path="res://dot.png", reimport=True)
    tools.settle()
    assert tools.call("file_import")["failed"] == []
    assert "not a file that is imported" in tools.refusal("file_import", path="res://actors/player.gd")
    assert tools.call("resource_read", path="res://dot.png")["type"] == "CompressedTexture2D"
    scene = tools.call("resource_read", path="res://main.tscn")
    assert scene["type"] == "PackedScene" and "_bundled" in scene["properties"]
    assert "no property" in tools.refusal("resource_read", path="res://dot.png", properties=["lode_path"])
    assert "not a resource" in tools.refusal("resource_read", path="res://data/19/299.txt")


def check_imported_scene(tools):
    """Opening one would make the editor ask the user; it can be added to a scene."""
    with open(os.path.join(tools.project, "thing.gltf"), "w") as file:
        json.dump({"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"name": "A"}]}, file)
    tools.run_code("EditorInterface.get_resource_filesystem().scan()")
    tools.settle()
    assert "scene_instantiate" in tools.refusal("scene_open", path="res://thing.gltf")
    assert tools.call("scene_instantiate", path="res://thing.gltf") == {"added": "thing", "type": "Node3D"}
    assert "thing (Node3D) instance=res://thing.gltf" in tools.call("scene_tree")["nodes"]
    assert tools.call("editor_undo") == {"undone": "Add thing"}


def check_settings(tools):
    tools.call("project_settings_set", settings={"display/window/size/viewport_width": 320, "rendering/textures/canvas_textures/default_texture_filter": "nearest"})
    assert "window/size/viewport_width=320" in read(tools, "res://project.godot")
    assert tools.call("project_settings_get", name="display/window/size/viewport_width")["value"] == 320
    assert tools.call("project_settings_get", name="rendering/textures/canvas_textures/default_texture_filter")["value"] == 0
    assert tools.call("project_settings_get")["settings"]["display/window/size/viewport_width"] == 320
    page = tools.call("project_settings_get", name="display/window/", limit=3)
    assert len(page["settings"]) == 3 and page["next"] == 3
    tools.call("editor_undo")
    assert "viewport_width" not in read(tools, "res://project.godot")
    for name, words in (("autoload/Other", "project_autoloads"), ("input/other", "project_input_map")):
        assert words in tools.refusal("project_settings_set", settings={name: "res://x.gd"}, create=True)
    assert "a whole number" in tools.refusal("project_settings_set", settings={"display/window/size/viewport_width": "wide"})
    assert "'display/window/size/viewport_width'" in tools.refusal("project_settings_set", settings={"display/window/size/viewport_widht": 1})


def check_input_and_autoloads(tools):
    events = [{"key": "Space", "physical": True}, {"key": "S", "physical": False, "ctrl": True}, {"mouse": "left"},
              {"joy_button": 3}, {"joy_axis": 1, "value": -1}]
    tools.call("project_input_map", action="add", name="jump", events=events)
    assert tools.call("project_input_map")["actions"] == {"jump": {"deadzone": 0.2, "events": events}}
    assert "jump={" in read(tools, "res://project.godot")
    assert "no key 'Spacce'" in tools.refusal("project_input_map", action="add", name="x", events=[{"key": "Spacce"}])
    assert "engine's own" in tools.refusal("project_input_map", action="remove", name="ui_accept")
    tools.call("project_input_map", action="remove", name="jump")
    assert tools.call("project_input_map")["actions"] == {}
    tools.call("editor_undo")
    assert list(tools.call("project_input_map")["actions"]) == ["jump"]
    tools.call("script_create", path="res://state.gd", text="extends Node\nvar score: int = 0\n")
    tools.call("project_autoloads", action="add", name="State", path="res://state.gd")
    assert tools.call("project_autoloads")["autoloads"] == {"State": {"path": "res://state.gd", "singleton": True}}
    assert "already" in tools.refusal("project_autoloads", action="add", name="State", path="res://state.gd")
    assert "class of the engine" in tools.refusal("project_autoloads", action="add", name="Node", path="res://state.gd")
    assert "class_name" in tools.refusal("project_autoloads", action="add", name="Player", path="res://state.gd")
    tools.call("project_autoloads", action="remove", name="State")
    assert tools.call("project_autoloads")["autoloads"] == {}
    assert tools.call("editor_undo")["undone"]
    assert list(tools.call("project_autoloads")["autoloads"]) == ["State"]
    assert tools.call("project_export_presets") == {"presets": []}


def check_game(tools):
    assert "no main scene" in tools.refusal("project_run")
    tools.call("script_create", path="res://game.gd", text=GAME)
    tools.call("script_attach", node=".", path="res://game.gd")
    tools.call("scene_save")
    assert tools.call("project_run", scene="current") == {"running": "res://main.tscn"}
    assert "running already" in tools.refusal("project_run", scene="current")
    tools.until("project_output", lambda answer: any("hmm" in text for text in answer.get("errors", [])))
    output = tools.call("project_output")
    assert output["connected"] and output["playing"] and "hello from the game" in output["text"]
    assert any("sad" in text for text in output["errors"])
    held = tools.until("project_output", lambda answer: "held" in answer)
    assert held["errors"][-1].endswith("on a null value. (res://game.gd:17)") and "project_stop" in held["held"]
    assert [text[-9:] for text in held["errors"] if "again" in text] == ["(7 times)"]
    lines = tools.call("project_output", **{"from": 0, "limit": 1000})["text"].split("\n")
    assert tools.call("project_output", **{"from": 1, "limit": 2})["text"].split("\n") == lines[1:3]
    assert tools.call("project_stop") == {"stopped": True}
    tools.until("editor_state", lambda state: state["playing"] is None)
    assert tools.call("project_stop") == {"stopped": False}
    assert "without a window" in tools.refusal("editor_screenshot")
    assert "No game" in tools.refusal("editor_screenshot", target="game")


def check_docs(tools):
    docs = tools.call("docs_class", name="Node2D", members="methods")
    assert tools.last_frames > 1  # the help was loaded without holding up the editor
    assert docs["inherits"] == "CanvasItem" and docs["brief"].startswith("A 2D game object")
    assert "method look_at(point: Vector2) -> void" in docs["members"]
    pages = [tools.call("docs_class", name="Node2D", members="methods", limit=4, offset=offset) for offset in (0, 4)]
    assert pages[0]["members"] + pages[1]["members"] == docs["members"][:8] and pages[0]["next"] == 4
    assert tools.call("docs_class", name="Timer", members="signals", inherited=True)["total"] > 10
    method = tools.call("docs_method", **{"class": "Sprite2D", "name": "add_child"})
    assert method["class"] == "Node" and "Adds a child" in method["description"] and "force_readable_name" in method["signature"]
    assert tools.call("docs_method", **{"class": "@GlobalScope", "name": "lerp"})["kind"] == "method"
    assert tools.call("docs_method", **{"class": "@GDScript", "name": "@export_range"})["kind"] == "annotation"
    assert "position: Vector2 = Vector2(0, 0)" in tools.call("docs_property", **{"class": "Sprite2D", "name": "position"})["signature"]
    assert tools.call("docs_property", **{"class": "Node", "name": "PROCESS_MODE_ALWAYS"})["signature"] == "ProcessMode.PROCESS_MODE_ALWAYS = 3"
    assert "'look_at'" in tools.refusal("docs_method", **{"class": "Node2D", "name": "lookat"})
    assert "'Node2D'" in tools.refusal("docs_class", name="Nod2D")
    assert tools.call("docs_search", text="look at", kind="method")["hits"][0] == "method Node2D.look_at"
    assert tools.last_frames > 3  # searching lets the editor draw
    assert tools.call("docs_search", text="AnimatedSprite", kind="class", names_only=True)["total"] == 2
    assert tools.call("docs_search", text="AnimatedSprite2D", kind="method", names_only=True)["total"] == 0
    assert all(hit.startswith("signal ") for hit in tools.call("docs_search", text="changed", kind="signal", limit=50)["hits"])
    assert "'text' is empty" in tools.refusal("docs_search", text=" ")
    player = tools.call("docs_class", name="Player")
    assert player["script"] == "res://actors/player.gd" and "method twin() -> Player" in player["members"]
    assert "reflection" in player["note"]


def test_F8_files_scripts_settings_game_and_help(tmp_path):
    with ToolsEditor(make_tools_project(str(tmp_path / "p"), HEADLESS_GAME)) as tools:
        tools.settle()
        tools.call("scene_new", path="res://main.tscn")
        check_writing_scripts(tools)
        check_checking(tools)
        check_paths(tools)
        check_open_script(tools)
        check_running_code(tools)
        check_files(tools)
        check_resources(tools)
        check_imported_scene(tools)
        check_settings(tools)
        check_input_and_autoloads(tools)
        check_game(tools)
        check_docs(tools)
        assert tools.quit(WANTED_ERRORS) == []
