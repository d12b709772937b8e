"""Row F8 as a plugin's author meets it: the example addon, and what docs/for-plugin-authors.md says to
write, beside Tether's own server in a real editor."""
import json
import os
import re
import shutil
import urllib.request

import pytest

from editor import ROOT, START_LIMIT
from harness import free_ports
from plugin_scene import Scene, make_project
from mcp_client import McpClient, McpError, ToolFailed
from scene import wait_until
from tether import can_bind, http_get

EXAMPLES = os.path.join(ROOT, "tests/engine/example_addon/addons")
EXAMPLE = os.path.join(EXAMPLES, "companion")


def documented():
    """The pieces of GDScript on the page, in order."""
    with open(os.path.join(ROOT, "docs/for-plugin-authors.md")) as file:
        return re.findall(r"```gdscript\n(.*?)```", file.read(), re.DOTALL)


def add_plugin(project, name, script=None):
    """A copy of the example; or with another script, in the example's place."""
    folder = os.path.join(project, "addons", name)
    shutil.copytree(os.path.join(EXAMPLES, name) if os.path.isdir(os.path.join(EXAMPLES, name)) else EXAMPLE, folder)
    if script:
        with open(os.path.join(folder, "plugin.gd"), "w") as file:
            file.write(script)
    with open(os.path.join(project, "project.godot")) as file:
        settings = file.read()
    with open(os.path.join(project, "project.godot"), "w") as file:
        file.write(settings.replace("PackedStringArray(\"res", "PackedStringArray(\"res://addons/%s/plugin.cfg\", "
                                    "\"res" % name))


def replace_in(path, old, new):
    with open(path) as file:
        text = file.read()
    assert old in text
    with open(path, "w") as file:
        file.write(text.replace(old, new))


@pytest.fixture
def project(tmp_path):
    return make_project(str(tmp_path / "p"), ("tether", "driver"))


@pytest.fixture
def main_ports():
    return free_ports()


def open_scene(tmp_path, project, ports):
    state_dir = str(tmp_path / "state")
    os.mkdir(state_dir, 0o700)
    return Scene(project, state_dir, env={"TETHER_HTTP_PORT": str(ports[0]), "TETHER_WS_PORT": str(ports[1])})


def answers(port):
    try:
        return http_get(port)[1]
    except OSError:
        return None


def close(scene, ports):
    """Closes the editor; then nothing is left, and every port is free."""
    assert scene.quit() == []
    wait_until(lambda: all(can_bind(port) for port in ports), "the ports are free")


def test_F8_example_addon_has_a_server_beside_the_main_one(tmp_path, project, main_ports):
    own = free_ports(1)[0]
    add_plugin(project, "companion")
    replace_in(project + "/addons/companion/plugin.gd", "8123", str(own))
    with open_scene(tmp_path, project, main_ports) as scene:
        scene.process.expect("^Companion: http://127.0.0.1:%d/mcp" % own)
        assert answers(own).endswith(b"companion of %d\n" % scene.pid)
        wait_until(lambda: answers(main_ports[0]), "the main server answers")
        assert sorted(os.listdir(scene.state_dir)) == sorted(["%d-0" % own, "%d-%d" % tuple(main_ports)])
        close(scene, [own, *main_ports])


def test_F8_example_addon_is_small():
    with open(os.path.join(EXAMPLE, "plugin.gd")) as file:
        assert len(file.readlines()) <= 30


