"""L1, L2: what a tool that says it reads does not run, and where no tool writes, in a real headless editor.

Everything that would run, if it ran, makes a file whose name begins with "ran"; none may be there."""
import json
import os
import shutil

import pytest

from tools_probe import shared_tools

WANTED_ERRORS = ("SCRIPT ERROR: Parse Error", "SCRIPT ERROR: Compile Error", "is left as it is")
RUN = 'FileAccess.open("res://ran_%s", FileAccess.WRITE)'
INIT = "static func _static_init() -> void:\n\t" + RUN + "\n"
RESOURCE = '[gd_resource type="Resource" format=3]\n%s\n[resource]\n%s\n'
FILES = {
    "eager/tool.gd": "@tool\nextends RefCounted\n" + INIT % "tool",
    "eager/named.gd": "@tool\nclass_name Eager\nextends RefCounted\n" + INIT % "named",
    "eager/heir.gd": 'extends "tool.gd"\n',
    "eager/maker.gd": "@tool\nextends Resource\nfunc _init() -> void:\n\t" + RUN % "maker" + "\n",
    "eager/holder.gd": 'extends RefCounted\nconst HELD: Resource = preload("made.tres")\n',
    "eager/guessed.gd": 'extends RefCounted\nconst HELD: Resource = preload("made" + ".tres")\n',
    "eager/made.tres": RESOURCE % ('[ext_resource type="Script" path="res://eager/maker.gd" id="1"]', 'script = ExtResource("1")'),
    "eager/outer.tres": RESOURCE % ('[ext_resource type="Resource" path="res://eager/made.tres" id="1"]', 'metadata/x = ExtResource("1")'),
    "eager/inside.tres": RESOURCE % ('[sub_resource type="GDScript" id="1"]\nscript/source = "@tool\nextends Resource\n%s"'
                                     % (INIT % "inside").replace('"', '\\"'), 'metadata/x = SubResource("1")'),
    "eager/inline.tres": RESOURCE % ("", 'metadata/x = Resource("res://eager/tool.gd")'),
    "eager/object.tres": RESOURCE % ("", 'metadata/x = Object(RefCounted,"script":Resource("res://eager/tool.gd"))'),
    "eager/scene.tscn": '[gd_scene format=3]\n[ext_resource type="Script" path="res://eager/tool.gd" id="1"]\n'
                        '[node name="A" type="Node"]\nmetadata/x = ExtResource("1")\n',
    "unseen/.gdignore": "",  # the editor itself would load it
    "unseen/library.gdextension": '[configuration]\nentry_symbol="none"\ncompatibility_minimum="4.5"\n[libraries]\nlinux="res://none.so"\n',
    "calm/item.gd": "class_name Item\nextends Resource\n@export var price: int = 1\n",
    "calm/sword.tres": RESOURCE % ('[ext_resource type="Script" path="res://calm/item.gd" id="1"]', 'script = ExtResource("1")\nprice = 7'),
    ".env": "TOKEN=needle-of-env\n",
    ".vscode/tasks.json": '{"needle-of-vscode": 1}\n',
    "export_credentials.cfg": 'password="needle-of-export"\n',
    "keys/release.keystore": "needle-of-keystore\n",
    "keys/prod.env": "needle-of-prod\n",
    ".gitignore": "needle-of-ignore\n",
    "addons/tether/looks/look.tres": '[gd_resource type="CanvasItemMaterial" format=3]\n[resource]\n',
}


def fill(project):
    for path, text in FILES.items():
        os.makedirs(os.path.dirname(os.path.join(project, path)), exist_ok=True)
        with open(os.path.join(project, path), "w") as file:
            file.write(text)
    os.symlink(os.path.join(project, ".env"), os.path.join(project, "linked.txt"))
    os.symlink(".vscode", os.path.join(project, "linked_dots"))
    os.symlink("addons/tether/looks", os.path.join(project, "linked_addon"))


@pytest.fixture(scope="module")
def editor(tmp_path_factory):
    yield from shared_tools(str(tmp_path_factory.mktemp("trust")), expected=WANTED_ERRORS, fill=fill)


