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
from harness import TETHER, end_strays, system, wait_gone
from scene import kill, wait_until
from served import Load
from test_reload import RELOAD
from mcp_client import value_of
from whole import OWN_TOOLS, ToolFailed, Whole, steadily, until

KNOCKING = 2  # clients at once
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
	tether.register_tool("never", {"description": "Does not end."}, never)
	tether.register_tool("picture", {"description": "Says it in MCP's terms."}, picture)
	tether.register_tool("numbers", {"description": "Tells numbers."}, numbers)
	tether.register_tool("typed", {"description": "Tells them, and what they are.", "outputSchema": {"type": "object"}}, numbers_later)


func greet(arguments: Dictionary) -> String:
	return "Hello, %s!" % arguments.get("name", "you")


func count_frames(arguments: Dictionary) -> Dictionary:
	for index in int(arguments.get("frames", 3)):
		await get_tree().process_frame
	return {"frames": arguments.get("frames", 3)}


func fail(_arguments: Dictionary) -> String:
	var nothing: Variant = null
	return nothing.text


func never(_arguments: Dictionary) -> String:
	print("foreign: waiting")
	await tree_exiting # at the latest: the engine leaks what still waits when it ends
	return "never"


func numbers(_arguments: Dictionary) -> Dictionary:
	return {"a": 0.7, "b": 0.1 + 0.2, "c": 1e300, "d": -1e-300, "e": 10.0, "f": 9007199254740993, "g": 1e22,
			"h": PackedFloat32Array([0.7, 1e-5]), "0.69999999999999996": "0.69999999999999996 \\" 1.50"}


func numbers_later(arguments: Dictionary) -> Dictionary:
	await get_tree().process_frame
	return numbers(arguments)


func picture(_arguments: Dictionary) -> Dictionary:
	return {"content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "isError": false}
'''
ADD_FOREIGN = '''var script: GDScript = GDScript.new()
script.source_code = %s
script.reload()
driver.kept["foreign"] = script.new()
driver.add_child(driver.kept["foreign"])''' % json.dumps(FOREIGN)
REMOVE_FOREIGN = 'driver.kept["foreign"].free()\ndriver.kept.erase("foreign")'
# What keeps the editor busy: an import on the main thread, as long as the gate is there.
IMPORTER = '''@tool
extends EditorImportPlugin

var gate: String = ""


func _get_importer_name() -> String: return "tests.slow"
func _get_visible_name() -> String: return "Slow"
func _get_recognized_extensions() -> PackedStringArray: return ["slow"]
func _get_save_extension() -> String: return "res"
func _get_resource_type() -> String: return "Resource"
func _get_preset_count() -> int: return 0
func _get_import_options(_path: String, _preset: int) -> Array[Dictionary]: return []
func _get_option_visibility(_path: String, _option: StringName, _options: Dictionary) -> bool: return true
func _get_priority() -> float: return 1.0
func _get_import_order() -> int: return 0


func _import(_source: String, path: String, _options: Dictionary, _variants: Array[String], _files: Array[String]) -> Error:
	print("foreign: importing before '%s'" % gate)
	while gate and FileAccess.file_exists(gate):
		OS.delay_msec(10)
	return ResourceSaver.save(Resource.new(), path + ".res")
'''
ADD_IMPORTER = '''var script: GDScript = GDScript.new()
script.source_code = %s
script.reload()
driver.kept["importer"] = script.new()
driver.add_import_plugin(driver.kept["importer"])
EditorInterface.get_resource_filesystem().scan()''' % json.dumps(IMPORTER)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """One editor for most of this file: it goes through a lot, and must close without a complaint."""
    with Whole(str(tmp_path_factory.mktemp("whole"))) as editor:
        editor.scene.process.running.remove(editor.scene.process)  # those end with each test
        yield editor
        editor.scene.process.running.append(editor.scene.process)
        daemon = editor.instance.status()["daemon"]["pid"]
        # What tools were made to get wrong is told, and nothing else.
        said = [line for line in editor.close() if "Invalid access to property" not in line]
        assert said == [], said
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
    with whole.client():
        pass  # from here on the tools are there, and so is what new clients are told of them
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


NUMBERS = {"a": "0.7", "b": "0.30000000000000004", "c": "1e+300", "d": "-1e-300", "e": "10", "f": "9007199254740993", "g": "1e22"}


def test_I3_numbers_are_the_shortest_and_structure_is_for_who_says_what_it_is(whole):
    whole.run(ADD_FOREIGN)
    try:
        with whole.client() as client:
            wait_until(lambda: "numbers" in client.tools(), "the tools are there")
            plain, typed = client.result("numbers"), client.result("typed")
            assert "structuredContent" not in plain and typed["structuredContent"] == json.loads(plain["content"][0]["text"])
            text = plain["content"][0]["text"]
            assert typed["content"] == plain["content"]
            for name, written in NUMBERS.items():
                assert '"%s":%s,' % (name, written) in text, text
            assert '"h":[0.7,1e-05]' in text and '"0.69999999999999996":"0.69999999999999996 \\" 1.50"' in text
            assert "structuredContent" not in client.result("editor_state")
    finally:
        whole.run(REMOVE_FOREIGN)
        with whole.client() as client:
            wait_until(lambda: "numbers" not in client.tools(), "they went with it")


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


def test_E6_F7_call_while_the_editor_imports_is_told_so(whole, tmp_path):
    """For longer than 5 s, without a frame. The call that began it is not told so, but how it went."""
    whole.run(ADD_FOREIGN)
    with open(whole.path("res://a.slow"), "w") as file:
        file.write("slow")
    with whole.client() as client, whole.client() as other:
        wait_until(lambda: "greet" in client.tools(), "the tools are there")
        whole.run(ADD_IMPORTER)
        steadily(lambda: client.call("file_import", path="res://a.slow")["valid"] or None)  # once it has been found
        gate = tmp_path / "gate"
        gate.touch()
        whole.run('driver.kept["importer"].gate = %s' % json.dumps(system.native(gate)))
        importing = Meanwhile(client, "file_import", path="res://a.slow", reimport=True)
        whole.scene.process.expect("foreign: importing before '.*gate'")
        began = time.monotonic()
        assert "busy" in other.refusal("greet") and time.monotonic() - began > 4.5
        gate.unlink()
        assert importing.finish()["importer"] == "tests.slow"
        assert other.call("greet") == "Hello, you!"
        whole.run('driver.remove_import_plugin(driver.kept["importer"])\ndriver.kept.erase("importer")\n' + REMOVE_FOREIGN)
        wait_until(lambda: "greet" not in client.tools(), "its tools went with it")


def test_E6_F7_call_while_a_dialog_waits_is_told_so(whole):
    """At once and by the dialog's name, if it would change anything; who only asks is answered."""
    with whole.client() as client:
        whole.run('driver.kept["dialog"] = AcceptDialog.new()\ndriver.kept["dialog"].title = "Really?"\n'
                  'EditorInterface.popup_dialog_centered(driver.kept["dialog"])')
        # By its name: what is said after 5 s is said by who does not know the reason.
        assert "'Really?' waits for the user" in client.refusal("scene_new", path="res://dialog.tscn")
        assert "Really?" in client.call("editor_state")["busy"]
        assert not os.path.exists(whole.path("res://dialog.tscn"))
        whole.run('driver.kept["dialog"].hide()\ndriver.kept["dialog"].queue_free()\ndriver.kept.erase("dialog")')
        assert client.call("scene_new", path="res://dialog.tscn")["opened"] == "res://dialog.tscn"


def test_A1_E6_library_is_reloaded_in_the_middle_of_a_call(whole):
    """Its caller is told so at once, and everything is there again: also the tools of another plugin."""
    with whole.client() as client, whole.client() as other:
        before = set(client.tools())
        whole.run(ADD_FOREIGN)
        wait_until(lambda: "never" in client.tools(), "the tools are there")
        tools = set(client.tools())
        call = Meanwhile(other, "never")
        whole.scene.process.expect("foreign: waiting")
        assert whole.run(RELOAD) == 0
        began = time.monotonic()
        call.finish()
        assert isinstance(call.error, ToolFailed) and "went away" in str(call.error), (call.error, call.result)
        assert time.monotonic() - began < 10  # by the end of its connection; silence takes longer to tell
        steadily(lambda: client.call("editor_state"))
        wait_until(lambda: set(client.tools()) == tools, "the same tools")
        assert client.call("greet", name="again") == "Hello, again!"
        whole.run(REMOVE_FOREIGN)
        wait_until(lambda: set(client.tools()) == before, "its tools went with it")


def test_E6_F5_server_is_restarted_and_killed_while_an_editor_is_connected(whole):
    """Others knock all the time. None is turned away, and all get an answer but those, one each, that a killed
    server had let in."""
    with whole.client() as client:
        tools = set(client.tools())

        def end(how):
            pid = whole.instance.status()["server"]["pid"]
            load = Load(whole.ports[0], KNOCKING)
            try:
                how(pid)
                wait_gone(pid)
                steadily(lambda: set(client.tools()) == tools and client.call("editor_state"))
                wait_until(lambda: load.outcomes[200] > 10, "some more have knocked")
            finally:
                outcomes = load.end()
            print("knocked %d times: %s" % (outcomes.total(), dict(outcomes)))
            assert whole.instance.status()["server"]["pid"] not in (0, pid)
            return outcomes

        def restart(_):
            assert whole.instance.cli("restart").status == 0

        outcomes = end(restart)
        assert set(outcomes) == {200}, outcomes
        outcomes = end(kill)
        assert "ConnectionRefusedError" not in outcomes, outcomes
        assert outcomes.total() - outcomes[200] <= KNOCKING, outcomes


def answered(message):
    """What a tool answers that could do it; else None."""
    result = message.get("result", {"isError": True})
    return None if result.get("isError") else value_of(result)


def test_E6_daemon_is_killed_and_the_front_goes_on(whole):
    argv = [TETHER, "mcp", "--http-port", str(whole.ports[0]), "--ws-port", str(whole.ports[1])]
    with whole.client() as client, Front(argv, whole.instance.env) as front:
        tools = set(client.tools())
        assert front.initialize()["serverInfo"]["name"]
        assert {tool["name"] for tool in front.ask("tools/list")["result"]["tools"]} == tools
        state = value_of(front.call("editor_state")["result"])
        daemon = whole.instance.status()["daemon"]["pid"]
        kill(daemon)
        wait_gone(daemon)
        # What is asked meanwhile is answered, by a server that has the editor's tools again or says why not.
        answer = front.call("editor_state")
        assert "result" in answer or "error" in answer
        found = wait_until(lambda: answered(front.call("editor_state")), "the editor is found again")
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
            wait_until(lambda: any(editor["tools"] for editor in client.call("editors_list")["editors"]),
                       "the second editor's tools are there")
            assert client.call("editor_state")["project"] == "second"
            first.run('driver.get_tree().root.find_child("TetherControl", true, false).server.mark_active()')
            with first.client() as other:
                wait_until(lambda: other.call("editor_state")["project"] == "first", "the first one is active")
            assert client.call("editor_state")["project"] == "second"  # as this client has chosen
            second.run(ADD_FOREIGN)
            wait_until(lambda: "never" in client.tools(), "the tools are there")
            with first.client() as other:
                other.call("editor_select", editor="second")
                call = Meanwhile(other, "never")
                second.scene.process.expect("foreign: waiting")
                began = time.monotonic()
                second.scene.process.kill(signal.SIGKILL)
                call.finish()
                assert isinstance(call.error, ToolFailed) and "went away" in str(call.error), (call.error, call.result)
                assert time.monotonic() - began < 10  # by the end of its connection; silence takes longer to tell
            # A client that has chosen the one that is gone is not served by another unasked. The other editor serves
            # at once who wants it, and does not have the tools of the one that is gone.
            assert "is not connected" in client.refusal("editor_state")
            client.call("editor_select", editor="first")
            assert client.call("editor_state")["project"] == "first"
            assert "never" not in client.tools()
        daemon = first.instance.status()["daemon"]["pid"]
        assert first.close() == []
        wait_gone(daemon)