class Mcp:
    """Just enough of a client."""

    def __init__(self, port):
        self.url = "http://127.0.0.1:%d/mcp" % port
        self.headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        self.call("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"})

    def call(self, method, **params):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url, body, self.headers), timeout=30) as answer:
            text = answer.read().decode()
            if answer.headers["Mcp-Session-Id"]:
                self.headers["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
        data = re.findall(r"^data: ?(\{.*)$", text, re.MULTILINE)
        return json.loads(data[-1] if data else text)["result"]

    def tools(self):
        return {tool["name"] for tool in self.call("tools/list")["tools"]}


def test_F8_what_the_page_says_works(tmp_path, project, main_ports):
    server, tool = documented()[:2]
    own = free_ports(1)[0]
    add_plugin(project, "mine", server.replace("8123", str(own)))
    replace_in(project + "/addons/mine/server.py", "required=True", "default=int(os.environ['TETHER_HTTP_PORT'])")
    add_plugin(project, "tool", tool)
    with open_scene(tmp_path, project, main_ports) as scene:
        wait_until(lambda: answers(own), "the plugin's own server answers")
        wait_until(lambda: answers(main_ports[0]), "the main server answers")
        client = Mcp(main_ports[0])
        wait_until(lambda: "add_numbers" in client.tools(), "the tool is there")
        wait_until(lambda: len(client.tools()) > 10, "the tools of Tether beside it")
        result = client.call("tools/call", name="add_numbers", arguments={"a": 2, "b": 0.5})
        assert result["content"][0]["text"] == "2.5"
        scene.run('EditorInterface.set_plugin_enabled("tool", false)')
        wait_until(lambda: "add_numbers" not in client.tools(), "the tool is gone")
        close(scene, [own, *main_ports])


def asked(answer):
    """A client that can be asked all there is."""
    return {"elicitation/create": answer, "sampling/createMessage": {
        "role": "assistant", "model": "m", "content": {"type": "text", "text": "#123456"}}}


def names_of(result, key="name"):
    return {entry[key] for entry in result}


@pytest.fixture(scope="module")
def palette(tmp_path_factory):
    """An editor with the example that offers one of each."""
    folder = tmp_path_factory.mktemp("palette")
    ports = free_ports()
    project = make_project(str(folder / "p"), ("tether", "driver"))
    add_plugin(project, "palette")
    with open_scene(folder, project, ports) as scene:
        scene.process.running.remove(scene.process)
        wait_until(lambda: answers(ports[0]), "the server answers")
        scene.http_port = ports[0]
        with McpClient(ports[0]) as client:
            wait_until(lambda: {"palette_add", "editor_state"} <= set(client.tools()), "the tools are there")
        yield scene
        scene.process.running.append(scene.process)
        close(scene, ports)


@pytest.fixture
def client(palette):
    with McpClient(palette.http_port, capabilities={"elicitation": {}, "sampling": {}}) as made:
        yield made


def test_I7_resources_are_listed_and_read(client):
    assert "palette://all" in names_of(client.request("resources/list")["resources"], "uri")
    templates = client.request("resources/templates/list")["resourceTemplates"]
    assert {"uriTemplate": "palette://color/{name}", "name": "color", "title": "One color", "mimeType": "text/plain"} in templates
    everything = client.request("resources/read", {"uri": "palette://all"})["contents"][0]
    assert everything["mimeType"] == "application/json" and json.loads(everything["text"])["sky"] == "#87ceeb"
    assert client.request("resources/read", {"uri": "palette://color/grass"})["contents"] == [
        {"uri": "palette://color/grass", "mimeType": "text/plain", "text": "#5a9e3a"}]
    for uri, words in (("palette://color/none", "no such color"), ("palette://color/a/b", "does not offer"),
                       ("palette://color/", "does not offer"), ("palette://al", "does not offer")):
        with pytest.raises(McpError, match=words):
            client.request("resources/read", {"uri": uri})


def test_I7_prompts_are_listed_given_and_completed(client):
    prompts = {prompt["name"]: prompt for prompt in client.request("prompts/list")["prompts"]}
    assert prompts["use_color"]["arguments"][0]["required"] is True and "complete" not in prompts["use_color"]
    given = client.request("prompts/get", {"name": "use_color", "arguments": {"name": "sky"}})["messages"]
    assert given == [{"role": "user", "content": {"type": "text", "text": "Paint the open scene in #87ceeb."}}]
    for reference in ({"type": "ref/prompt", "name": "use_color"}, {"type": "ref/resource", "uri": "palette://color/{name}"}):
        found = client.request("completion/complete", {"ref": reference, "argument": {"name": "name", "value": "s"}})
        assert found["completion"]["values"] == ["sky"] and not found["completion"]["hasMore"]


@pytest.mark.parametrize("answer, color", [({"action": "accept", "content": {"color": "#ff0000"}}, "#ff0000"),
                                           ({"action": "decline"}, "#123456")])
def test_I7_a_tool_asks_the_user_and_the_model(palette, client, answer, color):
    client.answers = asked(answer)
    client.request("resources/subscribe", {"uri": "palette://all"})
    listener = client.listen()
    assert client.call("palette_add", name="rose") == {"rose": color}
    assert [message["method"] for message in client.heard] == ["elicitation/create", "sampling/createMessage"][:1 if color == "#ff0000" else 2]
    assert client.heard[0]["params"]["requestedSchema"]["required"] == ["color"]
    listener.expect("notifications/resources/updated")
    listener.close()


def test_I7_a_client_that_cannot_ask_is_told_so(palette):
    with McpClient(palette.http_port) as client:
        with pytest.raises(ToolFailed, match="Nobody knows"):
            client.call("palette_add", name="rose")


def test_I7_a_tool_tells_how_far_it_is_and_what_it_finds(client):
    client.answers = asked({"action": "accept", "content": {"color": "no color"}})
    client.call("palette_add", name="odd")
    client.heard.clear()
    result = client.request("tools/call", {"name": "palette_check", "arguments": {}, "_meta": {"progressToken": "t"}})
    count = json.loads(result["content"][0]["text"])["checked"]
    told = [message["params"] for message in client.heard if message["method"] == "notifications/progress"]
    assert [params["progress"] for params in told] == list(range(1, count + 1))
    assert told[-1] == {"progressToken": "t", "progress": count, "total": count, "message": "odd"}
    assert [message["params"] for message in client.heard if message["method"] == "notifications/message"] == [
        {"level": "warning", "data": "no color is no color", "logger": "palette"}]


def test_I7_what_is_offered_changes_while_clients_look(palette, client):
    listener = client.listen()
    palette.run('EditorInterface.set_plugin_enabled("palette", false)')
    try:
        for kind in ("resources", "prompts"):
            listener.expect("notifications/%s/list_changed" % kind)
        assert "palette://all" not in names_of(client.request("resources/list")["resources"], "uri")
    finally:
        palette.run('EditorInterface.set_plugin_enabled("palette", true)')
        wait_until(lambda: "palette_add" in client.tools(), "it is back")
        listener.close()


def test_J1_what_the_page_says_of_a_plugins_own_game_works(tmp_path, project, main_ports):
    in_game, in_editor = documented()[2:]
    with open(project + "/game.gd", "w") as file:
        file.write("extends Node\n\nvar score: int = 42\n\n" + in_game.replace("Game.score", "score"))
    with open(project + "/game.tscn", "w") as file:
        file.write('[gd_scene load_steps=2 format=3]\n\n[ext_resource type="Script" path="res://game.gd" id="1"]\n\n'
                   '[node name="Game" type="Node"]\nscript = ExtResource("1")\n')
    with open(project + "/project.godot", "a") as file:
        file.write('\n[editor]\n\nrun/main_run_args="--headless"\n')
    add_plugin(project, "mine", """@tool
extends EditorPlugin

const Debugger := preload("debugger.gd")

var tether := TetherServer.new()
var debugger := Debugger.new()

func _enter_tree() -> void:
	add_debugger_plugin(debugger)
	tether.register_tool("score", {"description": "The game's score."}, debugger.score)

func _exit_tree() -> void:
	remove_debugger_plugin(debugger)
""")
    with open(project + "/addons/mine/debugger.gd", "w") as file:
        file.write("@tool\nextends EditorDebuggerPlugin\n\n" + in_editor)
    with open_scene(tmp_path, project, main_ports) as scene:
        wait_until(lambda: answers(main_ports[0]), "the main server answers")
        client = Mcp(main_ports[0])
        wait_until(lambda: {"score", "project_run"} <= set(client.tools()), "the tools are there")
        assert "No game is running" in client.call("tools/call", name="score", arguments={})["content"][0]["text"]
        scene.run('EditorInterface.play_custom_scene("res://game.tscn")')
        wait_until(lambda: "42" in client.call("tools/call", name="score", arguments={})["content"][0]["text"], "the score")
        scene.run("EditorInterface.stop_playing_scene()")
        close(scene, main_ports)


def test_F8_the_page_names_every_property_and_signal():
    with open(os.path.join(ROOT, "gdextension/doc_classes/TetherServer.xml")) as file:
        xml = file.read()
    with open(os.path.join(ROOT, "docs/for-plugin-authors.md")) as file:
        page = file.read()
    names = re.findall(r'<(?:member|signal) name="(\w+)"', xml)
    assert len(names) > 15
    kept = ["prompts", "resource_templates", "resources", "tools"]  # by the engine, over a reload
    assert [name for name in names if "`" + name not in page] == ["launcher", *kept]


# ---- beside Tether's own -------------------------------------------------------------------------

def test_I1_the_list_does_not_shrink_while_an_editor_comes_back(tmp_path, project, main_ports):
    """Another plugin's tools are registered some hundred milliseconds before Tether's own."""
    add_plugin(project, "palette")
    state_dir = str(tmp_path / "state")
    os.mkdir(state_dir, 0o700)
    env = {"TETHER_HTTP_PORT": str(main_ports[0]), "TETHER_WS_PORT": str(main_ports[1]), "TETHER_LINGER_MS": str(int(2000 * START_LIMIT))}
    with Scene(project, state_dir, env=env) as scene:
        wait_until(lambda: answers(main_ports[0]), "the server answers")
        with McpClient(main_ports[0]) as client:
            wait_until(lambda: {"palette_add", "editor_state"} <= set(client.tools()), "the tools are there")
            everything = set(client.tools())
            with client.listen() as listener:  # for this client the server stays
                for way in ("kill", "reload"):
                    pid = scene.pid
                    if way == "kill":
                        before = len(scene.link.events)
                        scene.process.kill()
                        scene.open(wait=False)
                        pid = scene.pid
                    else:
                        scene.run('EditorInterface.set_plugin_enabled("tether", false)\nEditorInterface.set_plugin_enabled("tether", true)')
                    seen, looks = set(), 0

                    def is_back():
                        nonlocal looks
                        looks += 1
                        seen.add(frozenset(client.tools()))
                        editors = client.call("editors_list")["editors"]
                        return any(editor["pid"] == pid and editor["tools"] > 20 for editor in editors)
                    wait_until(is_back, "the editor is back with all of its tools", START_LIMIT)
                    assert seen == {frozenset(everything)}, [sorted(everything - one) for one in seen]
                    print("%s: %d looks at the list" % (way, looks))
                    scene.wait_here(before)
                    scene.settle()
                assert "notifications/tools/list_changed" not in listener.heard
        close(scene, main_ports)
