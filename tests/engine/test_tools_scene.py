"""F8: the tools about scenes and nodes, in a real headless editor."""
import os

import pytest

from editor import HEADLESS, START_LIMIT, complaints
from tools_probe import ToolsEditor, check_table, make_tools_project, shared_tools

PARSE_ERRORS = ("SCRIPT ERROR: Parse Error",)
HERO = """class_name Hero
extends Sprite2D
signal died(points: int)
@export var speed: float = 3.0
@export var friends: Array[Node2D] = []


func on_died(_points: int) -> void:
\tvar me: Hero = self
\tprint(me)
"""


@pytest.fixture(scope="module")
def editor(tmp_path_factory):
    yield from shared_tools(str(tmp_path_factory.mktemp("tools")), expected=PARSE_ERRORS, fill=fill)


def fill(project):
    with open(os.path.join(project, "hero.gd"), "w") as file:
        file.write(HERO)


@pytest.fixture
def tools(editor):
    """With an empty scene."""
    editor.begin()
    return editor


@pytest.fixture
def stage(tools):
    """With a scene that has a hero with a shape."""
    tools.call("node_add", type="Sprite2D", name="Hero", properties={"position": [7, 8]})
    tools.call("node_add", type="CollisionShape2D", parent="Hero", name="Shape",
               properties={"shape": {"type": "RectangleShape2D", "properties": {"size": [30, 40]}}})
    return tools


def vector(x, y):
    return {"Vector2": [x, y]}


def properties(tools, path, *names):
    return tools.call("node_get", path=path, properties=list(names))["properties"]


# Names of arguments that need no word beside them.
TELL_THEMSELVES = {"path", "paths", "name", "parent", "text", "code", "class", "method", "signal", "action", "line", "folder", "glob", "regex",
                   "addons", "properties", "all", "add", "remove", "node", "new", "names_only", "contains", "settings",
                   "expression", "reimport", "cancel", "preset", "root_name", "inherited", "deadzone"}


# ---- what is registered --------------------------------------------------------------------------

def test_F8_every_tool_is_described(editor):
    registered = editor.request(op="list")["answer"]
    assert 35 <= len(registered) <= 70
    for name, schema in registered.items():
        assert name.split("_")[0] in ("editor", "scene", "node", "file", "resource", "script", "project", "game", "docs")
        assert len(schema["description"]) > 20 and schema["inputSchema"]["type"] == "object"
        for argument, inner in schema["inputSchema"]["properties"].items():
            assert inner.get("description") or argument in TELL_THEMSELVES, (name, argument)
    assert registered["scene_tree"]["annotations"]["readOnlyHint"] is True
    assert registered["script_run"]["annotations"] == {}


def test_F8_the_table_of_tools_is_what_they_say_of_themselves(editor):
    check_table(editor.request(op="list")["answer"])


@pytest.mark.parametrize("tool, arguments, words", [
    ("scene_tree", {"depth": "three"}, ["'depth'", "a whole number", "the text 'three'"]),
    ("scene_tree", {"depth": 1.5}, ["a whole number"]),
    ("scene_open", {}, ["'path' is missing"]),
    ("editor_screenshot", {"target": "3D"}, ["editor, 2d, 3d, game", "'3d'"]),
    ("node_select", {"paths": [".", 3]}, ["'paths[1]'", "a text"]),
    ("node_set", {"path": ".", "properties": [1]}, ["'properties'", "an object"])])
def test_F8_arguments_are_checked(editor, tool, arguments, words):
    text = editor.refusal(tool, **arguments)
    assert all(word in text for word in words), text


def test_F8_without_a_scene_it_is_said_how_to_open_one(tools):
    tools.close_scenes()
    text = tools.refusal("scene_tree")
    assert "No scene" in text and "scene_open" in text


# ---- nodes and their properties ------------------------------------------------------------------

def test_F8_a_node_is_added_with_properties(tools):
    assert tools.call("node_add", type="Sprite2D", name="Hero", properties={
        "position": [10, 20], "modulate": "#ff8000", "process_mode": "always"}) == {"added": "Hero", "type": "Sprite2D"}
    found = tools.call("node_get", path="Hero")
    assert found["properties"] == {"position": vector(10, 20), "modulate": {"Color": [1, 0.5019608, 0, 1]},
                                   "process_mode": 3}
    info = tools.call("node_get", path="Hero", properties=["process_mode"], info=True)["properties"]["process_mode"]
    assert info["type"] == "int" and "Always" in info["hint"]


