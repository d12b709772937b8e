"""F7: calls on their way through an editor, in both eras; what happens when something goes wrong."""
import json
import time

import pytest

from scene import wait_until
from served import EVERYTHING, MODERN, NOTHING, Served, tool
from websocket import CLOSE, FIN, close_payload

ALL = {"sampling": {}, "elicitation": {}, "roots": {}}


@pytest.fixture
def server():
    with Served(kept=NOTHING) as server:
        yield server.ready()


def call_begin(server, era, name="echo", arguments=None, session=None, meta=None, capabilities=None, **more):
    params = {"name": name, "arguments": arguments or {}}
    if era == "modern":
        return server.modern_begin("tools/call", params, meta=meta, capabilities=capabilities, **more)
    session = session or server.session(**(capabilities or {}))
    return session.begin("tools/call", dict(params, **({"_meta": meta} if meta else {})), **more)


def text_of(answer):
    return answer.json["result"]["content"][0]["text"]


both = pytest.mark.parametrize("era", ["legacy", "modern"])


# ---- without an editor -------------------------------------------------------------------------

@both
def test_F7_without_an_editor(server, era):
    """Of what nobody has offered there is nothing, and who calls it is told what is missing."""
    run = server.session().request if era == "legacy" else server.modern
    names = [tool["name"] for tool in run("tools/list").json["result"]["tools"]]
    assert names == ["editors_list", "editor_select"]
    for method, params in [("resources/list", {}), ("resources/templates/list", {}), ("resources/read", {"uri": "a:b"}),
                           ("prompts/list", {}), ("prompts/get", {"name": "p"}), ("completion/complete", {})]:
        answer = run(method, params)
        assert answer.json["error"]["code"] == -32601 and "no Godot editor" in answer.json["error"]["message"]
        assert answer.status == (200 if era == "legacy" else 404)
    result = run("tools/call", {"name": "scene_open"}).json["result"]
    assert result["isError"] and "No Godot editor is connected" in result["content"][0]["text"]
    assert run("tools/call", {"name": "editors_list"}).json["result"]["structuredContent"] == {"editors": []}


# ---- calls -------------------------------------------------------------------------------------

# What a reader and writer of JSON would not leave as it is.
WRITTEN = '{ "n":\t[1.0, 0.10, 1e2, -0], "s": "\\u00e9\\/\\uD83D\\uDE00", "b": {"a": {} } }'


@both
def test_F7_what_is_passed_on_stays_as_it_was_written(server, era):
    """Arguments to the editor, and results to the client, are the very bytes that came."""
    meta = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
    params = '"name":"echo", "arguments": %s%s' % (WRITTEN, ',"_meta":' + json.dumps(meta) if era == "modern" else "")
    body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params": {%s } }' % params
    headers = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "tools/call", "Mcp_Name": "echo"}
    if era == "legacy":
        headers = {"Mcp_Session_Id": server.session().id}
    with server.editor() as editor, server.http_connection() as http:
        http.post(body.encode(), **headers)
        call = editor.call()
        assert params in editor.heard
        result = '"content":[], "structuredContent": {"x": 12345678901234567890, "y": %s}' % WRITTEN
        editor.raw.text('{"jsonrpc":"2.0","id":%d,"result":{ %s} }' % (call["id"], result))
        answer = http.answer()
        assert result in answer.body.decode() and answer.json["id"] == 1
        kind = {"resultType": "complete"} if era == "modern" else {}
        assert dict(answer.json["result"], **kind) == answer.json["result"]


def test_F7_a_result_of_many_lines_is_one_event(server):
    """Lines end the fields of an event stream."""
    with call_ready(server, "legacy", meta={"progressToken": 1}) as (editor, http):
        editor.notify("notifications/progress", {"call": editor.at["id"], "progress": 1})
        editor.raw.text('{"jsonrpc":"2.0","id":%d,\n"result":{\n"content":\r\n[]}}' % editor.at["id"])
        assert http.head()[1]["content-type"] == "text/event-stream"
        assert http.event()["method"] == "notifications/progress"
        assert http.event()["result"] == {"content": []}


@both
def test_F7_a_context_of_the_clients_own_is_not_believed(server, era):
    params = {"name": "echo", "arguments": {}, "context": {"era": "forged"}}
    begin = server.session().begin if era == "legacy" else server.modern_begin
    with server.editor() as editor, begin("tools/call", params) as http:
        call = editor.call()
        assert call["params"]["context"]["era"] == era and editor.heard.count('"context"') == 1
        editor.say(call, "done")
        assert text_of(http.answer()) == "done"


