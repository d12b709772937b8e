"""J3: breakpoints, the stack, variables, stepping and the profile of a running game."""
import pytest

from test_tools_game import HEADLESS_GAME, make_game, stop
from tools_probe import shared_tools

WANTED_ERRORS = ("Invalid named index 'nope'", "previously a parse error", "'queue_free' on a null value")
# The breakpoints reach a game shortly after its start, so it waits until there is one; or until it is told to go.
GAME = """extends Node2D

static var shared: int = 4

var frames: int = 0
var label: String = "abc"
var _nobody: Node = null

func _ready() -> void: set_process(false); get_tree().process_frame.connect(look)
func _process(_delta: float) -> void:
\tframes += 1
\tvar half: float = frames / 2.0
\tdeeper(half, {"a": [1, self]})
\tslow()


func deeper(value: float, what: Dictionary) -> void:
\tvar twice: float = value * 2
\tframes += 0
\tstill(twice)
\tlabel = str(twice, what.size())


static func still(x: float) -> float:
\tvar y: float = x + shared
\treturn y


func slow() -> void:
\tfor number: int in 3000:
\t\tlabel = label.substr(0, 3)


func fall() -> void:
\t_nobody.queue_free()


var waits: bool = true


func look() -> void:
\tset_process(is_processing() or waits and range(50).any(is_held_at))


func is_held_at(line: int) -> bool:
\treturn EngineDebugger.is_breakpoint(line, (get_script() as Script).resource_path)


func go(count: int) -> bool:
\tset_process(true)
\treturn frames >= count
"""
DEEPER, STILL, SLOW = 19, 25, 31  # lines of it


@pytest.fixture(scope="module")
def editor(tmp_path_factory):
    yield from shared_tools(str(tmp_path_factory.mktemp("tools")), settings=HEADLESS_GAME, expected=WANTED_ERRORS)


@pytest.fixture
def game(editor):
    """A project with the game, which the test runs."""
    editor.script = make_game(editor, GAME)
    yield editor
    editor.call("game_debug", action="clear") if editor.call("editor_state")["playing"] else None
    stop(editor)
    editor.call("game_debug", action="clear")


def debug(tools, action="look", **more):
    return tools.call("game_debug", action=action, **more)


def hold(tools, line=DEEPER):
    """A game that is run and held at a breakpoint that was set before."""
    at = "%s:%d" % (tools.script, line)
    assert debug(tools, "break", path=tools.script, line=line) == {"running": False, "breakpoints": [at]}
    tools.call("project_run", scene="current")
    return tools.until("game_debug", lambda answer: answer["held"])


def test_J3_a_game_is_held_at_a_breakpoint_with_its_stack_and_variables(game):
    held = hold(game)
    assert held["stack"] == ["%s:%d in deeper" % (game.script, DEEPER), "%s:13 in _process" % game.script]
    assert "holds the game at %s:%d in deeper: Breakpoint." % (game.script, DEEPER) in held["held"]
    assert held["locals"]["value"] == 0.5 and held["locals"]["twice"] == {"float": 1}
    assert held["members"]["frames"] == 1 and held["members"]["label"] == "abc"
    assert held["locals"]["what"]["a"] == [1, held["members"]["self"]]  # the same object
    outer = debug(game, frame=1)
    assert outer["locals"]["half"] == 0.5 and "twice" not in outer["locals"]
    assert "2 frames" in game.refusal("game_debug", frame=2)
    # All the others say so, and what was set before the game ran is in the next one, too.
    assert "holds the game at %s:%d" % (game.script, DEEPER) in game.refusal("game_tree")
    stop(game)
    game.call("project_run", scene="current")
    assert game.until("game_debug", lambda answer: answer["held"])["members"]["frames"] == 1


def test_J3_a_held_game_is_stepped_and_goes_on(game):
    hold(game)
    assert debug(game, "over")["stack"][0] == "%s:%d in deeper" % (game.script, DEEPER + 1)
    assert debug(game, "into")["stack"][0] == "%s:%d in still" % (game.script, STILL)
    assert debug(game, "out")["stack"][0].startswith("%s:%d in deeper" % (game.script, DEEPER + 2))
    again = debug(game, "continue", wait=20)
    assert again["stack"][0] == "%s:%d in deeper" % (game.script, DEEPER) and again["members"]["frames"] == 2
    assert debug(game, "clear", path=game.script, line=DEEPER)["breakpoints"] == []
    assert debug(game, "continue")["held"] is None
    assert game.call("game_run", code="return scene.label")["result"]
    assert "is not held" in game.refusal("game_debug", action="over")


def test_J3_what_an_expression_is_in_a_frame(game):
    hold(game)
    assert debug(game, "evaluate", expression="[twice + frames, label, value]")["value"] == [{"float": 2}, "abc", 0.5]
    assert debug(game, "evaluate", expression="half", frame=1)["value"] == 0.5
    assert "Invalid named index 'nope'" in game.refusal("game_debug", action="evaluate", expression="nope + 1")
    assert "could not be computed" in game.refusal("game_debug", action="evaluate", expression="1 +")
    debug(game, "over")
    debug(game, "into")
    assert "no object in that frame" in game.refusal("game_debug", action="evaluate", expression="x")
    assert debug(game)["locals"]["x"] == {"float": 1}  # and it is still held


