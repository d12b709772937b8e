"""Where nobody wants a server, none is started: headless editors, imports, exports, games, scripts."""
import json
import os
import re

import pytest

import editor
from harness import IS_WINDOWS, Process, free_ports, system, wait_gone
from plugin_scene import Scene, make_project
from tether import SERVER
from tools_probe import Display

# Asks for a server in every way there is, waits, and tells what came of it.
ASK = '''
func ask(tree: SceneTree) -> void:
	print("editor=", Engine.is_editor_hint(), " can=", ClassDB.can_instantiate(&"TetherServer"))
	if ClassDB.can_instantiate(&"TetherServer"):
		var properties: Dictionary = JSON.parse_string(OS.get_environment("SUBJECT"))
		var server: RefCounted = ClassDB.instantiate(&"TetherServer")
		for key: String in properties:
			server.set(key, properties[key])
		server.call("start")
		server.set("active", true)
		server.call("restart")
		for i: int in 30:
			await tree.process_frame
		print("state=", server.call("get_state"))
	print("asked")
	tree.quit()
'''
GAME = "extends Node\n\nfunc _ready() -> void:\n\task(get_tree())\n" + ASK
SCRIPT = "extends SceneTree\n\nfunc _initialize() -> void:\n\task(self)\n" + ASK


class Place:
    """A project whose plugin wants a server at once, with a launcher that leaves a trace: that of Windows
    leaves an instance."""

    def __init__(self, tmp_path, name):
        self.folder = str(tmp_path / name)
        self.trace = tmp_path / (name + ".started")
        launcher = tmp_path / (name + ".sh")
        launcher.write_text("#!/bin/sh\necho \"$@\" >>%s\n" % self.trace)
        launcher.chmod(0o755)
        state = tmp_path / (name + ".state")
        state.mkdir(mode=0o700)
        ports = free_ports()
        self.env = {"TETHER_STATE_DIR": str(state), "TETHER_HEADLESS": "", **editor.home(self.folder),
                    "SUBJECT": json.dumps({"command": [SERVER], "http_port": ports[0], "ws_port": ports[1],
                                           **({} if IS_WINDOWS else {"launcher": str(launcher)})})}
        self.state = str(state)
        make_project(self.folder, ["subject"])
        for path, text in (("game.gd", GAME), ("script.gd", SCRIPT),
                           ("game.tscn", '[gd_scene load_steps=2 format=3]\n\n[ext_resource type="Script" '
                                         'path="res://game.gd" id="1"]\n\n[node name="Game" type="Node"]\n'
                                         'script = ExtResource("1")\n')):
            with open(os.path.join(self.folder, path), "w") as file:
                file.write(text)
        settings = os.path.join(self.folder, "project.godot")
        with open(settings) as file:
            text = file.read()
        with open(settings, "w") as file:
            file.write(text.replace("[application]\n", '[application]\n\nrun/main_scene="res://game.tscn"'))

    def started(self):
        return self.trace.exists() or os.listdir(self.state) != []


# What is run, and what its output must say to show that it got that far.
WINDOW = ["--rendering-driver", "opengl3", "--audio-driver", "Dummy"]  # for what is not headless
RUNS = {
    "import": (WINDOW + ["--import"], "^subject: wants a server"),
    "export": ([*editor.HEADLESS, "--export-pack", "Linux", "game.pck"], "^subject: wants a server"),
    "script": (["--headless", "-s", "res://script.gd"], "^asked"),
    "check": (["--headless", "--check-only", "-s", "res://script.gd"], "^Godot Engine"),
}


HELP = '''var help: ScriptEditor = EditorInterface.get_script_editor()
help.goto_help("class_name:TetherServer")
await driver.get_tree().process_frame
var found: String = ""
for label: Node in help.find_children("*", "RichTextLabel", true, false):
	found += (label as RichTextLabel).get_parsed_text()
return found'''

# An editor with a window makes the help of a project's scripts on a thread if there is none yet, and crashes if it ends
# before that (godot#122158). So there is one.
SCRIPT_HELP = '''extends SceneTree

func _initialize() -> void:
	var help: Resource = Resource.new()
	help.set_meta("classes", [])
	quit(ResourceSaver.save(help, "res://.godot/editor/editor_script_doc_cache.res"))
'''


