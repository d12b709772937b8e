"""F7: the extension's WebSocket client against servers of others, and against what no server should do."""
import asyncio
import os
import signal
import socket
import struct
import sys

import pytest

from harness import LIMIT, Process, free_ports
from websocket import (BINARY, CLOSE, FIN, PING, PONG, TEXT, TOKEN, Drive, Echo, Node, Raw, accept_of, close_payload,
                       frame, node_modules)

websockets = pytest.importorskip("websockets")
needs_ws = pytest.mark.skipif(not node_modules(), reason="the npm package ws is not there")


# ---- servers of others ---------------------------------------------------------------------------

@needs_ws
def test_F7_the_package_ws_as_server():
    with Node("server", TOKEN) as node:
        port = node.expect(r"^listening (\d+)$").group(1)
        with Drive(port) as drive:
            drive.expect("^open$")
            node.expect("^open$")
            drive.tell("send hällo €")
            node.expect("^message 10 hällo €$")
            node.tell("parts", parts=["one \xe2", "\x82", "\xac two"])
            drive.expect("^message 11 one € two$")
            node.tell("ping", text="are you there")
            node.expect("^pong are you there$")
            for count in (0, 125, 126, 65535, 65536, 3000000):
                drive.tell("fill %d" % count)
                node.expect("^message %d x*$" % count)
                node.tell("fill", count=count)
                drive.expect("^message %d n*$" % count)
            drive.tell("close 4001 bye €")
            node.expect("^close 4001 bye €$")
            assert drive.expect_close() == (4001, "closed by us: 4001, bye €")


@needs_ws
def test_F7_the_package_ws_as_server_that_ends():
    for order, code, why in (({"what": "close", "code": 4003, "reason": "enough"}, 4003, "closed by the other side: 4003, enough"),
                             ({"what": "binary"}, 1003, "binary messages are not understood here"),
                             ({"what": "terminate"}, "ECONNRESET", None)):
        with Node("server", TOKEN) as node, Drive(node.expect(r"^listening (\d+)$").group(1)) as drive:
            drive.expect("^open$")
            node.expect("^open$")
            node.tell(**order)
            found = drive.expect_close()
            assert found[0] == code and (why is None or found[1] == why), found
            node.expect("^close %d" % (1006 if code == "ECONNRESET" else code))


@needs_ws
def test_F7_the_package_ws_as_server_that_refuses():
    with Node("server", TOKEN) as node:
        port = node.expect(r"^listening (\d+)$").group(1)
        with Drive(port, token="wrong") as drive:
            code, why = drive.expect_close()
            assert code == "EACCES" and "401" in why
        with Drive(port, path="/else") as drive:
            code, why = drive.expect_close()
            assert code == "ECONNREFUSED" and "400" in why


@pytest.mark.skipif(os.getuid() != 0, reason="another user can be had by root only")
def test_F7_a_server_of_another_user_is_told_nothing():
    """It would get the token, and could call the tools of the editor."""
    listen = """
import os, socket
os.setgroups([]); os.setgid(65534); os.setuid(65534)
server = socket.create_server(("127.0.0.1", 0))
print("listening", server.getsockname()[1], flush=True)
print("heard", server.accept()[0].recv(1000), flush=True)"""
    with Process([sys.executable, "-c", listen]) as stranger:
        with Drive(stranger.expect(r"^listening (\d+)$").group(1)) as drive:
            assert drive.expect_close() == ("EPERM", "a program of another user listens on the port")
        stranger.expect("^heard b''$")


def test_F7_python_websockets_as_server():
    async def steps():
        seen = asyncio.Queue()

        async def handler(server, *_):
            seen.put_nowait(server.request_headers["Authorization"])
            try:
                while True:
                    message = await server.recv()
                    await server.send([message, "€", message])
                    await (await server.ping(b"there?"))
            except websockets.ConnectionClosed as closed:
                seen.put_nowait((closed.rcvd.code, closed.rcvd.reason))

        async with websockets.serve(handler, "127.0.0.1", 0, max_size=None) as server:
            port = server.sockets[0].getsockname()[1]
            with Drive(port) as drive:
                assert await seen.get() == "Bearer " + TOKEN
                for count in (1, 125, 126, 65535, 65536, 3000000):
                    drive.tell("fill %d" % count)
                    await asyncio.to_thread(drive.expect, "^message %d x" % (2 * count + 3))
                drive.tell("close 4001 bye €")
                assert await seen.get() == (4001, "bye €")
                assert await asyncio.to_thread(drive.expect_close) == (4001, "closed by us: 4001, bye €")
    asyncio.run(asyncio.wait_for(steps(), LIMIT))


# ---- servers by hand -----------------------------------------------------------------------------