@both
def test_F7_call_and_answer(server, era):
    """The editor gets what the client sent, and who it is; the client gets what the editor said."""
    with server.editor() as editor, call_begin(server, era, arguments={"a": [1, 2.5, "\u20ac\U0001f600"]}) as http:
        call = editor.call()
        assert call["params"]["arguments"] == {"a": [1, 2.5, "\u20ac\U0001f600"]}
        assert call["params"]["context"]["era"] == era
        editor.answer(call, {"content": [{"type": "text", "text": "\u20ac"}], "structuredContent": {"n": 1}})
        answer = http.answer()
        assert answer.headers["content-type"] == "application/json" and text_of(answer) == "\u20ac"
        result = answer.json["result"]
        assert result["structuredContent"] == {"n": 1}
        assert (result.get("resultType") == "complete") == (era == "modern")


@both
def test_F7_unknown_names(server, era):
    run = server.session().request if era == "legacy" else server.modern
    with server.editor(capabilities=EVERYTHING):
        for method in ("tools/call", "prompts/get"):
            assert run(method, {"name": "nothing"}).json["error"]["code"] == -32602
        answer = run("what/is/this")
        assert answer.json["error"]["code"] == -32601 and answer.status == (200 if era == "legacy" else 404)


@both
def test_F7_an_editor_that_is_still_starting_has_no_tools_yet(server, era):
    """Its tools come a moment after itself: that is no reason to say that there is no such tool."""
    run = server.session().request if era == "legacy" else server.modern
    with server.editor(tools=[]):
        result = run("tools/call", {"name": "echo"}).json["result"]
        assert result["isError"] and "Try again" in result["content"][0]["text"]


@both
def test_F7_lists_have_one_page(server, era):
    with server.editor(capabilities=EVERYTHING):
        run = server.session().request if era == "legacy" else server.modern
        for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
            assert "nextCursor" not in run(method).json["result"]
            assert run(method, {"cursor": "x"}).json["error"]["code"] == -32602


def test_F7_arguments_that_headers_repeat(server):
    """Where a tool's schema says so, the modern era wants an argument in a header as well, and the same there."""
    schema = {"type": "object", "properties": {"place": {"type": "string", "x-mcp-header": "Place"}}}
    with server.editor() as editor:
        editor.notify("editor/register", {"tools": [{"name": "echo", "inputSchema": schema}]})
        editor.request("tests/sync", {})
        for headers in ({}, {"Mcp_Param_Place": "there"}):
            answer = server.modern("tools/call", {"name": "echo", "arguments": {"place": "here"}}, **headers)
            assert answer.status == 400 and answer.json["error"]["code"] == -32020
        params = {"name": "echo", "arguments": {"place": "here"}}
        with server.modern_begin("tools/call", params, Mcp_Param_Place="here") as http:
            editor.say(editor.call(), "went there")
            assert text_of(http.answer()) == "went there"
        with server.session().begin("tools/call", params) as http:  # the other era has no such headers
            editor.say(editor.call(), "went there, too")
            assert text_of(http.answer()) == "went there, too"


@both
def test_F7_errors_of_the_editor(server, era):
    with server.editor() as editor, call_begin(server, era) as http:
        call = editor.call()
        editor.send(id=call["id"], error={"code": -32000, "message": "no", "data": [1]})
        assert http.answer().json["error"] == {"code": -32000, "message": "no", "data": [1]}


@both
def test_F7_resource_that_is_not_there(server, era):
    """It has another number in each era, whichever the editor uses."""
    for code in (-32002, -32602):
        with server.editor(capabilities={"resources": {}}) as editor:
            http = (server.session().begin if era == "legacy" else server.modern_begin)("resources/read", {"uri": "a:b"})
            with http:
                call = editor.call("resources/read")
                editor.send(id=call["id"], error={"code": code, "message": "no", "data": {"uri": "a:b"}})
                assert http.answer().json["error"]["code"] == (-32002 if era == "legacy" else -32602)


@both
def test_F7_editor_that_dies_in_the_middle(server, era):
    """E6: the call ends at once, with the editor's name and what to do."""
    with call_ready(server, era) as (editor, http):
        editor.close()
        result = http.answer().json["result"]
        text = result["content"][0]["text"]
        assert result["isError"] and '"Game" (4711)' in text and "try again" in text
    assert server.status()["calls"] == 0 and server.status()["editors"] == []


def test_F7_what_was_sent_ahead_waits_for_the_end_of_all(server):
    """An editor dies with two calls; behind the answer to one, its client has already ended the session."""
    session = server.session()
    with server.editor() as editor:
        first = session.begin("tools/call", {"name": "echo"})
        editor.call()
        with first, session.begin("tools/call", {"name": "echo"}) as second:
            editor.call()
            for http in (first, second):
                http.send("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: %s\r\n\r\n" % session.id)
            assert server.status()["calls"] == 2
            editor.close()
            assert first.answer().json["result"]["isError"] and second.answer().json["result"]["isError"]
            assert sorted([first.answer().status, second.answer().status]) == [204, 404]


