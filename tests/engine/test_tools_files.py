"""J4: files moved, renamed and deleted with all that names them, in a real headless editor."""
import os
import re
import struct
import zlib

import pytest

from tools_probe import shared_tools

WANTED_ERRORS = ("is left as it is",)
FILES = {
    "game/player.gd": 'class_name Player\nextends "base/body.gd"\n\nconst COIN: PackedScene = preload("coin.tscn")\nvar picture: Texture2D = load("res://art/face.png")\n'
                      'var level: String = "res://game/levels/level_%d.tscn"\nvar alike: String = "res://game/coin.tscn.old"\n',
    "game/base/body.gd": "extends Node2D\n\n\nfunc name_of() -> String:\n\treturn \"body\"\n",
    "game/uses.gd": "extends Node\n\nvar player: Player = null\nconst BODY: GDScript = preload(\"res://game/base/body.gd\")\n",
    "game/coin.tscn": '[gd_scene format=3]\n\n[node name="Coin" type="Area2D"]\n',
    "game/main.tscn": '[gd_scene format=3]\n\n[ext_resource type="Script" path="res://game/player.gd" id="1"]\n'
                      '[ext_resource type="PackedScene" path="res://game/coin.tscn" id="2"]\n'
                      '[ext_resource type="Texture2D" path="res://art/face.png" id="3"]\n\n[node name="Main" type="Node2D"]\nscript = ExtResource("1")\n\n'
                      '[node name="Picture" type="Sprite2D" parent="."]\ntexture = ExtResource("3")\n\n[node name="Coin" parent="." instance=ExtResource("2")]\n',
    "game/state.gd": "extends Node\n\nvar score: int = 3\n",
    "data/item.tres": '[gd_resource type="Gradient" format=3]\n\n[resource]\ncolors = PackedColorArray(1, 0, 0, 1, 0, 1, 0, 1)\n',
    "data/holder.tres": '[gd_resource type="GradientTexture1D" format=3]\n\n[ext_resource type="Gradient" path="res://data/item.tres" id="1"]\n\n[resource]\ngradient = ExtResource("1")\n',
    "game/levels/level_1.tscn": '[gd_scene format=3]\n\n[node name="Level" type="Node2D"]\n',
    "shaders/part.gdshaderinc": "const float HALF = 0.5;\n",
    "shaders/all.gdshader": 'shader_type canvas_item;\n#include "part.gdshaderinc"\n',
    "lonely.txt": "alone\n",
    "notes.json": '{"first": "res://game/coin.tscn"}\n',
}
SETTINGS = '\n[autoload]\n\nState="*res://game/state.gd"\n'


def png(width=2, height=2):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + b"\xff\0\0" * width for _ in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def fill(project):
    for path, text in FILES.items():
        os.makedirs(os.path.dirname(os.path.join(project, path)), exist_ok=True)
        with open(os.path.join(project, path), "w") as file:
            file.write(text)
    os.makedirs(os.path.join(project, "art"))
    with open(os.path.join(project, "art/face.png"), "wb") as file:
        file.write(png())


@pytest.fixture
def tools(tmp_path):
    """Each test has an editor of its own, for each changes the files of all."""
    yield from shared_tools(str(tmp_path), settings=SETTINGS, expected=WANTED_ERRORS, fill=fill)


def text(tools, path):
    with open(os.path.join(tools.project, path.removeprefix("res://"))) as file:
        return file.read()


def there(tools, path):
    return os.path.exists(os.path.join(tools.project, path.removeprefix("res://")))


def everything(tools):
    """All files with their contents, but for what the editor keeps for itself."""
    found = {}
    for folder, folders, names in os.walk(tools.project):
        folders[:] = [name for name in folders if name not in (".godot", "addons")]
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                found[os.path.relpath(os.path.join(folder, name), tools.project)] = file.read()
    return found


def take_back(tools, how="editor_undo"):
    """It is done at the end of the frame, and then the editor looks at it."""
    tools.call(how)
    for _ in range(3):
        tools.request(op="frame")
    tools.settle()
    tools.request(op="frame")


def test_J4_who_uses_a_file(tools):
    used = tools.call("file_uses", path="res://game/coin.tscn")["used_by"]
    assert [line.split(": ")[0] for line in used] == ["res://game/main.tscn:4", "res://game/player.gd:4", "res://notes.json:1"] or \
        sorted(line.split(": ")[0] for line in used) == ["res://game/main.tscn:4", "res://game/player.gd:4", "res://notes.json:1"]
    assert tools.call("file_uses", path="res://game/state.gd")["used_by"] == ["project setting autoload/State"]
    assert tools.call("file_uses", path="res://lonely.txt")["used_by"] == []
    body = [line.split(": ")[0] for line in tools.call("file_uses", path="res://game/base")["used_by"]]
    assert sorted(body) == ["res://game/player.gd:2", "res://game/uses.gd:4"]
    assert "Did you mean 'lonely.txt'" in tools.refusal("file_uses", path="res://lonly.txt")


