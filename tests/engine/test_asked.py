"""I5: the user is asked before a tool runs, all the way from a client through the server to a real editor; and what a
client cancels reaches the tool that is at work."""
import http.client
import json
import threading

import pytest

from mcp_client import McpClient, ToolFailed, messages_of, value_of
from scene import wait_until
from whole import Whole

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
ELICITING = {"elicitation": {}}
QUESTIONS = 'var approvals = driver.get_tree().root.find_child("TetherControl", true, false).get_approvals()\n'
# A tool that is at work until its call is cancelled; what it hears is in "heard".
TOOL = '''
var script := GDScript.new()
script.source_code = %s
script.reload()
driver.kept["slow"] = script.new()
driver.kept["slow"].begin()
'''
SLOW = '''extends RefCounted
var server := TetherServer.new()
var at_work := []
var heard := []
func begin():
	server.call_cancelled.connect(hear)
	server.register_tool("slow_one", {"description": "Never ends by itself."}, run)
func hear(call):
	heard.append(call)
func run(_arguments):
	var call = server.get_call()["id"]
	var before = heard.size() # a server that was restarted counts its calls anew
	at_work.append(call)
	while not call in heard.slice(before):
		await Engine.get_main_loop().process_frame
	return "It was cancelled."
'''


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    with Whole(str(tmp_path_factory.mktemp("asked")), env={"TETHER_PROGRESS_MS": "100"}) as made:
        process = made.scene.process
        process.running.remove(process)
        with made.client() as client:
            client.call("scene_new", path="res://main.tscn")
        made.run(TOOL % json.dumps(SLOW))
        with made.client() as client:
            wait_until(lambda: "slow_one" in client.tools(), "the tool is there")
        yield made
        process.running.append(process)
        made.run('driver.kept.clear()')
        assert made.close() == []


@pytest.fixture(autouse=True)
def nothing_left(whole):
    """The editor is the file's. Of node_add the user is asked."""
    whole.run('ProjectSettings.set_setting("tether/tools/ask_first", PackedStringArray(["node_add", "file_read"]))')
    yield
    whole.run(QUESTIONS + "approvals.has_window = false")


def nodes(client):
    return len(client.call("scene_tree")["nodes"])


def open_window(whole):
    whole.run(QUESTIONS + "approvals.has_window = true")


def questions(whole):
    return whole.run(QUESTIONS + "return approvals.questions.map(func(question): return [question.client, question.arguments])")


def answer(whole, word):
    whole.run(QUESTIONS + 'approvals.questions[0].answer("%s")' % word)


class Background:
    """A request of a session that is waited for elsewhere."""

    def __init__(self, client, tool, arguments, **more):
        self.client = client
        self.result = None
        self.thread = threading.Thread(target=self._run, args=(tool, arguments, more), daemon=True)
        self.thread.start()

    def _run(self, tool, arguments, more):
        try:
            self.result = self.client.request("tools/call", {"name": tool, "arguments": arguments, **more})
        except (EOFError, OSError, ValueError, http.client.HTTPException, AttributeError):
            self.result = {}

    def wait(self):
        self.thread.join(30)
        assert not self.thread.is_alive()
        return self.result


def elicited(choice):
    return {"elicitation/create": {"action": "accept", "content": {"answer": choice}}}


# ---- without a window ----------------------------------------------------------------------------