class call_ready:
    """An editor that has been given a call, and the connection that waits for the answer."""

    def __init__(self, server, era, editor=None, **more):
        self.editor = editor or server.editor()
        self.http = call_begin(server, era, **more)
        self.editor.at = self.editor.call()

    def __enter__(self):
        return self.editor, self.http

    def __exit__(self, *_):
        self.editor.close()
        self.http.close()


@both
def test_F7_call_that_takes_too_long(era):
    with Served(env={"TETHER_CALL_LIMIT_MS": "200"}) as server, call_ready(server.ready(), era) as (editor, http):
        result = http.answer().json["result"]
        assert result["isError"] and "has not answered" in result["content"][0]["text"]
        assert editor.call("notifications/cancelled")["params"]["call"] == editor.at["id"]
        editor.say(editor.at, "too late")
        assert server.status()["calls"] == 0


def test_F7_call_limit_that_is_none_is_told():
    with Served(env={"TETHER_CALL_LIMIT_MS": "soon"}) as server:
        server.expect("TETHER_CALL_LIMIT_MS: 'soon' is not valid")


@both
def test_F7_progress_only_upwards_and_only_if_wanted(server, era):
    with call_ready(server, era, meta={"progressToken": "t"}) as (editor, http):
        for step in (1, 1, 0.5, 2):
            editor.notify("notifications/progress", {"call": editor.at["id"], "progress": step, "total": 2})
        editor.say(editor.at, "done")
        assert http.head()[1]["content-type"] == "text/event-stream"
        steps = [http.event(), http.event()]
        assert [step["params"] for step in steps] == [
            {"progress": 1, "total": 2, "progressToken": "t"}, {"progress": 2, "total": 2, "progressToken": "t"}]
        assert http.event()["result"]["content"][0]["text"] == "done"
        with pytest.raises(EOFError):
            http.event()
    with call_ready(server, era) as (editor, http):
        editor.notify("notifications/progress", {"call": editor.at["id"], "progress": 1})
        editor.say(editor.at, "done")
        assert text_of(http.answer()) == "done"


@pytest.mark.parametrize("era, level, seen", [
    ("legacy", None, ["info", "error"]), ("legacy", "error", ["error"]), ("legacy", "debug", ["debug", "info", "error"]),
    ("modern", None, []), ("modern", "info", ["info", "error"])])
def test_F7_log_messages(server, era, level, seen):
    editor = server.editor(capabilities=EVERYTHING)
    session = server.session() if era == "legacy" else None
    if session and level:
        assert session.request("logging/setLevel", {"level": level}).json["result"] == {}
    meta = {"io.modelcontextprotocol/logLevel": level} if level and era == "modern" else None
    with call_ready(server, era, editor, session=session, meta=meta) as (editor, http):
        for name in ("debug", "info", "error", "nonsense"):
            editor.notify("notifications/message", {"call": editor.at["id"], "level": name, "data": name})
        editor.say(editor.at, "done")
        events = [json.loads(line[6:]) for line in http.answer().body.decode().splitlines() if line.startswith("data: {")]
        assert [event["params"]["level"] for event in events[:-1]] == seen


def test_F7_legacy_cancellation_is_a_message(server):
    """Leaving is none: the editor goes on."""
    session = server.session()
    with call_ready(server, "legacy", session=session) as (editor, http):
        session.send({"method": "notifications/cancelled", "params": {"requestId": 1, "reason": "enough"}})
        cancelled = editor.call("notifications/cancelled")
        assert cancelled["params"] == {"call": editor.at["id"], "reason": "enough"}
        assert "result" not in http.answer().body.decode() and server.status()["calls"] == 0
    with call_ready(server, "legacy", session=session) as (editor, http):
        http.close()
        editor.request("tests/sync", {})
        assert server.status()["calls"] == 1


def test_F7_a_cancellation_is_about_the_own_session(server):
    """Others have calls of the same id."""
    with server.editor() as editor, call_begin(server, "legacy", ident=1) as http:
        call = editor.call()
        assert server.session().send({"method": "notifications/cancelled", "params": {"requestId": 1}}).status == 202
        editor.request("tests/sync", {})
        assert server.status()["calls"] == 1
        editor.say(call, "not cancelled")
        assert text_of(http.answer()) == "not cancelled"


