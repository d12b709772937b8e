"""F7: the built-in server's HTTP, against clients that do what they should not."""
import json
import os
import signal
import socket
import struct
import subprocess
import sys

import pytest

from harness import kill, system
from scene import wait_asleep, wakeups
from served import Http, META, MODERN, Served

SANITIZED = "TETHER_PROGRAM" in os.environ  # which needs more memory and time
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
BODY = json.dumps(PING).encode()


@pytest.fixture
def server():
    with Served() as server:
        yield server.ready()


def get(server, path="/status", extra="", version="1.1", method="GET", host=None):
    host = "Host: %s\r\n" % (host or "127.0.0.1:%d" % server.http)
    return "%s %s HTTP/%s\r\n%s%s\r\n" % (method, path, version, host, extra)


# ---- what is wrong is refused ------------------------------------------------------------------

def post(*lines, body=b""):
    return ("POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + "".join(line + "\r\n" for line in lines) +
            "\r\n").encode() + body


MALFORMED = {
    "both lengths": post("Content-Length: 5", "Transfer-Encoding: chunked", body=b"0\r\n\r\n"),
    "both lengths, other order": post("Transfer-Encoding: chunked", "Content-Length: 5", body=b"0\r\n\r\n"),
    "two lengths": post("Content-Length: 5", "Content-Length: 6", body=b"abcdef"),
    "the same length twice": post("Content-Length: 5", "Content-Length: 5", body=b"abcde"),
    "list of lengths": post("Content-Length: 5, 5", body=b"abcde"),
    "signed length": post("Content-Length: +5", body=b"abcde"),
    "negative length": post("Content-Length: -5", body=b"abcde"),
    "length in hexadecimal": post("Content-Length: 0x5", body=b"abcde"),
    "huge length": post("Content-Length: 99999999999999999999999", body=b"abcde"),
    "chunked is not last": post("Transfer-Encoding: chunked, gzip", body=b"0\r\n\r\n"),
    "unknown encoding": post("Transfer-Encoding: gzip", body=b"abc"),
    "two encodings": post("Transfer-Encoding: gzip, chunked", body=b"0\r\n\r\n"),
    "blank before the colon": post("Transfer-Encoding : chunked", body=b"0\r\n\r\n"),
    "obscure encoding": post("Transfer-Encoding: xchunked", body=b"0\r\n\r\n"),
    "wrong chunk size": post("Transfer-Encoding: chunked", body=b"zz\r\nabc\r\n0\r\n\r\n"),
    "chunk longer than said": post("Transfer-Encoding: chunked", body=b"2\r\nabcdef\r\n0\r\n\r\n"),
    "folded line": post("X: a", " Content-Length: 5", body=b"abcde"),
    "bare line feeds": post("Content-Length: 0").replace(b"\r\n", b"\n"),
    "one bare line feed": post("X: a\nContent-Length: 5", body=b"abcde"),
    "bare carriage return": post("X: a\rContent-Length: 5", body=b"abcde"),
    "null in a value": post("X: a\0b", "Content-Length: 0"),
    "null in a kept value": post("Mcp-Session-Id: a\0b", "Content-Length: 0"),
    "line without a colon": post("what is this", "Content-Length: 0"),
    "two hosts": post("Host: localhost", "Content-Length: 0"),
    "two sessions": post("Mcp-Session-Id: a", "Mcp-Session-Id: b", "Content-Length: 0"),
    "no host": b"POST /mcp HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
    "no version": b"GET /status\r\n\r\n",
    "a later version": b"GET /status HTTP/2.0\r\nHost: localhost\r\n\r\n",
    "not http": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "a later protocol": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "unknown method": b"HACK /status HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


@pytest.mark.parametrize("what", MALFORMED)
def test_F7_malformed_requests_are_refused_and_end_the_connection(server, what):
    """Nothing behind the doubtful part is taken for a request."""
    with server.http_connection() as http:
        http.send(MALFORMED[what] + get(server).encode())
        answer = http.answer()
        assert 400 <= answer.status <= 505 and answer.headers["connection"] == "close", answer.body
        http.wait_closed()
        assert b"HTTP/1.1" not in http.data
    assert server.status()["pid"] == server.pid


@pytest.mark.parametrize("what", MALFORMED)
def test_F7_malformed_requests_are_refused_however_they_are_cut(server, what):
    """What came with one read is forgotten by the next, and must be refused all the same."""
    with server.http_connection() as http:
        http.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        words = MALFORMED[what]
        for piece in [words[at:at + 1] for at in range(len(words))] + [get(server).encode()]:
            try:
                http.send(piece)
            except OSError:
                break  # it has heard enough
            if not http.is_open(0.0005):
                break
        http.wait_closed()
        status = int(http.data.split()[1])
        assert http.data.count(b"Content-Length: ") == 1 and 400 <= status <= 505 and status != 408, http.data


@pytest.mark.parametrize("host, status", [
    ("localhost:%d", 200), ("127.0.0.1:%d", 200), ("[::1]:%d", 200), ("evil.example:%d", 403),
    ("localhost.evil.example:%d", 403), ("localhost:1", 403), ("127.0.0.1.nip.io", 403)])
def test_F7_host_must_be_ours(server, host, status):
    with server.http_connection() as http:
        http.send(get(server, host=host % server.http if "%" in host else host))
        assert http.answer().status == status


@pytest.mark.parametrize("origin, status", [
    ("http://127.0.0.1:%d", 200), ("http://127.0.0.2:%d", 403), ("http://[::1]:%d", 403), ("http://localhost:%d", 403),
    ("http://localhost:6274", 403), ("https://127.0.0.1", 403),
    ("http://evil.example", 403), ("null", 403), ("http://localhost.evil.example:%d", 403)])
def test_F7_pages_of_others_are_refused(server, origin, status):
    """Those of other users at the same port of another address of the loopback, too."""
    origin = origin % server.http if "%" in origin else origin
    with server.http_connection() as http:
        http.send(get(server, extra="Origin: %s\r\n" % origin))
        answer = http.answer()
        assert answer.status == status
        assert answer.headers.get("access-control-allow-origin") == (origin if status == 200 else None)


def test_F7_preflight(server):
    """A page of our own is told what it may send; one of another is refused."""
    with server.http_connection() as http:
        http.send(get(server, "/mcp", "Origin: http://127.0.0.1:%d\r\nAccess-Control-Request-Method: POST\r\n" %
                      server.http, method="OPTIONS"))
        answer = http.answer()
        assert answer.status == 204 and "POST" in answer.headers["access-control-allow-methods"]
        assert "Mcp-Session-Id" in answer.headers["access-control-allow-headers"]
        http.send(get(server, "/mcp", "Origin: https://evil.example\r\n", method="OPTIONS"))
        assert http.answer().status == 403
    with server.http_connection() as http:
        http.send(get(server, "/mcp", "Origin: http://localhost:3000\r\n", method="OPTIONS"))
        assert http.answer().status == 403


def test_F7_token_if_there_is_one():
    with Served(env={"TETHER_HTTP_TOKEN": "secret"}) as server:
        server.ready()
        for extra, status in [("", 401), ("Authorization: Bearer secre\r\n", 401), ("Authorization: Bearer secret\r\n", 200)]:
            with server.http_connection() as http:
                http.send(get(server, extra=extra))
                answer = http.answer()
                assert answer.status == status and ("www-authenticate" in answer.headers) == (status == 401)


@pytest.mark.skipif(os.getuid() != 0, reason="another user can be had by root only")
def test_F7_other_users_are_refused(server):
    script = ("import socket,sys\ns=socket.create_connection(('127.0.0.1',%d))\ns.sendall(%r)\n"
              "print(s.recv(1000).split()[1].decode())" % (server.http, get(server).encode()))
    done = subprocess.run([sys.executable, "-c", script], user=65534, capture_output=True, text=True, timeout=30, cwd="/")
    assert done.stdout.strip() == "403", done.stderr


def test_F7_answers_are_for_whoever_asked(server):
    """No cache keeps them, no browser guesses what they are, no page of another origin has them in it."""
    session = server.session()
    heads = [session.answer.headers, session.request("ping").headers, session.request("nothing").headers,
             session.send({"method": "notifications/initialized"}).headers]
    with session.stream() as stream:
        heads.append(stream.headers)
    for lines in (get(server), get(server, "/nowhere"), get(server, extra="Origin: http://evil.example\r\n"), "no HTTP\r\n\r\n"):
        with server.http_connection() as http:
            http.send(lines)
            heads.append(http.answer().headers)
    for head in heads:
        assert head["x-content-type-options"] == "nosniff" and "no-store" in head["cache-control"], head
        assert head["cross-origin-resource-policy"] == "same-origin"
    with Http(server.ws) as http:
        http.send("GET /editor HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % server.ws)
        assert http.answer().headers["x-content-type-options"] == "nosniff"


ROUTES = [
    ("GET", "/", 404), ("GET", "/mcp/", 404), ("PUT", "/mcp", 405), ("PATCH", "/status", 405), ("POST", "/status", 405),
    ("GET", "/status?a=b", 200), ("HEAD", "/status", 200), ("GET", "/mcp", 400), ("DELETE", "/mcp", 400),
    ("CONNECT", "/mcp", 405), ("TRACE", "/status", 405), ("GET", "//status", 404), ("GET", "/../status", 404)]


@pytest.mark.parametrize("method, path, status", ROUTES)
def test_F7_routes(server, method, path, status):
    with server.http_connection() as http:
        http.send(get(server, path, "Accept: text/event-stream\r\n", method=method))
        assert http.answer(to=method).status == status


@pytest.mark.parametrize("headers, status", [
    ({"Content_Type": "text/plain"}, 415), ({"Content_Type": None}, 415), ({"Accept": "text/html"}, 406),
    ({"Content_Type": "application/json; charset=utf-8"}, 400), ({"Accept": None}, 400),
    ({"Expect": "miracles"}, 417)])
def test_F7_what_is_said_about_the_body(server, headers, status):
    """400: it got as far as the missing session."""
    with server.http_connection() as http:
        http.post(PING, **headers)
        assert http.answer().status == status


@pytest.mark.parametrize("body, code", [
    (b"", -32700), (b"{", -32700), (b"[]", -32600), (b'{"jsonrpc":"2.0","id":1,"method":1}', -32600),
    (b'{"a":"\xff"}', -32700), (b"[" * 100000, -32700), (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600), (b"\0\0\0", -32700)])
def test_F7_what_is_no_message(server, body, code):
    with server.http_connection() as http:
        http.post(body)
        answer = http.answer()
        assert answer.status == 400 and answer.json["error"]["code"] == code
        http.send(get(server))
        assert http.answer().status == 200  # the connection is as good as before


# ---- limits ------------------------------------------------------------------------------------

def test_F7_headers_have_a_limit(server):
    for extra in ("X: %s\r\n" % ("a" * 20000), "X: a\r\n" * 5000, "X" * 20000 + ": a\r\n"):
        with server.http_connection() as http:
            http.send(get(server, extra=extra))
            assert http.answer().status == 431
    with server.http_connection() as http:
        http.send(get(server, "/" + "a" * 20000))
        assert http.answer().status == 431


def test_F7_bodies_have_a_limit(server):
    """Refused as soon as it shows: at the length that is announced, or at the chunk that is too much."""
    with server.http_connection() as http:
        http.post(b"", Content_Length=str(4 * 1024 * 1024 + 1))
        assert http.answer().status == 413
    with server.http_connection() as http:
        http.post(b"", Content_Length=None, Transfer_Encoding="chunked")
        try:
            for _ in range(100):
                http.send(b"10000\r\n" + b" " * 65536 + b"\r\n")
        except OSError:
            pass
        assert http.answer().status == 413
    with server.http_connection() as http:
        http.post(b" " * (4 * 1024 * 1024 - len(BODY)) + BODY)
        assert http.answer().status == 400  # heard to the end: there is no session


def test_F7_trailers_and_extensions_count(server):
    for tail in (b"0\r\n" + b"X: a\r\n" * 5000 + b"\r\n", b"1;" + b"a" * 20000 + b"\r\n"):
        with server.http_connection() as http:
            http.post(b"", Content_Length=None, Transfer_Encoding="chunked")
            try:
                http.send(tail)
            except OSError:
                pass
            assert http.answer().status == 431


def test_F7_trailers_change_nothing(server):
    """A header that comes behind the body was not checked with the others."""
    with server.http_connection() as http:
        http.post(b"", Content_Length=None, Transfer_Encoding="chunked")
        http.send(b"%x\r\n%s\r\n0\r\nHost: evil.example\r\nMcp-Session-Id: x\r\n\r\n" % (len(BODY), BODY))
        assert "missing" in http.answer().json["error"]["message"]


def test_F7_slow_clients_do_not_hurt_others(server):
    """Three hundred begin a request and go silent; others are served all the time."""
    slow = []
    try:
        for i in range(300):
            slow.append(socket.create_connection(("127.0.0.1", server.http)))
            slow[-1].sendall(b"POST /mcp HTTP/1.1\r\nHost: local" if i % 2 else b"")
            if i % 50 == 0:
                assert server.status()["pid"] == server.pid
        assert server.status()["pid"] == server.pid
        with server.http_connection() as http:
            http.post(PING)
            assert http.answer().status == 400
    finally:
        for connection in slow:
            connection.close()


def test_F7_those_that_are_refused_push_nobody_out(server):
    """However many they are, and though they stay: who is in the middle of a request gets its answer."""
    refused = []
    with server.http_connection() as honest:
        honest.send(get(server)[:-2])
        for _ in range(300):
            refused.append(server.http_connection())
            refused[-1].send(get(server, host="evil.example"))
            assert refused[-1].answer().status == 403
        honest.send("\r\n")
        assert honest.answer().status == 200
    for http in refused:
        http.close()


def reset(connection):
    """Ends a connection in a way that makes every further write to it an error: half closed, then reset."""
    connection.shutdown(socket.SHUT_WR)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def words_of(server, what):
    session = "Mcp-Session-Id: %s\r\n" % server.session().id
    if what == "nothing":
        return b""
    if what == "status":
        return get(server).encode()
    if what == "stream":
        return get(server, "/mcp", session + "Accept: text/event-stream\r\n").encode()
    method = "tools/list" if what == "list as stream" else "subscriptions/listen"
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {
        "_meta": META, "notifications": {"toolsListChanged": True, "resourceSubscriptions": ["a:b"]}}})
    return (get(server, "/mcp", "MCP-Protocol-Version: %s\r\nMcp-Method: %s\r\nAccept: text/event-stream\r\n"
                "Content-Type: application/json\r\nContent-Length: %d\r\n" % (MODERN, method, len(body)),
                method="POST") + body).encode()


