"""H2: an exported game holds nothing of Tether and says nothing of it, and a project can do without the addon."""
import os
import shutil
import struct

import pytest

import editor
from harness import Process
from test_first_runs import SETTINGS, clean_checkout

# What others have in the project: another plugin, a global class, a setting; and settings of ours that are not at
# their defaults, of which the plugin knows the first.
MORE = """
[editor_plugins]

enabled=PackedStringArray(%s)

[game]

speed=3
"""
OURS = """
[tether]

server/http_port=8123
server/forgotten="yes"
"""
OTHER = '@tool\nextends EditorPlugin\n'
OTHER_CFG = '[plugin]\nname="Other"\ndescription=""\nauthor=""\nversion="1"\nscript="plugin.gd"\n'
SAVER = """@tool
extends EditorPlugin


class Saver extends EditorExportPlugin:
	func _get_name() -> String:
		return "Saver"

	func _export_begin(_features: PackedStringArray, _is_debug: bool, _path: String, _flags: int) -> void:
		print("saved: ", ProjectSettings.has_setting("tether/server/forgotten"), " ", ProjectSettings.save())


var saver: Saver = Saver.new()


func _enter_tree() -> void:
	add_export_plugin(saver)


func _exit_tree() -> void:
	remove_export_plugin(saver)
"""
HERO = "class_name Hero\nextends Node\n"
GAME = 'extends Node\n\nfunc _ready() -> void:\n\tprint("the game runs")\n\tget_tree().quit()\n'
SCENE = ('[gd_scene load_steps=2 format=3]\n\n[ext_resource type="Script" path="res://game.gd" id="1"]\n\n'
         '[node name="Main" type="Node"]\nscript = ExtResource("1")\n')


def make_project(folder, tether):
    """The same project with the addon and without: None, "off" or "enabled"."""
    clean_checkout(folder, tether)
    os.remove(folder + "/user.gd")  # it names our class
    plugins = ['"res://addons/other/plugin.cfg"']
    if tether is None:
        shutil.rmtree(folder + "/addons/tether")
    elif tether == "enabled":
        plugins.append('"res://addons/tether/plugin.cfg"')
    os.mkdir(folder + "/addons/other")
    settings = SETTINGS + MORE % ", ".join(plugins) + (OURS if tether else "")
    for name, text in (("project.godot", settings), ("main.tscn", SCENE), ("game.gd", GAME), ("hero.gd", HERO),
                       ("addons/other/plugin.gd", OTHER), ("addons/other/plugin.cfg", OTHER_CFG)):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    # The engine draws these by lot.
    for number, name in enumerate(("script.gd", "game.gd", "hero.gd", "addons/other/plugin.gd")):
        with open(os.path.join(folder, name + ".uid"), "w") as file:
            file.write("uid://dtether%d\n" % number)


def engine(folder, *arguments, complaints=()):
    words = [editor.system.native(word) if os.path.isabs(word) else word for word in arguments]
    with Process([editor.ENGINE, *editor.HEADLESS, "--path", editor.system.native(folder), *words],
                 editor.home(folder)) as run:
        assert run.wait(editor.START_LIMIT) == 0, run.output
        assert len(editor.complaints(run.output)) == len(complaints), run.output
        for line, words in zip(editor.complaints(run.output), complaints):
            assert words in line
        return run.output


def listing(pack):
    """The files of a pack, by name."""
    with open(pack, "rb") as file:
        data = file.read()
    files_at, at = struct.unpack_from("<QQ", data, 24)
    assert data[:4] == b"GDPC" and struct.unpack_from("<I", data, 4) == (3,), data[:8]
    count, = struct.unpack_from("<I", data, at)
    at += 4
    found = {}
    for _ in range(count):
        size, = struct.unpack_from("<I", data, at)
        name = data[at + 4:at + 4 + size].rstrip(b"\0").decode()
        begin, length = struct.unpack_from("<QQ", data, at + 4 + size)
        found[name] = data[files_at + begin:files_at + begin + length]
        at += 4 + size + 36
    return found


