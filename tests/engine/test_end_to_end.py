"""F7, F8: a client of the built-in server works in a real editor with the whole addon, and goes on
working while servers, daemons, plugins and editors come and go."""
import json
import os
import re
import signal
import threading
import time

import pytest

from front import Front
from harness import TETHER, end_strays, wait_gone
from scene import kill, wait_until
from test_reload import RELOAD
from whole import OWN_TOOLS, McpClient, ToolFailed, Whole, steadily, until

SPEAKER = """extends Node2D

@export var words: String = "nothing"


func _ready() -> void:
\tprint("the game says ", words)
"""
# As in the README, in a plugin that is not Tether's.
FOREIGN = '''@tool
extends Node

var tether := TetherServer.new()


func _enter_tree() -> void:
	tether.register_tool("greet", {"description": "Greets somebody.", "inputSchema":
			{"type": "object", "properties": {"name": {"type": "string"}}}}, greet)
	tether.register_tool("count_frames", {"description": "Counts."}, count_frames)
	tether.register_tool("fail", {"description": "Has a mistake."}, fail)
	tether.register_tool("block", {"description": "Blocks the editor."}, block)
	tether.register_tool("never", {"description": "Does not end."}, never)
	tether.register_tool("picture", {"description": "Says it in MCP's terms."}, picture)


func greet(arguments: Dictionary) -> String:
	return "Hello, %s!" % arguments.get("name", "you")


func count_frames(arguments: Dictionary) -> Dictionary:
	for index in int(arguments.get("frames", 3)):
		await get_tree().process_frame
	return {"frames": arguments.get("frames", 3)}


func fail(_arguments: Dictionary) -> String:
	var nothing: Variant = null
	return nothing.text


func block(arguments: Dictionary) -> String:
	print("foreign: blocking")
	OS.delay_msec(int(arguments["msec"]))
	return "awake"


func never(_arguments: Dictionary) -> String:
	print("foreign: waiting")
	await get_tree().create_timer(1000).timeout
	return "never"


func picture(_arguments: Dictionary) -> Dictionary:
	return {"content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "isError": false}
'''
ADD_FOREIGN = '''var script: GDScript = GDScript.new()
script.source_code = %s
script.reload()
driver.kept["foreign"] = script.new()
driver.add_child(driver.kept["foreign"])''' % json.dumps(FOREIGN)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """One editor for most of this file: it goes through a lot, and must close without a complaint."""
    with Whole(str(tmp_path_factory.mktemp("whole"))) as editor:
        editor.scene.process.running.remove(editor.scene.process)  # those end with each test
        yield editor
        editor.scene.process.running.append(editor.scene.process)
        daemon = editor.instance.status()["daemon"]["pid"]
        # What tools were made to get wrong is told, and nothing else.
        assert [line for line in editor.close() if "Invalid access to property" not in line] == []
        wait_gone(daemon)
        assert end_strays() == []


@pytest.fixture(autouse=True)
def nothing_left(whole):
    """Servers and daemons come and go here and stay from test to test; `whole` looks at the end."""


class Meanwhile(threading.Thread):
    """A call that is under way."""

    def __init__(self, client, tool, **arguments):
        super().__init__(daemon=True)
        self.client, self.tool, self.arguments = client, tool, arguments
        self.result = self.error = None
        self.began = time.monotonic()
        self.start()

    def run(self):
        try:
            self.result = self.client.call(self.tool, **self.arguments)
        except Exception as error:  # whatever it is, the test looks at it
            self.error = error
        self.took = time.monotonic() - self.began

    def finish(self):
        self.join(60)
        assert not self.is_alive(), "the call of %s never ended" % self.tool
        return self.result


def snapshot(client):
    """The whole scene; a resource inside it has a path once it was saved, and keeps that."""
    nodes = client.call("scene_tree", limit=500)["nodes"]
    paths = [line.split(" ", 1)[0] for line in nodes]
    return nodes, [re.sub(r"'path': 'res://main.tscn::\w+', ", "", str(client.call("node_get", path=path)))
                   for path in paths]


