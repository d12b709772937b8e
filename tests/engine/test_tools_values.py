"""F8: every type of the engine's values as JSON and back, in a real headless editor."""
import json
import os
import shutil

import pytest

from tools_probe import shared_tools

# Short forms that do where the expected type is known: what is expected, what is given, what it is.
SHORT_FORMS = [
    ("TYPE_VECTOR2", [1, 2], "Vector2(1, 2)"), ("TYPE_VECTOR2", {"x": 1, "y": 2}, "Vector2(1, 2)"),
    ("TYPE_VECTOR2", "Vector2(1, 2)", "Vector2(1, 2)"), ("TYPE_VECTOR3I", [1, 2, 3], "Vector3i(1, 2, 3)"),
    ("TYPE_COLOR", "red", "Color(1, 0, 0, 1)"), ("TYPE_COLOR", "#00ff00", "Color(0, 1, 0, 1)"),
    ("TYPE_COLOR", [0, 0, 1], "Color(0, 0, 1, 1)"), ("TYPE_COLOR", {"r": 0, "g": 0, "b": 1}, "Color(0, 0, 1, 1)"),
    ("TYPE_INT", 3.0, "3"), ("TYPE_FLOAT", 3, "3.0"), ("TYPE_NODE_PATH", "../A", 'NodePath("../A")'),
    ("TYPE_STRING_NAME", "a", '&"a"'), ("TYPE_PACKED_VECTOR2_ARRAY", [[1, 2], {"x": 3, "y": 4}],
                                        "PackedVector2Array(1, 2, 3, 4)"),
    ("TYPE_VECTOR2I", {"Vector2": [1, 2]}, "Vector2i(1, 2)"), ("TYPE_PACKED_INT32_ARRAY", [1, 2], "PackedInt32Array(1, 2)"),
    ("TYPE_RECT2", [1, 2, 3, 4], "Rect2(1, 2, 3, 4)"), ("TYPE_FLOAT", "inf", "inf"),
]
WRONG_FORMS = [("TYPE_VECTOR2I", [1.5, 2], "a whole number"), ("TYPE_INT", 1.5, "a whole number"), ("TYPE_BOOL", "yes", "true or false"),
               ("TYPE_VECTOR2", [1], "2 numbers"), ("TYPE_COLOR", "reddish", "Color"), ("TYPE_STRING", 3, "a text"),
               ("TYPE_NODE_PATH", 3, "node path"), ("TYPE_PACKED_INT32_ARRAY", "x", "a list"), ("TYPE_FLOAT", "x", "a number"),
               ("TYPE_OBJECT", {"type": "Node"}, "not a resource class"), ("TYPE_OBJECT", {"type": "RectangleShap2D"}, "'RectangleShape2D'"),
               ("TYPE_DICTIONARY", [1], "an object"), ("TYPE_ARRAY", {"a": 1}, "a list"), ("TYPE_VECTOR2", {"Color": [1, 1, 1, 1]}, "Vector2, not Color")]
TYPED = '''extends Node
enum Mode {SLOW = 3, FAST = 7}
@export var ints: Array[int]
@export var colors: Array[Color]
@export var shapes: Array[Shape2D]
@export var ages: Dictionary[String, int]
@export var places: Dictionary[int, Vector2]
@export var mode: Mode
@export_flags("Fire", "Water", "Earth") var elements: int
@export var target: Node2D
@export var shape: Shape2D
@export var anything: Array
@export var path: NodePath
'''


def decode(tools, given, expected):
    """What the codec makes of a JSON value where something is expected: [as text, error]."""
    return tools.run_code("""
var codec = load("res://addons/tether/tools/variant_json.gd").new(scene)
var value = codec.decode(JSON.parse_string(%s), {"type": %s})
return [var_to_str(value), codec.error]""" % (json.dumps(json.dumps(given)), expected))


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """An editor with a scene that has a child."""
    for tools in shared_tools(str(tmp_path_factory.mktemp("tools")), fill=fill):
        tools.call("scene_new", path="res://main.tscn")
        tools.call("node_add", type="Node2D", name="Child")
        assert tools.run_code("return ResourceSaver.save(CircleShape2D.new(), \"res://circle.tres\")") == 0
        yield tools


def fill(project):
    shutil.copy(os.path.join(os.path.dirname(__file__), "round_trip.gd"), project)
    with open(os.path.join(project, "typed.gd"), "w") as file:
        file.write(TYPED)


@pytest.fixture(scope="module")
def typed(tools):
    """The child has properties of many types."""
    tools.call("script_attach", node="Child", path="res://typed.gd")
    return tools


GIVEN = {"ints": [1, 2], "colors": ["red", [0, 1, 0]], "shapes": ["res://circle.tres", {"type": "RectangleShape2D"}],
         "ages": {"a": 1}, "places": {"7": [1, 2]}, "mode": "fast", "elements": ["Fire", "Earth"], "target": ".",
         "shape": "res://circle.tres", "anything": [1, {"Vector2": [1, 2]}, "x", 0.5], "path": "../Child"}


def test_F8_values_of_every_type_survive_json(tools):
    missing, changed = tools.run_code("return load(\"res://round_trip.gd\").run(scene)")
    assert missing == [] and changed == []


def test_F8_short_forms_of_values(tools):
    for expected, given, wanted in SHORT_FORMS:
        assert decode(tools, given, expected) == [wanted, ""], (expected, given)


def test_F8_wrong_forms_of_values(tools):
    for expected, given, words in WRONG_FORMS:
        value, error = decode(tools, given, expected)
        assert value == "null" and words in error, (expected, given, value, error)


def test_F8_typed_properties_are_saved_as_what_they_are(typed):
    typed.call("node_set", path="Child", properties=GIVEN)
    typed.call("scene_save")
    text = typed.call("file_read", path="res://main.tscn")["text"]
    for line in ("ints = Array[int]([1, 2])", "colors = Array[Color]([Color(1, 0, 0, 1), Color(0, 1, 0, 1)])",
                 'ages = Dictionary[String, int]({\n"a": 1\n})', "places = Dictionary[int, Vector2]({\n7: Vector2(1, 2)\n})",
                 "mode = 7", "elements = 5", 'target = NodePath("..")', 'anything = [1, Vector2(1, 2), "x", 0.5]',
                 'path = NodePath("../Child")'):
        assert line in text, line + "\n" + text


def test_F8_what_was_read_can_be_given_back_as_it_is(typed):
    typed.call("node_set", path="Child", properties=GIVEN)
    found = typed.call("node_get", path="Child", properties=list(GIVEN))["properties"]
    typed.call("node_set", path="Child", properties=found)
    assert typed.call("node_get", path="Child", properties=list(GIVEN))["properties"] == found


@pytest.mark.parametrize("name, value, words", [
    ("ints", ["x"], "a whole number"), ("mode", "medium", "Slow"), ("target", "Nobody", "no node 'Nobody'"),
    ("shape", "res://typed.gd", "Shape2D"), ("shapes", [{"type": "Theme"}], "Shape2D"),
    ("elements", ["Air"], "Water"), ("ages", {"a": "b"}, "a whole number")])
def test_F8_wrong_values_of_typed_properties(typed, name, value, words):
    assert words in typed.refusal("node_set", path="Child", properties={name: value})
