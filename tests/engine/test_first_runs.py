"""H1: in a clean checkout the engine imports, exports, and runs scripts and checks as if Tether were not there."""
import os
import shutil

import pytest

import editor
from harness import Process

# An editor that aborts does so in most of its first runs. `./dev soak first` has more rounds, of all kinds.
ROUNDS = {"enabled": 2, "off": 1}
OFTEN = int(os.environ.get("TETHER_FIRST_RUNS", 0))
SETTINGS = """config_version=5

[application]

config/name="First"
run/main_scene="res://main.tscn"
config/features=PackedStringArray("4.5")

[editor]

export/convert_text_resources_to_binary=false
"""
ENABLED = """
[editor_plugins]

enabled=PackedStringArray("res://addons/tether/plugin.cfg")
"""
# Whoever names the class as a type, too, has a script that can be read.
SCRIPT = """extends SceneTree


func _initialize() -> void:
\tprint("script ran")
\tquit()
"""
USER = """@tool
extends Node

var server: TetherServer = TetherServer.new()
"""
SCENE = '[gd_scene format=3]\n\n[node name="Main" type="Node"]\n'
PRESET = """[preset.0]

name="Linux"
platform="Linux"
runnable=true
export_filter="all_resources"
include_filter=""
exclude_filter=""
export_path=""

[preset.0.options]

custom_template/release="%s"
""" % editor.system.native("/bin/true").replace("\\", "/")
RUNS = {
    "import": ["--import"],
    "export-pack": ["--export-pack", "Linux", "%s/game.pck"],
    "export-release": ["--export-release", "Linux", "%s/game.x86_64"],
    "quit": ["--editor", "--quit"],
    "script": ["--script", "res://script.gd"],
    "check-only": ["--check-only", "--script", "res://script.gd"],
    "doctool": ["--doctool", "%s", "--gdextension-docs"],
}


def clean_checkout(folder, plugin):
    """A project that no editor has seen, with the addon in it."""
    os.makedirs(folder + "/addons")
    shutil.copytree(os.path.join(editor.ROOT, "addons/tether"), folder + "/addons/tether")
    for name, text in (("project.godot", SETTINGS + (ENABLED if plugin == "enabled" else "")), ("main.tscn", SCENE),
                       ("script.gd", SCRIPT), ("user.gd", USER), ("export_presets.cfg", PRESET)):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)


def first_run(folder, home, plugin, arguments):
    """What comes of it: the exit status and the output."""
    clean_checkout(folder, plugin)
    out = folder + ".out"
    os.mkdir(out)
    arguments = [word.replace("%s", editor.system.native(out)) for word in arguments]
    with Process([editor.ENGINE, "--headless", "--path", editor.system.native(folder)] + arguments,
                 editor.system.home(home)) as run:
        return run.wait(editor.START_LIMIT), run.output


@pytest.mark.parametrize("plugin", ["enabled", "off"])
@pytest.mark.parametrize("kind", RUNS)
def test_H1_first_run_in_a_clean_checkout(tmp_path, kind, plugin):
    """Once where the engine has never run, and then where it has its help in a cache: that is another way."""
    for number in range(OFTEN or (ROUNDS[plugin] if kind in ("import", "export-pack", "quit") else 1)):
        folder = str(tmp_path / ("p%d" % number))
        status, output = first_run(folder, str(tmp_path / "home"), plugin, RUNS[kind])
        assert (status, editor.complaints(output)) == (0, []), (number, output)
        assert "script ran" in output or kind != "script"
        shutil.rmtree(folder)
        shutil.rmtree(folder + ".out")
