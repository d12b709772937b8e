"""J1, J2 and J3: the tools about the running game, in a real editor with a real game, both without a window."""
import os
import re

import pytest

from tools_probe import Refused, shared_tools

# What is wrong on purpose; the game says it where the editor does.
WANTED_ERRORS = ('SCRIPT ERROR: Parse Error: Expected end of statement', "Nonexistent function 'foo'", "'queue_free' on a null value",
                 "ERROR: told by the game", 'Identifier "nope" not declared', "Invalid access to property or key 'nope'")
ACTIONS = """
[input]

jump={
"deadzone": 0.2,
"events": [Object(InputEventKey,"resource_local_to_scene":false,"resource_name":"","device":-1,"window_id":0,"alt_pressed":false,"shift_pressed":false,"ctrl_pressed":false,"meta_pressed":false,"pressed":false,"keycode":0,"physical_keycode":32,"key_label":0,"unicode":0,"location":0,"echo":false,"script":null)]
}
"""
HEADLESS_GAME = ACTIONS + '\n[editor]\n\nrun/main_run_args="--headless"\n'
GAME = """extends Node2D

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
                            ("game_run", {"code": "return 1"}), ("game_play", {}), ("game_monitor", {}),
                            ("editor_screenshot", {"target": "game"})):
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
    assert inside["result"] == 1 and inside["errors"] == ["Cannot call method 'queue_free' on a null value. (%s:36)" % game.script]
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


def test_J1_several_games_are_told_apart(editor):
    """One that the user starts, as with F6, and one that comes from elsewhere with the debugger's address."""
    make_game(editor)
    editor.run_code("EditorInterface.play_current_scene()")
    assert "game" not in editor.call("game_tree")
    address = re.findall(r"tcp://127.0.0.1:\d+", editor.process.output)[-1]
    pid = editor.run_code('return OS.create_process(OS.get_executable_path(), ["--headless", "--path", ProjectSettings.globalize_path("res://"), '
                          '"--remote-debug", "%s", "%s"])' % (address, editor.scene))
    try:
        two = editor.until("game_tree", lambda answer: "games" in answer)
        assert two["games"] == [1, 2] and two["game"] == 1
        editor.call("game_set", path=".", properties={"speed": 11}, game=2)
        for game, speed in ((1, 3), (2, 11)):
            told = editor.call("game_get", path=".", properties=["speed"], game=game)
            assert told["properties"] == {"speed": speed} and told["game"] == game
        assert "there is 1, 2" in editor.refusal("game_tree", game=3)
        editor.call("game_run", code="push_error(\"told by the game\")", game=2)
        editor.until("project_output", lambda answer: "told by the game" in str(answer.get("errors")))
    finally:
        editor.run_code("OS.kill(%d)" % pid)
        stop(editor)
    # Its debugger keeps its list; what a game that is run later says is told alone.
    assert "told by the game" in str(editor.call("project_output")["errors"])
    make_game(editor)
    editor.call("project_run", scene="current")
    editor.call("game_tree")
    assert "told by the game" not in str(editor.call("project_output").get("errors"))
    stop(editor)


def test_J1_a_game_that_is_held_is_named_with_its_line(game):
    game.call("game_tree")
    game.call("game_run", code="scene.fall.call_deferred()")
    game.until("project_output", lambda answer: "held" in answer)
    told = game.refusal("game_tree")
    assert "holds the game at %s:36 in fall" % game.script in told and "on a null value." in told


def test_J1_nothing_is_in_a_game_of_which_nothing_is_asked_and_nothing_stays(game):
    """When the tools go, so does the helper; when they come back, it does."""
    def there_is_one():
        """One that was sent again to a game that is slow finds the other, and goes."""
        game.until("game_run", lambda answer: answer["result"] == 2, code="return root.get_child_count(true)")

    game.call("game_tree")
    there_is_one()
    game.call("game_run", code="root.child_exiting_tree.connect(scene.note)")
    game.request(op="detach")
    game.attach()
    assert game.call("game_tree")["total"] == 13
    gone = game.call("game_get", path=".", properties=["gone"])["properties"]["gone"]
    assert gone[:1] == ["TetherHelper"] and "TetherHelper" in gone[1:], gone  # and the new one hid
    there_is_one()


