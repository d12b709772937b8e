"""J1 to J3: a client finds and mends what is wrong in a small game, with nothing but Tether's tools."""
import base64
import json
import os
import shutil

import pytest

from editor import ROOT
from harness import system
from test_tools_screen import SCREEN_NOISE
from tools_probe import Display
from whole import ToolFailed, Whole, until

# The game has a window; its editor has none.
SETTINGS = '\n[audio]\n\ndriver/driver="Dummy"\n\n[rendering]\n\nrenderer/rendering_method="gl_compatibility"\n'
LEVEL, PLAYER = "res://level.tscn", "res://player.gd"


@pytest.fixture
def whole(tmp_path):
    with Display() as display, system.on_screen(display.name):
        def fill(project):
            for name in ("level.tscn", "player.gd"):
                shutil.copy(os.path.join(ROOT, "tests/engine/platformer", name), project)
        with Whole(str(tmp_path), settings=SETTINGS, fill=fill, env={"DISPLAY": display.name}) as whole:
            yield whole


# An editor without a window has no picture of the scene that it saves. What an engine lacks its games say, too.
NOISE = (*SCREEN_NOISE, 'ERROR: Parameter "t" is null.', *(line.removeprefix("WARNING: ") for line in system.ENGINE_NOISE))


def told_of(lines):
    """Those that a screen which nobody sees does not account for."""
    return [line for line in lines if not any(noise in line for noise in NOISE)]


def run(client):
    assert client.call("project_run", scene=LEVEL)["running"] == LEVEL


def stop(client):
    client.call("project_stop")
    until(client, "editor_state", lambda state: state["playing"] is None)


def play(client, *steps, values, **more):
    return client.call("game_play", steps=list(steps), values=list(values), **more)


def test_J2_a_client_finds_and_mends_what_is_wrong_in_a_game(whole):
    with whole.client() as client:
        run(client)
        # The player falls through the floor.
        told = play(client, {"signal": "Player:fell"}, values=["node('Player').is_on_floor()"])
        assert told["played"] == 1 and told["values"] == {"node('Player').is_on_floor()": False}
        masks = [client.call("game_get", path=path, properties=[name])["properties"][name]
                 for path, name in (("Player", "collision_mask"), ("Floor", "collision_layer"))]
        assert masks == [1, 2]
        # It is tried in the game, and then done in the scene.
        client.call("game_set", path="Floor", properties={"collision_layer": 1})
        assert "stopped" not in play(client, {"until": "node('Player').is_on_floor()"}, values=[])
        stop(client)
        client.call("scene_open", path=LEVEL)
        client.call("node_set", path="Floor", properties={"collision_layer": 1})
        client.call("scene_save")
        run(client)

        # It stands, and does not jump.
        stand = ({"until": "node('Player').is_on_floor()"}, {"wait": 0.1})
        jump = (*stand, {"action": "ui_accept", "for": 0.2})
        told = play(client, *jump, values=["node('Player').position.y"])
        assert told["values"]["node('Player').position.y"] > 260
        line = [number for number, text in enumerate(client.call("file_read", path=PLAYER)["text"].split("\n"), 1) if "= JUMP" in text][0]
        client.call("game_debug", action="break", path=PLAYER, line=line)
        with pytest.raises(ToolFailed, match="holds the game at %s:%d" % (PLAYER, line)):
            play(client, *jump, values=[])
        assert client.call("game_debug", action="over")["members"]["gravity"] == {"float": 980}
        assert client.call("game_debug", action="evaluate", expression="velocity.y")["value"] == {"float": 360}  # which is down
        client.call("game_debug", action="clear")
        stop(client)
        client.call("script_edit", path=PLAYER, old="velocity.y = JUMP", new="velocity.y = -JUMP")

        # Now it runs and jumps.
        run(client)
        result = client.result("game_play", steps=[*stand, {"action": "ui_right", "down": True}, {"action": "ui_accept"}, {"wait": 0.1}],
                               values=["node('Player').position", "node('Player').is_on_floor()"], picture=400)
        image, _, told = result["content"]
        x, y = json.loads(told["text"])["values"]["node('Player').position"]["Vector2"]
        assert x > 110 and y < 260 and base64.b64decode(image["data"])[:4] == b"\x89PNG"
        assert not told_of(client.call("project_output").get("errors", []))
        stop(client)
    assert not told_of(whole.close())
