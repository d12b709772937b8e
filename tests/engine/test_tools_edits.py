"""J4: many edits of the scene in one call, one undo, all or none; groups of nodes."""
import os
import re

import pytest

from tools_probe import shared_tools

MOVER = "extends Node2D\n\n@export var target: Node2D\n\n\nfunc on_entered(_body: Node2D) -> void:\n\tpass\n"


@pytest.fixture(scope="module")
def editor(tmp_path_factory):
    yield from shared_tools(str(tmp_path_factory.mktemp("tools")), fill=fill)


def fill(project):
    with open(os.path.join(project, "mover.gd"), "w") as file:
        file.write(MOVER)
    with open(os.path.join(project, "coin.tscn"), "w") as file:
        file.write('[gd_scene format=3]\n\n[node name="Coin" type="Area2D"]\n')


@pytest.fixture
def tools(editor):
    """With a scene that has a node."""
    editor.begin()
    editor.call("node_add", type="Node2D", name="Old", properties={"position": [1, 2]})
    editor.call("scene_save")
    return editor


def nodes(tools):
    return tools.call("scene_tree")["nodes"]


ALL = [
    {"tool": "node_add", "type": "Node2D", "name": "World", "properties": {"position": [10, 0]}},
    {"tool": "node_add", "type": "Sprite2D", "parent": "World", "name": "Hero"},
    {"tool": "scene_instantiate", "path": "res://coin.tscn", "parent": "World"},
    {"tool": "node_set", "path": "World/Hero", "properties": {"position:x": 5, "modulate": "#ff0000"}},
    {"tool": "node_duplicate", "path": "World/Hero", "name": "Twin"},
    {"tool": "node_move", "path": "Old", "parent": "World", "name": "New"},
    {"tool": "script_attach", "node": "World", "path": "res://mover.gd"},
    {"tool": "node_set", "path": "World", "properties": {"target": "World/Twin"}},
    {"tool": "node_signals", "action": "connect", "path": "World/Coin", "signal": "body_entered", "target": "World", "method": "on_entered"},
    {"tool": "node_groups", "path": "World/Twin", "add": ["enemies", "fast"]},
    {"tool": "node_remove", "path": "World/Hero"},
]
AFTER = [". (Node2D)", "World (Node2D) script=res://mover.gd", "World/Coin (Area2D) instance=res://coin.tscn",
         "World/Twin (Sprite2D)", "World/New (Node2D)"]


def test_J4_many_edits_are_one_step_back_and_forth(tools):
    answers = tools.call("scene_edit", edits=ALL)["edits"]
    assert len(answers) == len(ALL) and answers[1] == {"added": "World/Hero", "type": "Sprite2D"}
    assert sorted(nodes(tools)) == sorted(AFTER)
    assert tools.call("node_get", path="World/New", properties=["position"])["properties"] == {"position": {"Vector2": [-9, 2]}}
    assert tools.call("node_get", path="World", properties=["target"])["properties"] == {"target": {"Node": "World/Twin"}}
    assert tools.call("node_groups", path="World/Twin")["groups"] == ["enemies", "fast"]
    for _ in range(2):
        assert tools.call("editor_undo") == {"undone": "Edit scene (11 changes)"}
        assert nodes(tools) == [". (Node2D)", "Old (Node2D)"]
        assert tools.call("node_get", path="Old", properties=["position"])["properties"] == {"position": {"Vector2": [1, 2]}}
        assert tools.call("editor_redo") == {"redone": "Edit scene (11 changes)"}
        assert sorted(nodes(tools)) == sorted(AFTER)
    # What is saved is all of it, with owners, connection and groups.
    tools.call("scene_save")
    text = tools.call("file_read", path=tools.scene)["text"]
    assert re.search(r'\[node name="Twin" type="Sprite2D" parent="World".* groups=\["enemies", "fast"\]', text)
    assert '[connection signal="body_entered" from="World/Coin" to="World" method="on_entered"]' in text


@pytest.mark.parametrize("bad, words", [
    ({"tool": "node_set", "path": "World/Hero", "properties": {"nope": 1}}, "Edit 3 (node_set): Sprite2D has no property 'nope'"),
    ({"tool": "node_remove", "path": "Gone"}, "Edit 3 (node_remove): There is no node 'Gone'"),
    ({"tool": "node_add", "type": "Nothing"}, "Edit 3 (node_add): There is no node class"),
    ({"tool": "node_add"}, "Edit 3 (node_add): The argument 'type' is missing"),
    ({"tool": "node_signals", "path": "World"}, "Edit 3 (node_signals): 'action' is connect or disconnect"),
    ({"tool": "scene_save"}, "Edit 3: 'tool' is one of node_set, node_add,"),
    ({"tool": "node_groups", "path": "World/Hero", "add": ["a"], "remove": ["b"]}, "Edit 3 (node_groups): 'World/Hero' is not in the group 'b'"),
])
def test_J4_if_one_edit_fails_there_is_none_and_it_is_named(tools, bad, words):
    before = tools.call("editor_state")
    wanted = [{"tool": "node_add", "type": "Node2D", "name": "World"},
              {"tool": "node_add", "type": "Sprite2D", "parent": "World", "name": "Hero"}, bad,
              {"tool": "node_remove", "path": "Old"}]
    told = tools.refusal("scene_edit", edits=wanted)
    assert told.startswith("Nothing was changed. " + words), told
    assert nodes(tools) == [". (Node2D)", "Old (Node2D)"]
    assert tools.call("editor_state") == before  # nothing unsaved, nothing to undo
    assert tools.call("editor_undo") == {"undone": "Add Old"}


def test_J4_what_came_before_the_edit_that_fails_is_taken_back_in_order(tools):
    tools.refusal("scene_edit", edits=[
        {"tool": "node_set", "path": "Old", "properties": {"position": [7, 7]}},
        {"tool": "node_move", "path": "Old", "name": "Moved"}, {"tool": "node_add", "type": "Node", "parent": "Moved"},
        {"tool": "node_remove", "path": "Moved"}, {"tool": "node_remove", "path": "Moved"}])
    assert nodes(tools) == [". (Node2D)", "Old (Node2D)"]
    assert tools.call("node_get", path="Old", properties=["position"])["properties"] == {"position": {"Vector2": [1, 2]}}
    assert "nothing to change" in tools.refusal("scene_edit", edits=[])


def test_J4_groups_of_a_node(tools):
    assert tools.call("node_groups", path="Old") == {"path": "Old", "groups": []}
    assert tools.call("node_groups", path="Old", add=["a", "b"])["groups"] == ["a", "b"]
    assert tools.call("node_groups", path="Old", add=["c"], remove=["a"])["groups"] == ["b", "c"]
    assert "is not in the group 'd'" in tools.refusal("node_groups", path="Old", remove=["d"])
    tools.call("editor_undo")
    assert tools.call("node_groups", path="Old")["groups"] == ["a", "b"]
