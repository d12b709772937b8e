"""F7: what an editor gave its client to bring back goes to that editor, and to nobody else."""
import pytest

from harness import free_ports
from served import Editor, Served

NEEDS = {"resultType": "input_required", "requestState": "step 1",
         "inputRequests": {"a": {"method": "roots/list", "params": {}}}}
ROOTS = {"roots": {}}
WHO = {  # the name or uri of each request that can come back, and what the editor has to offer for it
    "tools/call": {"name": "echo", "arguments": {"x": 1}},
    "prompts/get": {"name": "hello"},
    "resources/read": {"uri": "a://b"},
}
LISTS = {"prompts": [{"name": "hello"}], "capabilities": {"resources": {}}}
DONE = {"tools/call": {"content": [{"type": "text", "text": "done"}]},
        "prompts/get": {"messages": []}, "resources/read": {"contents": []}}


@pytest.fixture
def server():
    with Served() as server:
        yield server.ready()


def begin(server, method, **more):
    return server.modern_begin(method, dict(WHO[method], **more), capabilities=ROOTS)


def first_round(server, editor, method="tools/call"):
    """What the client of a request brings back when the editor has asked it for something."""
    with begin(server, method) as http:
        editor.answer(editor.call(method), NEEDS)
        first = http.answer().json["result"]
    assert first["resultType"] == "input_required"
    return {"requestState": first["requestState"], "inputResponses": {"a": {"roots": []}}}


def is_finished_by(editor, server, method, brought):
    with begin(server, method, **brought) as http:
        call = editor.call(method)
        assert call["params"]["requestState"] == "step 1"
        assert call["params"]["inputResponses"] == brought["inputResponses"]
        editor.answer(call, DONE[method])
        return "resultType" in http.answer().json["result"]


def refusal(server, method, brought):
    with begin(server, method, **brought) as http:
        answer = http.answer().json
    if method == "tools/call":
        assert answer["result"]["isError"]
        return answer["result"]["content"][0]["text"]
    assert answer["error"]["code"] == -32603
    return answer["error"]["message"]


def activate(editor):
    editor.notify("editor/active")
    editor.request("tests/sync", {})


@pytest.mark.parametrize("method", WHO)
def test_F7_what_one_editor_asked_for_does_not_go_to_another(server, method):
    """Also if the other one is active by now, has the same to offer, or has nothing of it."""
    for lists in (LISTS, {"tools": (), "prompts": []}):
        with server.editor(pid=1, **LISTS) as one, server.editor(pid=2, **lists) as two:
            activate(one)
            brought = first_round(server, one, method)
            activate(two)
            assert is_finished_by(one, server, method, brought)
            assert two.is_silent()


@pytest.mark.parametrize("method", WHO)
def test_F7_what_a_gone_editor_asked_for_goes_to_nobody(server, method):
    with server.editor(pid=2, **LISTS) as two:
        with server.editor(pid=1, **LISTS) as one:
            activate(one)
            brought = first_round(server, one, method)
        activate(two)
        assert "not connected any more" in refusal(server, method, brought)
        assert two.is_silent()
    assert "not connected any more" in refusal(server, method, brought)  # nor is anybody else


def test_F7_other_requests_cannot_use_it(server):
    """Another tool, other arguments, another method: a state is for one request."""
    with server.editor(pid=1, tools=("echo", "other"), **LISTS) as editor:
        brought = first_round(server, editor)
        tries = [("tools/call", {"name": "other"}), ("tools/call", {"arguments": {"x": 2}}),
                 ("prompts/get", {}), ("resources/read", {})]
        for method, changes in tries:
            with begin(server, method, **dict(brought, **changes)) as http:
                assert http.answer().json["error"]["code"] == -32602, (method, changes)
        assert editor.is_silent()
        assert is_finished_by(editor, server, "tools/call", brought)


def test_F7_editor_that_connects_anew_is_the_same():
    """It is known by its process: after a restart of the server, too. Another process is not, whatever
    its pid; an editor that does not say which process it is, is its connection."""
    ports = free_ports()
    with Served(ports=ports) as server:
        server.ready()
        with server.editor(pid=7) as editor:
            brought = first_round(server, editor)
        with server.editor(pid=7) as editor:
            assert is_finished_by(editor, server, "tools/call", brought)
        with server.editor(pid=7, start="2") as other:
            assert "not connected any more" in refusal(server, "tools/call", brought)
            assert other.is_silent()
        with server.editor(pid=0) as nameless:
            its = first_round(server, nameless)
            assert is_finished_by(nameless, server, "tools/call", its)
        with server.editor(pid=0) as nameless:
            assert "not connected any more" in refusal(server, "tools/call", its)
    with Served(ports=ports) as server:
        server.ready()
        with Editor(server.ws, pid=8) as other:
            assert "not connected any more" in refusal(server, "tools/call", brought)
            with Editor(server.ws, pid=7) as editor:
                assert is_finished_by(editor, server, "tools/call", brought)
            assert other.is_silent()


def parked(server, editor):
    """A call that waits for its client; and what the client brings back."""
    with begin(server, "tools/call") as http:
        call = editor.call()
        editor.send(id="ask", method="roots/list", params={"call": call["id"]})
        first = http.answer().json["result"]
    (key,) = first["inputRequests"]
    return call, {"requestState": first["requestState"], "inputResponses": {key: {"roots": []}}}


def test_F7_waiting_call_goes_on_at_its_editor(server):
    with server.editor(pid=1) as one, server.editor(pid=2, tools=()) as two:
        activate(one)
        call, brought = parked(server, one)
        activate(two)
        with begin(server, "tools/call", **brought) as http:
            assert one.receive()["result"] == {"roots": []}
            one.say(call, "done")
            assert http.answer().json["result"]["content"][0]["text"] == "done"
        assert two.is_silent()


def test_F7_call_of_the_server_before_is_not_taken_for_another():
    ports = free_ports()
    calls = []
    for _ in range(2):
        with Served(ports=ports) as server, server.ready().editor() as editor:
            calls.append(parked(server, editor))
            with begin(server, "tools/call", **calls[0][1]) as http:
                if len(calls) == 1:
                    assert editor.receive()["result"] == {"roots": []}
                else:
                    assert http.answer().json["error"]["code"] == -32602
                    assert editor.is_silent()
    assert calls[0][0]["id"] == calls[1][0]["id"]
