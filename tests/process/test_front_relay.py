"""What `tether mcp` hands on, in both directions, while nothing goes wrong. Rows E5, E8."""
import json

import pytest

from front import LEGACY, MODERN, Scene, text_of
from harness import system


@pytest.fixture
def scene(state_dir):
    with Scene(state_dir) as made:
        yield made


def test_the_first_answer_comes_from_the_server_it_started(scene):
    front = scene.start()
    result = front.initialize()
    assert result["serverInfo"]["name"] == "stub" and result["protocolVersion"] == LEGACY
    assert text_of(front.call("echo", text="größer")) == json.dumps({"text": "größer"})
    state = scene.status()
    assert state["owner"]["pid"] == front.pid and state["owner"]["alive"]
    assert [(s["role"], s["pid"]) for s in state["sessions"]] == [("front", front.pid)]


@pytest.mark.parametrize("line", [
    '{"method":"tools/list","jsonrpc":"2.0","id":"first"}',
    ' { "id" : 1.0e2 , "jsonrpc":"2.0","method":"tools\\/list" ,"params":{"x":"\\ud83d\\u00e9 \\u0000","y":[[],{}]}}  ',
    '{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping","big":1e999,"half":"\\ud83d"}',
    '{"jsonrpc":"2.0","id":"ü","method":"ping","params":{"_meta":{"x":1}},"twice":1,"twice":2}',
    '{"jsonrpc":"2.0","method":"notifications/unknown","params":{"größer":"日本語 😀"}}',
    '{"jsonrpc":"2.0","id":7,"result":{}}',
], ids=["request", "spaces", "numbers", "text", "notification", "response"])
def test_E8_a_first_line_that_is_not_a_hello_passes_untouched(state_dir, line):
    with Scene(state_dir, env={"STUB_STRICT": ""}) as scene:
        front = scene.start()
        front.send_bytes(line.encode() + b"\r\n")
        event = scene.observer.expect(event="request")
        assert event["body"].encode("latin-1") == line.encode()
        assert "mcp-session-id" not in event["headers"]
        if '"id"' in line and "result" not in line:
            wanted = json.loads(line)["id"]
            assert front.wait_for(lambda m: m.get("id") == wanted)["result"] is not None


def test_the_head_of_a_session_says_session_and_version(scene):
    front = scene.start()
    front.initialize("2025-06-18")
    begun = scene.observer.expect_call("initialize")["headers"]
    assert "mcp-session-id" not in begun and "mcp-protocol-version" not in begun
    assert begun["content-type"] == "application/json"
    assert begun["accept"] == "application/json, text/event-stream"
    front.ask("ping")
    told = scene.observer.expect_call("notifications/initialized")["headers"]
    asked = scene.observer.expect_call("ping")["headers"]
    assert told["mcp-session-id"] == asked["mcp-session-id"] and len(asked["mcp-session-id"]) == 32
    assert asked["mcp-protocol-version"] == "2025-06-18"
    assert "mcp-method" not in asked


@pytest.mark.parametrize("method,named", [
    ("tools/call", {"name": "echo"}), ("resources/read", {"uri": "test://日本/é"}),
    ("resources/read", {"uri": " spaces "}), ("resources/read", {"uri": "=?base64?aGVsbG8=?="}),
    ("resources/read", {"uri": "a\r\nX-Evil: 1"}), ("tools/list", {}), ("server/discover", {})])
def test_the_head_of_a_stateless_request_is_made_from_the_message(scene, method, named):
    """The stub compares head and body as the protocol says."""
    front = scene.start()
    answer = front.ask(method, dict(MODERN, **named))
    assert "result" in answer, answer
    headers = scene.observer.expect_call(method)["headers"]
    assert headers["mcp-method"] == method and "x-evil" not in headers


def test_requests_of_the_server_are_answered_by_the_client(scene):
    front = scene.start()
    front.initialize()
    call = front.begin_call("ask")
    asked = front.notification("sampling/createMessage")
    front.send(id=asked["id"], result={"model": "größer"})
    assert json.loads(text_of(front.answer(call)))["result"] == {"model": "größer"}


