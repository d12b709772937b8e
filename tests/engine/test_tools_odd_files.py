"""L1: files that look plain and load code, in a real headless editor: what only reads does not fall for them.

The engine reads its own text files in a language in which Resource("…") loads that file, wherever a value may
stand: also in the settings of imports and exports. Shaders include any file, and one file may stand for another."""
import os
import subprocess

import pytest

from test_tools_trust import INIT, RESOURCE, ran
from tools_probe import Refused, shared_tools

TOOL = "@tool\nextends RefCounted\n" + INIT
HIDDEN = {".gdignore": ""}  # the editor itself would read it
IMPORT = '[remap]\nimporter="x"\ntype="Resource"\npath=%s\n'
LIBRARY = '[configuration]\nentry_symbol="none"\ncompatibility_minimum="4.1"\n[libraries]\nlinux="res://%s/code.so"\n'
CODE = '__attribute__((constructor)) static void run(void) {\n\tfclose(fopen("%s/ran_library", "w"));\n}\n'


def inside(head='[sub_resource type="GDScript" id="1"]', ahead=""):
    text = head + '\nscript/source = "@tool\nextends Resource\n%s"' % INIT.replace('"', '\\"')
    return ahead + RESOURCE % (text, 'metadata/x = SubResource("1")')


def shader(include):
    return 'shader_type canvas_item;\n#%s "res://@/tool.gd"\n' % include


def read(path):
    return "resource_read", {"path": "res://@/" + path}


def check(line):
    return "script_check", {"path": "res://checked.gd", "text": "extends RefCounted\n" + line + "\n"}


def preload(path):
    return check('const HELD: Resource = preload("res://@/%s")' % path)


HIDING = 'var s: String = %s"""\\""""; const T: GDScript = preload("res://@/tool.gd"); var e: String = ""'
# What is there beside tool.gd, and who reads it; "@" is the folder.
CASES = {
    "call_with_a_comment": ({"a.tres": RESOURCE % ("", 'metadata/x = Resource;\n("res://@/tool.gd")')}, read("a.tres")),
    "call_in_a_tag": ({**HIDDEN, "a.tres": RESOURCE % (
        '[ext_resource type="Resource" path="res://b.tres" id="1" x=Resource("res://@/tool.gd")]', "")}, read("a.tres")),
    "call_in_the_head": ({**HIDDEN, "a.tres": '[gd_resource type="Resource" x=Resource("res://@/tool.gd")]\n[resource]\n'}, preload("a.tres")),
    "class_as_a_name": ({"a.tres": inside('[sub_resource type=&"GDScript" id="1"]')}, read("a.tres")),
    "class_as_a_path": ({"a.tres": inside('[sub_resource type=NodePath("GDScript") id="1"]')}, read("a.tres")),
    "class_with_a_comment": ({"a.tres": inside('[sub_resource type=;\n"GDScript" id="1"]')}, read("a.tres")),
    "blanks_ahead": ({"a.tres": inside(ahead="\n;\n")}, read("a.tres")),
    "controls_ahead": ({"a.tres": inside(ahead="\x01\x02")}, read("a.tres")),
    "nul": ({"a.tres": inside(ahead=";\0\n")}, read("a.tres")),
    "no_utf8": ({"a.tres": inside(ahead=";\udcff\udcc3\n")}, read("a.tres")),
    "absolute": ({"a.tres": RESOURCE % ('[ext_resource type="Script" path="@ROOT@/@/tool.gd" id="1"]', 'metadata/x = ExtResource("1")')},
                 read("a.tres")),
    "shader": ({"a.gdshader": shader("include")}, read("a.gdshader")),
    "shader_preloaded": ({"a.gdshader": shader("include")}, preload("a.gdshader")),
    "shader_with_a_comment": ({"a.gdshader": shader("inc/**/lude")}, read("a.gdshader")),
    "shader_in_two_lines": ({"a.gdshader": shader("inc\\\nlude")}, read("a.gdshader")),
    "shader_behind_a_shader": ({"a.gdshader": shader("include").replace("tool.gd", "b.gdshaderinc"), "b.gdshaderinc": shader("include")},
                               read("a.gdshader")),
    "shader_inside": ({"a.tres": RESOURCE % ('[sub_resource type="Shader" id="1"]\ncode = "%s"' % shader("include").replace('"', '\\"'),
                                             'metadata/x = SubResource("1")')}, read("a.tres")),
    "remap": ({"a.tres": RESOURCE % ("", ""), "a.tres.remap": '[remap]\npath="res://@/tool.gd"\n'}, read("a.tres")),
    "remap_of_nothing": ({"a.tres.remap": '[remap]\npath="res://@/tool.gd"\n'}, preload("a.tres")),
    "remap_that_calls": ({**HIDDEN, "a.tres": RESOURCE % ("", ""), "a.tres.remap": '[remap]\npath=Resource("res://@/tool.gd")\n'}, preload("a.tres")),
    "import": ({**HIDDEN, "a.png": "x", "a.png.import": IMPORT % '"res://@/b.tres"', "b.tres": inside()}, read("a.png")),
    "import_preloaded": ({**HIDDEN, "a.png": "x", "a.png.import": IMPORT % '"res://@/b.tres"', "b.tres": inside()}, preload("a.png")),
    "import_that_calls": ({**HIDDEN, "a.png": "x", "a.png.import": IMPORT % 'Resource("res://@/tool.gd")'}, read("a.png")),
    "import_told": ({**HIDDEN, "a.png": "x", "a.png.import": IMPORT % '"b"' + '[params]\nx=Resource("res://@/tool.gd")\n'},
                    ("file_import", {"path": "res://@/a.png"})),
    "presets": ({"export_presets.cfg": '[preset.0]\nname=Resource("res://@/tool.gd")\n'}, ("project_export_presets", {})),
    "presets_with_an_object": ({"export_presets.cfg": '[preset.0]\nname=Object(RefCounted,"script":Resource("res://@/tool.gd"))\n'},
                               ("project_export_presets", {})),
    "library": ({**HIDDEN, "a.gdextension": LIBRARY % "@", "code.so": ""}, preload("a.gdextension")),
    "text_of_three_quotes": ({}, check(HIDING % "")),
    "raw_text_of_three_quotes": ({}, check(HIDING % "r")),
}


