"""F7: the editors' WebSocket endpoint against clients of others, and against what no client should do."""
import asyncio
import os
import select
import signal
import socket
import struct

import pytest

from harness import LIMIT, Process, kill, system
from scene import state_of, stays, wait_asleep, wait_until, wakeups
from websocket import (BINARY, CLOSE, FIN, PING, PONG, TEXT, TOKEN, Echo, Node, Raw, close_payload, frame,
                       node_modules, request)

websockets = pytest.importorskip("websockets")
needs_ws = pytest.mark.skipif(not node_modules(), reason="the npm package ws is not there")


@pytest.fixture
def echo():
    with Echo() as process:
        yield process


def run(steps):
    """Runs a coroutine with a limit."""
    return asyncio.run(asyncio.wait_for(steps, LIMIT))


# ---- clients of others ---------------------------------------------------------------------------

@needs_ws
def test_F7_the_package_ws(echo):
    with Node("client", echo.url, TOKEN) as node:
        node.expect("^open$")
        node.tell("send", text="hällo €")
        node.expect("^message 10 hällo €$")
        node.tell("parts", parts=["one \xe2", "\x82", "\xac two"])
        node.expect("^message 11 one € two$")
        node.tell("ping", text="are you there")
        node.expect("^pong are you there$")
        for count in (125, 126, 65535, 65536, 3000000):
            node.tell("fill", count=count)
            node.expect("^message %d nnn" % count)
        node.tell("close", code=4001, reason="bye €")
        node.expect("^close 4001 $")
        echo.expect("^close closed by the other side: 4001, bye €$")
    assert echo.finish() == 1


@needs_ws
def test_F7_the_package_ws_is_told_goodbye(echo):
    with Node("client", echo.url, TOKEN) as node:
        node.expect("^open$")
        node.tell("send", text="close 4002 that is enough")
        node.expect("^close 4002 that is enough$")
        echo.expect("^close closed by us: 4002, that is enough$")
    with Node("client", echo.url, TOKEN) as node:
        node.expect("^open$")
        node.tell("binary")
        node.expect("^close 1003 ")
    with Node("client", echo.url, TOKEN) as node:
        node.expect("^open$")
        node.tell("terminate")
        echo.expect("^close (the other side went away without a goodbye|the connection broke)$")
    assert echo.finish() == 3


@needs_ws
def test_F7_the_package_ws_is_refused(echo):
    for token, origin, status in (("wrong", None, 401), (TOKEN, "http://127.0.0.1:%d" % echo.port, 403)):
        with Node("client", echo.url, token, *([origin] if origin else [])) as node:
            node.expect("^refused %d$" % status)
    assert echo.finish() == 0


def python_client(echo, **options):
    return websockets.connect(echo.url, extra_headers={"Authorization": "Bearer " + TOKEN}, max_size=None, **options)


def test_F7_python_websockets(echo):
    async def steps():
        async with python_client(echo) as client:
            assert client.extensions == []
            await client.send("hällo €")
            assert await client.recv() == "hällo €"
            await client.send(["one ", "€", " two"])
            assert await client.recv() == "one € two"
            await (await client.ping(b"there?"))
            for count in (0, 125, 126, 65535, 65536, 3000000):
                await client.send("p" * count)
                assert await client.recv() == "p" * count
            await client.close(4001, "bye €")
            assert client.close_code == 4001
        async with python_client(echo) as client:
            await client.send("close 4002 that is enough")
            with pytest.raises(websockets.ConnectionClosed) as closed:
                await client.recv()
            assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4002, "that is enough")
    run(steps())
    echo.expect("^close closed by the other side: 4001, bye €$")
    assert echo.finish() == 2


def test_F7_python_websockets_is_refused(echo):
    async def refused(status, token, **options):
        with pytest.raises(websockets.InvalidStatusCode) as error:
            await websockets.connect(echo.url, extra_headers={"Authorization": "Bearer " + token}, **options)
        assert error.value.status_code == status
    run(refused(401, "wrong"))
    run(refused(403, TOKEN, origin="https://example.com"))
    assert echo.finish() == 0


# ---- who gets in ---------------------------------------------------------------------------------