@pytest.mark.parametrize("what", ["nothing", "status", "stream", "list as stream", "listen"])
def test_F7_clients_that_are_gone_before_their_answer_do_not_end_the_server(server, what):
    """Whoever connects and resets the connection, be it another user, ends nothing but the connection:
    on the port for editors, too."""
    words = words_of(server, what)
    for _ in range(3):
        with server.http_connection() as known:
            known.send(get(server))
            known.answer()
            kill(server.pid, signal.SIGSTOP)
            known.send(words)
            reset(known.socket)
        kill(server.pid, signal.SIGCONT)
        assert server.status()["pid"] == server.pid
        kill(server.pid, signal.SIGSTOP)
        for port in (server.http, server.ws):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(words)
                reset(connection)
        kill(server.pid, signal.SIGCONT)
        assert server.status()["pid"] == server.pid
    with server.editor(), server.http_connection() as http:  # whose tools are news to who listens
        http.post(PING)
        assert http.answer().status == 400
    server.kill(signal.SIGTERM)
    assert server.wait() == 0


def test_F7_a_client_that_does_not_read_does_not_grow_the_server(server):
    """It sends requests for ever and fetches no answer: it is stopped, not buffered for."""
    session = server.session()
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    one = ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: %s\r\n"
           "Content-Length: %d\r\n\r\n%s" % (session.id, len(body), body)).encode()
    before = system.resident_kb(server.pid)
    with server.http_connection() as http:
        http.socket.settimeout(0.5)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < 200 * 1024 * 1024:
                http.send(one * 100)
                sent += 100 * len(one)
        assert server.status()["pid"] == server.pid
        assert system.resident_kb(server.pid) < before + 4096 or SANITIZED


