"""F7: the limits of the built-in server: the last that is let in, the first that is not, and who makes room."""
import contextlib
import json
import os
import select
import signal
import subprocess
import sys

import pytest

from harness import kill, system
from served import BOTH, EVERYTHING, META, MODERN, TOKEN, Http, Served
from websocket import FIN, TEXT, frame, request

SANITIZED = "TETHER_PROGRAM" in os.environ  # which needs more memory and time
HEADERS, CONNECTIONS, SESSIONS, SUBSCRIPTIONS, PARAMETERS, EDITORS = 16 * 1024, 256, 128, 256, 16, 32


@pytest.fixture
def server():
    with Served() as server:
        yield server.ready()


def get(server, *headers, method="GET", path="/status"):
    lines = ["%s %s HTTP/1.1" % (method, path), "Host: localhost:%d" % server.http, *headers]
    return "\r\n".join(lines) + "\r\n\r\n"


@pytest.mark.parametrize("size, status", [(HEADERS, 200), (HEADERS + 1, 431)])
def test_F7_head_of_exactly_the_limit(server, size, status):
    """What counts is the path, and of each header the name, the value and 4 for what is around them."""
    rest = len("/status") + len("Host") + len("localhost:%d" % server.http) + 4 + len("X") + 4
    with server.http_connection() as http:
        http.send(get(server, "X: " + "a" * (size - rest)))
        assert http.answer().status == status


@pytest.mark.parametrize("count, status", [(PARAMETERS, 200), (PARAMETERS + 1, 400)])
def test_F7_headers_for_parameters(server, count, status):
    with server.http_connection() as http:
        http.send(get(server, *("Mcp-Param-P%d: x" % number for number in range(count))))
        assert http.answer().status == status


def listen(server):
    """A stream that stays: nobody pushes it out."""
    http = server.modern_begin("subscriptions/listen", {"notifications": {}})
    assert http.head()[0] == 200
    return http


def test_F7_one_connection_too_many(server):
    """The oldest that has nothing to do makes room."""
    session = server.session()
    open_now = []
    with server.editor() as editor, session.begin("tools/call", {"name": "echo"}) as calling:
        call = editor.call()
        try:
            for _ in range(CONNECTIONS - 1):
                open_now.append(server.http_connection())
                open_now[-1].send(get(server))
                assert open_now[-1].answer().status == 200
            assert open_now[0].is_open(0)
            with server.http_connection() as newcomer:
                newcomer.send(get(server))
                assert newcomer.answer().status == 200
                open_now[0].wait_closed()
                assert all(http.is_open(0) for http in open_now[1:])
        finally:
            for http in open_now:
                http.close()
        editor.say(call, "was there all the time")
        assert calling.answer().json["result"]["content"][0]["text"] == "was there all the time"


def unread(port):
    """How much the server has written that the system holds for clients who do not read it."""
    with open("/proc/net/tcp") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    return max(int(row[4].split(":")[0], 16) for row in rows if int(row[1].split(":")[1], 16) == port)


def test_L5_who_pipelines_and_does_not_read_is_stopped_early(server):
    """What the system would take for one of them is answers to a hundred thousand requests."""
    with server.http_connection() as http:
        http.socket.setblocking(False)
        # A server that had no time so far has not written anything either.
        while select.select([], [http.socket], [], 0.5)[1] or not unread(server.http):
            with contextlib.suppress(BlockingIOError):
                http.send(get(server) * 100)
        assert 0 < unread(server.http) <= 256 * 1024
    with server.http_connection() as newcomer:
        newcomer.send(get(server))
        assert newcomer.answer().status == 200


def test_L5_requests_without_their_bodies_shut_nobody_out(server):
    """Those that have waited longest for the rest make room."""
    waiting = []
    with contextlib.ExitStack() as stack:
        for _ in range(CONNECTIONS + 44):
            waiting.append(stack.enter_context(server.http_connection()))
            waiting[-1].send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n")
        for _ in range(3):
            assert server.status()["pid"] == server.pid
        waiting[-1].send(b"12345")
        assert waiting[-1].answer().status != 503  # the last of them is still heard


def test_F7_one_stream_too_many(server):
    """If all have something to do, the newcomer is told so, until one of them has gone."""
    with contextlib.ExitStack() as streams, server.editor() as editor:
        for _ in range(CONNECTIONS - 1):
            streams.enter_context(listen(server))
        with server.modern_begin("tools/call", {"name": "echo"}):
            call = editor.call()
            with server.http_connection() as newcomer:
                assert newcomer.answer().status == 503
                newcomer.wait_closed()
        # Only what the server has heard of has gone.
        assert editor.call("notifications/cancelled")["params"]["call"] == call["id"]
        streams.enter_context(listen(server))


def test_F7_one_session_too_many(server):
    """The one that has been unused for longest is forgotten, but not while it waits for an answer."""
    with server.editor() as editor:
        calling, used, unused = server.session(), server.session(), server.session()
        http, kept, ended = calling.begin("tools/call", {"name": "echo"}), used.stream(), unused.stream()
        call = editor.call()
        for _ in range(SESSIONS - 3):
            server.session()
        assert server.status()["sessions"] == SESSIONS and kept.is_open(0) and ended.is_open(0)
        assert used.request("ping").json["result"] == {}
        server.session()
        assert ended.chunk() == b"" and server.status()["sessions"] == SESSIONS
        assert kept.is_open(0) and server.status()["calls"] == 1
        editor.say(call, "still here")
        assert http.answer().json["result"]["content"][0]["text"] == "still here"
        assert unused.request("ping").json["result"] == {}  # its id is as good as before