class Server:
    """Listens, and gives the connection of a client that it starts."""

    def __init__(self, **options):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(LIMIT)
        self.drive = Drive(self.listener.getsockname()[1], **options)

    def accept(self):
        """A connection on which the request has come."""
        self.raw = Raw(self.listener.accept()[0], key=None)
        self.request = self.raw.head()
        self.key = self.request.split("Sec-WebSocket-Key: ")[1].split("\r\n")[0]
        return self.raw

    def answer(self, *headers, status="101 Switching Protocols", accept=None, more=b""):
        lines = ["HTTP/1.1 " + status, "Upgrade: websocket", "Connection: Upgrade",
                 "Sec-WebSocket-Accept: " + (accept or accept_of(self.key))] + list(headers)
        self.raw.send(("\r\n".join(lines) + "\r\n\r\n").encode() + more)

    def open(self):
        raw = self.accept()
        self.answer()
        self.drive.expect("^open$")
        return raw

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.drive.stop()
        self.listener.close()
        if hasattr(self, "raw"):
            self.raw.close()


def test_F7_request():
    with Server() as server:
        server.accept()
        lines = server.request.split("\r\n")
        assert lines[0] == "GET /editor HTTP/1.1"
        assert {"Host: 127.0.0.1:%d" % server.listener.getsockname()[1], "Upgrade: websocket", "Connection: Upgrade",
                "Sec-WebSocket-Version: 13", "Authorization: Bearer " + TOKEN} <= set(lines)
        assert "origin" not in server.request.lower()
        first = server.key
    with Server() as server:
        server.accept()
        assert server.key != first  # a new one each time


def test_F7_answer_in_pieces_with_a_frame_behind_it():
    with Server() as server:
        server.accept()
        whole = ("HTTP/1.1 101 x\r\nUPGRADE: WebSocket\r\nconnection: keep-alive, upgrade\r\nA: b\r\n"
                 "Sec-WebSocket-Accept:%s\r\n\r\n" % accept_of(server.key)).encode() + frame(FIN | TEXT, b"at once")
        for i in range(len(whole)):
            server.raw.send(whole[i:i + 1])
        server.drive.expect("^open\nmessage 7 at once$")


@pytest.mark.parametrize("code, answer", [
    ("EPROTO", {"accept": accept_of("another")}),
    ("EPROTO", {"headers": ["Sec-WebSocket-Extensions: permessage-deflate"]}),
    ("EPROTO", {"headers": ["broken"]}),
    ("EPROTO", {"headers": ["A: " + "x" * 9000]}),
    ("EACCES", {"status": "403 Forbidden"}),
    ("ECONNREFUSED", {"status": "200 OK"}),
    ("ECONNREFUSED", {"status": "503 Service Unavailable"}),
])
def test_F7_answers_that_are_none(code, answer):
    with Server() as server:
        server.accept()
        server.answer(*answer.pop("headers", []), **answer)
        found, why = server.drive.expect_close()
        assert found == code and why
        assert "open" not in server.drive.output.splitlines()


def test_F7_no_server():
    port, = free_ports(1)
    with Drive(port) as drive:
        assert drive.expect_close()[0] == "ECONNREFUSED"


def test_F7_server_that_does_not_answer():
    with Server(handshake_ms=200) as server:
        server.accept()
        assert server.drive.expect_close() == ("ETIMEDOUT", "no handshake in time")
        assert server.raw.at_end()


def test_F7_server_that_goes_in_the_handshake():
    with Server() as server:
        server.accept().close()
        assert server.drive.expect_close()[0] == "ECONNRESET"


def test_F7_something_that_is_no_web_server():
    with Server() as server:
        server.accept().send(b"220 mail.example.com\r\n\r\n")
        assert server.drive.expect_close() == ("EPROTO", "what answers there does not speak HTTP")


def test_F7_masks():
    """Each frame of the client has one, another each time."""
    with Server() as server:
        raw = server.open()
        server.drive.tell("twice the same")
        masks = set()
        for _ in range(2):
            assert raw.receive_text() == "the same"
            masks.add(raw.mask)
        raw.frame(FIN | PING, b"p")
        assert raw.receive() == (FIN | PONG, b"p")
        masks.add(raw.mask)
        server.drive.tell("close 1000 x")
        assert raw.receive_close() == (1000, "x")
        masks.add(raw.mask)
        assert len(masks) == 4 and None not in masks