# ---- what is right is served, however it comes -----------------------------------------------------

def test_F7_pipelined_requests_are_answered_in_order(server):
    session = server.session()
    with server.http_connection() as http:
        for number in range(200):
            http.post(dict(PING, id=number), Mcp_Session_Id=session.id)
        http.send(get(server))
        for number in range(200):
            assert http.answer().json == {"jsonrpc": "2.0", "id": number, "result": {}}
        assert http.answer().json["pid"] == server.pid


def test_F7_a_slow_answer_keeps_the_order(server):
    """What is sent behind a call waits for it."""
    session = server.session()
    with server.editor() as editor, server.http_connection() as http:
        http.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}},
                  Mcp_Session_Id=session.id)
        http.post(dict(PING, id=2), Mcp_Session_Id=session.id)
        call = editor.call()
        assert server.status()["calls"] == 1 and http.is_open() and not http.data
        editor.say(call, "done")
        assert http.answer().json["id"] == 1 and http.answer().json["id"] == 2


@pytest.mark.parametrize("size", [1, 2, 7])
def test_F7_requests_in_pieces(server, size):
    session = server.session()
    head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: %s\r\n" % session.id
    chunked = head + "Transfer-Encoding: chunked\r\n\r\n"
    for byte in BODY.decode():
        chunked += "1\r\n%s\r\n" % byte
    with server.http_connection() as http:
        http.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for text in (head + "Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY.decode()), chunked + "0\r\n\r\n"):
            for start in range(0, len(text), size):
                http.send(text[start:start + size])
            assert http.answer().json == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_F7_continue_is_told_to_who_waits_for_it(server):
    with server.http_connection() as http:
        http.post(b"", Content_Length=str(len(BODY)), Expect="100-continue")
        assert http.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue"
        http.send(BODY)
        assert http.answer().status == 400


def test_F7_close_and_keep_alive(server):
    for text, stays in ((get(server), True), (get(server, extra="Connection: close\r\n"), False),
                        (get(server, version="1.0"), False),
                        (get(server, extra="Connection: keep-alive\r\n", version="1.0"), False)):
        with server.http_connection() as http:
            http.send(text)
            assert http.answer().status == 200
            if stays:
                http.send(text)
                assert http.answer().status == 200
            else:
                http.wait_closed()


def test_F7_stream_for_a_client_that_knows_no_chunks(server):
    """It ends with its connection."""
    body = json.dumps(dict(PING, method="tools/list"))
    lines = ("POST /mcp HTTP/1.0", "Host: localhost", "Content-Type: application/json", "Accept: text/event-stream",
             "Mcp-Session-Id: " + server.session().id, "Content-Length: %d" % len(body))
    with server.http_connection() as http:
        http.send("\r\n".join(lines) + "\r\n\r\n" + body)
        status, headers = http.head()
        assert status == 200 and headers["content-type"] == "text/event-stream" and headers["connection"] == "close"
        assert "transfer-encoding" not in headers
        http.wait_closed()
        event, data, end = http.data.decode().split("\n", 2)
        assert event == "event: message" and end == "\n" and json.loads(data.removeprefix("data: "))["result"]["tools"]


def test_F7_upgrades_are_passed_over(server):
    with server.http_connection() as http:
        http.send(get(server, extra="Connection: Upgrade\r\nUpgrade: h2c\r\n") + get(server))
        assert http.answer().status == 200 and http.answer().status == 200


def test_F7_a_client_that_half_closes_is_answered(server):
    with server.http_connection() as http:
        http.send(get(server))
        http.socket.shutdown(socket.SHUT_WR)
        assert http.answer().status == 200


def test_F7_no_growth_after_many_requests(server):
    """A hundred thousand requests, of sessions that nobody ends too."""
    session = server.session()
    with server.http_connection() as http:
        many = []
        for number in range(100):
            body = json.dumps(dict(PING, id=number, method=("ping", "tools/list", "nothing", "initialize")[number % 4],
                                   params={"protocolVersion": "2025-06-18", "cursor" if number % 8 == 1 else "x": "y"}))
            many.append("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        "Mcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s" % (session.id, len(body), body))
        batch = "".join(many).encode()

        def run(times):
            for _ in range(times):
                http.send(batch)
                for _ in range(100):
                    http.answer()

        run(20)
        before, fds = system.resident_kb(server.pid), system.open_count(server.pid)
        run(200)
        assert system.resident_kb(server.pid) <= before + 256 or SANITIZED
        assert system.open_count(server.pid) == fds


def test_F2_idle_server_does_not_wake_up(server):
    """Also with connections that wait for their next request."""
    with server.http_connection() as http, Http(server.ws) as other:
        http.send(get(server))
        http.answer()
        wait_asleep(server.pid)
        before = wakeups(server.pid)
        assert http.is_open(2) and other.socket
        assert wakeups(server.pid) == before