@pytest.fixture
def tools(editor):
    editor.begin()
    for name in ran(editor):
        os.remove(os.path.join(editor.project, name))
    return editor


def ran(tools):
    return sorted(name for name in os.listdir(tools.project) if name.startswith("ran"))


def inside(tools, path):
    return os.path.join(tools.project, path.removeprefix("res://"))


# ---- L2: paths inside of values ------------------------------------------------------------------

OUTSIDE = "res://../outside.tres"


@pytest.mark.parametrize("properties", [
    {"material": {"type": "CanvasItemMaterial", "properties": {"resource_path": OUTSIDE}}},
    {"material": {"Resource": {"type": "CanvasItemMaterial", "properties": {"resource_path": "res://addons/tether/x.tres"}}}},
    {"texture": {"type": "AtlasTexture", "properties": {"atlas": {"type": "GradientTexture1D", "properties": {"resource_path": OUTSIDE}}}}},
    {"texture": {"type": "GradientTexture1D"}, "texture:resource_path": OUTSIDE},
    {"scene_file_path": "res://addons/tether/x.tscn"}, {"owner": None}])
def test_L2_a_value_carries_no_path_to_save_at(tools, properties):
    tools.call("node_add", type="Sprite2D", name="S", properties={"texture": {"type": "GradientTexture1D"}})
    assert "is not set by tools" in tools.refusal("node_set", path="S", properties=properties)
    assert "is not set by tools" in tools.refusal("node_add", type="Sprite2D", properties={"texture": {"type": "GradientTexture1D"}, **properties})


def test_L2_a_value_in_a_list_carries_no_path_to_save_at(tools):
    tools.call("node_add", type="Camera3D", name="C")
    effect = {"type": "CompositorEffect", "properties": {"resource_path": OUTSIDE}}
    assert "is not set by tools" in tools.refusal("node_set", path="C", properties={
        "compositor": {"type": "Compositor", "properties": {"compositor_effects": [effect]}}})


def test_L2_the_file_of_a_download_is_not_set(tools):
    tools.call("node_add", type="HTTPRequest", name="H")
    assert "is not set by tools" in tools.refusal("node_set", path="H", properties={"download_file": "/tmp/x"})
    assert "leads to something else" in tools.refusal("node_call", path="H", method="set_download_file", arguments=["/tmp/x"])


@pytest.mark.parametrize("method, arguments", [("set", ["scene_file_path", "x"]), ("set_indexed", ["material:resource_path", OUTSIDE]),
                                               ("callv", ["free", []]), ("call_deferred", ["free"]), ("propagate_call", ["free"])])
def test_L2_no_method_is_called_that_leads_around_the_rules(tools, method, arguments):
    assert "leads to something else" in tools.refusal("node_call", path=".", method=method, arguments=arguments)


@pytest.mark.parametrize("path", [OUTSIDE, "res://addons/tether/x.tres", "res://linked_addon/x.tres", "res://.vscode/x.tres", "res://a/../x.tres",
                                  "res://linked_dots/x.tres"])
def test_L2_a_scene_is_not_saved_with_a_resource_that_would_be_saved_elsewhere(tools, path):
    """However the resource came by its path."""
    tools.call("node_set", path=".", properties={"material": {"type": "CanvasItemMaterial"}})
    tools.run_code('scene.material.resource_path = "%s"' % path)
    tools.call("node_set", path=".", properties={"visible": False})
    for tool in ("scene_save", "project_run"):
        assert path in tools.refusal(tool, **({"scene": "current"} if tool == "project_run" else {}))
    assert not os.path.lexists(inside(tools, path))
    tools.run_code('scene.material = null')


def test_L2_what_a_scene_uses_from_the_addon_is_not_changed(tools):
    tools.call("node_set", path=".", properties={"material": "res://addons/tether/looks/look.tres"})
    assert "addons/tether" in tools.refusal("node_set", path=".", properties={"material:light_mode": 1})
    tools.call("node_set", path=".", properties={"material": None})


# ---- L2: files -----------------------------------------------------------------------------------