def test_J4_who_uses_a_file_by_its_identifier_or_in_a_binary_resource(tools):
    uid = text(tools, "game/state.gd.uid").strip()
    with open(os.path.join(tools.project, "by_uid.gd"), "w") as file:
        file.write('extends Node\n\nconst STATE: GDScript = preload("%s")\n' % uid)
    tools.run_code('var h := GradientTexture1D.new()\nh.gradient = load("res://data/item.tres")\nreturn [ResourceSaver.save(h, "res://data/plain.res"), '
                   'ResourceSaver.save(h, "res://data/packed.res", ResourceSaver.FLAG_COMPRESS)]')
    assert "res://by_uid.gd:3: " in tools.call("file_uses", path="res://game/state.gd")["used_by"][1]
    used = tools.call("file_uses", path="res://data/item.tres")["used_by"]
    assert sorted(used)[:2] == sorted(["res://data/holder.tres:3: " + FILES["data/holder.tres"].split("\n")[2], "res://data/packed.res (a binary resource)"])
    assert "res://data/plain.res (a binary resource)" in used


def test_J4_a_scene_is_renamed_with_all_that_names_it_and_back(tools):
    tools.call("scene_open", path="res://game/main.tscn")
    before = everything(tools)
    moved = tools.call("file_move", path="res://game/coin.tscn", to="res://things/gold.tscn")
    assert moved["moved"] == "res://things/gold.tscn" and sorted(moved["changed"]) == ["res://game/main.tscn", "res://game/player.gd", "res://notes.json"]
    assert not there(tools, "game/coin.tscn") and there(tools, "things/gold.tscn")
    assert 'path="res://things/gold.tscn" id="2"' in text(tools, "game/main.tscn")
    player = text(tools, "game/player.gd")
    assert 'preload("res://things/gold.tscn")' in player and "res://game/coin.tscn.old" in player
    assert text(tools, "notes.json") == '{"first": "res://things/gold.tscn"}\n'
    assert tools.call("script_check", path="res://game/player.gd")["ok"] is True
    # The open scene is the new one, and stays right when it is saved.
    nodes = tools.call("scene_tree")["nodes"]
    assert "Coin (Area2D) instance=res://things/gold.tscn" in nodes
    tools.call("node_set", path=".", properties={"position": [1, 1]})
    tools.call("editor_undo")
    assert tools.call("file_uses", path="res://things/gold.tscn")["total"] == 3
    take_back(tools)
    assert everything(tools) == before
    take_back(tools, "editor_redo")
    assert there(tools, "things/gold.tscn") and 'preload("res://things/gold.tscn")' in text(tools, "game/player.gd")


def test_J4_a_script_is_moved_with_its_class_its_identifier_and_what_it_names_itself(tools):
    tools.call("scene_open", path="res://game/main.tscn")
    uid = text(tools, "game/player.gd.uid")
    tools.call("file_move", path="res://game/player.gd", to="res://actors/hero.gd")
    assert text(tools, "actors/hero.gd.uid") == uid and not there(tools, "game/player.gd.uid")
    hero = text(tools, "actors/hero.gd")
    assert 'extends "res://game/base/body.gd"' in hero and 'preload("res://game/coin.tscn")' in hero
    assert 'path="res://actors/hero.gd"' in text(tools, "game/main.tscn")
    assert ". (Node2D) script=res://actors/hero.gd" in tools.call("scene_tree")["nodes"]
    assert tools.run_code('return [ResourceUID.get_id_path(ResourceUID.text_to_id("%s")), ProjectSettings.get_global_class_list().filter('
                          'func(e): return e["class"] == "Player")[0]["path"]]' % uid.strip()) == 2 * ["res://actors/hero.gd"]
    assert tools.call("script_check", path="res://game/uses.gd")["ok"] is True


def test_J4_an_autoload_and_the_main_scene_are_found_again(tools):
    tools.call("project_settings_set", settings={"application/run/main_scene": "res://game/main.tscn"})
    moved = tools.call("file_move", path="res://game", to="res://source")
    assert sorted(moved["settings"]) == ["application/run/main_scene", "autoload/State"] and moved["files"] == len(
        [path for path in FILES if path.startswith("game/")])
    settings = text(tools, "project.godot")
    assert 'State="*res://source/state.gd"' in settings and 'run/main_scene="res://source/main.tscn"' in settings
    player = text(tools, "source/player.gd")
    assert 'extends "base/body.gd"' in player and 'preload("coin.tscn")' in player  # which stay right
    assert '"res://source/levels/level_%d.tscn"' in player
    assert 'preload("res://source/base/body.gd")' in text(tools, "source/uses.gd")
    tools.settle()
    assert tools.call("script_check", path="res://source/player.gd")["ok"] is True
    tools.call("scene_open", path="res://source/main.tscn")
    assert ". (Node2D) script=res://source/player.gd" in tools.call("scene_tree")["nodes"]
    take_back(tools)
    assert tools.until("editor_state", lambda state: state["open_scenes"])["open_scenes"] == ["res://game/main.tscn"]
    assert 'State="*res://game/state.gd"' in text(tools, "project.godot") and there(tools, "game/main.tscn")