def fill(project):
    os.mkdir(os.path.join(project, "plain"))
    with open(os.path.join(project, "plain/a.svg"), "w") as file:
        file.write('<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>\n')
    for name, (files, _) in CASES.items():
        for path, text in {"tool.gd": TOOL, **files}.items():
            if path == "export_presets.cfg":
                continue
            path = os.path.join(project, name, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", errors="surrogateescape", newline="") as file:
                file.write(text.replace("ran_%s", "ran_" + name).replace("@ROOT@", project).replace("/@/", "/%s/" % name))
    subprocess.run(["cc", "-shared", "-fPIC", "-xc", "-include", "stdio.h", "-", "-o", os.path.join(project, "library/code.so")],
                   input=(CODE % project).encode(), check=True)


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    yield from shared_tools(str(tmp_path_factory.mktemp("odd")), expected=("ERROR",), fill=fill)


@pytest.mark.parametrize("name", CASES)
def test_L1_what_looks_plain_runs_nothing_when_it_is_read(tools, name):
    files, (tool, arguments) = CASES[name]
    for left in ran(tools):  # by another case
        os.remove(os.path.join(tools.project, left))
    presets = os.path.join(tools.project, "export_presets.cfg")
    for path in set(files) & {"export_presets.cfg"}:  # the editor reads it, too, but only at its start
        with open(presets, "w") as file:
            file.write(files[path].replace("@", name))
    try:
        tools.call(tool, **{key: value.replace("@", name) for key, value in arguments.items()})
    except Refused as refused:
        assert "code" in str(refused), refused
    finally:
        if os.path.exists(presets):
            os.remove(presets)
    assert ran(tools) == []


def test_L1_what_is_plain_is_read_all_the_same(tools):
    tools.call("script_create", path="res://plain/part.gdshaderinc", text="#ifdef X\n#endif\n")
    tools.call("script_create", path="res://plain/a.gdshader", text='shader_type canvas_item;\n#include "part.gdshaderinc"\n#define X 1\n')
    assert tools.call("resource_read", path="res://plain/a.gdshader")["type"] == "Shader"
    assert tools.call("file_import", path="res://plain/a.svg")["importer"] == "texture"
    assert tools.call("resource_read", path="res://plain/a.svg")["type"] == "CompressedTexture2D"
    for held in ("a.svg", "a.gdshader"):
        found = tools.call("script_check", path="res://b.gd", text='extends RefCounted\nconst A: Resource = preload("res://plain/%s")\n' % held)
        assert found == {"ok": True, "errors": []}
