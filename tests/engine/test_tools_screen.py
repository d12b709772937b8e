"""F8: pictures of the editor and of the running game, from an editor that draws on a screen nobody sees."""
import base64
import re
import struct

import pytest

from harness import IS_WINDOWS, Process, system
from tools_probe import Display, shared_tools

# What a screen without a window manager, and a machine without a graphics card, make the engine say.
SCREEN_NOISE = ("V-Sync", "Unhandled XServer error: BadWindow", "VK_KHR_surface", 'ERROR: Condition "err != OK" is true.')


def shot(tools, **arguments):
    """A picture's size, the text beside it, and its data."""
    image, text = tools.call("editor_screenshot", **arguments)["content"]
    assert image["type"] == "image" and image["mimeType"] == "image/png" and text["type"] == "text"
    data = base64.b64decode(image["data"])
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", data[16:24]), text["text"], image["data"]


def share_of_red(tools, data):
    return tools.run_code("""
var image := Image.new()
image.load_png_from_buffer(Marshalls.base64_to_raw("%s"))
image.resize(100, 100, Image.INTERPOLATE_NEAREST)
var red := 0
for x in 100:
	for y in 100:
		red += int(image.get_pixel(x, y).is_equal_approx(Color.RED))
return red""" % data) / 10000


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """An editor that draws, with a scene that shows a red box."""
    with Display() as display, system.on_screen(display.name):
        Process.running.remove(display.process)  # what is in that list ends with each test
        try:
            for tools in shared_tools(str(tmp_path_factory.mktemp("tools")), "--rendering-driver", "opengl3",
                                      expected=SCREEN_NOISE, env={"DISPLAY": display.name}, allowed=(display.process.pid,)):
                make_box(tools)
                yield tools
        finally:
            Process.running.append(display.process)


def make_box(tools):
    tools.call("scene_new", path="res://main.tscn")
    tools.call("node_add", type="ColorRect", name="Box",
               properties={"size": [300, 200], "position": [50, 50], "color": "red"})
    tools.call("script_create", path="res://box.gd",
               text="extends ColorRect\n\n\nfunc _ready() -> void:\n\tprint(\"up and running\")\n")
    tools.call("script_attach", node="Box", path="res://box.gd")
    tools.call("scene_save")


def test_F8_a_picture_of_the_editor(tools):
    size, text, data = shot(tools)
    width, height, *shown = map(int, re.fullmatch(r"editor, (\d+)×(\d+), shown at (\d+)×(\d+)", text).groups())
    assert size == tuple(shown) and size[0] == 1024 and abs(size[1] - 1024 * height / width) < 1, text
    assert width == 1280 and (760 if IS_WINDOWS else 800) <= height <= 800, text  # less a title, under Wine
    assert 0.02 < share_of_red(tools, data) < 0.3


def test_F8_pictures_of_its_views(tools):
    size, text, data = shot(tools, target="2d", max_size=4096)
    assert text == "2d, %d×%d" % size and size[0] > 400
    assert 0.05 < share_of_red(tools, data) < 0.5
    size, _, data = shot(tools, target="3d", max_size=100)
    assert max(size) == 100 and share_of_red(tools, data) == 0


def test_F8_a_picture_of_the_game(tools):
    tools.call("project_run", scene="current")
    tools.until("project_output", lambda answer: answer["connected"] and "up and running" in answer["text"])
    size, text, data = shot(tools, target="game", max_size=200)
    assert max(size) == 200 and text.startswith("game, ")
    assert 0.05 < share_of_red(tools, data) < 0.5
    # Never older than what was done before it, also while the game stands still.
    tools.call("game_play", steps=[{"freeze": True}])
    tools.call("game_set", path="Box", properties={"color": "blue"})
    assert share_of_red(tools, shot(tools, target="game")[2]) == 0
    tools.call("game_set", path="Box", properties={"color": "red"})
    image, about, told = tools.call("game_play", steps=[{"step": 2}], values=["node('Box').color"], picture=300)["content"]
    assert 0.05 < share_of_red(tools, image["data"]) < 0.5 and about["text"].startswith("game, ")
    told = told["text"]  # made a text when it is sent
    assert told["values"] == {"node('Box').color": {"Color": [1, 0, 0, 1]}} and told["frozen"] is True
    tools.call("project_stop")
    tools.until("editor_state", lambda state: state["playing"] is None)
    assert "No game" in tools.refusal("editor_screenshot", target="game")


STEPPED = """extends ColorRect

var frames: int = 0
var clicked: bool = false


func _ready() -> void:
\tvar button: Button = Button.new()
\tbutton.name = "Button"
\tbutton.size = Vector2(80, 40)
\tbutton.pressed.connect(func() -> void: clicked = true)
\tadd_child(button)


func _process(_delta: float) -> void:
\tframes += 1
"""


def test_J2_a_game_with_a_window_is_stepped_frame_by_frame_and_clicked(tools):
    tools.call("script_edit", path="res://box.gd", text=STEPPED)
    tools.call("project_run", scene="current")
    frozen = tools.call("game_play", steps=[{"frames": 5}, {"freeze": True}], values=["node('Box').frames"])["values"]["node('Box').frames"]
    for wanted in (1, 4):
        frozen += wanted
        told = tools.call("game_play", steps=[{"step": wanted}], values=["node('Box').frames"])
        assert told["values"] == {"node('Box').frames": frozen} and told["frozen"] is True
    told = tools.call("game_play", steps=[{"freeze": False}, {"mouse": "left", "at": "Box/Button"}], values=["node('Box').clicked", "node('Box').frames"])
    assert told["values"]["node('Box').clicked"] is True and told["values"]["node('Box').frames"] > frozen
    assert tools.call("game_monitor")["monitors"]["draw_calls"] > 0
    tools.call("project_stop")
    tools.until("editor_state", lambda state: state["playing"] is None)