def test_J4_an_imported_picture_is_moved_with_its_import(tools):
    tools.call("scene_open", path="res://game/main.tscn")
    uid = re.search(r'uid="([^"]+)"', text(tools, "art/face.png.import")).group(1)
    tools.call("file_move", path="res://art/face.png", to="res://art/smile.png")
    tools.settle()
    assert not there(tools, "art/face.png.import")
    made = text(tools, "art/smile.png.import")
    assert 'source_file="res://art/smile.png"' in made and uid in made
    assert tools.until("file_import", lambda answer: answer["valid"], path="res://art/smile.png")["type"] == "CompressedTexture2D"
    assert 'path="res://art/smile.png"' in text(tools, "game/main.tscn") and 'load("res://art/smile.png")' in text(tools, "game/player.gd")
    assert tools.call("node_get", path="Picture", properties=["texture"])["properties"] == {"texture": {"Resource": "res://art/smile.png"}}
    tools.call("file_move", path="res://shaders/part.gdshaderinc", to="res://shaders/inner/part.gdshaderinc")
    assert '#include "res://shaders/inner/part.gdshaderinc"' in text(tools, "shaders/all.gdshader")


def test_J4_the_open_scene_itself_is_renamed(tools):
    tools.call("scene_open", path="res://game/main.tscn")
    tools.call("file_move", path="res://game/main.tscn", to="res://game/first.tscn")
    tools.until("editor_state", lambda state: state["open_scenes"] == ["res://game/first.tscn"])
    assert tools.call("editor_state")["edited_scene"]["path"] == "res://game/first.tscn"
    tools.call("node_set", path=".", properties={"position": [4, 4]})
    assert "unsaved changes" in tools.refusal("file_move", path="res://game/first.tscn", to="res://game/second.tscn")
    assert "unsaved changes" in tools.refusal("file_move", path="res://game/coin.tscn", to="res://game/gold.tscn")
    assert tools.call("scene_save") == {"saved": "res://game/first.tscn"}
    assert not there(tools, "game/main.tscn")


def test_J4_only_what_nobody_uses_is_deleted_and_it_comes_back(tools):
    tools.call("file_delete", path="res://lonely.txt")
    assert not there(tools, "lonely.txt")
    take_back(tools)
    assert text(tools, "lonely.txt") == "alone\n"
    told = tools.refusal("file_delete", path="res://data/item.tres")
    assert "'res://data/item.tres' is used: res://data/holder.tres:3" in told and there(tools, "data/item.tres")
    deleted = tools.call("file_delete", path="res://data", force=True)
    assert deleted["deleted"] == "res://data" and deleted["files"] == 2 and not there(tools, "data")
    tools.settle()
    take_back(tools)
    assert text(tools, "data/item.tres") == FILES["data/item.tres"]
    assert "'res://game/state.gd' is used: project setting autoload/State" in tools.refusal("file_delete", path="res://game/state.gd")


def test_L2_nothing_is_moved_to_where_tools_do_not_write(tools):
    for path, to, words in (("res://lonely.txt", "res://addons/tether/lonely.txt", "do not write into"), ("res://lonely.txt", "res://.vscode/a.txt", "dot"),
                            ("res://lonely.txt", "/tmp/a.txt", "begin with 'res://'"), ("res://lonely.txt", "res://../a.txt", "leaves the project"),
                            ("res://notes.json", "res://package.json", "run or obey"), ("res://lonely.txt", "res://lonely.gdextension", "keeps its kind"),
                            ("res://addons/tether", "res://addons/other", "do not write into"), ("res://addons", "res://more", "do not write into"),
                            ("res://game", "res://game/levels/game", "into itself"), ("res://lonely.txt", "res://notes.json", "exists"),
                            ("res://project.godot", "res://other.godot", "project.godot")):
        assert words in tools.refusal("file_move", path=path, to=to), (path, to)
    for path in ("res://addons/tether", "res://project.godot", "res://.godot", "res://addons", "res://"):
        tools.refusal("file_delete", path=path, force=True)
    os.makedirs(os.path.join(tools.project, "dots/.inner"))
    with open(os.path.join(tools.project, "dots/.inner/tasks.json"), "w") as file:
        file.write("{}")
    assert "dot" in tools.refusal("file_delete", path="res://dots", force=True)
    os.symlink("/tmp", os.path.join(tools.project, "data/elsewhere"))
    tools.refusal("file_move", path="res://data", to="res://more")
    assert there(tools, "data/item.tres") and there(tools, "lonely.txt")