def test_J1_a_tree_of_5000_nodes_is_looked_at_in_time(game):
    game.call("game_run", code="for i in 5000:\n\tvar made := Node2D.new()\n\tmade.name = \"N%d\" % i\n\tscene.add_child(made)")
    times = []
    while len(times) < 5 or min(times) >= 100000 and len(times) < 50:  # now and then nobody else has the processor
        listed = game.call("game_tree", offset=(0, 1000, 4900, 0, 2000)[len(times) % 5])
        assert listed["total"] == 5013 and len(listed["nodes"]) == 100
        times.append(game.last_usec)
    assert min(times) < 100000, times


# ---- playing -------------------------------------------------------------------------------------

# Writes down what comes: "event", or "frame" while something is pressed.
PLAYED = """extends Node2D

signal landed(where: int)

var seen: Array = []
var frames: int = 0
var jumped: float = 0.0


func _ready() -> void:
\tvar button: Button = Button.new()
\tbutton.name = "Start"
\tbutton.position = Vector2(10, 10)
\tbutton.text = ""
\tbutton.size = Vector2(20, 20)
\tbutton.pressed.connect(func() -> void: seen.append("button"))
\tadd_child(button)
\tvar line: LineEdit = LineEdit.new()
\tline.name = "Line"
\tline.position = Vector2(10, 40)
\tline.size = Vector2(50, 20)
\tadd_child(line)


func _process(delta: float) -> void:
\tframes += 1
\tif Input.is_action_pressed("jump"):
\t\tjumped += delta


func _input(event: InputEvent) -> void:
\tif event is InputEventMouseMotion:
\t\tvar motion: InputEventMouseMotion = event
\t\tseen.append("move %d %d by %d %d, %d" % [motion.position.x, motion.position.y, motion.relative.x, motion.relative.y, motion.button_mask])
\telif event is InputEventScreenDrag:
\t\tseen.append("drag")
\telse:
\t\tseen.append("%s %s" % [event.as_text(), "down" if event.is_pressed() else "up"])
\tif event.is_action_pressed("jump"):
\t\tlanded.emit(3)
\t\tprint("jumps")
"""
SEEN = "scene.seen"


@pytest.fixture
def played(editor):
    make_game(editor, PLAYED)
    editor.call("project_run", scene="current")
    yield editor
    stop(editor)


def play(tools, *steps, values=(SEEN,), **more):
    answer = tools.call("game_play", steps=list(steps), values=list(values), **more)
    assert "stopped" not in answer and "errors" not in answer, answer
    assert answer["played"] == len(steps)
    return list(answer["values"].values())[0] if len(values) == 1 else answer["values"]


def test_J2_keys_and_actions_are_held_for_their_time(played):
    told = play(played, {"key": "Space", "for": 0.5}, values=(SEEN, "scene.jumped", "Input.is_action_pressed('jump')"))
    assert told[SEEN] == ["Space down", "Space up"]
    assert 0.4 < told["scene.jumped"] < 0.7 and told["Input.is_action_pressed('jump')"] is False
    # Two at once; at the end all is released.
    told = play(played, {"action": "jump", "down": True}, {"key": "A", "shift": True}, values=("scene.seen.slice(2)", "Input.is_action_pressed('jump')"))
    assert told["scene.seen.slice(2)"][1:] == ["Shift+A down", "Shift+A up"] and told["Input.is_action_pressed('jump')"] is True
    assert played.call("game_run", code="return [Input.is_action_pressed('jump'), Input.is_key_pressed(KEY_A)]")["result"] == [False, False]


def test_J2_the_mouse_moves_clicks_and_drags(played):
    play(played, {"mouse": "left", "at": "Start"}, values=("1",))
    seen = play(played)
    assert "button" in seen and seen[0] == "move 20 20 by 20 20, 0"  # a window of nobody has 64 pixels
    seen = play(played, {"move": [5, 5]}, {"by": [5, -3]}, {"mouse": "left", "at": [20, 10], "to": [40, 30], "for": 0.2},
                values=("scene.seen.slice(%d)" % len(seen),))
    assert seen[:3] == ["move 5 5 by 5 5, 0", "move 5 5 by 5 -3, 0", "move 20 10 by 15 5, 0"]
    assert seen[-2].startswith("move 40 30") and seen[-2].endswith(", 1") and seen[-1].endswith("up") and len(seen) > 6


