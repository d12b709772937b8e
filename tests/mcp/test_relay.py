"""F7: several editors at once, and editors that die, are busy, or fall silent in the middle of a call: the
caller gets a clear result, never a hang."""
import asyncio
import json
import threading
import time

import pytest
import websockets

from harness import LIMIT
from mcp import LEGACY, BuiltIn
from scene import wait_until
from served import META, MODERN, Http

PROMPTLY = 20.0  # seconds; by silence alone it would take 45 until an editor counts as gone


@pytest.fixture
def server(state_dir):
    with BuiltIn(state_dir) as instance:
        yield instance.start()


def call(server, name, arguments=None, **more):
    """Calls a tool; returns its result, or its error, whichever came."""
    _, _, answer = server.modern("tools/call", {"name": name, "arguments": arguments or {}}, **more)
    return answer.get("result") or answer["error"]


def words(result):
    return "".join(part.get("text", "") for part in result["content"])


def tool_names(server):
    _, _, answer = server.modern("tools/list")
    return [tool["name"] for tool in answer["result"]["tools"]]


class Later:
    """A call that is under way on a thread of its own."""

    def __init__(self, server, name, arguments=None):
        self.result = None
        self.thread = threading.Thread(target=self._run, args=(server, name, arguments))
        self.start = time.monotonic()
        self.thread.start()

    def _run(self, *arguments):
        self.result = call(*arguments)
        self.took = time.monotonic() - self.start

    def wait(self):
        self.thread.join(LIMIT)
        assert not self.thread.is_alive(), "the call hangs"
        return self.result


def editor_id(server, project):
    """The id under which the server knows an editor, from its own list."""
    for editor in listed_editors(server):
        if editor["project"] == project:
            return editor
    raise AssertionError("no editor %s" % project)


def listed_editors(server):
    result = call(server, "editors_list")
    assert not result.get("isError"), result
    found = result.get("structuredContent") or json.loads(words(result))
    return found["editors"]


def test_F7_two_editors(server):
    """F7: the lists are those of the active editor; the user's last action and editor_select decide."""
    with server.editor(fixtures="plain", project="First") as first, server.editor(
            fixtures="none", project="Second") as second:
        assert {editor["project"] for editor in listed_editors(server)} == {"First", "Second"}
        assert "echo" in tool_names(server)
        second.tell("active")
        wait_until(lambda: "echo" not in tool_names(server), "the second editor is active")
        assert {"editors_list", "editor_select"} == set(tool_names(server))
        wanted = editor_id(server, "First")
        selected = call(server, "editor_select", {"editor": wanted.get("editor", wanted.get("id"))})
        assert not selected.get("isError"), selected
        assert words(call(server, "echo", {"text": "from the first"})) == "from the first"
        first.expect(r'"event":"call"')
        assert not second.calls()


def test_F7_next_editor_takes_over(server):
    """F7: when the active editor is gone, another one is it."""
    with server.editor(fixtures="none", project="Stays"):
        with server.editor(fixtures="plain", project="Goes") as goes:
            goes.tell("active")
            wait_until(lambda: "echo" in tool_names(server), "the second editor is active")
            goes.tell("quit")
            goes.wait()
        wait_until(lambda: "echo" not in tool_names(server), "the first editor is active again")
        assert [editor["project"] for editor in listed_editors(server)] == ["Stays"]


@pytest.mark.parametrize("end", ["die", "quit"])
def test_F7_editor_gone_in_the_middle_of_a_call(server, end):
    """F7: an editor that dies or leaves during a call: a result that says so, at once."""
    with server.editor(fixtures="plain") as editor:
        waiting = [Later(server, "wait") for _ in range(3)]
        editor.expect(r'(?:[\s\S]*?\{"event":"call"){3}')
        gone = time.monotonic()
        editor.tell(end)
        for one in waiting:
            result = one.wait()
            assert result.get("isError") is True, result
            assert "editor" in words(result).lower()
        assert time.monotonic() - gone < PROMPTLY
    assert {"editors_list", "editor_select", "wait"} <= set(tool_names(server))  # they stay listed


def test_F7_editor_killed(server):
    """F7: the same when the editor's process is killed."""
    with server.editor(fixtures="plain") as editor:
        waiting = Later(server, "wait")
        editor.expect(r'\{"event":"call"')
        gone = time.monotonic()
        editor.kill()
        assert waiting.wait().get("isError") is True
        assert time.monotonic() - gone < PROMPTLY


def test_F7_client_gone_cancels_in_the_second_era(server):
    """F7: closing the connection cancels a call in the stateless era; the editor is told."""
    with server.editor(fixtures="plain") as editor:
        with Http(server.http) as http:
            http.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                       "params": {"name": "wait", "arguments": {}, "_meta": META}},
                      MCP_Protocol_Version=MODERN, Mcp_Method="tools/call", Mcp_Name="wait")
            editor.expect(r'\{"event":"call"')
        editor.expect(r'\{"event":"cancelled"')
        assert editor.events("cancelled")[0]["known"] is True


def test_F7_many_calls_at_once_are_told_apart(server):
    """F7: fifty calls under way at once, of which one hangs, get their own results."""
    with server.editor(fixtures="plain") as editor:
        hanging = Later(server, "wait")
        editor.expect(r'\{"event":"call"')
        calls = [Later(server, "echo", {"text": "number %d" % number}) for number in range(50)]
        assert [words(one.wait()) for one in calls] == ["number %d" % number for number in range(50)]
        assert hanging.thread.is_alive()
        editor.tell("die")
        assert hanging.wait()["isError"] is True


def test_F7_wrong_token_and_origin(server):
    """F7: nobody becomes an editor without the launcher's token."""
    async def status(**options):
        try:
            async with websockets.connect("ws://127.0.0.1:%d/editor" % server.ws, **options):
                return 101
        except websockets.exceptions.InvalidStatusCode as error:
            return error.status_code

    bearer = {"Authorization": "Bearer " + server.token}
    assert asyncio.run(status()) == 401
    assert asyncio.run(status(extra_headers={"Authorization": "Bearer " + server.token[:-1]})) == 401
    assert asyncio.run(status(extra_headers=bearer, origin="http://127.0.0.1:%d" % server.http)) == 403
    assert asyncio.run(status(extra_headers=bearer)) == 101


def test_F5_restart_loses_no_client(server):
    """F5: while the server restarts, clients wait and are answered; the editor comes back by itself."""
    failures, answered, stop = [], [], threading.Event()

    def ask():
        while not stop.is_set():
            try:
                status, _, _ = server.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                    "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
                answered.append(status)
            except ConnectionRefusedError as error:
                failures.append(error)
            except (ConnectionError, OSError):
                answered.append("cut")  # it was being answered when the server ended
            except Exception as error:  # noqa: BLE001
                if "RemoteDisconnected" not in type(error).__name__:
                    failures.append(error)

    askers = [threading.Thread(target=ask) for _ in range(4)]
    before = server.server_pid
    for asker in askers:
        asker.start()
    try:
        for _ in range(3):
            assert server.cli("restart").status == 0
    finally:
        stop.set()
        for asker in askers:
            asker.join(LIMIT)
    assert server.server_pid != before
    assert not failures, failures[:3]
    assert answered.count(200) > 10
