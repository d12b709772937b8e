"""J4: resource files made and edited, import settings changed, C# written as text, in a real headless editor."""
import os
import re

import pytest

from test_tools_files import png
from tools_probe import shared_tools

ITEM = "class_name Item\nextends Resource\n\n@export var price: int = 1\n@export var parts: Array[Resource] = []\n@export var tint: Color = Color.WHITE\n"
EAGER = "@tool\nextends Resource\n\n\nfunc _init() -> void:\n\tFileAccess.open(\"res://ran\", FileAccess.WRITE)\n"


def fill(project):
    for name, text in (("item.gd", ITEM), ("eager.gd", EAGER)):
        with open(os.path.join(project, name), "w") as file:
            file.write(text)
    with open(os.path.join(project, "face.png"), "wb") as file:
        file.write(png(8, 8))


@pytest.fixture(scope="module")
def editor(tmp_path_factory):
    yield from shared_tools(str(tmp_path_factory.mktemp("resources")), fill=fill, expected=("is left as it is",))


@pytest.fixture
def tools(editor):
    editor.begin()
    return editor


def text(tools, path):
    with open(os.path.join(tools.project, path)) as file:
        return file.read()


def there(tools, path):
    return os.path.exists(os.path.join(tools.project, path))


def test_J4_a_resource_is_made_edited_and_taken_back(tools):
    made = tools.call("resource_edit", path="res://things/sword.tres", type="Item", properties={
        "price": 7, "tint": "#ff0000", "parts": [{"type": "Resource", "properties": {"script": "res://item.gd", "price": 2}}]})
    assert made["type"] == "Resource" and made["properties"]["price"] == 7 and made["properties"]["tint"] == {"Color": [1, 0, 0, 1]}
    first = text(tools, "things/sword.tres")
    assert 'path="res://item.gd"' in first and "price = 7" in first and "price = 2" in first
    tools.call("resource_edit", path="res://things/sword.tres", properties={"price": 9, "tint:a": 0.5})
    assert "price = 9" in text(tools, "things/sword.tres") and tools.call("resource_read", path="res://things/sword.tres")["properties"]["price"] == 9
    assert tools.call("editor_undo") == {"undone": "Edit sword.tres"}
    assert text(tools, "things/sword.tres") == first
    assert tools.call("editor_undo") == {"undone": "Make sword.tres"}
    assert not there(tools, "things/sword.tres")
    assert tools.call("editor_redo") == {"redone": "Make sword.tres"}
    without_ids = re.compile(r' uid="[^"]*"| id="[^"]*"|Resource\("[^"]*"\)')
    assert without_ids.sub("", text(tools, "things/sword.tres")) == without_ids.sub("", first)


def test_J4_a_resource_of_the_engine_with_parts_and_files(tools):
    tools.call("resource_edit", path="res://look.tres", type="StyleBoxFlat", properties={"bg_color": [0, 1, 0], "corner_radius_top_left": 4})
    theme = {"default_font_size": 20, "Button/styles/normal": "res://look.tres"}
    assert "no property" in tools.refusal("resource_edit", path="res://theme.tres", type="Theme", properties={"nothing": 1})
    assert not there(tools, "theme.tres")
    tools.call("resource_edit", path="res://theme.tres", type="Theme", properties={"default_font_size": theme["default_font_size"]})
    assert "default_font_size = 20" in text(tools, "theme.tres")
    tools.call("resource_edit", path="res://shown.tres", type="GradientTexture1D", properties={"gradient": {"type": "Gradient", "properties": {"offsets": [0, 0.5]}}})
    tools.call("resource_edit", path="res://shown.tres", properties={"gradient:offsets": [0, 0.25], "width": 8})
    assert "0.25" in text(tools, "shown.tres") and "width = 8" in text(tools, "shown.tres")
    tools.call("resource_edit", path="res://grey.tres", type="Gradient")
    tools.call("resource_edit", path="res://shown.tres", properties={"gradient": "res://grey.tres"})
    assert "is in the file 'res://grey.tres'" in tools.refusal("resource_edit", path="res://shown.tres", properties={"gradient:offsets": [0, 1]})