def test_F8_properties_are_set_and_one_call_is_one_action(tools):
    tools.call("node_add", type="Sprite2D", name="Hero", properties={"position": [10, 20]})
    tools.call("node_set", path="Hero", properties={"position:x": 7, "position:y": 8, "scale": {"x": 2, "y": 3},
                                                    "texture_filter": "TEXTURE_FILTER_NEAREST", "flip_h": True})
    assert properties(tools, "Hero", "position", "scale", "texture_filter", "flip_h", "scale:y") == {
        "position": vector(7, 8), "scale": vector(2, 3), "texture_filter": 1, "flip_h": True, "scale:y": 3}
    assert tools.call("editor_undo")["undone"].startswith("Set position:x, position:y, scale and 2 more")
    assert properties(tools, "Hero", "position", "flip_h") == {"position": vector(10, 20), "flip_h": False}
    assert tools.call("editor_redo")["redone"].startswith("Set position:x")
    assert properties(tools, "Hero", "position") == {"position": vector(7, 8)}


def test_F8_properties_are_told_in_pages(stage):
    page = stage.call("node_get", path="Hero", all=True, limit=5)
    assert len(page["properties"]) == 5 and page["next"] == 5
    both = stage.call("node_get", path="Hero", all=True, limit=10)["properties"]
    assert stage.call("node_get", path="Hero", all=True, limit=5, offset=5)["properties"] == {
        name: both[name] for name in both if name not in page["properties"]}


def test_F8_values_that_make_no_sense_are_refused(stage):
    for values, words in (
            ({"positon": [1, 2]}, ["no property 'positon'", "'position'"]),
            ({"position": [1, 2, 3]}, ["Property 'position'", "list of 2 numbers"]),
            ({"position": "left"}, ["list of 2 numbers"]),
            ({"position:z": 1}, ["no part 'z'"]),
            ({"process_mode": "sometimes"}, ["'sometimes'", "Inherit", "Always"]),
            ({"visible": 1}, ["true or false"]),
            ({"texture": "res://no.png"}, ["no resource at 'res://no.png'"]),
            ({"texture": {"type": "RectangleShape2D"}}, ["Wanted is Texture2D", "RectangleShape2D"]),
            ({"material:albedo": 1}, ["'material' is empty"]),
            ({"name": "x"}, ["node_move"]), ({}, ["nothing to set"])):
        text = stage.refusal("node_set", path="Hero", properties=values)
        assert all(word in text for word in words), text


def test_F8_nodes_that_are_not_there_or_cannot_be_are_refused(stage):
    assert "Did you mean 'Hero'" in stage.refusal("node_get", path="Heroo")
    for path in ("..", "../..", "Hero/../..", "/root"):  # the editor's own nodes
        assert "There is no node" in stage.refusal("node_get", path=path), path
    assert "'Sprite2D'" in stage.refusal("node_add", type="Sprit2D")
    assert "not a node class" in stage.refusal("node_add", type="Resource")
    assert "cannot be named" in stage.refusal("node_add", type="Node", name="a/b")


def test_F8_parts_of_a_resource_are_set(stage):
    stage.call("node_set", path="Hero/Shape", properties={"shape:size:x": 99})
    shape = properties(stage, "Hero/Shape", "shape")["shape"]["Resource"]
    assert shape["type"] == "RectangleShape2D" and shape["properties"]["size"] == vector(99, 40)
    stage.call("editor_undo")
    assert properties(stage, "Hero/Shape", "shape:size") == {"shape:size": vector(30, 40)}