def test_J2_text_touch_and_joypad(played):
    assert play(played, {"mouse": "left", "at": "Line"}, {"text": "Hé 3"}, values=("node('Line').text",)) == "Hé 3"
    count = len(play(played))
    seen = play(played, {"touch": 0, "at": [5, 6], "to": [50, 60], "for": 0.1}, {"joy_button": 0}, {"joy_axis": 0, "value": -0.5},
                values=("scene.seen.slice(%d)" % count,))
    touched = [text for text in seen if "Screen" in text]
    assert len(touched) == 2 and touched[0].endswith("down") and "(5" in touched[0] and touched[1].endswith("up") and "(50" in touched[1]
    assert "drag" in seen
    joypad = [text for text in seen if "Joypad" in text]
    assert len(joypad) == 4 and "-0.5" in joypad[2] and joypad[3].count("0.00")


def test_J2_what_is_waited_for(played):
    first = played.call("game_get", path=".", properties=["frames"])["properties"]["frames"]
    assert play(played, {"frames": 5}, {"wait": 0.2}, {"until": "scene.frames > %d" % (first + 40)}, values=("scene.frames",)) > first + 40
    # What came earlier in the sequence counts.
    play(played, {"action": "jump"}, {"signal": ".:landed"}, {"output": "jumps"}, {"node": "Start"})
    for step, words in (({"until": "scene.frames < 0"}, "did not come about within 0.1"), ({"signal": ".:landed"}, "did not come"),
                        ({"node": "Nobody"}, "did not come"), ({"output": "nothing"}, "did not come")):
        answer = played.call("game_play", steps=[{"frames": 1}, {**step, "limit": 0.1}, {"frames": 1}], values=["1 + 1"])
        assert answer["played"] == 1 and answer["stopped"].startswith("Step 2, ") and words in answer["stopped"] and answer["values"] == {"1 + 1": 2}
    assert "limit of the whole" in played.call("game_play", steps=[{"wait": 60}], limit=1)["stopped"]


def test_J2_what_cannot_be_played_is_told_before_anything_is(played):
    for step, words in (({"jump": 1}, "must have one of action, key"), ({"action": "jumpp"}, "'jump'"), ({"key": "Spcae"}, "no key 'Spcae'"),
                        ({"until": "nope"}, "nope"), ({"signal": ".:land"}, "'landed'"), ({"wait": "1"}, "is a number"), ({"key": "A", "fro": 1}, "'fro'")):
        told = played.refusal("game_play", steps=[{"key": "B"}, step])
        assert told.startswith("Nothing was played. Step 2") and words in told, told
    assert "Value 'nope'" in played.refusal("game_play", values=["nope"])
    assert play(played) == []
    told = played.call("game_play", steps=[{"until": "scene.nope"}], values=["scene.nope", "3"])
    assert "'nope'" in told["stopped"] and "'nope'" in told["values"]["scene.nope"]["error"] and told["values"]["3"] == 3
    assert "held" not in played.call("project_output")


def test_J2_time_is_frozen_goes_by_frames_and_at_another_speed(played):
    frozen = play(played, {"freeze": True}, values=("scene.frames",))
    assert play(played, values=("scene.frames",)) == frozen
    assert play(played, {"step": 1}, values=("scene.frames",)) == frozen + 1
    assert play(played, {"key": "Space", "down": True}, {"step": 3}, {"key": "Space", "down": False}, values=("scene.frames",)) == frozen + 4
    assert "frozen" in played.call("game_play", steps=[{"wait": 1}])["stopped"]
    assert "frozen" in played.call("game_play", steps=[{"key": "A"}])["stopped"]
    answer = played.call("game_play", steps=[{"freeze": False}, {"speed": 8}, {"key": "Space", "for": 8}], values=["scene.jumped"])
    assert "frozen" not in answer and 7.5 < answer["values"]["scene.jumped"] < 11
    assert played.last_usec < 6000000


def test_J2_a_frozen_game_goes_on_when_the_tools_go(played):
    play(played, {"freeze": True})
    played.request(op="detach")
    played.attach()
    assert play(played, {"wait": 0.1}, values=("scene.frames",)) > 0


def test_J2_a_game_that_is_played_goes_on_by_itself_when_the_tools_go(played):
    """Nothing stays pressed, as fast as it was, with nothing that listens."""
    played.send(op="direct", tool="game_play", id=1, arguments={
        "steps": [{"speed": 3}, {"action": "jump", "down": True}, {"key": "A", "for": 60}], "values": ["1"], "limit": 60})
    pressed = "Input.is_action_pressed('jump') and Input.is_key_pressed(KEY_A)"
    for number in range(2, 500):
        played.send(op="direct", tool="game_run", id=number, arguments={"code": "return [%s, Engine.time_scale]" % pressed})
        if played.receive()["answer"]["result"] == [True, {"float": 3}]:
            break
    played.send(op="detach", id=1000)
    replies = [played.receive(), played.receive()]
    assert {reply["id"] for reply in replies} == {1, 1000}
    assert "disabled" in next(reply for reply in replies if reply["id"] == 1)["answer"]["error"]
    played.attach()
    left = "[Input.is_action_pressed('jump'), Input.is_key_pressed(KEY_A), Engine.time_scale, root.get_child_count(true)]"
    played.until("game_run", lambda answer: answer["result"] == [False, False, {"float": 1}, 2], code="return " + left)
    assert "instance is gone" not in str(played.call("project_output").get("errors"))


