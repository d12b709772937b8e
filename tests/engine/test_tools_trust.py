"""L1, L2: what a tool that says it reads does not run, and where no tool writes, in a real headless editor.

Everything that would run, if it ran, makes a file whose name begins with "ran"; none may be there."""
import json
import os
import shutil

import pytest

from harness import system
from tools_probe import shared_tools

WANTED_ERRORS = ("SCRIPT ERROR: Parse Error", "SCRIPT ERROR: Compile Error", "is left as it is")
RUN = 'FileAccess.open("res://ran_%s", FileAccess.WRITE)'
INIT = "static func _static_init() -> void:\n\t" + RUN + "\n"
RESOURCE = '[gd_resource type="Resource" format=3]\n%s\n[resource]\n%s\n'
FILES = {
    "eager/tool.gd": "@tool\nextends RefCounted\n" + INIT % "tool",
    "eager/named.gd": "@tool\nclass_name Eager\nextends RefCounted\n" + INIT % "named",
    "eager/friend.gd": "@tool\nclass_name EagerFriend\nextends RefCounted\n" + INIT % "friend",
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


def with_copies(files):
    """What runs when it is loaded runs once: each check has such files of its own."""
    eager = [path for path in files if path.startswith("eager/") and "class_name" not in files[path]]
    return {**files, **{path.replace("eager/", "eager_%s/" % name): files[path].replace("eager/", "eager_%s/" % name)
                        for path in eager for name in [*CHECKED, "earlier", "error"]}}


def fill(project):
    for path, text in with_copies(FILES).items():
        os.makedirs(os.path.dirname(os.path.join(project, path)), exist_ok=True)
        with open(os.path.join(project, path), "w") as file:
            file.write(text)
    if system.FILE_LINKS:
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


# ---- L1: checks ----------------------------------------------------------------------------------

CHECKED = {
    "static_init": "@tool\nextends RefCounted\n" + INIT % "self",
    "static_variable": "@tool\nextends RefCounted\nstatic var made: FileAccess = " + RUN % "self" + "\n",
    "inner_class": "@tool\nextends RefCounted\nclass Inner:\n\tstatic var made: FileAccess = " + RUN % "self" + "\n",
    "named": "@tool\nclass_name Checked\nextends RefCounted\nvar own: Checked = null\n" + INIT % "self",
    "behind_a_comment": "# not yet: extends\n\n\t\n@icon(\"res://a.svg\")\n@tool # now\nextends RefCounted\n" + INIT % "self",
    "behind_odd_texts": "@icon(\")\\\"#\") @tool\nextends RefCounted\n" + INIT % "self",
    "behind_a_text_of_two_lines": "@icon(\"\n#\") @tool\nextends RefCounted\n" + INIT % "self",
    "in_one_line": "@tool extends RefCounted\n" + INIT % "self",
    "in_a_comment": "# @tool is not for this one\nextends RefCounted\nconst SAID: String = \"@tool\"\n",
    "preload_of_a_script": 'extends RefCounted\nconst TOOL: GDScript = preload("res://eager/tool.gd")\n',
    "preload_by_a_relative_path": "extends RefCounted\nconst TOOL: GDScript = preload('''eager/tool.gd''')\n",
    "extends_a_script": 'extends "res://eager/tool.gd"\n',
    "extends_an_heir": 'extends "res://eager/heir.gd"\n',
    "extends_a_class": "extends Eager\n",
    "uses_a_class": "extends RefCounted\nvar friend: EagerFriend = null\n",
    "preload_of_a_resource": 'extends RefCounted\nconst MADE: Resource = preload("res://eager/made.tres")\n',
    "preload_of_what_has_a_resource": 'extends RefCounted\nconst OUTER: Resource = preload("res://eager/outer.tres")\n',
    "preload_of_what_preloads": 'extends "res://eager/holder.gd"\nvar other: Resource = HELD\n',
    "preload_of_a_script_inside": 'extends RefCounted\nconst IN: Resource = preload("res://eager/inside.tres")\n',
    "preload_of_an_inline_script": 'extends RefCounted\nconst IN: Resource = preload("res://eager/inline.tres")\n',
    "preload_of_a_scene": 'extends RefCounted\nconst SCENE: PackedScene = preload("res://eager/scene.tscn")\n',
    "preload_of_plain_data": 'extends RefCounted\nconst SWORD: Item = preload("res://calm/sword.tres")\nvar price: int = SWORD.price\n',
}


def own(name, files=None):
    """A text with the files of a name."""
    return CHECKED[name].replace("eager/", "eager_%s/" % (files or name))


@pytest.mark.parametrize("name", CHECKED)
def test_L1_a_check_runs_nothing(tools, name):
    assert tools.call("script_check", path="res://checked.gd", text=own(name))["ok"] is True
    assert ran(tools) == []


@pytest.mark.parametrize("name", CHECKED)
def test_L1_a_check_that_runs_nothing_finds_what_is_wrong(tools, name):
    text = own(name) + 'var wrong: int = "x"\n\n\nfunc run() -> void:\n\tmissing()\n'
    found = tools.call("script_check", path="res://checked.gd", text=text)
    lines = CHECKED[name].count("\n")
    assert found["ok"] is False and {entry["line"] for entry in found["errors"]} == {lines + 1, lines + 5}, found
    assert "missing" in json.dumps(found["errors"]) and "Tether" not in json.dumps(found["errors"])
    assert ran(tools) == []


@pytest.mark.parametrize("line", ["const MADE: FileAccess = " + RUN % "self", "@export_range(0, " + RUN % "self" + ") var a: int = 0",
                                  "enum Kind { A = " + RUN % "self" + ".get_length() }"])
def test_L1_a_check_does_not_work_out_what_is_no_constant(tools, line):
    found = tools.call("script_check", path="res://checked.gd", text="@tool\nextends RefCounted\n" + line + "\n")
    assert {entry["line"] for entry in found["errors"]} == {3}
    assert ran(tools) == []


def test_L1_a_check_of_what_is_computed_says_that_there_was_none(tools):
    for text in ('extends RefCounted\nconst MADE: Resource = preload("res://eager/" + "made.tres")\n', 'extends "res://eager/guessed.gd"\n',
                 'extends RefCounted\nconst MADE: Resource = preload("res://eager/m\\u0061de.tres")\n'):
        found = tools.call("script_check", path="res://checked.gd", text=text)
        assert not found["ok"] and "not checked" in found["errors"][0]["message"] and "preloads" in found["errors"][0]["message"]
    assert ran(tools) == []


def test_L1_a_check_does_not_run_what_an_earlier_one_used(tools):
    """The engine remembers what a path used, also when it did not compile."""
    tools.call("script_check", path="res://checked.gd", text=own("preload_of_a_script", "earlier") + 'var wrong: int = "x"\n')
    assert tools.call("script_check", path="res://checked.gd", text="extends RefCounted\n")["ok"]
    assert ran(tools) == []


def test_L1_a_class_cannot_take_the_place_of_the_error_that_stops_a_check(tools):
    text = own("extends_a_script", "error") + "class __TetherRunsNothing:\n\tpass\n"
    assert tools.call("script_check", path="res://checked.gd", text=text)["ok"]
    assert ran(tools) == []


def test_L1_a_script_is_checked_and_written_without_being_run(tools):
    tools.call("script_create", path="res://written.gd", text=CHECKED["static_init"])
    tools.call("script_edit", path="res://written.gd", text=CHECKED["static_variable"])
    assert "line 2" in tools.refusal("script_edit", path="res://written.gd", text='@tool\nvar a: int = "x"\n' + INIT % "self")
    assert ran(tools) == []


def test_L1_what_runs_code_of_others_says_that_it_reaches_anything(tools):
    """With all else a client need not fear for what is outside the editor."""
    hints = {name: tool["annotations"] for name, tool in tools.request(op="list")["answer"].items()}
    assert {name for name in hints if hints[name].get("openWorldHint", True)} == {"script_run", "node_call", "project_run", "game_run", "game_play",
                                                                    "game_debug", "project_test", "project_export"}
    assert not any(hints[name].get("readOnlyHint") for name in hints if hints[name].get("openWorldHint", True))


# ---- L1: reading ---------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["eager/made.tres", "eager/outer.tres", "eager/inside.tres", "eager/inline.tres", "eager/object.tres",
                                  "eager/scene.tscn", "eager/tool.gd", "eager/heir.gd", "eager/holder.gd", "eager/guessed.gd",
                                  "unseen/library.gdextension"])
