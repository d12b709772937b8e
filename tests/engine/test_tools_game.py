"""J1 to J3: the tools about the running game, in a real editor with a real game, both without a window."""
import os

import pytest

from tools_probe import Refused, shared_tools

# What is wrong on purpose; the game says it where the editor does.
WANTED_ERRORS = ('SCRIPT ERROR: Parse Error: Expected end of statement', "Nonexistent function 'foo'", "'queue_free' on a null value",
                 "ERROR: told by the game")
HEADLESS_GAME = '\n[editor]\n\nrun/main_run_args="--headless"\n'
GAME = """extends Node2D

signal hurt(by: String)

@export var speed: float = 3.0
var frames: int = 0
var target: Vector2 = Vector2(1, 2)
var friend: Node = null
var gone: Array[String] = []
var _nobody: Node = null


func _ready() -> void:
\tvar box: Node2D = Node2D.new()
\tbox.name = "Box"
\tadd_child(box)
\tfor number: int in 10:
\t\tvar made: Sprite2D = Sprite2D.new()
\t\tmade.name = "S%d" % number
\t\tbox.add_child(made)
\tfriend = box


func _process(_delta: float) -> void:
\tframes += 1


func double(number: int) -> int:
\tprint("doubled ", number)
\treturn number * 2


func note(node: Node) -> void:
\tgone.append(str(node.name))


func fall() -> void:
\t_nobody.queue_free()
"""


@pytest.fixture(scope="module")
def editor(tmp_path_factory):
    yield from shared_tools(str(tmp_path_factory.mktemp("tools")), settings=HEADLESS_GAME, expected=WANTED_ERRORS)


def make_game(tools, text=GAME):
    tools.begin()
    path = tools.scene.replace("main.tscn", "game.gd")
    tools.call("script_create", path=path, text=text)
    tools.call("script_attach", node=".", path=path)
    tools.call("scene_save")
    return path


def stop(tools):
    tools.call("project_stop")
    tools.until("editor_state", lambda state: state["playing"] is None)


@pytest.fixture
def game(editor):
    """A game that runs; what it has changed goes with it."""
    editor.script = make_game(editor)
    editor.call("project_run", scene="current")
    yield editor
    stop(editor)


def test_J1_without_a_game_each_tool_says_so(editor):
    for tool, arguments in (("game_tree", {}), ("game_get", {"path": "."}), ("game_set", {"path": ".", "properties": {"x": 1}}),
                            ("game_run", {"code": "return 1"}), ("editor_screenshot", {"target": "game"})):
        assert "No game is running" in editor.refusal(tool, **arguments)


def test_J1_the_tree_of_a_game_that_is_just_starting(game):
    """It is waited for; paths are those of the edited scene, and nothing of ours shows."""
    listed = game.call("game_tree")
    assert listed["nodes"][:4] == ["/root (Window)", ". (Node2D) script=%s" % game.script, "Box (Node2D)", "Box/S0 (Sprite2D)"]
    assert listed["total"] == 13 and listed["scene"] == game.scene and "game" not in listed
    assert game.call("game_run", code="return root.get_child_count()")["result"] == 1


def test_J1_the_tree_in_parts(game):
    assert game.call("game_tree", path="Box", depth=0)["nodes"] == ["Box (Node2D) +10 children"]
    assert game.call("game_tree", type="Sprite2D")["total"] == 10
    assert game.call("game_tree", text="s7")["nodes"] == ["Box/S7 (Sprite2D)"]
    page = game.call("game_tree", path="Box", limit=3, offset=2)
    assert page["nodes"] == ["Box/S1 (Sprite2D)", "Box/S2 (Sprite2D)", "Box/S3 (Sprite2D)"] and page["next"] == 5
    assert "Did you mean Box/S3?" in game.refusal("game_tree", path="S3")


def test_J1_properties_of_a_node_in_the_game(game):
    shown = game.call("game_get", path=".")
    assert shown["script"] == game.script and shown["type"] == "Node2D" and shown["properties"]["friend"] == {"Node": "Box"}
    assert "speed" not in shown["properties"] and "_nobody" not in shown["properties"]
    assert game.call("game_get", path=".", properties=["speed", "target", "target:y"])["properties"] == {
        "speed": 3, "target": {"Vector2": [1, 2]}, "target:y": 2}
    assert game.call("game_get", path=".", all=True, limit=500)["properties"]["speed"] == 3
    assert game.call("game_get", path="/root", properties=["name"])["path"] == "/root"
    assert "Did you mean 'speed'" in game.refusal("game_get", path=".", properties=["sped"])
    first = game.call("game_get", path=".", properties=["frames"])["properties"]["frames"]
    game.until("game_get", lambda answer: answer["properties"]["frames"] > first, path=".", properties=["frames"])


def test_J2_properties_are_set_in_the_game_alone(game):
    assert game.call("game_set", path="Box/S1", properties={"position": [3, 4], "position:y": 9})["properties"] == {
        "position": {"Vector2": [3, 9]}, "position:y": 9}
    assert game.call("game_set", path=".", properties={"friend": {"Node": "Box/S2"}, "speed": 8})["properties"] == {
        "friend": {"Node": "Box/S2"}, "speed": 8}
    # All or nothing.
    assert "Wanted is a number" in game.refusal("game_set", path=".", properties={"speed": 1, "target:x": "left"})
    assert game.call("game_get", path=".", properties=["speed"])["properties"] == {"speed": 8}
    assert game.call("node_get", path=".", properties=["speed"])["properties"] == {"speed": 3}