@pytest.mark.parametrize("arguments, words", [
    ({"path": "res://a.tres"}, "give its 'type'"), ({"path": "res://a.tres", "type": "Node"}, "not a resource class"),
    ({"path": "res://a.tres", "type": "Gradiant"}, "Did you mean 'Gradient'"), ({"path": "res://a.tscn", "type": "Gradient"}, "ends in '.tres'"),
    ({"path": "res://addons/tether/a.tres", "type": "Gradient"}, "do not write into"), ({"path": "/tmp/a.tres", "type": "Gradient"}, "begin with 'res://'"),
    ({"path": "res://.vscode/a.tres", "type": "Gradient"}, "dot"),
    ({"path": "res://a.tres", "type": "Resource", "properties": {"resource_path": "res://b.gd"}}, "not set by tools"),
    ({"path": "res://a.tres", "type": "Resource", "properties": {"metadata/x": {"type": "Resource", "properties": {"resource_path": "res://b.gd"}}}}, ""),
    ({"path": "res://a.tres", "type": "Resource", "properties": {"script": "res://item.gd"}}, "as 'type'"),
    ({"path": "res://a.tres", "type": "GradientTexture1D", "properties": {"gradient": {"Node": "."}}}, "no node"),
])
def test_L2_resources_that_are_not_made(tools, arguments, words):
    assert words in tools.refusal("resource_edit", **arguments)
    assert not there(tools, "a.tres")


def test_L2_what_the_editor_loads_at_its_start_gets_no_code(tools):
    """As a layout of audio buses, which is loaded from that path without any setting being changed."""
    assert "at its next start" in tools.refusal("resource_edit", path="res://default_bus_layout.tres", type="res://eager.gd")
    assert not there(tools, "default_bus_layout.tres") and not there(tools, ".godot/tether_trial.tres")
    assert tools.call("resource_edit", path="res://default_bus_layout.tres", type="AudioBusLayout")["saved"]
    os.remove(os.path.join(tools.project, "default_bus_layout.tres"))
    tools.call("resource_edit", path="res://eager.tres", type="res://eager.gd")  # which may be where nobody loads it
    assert "at its next start" in tools.refusal("file_move", path="res://eager.tres", to="res://default_bus_layout.tres")


def test_J4_import_settings_are_changed_and_taken_back(tools):
    before = tools.call("file_import", path="res://face.png")["settings"]
    answer = tools.call("file_import", path="res://face.png", settings={"process/size_limit": 4, "mipmaps/generate": True})
    assert answer["settings"] == {**before, "process/size_limit": 4, "mipmaps/generate": True}
    tools.settle()
    size = 'return [load("res://face.png").get_width(), ResourceLoader.load("res://face.png", "", ResourceLoader.CACHE_MODE_IGNORE).get_width()]'
    assert tools.run_code(size)[1] == 4
    tools.call("editor_undo")
    for _ in range(3):
        tools.request(op="frame")
    assert tools.call("file_import", path="res://face.png")["settings"] == before and tools.run_code(size)[1] == 8
    assert "Did you mean 'mipmaps/generate'" in tools.refusal("file_import", path="res://face.png", settings={"mipmaps/generat": True})
    assert "Wanted is" in tools.refusal("file_import", path="res://face.png", settings={"mipmaps/generate": "maybe"})


def test_L2_import_settings_that_name_code_are_kept(tools):
    with open(os.path.join(tools.project, "model.obj"), "w") as file:
        file.write("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    tools.run_code("EditorInterface.get_resource_filesystem().scan()")
    tools.settle()
    path = os.path.join(tools.project, "face.png.import")
    with open(path) as file:
        was = file.read()
    with open(path, "w") as file:
        file.write(was + 'import_script/path=""\n_subresources={}\n')
    for name, value in (("import_script/path", "res://eager.gd"), ("_subresources", {"a": 1})):
        assert "each import" in tools.refusal("file_import", path="res://face.png", settings={name: value})
    with open(path, "w") as file:
        file.write(was)


def test_J4_csharp_is_written_and_read_as_text(tools):
    code = "using Godot;\n\npublic partial class Mover : Node2D\n{\n    public int Speed = 3;\n}\n"
    assert tools.call("script_create", path="res://Mover.cs", text=code)["lines"] == 7
    tools.call("script_edit", path="res://Mover.cs", old="Speed = 3", new="Speed = 4")
    assert "Speed = 4" in tools.call("file_read", path="res://Mover.cs")["text"]
    assert tools.call("editor_undo") == {"undone": "Edit Mover.cs"}
    assert text(tools, "Mover.cs") == code
    tools.refusal("script_create", path="res://Game.csproj", text="<Project/>")
