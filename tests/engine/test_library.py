"""I7: the resources and prompts of Tether's own, through the built-in server of a real editor; and I4: profiles."""
import json
import os

import pytest

import tokens
from mcp_client import McpError
from whole import Whole

TOKENS_MOST = 6000  # of o200k, for everything that is listed
PACKAGES = os.environ.get("TETHER_NODE", "")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    with Whole(str(tmp_path_factory.mktemp("library"))) as made:
        process = made.scene.process
        process.running.remove(process)
        with made.client() as client:
            client.call("scene_new", path="res://main.tscn")
            client.call("script_create", path="res://deep/hero.gd", text="extends Node\n\n\nfunc jump() -> void:\n\tpass\n")
        yield made
        process.running.append(process)
        assert made.close() == []


@pytest.fixture(autouse=True)
def nothing_left(whole):
    """The editor is the file's."""


@pytest.fixture
def client(whole):
    with whole.client() as made:
        yield made


def read(client, uri):
    contents = client.request("resources/read", {"uri": uri})["contents"]
    assert len(contents) == 1 and contents[0]["uri"] == uri
    return contents[0]["text"]


def test_I7_the_editor_as_resources(client):
    listed = {entry["uri"]: entry for entry in client.request("resources/list")["resources"]}
    assert set(listed) == {"godot://scene", "godot://settings", "godot://log", "godot://output"}
    assert all(entry["title"] and entry["mimeType"] for entry in listed.values())
    assert json.loads(read(client, "godot://scene"))["nodes"] == [". (Node2D)"]
    assert "application/config/name" in json.loads(read(client, "godot://settings"))["settings"]
    assert "entries" in json.loads(read(client, "godot://log"))
    assert read(client, "godot://output") == ""
    assert read(client, "godot://file/deep/hero.gd") == "extends Node\n\n\nfunc jump() -> void:\n\tpass\n"
    assert json.loads(read(client, "godot://docs/Node2D"))["inherits"] == "CanvasItem"
    for uri, words in (("godot://file/none.gd", "no file"), ("godot://file/../x", "outside|res://"), ("godot://docs/Nod", "no class"), ("godot://x", "does not offer")):
        with pytest.raises(McpError, match=words):
            client.request("resources/read", {"uri": uri})


def complete(client, reference, value):
    return client.request("completion/complete", {"ref": reference, "argument": {"name": "x", "value": value}})["completion"]["values"]


def test_I7_what_is_typed_is_completed(client):
    assert complete(client, {"type": "ref/resource", "uri": "godot://docs/{class}"}, "AnimatedSp") == ["AnimatedSprite2D", "AnimatedSprite3D"]
    assert complete(client, {"type": "ref/resource", "uri": "godot://file/{+path}"}, "deep/") == ["deep/hero.gd"]
    assert complete(client, {"type": "ref/prompt", "name": "review_script"}, "res://de") == ["res://deep/hero.gd"]
    assert complete(client, {"type": "ref/prompt", "name": "playtest"}, "") == []


def test_I7_prompts_name_tools_that_are_there(client):
    tools = set(client.tools())
    prompts = {prompt["name"]: prompt for prompt in client.request("prompts/list")["prompts"]}
    assert set(prompts) == {"fix_errors", "review_script", "explain_scene", "build", "playtest"}
    for name, prompt in prompts.items():
        arguments = {argument["name"]: "VALUE" for argument in prompt["arguments"]}
        text = client.request("prompts/get", {"name": name, "arguments": arguments})["messages"][0]["content"]["text"]
        assert ("VALUE" in text) == bool(arguments) and "{" not in text
        named = {word.strip(".,:;()") for word in text.split() if "_" in word}
        assert named and named <= tools, (name, named - tools)


@pytest.mark.skipif(not os.path.isdir(os.path.join(PACKAGES, "node_modules/js-tiktoken")), reason="no packages of npm for this system")
def test_I4_all_tools_cost_few_tokens(client):
    whole, each = tokens.of_tools(list(client.tools().values()), PACKAGES)
    print("tokens: %d for %d tools; the largest: %s" % (whole, len(each), ", ".join("%s %d" % (name, count) for count, name in each[:8])))
    assert whole <= TOKENS_MOST, each


def test_I4_the_counter_counts():
    if os.path.isdir(os.path.join(PACKAGES, "node_modules/js-tiktoken")):
        assert tokens.counted(["hello world", "", "tools/list"], PACKAGES) == [2, 0, 2]


def test_I4_profiles_are_sets_of_tools_that_are_there(whole, client):
    profiles = whole.run('return driver.get_tree().root.find_child("TetherControl", true, false).server.profiles')
    tools = client.tools()
    assert {"core", "read", "scene", "file", "project", "game", "docs", "editor"} <= set(profiles)
    for names in profiles.values():
        assert set(names) <= set(tools) and len(names) == len(set(names))
    assert len(profiles["core"]) <= 25
    assert set(profiles["read"]) == {name for name, tool in tools.items() if tool["annotations"].get("readOnlyHint")} - {"editors_list"}