@pytest.mark.parametrize("status, changes", [
    (401, {"token": None}), (401, {"token": TOKEN + "x"}), (401, {"token": TOKEN[:-1]}),
    (403, {"Origin": "null"}), (403, {"Host": "rebound.example.com"}), (403, {"Host": "127.0.0.1:1"}),
    (404, {"path": "/"}), (426, {"Sec_WebSocket_Version": "8"}), (426, {"Upgrade": None}),
    (400, {"Sec_WebSocket_Key": "short"}), (400, {"extra": [" folded"]}), (400, {"Host": None}),
    (431, {"Cookie": "x" * 9000}),
])
def test_F7_refusals_say_why(echo, status, changes):
    with Raw.connect(echo.port) as raw:
        raw.send(request(echo.port, **changes))
        head = raw.head()
        assert head.startswith("HTTP/1.1 %d " % status) and "\r\nConnection: close" in head, head
        length = int(head.split("Content-Length: ")[1].split("\r\n")[0])
        text = raw._take(length).decode()
        assert text.strip() and TOKEN not in head + text
        assert raw.at_end()
    assert echo.finish() == 0


def test_F7_request_in_pieces_with_a_frame_behind_it(echo):
    with Raw.connect(echo.port) as raw:
        whole = request(echo.port) + frame(FIN | TEXT, b"at once", raw.key)
        for i in range(len(whole)):
            raw.send(whole[i:i + 1])
        assert raw.head().startswith("HTTP/1.1 101 ")
        assert raw.receive_text() == "at once"
    assert echo.finish() == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a process of another user")
def test_F7_another_user_is_refused(echo):
    """Although it knows the token."""
    script = ("import os, socket; os.setgid(65534); os.setuid(65534); "
              "s = socket.create_connection(('127.0.0.1', %d)); s.sendall(%r); print(s.recv(1000))" %
              (echo.port, request(echo.port)))
    with Process(["/usr/bin/python3", "-c", script]) as other:
        other.expect("HTTP/1.1 403 Forbidden.*another user")
        assert other.wait() == 0
    assert echo.finish() == 0


def test_F7_too_many_editors():
    with Echo(connections=2) as echo:
        with echo.raw(), echo.raw() as second:
            with Raw.connect(echo.port) as third:
                third.send(request(echo.port))
                assert third.head().startswith("HTTP/1.1 503 ")
            second.frame(FIN | CLOSE, close_payload(1000))
            assert second.receive_close() == (1000, "")
            assert second.at_end()
            second.close()
            echo.expect("^close ")
            echo.raw().close()
        assert echo.finish() == 3


def is_cut_off(raw):
    try:
        return raw.socket.recv(1) == b""
    except ConnectionResetError:
        return True
    finally:
        raw.close()


def test_F7_half_open_handshakes():
    """Connections that say nothing, or for ever a little, do not stay."""
    with Echo(handshake_ms=1000) as echo:
        slow = [Raw.connect(echo.port) for _ in range(10)]
        for i, raw in enumerate(slow):
            raw.send(request(echo.port)[:10 * i])
        with echo.raw() as honest:
            slow[-1].send(b"X-More: ")
            assert all([is_cut_off(raw) for raw in slow])
            honest.text("still there")
            assert honest.receive_text() == "still there"
        assert echo.finish() == 1


def test_F7_very_many_half_open_handshakes():
    """They keep no editor out: the oldest has to go, long before its time is over."""
    with Echo(handshake_ms=60000) as echo:
        slow = [Raw.connect(echo.port) for _ in range(40)]
        with echo.raw() as honest:
            assert all([is_cut_off(raw) for raw in slow[:20]])
            honest.text("I am in")
            assert honest.receive_text() == "I am in"
        assert echo.finish() == 1
        for raw in slow:
            raw.close()


def test_F7_those_that_are_refused_push_nobody_out():
    """However many they are, and though they stay: who is in the middle of its handshake comes in."""
    with Echo(handshake_ms=60000, close_ms=60000) as echo:
        with Raw.connect(echo.port) as honest:
            honest.send(request(echo.port)[:-2])
            refused = []
            for _ in range(40):
                refused.append(Raw.connect(echo.port))
                refused[-1].send(request(echo.port, token="wrong"))
                assert refused[-1].head().startswith("HTTP/1.1 401 ")
            honest.send(b"\r\n")
            assert honest.head().startswith("HTTP/1.1 101 ")
        for raw in refused:
            raw.close()


# ---- frames that must not be ---------------------------------------------------------------------