def test_I7_what_is_played_ends_when_the_call_is_cancelled(played):
    played.request(op="client", call={"id": 7, "client": {"name": "hasty", "version": "1"}})
    played.send(op="direct", tool="game_play", id=1, arguments={"steps": [{"action": "jump", "down": True}, {"wait": 60}], "limit": 60})
    for number in range(2, 500):
        played.send(op="direct", tool="game_run", id=number, arguments={"code": "return Input.is_action_pressed('jump')"})
        if played.receive()["answer"]["result"]:
            break
    played.send(op="cancel", call=8, id=1000)  # another one's
    assert played.receive()["id"] == 1000
    played.send(op="cancel", call=7, id=1001)
    replies = {reply["id"]: reply["answer"] for reply in (played.receive(), played.receive())}
    assert replies[1]["played"] == 1 and "cancelled" in replies[1]["stopped"]
    assert played.call("game_run", code="return Input.is_action_pressed('jump')")["result"] is False
    played.request(op="client", call={})


def test_J3_no_profiler_stays_on_when_the_tools_go(played):
    is_on = "return EngineDebugger.is_profiling(&'servers')"
    assert played.call("game_run", code=is_on)["result"] is False
    played.send(op="direct", tool="game_profile", id=1, arguments={"seconds": 60})
    for number in range(2, 500):
        played.send(op="direct", tool="game_run", id=number, arguments={"code": is_on})
        if played.receive()["answer"]["result"]:
            break
    played.send(op="detach", id=1000)
    assert {played.receive()["id"], played.receive()["id"]} == {1, 1000}
    played.attach()
    played.until("game_run", lambda answer: answer["result"] is False, code=is_on)


def test_J1_a_snippet_that_waits_is_not_taken_for_a_game_that_hangs(played):
    told = played.refusal("game_run", code="await tree.create_timer(4.0).timeout\nscene.set_meta(\"late\", 1)", limit=1)
    assert "not over after 1 s" in told and "not answering" not in told
    assert played.call("game_run", code="return scene.has_meta(\"late\")")["result"] is False
    played.until("game_run", lambda answer: answer["result"] is True, code="return scene.has_meta(\"late\")")


def test_J1_what_a_game_costs(played):
    now = played.call("game_monitor")
    assert now["frames"] == 1 and now["monitors"]["nodes"] > 3 and now["monitors"]["frame_ms"] > 0 and now["monitors"]["memory_mb"] > 1
    played.call("game_run", code="Performance.add_custom_monitor(&\"game/frames\", func() -> int: return tree.current_scene.frames)\n"
                "tree.set_meta(&\"keep\", self)")
    over = played.call("game_monitor", seconds=1)
    assert over["frames"] > 20 and 0.9 < over["seconds"] < 2
    spread = over["monitors"]["frame_ms"]
    assert spread["min"] <= spread["median"] <= spread["p99"] <= spread["max"]
    own = over["monitors"]["game/frames"]
    assert own["now"] == own["max"] > own["min"]


def test_J1_errors_with_all_the_lines_that_led_to_them(editor):
    path = make_game(editor, "extends Node2D\n\n\nfunc _ready() -> void:\n\tfirst()\n\n\nfunc first() -> void:\n\tsecond()\n\n\n"
                     "func second() -> void:\n\tpush_error(\"told by the game\")\n")
    editor.call("project_run", scene="current")
    editor.call("game_run", code="return 5 / 2")
    def ours(answer):  # besides what the engine says of itself
        return [text for text in answer.get("errors", []) if "told by the game" in text]
    told = editor.until("project_output", ours, stacks=True)
    assert not [text for text in told["errors"] if "addons/tether" in text], "something of ours is warned of"
    assert ours(told)[0].endswith("told by the game (%s:13 in second(), from %s:9 in first(), from %s:5 in _ready())" % (path, path, path))
    assert ours(editor.call("project_output"))[0].endswith("(%s:13)" % path)
    stop(editor)