@pytest.fixture
def display():
    """A display of our own, as a value for DISPLAY."""
    with Display() as made, system.on_screen(made.name):
        yield made.name


def with_window(folder, arguments, env):
    return Process([editor.ENGINE, *WINDOW, "--editor", "--path", system.native(folder)] + arguments,
                   dict(env, **editor.home(folder)))


def test_A1_A13_imports_exports_and_scripts_start_no_server(tmp_path, display):
    """Two at a time."""
    places = {name: Place(tmp_path, name) for name in RUNS}
    for pair in (["import", "export"], ["script", "check"]):
        running = {name: Process([editor.ENGINE, "--path", system.native(places[name].folder), *RUNS[name][0]],
                                 dict(places[name].env, DISPLAY=display))
                   for name in pair}
        for name, process in running.items():
            process.wait(editor.START_LIMIT)
            assert re.search(RUNS[name][1], process.output, re.MULTILINE), (name, process.output)
            assert "state=" not in process.output or "state=off" in process.output, process.output
            assert not places[name].started(), (name, process.output)
            process.stop()


def test_A1_A10_H1_editor_with_a_window_has_its_server_unasked_and_the_help_of_its_class(tmp_path, state_dir, display):
    """Which shows that those above could have started one. The engine's very first start shows no help of an
    extension; that is an import here."""
    ports = free_ports()
    folder = make_project(str(tmp_path / "scene"), ("driver", "subject"))
    env = {"TETHER_HEADLESS": "", "DISPLAY": display,
           "SUBJECT": json.dumps({"command": [SERVER], "http_port": ports[0], "ws_port": ports[1]})}
    with open(os.path.join(folder, "script_help.gd"), "w") as file:
        file.write(SCRIPT_HELP)
    for arguments in (["--import"], ["-s", "res://script_help.gd"]):
        with Process([editor.ENGINE, "--headless", "--path", system.native(folder), *arguments],
                     dict(env, **editor.home(folder))) as run:
            assert run.wait(editor.START_LIMIT) == 0, run.output
    with Scene(folder, state_dir, ("driver", "subject"), env, command=with_window, arguments=()) as scene:
        subject = scene.subject(ports)
        subject.wait_state("ready")
        pid, daemon = subject.server_pid(), subject.daemon_pid()
        scene.settle()
        assert "A companion server whose life is tied to the editors that use it." in scene.run(HELP)
        scene.post("EditorInterface.get_base_control().get_tree().quit()")
        status = scene.process.wait(editor.START_LIMIT)
        assert status == 0, (status, scene.process.output[-4000:])
        wait_gone(pid)
        wait_gone(daemon)
        assert subject.ports_are_free()


def test_A1_headless_editor_says_why_it_has_no_server_and_a_game_never_has_one(tmp_path, state_dir):
    """The game is run from an editor that has a server: as another process, as the Play button does."""
    place = Place(tmp_path, "p")
    env = {"TETHER_HEADLESS": "", "SUBJECT": place.env["SUBJECT"]}
    with Scene(str(tmp_path / "scene"), state_dir, ("driver", "subject"), env) as scene:
        server = scene.server("unwanted")
        server.do("start")
        scene.run("for i: int in 60:\n\tawait Engine.get_main_loop().process_frame")
        status = server.status()
        assert status["client_state"] == "off" and "TETHER_HEADLESS=1" in status["message"]
        scene.process.expect("^subject: wants a server")
        assert os.listdir(state_dir) == [] and not place.trace.exists()

        # Whoever runs this editor may opt in, also later.
        scene.run('OS.set_environment("TETHER_HEADLESS", "1")')
        pid = server.start()
        before = sorted(os.listdir(state_dir))
        game = scene.run('return OS.create_instance(["--headless", "--path", "%s"])' % system.native(place.folder).replace("\\", "/"))
        assert game > 0
        scene.process.expect("^asked")
        assert "editor=false can=false" in scene.process.output or "state=off" in scene.process.output
        wait_gone(game)
        assert sorted(os.listdir(state_dir)) == before and server.server_pid() == pid
        assert not place.trace.exists()
        server.stop()
        assert scene.quit() == []