def test_F7_the_end_of_a_session_cancels_its_calls(server):
    session = server.session()
    with call_ready(server, "legacy", session=session) as (editor, http), server.http_connection() as other:
        other.send("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: %s\r\n\r\n" % session.id)
        assert other.answer().status == 204
        assert editor.call("notifications/cancelled")["params"]["call"] == editor.at["id"]
        assert "result" not in http.answer().body.decode() and server.status()["calls"] == 0
        editor.say(editor.at, "too late")
        assert editor.request("tests/sync", {})["id"]


def test_F7_an_id_is_in_use_until_its_call_is_over(server):
    """Also when its client has gone: else a cancellation could be about either of two calls."""
    session = server.session()
    with call_ready(server, "legacy", session=session) as (editor, http):
        for _ in range(2):
            with call_begin(server, "legacy", session=session, ident=1) as again:
                assert again.answer().json["error"]["code"] == -32600
            http.close()
            editor.request("tests/sync", {})
        editor.say(editor.at, "over")
        editor.request("tests/sync", {})
        with call_begin(server, "legacy", session=session, ident=1) as http:
            editor.say(editor.call(), "the second")
            assert text_of(http.answer()) == "the second"


def test_F7_modern_client_that_leaves_has_cancelled(server):
    with call_ready(server, "modern") as (editor, http):
        http.close()
        assert editor.call("notifications/cancelled")["params"]["call"] == editor.at["id"]
        assert server.status()["calls"] == 0


def test_F7_time_has_limits(server):
    """After 5 s a call is a stream, so that nobody takes it for dead; after 10 s an unfinished request is
    refused, however steadily its bytes trickle in; a stream without an event says every 15 s that it lives."""
    began = time.monotonic()
    with call_ready(server, "legacy") as (editor, http), server.http_connection() as slow, \
            server.session().stream() as quiet:
        slow.send("POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: ")
        assert http.head()[1]["content-type"] == "text/event-stream" and 4.5 < time.monotonic() - began < 9
        while not slow.data and time.monotonic() - began < 20:
            slow.send("a")
            slow.is_open(0.3)
        assert slow.answer().status == 408 and 9.5 < time.monotonic() - began < 20
        slow.wait_closed()
        editor.say(editor.at, "at last")
        assert http.event()["result"]["content"][0]["text"] == "at last"
        assert quiet.chunk() == b":\n\n" and 14.5 < time.monotonic() - began < 25


# ---- what editors want from clients ------------------------------------------------------------

ASKED = [("sampling/createMessage", {"messages": [], "maxTokens": 5}, {"role": "assistant", "content": {}, "model": "m"}),
         ("elicitation/create", {"message": "m", "requestedSchema": {}}, {"action": "accept", "content": {"a": 1}}),
         ("roots/list", {}, {"roots": []})]


def ask(editor, method, params):
    editor.send(id="ask", method=method, params=dict(params, call=editor.at["id"]))


@pytest.mark.parametrize("method, params, reply", ASKED)
def test_F7_legacy_client_is_asked(server, method, params, reply):
    session = server.session(**ALL)
    with call_ready(server, "legacy", session=session) as (editor, http):
        ask(editor, method, params)
        http.head()
        event = http.event()
        assert event["method"] == method and event["params"] == params
        other = server.session(**ALL)
        assert other.send({"id": event["id"], "result": {"from": "another session"}}).status == 202  # and that is all
        assert session.send({"id": event["id"], "result": reply}).status == 202
        assert editor.receive() == {"jsonrpc": "2.0", "id": "ask", "result": reply}
        assert session.send({"id": event["id"], "result": reply}).status == 202  # of nothing any more
        ask(editor, method, params)
        event = http.event()
        session.send({"id": event["id"], "error": {"code": -1, "message": "the user said no"}})
        assert editor.receive()["error"] == {"code": -1, "message": "the user said no"}
        editor.say(editor.at, "done")
        assert http.event()["result"]["content"][0]["text"] == "done"


@pytest.mark.parametrize("method, params, reply", ASKED)
def test_F7_modern_client_is_asked(server, method, params, reply):
    """The call waits; the client comes back to it with a sealed state, as another request."""
    with call_ready(server, "modern", capabilities=ALL) as (editor, http):
        ask(editor, method, params)
        first = http.answer().json["result"]
        assert first["resultType"] == "input_required"
        (key, request), = first["inputRequests"].items()
        assert request == {"method": method, "params": params}
        with again(server, first, {key: reply}) as retry:
            assert editor.receive() == {"jsonrpc": "2.0", "id": "ask", "result": reply}
            editor.say(editor.at, "done")
            assert text_of(retry.answer()) == "done"
        with again(server, first, {key: reply}) as late:
            assert late.answer().json["error"]["code"] == -32602