def read(path):
    with open(path, "rb") as file:
        return file.read()


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    """What the project without the addon exports: at once, and when it has been opened before."""
    folder = str(tmp_path_factory.mktemp("without") / "p")
    make_project(folder, None)
    packs = []
    for number in range(2):
        packs.append("%s.%d.pck" % (folder, number))
        engine(folder, "--export-pack", "Linux", packs[-1])
    return packs


@pytest.mark.parametrize("plugin", ["enabled", "off"])
def test_H2_pack_is_that_of_the_project_without_the_addon(tmp_path, without, plugin):
    folder = str(tmp_path / "p")
    make_project(folder, plugin)
    before = read(folder + "/project.godot")
    for number, other in enumerate(without):
        pack = str(tmp_path / ("%d.pck" % number))
        output = engine(folder, "--export-pack", "Linux", pack)
        assert "ether" not in output
        ours, theirs = listing(pack), listing(other)
        assert {name for name in ours if ours[name] != theirs.get(name)} == set() and list(ours) == list(theirs)
        assert read(pack) == read(other)
        assert b"ether" not in read(pack)
        # What the export was without is there again.
        assert read(folder + "/.godot/extension_list.cfg") == b"res://addons/tether/tether.gdextension\n"
        assert b"addons/tether/plugin.gd" in read(folder + "/.godot/uid_cache.bin")
        assert [name for name in os.listdir(folder + "/.godot") if "tether" in name] == []
    assert read(folder + "/project.godot") == before
    output = engine(str(tmp_path), "--main-pack", pack)
    assert "the game runs" in output and "ether" not in output


def test_H2_settings_that_somebody_saves_meanwhile_keep_ours(tmp_path):
    """As another plugin may, in the middle of the export, when ours are not there."""
    folder, pack = str(tmp_path / "p"), str(tmp_path / "game.pck")
    make_project(folder, "enabled")
    with open(folder + "/addons/other/plugin.gd", "w") as file:
        file.write(SAVER)
    assert "saved: false 0" in engine(folder, "--export-pack", "Linux", pack)
    lines = read(folder + "/project.godot").decode().splitlines()
    for line in MORE % '"res://addons/other/plugin.cfg", "res://addons/tether/plugin.cfg"', OURS:
        assert set(line.split("\n")) <= set(lines), lines
    assert b"ether" not in read(pack)


def test_H2_cache_that_cannot_be_written_is_told_of_in_a_line(tmp_path):
    folder, pack = str(tmp_path / "p"), str(tmp_path / "game.pck")
    make_project(folder, "enabled")
    engine(folder, "--export-pack", "Linux", pack)
    before = read(pack)
    os.mkdir(folder + "/.godot/uid_cache.bin.tether")  # where the new one would be written
    engine(folder, "--export-pack", "Linux", pack,
           complaints=["Tether: cannot write res://.godot/uid_cache.bin, so the game names files of the addon"])
    os.rmdir(folder + "/.godot/uid_cache.bin.tether")
    engine(folder, "--export-pack", "Linux", pack)
    assert read(pack) == before


def test_H2_project_whose_addon_was_deleted_opens_without_harm(tmp_path):
    """The engine tells of the plugin that is enabled and not there; nothing else is amiss."""
    folder = str(tmp_path / "p")
    make_project(folder, "enabled")
    engine(folder, "--import")
    shutil.rmtree(folder + "/addons/tether")
    for _ in range(2):
        with Process([editor.ENGINE, *editor.HEADLESS, "--path", editor.system.native(folder), "--editor", "--quit-after", "30"],
                     editor.home(folder)) as run:
            assert run.wait(editor.START_LIMIT) == 0, run.output
            print(run.output)
            assert [line for line in editor.complaints(run.output) if "addons/tether/" not in line] == []
    output = engine(folder)
    assert "the game runs" in output and "ether" not in output