def test_I5_without_a_window_the_client_asks_its_user(whole):
    with McpClient(whole.ports[0], capabilities=ELICITING, answers=elicited("Deny"), name="asker") as client:
        assert "does not allow 'node_add'" in client.refusal("node_add", type="Node2D", name="Hero")
        assert client.heard[-1]["method"] == "elicitation/create" and "asker 1 wants to use node_add" in client.heard[-1]["params"]["message"]
        client.answers = elicited("Allow this session")
        assert client.call("node_add", type="Node2D", name="Hero")["added"]
        before = len(client.heard)
        assert client.call("node_add", type="Node2D", name="Hero")["added"]
        assert len(client.heard) == before  # this session it is asked no more
        contents = client.request("resources/read", {"uri": "godot://scene"})["contents"]
        assert "Hero" in contents[0]["text"] and len(client.heard) == before
        assert client.request("resources/read", {"uri": "godot://file/project.godot"})["contents"]
        assert client.heard[before]["method"] == "elicitation/create"  # as the tool that reads it
    with McpClient(whole.ports[0], capabilities=ELICITING, answers=elicited("Deny"), name="asker") as other:
        assert "does not allow" in other.refusal("node_add", type="Node2D")  # of the same name, and another
    with McpClient(whole.ports[0]) as plain:
        assert "this client cannot ask its user (elicitation)" in plain.refusal("node_add", type="Node2D")


class Modern:
    """A client of the stateless era."""

    def __init__(self, port, name="modern", capabilities=None):
        self.port = port
        self.meta = {META + "protocolVersion": MODERN, META + "clientInfo": {"name": name, "version": "3"},
                     META + "clientCapabilities": capabilities or {}}

    def begin(self, tool, arguments, **more):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments, "_meta": self.meta, **more}}
        connection.request("POST", "/mcp", json.dumps(body), {
            "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": MODERN,
            "Mcp-Method": "tools/call", "Mcp-Name": tool})
        return connection

    def call(self, tool, arguments, **more):
        connection = self.begin(tool, arguments, **more)
        message = [message for message in messages_of(connection.getresponse()) if "id" in message][-1]
        connection.close()
        return message["result"]


def test_I5_a_client_of_the_stateless_era_asks_its_user(whole):
    client = Modern(whole.ports[0], capabilities=ELICITING)
    arguments = {"type": "Node2D", "name": "Modern"}
    for choice, words in (("Deny", "does not allow"), ("Allow once", "Modern")):
        wanted = client.call("node_add", arguments)
        assert wanted["resultType"] == "input_required"
        (key, request), = wanted["inputRequests"].items()
        assert request["method"] == "elicitation/create" and "modern 3 wants to use node_add" in request["params"]["message"]
        result = client.call("node_add", arguments, requestState=wanted["requestState"],
                             inputResponses={key: elicited(choice)["elicitation/create"]})
        assert words in json.dumps(result), result
        assert result.get("isError", False) == (choice == "Deny")


# ---- with one ------------------------------------------------------------------------------------

def test_I5_while_the_user_thinks_the_client_is_told_that_the_call_goes_on(whole):
    open_window(whole)
    with McpClient(whole.ports[0], name="patient") as client, McpClient(whole.ports[0]) as other:
        before = nodes(other)
        call = Background(client, "node_add", {"type": "Node2D"}, _meta={"progressToken": "p"})
        wait_until(lambda: questions(whole) == [["patient 1", "type: Node2D"]], "the user is asked")
        wait_until(lambda: sum(message["method"] == "notifications/progress" for message in client.heard) >= 4, "it is told that it goes on")
        assert "Waiting for the user" in client.heard[0]["params"]["message"] and nodes(other) == before and call.result is None
        answer(whole, "allowed once")
        assert value_of(call.wait())["added"] and nodes(other) == before + 1 and questions(whole) == []


def test_I5_a_client_that_cancels_takes_the_question_away(whole):
    open_window(whole)
    with McpClient(whole.ports[0]) as other:
        before = nodes(other)
        with McpClient(whole.ports[0], name="hasty") as client:
            call = Background(client, "node_add", {"type": "Node2D"})
            wait_until(lambda: len(questions(whole)) == 1, "the user is asked")
            canceller = client._connect()
            canceller.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled",
                                                          "params": {"requestId": client.last_id}}), client.headers)
            canceller.getresponse().read()
            canceller.close()
            wait_until(lambda: questions(whole) == [], "the question is gone")
            call.wait()
        connection = Modern(whole.ports[0]).begin("node_add", {"type": "Node2D"})
        wait_until(lambda: len(questions(whole)) == 1, "the user is asked again")
        connection.close()
        wait_until(lambda: questions(whole) == [], "the question is gone with its client")
        assert nodes(other) == before