def test_F8_a_resource_with_a_file_of_its_own_is_changed_for_all(stage):
    """And that can be undone, too."""
    assert stage.run_code("return ResourceSaver.save(CircleShape2D.new(), \"res://circle.tres\")") == 0
    stage.call("node_set", path="Hero/Shape", properties={"shape": "res://circle.tres"})
    answer = stage.call("node_set", path="Hero/Shape", properties={"shape:radius": 44})
    assert "res://circle.tres" in answer["note"] and answer["properties"] == {"shape:radius": 44}
    assert stage.call("resource_read", path="res://circle.tres")["properties"] == {"radius": 44}
    assert stage.call("editor_undo") == {"undone": "Set shape:radius of Shape"}
    assert properties(stage, "Hero/Shape", "shape:radius") == {"shape:radius": 10}
    assert stage.call("editor_undo") == {"undone": "Set shape of Shape"}
    assert properties(stage, "Hero/Shape", "shape:size") == {"shape:size": vector(30, 40)}


# ---- the tree ------------------------------------------------------------------------------------

TREE = [". (Node2D)", "Hero (Sprite2D)", "Hero/Shape (CollisionShape2D)", "Twin (Sprite2D)", "Twin/Shape (CollisionShape2D)",
        "World (Node2D)"]


@pytest.fixture
def family(stage):
    """A hero, its twin and a world."""
    stage.call("node_add", type="Node2D", name="World", properties={"position": [100, 0]})
    assert stage.call("node_duplicate", path="Hero", name="Twin") == {"added": "Twin", "type": "Sprite2D"}
    return stage


def test_F8_the_tree_is_told_in_parts(family):
    tree = family.call("scene_tree")
    assert tree["nodes"] == TREE
    assert family.call("scene_tree", depth=1)["nodes"][1] == "Hero (Sprite2D) +1 children"
    assert family.call("scene_tree", limit=2, offset=1) == {
        "nodes": tree["nodes"][1:3], "total": 6, "next": 3, "scene": family.scene}
    assert family.call("scene_tree", type="CollisionShape2D")["total"] == 2


def test_F8_a_node_is_moved_and_stays_where_it_is_seen(family):
    assert family.call("node_move", path="Twin", parent="World")["path"] == "World/Twin"
    assert properties(family, "World/Twin", "position") == {"position": vector(-93, 8)}
    assert family.call("node_move", path="World", index=0, name="Land") == {"path": "Land", "index": 0}
    assert family.call("scene_tree")["nodes"][1:3] == ["Land (Node2D)", "Land/Twin (Sprite2D)"]


def test_F8_moves_that_cannot_be_are_refused(family):
    assert "inside" in family.refusal("node_move", path="World", parent="World")
    family.call("node_move", path="Twin", parent="World")
    assert "inside" in family.refusal("node_move", path="World", parent="World/Twin")
    assert "root" in family.refusal("node_remove", path=".")


def test_F8_a_node_is_added_at_a_place(family):
    assert family.call("node_add", type="Node", name="First", index=0) == {"added": "First", "type": "Node"}
    assert family.call("scene_tree")["nodes"][1] == "First (Node)"
    assert family.call("editor_undo") == {"undone": "Add First"}


def test_F8_each_step_back_is_exact(family):
    """Places, names and transforms."""
    family.call("node_move", path="Twin", parent="World")
    family.call("node_move", path="World", index=0, name="Land")
    land = family.call("scene_tree")["nodes"]
    family.call("node_remove", path="Land")
    assert family.call("scene_tree")["total"] == 3
    family.call("editor_undo")
    assert family.call("scene_tree")["nodes"] == land
    family.call("editor_undo")
    assert family.call("scene_tree")["nodes"] == TREE[:3] + [
        "World (Node2D)", "World/Twin (Sprite2D)", "World/Twin/Shape (CollisionShape2D)"]
    family.call("editor_undo")
    assert family.call("scene_tree")["nodes"] == TREE
    assert properties(family, "Twin", "position") == {"position": vector(7, 8)}
    # What came back by undo is saved, so its owners are right again.
    family.call("editor_redo"), family.call("editor_redo")
    assert family.call("scene_save") == {"saved": family.scene}
    text = family.call("file_read", path=family.scene)["text"]
    assert '[node name="Shape" type="CollisionShape2D" parent="Land/Twin"' in text


# ---- scenes in scenes ----------------------------------------------------------------------------