def test_what_the_server_says_on_its_own_account_comes_by_its_stream(scene):
    front = scene.start()
    front.initialize()
    scene.observer.expect(event="stream")
    while text_of(front.call("announce")) != "announced to 1":
        pass  # it tells of the stream a moment before it serves it
    assert front.notification("notifications/message")["params"] == {"data": "stream"}


def test_a_server_without_a_stream_of_its_own_is_asked_once(state_dir):
    with Scene(state_dir, env={"STUB_NO_STREAM": "1"}) as scene:
        front = scene.start()
        front.initialize()
        scene.observer.expect(event="request", method="GET")
        for _ in range(3):
            front.ask("ping")
        assert [e for e in scene.observer.rest() if e.get("method") == "GET"] == []


@pytest.mark.parametrize("size", [1, 2, 3, 7, 4096])
def test_E5_streams_may_be_cut_anywhere(scene, size):
    front = scene.start()
    front.initialize()
    call = front.begin_call("split", size=size)
    assert front.notification("notifications/progress")["params"]["message"] == "größer 😀"
    assert text_of(front.answer(call)) == "€ 日本語 😀"


def test_E5_lines_may_be_cut_anywhere(scene):
    front = scene.start()
    front.initialize()
    line = json.dumps({"jsonrpc": "2.0", "id": 900, "method": "tools/call",
                       "params": {"name": "echo", "arguments": {"text": "é€😀"}}}, ensure_ascii=False)
    for byte in line.encode() + b"\n":
        front.send_bytes(bytes([byte]))
    assert json.loads(text_of(front.answer(900))) == {"text": "é€😀"}


def test_an_answer_on_several_lines_is_one_line(scene):
    front = scene.start()
    front.initialize()
    assert text_of(front.call("pretty")) == "a\nb"
    assert front.raw[-1].count(b"\n") == 1 and b"\r" not in front.raw[-1]


def test_an_answer_that_comes_in_parts_is_fetched(scene):
    front = scene.start()
    front.initialize()
    assert text_of(front.call("parts")) == "the rest"


def test_200_requests_in_flight_are_answered_each_once(scene):
    front = scene.start()
    front.initialize()
    calls = [front.begin_call("wait", seconds=0.2) for _ in range(100)]
    pings = [front.begin("ping") for _ in range(100)]
    for request in pings + calls:
        assert "result" in front.answer(request)
    front.ask("ping")
    assert [m for m in front.messages if "id" in m] == []


def test_what_is_under_way_is_limited_but_not_what_it_waits_for(scene):
    """The client's answer to the server's question passes by requests that wait for their turn."""
    front = scene.start()
    front.initialize()
    call = front.begin_call("ask")
    asked = front.notification("sampling/createMessage")
    hanging = [front.begin_call("hang") for _ in range(130)]
    for _ in range(127):
        front.notification("notifications/progress")
    ping = front.begin("ping")
    front.send(id=asked["id"], result={})
    assert "result" in front.answer(call)
    front.notification("notifications/progress")
    front.send(method="notifications/cancelled", params={"requestId": ping})
    for request in hanging[:3]:
        front.send(method="notifications/cancelled", params={"requestId": request})
        scene.observer.expect(event="hang-up", id=request)
    assert front.ask("ping")["result"] == {}
    assert [m for m in front.messages if m.get("id") == ping] == []


def test_what_is_no_message_is_refused_and_nothing_else_suffers(scene):
    front = scene.start()
    front.initialize()
    for line, code, known in [(b"hello", -32700, None), (b'{"id":5,', -32700, None), (b"[1,2]", -32600, None),
                              (b'"text"', -32600, None), (b'{"id":77}', -32600, 77), (b"{}{}", -32700, None),
                              (b'{"id":"x","method":5}', -32600, "x"), (b'{"id":{},"method":"ping"}', -32600, None),
                              (b"[" * 2000, -32700, None), (b'{"id":1,"method":"a\tb"}', -32700, None),
                              (b'{"a":01}', -32700, None), (b'{"a":tru}', -32700, None)]:
        front.send_bytes(line + b"\n")
        error = front.wait_for(lambda m: "error" in m)
        assert error["error"]["code"] == code and error["id"] == known, line
    front.send_bytes(b"\n\r\n")
    assert front.ask("ping")["result"] == {}