def build_scene(client):
    """Makes things of several kinds; returns how many steps that were, and where each began."""
    steps = []

    def do(tool, **arguments):
        steps.append((tool, snapshot(client)))
        client.call(tool, **arguments)

    do("node_add", type="Sprite2D", name="Hero", properties={"position": [10, 20], "modulate": "#ff8000"})
    do("node_add", type="CollisionShape2D", name="Shape", parent="Hero",
       properties={"shape": {"type": "RectangleShape2D", "properties": {"size": [3, 4]}}})
    do("node_add", type="Timer", name="Clock", properties={"wait_time": 2.5, "one_shot": True})
    do("node_add", type="Node3D", name="World")
    do("node_set", path="Hero", properties={"rotation": 0.7, "z_index": 3, "texture_filter": "nearest",
                                            "scale": {"Vector2": [2, 0.5]}})
    do("node_signals", path="Clock", action="connect", signal="timeout", target="Hero", method="queue_free")
    do("node_duplicate", path="Hero", name="Villain")
    do("node_move", path="Villain", parent="World", name="Boss")
    do("node_remove", path="Hero/Shape")
    return steps


def test_F8_scene_is_built_run_and_undone(whole):
    with whole.client() as client:
        tools = client.tools()
        assert OWN_TOOLS < set(tools) and len(tools) > 40
        assert "Begin with editor_state" in client.server["instructions"]
        assert all(tool["description"] and tool["inputSchema"]["type"] == "object" for tool in tools.values())
        client.call("scene_new", path="res://main.tscn", root_type="Node2D")
        empty = snapshot(client)
        steps = build_scene(client)
        hero = client.call("node_get", path="Hero", properties=["position", "modulate", "rotation", "z_index", "scale"])
        assert hero["properties"] == {"position": {"Vector2": [10, 20]}, "modulate": {"Color": [1.0, 0.5019608, 0.0, 1.0]},
                                      "rotation": 0.7, "z_index": 3, "scale": {"Vector2": [2, 0.5]}}, hero
        shown = client.result("node_get", path="Hero", properties=["rotation", "modulate"])["content"][0]["text"]
        assert '"rotation":0.7,' in shown and "0.5019608," in shown  # no digits that nobody wrote
        check_run(whole, client)
        for _ in range(4):  # the script's file, its attaching and its property
            if client.call("editor_undo")["undone"] == "Create speaker.gd":
                break
        assert not os.path.exists(whole.path("res://speaker.gd"))
        for tool, before in reversed(steps):
            client.call("editor_undo")
            assert snapshot(client) == before, tool
        assert snapshot(client) == empty
        assert "othing" in client.refusal("editor_undo") or client.call("editor_undo") == {}


def check_run(whole, client):
    client.call("script_create", path="res://speaker.gd", text=SPEAKER)
    client.call("script_attach", node=".", path="res://speaker.gd")
    client.call("node_set", path=".", properties={"words": "good evening"})
    client.call("scene_save")
    with open(whole.path("res://main.tscn")) as file:
        assert 'words = "good evening"' in file.read()
    client.call("project_run", scene="current")
    output = until(client, "project_output", lambda answer: "the game says" in answer["text"])
    assert "the game says good evening" in output["text"] and output["playing"]
    assert client.call("project_stop") == {"stopped": True}
    until(client, "editor_state", lambda state: state["playing"] is None)


def test_F8_tools_of_another_plugin(whole):
    with whole.client() as client, client.listen() as listener:
        before = set(client.tools())
        whole.run(ADD_FOREIGN)
        listener.expect("notifications/tools/list_changed")
        assert {"greet", "fail", "never"} <= set(client.tools()) - before
        assert client.call("greet", name="Ada") == "Hello, Ada!"
        assert client.call("greet") == "Hello, you!"
        assert client.call("count_frames", frames=5) == {"frames": 5}
        assert [part["text"] for part in client.result("picture")["content"]] == ["one", "two"]
        answer = client.result("fail")
        assert "log" in answer["content"][0]["text"], answer
        # Two at once: the one that waits does not hold up the other.
        with whole.client() as other:
            waiting = Meanwhile(other, "count_frames", frames=200)
            assert client.call("greet") == "Hello, you!" and waiting.finish() == {"frames": 200}
        # The object is gone, and what it offers still stands.
        whole.run('driver.kept["orphan"] = driver.kept["foreign"].tether\n'
                  'driver.kept["foreign"].free()\ndriver.kept.erase("foreign")')
        assert "gone" in client.refusal("greet")
        whole.run('driver.kept["orphan"].unregister_tool("greet")')
        listener.expect("notifications/tools/list_changed")
        assert "greet" not in client.tools() and "fail" in client.tools()
        assert "greet" in client.refusal("greet")
        whole.run('driver.kept.erase("orphan")')
        wait_until(lambda: set(client.tools()) == before, "its tools went with it")