@pytest.fixture
def coin(stage):
    """A second scene, made and saved, beside that of the hero, which is shown; its path."""
    path = stage.scene.replace("main.tscn", "coin.tscn")
    stage.call("scene_save")
    stage.call("scene_new", path=path, root_type="Area2D")
    stage.call("node_add", type="Sprite2D", name="Picture")
    stage.call("scene_save")
    stage.call("scene_open", path=stage.scene)
    return path


def test_F8_scenes_are_made_opened_and_saved(stage, coin):
    assert stage.call("scene_open", path=coin)["opened"] == coin
    assert stage.call("editor_state")["edited_scene"]["path"] == coin
    assert stage.call("scene_open", path=stage.scene)["opened"] == stage.scene
    assert stage.call("editor_state")["edited_scene"]["path"] == stage.scene
    stage.call("node_add", type="Node")
    assert stage.call("editor_state")["unsaved_scenes"] == ["main"]
    copy = stage.scene.replace("main", "copy")
    assert stage.call("scene_save", path=copy) == {"saved": copy}


def test_F8_a_scene_is_put_into_another(stage, coin):
    added = stage.call("scene_instantiate", path=coin, properties={"position": [5, 5]})
    assert added == {"added": "Coin", "type": "Area2D"}
    nodes = stage.call("scene_tree")["nodes"]
    assert "Coin (Area2D) instance=%s" % coin in nodes and not [line for line in nodes if "Coin/" in line]
    assert stage.call("scene_instantiate", path=coin)["added"] == "Coin2"
    assert "Editable Children" in stage.refusal("node_add", type="Node", parent="Coin/Picture")
    assert "cannot hold itself" in stage.refusal("scene_instantiate", path=stage.scene)


def test_F8_scenes_that_cannot_be_opened_or_made_are_refused(stage, coin):
    assert "Did you mean 'coin.tscn'" in stage.refusal("scene_open", path=coin.replace("coin", "coins"))
    assert "is not a scene" in stage.refusal("scene_open", path="res://project.godot")
    assert "exists" in stage.refusal("scene_new", path=coin)
    assert "exists" in stage.refusal("scene_save", path=coin)


@pytest.mark.parametrize("tool", ["scene_open", "scene_instantiate"])
def test_F8_a_scene_of_which_something_is_missing_is_refused(tools, tool):
    """The editor would ask the user."""
    with open(os.path.join(tools.project, "broken.tscn"), "w") as file:
        file.write('[gd_scene load_steps=2 format=3]\n\n[ext_resource type="Script" path="res://gone.gd" id="1"]\n\n'
                   '[node name="Broken" type="Node"]\nscript = ExtResource("1")\n')
    assert "needs files that are missing: res://gone.gd" in tools.refusal(tool, path="res://broken.tscn")
    os.unlink(os.path.join(tools.project, "broken.tscn"))


def test_F8_nodes_are_selected(family):
    assert family.call("node_select", paths=["Twin", "Hero"])["selected"] == ["Twin", "Hero"]
    assert sorted(family.call("editor_state")["selected"]) == ["Hero", "Twin"]


# ---- methods, scripts and signals ----------------------------------------------------------------

def test_F8_a_method_is_called_and_undone(stage):
    called = stage.call("node_call", path="Hero", method="translate", arguments=[[3, 0]])
    assert called == {"returned": None, "changed": ["position"]}
    assert properties(stage, "Hero", "position") == {"position": vector(10, 8)}
    assert stage.call("editor_undo")["undone"] == "Call translate of Hero"
    assert properties(stage, "Hero", "position") == {"position": vector(7, 8)}
    assert stage.call("node_call", path="Hero", method="to_global", arguments=[[0, 0]])["returned"] == vector(7, 8)


def test_F8_calls_that_make_no_sense_are_refused(stage):
    assert "translate(offset: Vector2)" in stage.refusal("node_call", path="Hero", method="translate")
    assert "Argument 1" in stage.refusal("node_call", path="Hero", method="translate", arguments=["x"])
    assert "Did you mean 'translate'" in stage.refusal("node_call", path="Hero", method="tranlate")
    assert "node_remove" in stage.refusal("node_call", path="Hero", method="queue_free")