def again(server, first, responses, state=None, **more):
    params = {"name": "echo", "arguments": {}, "inputResponses": responses,
              "requestState": state or first["requestState"]}
    return server.modern_begin("tools/call", dict(params, **more), capabilities=ALL, ident=2)


def test_F7_calls_that_nobody_comes_back_to_keep_nobody_out(server):
    """As many as there may be are parked; the next one takes the place of the oldest, but not of one that is
    older still and waited for."""
    with server.editor() as editor, call_begin(server, "legacy") as waiting:
        oldest = editor.call()
        first = None
        for _ in range(255):
            with call_begin(server, "modern", capabilities=ALL) as http:
                editor.at = editor.call()
                first = first or editor.at["id"]
                ask(editor, "roots/list", {})
                assert http.answer().json["result"]["resultType"] == "input_required"
        with call_begin(server, "legacy") as http:
            assert http.is_open() and not http.data  # it is not refused
            assert editor.call("notifications/cancelled")["params"]["call"] == first
            editor.say(editor.call(), "done")
            assert text_of(http.answer()) == "done"
        editor.say(oldest, "done, too")
        assert text_of(waiting.answer()) == "done, too"


def test_F7_modern_client_that_brings_too_little_is_asked_again(server):
    with call_ready(server, "modern", capabilities=ALL) as (editor, http):
        ask(editor, "roots/list", {})
        first = http.answer().json["result"]
        with again(server, first, {}) as retry:
            second = retry.answer().json["result"]
            assert second["inputRequests"] == first["inputRequests"]
        for changes in ({"arguments": {"a": 1}}, {"state": first["requestState"] + "x"}, {"state": "x"},
                        {"inputResponses": 7}, {"inputResponses": {"a": 7}}, {"requestState": 7}):
            with again(server, second, {}, **changes) as wrong:
                assert wrong.answer().json["error"]["code"] == -32602, changes
        with again(server, second, {key: {"roots": []} for key in second["inputRequests"]}) as retry:
            assert editor.receive()["result"] == {"roots": []}
            editor.say(editor.at, "done")
            assert text_of(retry.answer()) == "done"


@both
def test_F7_client_that_cannot_is_not_asked(server, era):
    with call_ready(server, era) as (editor, http):
        ask(editor, "sampling/createMessage", {})
        error = editor.receive()["error"]
        assert error["code"] == -32021 and error["data"] == {"requiredCapabilities": {"sampling": {}}}
        editor.say(editor.at, "without it")
        assert text_of(http.answer()) == "without it"


def test_F7_state_of_the_editor_is_sealed(server):
    """What the client brings back is just what the editor gave, for the same request."""
    wanted = {"resultType": "input_required", "requestState": "step 1", "inputRequests": {
        "a": {"method": "roots/list", "params": {}}, "b": {"method": "elicitation/create", "params": {}}}}
    with call_ready(server, "modern", capabilities={"roots": {}}) as (editor, http):
        editor.answer(editor.at, wanted)
        first = http.answer().json["result"]
        assert first["requestState"] != "step 1" and list(first["inputRequests"]) == ["a"]
        with again(server, first, {"a": {"roots": []}}, arguments={"other": 1}) as wrong:
            assert wrong.answer().json["error"]["code"] == -32602
        editor.notify("editor/register", {"prompts": [{"name": "echo"}]})
        editor.request("tests/sync", {})
        with server.modern_begin("prompts/get", {"name": "echo", "arguments": {}, "requestState": first["requestState"]}) as wrong:
            assert "requestState" in wrong.answer().json["error"]["message"]
        with again(server, first, {"a": {"roots": []}}) as retry:
            call = editor.call()
            assert call["params"]["requestState"] == "step 1"
            assert call["params"]["inputResponses"] == {"a": {"roots": []}}
            editor.say(call, "done")
            assert text_of(retry.answer()) == "done"


# ---- several editors ---------------------------------------------------------------------------

def test_F7_several_editors(server):
    """Clients see the active one: the one that says so, or is selected, or was there first."""
    session = server.session()

    def tools():
        return [tool["name"] for tool in session.request("tools/list").json["result"]["tools"][2:]]

    with server.editor(tools=["a"], pid=1, project="One") as one, server.editor(tools=["b"], pid=2, project="Two") as two:
        assert (one.id, two.id, one.hello["active"], two.hello["active"]) == ("1", "2", True, False)
        assert tools() == ["a"]
        two.notify("editor/active")
        two.request("tests/sync", {})
        assert tools() == ["b"]
        for which, shown in (("1", ["a"]), ("Two", ["b"]), ("/games/One", ["a"]), (2, ["b"])):
            result = session.request("tools/call", {"name": "editor_select", "arguments": {"editor": which}}).json["result"]
            assert "isError" not in result and tools() == shown
        wrong = session.request("tools/call", {"name": "editor_select", "arguments": {"editor": "Three"}})
        assert wrong.json["result"]["isError"] and "Three" in text_of(wrong)
        listed = session.request("tools/call", {"name": "editors_list"}).json["result"]["structuredContent"]["editors"]
        assert [(editor["editor"], editor["active"], editor["project"]) for editor in listed] == [
            ("1", False, "One"), ("2", True, "Two")]
        with server.editor(tools=["c"], pid=2) as third:
            assert third.id == "2-2"
        two.close()
        wait_until(lambda: len(server.status()["editors"]) == 1, "the server has heard that it is gone")
        with session.stream() as stream:
            one.request("tests/sync", {})
            assert stream.socket and tools() == ["b"]  # of the project that it selected, until that is back
            session = server.session()
            assert tools() == ["a"]