def test_J3_a_sequence_that_is_cut_goes_on_with_the_game_and_keeps_its_values(game):
    game.call("project_run", scene="current")
    game.call("game_run", code="scene.waits = false")
    debug(game, "break", path=game.script, line=DEEPER)
    steps = [{"frames": 2}, {"until": "scene.go(2)", "limit": 60}]
    cut = game.refusal("game_play", steps=steps, values=["scene.frames >= 2", "scene.label"], limit=100)
    assert "holds the game at %s:%d" % (game.script, DEEPER) in cut and "It was in step 2 of the sequence" in cut
    assert "played" not in debug(game, "clear")
    went_on = debug(game, "continue")  # which may tell it already, and then it is told once
    told = went_on.get("played") or game.until("game_debug", lambda answer: "played" in answer)["played"]
    assert told["played"] == 2 and told["values"]["scene.frames >= 2"] is True and len(told["values"]["scene.label"]) == 3
    assert "played" not in debug(game)


def test_J3_questions_at_the_same_time_have_each_their_answer(game):
    hold(game)
    wanted = {number: "frames + %d" % number for number in range(1, 5)}
    for number, expression in wanted.items():
        game.send(op="direct", tool="game_debug", id=number, arguments={"action": "evaluate", "expression": expression})
    answers = {reply["id"]: reply["answer"].get("value") for reply in (game.receive() for _ in wanted)}
    assert answers == {number: number + 1 for number in wanted}


def test_J3_a_game_that_runs_is_paused_and_breakpoints_come_and_go(game):
    game.call("project_run", scene="current")
    game.call("game_tree")
    assert debug(game)["held"] is None
    paused = debug(game, "pause")
    assert "it was paused" in paused["held"]
    assert "held already" in game.refusal("game_debug", action="pause")
    assert debug(game, "continue")["held"] is None
    debug(game, "break", path=game.script, line=SLOW)
    assert game.until("game_debug", lambda answer: answer["held"])["stack"][0] == "%s:%d in slow" % (game.script, SLOW)
    assert debug(game, "clear")["breakpoints"] == []


def test_J3_no_breakpoint_stays_when_the_tools_go(game):
    hold(game, SLOW)
    assert debug(game, "continue", wait=20)["held"]
    game.request(op="detach")
    game.attach()
    assert game.until("game_debug", lambda answer: answer["breakpoints"] == [])["held"]
    assert debug(game, "continue", wait=1)["held"] is None
    assert game.call("game_play", steps=[{"frames": 5}])["played"] == 1


def test_J3_an_error_that_holds_a_game_is_looked_into(game):
    game.call("project_run", scene="current")
    game.call("game_run", code="scene.fall.call_deferred()")
    held = game.until("game_debug", lambda answer: answer["held"])
    assert "on a null value" in held["held"] and held["members"]["_nobody"] is None
    assert debug(game, "continue")["held"] is None


def test_J3_breakpoints_that_make_no_sense_are_refused(game):
    assert "has 5" in game.refusal("game_debug", action="break", path=game.script, line=99)
    assert "Nothing is done in line 2" in game.refusal("game_debug", action="break", path=game.script, line=2)
    assert "There is no file" in game.refusal("game_debug", action="break", path="res://nobody.gd", line=1)
    assert "not a script" in game.refusal("game_debug", action="break", path=game.scene, line=1)
    assert "No game is running" in game.refusal("game_debug")
    assert "No game is running" in game.refusal("game_profile")


def test_J3_what_the_functions_of_a_game_take(game):
    game.call("project_run", scene="current")
    game.call("game_tree")
    game.call("game_run", code="scene.set_process(true)")
    for _ in range(2):
        found = game.call("game_profile", seconds=1)["functions"]
        by_name = {entry["function"].split("::")[-1]: entry for entry in found}
        assert found[0]["function"].startswith(game.script) and found[0]["function"].endswith("slow")
        assert by_name["slow"]["calls"] > 10 and 0 < by_name["slow"]["self_ms"] < 1500
        assert by_name["_process"]["total_ms"] > by_name["slow"]["total_ms"] > by_name["_process"]["self_ms"]
        assert not [entry for entry in found if "addons/tether" in entry["function"]]


# What the game's profiler says: the rest of an earlier profile, whose numbers nobody knows, and then the new one.
PROFILES = """var debug: Variant = load("res://addons/tether/tools/debug_link.gd").new(load("res://addons/tether/tools/game_link.gd").new())
var frame: Callable = func(number: int) -> Array: return [0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 5, number, 3, 0.5, 0.5, 0.0]
for time: int in 3:
	debug._on_data("servers:profile_frame", frame.call(7))
debug._on_data("servers:profile_total", frame.call(7))
%sfor time: int in 3:
	debug._on_data("servers:profile_frame", frame.call(0))
return [debug._functions().map(func(entry: Dictionary) -> Array: return [entry["function"], entry["calls"]]), debug._is_profiled]"""


def test_J3_a_profile_holds_nothing_of_an_earlier_one(game):
    told = 'debug._on_data("servers:function_signature", ["res://new.gd::new", 0])\n'
    assert game.run_code(PROFILES % told) == [[["res://new.gd::new", 3]], False]
    assert game.run_code(PROFILES % "") == [[], True]