def test_I5_a_server_that_goes_takes_the_question_away(whole):
    open_window(whole)
    with McpClient(whole.ports[0]) as client:
        before = nodes(client)
        call = Background(client, "node_add", {"type": "Node2D"})
        wait_until(lambda: len(questions(whole)) == 1, "the user is asked")
        assert whole.instance.cli("restart").status == 0
        wait_until(lambda: questions(whole) == [], "the question is gone")
        call.wait()
    with whole.client() as other:
        assert nodes(other) == before


# ---- cancelled at work ---------------------------------------------------------------------------

def at_work(whole):
    return whole.run('return [driver.kept["slow"].at_work, driver.kept["slow"].heard]')


@pytest.mark.parametrize("era", ["legacy", "modern", "server"])
def test_I7_what_is_cancelled_reaches_the_tool_that_is_at_work(whole, era):
    with whole.client() as client:
        began, heard = at_work(whole)
        call = Background(client, "slow_one", {}) if era != "modern" else None
        connection = Modern(whole.ports[0]).begin("slow_one", {}) if era == "modern" else None
        wait_until(lambda: len(at_work(whole)[0]) == len(began) + 1, "it is at work")
        assert at_work(whole)[1] == heard  # nobody has cancelled yet
        if era == "modern":
            connection.close()
        elif era == "server":
            assert whole.instance.cli("restart").status == 0
        else:
            with McpClient(whole.ports[0]) as other:
                other.notify("notifications/cancelled", {"requestId": client.last_id})  # another session's: not this one
                other.call("editor_state")
                assert at_work(whole)[1] == heard
            canceller = client._connect()
            canceller.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled",
                                                          "params": {"requestId": client.last_id}}), client.headers)
            canceller.getresponse().read()
            canceller.close()
        wait_until(lambda: at_work(whole)[1] == heard + at_work(whole)[0][-1:], "the tool has heard of it, by its number")
        if call:
            call.wait()


# ---- nobody is left ------------------------------------------------------------------------------

ASKING = '''extends RefCounted
var server := TetherServer.new()
var asked := 0
var answers := []
var heard := []
func begin():
	server.call_cancelled.connect(hear)
	server.register_tool("ask_one", {"description": "Asks the user."}, run)
func hear(call):
	heard.append(call)
func run(_arguments):
	asked += 1
	answers.append(await server.ask_user(server.get_call()["id"], "Well?", {"type": "object", "properties": {}}))
	return "It is over."
'''


class Thinking(dict):
    """The answers of a user who thinks until the test is over."""

    def __init__(self):
        super().__init__(thinking=True)
        self.over = threading.Event()

    def __getitem__(self, key):
        self.over.wait(60)
        raise EOFError("nobody asks any more")


@pytest.mark.parametrize("how", ['driver.get_tree().root.find_child("TetherControl", true, false).server.detach("disable")',
                                 'EditorInterface.set_plugin_enabled("tether", false)'], ids=["detached", "disabled"])
def test_I7_who_waits_for_a_client_is_told_when_the_way_to_it_is_gone(tmp_path, how):
    answers = Thinking()
    with Whole(str(tmp_path)) as whole:
        whole.client().close()
        whole.run(TOOL % json.dumps(ASKING))
        with whole.client() as client:
            wait_until(lambda: "ask_one" in client.tools(), "the tool is there")
        with McpClient(whole.ports[0], capabilities=ELICITING, answers=answers) as client:
            call = Background(client, "ask_one", {})
            wait_until(lambda: client.heard, "the client is asked")
            whole.run(how)
            state = 'return [driver.kept["slow"].answers, driver.kept["slow"].heard.size()]'
            told, cancelled = wait_until(lambda: (lambda state: state if state[0] and state[1] else None)(whole.run(state)), "the tool is told")
            assert cancelled == 1 and "Nobody is there" in told[0]["error"]
            answers.over.set()
            call.wait()
        whole.run("driver.kept.clear()")
        assert whole.close() == []