@pytest.mark.parametrize("last", [True, False], ids=["id-last", "id-first"])
def test_a_line_beyond_the_limit_is_answered_under_its_id(scene, last):
    front = scene.start()
    front.initialize()
    big = {"method": "tools/call", "params": {"name": "echo", "arguments": {"x": "é" * (3 << 20)}}}
    message = dict(big, id="big") if last else dict({"id": "big"}, **big)
    front.send_bytes(json.dumps(message, ensure_ascii=False).encode() + b"\n")
    error = front.answer("big")["error"]
    assert error["code"] == -32600 and "4 MiB" in error["message"]
    front.send_bytes(b"x" * (5 << 20) + b"\n")
    assert front.answer(None)["error"]["code"] == -32700
    almost = "x" * ((4 << 20) - 200)
    assert len(text_of(front.call("echo", x=almost))) > len(almost)


@pytest.mark.parametrize("tool,code,words", [
    ("wrong_id", -32000, "HTTP 200"), ("null_id", -32602, "no"), ("null_id_in_stream", -32602, "no"),
    ("html", -32000, "HTTP 502"), ("nothing", -32000, "HTTP 202"),
    ("garbage", -32000, "HTTP"), ("empty_stream", -32000, "lost")])
def test_E6_every_request_has_an_end_whatever_the_server_answers(scene, tool, code, words):
    front = scene.start()
    front.initialize()
    error = front.call(tool)["error"]
    assert error["code"] == code and words in error["message"], error
    assert front.ask("ping")["result"] == {}


def test_E6_one_request_is_not_answered_in_the_place_of_another(scene):
    front = scene.start()
    front.initialize()
    scene.observer.expect(event="stream")
    waiting = front.begin_call("wait", seconds=0.5)
    assert text_of(front.call("impostor", id=waiting)) == "mine"
    assert text_of(front.answer(waiting)) == "waited"
    front.ask("ping")
    assert [m for m in front.messages if "result" in m] == []


def test_a_cancelled_request_of_a_session_is_told_to_the_server(scene):
    front = scene.start()
    front.initialize()
    call = front.begin_call("hang")
    front.notification("notifications/progress")
    front.send(method="notifications/cancelled", params={"requestId": call})
    told = scene.observer.expect_call("notifications/cancelled")
    assert told["message"]["params"]["requestId"] == call
    scene.observer.expect(event="hang-up", id=call)
    front.ask("ping")
    assert [m for m in front.messages if m.get("id") == call] == []


def test_a_cancelled_stateless_request_is_cancelled_by_closing(scene):
    front = scene.start()
    call = front.begin("tools/call", dict(MODERN, name="hang"))
    front.notification("notifications/progress")
    front.send(method="notifications/cancelled", params={"requestId": call})
    scene.observer.expect(event="hang-up", id=call)
    front.ask("tools/list", MODERN)
    assert [m for m in front.messages if m.get("id") == call] == []
    assert [e for e in scene.observer.rest() if "notifications/cancelled" in str(e.get("body"))] == []


def test_a_client_that_does_not_read_stops_the_server_not_the_memory(scene):
    front = scene.start(reading=False)
    front.send(id=1, method="initialize", params={"protocolVersion": LEGACY})
    front.send(method="notifications/initialized")
    front.send(id=2, method="tools/call", params={"name": "many", "arguments": {"count": 2000, "size": 50000}})
    scene.observer.expect_call("tools/call")
    with pytest.raises(Exception):
        scene.observer.expect(event="sent", limit=2)  # 100 MB do not fit anywhere
    assert system.resident_kb(front.pid) < 32 << 10
    front.reader.start()
    assert text_of(front.answer(2)) == "sent 2000"
    numbers = [m["params"]["data"]["n"] for m in front.messages if m and m.get("method") == "notifications/message"]
    assert numbers == list(range(2000))