def test_L1_a_resource_that_would_run_is_not_read(tools, name):
    refused = tools.refusal("resource_read", path="res://" + name)
    assert "is not read, because that would run code" in refused
    assert ran(tools) == []


def test_L1_a_binary_resource_with_a_script_inside_is_not_read(tools):
    for flag in ("FLAG_NONE", "FLAG_COMPRESS"):
        path = "res://packed_%s.res" % flag.lower()
        tools.run_code('var script := GDScript.new()\nscript.source_code = "@tool\\nextends Resource\\n" + %s\nvar made := Resource.new()\n'
                       'made.set_meta("filling", range(20000))\nmade.set_meta("script", script)\nResourceSaver.save(made, "%s", ResourceSaver.%s)'
                       % (json.dumps(INIT % "packed"), path, flag))
        assert "would run code" in tools.refusal("resource_read", path=path)
    assert ran(tools) == []


def test_L1_a_resource_in_use_whose_script_runs_is_not_looked_into(tools):
    tools.run_code('Engine.get_main_loop().set_meta("used", load("res://eager/made.tres"))')
    os.remove(inside(tools, "ran_maker"))
    assert "would run" in tools.refusal("resource_read", path="res://eager/made.tres")
    tools.run_code('Engine.get_main_loop().remove_meta("used")')
    assert ran(tools) == []