def test_F7_editors_do_not_speak_for_each_other(server):
    """What one says of a call of another, or of its own account while another is the active one, goes nowhere."""
    one, two = (server.editor(pid=pid, project=name, capabilities=EVERYTHING) for pid, name in ((1, "One"), (2, "Two")))
    session = server.session(**ALL)
    with one, two, session.stream() as stream:
        assert stream.event()["method"] == "roots/list"
        session.request("resources/subscribe", {"uri": "a:b"})
        one.call("resources/subscribe")
        session.request("logging/setLevel", {"level": "error"})
        with call_begin(server, "legacy", session=session, meta={"progressToken": "t"}) as http:
            call = one.call()
            two.notify("notifications/progress", {"call": call["id"], "progress": 1})
            two.notify("notifications/message", {"call": call["id"], "level": "error", "data": "of the call"})
            two.notify("notifications/message", {"level": "error", "data": "of its own account"})
            two.notify("notifications/resources/updated", {"uri": "a:b"})
            two.say(call, "not mine")
            assert two.request("roots/list", {"call": call["id"]})["error"]["code"] == -32602
            one.notify("notifications/message", {"level": "warning", "data": "not what the session wants"})
            one.notify("notifications/message", {"level": "error", "data": "the active one's"})
            one.notify("notifications/resources/updated", {"uri": "a:b"})
            assert stream.event()["params"]["data"] == "the active one's"
            assert stream.event()["method"] == "notifications/resources/updated"
            assert server.status()["calls"] == 1 and http.is_open(0) and not http.data
            one.say(call, "mine")
            answer = http.answer()
            assert answer.headers["content-type"] == "application/json" and text_of(answer) == "mine"
            assert not stream.data and stream.is_open(0)


def test_F7_what_cannot_be_registered_is_left_out(server):
    with server.editor(tools=["good", "editors_list", "good"]) as editor:
        editor.notify("editor/register", {"prompts": [{"title": "x"}, {"name": "p"}, 7], "resources": [{"uri": "a:b"}],
                                          "resourceTemplates": "no"})
        editor.request("tests/sync", {})
        session = server.session()
        assert [tool["name"] for tool in session.request("tools/list").json["result"]["tools"]] == [
            "editors_list", "editor_select", "good"]
        assert session.request("prompts/list").json["result"]["prompts"] == [{"name": "p"}]
        assert session.request("resources/list").json["error"]["code"] == -32601
        server.expect("entry 1 of tools .editors_list. is not valid, or there twice")


def test_F7_editor_that_says_nonsense_is_answered(server):
    with server.editor() as editor:
        for text in ("{", "[]", '{"jsonrpc":"2.0","id":7,"method":3}'):
            editor.raw.text(text)
            assert editor.receive()["error"]["code"] in (-32700, -32600)
        for method, params in [("notifications/progress", {"call": 99, "progress": 1}), ("notifications/message", {}),
                               ("notifications/resources/updated", {}), ("editor/register", {})]:
            editor.notify(method, params)
        for method in ("sampling/createMessage", "elicitation/create", "roots/list"):
            assert editor.request(method, {"call": 99})["error"]["code"] == -32602
        assert editor.request("editor/hello", {"protocol": 1})["error"]["code"] == -32600
        editor.send(id=12345, result={})
        assert editor.request("tests/sync", {})["error"]["code"] == -32601


def test_F7_what_editors_say_makes_no_lines_in_the_log(server):
    """A project's name, a tool's, and the reason to go may be anything; the log stays what it is."""
    line = "\n2026-01-01T00:00:00.000Z launcher the server failed\x1b[31m"
    with server.editor(project="Game" + line, tools=["tool" + line, "tool" + line]) as editor:
        editor.raw.frame(FIN | CLOSE, close_payload(1000, "bye" + line))
        assert editor.raw.receive_close()[0] == 1000
        server.expect("is gone: .*bye")
    assert [line for line in server.output.splitlines() if not line.startswith("tether serve: ")] == []
    assert "\x1b" not in server.output and "the server failed" in server.output