@pytest.mark.parametrize("path", [
    ".claude/settings.json", ".mcp.json", ".cursor/mcp.json", ".vscode/tasks.json", ".github/workflows/x.yml", ".GIT/config.ini", "a/.hidden/x.gd",
    "override.cfg", "Override.CFG", "export_presets.cfg", "package.json", "web/package.json", "CLAUDE.md", "pyproject.toml", "CMakeLists.txt",
    "android/build/x.xml", "addons/tether/x.gd", "linked_addon/x.gd", "linked_dots/x.json", "addons/tether./x.gd", "addons /tether/x.gd", "x.gd.txt.",
    "x.gd:a.txt", "a\u202e.gd", "a\u2028b.gd", "line\nbreak.gd"])
def test_L2_what_others_obey_is_not_written(tools, path):
    refused = tools.refusal("script_create", path="res://" + path, text="{}", force=True)
    assert "Tools do not write" in refused or "not every system" in refused, refused
    target = inside(tools, path)
    assert not os.path.exists(target) or FILES.get(path) == open(target).read()


def test_L2_a_scene_is_not_written_where_a_text_is_not(tools):
    for path in (".hidden/x.tscn", "linked_addon/x.tscn", "linked_dots/x.tscn", "addons/tether/x.tscn"):
        assert "Tools do not write" in tools.refusal("scene_save", path="res://" + path)
        assert "Tools do not write" in tools.refusal("scene_new", path="res://" + path)


def test_L2_a_path_is_judged_when_it_is_written(tools):
    """A folder may have become a link between an action and its undoing."""
    tools.call("script_create", path="res://spot/note.txt", text="ours\n")
    shutil.rmtree(inside(tools, "spot"))
    os.symlink("addons/tether/looks", inside(tools, "spot"))
    with open(inside(tools, "addons/tether/looks/note.txt"), "w") as file:
        file.write("ours\n")
    tools.call("editor_undo")
    assert open(inside(tools, "addons/tether/looks/note.txt")).read() == "ours\n"
    os.remove(inside(tools, "spot"))
    os.remove(inside(tools, "addons/tether/looks/note.txt"))


@pytest.mark.parametrize("path", [".env", ".vscode/tasks.json", "export_credentials.cfg", "keys/release.keystore", "keys/prod.env", "linked.txt",
                                  "linked_dots/tasks.json", ".godot/global_script_class_cache.cfg"])
def test_L2_what_is_not_for_everybody_is_not_read(tools, path):
    assert "is not for tools" in tools.refusal("file_read", path="res://" + path)


def test_L2_what_is_not_for_everybody_is_not_found(tools):
    hits = tools.call("file_search", text="needle-of")["hits"]
    assert hits == []
    assert "needle-of-ignore" in tools.call("file_read", path="res://.gitignore")["text"]
    assert "is not for tools" in tools.refusal("file_search", text="needle-of", folder="res://linked_dots")


# ---- L2: settings --------------------------------------------------------------------------------

@pytest.mark.parametrize("name", [
    "tether/server/command", "tether/server/command.linuxbsd", "tether/server/environment", "tether/server/ready", "editor_plugins/enabled",
    "editor_overrides/text_editor/external/exec_path", "importer_defaults/scene", "editor/run/main_run_args", "editor/version_control/plugin_name",
    "editor/movie_writer/movie_file", "debug/file_logging/log_path", "debug/file_logging/log_path.pc", "application/config/project_settings_override",
    "application/run/load_shell_environment", "filesystem/import/blender/enabled", "other_plugin/server/command", "other_plugin/exec.windows",
    "x]\n[editor_plugins/enabled", "editor_plugins/enabled\n"])
@pytest.mark.parametrize("value", ["x", None])
def test_L2_settings_that_start_programs_are_not_set(tools, name, value):
    before = open(inside(tools, "project.godot")).read()
    refused = tools.refusal("project_settings_set", settings={"application/config/description": "y", name: value}, create=True)
    assert "Tools do not change" in refused and "by hand" in refused or "is not the name of a setting" in refused
    assert open(inside(tools, "project.godot")).read() == before