def test_L1_plain_data_is_read_as_before(tools):
    sword = tools.call("resource_read", path="res://calm/sword.tres")
    assert sword["properties"]["price"] == 7 and sword["script"] == "res://calm/item.gd"
    tools.run_code('var made := Gradient.new()\nResourceSaver.save(made, "res://plain.res", ResourceSaver.FLAG_COMPRESS)')
    assert tools.call("resource_read", path="res://plain.res")["type"] == "Gradient"


def test_L1_the_help_of_a_class_that_runs_is_not_made_by_loading_it(tools):
    assert "would run code" in tools.refusal("docs_class", name="Eager")
    assert "would run code" in tools.refusal("docs_member", **{"class": "Eager", "name": "x"})
    assert tools.call("docs_class", name="Item")["script"] == "res://calm/item.gd"
    assert ran(tools) == []


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
                                               ("callv", ["free", []]), ("connect", ["renamed", None]), ("call_deferred", ["free"]), ("propagate_call", ["free"])])
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
    "override.cfg", "Override.CFG", "export_presets.cfg", "package.json", "web/package.json", "CLAUDE.md", "pyproject.toml", "CMakeLists.txt", "Claude.local.md", "composer.json",
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


@pytest.mark.parametrize("name, value", [
    ("gui/theme/custom", "res://eager/tool.gd"), ("gui/theme/custom", "res://eager/scene.tscn"), ("gui/theme/custom_font", "res://eager/made.tres"),
    ("audio/buses/default_bus_layout", "res://eager/inside.tres"), ("rendering/environment/defaults/default_environment.pc", "res://later.gd"),
    ("internationalization/locale/translations", ["res://eager/tool.gd"]), ("my/value", {"Resource": "res://calm/sword.tres"}),
    ("autoload_prepend/Early", "*res://eager/tool.gd")])
def test_L2_no_setting_makes_the_editor_load_code_at_its_next_start(tools, name, value):
    before = open(inside(tools, "project.godot")).read()
    refused = tools.refusal("project_settings_set", settings={name: value}, create=True)
    assert "at its next start" in refused or "no objects" in refused or "project_autoloads" in refused
    assert open(inside(tools, "project.godot")).read() == before and ran(tools) == []
    tools.call("project_settings_set", settings={"application/run/main_scene": "res://eager/scene.tscn"})
    tools.call("editor_undo")


def test_L2_a_game_does_not_say_what_file_is_its_picture(tools):
    """A picture comes as data, and only what was asked for is an answer."""
    tools.run_code('FileAccess.open("res://holiday.png", FileAccess.WRITE).store_string("x")')
    assert tools.run_code('var link: EditorDebuggerPlugin = load("res://addons/tether/tools/game_link.gd").new()\n'
                          'link._answers = {5: {}} as Dictionary[int, Dictionary]\n'
                          'link._capture("game_view:get_screenshot", [5, 1, 1, "res://holiday.png"], 0)\n'
                          'for answer in [[6, {"png": "a"}], [5, "res://holiday.png"], [5], []]:\n'
                          '\tlink._capture("tether:answer", answer, 0)\n'
                          'return [str(link._answers), FileAccess.file_exists("res://holiday.png")]') == ["{ 5: {  } }", True]
