"""The extension and the addon in a real editor."""
import os
import shutil

import pytest

from editor import ROOT, START_LIMIT, complaints, editor, make_project
from harness import system

# Runs inside the editor, as a plugin of the test's own beside Tether, and prints what it sees.
PROBE = '''@tool
extends EditorPlugin

var heard: Array[String] = []

func _ready() -> void:
	var server: RefCounted = ClassDB.instantiate(&"TetherServer")
	print("version=", server.call("get_version"))
	server.set("http_port", 9123)
	print("port=", server.get("http_port"))
	server.connect("state_changed", func(state: String) -> void: heard.append(state))
	server.emit_signal("state_changed", "ready")
	print("heard=", heard)
	print("api=", ClassDB.class_get_api_type(&"TetherServer") == ClassDB.API_EDITOR_EXTENSION)
	server = null
	_toggle.call_deferred()

func _toggle() -> void:
	print("enabled=", EditorInterface.is_plugin_enabled("tether"))
	EditorInterface.set_plugin_enabled("tether", false)
	print("enabled=", EditorInterface.is_plugin_enabled("tether"))
	EditorInterface.set_plugin_enabled("tether", true)
	print("enabled=", EditorInterface.is_plugin_enabled("tether"))
	while EditorInterface.get_resource_filesystem().is_scanning():
		await get_tree().process_frame
	print("probe done")
	get_tree().quit()
'''


def add_probe(project):
    folder = os.path.join(project, "addons/probe")
    os.mkdir(folder)
    with open(os.path.join(folder, "plugin.cfg"), "w") as file:
        file.write('[plugin]\nname="Probe"\ndescription=""\nauthor=""\nversion="1"\nscript="probe.gd"\n')
    with open(os.path.join(folder, "probe.gd"), "w") as file:
        file.write(PROBE)
    settings = os.path.join(project, "project.godot")
    with open(settings) as file:
        text = file.read()
    with open(settings, "w") as file:
        file.write(text.replace('"res://addons/tether/plugin.cfg"',
                                '"res://addons/tether/plugin.cfg", "res://addons/probe/plugin.cfg"'))


def test_editor_opens_and_closes_with_the_addon_and_no_complaint(tmp_path):
    with editor(make_project(str(tmp_path / "p")), "--quit-after", "30", "--verbose") as run:
        assert run.wait(START_LIMIT) == 0, run.output
        assert "Unloading addon: res://addons/tether/plugin.cfg" in run.output
        assert complaints(run.output) == []


def test_class_works_and_plugin_is_disabled_and_enabled(tmp_path):
    project = make_project(str(tmp_path / "p"))
    add_probe(project)
    with open(os.path.join(ROOT, "VERSION")) as file:
        version = file.read().strip()
    with editor(project, "--verbose") as run:
        run.expect("^probe done", START_LIMIT)
        assert run.wait(START_LIMIT) == 0
        for line in ("version=" + version, "port=9123", 'heard=["ready"]', "api=true"):
            assert line in run.output.splitlines(), run.output
        states = [line for line in run.output.splitlines() if line.startswith("enabled=")]
        assert states == ["enabled=true", "enabled=false", "enabled=true"]
        assert complaints(run.output) == []


def test_every_part_of_the_class_is_documented(tmp_path):
    """The engine writes a skeleton for what the class has; nothing in it may lack a text in ours."""
    import xml.etree.ElementTree as xml
    project = make_project(str(tmp_path / "p"))
    out = tmp_path / "doc"
    out.mkdir()
    with editor(project, "--doctool", system.native(out), "--gdextension-docs") as run:
        run.wait(START_LIMIT)
    skeleton = xml.parse(str(next(out.rglob("TetherServer.xml")))).getroot()
    ours = xml.parse(os.path.join(ROOT, "gdextension/doc_classes/TetherServer.xml")).getroot()
    accessors = {member.get(key) for member in skeleton.iter("member") for key in ("getter", "setter")}

    def documented(root, tag):
        return {entry.get("name") for entry in root.iter(tag)
                if (entry.text if tag == "member" else entry.findtext("description") or "").strip()}

    def present(tag):
        return {entry.get("name") for entry in skeleton.iter(tag)} - accessors

    for tag in ("method", "member", "signal"):
        assert present(tag) and present(tag) <= documented(ours, tag), tag


@pytest.mark.parametrize("library", ["missing", "without its entry symbol"])
def test_unusable_library_is_told_in_one_plain_sentence(tmp_path, library):
    addon = str(tmp_path / "addon")
    shutil.copytree(os.path.join(ROOT, "addons/tether"), addon)
    if library == "missing":
        shutil.rmtree(os.path.join(addon, "bin"))
    else:
        settings = os.path.join(addon, "tether.gdextension")
        with open(settings) as file:
            text = file.read()
        with open(settings, "w") as file:
            file.write(text.replace("tether_entry", "no_such_entry"))
    with editor(make_project(str(tmp_path / "p"), addon), "--quit-after", "30") as run:
        run.wait(START_LIMIT)
        assert complaints(run.output)
        assert "Tether: the extension is not loaded." in run.output