M = b"\x01\x02\x03\x04"
BROKEN = {
    "no mask": (1002, frame(FIN | TEXT, b"x")),
    "reserved bit": (1002, frame(FIN | 0x40 | TEXT, b"x", M)),
    "unknown opcode": (1002, frame(FIN | 3, b"", M)),
    "unknown control opcode": (1002, frame(FIN | 11, b"", M)),
    "ping in fragments": (1002, frame(PING, b"", M)),
    "long ping": (1002, frame(FIN | PING, b"x" * 126, M)),
    "continuation of nothing": (1002, frame(FIN, b"x", M)),
    "message in a message": (1002, frame(TEXT, b"x", M) + frame(FIN | TEXT, b"x", M)),
    "long form of a length": (1002, b"\x81\xfe\x00\x01" + M + b"x"),
    "longest form of a length": (1002, b"\x81\xff" + struct.pack(">Q", 1) + M + b"x"),
    "length with its highest bit": (1002, b"\x81\xff" + struct.pack(">Q", 1 << 63) + M),
    "close of one byte": (1002, frame(FIN | CLOSE, b"\x03", M)),
    "close with 1005": (1002, frame(FIN | CLOSE, close_payload(1005), M)),
    "close with 999": (1002, frame(FIN | CLOSE, close_payload(999), M)),
    "binary": (1003, frame(FIN | BINARY, b"x", M)),
    "no UTF-8": (1007, frame(FIN | TEXT, b"a\xff", M)),
    "surrogate in fragments": (1007, frame(TEXT, b"\xed", M) + frame(FIN, b"\xa0\x80", M)),
    "cut character": (1007, frame(FIN | TEXT, b"\xe2\x82", M)),
    "reason that is no UTF-8": (1007, frame(FIN | CLOSE, b"\x03\xe8\xff", M)),
    "too long": (1009, frame(FIN | TEXT, b"", M, length=100001)),
    "too long in fragments": (1009, frame(TEXT, b"x" * 60000, M) + frame(0, b"x" * 60000, M)),
    "too long by far": (1009, frame(FIN | TEXT, b"", M, length=1 << 62)),
}


@pytest.fixture
def strict():
    with Echo(message=100000) as process:
        yield process


@pytest.mark.parametrize("name", BROKEN)
def test_F7_broken_frames(strict, name):
    """Each is answered with its code, which arrives although we go on sending, and then by an end."""
    code, data = BROKEN[name]
    with strict.raw() as raw:
        raw.text("fine")
        assert raw.receive_text() == "fine"
        raw.send(data + b"more of it" * 100)
        assert raw.receive_close()[0] == code
        raw.send(b"and more")
        assert raw.at_end()


def test_F7_close_codes_come_back(strict):
    for code in (1000, 1001, 1013, 3000, 4999):
        with strict.raw() as raw:
            raw.frame(FIN | CLOSE, close_payload(code, "bye"))
            assert raw.receive_close() == (code, "")
            assert raw.at_end()
    with strict.raw() as raw:
        raw.frame(FIN | CLOSE)
        assert raw.receive_close() == (None, "")
        assert raw.at_end()


def test_F7_longest_message(echo):
    """32 MiB and not one byte more."""
    most = 32 * 1024 * 1024
    with echo.raw(key=b"\0\0\0\0") as raw:
        raw.socket.sendall(struct.pack(">BBQ", FIN | TEXT, 0xff, most) + raw.key)
        raw.socket.sendall(b"y" * most)
        echo.expect("^message %d$" % most)
        head = raw._take(10)
        assert head == struct.pack(">BBQ", FIN | TEXT, 127, most)
        got = len(raw.rest)
        raw.rest = b""
        while got < most:
            got += len(raw.socket.recv(1 << 20))
        assert got == most
        raw.send(frame(FIN | TEXT, b"", raw.key, length=most + 1))
        assert raw.receive_close()[0] == 1009


def test_F7_pings_between_fragments(echo):
    with echo.raw() as raw:
        raw.frame(TEXT, b"one ")
        raw.frame(FIN | PING, b"first")
        raw.frame(0, b"two ")
        raw.frame(FIN | PONG, b"nobody asked")
        raw.frame(FIN | PING, b"")
        raw.frame(FIN, b"three")
        assert raw.receive() == (FIN | PONG, b"first")
        assert raw.receive() == (FIN | PONG, b"")
        assert raw.receive_text() == "one two three"
        assert raw.mask is None


# ---- those who do not read, or are silent --------------------------------------------------------

def test_F7_slow_reader_gets_everything(echo):
    with echo.raw() as raw:
        raw.text("flood 300 100000")
        echo.expect("^flooded all$")
        for _ in range(300):
            assert raw.receive() == (FIN | TEXT, b"f" * 100000)


def test_F7_reader_that_does_not_read():
    """What waits for it is bounded: it is told 1008, if it ever reads, and dropped."""
    with Echo(queue=1000000, close_ms=300) as echo:
        with echo.raw() as raw, echo.raw() as other:
            raw.text("flood 300 100000")
            echo.expect("^flooded ENOBUFS$")
            echo.expect("^close closed by us: 1008, ")
            other.text("unmoved")
            assert other.receive_text() == "unmoved"
        with echo.raw() as raw:
            raw.text("flood 300 100000")
            echo.expect(r"^flooded ENOBUFS\n(.*\n)*flooded ENOBUFS$")
            first, payload = raw.receive()
            while first == FIN | TEXT:
                assert payload == b"f" * 100000
                first, payload = raw.receive()
            assert first == FIN | CLOSE and payload[:2] == struct.pack(">H", 1008)
        assert echo.finish() == 3