def test_E6_F7_call_while_the_editor_is_blocked_is_told_so(whole):
    whole.run(ADD_FOREIGN)
    with whole.client() as client, whole.client() as other:
        wait_until(lambda: "block" in client.tools(), "the tools are there")
        blocked = Meanwhile(client, "block", msec=6500)
        whole.scene.process.expect("foreign: blocking")
        began = time.monotonic()
        assert "busy" in other.refusal("greet")
        assert 4.5 < time.monotonic() - began < 6.4
        assert blocked.finish() == "awake"
        assert other.call("greet") == "Hello, you!"
        whole.run('driver.kept["foreign"].free()\ndriver.kept.erase("foreign")')
        wait_until(lambda: "block" not in client.tools(), "its tools went with it")


def test_A1_library_is_reloaded_in_the_middle(whole):
    with whole.client() as client:
        before = set(client.tools())
        assert whole.run(RELOAD) == 0
        steadily(lambda: client.call("editor_state"))
        wait_until(lambda: set(client.tools()) == before, "the same tools")


class Knocking(threading.Thread):
    """Connects again and again, and keeps what went wrong."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.refused, self.asked, self.is_over = port, [], 0, threading.Event()
        self.start()

    def run(self):
        while not self.is_over.wait(0.01):
            try:
                McpClient(self.port).close()
                self.asked += 1
            except ConnectionRefusedError as error:
                self.refused.append(error)
            except (OSError, EOFError):
                pass  # it was open when the server ended

    def finish(self):
        self.is_over.set()
        self.join(30)
        assert self.refused == [] and self.asked > 1, (self.refused, self.asked)


def test_E6_F5_server_is_restarted_and_killed_while_an_editor_is_connected(whole):
    with whole.client() as client:
        tools = set(client.tools())
        first = whole.instance.status()["server"]["pid"]
        knocking = Knocking(whole.ports[0])
        assert whole.instance.cli("restart").status == 0
        wait_gone(first)
        steadily(lambda: set(client.tools()) == tools and client.call("editor_state"))
        second = whole.instance.status()["server"]["pid"]
        assert second not in (0, first)
        kill(second)
        wait_gone(second)
        steadily(lambda: set(client.tools()) == tools and client.call("editor_state"))
        knocking.finish()


def test_E6_daemon_is_killed_and_the_front_goes_on(whole):
    argv = [TETHER, "mcp", "--http-port", str(whole.ports[0]), "--ws-port", str(whole.ports[1])]
    with whole.client() as client, Front(argv, whole.instance.env) as front:
        tools = set(client.tools())
        assert front.initialize()["serverInfo"]["name"]
        assert {tool["name"] for tool in front.ask("tools/list")["result"]["tools"]} == tools
        state = front.call("editor_state")["result"]["structuredContent"]
        daemon = whole.instance.status()["daemon"]["pid"]
        kill(daemon)
        wait_gone(daemon)
        # What is asked meanwhile is answered, by a server that has the editor's tools again or says why not.
        answer = front.call("editor_state")
        assert "result" in answer or "error" in answer
        found = wait_until(lambda: front.call("editor_state").get("result", {}).get("structuredContent"),
                           "the editor is found again")
        assert found["project"] == state["project"]
        assert whole.instance.status()["daemon"]["pid"] != daemon
        with whole.client() as again:
            assert set(again.tools()) == tools
        front.end_input()
        assert front.wait() == 0


def test_F8_A5_two_editors_and_one_that_dies_in_a_call(tmp_path):
    with Whole(str(tmp_path), "first") as first, first.client() as client:
        with Whole(str(tmp_path), "second", first.ports) as second:
            editors = wait_until(lambda: (lambda all: all if len(all) == 2 else None)(
                client.call("editors_list")["editors"]), "two editors")
            assert {editor["project"] for editor in editors} == {"first", "second"}
            client.call("editor_select", editor="second")
            assert client.call("editor_state")["project"] == "second"
            first.run('driver.get_tree().root.find_child("TetherControl", true, false).server.mark_active()')
            wait_until(lambda: client.call("editor_state")["project"] == "first", "the first one is active")
            client.call("editor_select", editor="second")
            second.run(ADD_FOREIGN)
            wait_until(lambda: "never" in client.tools(), "the tools are there")
            with first.client() as other:
                call = Meanwhile(other, "never")
                second.scene.process.expect("foreign: waiting")
                began = time.monotonic()
                second.scene.process.kill(signal.SIGKILL)
                call.finish()
                assert isinstance(call.error, ToolFailed) and "went away" in str(call.error), (call.error, call.result)
                assert time.monotonic() - began < 2
            # The other editor serves at once, and does not have the tools of the one that is gone.
            assert client.call("editor_state")["project"] == "first"
            assert "never" not in client.tools()
        daemon = first.instance.status()["daemon"]["pid"]
        assert first.close() == []
        wait_gone(daemon)