def test_J2_code_runs_in_the_game(game):
    assert game.call("game_run", code="return scene.double(4)") == {"result": 8, "type": "int", "printed": "doubled 4"}
    assert game.call("game_run", code="print(1)\nawait tree.process_frame\nreturn [node(\"Box/S1\"), root]")["result"] == [
        {"Node": "Box/S1"}, {"Node": "/root"}]
    game.call("game_run", code="var made := Timer.new()\nmade.name = \"Made\"\nscene.add_child(made)\nnode(\"Box/S3\").queue_free()")
    nodes = game.call("game_tree")["nodes"]
    assert "Made (Timer)" in nodes and "Box/S3 (Sprite2D)" not in nodes


def test_J2_mistakes_in_code_do_not_hold_the_game(game):
    assert "line 2: Expected end of statement" in game.refusal("game_run", code="var x := 1\nretrn x")
    own = game.call("game_run", code="push_error(\"told by the game\")\nvar n = null\nn.foo()\nreturn 1")
    assert own["result"] is None and own["errors"] == ["line 1: told by the game", "line 3: Invalid call. Nonexistent function 'foo' in base 'Nil'."]
    inside = game.call("game_run", code="scene.fall()\nreturn 1")
    assert inside["result"] == 1 and inside["errors"] == ["Cannot call method 'queue_free' on a null value. (%s:38)" % game.script]
    assert "held" not in game.call("project_output") and game.call("game_run", code="return 5")["result"] == 5


def test_J2_code_without_end_is_told(game):
    game.call("game_tree")
    assert "not answering" in game.refusal("game_run", code="while true:\n\tpass", limit=1)


def test_J1_the_helper_outlives_the_scene_and_what_was_asked_of_it_goes_on(game):
    game.call("game_tree")
    game.call("game_run", code="tree.current_scene.name = \"Old\"\ntree.reload_current_scene()")
    game.until("game_tree", lambda answer: answer["total"] == 13)
    game.call("game_run", code="var other := Node3D.new()\nother.name = \"Other\"\nroot.add_child(other)\n"
                               "tree.current_scene.free()\ntree.current_scene = other")
    assert game.call("game_tree")["nodes"] == ["/root (Window)", ". (Node3D)"]


def test_J1_a_helper_that_the_game_frees_is_put_there_again(game):
    game.call("game_tree")
    game.call("game_run", code="for child in root.get_children(true):\n\tif child.name == \"TetherHelper\":\n\t\tchild.queue_free()")
    try:
        game.call("game_tree")
    except Refused as error:  # if it was asked just before
        assert "Try again" in str(error)
    assert game.call("game_tree")["total"] == 13


def test_J1_a_game_that_shows_another_scene_than_it_began_with(editor):
    """No node of the scene that was run is there any more when something is asked of it first."""
    make_game(editor, "extends Node2D\n\n\nfunc _ready() -> void:\n"
              "\tget_tree().change_scene_to_file.call_deferred(\"res://other.tscn\")\n\tprint(\"changes\")\n")
    with open(os.path.join(editor.project, "other.tscn"), "w") as file:
        file.write('[gd_scene format=3]\n\n[node name="Other" type="Node3D"]\n')
    editor.call("project_run", scene="current")
    editor.until("project_output", lambda answer: "changes" in answer["text"])
    editor.until("game_tree", lambda answer: answer["nodes"] == ["/root (Window)", ". (Node3D)"])
    stop(editor)


def test_J1_a_game_that_is_held_is_named_with_its_line(game):
    game.call("game_tree")
    game.call("game_run", code="scene.fall.call_deferred()")
    game.until("project_output", lambda answer: "held" in answer)
    told = game.refusal("game_tree")
    assert "holds the game at %s:38 in fall" % game.script in told and "on a null value." in told


def test_J1_nothing_is_in_a_game_of_which_nothing_is_asked_and_nothing_stays(game):
    """When the tools go, so does the helper; when they come back, it does."""
    game.call("game_tree")
    assert game.call("game_run", code="root.child_exiting_tree.connect(scene.note)\nreturn root.get_child_count(true)")["result"] == 2
    game.request(op="detach")
    game.attach()
    assert game.call("game_tree")["total"] == 13
    assert game.call("game_get", path=".", properties=["gone"])["properties"]["gone"] == 2 * ["TetherHelper"]  # and the new one hid


def test_J1_a_tree_of_5000_nodes_is_looked_at_in_time(game):
    game.call("game_run", code="for i in 5000:\n\tvar made := Node2D.new()\n\tmade.name = \"N%d\" % i\n\tscene.add_child(made)")
    times = []
    for offset in (0, 1000, 4900, 0, 2000):
        listed = game.call("game_tree", offset=offset)
        assert listed["total"] == 5013 and len(listed["nodes"]) == 100
        times.append(game.last_usec)
    assert sorted(times)[0] < 100000, times