def test_F7_subscriptions_have_a_limit(server):
    with server.editor(capabilities=EVERYTHING):  # what was offered stays known
        session = server.session()
    with server.http_connection() as http:
        for number in range(SUBSCRIPTIONS + 1):
            http.post({"jsonrpc": "2.0", "id": number, "method": "resources/subscribe", "params": {"uri": "a:%d" % number}},
                      Mcp_Session_Id=session.id)
        answers = [http.answer().json for _ in range(SUBSCRIPTIONS + 1)]
    assert all(answer.get("result") == {} for answer in answers[:-1])
    assert "too many subscriptions" in answers[-1]["error"]["message"]
    wanted = ["a:%d" % number for number in range(SUBSCRIPTIONS + 10)]
    with server.modern_begin("subscriptions/listen", {"notifications": {"resourceSubscriptions": wanted}}) as http:
        http.head()
        assert len(http.event()["params"]["notifications"]["resourceSubscriptions"]) == SUBSCRIPTIONS


def test_F7_events_that_nobody_fetches_have_a_limit(server):
    """Whoever asks for a stream and does not read it loses it; the editor is not held up, and nothing grows."""
    editor = server.editor(capabilities=EVERYTHING)
    session = server.session()
    text = json.dumps({"jsonrpc": "2.0", "method": "notifications/message",
                       "params": {"level": "error", "data": "x" * (1 << 20)}}).encode()
    unmasked = frame(FIN | TEXT, key=b"\0\0\0\0", length=len(text)) + text
    with editor, session.stream() as stream:
        before = system.resident_kb(server.pid)
        for _ in range(40):
            editor.raw.send(unmasked)
        editor.request("tests/sync", {})
        assert system.resident_kb(server.pid) < before + 24 * 1024 or SANITIZED
        with pytest.raises((EOFError, ConnectionResetError)):
            while True:
                stream.event()


def test_F7_one_editor_too_many(server):
    """Those that do not finish their handshake push out each other, and no editor."""
    with server.editor() as editor:
        waiting = [Http(server.ws) for _ in range(40)]
        waiting[0].wait_closed()
        assert waiting[-1].is_open(0)
        more = [server.editor(pid=number) for number in range(1, EDITORS)]
        assert len(server.status()["editors"]) == EDITORS
        with Http(server.ws) as refused:
            refused.send(request(server.ws, token=TOKEN))
            assert refused.until(b"\r\n").startswith(b"HTTP/1.1 503")
        assert editor.request("tests/sync", {})["id"]
        for one in more + waiting:
            one.close()


# ---- other users ---------------------------------------------------------------------------------

STRANGER = """import socket, sys
port, words, waits = int(sys.argv[1]), bytes.fromhex(sys.argv[2]), sys.argv[3] == "True"
peer = socket.create_connection(("127.0.0.1", port))
peer.sendall(words)
if waits:
    print(peer.recv(1000).split(b"\\r\\n")[0].decode())
peer.close()
"""


def as_stranger(port, words, waits=True):
    """What another user gets for an answer; one who does not wait for it closes at once."""
    words = words if isinstance(words, bytes) else words.encode()
    done = subprocess.run([sys.executable, "-S", "-E", "-c", STRANGER, str(port), words.hex(), str(waits)], user=65534,
                          cwd="/", capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tool_call(server):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "_meta": META}})
    return get(server, "Content-Type: application/json", "Accept: " + BOTH, "MCP-Protocol-Version: " + MODERN,
               "Mcp-Method: tools/call", "Mcp-Name: echo", "Content-Length: %d" % len(body), method="POST",
               path="/mcp") + body


@pytest.mark.skipif(os.getuid() != 0, reason="another user can be had by root only")
def test_F7_other_users_get_nothing_by_being_gone(server):
    """The system does not tell any more whose a connection was that is closed: it is nobody's then."""
    with server.editor() as editor:
        kill(server.pid, signal.SIGSTOP)
        assert as_stranger(server.http, tool_call(server), waits=False) == ""
        kill(server.pid, signal.SIGCONT)
        assert server.status()["calls"] == 0
        assert editor.request("tests/sync", {})["id"]  # and nothing came before it
        assert "403" in as_stranger(server.http, tool_call(server))


@pytest.mark.skipif(os.getuid() != 0, reason="another user can be had by root only")
def test_F7_other_users_are_no_editors(server):
    """Not even with the token."""
    assert "403" in as_stranger(server.ws, request(server.ws, token=TOKEN))
    kill(server.pid, signal.SIGSTOP)
    as_stranger(server.ws, request(server.ws, token=TOKEN), waits=False)
    kill(server.pid, signal.SIGCONT)
    assert server.status()["editors"] == []
    with server.editor() as editor:
        assert editor.hello["active"] and len(server.status()["editors"]) == 1


def test_F7_a_preflight_needs_no_token():
    """A browser sends none with it."""
    with Served(env={"TETHER_HTTP_TOKEN": "secret"}) as server, server.ready().http_connection() as http:
        http.send(get(server, "Origin: http://localhost:%d" % server.http, "Access-Control-Request-Method: POST",
                      method="OPTIONS", path="/mcp"))
        assert http.answer().status == 204