def test_F7_pings_that_nobody_reads_the_answers_of(echo):
    """Only the last of those that wait is answered: they cost no memory."""
    with echo.raw() as raw:
        raw.text("flood 100 200000")  # more than the kernel holds
        echo.expect("^flooded all$")
        before = system.resident_kb(echo.pid)
        for _ in range(100):
            raw.send(frame(FIN | PING, b"a", raw.key) * 1000)
        raw.frame(FIN | PING, b"last")
        raw.text("done")
        echo.expect("^message 4$")
        assert system.resident_kb(echo.pid) - before < 2000
        heard = [raw.receive() for _ in range(100)]
        assert heard == [(FIN | TEXT, b"f" * 200000)] * 100
        rest = [raw.receive(), raw.receive()]
        assert sorted(rest) == sorted([(FIN | PONG, b"last"), (FIN | TEXT, b"done")])


def test_F7_silence():
    """A silent editor is asked twice and dropped; one that answers stays."""
    with Echo(ping_ms=800) as echo:
        with echo.raw() as silent, echo.raw() as lively:
            for _ in range(4):
                assert lively.receive() == (FIN | PING, b"")
                lively.frame(FIN | PONG)
            assert silent.receive() == (FIN | PING, b"")
            assert silent.receive() == (FIN | PING, b"")
            assert silent.at_end()
            echo.expect("^close the other side is silent$")
            lively.text("here")
            while lively.receive() != (FIN | TEXT, b"here"):
                pass
        assert echo.finish() == 2


def test_F7_own_stop_is_nobody_elses_silence():
    """After a stop of the server, as in a debugger, editors are asked before they are taken for silent."""
    with Echo(ping_ms=800) as echo, echo.raw() as raw:
        raw.text("one")
        assert raw.receive_text() == "one"
        kill(echo.pid, signal.SIGSTOP)
        wait_until(lambda: state_of(echo.pid) == "T", "it is stopped")
        select.select([], [], [], 2.6)
        kill(echo.pid, signal.SIGCONT)
        assert raw.receive() == (FIN | PING, b"")
        raw.text("still here")
        while raw.receive() != (FIN | TEXT, b"still here"):
            pass


def test_F2_nothing_happens_without_editors(echo):
    with echo.raw() as raw:
        raw.frame(FIN | CLOSE)
        raw.receive_close()
    echo.expect("^close ")
    wait_asleep(echo.pid)
    before = wakeups(echo.pid)
    assert stays(echo.pid, 1) and wakeups(echo.pid) == before


# ---- the end -------------------------------------------------------------------------------------

def test_F7_end_of_the_server(echo):
    """Editors are told 1001; those who are just coming are cut off; nothing stays."""
    with echo.raw() as raw, echo.raw() as closing, Raw.connect(echo.port) as coming:
        coming.send(request(echo.port)[:20])
        closing.text("close 4000 wait for me")
        assert closing.receive_close() == (4000, "wait for me")
        raw.text("quit")
        assert raw.receive_close() == (1001, "the server is going away")
        assert raw.at_end()
        try:
            assert coming.socket.recv(1) == b""
        except ConnectionResetError:
            pass
        assert echo.wait() == 0
        assert echo.output.count("close ") == 2 and echo.output.endswith("end\n")


def test_F7_editor_that_is_killed(echo):
    raw = echo.raw()
    raw.text("x")
    assert raw.receive_text() == "x"
    raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raw.close()  # with a reset
    echo.expect("^close (the connection broke|the other side went away without a goodbye)$")
    assert echo.finish() == 1


def test_F7_goodbye_that_is_not_answered():
    with Echo(close_ms=200) as echo, echo.raw() as raw:
        raw.text("close 4000 and you?")
        assert raw.receive_close() == (4000, "and you?")
        raw.text("not yet")  # not heard any more
        echo.expect("^close closed by us: 4000, and you.$")
        assert echo.output.count("message ") == 1
        assert echo.finish() == 1


def test_F7_peer_that_stays_after_all_is_said():
    """After a broken frame, and after both goodbyes, a connection that the other side keeps open is closed."""
    with Echo(close_ms=200) as echo, echo.raw() as broken, echo.raw() as closed:
        broken.frame(FIN | 3)
        assert broken.receive_close()[0] == 1002
        echo.expect("^close unknown opcode$")
        closed.frame(FIN | CLOSE, close_payload(1000))
        assert closed.receive_close() == (1000, "")
        echo.expect("^close closed by the other side: 1000$")
        assert echo.finish() == 2