@both
def test_F7_result_that_is_none(server, era):
    with call_ready(server, era) as (editor, http):
        editor.send(id=editor.at["id"], result=[1])
        assert http.answer().json["result"]["isError"]


# ---- changes -----------------------------------------------------------------------------------

def listen(server, **wanted):
    http = server.modern_begin("subscriptions/listen", {"notifications": wanted}, ident="sub")
    assert http.head()[1]["content-type"] == "text/event-stream"
    first = http.event()
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"] == {"notifications": wanted, "_meta": {"io.modelcontextprotocol/subscriptionId": "sub"}}
    return http


def test_F7_changes_are_told(server):
    """Each to those who want to know, once, and only real ones."""
    with server.editor(prompts=[{"name": "q"}]) as before:
        before.request("tests/sync", {})
    session = server.session()
    with session.stream() as stream, listen(server, toolsListChanged=True) as tools, \
            listen(server, promptsListChanged=True) as prompts:
        # Who listens may have listened to the last server: since then there was an editor.
        assert tools.event()["method"] == "notifications/tools/list_changed"
        assert prompts.event()["method"] == "notifications/prompts/list_changed"
        with server.editor(tools=("echo", "more")) as editor:
            assert stream.event()["method"] == "notifications/tools/list_changed"
            assert stream.event()["method"] == "notifications/prompts/list_changed"
            assert tools.event()["method"] == "notifications/tools/list_changed"
            assert prompts.event()["method"] == "notifications/prompts/list_changed"
            editor.notify("editor/register", {"tools": [tool("echo"), tool("more")]})
            editor.notify("editor/register", {"prompts": [{"name": "p"}]})
            assert stream.event()["method"] == "notifications/prompts/list_changed"
            event = prompts.event()
            assert event["method"] == "notifications/prompts/list_changed"
            assert event["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "sub"}
        wait_until(lambda: not server.status()["editors"], "the editor is gone")
        assert stream.is_open(0) and not stream.data  # what it offered stays listed
        assert tools.is_open(0) and not tools.data


@both
def test_F7_what_was_registered_is_promised_and_nothing_else(server, era):
    """Tools always, since editors come later; the rest once an editor has registered it, and as far as it has."""
    def promised():
        if era == "legacy":
            return server.session().answer.json["result"]["capabilities"]
        return server.modern("server/discover").json["result"]["capabilities"]

    tools, changes = {"tools": {"listChanged": True}}, {"listChanged": True}
    assert promised() == tools
    with server.editor() as editor:
        assert promised() == tools
        for registered, more in [({"resourceTemplates": [{"uriTemplate": "a:{b}", "name": "a"}]}, {"resources": changes}),
                                 ({"prompts": [{"name": "p"}]}, {"prompts": changes}),
                                 ({"capabilities": {"resources": {"subscribe": True}}},
                                  {"resources": {"subscribe": True, "listChanged": True}}),
                                 ({"capabilities": {"logging": {}}}, {"logging": {}}),
                                 ({"capabilities": {"completions": {}}}, {"completions": {}})]:
            editor.notify("editor/register", registered)
            editor.request("tests/sync", {})
            tools.update(more)
            assert promised() == tools
    assert promised() == tools  # the editor may come back


def test_F7_what_was_not_promised_is_not_told(server):
    """A client that was there before gets what it asks for, and hears only of what it was promised."""
    early = server.session()
    with early.stream() as stream, server.modern_begin("subscriptions/listen", {"notifications": {
            "toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": ["a:b"]}}) as listening:
        assert listening.head()[0] == 200
        assert listening.event()["params"]["notifications"] == {"toolsListChanged": True}
        for method, params in (("resources/subscribe", {"uri": "a:b"}), ("logging/setLevel", {"level": "debug"})):
            assert early.request(method, params).json["error"]["code"] == -32601
        with server.editor(prompts=[{"name": "p"}], capabilities=EVERYTHING) as editor:
            assert early.request("prompts/list").json["result"]["prompts"] == [{"name": "p"}]
            editor.notify("notifications/message", {"level": "error", "data": "x"})
            late = server.session()
            with late.stream() as other:
                editor.notify("notifications/message", {"level": "error", "data": "y"})
                assert other.event()["params"]["data"] == "y"
        for http in (stream, listening):  # the editor came; that it went changes nothing
            assert http.event()["method"] == "notifications/tools/list_changed"
            assert not http.data and http.is_open(0)


def test_F7_who_cannot_tell_of_changes_is_not_asked_to(server):
    with server.editor(pid=1, capabilities=EVERYTHING) as able, server.editor(pid=2, capabilities={"resources": {}}) as other:
        session = server.session()
        other.notify("editor/active")
        assert other.is_silent()
        assert session.request("resources/subscribe", {"uri": "a:b"}).json["result"] == {}
        assert other.is_silent()
        able.notify("editor/active")
        assert able.call("resources/subscribe")["params"]["uri"] == "a:b"


def test_F7_resources_that_are_watched(server):
    """The editor watches what somebody wants to hear of, as long as somebody does."""
    editor = server.editor(capabilities=EVERYTHING)
    session = server.session()
    with editor, session.stream() as stream:
        assert session.request("resources/subscribe", {"uri": "a:b"}).json["result"] == {}
        assert editor.call("resources/subscribe")["params"]["uri"] == "a:b"
        with listen(server, resourceSubscriptions=["a:b", "a:c"]) as http:
            assert editor.call("resources/subscribe")["params"]["uri"] == "a:c"
            for uri in ("a:b", "a:c", "a:d"):
                editor.notify("notifications/resources/updated", {"uri": uri})
            assert [http.event()["params"]["uri"], http.event()["params"]["uri"]] == ["a:b", "a:c"]
            assert stream.event() == {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "a:b"}}
        assert editor.call("resources/unsubscribe")["params"]["uri"] == "a:c"
        with server.editor(pid=2, capabilities=EVERYTHING) as other:
            other.notify("editor/active")
            assert other.call("resources/subscribe")["params"]["uri"] == "a:b"
        assert editor.call("resources/subscribe")["params"]["uri"] == "a:b"
        assert session.request("resources/unsubscribe", {"uri": "a:b"}).json["result"] == {}
        assert editor.call("resources/unsubscribe")["params"]["uri"] == "a:b"