def test_F8_a_script_is_attached_and_its_properties_set(family):
    family.call("script_attach", node="Hero", path="res://hero.gd")
    family.call("node_set", path="Hero", properties={"speed": 9, "friends": ["Twin"]})
    assert properties(family, "Hero", "speed", "friends") == {"speed": 9, "friends": [{"Node": "Twin"}]}
    assert "@tool" in family.refusal("node_call", path="Hero", method="on_died", arguments=[1])
    assert "is for Sprite2D" in family.refusal("script_attach", node=".", path="res://hero.gd")
    assert family.call("node_add", type="Hero", name="Second")["type"] == "Sprite2D"


def test_F8_signals_are_connected_and_disconnected(stage):
    stage.call("script_attach", node="Hero", path="res://hero.gd")
    signal = {"path": "Hero", "signal": "died", "target": "Hero", "method": "on_died"}
    assert stage.call("node_signals", path="Hero", signal="died")["signals"] == ["died(points: int)"]
    stage.call("node_signals", action="connect", **signal)
    assert stage.call("node_signals", path="Hero", signal="died")["signals"] == [
        {"signal": "died(points: int)", "connected": ["Hero.on_died"]}]
    assert "already" in stage.refusal("node_signals", action="connect", **signal)
    assert "no method" in stage.refusal("node_signals", action="connect", **{**signal, "method": "on_dead"})
    stage.call("scene_save")
    assert '[connection signal="died"' in stage.call("file_search", text="[connection")["hits"][0]
    stage.call("node_signals", action="disconnect", **signal)
    stage.call("editor_undo")
    assert stage.call("node_signals", path="Hero", signal="died")["signals"][0]["connected"] == ["Hero.on_died"]


# ---- the user, who is there as well --------------------------------------------------------------

def test_F8_what_the_user_did_is_undone_only_if_that_is_wanted(stage):
    # The newest action of one history is a tool's, but not the newest of all.
    stage.call("project_settings_set", settings={"display/window/size/viewport_width": 333})
    stage.run_code("undo.create_action(\"By hand\")\nundo.add_do_property(scene, \"position\", Vector2(1, 1))\n"
                   "undo.add_undo_property(scene, \"position\", Vector2())\nundo.commit_action()")
    assert "'By hand', was not made by a tool" in stage.refusal("editor_undo")
    assert properties(stage, ".", "position") == {"position": vector(1, 1)}
    assert stage.call("editor_undo", any=True) == {"undone": "By hand"}
    assert stage.call("editor_undo") == {"undone": "Set display/window/size/viewport_width"}
    assert stage.call("editor_undo") == {"undone": "Add Shape"}


def test_F8_a_dialog_that_waits_for_the_user_is_told(tools):
    tools.run_code("var dialog := AcceptDialog.new()\ndialog.title = \"Really?\"\ndialog.name = \"Asking\"\n"
                   "EditorInterface.popup_dialog_centered(dialog)")
    assert "'Really?' waits for the user" in tools.refusal("node_add", type="Node")
    assert "Really?" in tools.call("editor_state")["busy"]
    tools.request(op="free", name="Asking")
    assert "busy" not in tools.call("editor_state")


def test_F8_the_plugin_is_disabled_in_the_middle_of_a_call(tools):
    """And enabled again."""
    tools.send(op="call", tool="script_run",
               arguments={"code": "for i in 20:\n\tawait Engine.get_main_loop().process_frame\nreturn 7"})
    tools.send(op="detach")
    assert tools.receive()["answer"] is None
    assert tools.receive()["answer"]["result"] == 7
    assert tools.request(op="list")["answer"] == {}
    tools.attach()
    assert tools.call("editor_state")["edited_scene"]["root"] == "Main"


def test_F8_an_editor_that_closes_while_the_tools_load(tmp_path):
    """Attached, detached and attached again in one frame, and closed in the next."""
    with ToolsEditor(make_tools_project(str(tmp_path / "p")), *HEADLESS, "--verbose",
                     env={"TETHER_PROBE_HURRY": "1"}, connect=False) as tools:
        assert tools.process.wait(START_LIMIT) == 0
        assert "probe: 0 tools left" in tools.process.output
        assert complaints(tools.process.output) == []
