"""F8: whatever a client sends as arguments, each tool answers in words, the editor lives on without a
complaint, and nothing outside the project is written or read."""
import json
import os

import pytest

from harness import system
from mcp_client import McpError
from whole import OWN_TOOLS, Whole, until

# What tells the editor's user of a mistake that a client made belongs into the log.
TOLD = ("SCRIPT ERROR: Parse Error", "SCRIPT ERROR: Compile Error", "Failed loading resource")
SECRET = "a secret outside the project"
OUTSIDE = ["/etc/passwd", "../secret.gd", "res://../secret.gd", "res://a/../../secret.gd", "res:///etc/passwd",
           "user://secret.gd", "file:///etc/passwd", "res://out/secret.gd", "res://out/new.gd",
           "res://out/../out/secret.gd", "C:\\secret.gd", "res://..\\secret.gd", "\\\\host\\secret.gd"]
if system.FILE_LINKS:
    OUTSIDE.append("res://link.gd")


def deep(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


def is_json(schema):
    """Whether the text that the schema asks for is to hold JSON."""
    return schema.get("description", "").endswith(("JSON list.", "JSON object."))


def odd_values(schema):
    """Values that the schema of an argument does not allow, not even as a text."""
    wrong = {"string": [7, [], {}, True, 1.5], "integer": ["x", 1.5, []], "number": ["x", []],
             "boolean": ["yes", 2, []], "array": [{}, 3]}
    values = [7, True, "x", "[", '{"a"'] if is_json(schema) else list(wrong[schema["type"]])
    if "enum" in schema:
        values += ["no such choice", ""]
    return values


def plain_value(name, schema):
    """A value that the schema allows, though there may be nothing of that name."""
    if "enum" in schema:
        return schema["enum"][0]
    if is_json(schema):
        return "[]" if schema["description"].endswith("list.") else "{}"
    return {"string": "res://nothing/here.gd" if "path" in name else "NoSuchThing", "integer": 1, "number": 0.5,
            "boolean": False, "array": []}[schema["type"]]


def refuse(client, tool, arguments):
    """The words in which a call is refused; None if it was carried out."""
    try:
        result = client.request("tools/call", {"name": tool, "arguments": arguments})
    except McpError as error:
        assert error.code == -32602, (tool, error)
        return str(error)
    if not result.get("isError"):
        return None
    text = result["content"][0]["text"]
    assert len(text) > 15 and "failed inside" not in text, (tool, arguments, text)
    return text


def arguments_of(schema):
    return {name: plain_value(name, schema["properties"][name]) for name in schema.get("required", [])}


class Odd:
    def __init__(self, folder):
        self.whole = Whole(folder)
        self.secret = os.path.join(folder, "secret.gd")
        self.outside = os.path.join(folder, "outside")
        os.mkdir(self.outside)
        for path in (self.secret, os.path.join(self.outside, "secret.gd")):
            with open(path, "w") as file:
                file.write("extends Node\n# %s\n" % SECRET)
        os.symlink(self.outside, self.whole.path("res://out"))
        if system.FILE_LINKS:
            os.symlink(self.secret, self.whole.path("res://link.gd"))
            os.symlink(os.path.join(self.outside, "none.tscn"), self.whole.path("res://link.tscn"))
        self.client = self.whole.client()
        self.tools = {name: tool["inputSchema"] for name, tool in self.client.tools().items() if name not in OWN_TOOLS}
        self.client.call("scene_new", path="res://main.tscn")

    def alive(self):
        assert self.client.call("editor_state")["project"] == "p"


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    made = Odd(str(tmp_path_factory.mktemp("odd")))
    with made.whole:
        process = made.whole.scene.process
        process.running.remove(process)
        yield made
        process.running.append(process)
        until(made.client, "editor_state", lambda state: "busy" not in state)  # a scan is not cut short
        made.client.close()
        assert [line for line in made.whole.close() if not any(words in line for words in TOLD)] == []


@pytest.fixture(autouse=True)
def nothing_left(odd):
    """The editor is the file's."""


def test_F8_wrong_types_and_missing_arguments(odd):
    for tool, schema in odd.tools.items():
        for wrong in ([], "text", 3):
            with pytest.raises(McpError) as found:
                odd.client.request("tools/call", {"name": tool, "arguments": wrong})
            assert found.value.code == -32602, tool
        for name in schema.get("required", []):
            arguments = arguments_of(schema)
            del arguments[name]
            assert name in refuse(odd.client, tool, arguments), (tool, name)
        for name, inner in schema["properties"].items():
            for value in odd_values(inner):
                refusal = refuse(odd.client, tool, dict(arguments_of(schema), **{name: value}))
                assert refusal and name in refusal, (tool, name, value, refusal)
    odd.alive()


def test_F8_huge_deep_and_strange_texts(odd):
    texts = ["", "\0", "a\0b", "x" * 300000, "ünïcödé 🎮 \u202e\u0007", "%s%d%n", "\n\n\t", "'; \"", "res://", "res://\0",
             "{}", ".", "..", "/", "//", "../..", "Node2D\0", "\ud7ff\ufffd", "-1", "res://" + "d/" * 300 + "x.gd"]
    for tool, schema in odd.tools.items():
        if tool in ("script_run",):
            continue  # text that is code
        for name, inner in schema["properties"].items():
            if inner["type"] == "string" and "enum" not in inner:
                for text in texts:
                    arguments = dict(arguments_of(schema), **{name: text})
                    if tool == "script_create" and name == "text":
                        arguments["path"] = "res://../x.gd"
                    refuse(odd.client, tool, arguments)
            if inner["type"] == "array" or is_json(inner):
                for value in ([deep(100)], {"a": deep(100)}, {"Vector2": "x"}, {"Resource": "/etc/passwd"}, {"": ""},
                              [None] * 2000, {"Node": "../../.."}):
                    refuse(odd.client, tool, dict(arguments_of(schema), **{name: value}))
    odd.alive()


def paths_of(schema):
    return [name for name, inner in schema["properties"].items()
            if inner.get("type") == "string" and ("path" in name or name in ("scene", "folder"))]


def test_F8_nothing_outside_the_project(odd):
    before = {path: os.stat(path).st_mtime_ns for path in (odd.secret, odd.outside, os.path.dirname(odd.secret))}
    odd.client.call("node_add", type="Sprite2D", name="Thing")
    for tool, schema in odd.tools.items():
        for name in paths_of(schema):
            for path in OUTSIDE:
                arguments = dict(arguments_of(schema), **{name: path})
                if tool.startswith("script_") and "text" in schema["properties"]:
                    arguments.update(text="extends Node\n")
                if tool == "project_autoloads":
                    arguments.update(action="add", name="Auto")
                if tool in ("scene_save", "scene_new"):
                    arguments[name] = path.replace(".gd", ".tscn")
                result = odd.client.request("tools/call", {"name": tool, "arguments": arguments})
                text = json.dumps(result)
                assert result.get("isError"), (tool, arguments, text[:300])
                assert SECRET not in text and "root:" not in text, (tool, arguments)
    for tool in ("file_search", "file_list"):
        assert "secret" not in json.dumps(odd.client.call(tool, **({"text": "secret"} if tool == "file_search" else {})))
    for value in ("res://out/secret.gd", {"Resource": "/etc/passwd"}, {"Resource": "res://link.gd"}):
        assert refuse(odd.client, "node_set", {"path": "Thing", "properties": {"script": value}}), value
    assert {path: os.stat(path).st_mtime_ns for path in before} == before
    assert sorted(os.listdir(odd.outside)) == ["secret.gd"]
    assert not os.path.exists("/etc/passwd.import")
    odd.alive()