# ---- sessions ----------------------------------------------------------------------------------

def test_F7_sessions(server):
    session = server.session()
    assert session.answer.json["result"]["protocolVersion"] == "2025-11-25"
    assert session.send({"method": "notifications/initialized"}).status == 202
    assert session.request("ping", MCP_Protocol_Version="2025-06-18").json["result"] == {}
    assert session.request("ping", MCP_Protocol_Version="1999-01-01").status == 400
    with server.http_connection() as http:
        http.send("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n"
                  "MCP-Protocol-Version: 1999-01-01\r\n\r\n" % session.id)
        assert http.answer().status == 400
    with session.stream() as old, session.stream() as new:
        assert old.chunk() == b""  # a session has one stream, the newest
        with server.http_connection() as http:
            http.send("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: %s\r\n\r\n" % session.id)
            assert http.answer().status == 204
        assert new.chunk() == b""
    assert session.request("ping").status == 404
    forged = server.session()
    forged.id = forged.id[:-1] + ("0" if forged.id[-1] != "0" else "1")
    assert forged.request("ping").status == 404


def test_F7_what_clients_say_of_themselves_is_kept_only_if_it_is_small(server):
    """A session's memory does not depend on how much its client says when it begins."""
    with server.editor() as editor:
        for padding, client in (("", {"name": "tests", "version": "1"}), ("x" * 5000, None)):
            with server.http_connection() as http:
                http.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                    "protocolVersion": "2025-11-25", "capabilities": {"roots": {}, padding + "x": {}},
                    "clientInfo": {"name": "tests", "version": "1" + padding}}})
                ident = http.answer().headers["mcp-session-id"]
            with server.http_connection() as http:
                http.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}}, Mcp_Session_Id=ident)
                call = editor.call()
                assert call["params"]["context"]["client"] == client
                assert call["params"]["context"]["capabilities"].pop("roots") == {}
                assert len(call["params"]["context"]["capabilities"]) == (0 if padding else 1)
                editor.say(call, "done")
                assert http.answer().status == 200
    with server.editor(capabilities=EVERYTHING):
        answer = server.session().request("resources/subscribe", {"uri": "a:" + "b" * 5000}).json
        assert "too long" in answer["error"]["message"]


def test_F7_what_the_modern_era_does_not_have(server):
    for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"):
        answer = server.modern(method)
        assert answer.status == 404 and answer.json["error"]["code"] == -32601
    for method in ("GET", "DELETE"):
        with server.http_connection() as http:
            http.send("%s /mcp HTTP/1.1\r\nHost: localhost\r\nMCP-Protocol-Version: %s\r\n\r\n" % (method, MODERN))
            assert http.answer().status == 405
    with server.http_connection() as http:
        http.post({"jsonrpc": "2.0", "id": 1, "result": {}}, MCP_Protocol_Version=MODERN)
        assert http.answer().status == 400