BROKEN = {
    "mask": (1002, frame(FIN | TEXT, b"x", b"1234")),
    "reserved bit": (1002, frame(FIN | 0x20 | TEXT, b"x")),
    "unknown opcode": (1002, frame(FIN | 7)),
    "continuation of nothing": (1002, frame(FIN, b"x")),
    "long ping": (1002, frame(FIN | PING, b"x" * 126)),
    "close with 1006": (1002, frame(FIN | CLOSE, close_payload(1006))),
    "binary": (1003, frame(FIN | BINARY, b"x")),
    "no UTF-8": (1007, frame(FIN | TEXT, b"\xc0\xaf")),
    "too long": (1009, frame(FIN | TEXT, b"", length=100001)),
    "too long in fragments": (1009, frame(TEXT, b"x" * 60000) + frame(0, b"x" * 60000)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_F7_broken_frames_of_a_server(name):
    code, data = BROKEN[name]
    with Server(message=100000) as server:
        raw = server.open()
        raw.text("fine")
        server.drive.expect("^message 4 fine$")
        raw.send(data + b"more of it" * 100)
        assert raw.receive_close()[0] == code
        assert raw.at_end()
        raw.close()
        assert server.drive.expect_close()[0] == code


def test_F7_goodbye_of_a_server():
    with Server() as server:
        raw = server.open()
        raw.frame(FIN | CLOSE, close_payload(1001, "back soon"))
        assert raw.receive_close() == (1001, "")
        raw.close()
        assert server.drive.expect_close() == (1001, "closed by the other side: 1001, back soon")


def test_F7_goodbye_of_a_server_that_is_gone_when_it_is_heard():
    """Our answer cannot be sent any more, but why the connection ended is known."""
    with Server() as server:
        raw = server.open()
        server.drive.kill(signal.SIGSTOP)
        raw.frame(FIN | CLOSE, close_payload(1001, "back soon"))
        raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raw.close()  # by a reset
        server.drive.kill(signal.SIGCONT)
        assert server.drive.expect_close() == (1001, "closed by the other side: 1001, back soon")


def test_F7_server_that_does_not_say_goodbye():
    with Server(close_ms=200) as server:
        raw = server.open()
        server.drive.tell("close 1000 and you?")
        assert raw.receive_close() == (1000, "and you?")
        raw.text("no")  # not heard any more
        assert server.drive.expect_close() == (1000, "closed by us: 1000, and you?")
        assert "message" not in server.drive.output


def test_F7_end_in_a_hurry():
    with Server() as server:
        raw = server.open()
        server.drive.tell("abort 1001 reloading")
        assert server.drive.expect_close() == (1001, "reloading")
        assert raw.receive_close() == (1001, "reloading")
        assert raw.at_end()


@pytest.mark.parametrize("order", ["close 1000 x", "abort 1000 x"])
def test_F7_end_before_it_was_open(order):
    with Server() as server:
        server.accept()
        server.drive.tell("send too early")
        server.drive.expect("^failed ENOTCONN$")
        server.drive.tell(order)
        assert server.drive.expect_close()[0] == "ECANCELED"
        assert server.raw.at_end()


def test_F7_server_that_does_not_read():
    with Server(queue=1000000, close_ms=300) as server:
        server.open()
        for _ in range(100):
            server.drive.tell("fill 300000")
        server.drive.expect("^failed ENOBUFS$")
        code, why = server.drive.expect_close()
        assert code == 1008 and "does not read" in why
        assert server.drive.output.count("failed EPIPE\n") > 50  # closing


def test_F7_silent_server():
    with Server(ping_ms=300) as server:
        raw = server.open()
        for _ in range(3):
            assert raw.receive() == (FIN | PING, b"")
            raw.frame(FIN | PONG)
        assert raw.receive() == (FIN | PING, b"")
        assert raw.receive() == (FIN | PING, b"")
        assert server.drive.expect_close() == ("ETIMEDOUT", "the other side is silent")


# ---- both ends of ours ---------------------------------------------------------------------------

def test_F7_ours_with_ours():
    """Many clients at once, messages of all lengths both ways, and nothing left behind."""
    with Echo() as echo:
        # A ping that comes when the server has gone is answered by a reset, which takes its goodbye away on Windows.
        drives = [Drive(echo.port, **({"ping_ms": 500} if number < 5 else {})) for number in range(10)]
        for drive in drives:
            drive.expect("^open$")
            for count in (0, 1, 70000, 1000000):
                drive.tell("fill %d" % count)
        for drive in drives:
            drive.expect("^message 0 \nmessage 1 x\nmessage 70000 x+\nmessage 1000000 x+$")
        for drive in drives[:5]:
            drive.tell("close 1000 done")
            assert drive.expect_close() == (1000, "closed by us: 1000, done")
            drive.stop()
        echo.kill(signal.SIGINT)
        for drive in drives[5:]:
            assert drive.expect_close() == (1001, "closed by the other side: 1001, the server is going away")
            drive.stop()
        assert echo.finish() == 10


def test_F7_longest_message_both_ways():
    with Echo() as echo, Drive(echo.port) as drive:
        most = 32 * 1024 * 1024
        drive.expect("^open$")
        drive.tell("fill %d" % most)
        drive.expect("^message %d x" % most)
        drive.tell("fill %d" % (most + 1))
        drive.expect("^failed EMSGSIZE$")
        drive.tell("send still there")
        drive.expect("^message 11 still there$")
        drive.tell("close 1000 x")
        drive.expect_close()


def test_F7_connection_lost_in_the_middle_of_a_message():
    with Server() as server:
        raw = server.open()
        raw.send(frame(FIN | TEXT, b"half", length=1000))
        raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raw.close()
        assert server.drive.expect_close()[0] == "ECONNRESET"
        assert "message" not in server.drive.output
