"""WebSocket peers: our two test programs, frames by hand for what no library would send, and the npm
package `ws` in a program of its own."""
import base64
import glob
import hashlib
import json
import os
import signal
import socket
import struct
import subprocess

from harness import LIMIT, Process, system

TOKEN = "a-token-of-this-test"
KEY = "dGhlIHNhbXBsZSBub25jZQ=="
GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
PEER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "mcp", "websocket_peer.cjs")

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
FIN = 0x80


def close_input(popen):
    try:
        popen.stdin.close()
    except BrokenPipeError:
        pass  # it ended before it had read all


def accept_of(key):
    return base64.b64encode(hashlib.sha1((key + GUID).encode()).digest()).decode()


def close_payload(code, reason=""):
    return struct.pack(">H", code) + reason.encode()


def mask(payload, key):
    keys = (key * (len(payload) // 4 + 1))[:len(payload)]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(keys, "big")).to_bytes(len(payload), "big")


def frame(first, payload=b"", key=None, length=None):
    """A frame whose first byte is as given; with a mask if there is a key; length: as it is announced."""
    length = len(payload) if length is None else length
    bit = 0x80 if key else 0
    if length < 126:
        head = struct.pack(">BB", first, bit | length)
    elif length < 65536:
        head = struct.pack(">BBH", first, bit | 126, length)
    else:
        head = struct.pack(">BBQ", first, bit | 127, length)
    return head + (key + mask(payload, key) if key else payload)


class Raw:
    """One end of a connection, byte by byte. A client masks, a server does not."""

    def __init__(self, connection, key=b"\x11\x22\x33\x44"):
        self.socket = connection
        self.socket.settimeout(LIMIT)
        self.key = key
        self.rest = b""

    @classmethod
    def connect(cls, port, **options):
        return cls(socket.create_connection(("127.0.0.1", port), LIMIT), **options)

    def send(self, data):
        self.socket.sendall(data)

    def frame(self, first, payload=b""):
        self.send(frame(first, payload, self.key))

    def text(self, text):
        self.frame(FIN | TEXT, text.encode())

    def _more(self):
        data = self.socket.recv(65536)
        if not data:
            raise EOFError
        self.rest += data

    def _take(self, count):
        while len(self.rest) < count:
            self._more()
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def head(self):
        """The head of an HTTP message."""
        while b"\r\n\r\n" not in self.rest:
            self._more()
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        return head.decode()

    def receive(self):
        """The next frame as (first byte, payload); its mask, or None, is kept in .mask."""
        first, second = self._take(2)
        length = second & 0x7f
        if length == 126:
            length = struct.unpack(">H", self._take(2))[0]
        elif length == 127:
            length = struct.unpack(">Q", self._take(8))[0]
        self.mask = self._take(4) if second & 0x80 else None
        payload = self._take(length)
        return first, mask(payload, self.mask) if self.mask else payload

    def receive_text(self):
        first, payload = self.receive()
        assert first == FIN | TEXT, (first, payload)
        return payload.decode()

    def receive_close(self):
        """(code, reason) of the closing frame that comes next, pings and pongs left aside."""
        first, payload = self.receive()
        while first in (FIN | PING, FIN | PONG):
            first, payload = self.receive()
        assert first == FIN | CLOSE, (first, payload[:80])
        return (struct.unpack(">H", payload[:2])[0] if payload else None), payload[2:].decode()

    def at_end(self):
        """Whether the other side ends the connection, in order, with nothing more to say."""
        return self.rest == b"" and self.socket.recv(1) == b""

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def request(port, path="/editor", token=TOKEN, extra=(), **changed):
    """A proper request, some headers of which may be changed, or left out with None."""
    headers = {"Host": "127.0.0.1:%d" % port, "Upgrade": "websocket", "Connection": "Upgrade",
               "Sec-WebSocket-Key": KEY, "Sec-WebSocket-Version": "13"}
    if token is not None:
        headers["Authorization"] = "Bearer " + token
    headers.update({name.replace("_", "-"): value for name, value in changed.items()})
    lines = ["%s: %s" % item for item in headers.items() if item[1] is not None] + list(extra)
    return ("GET %s HTTP/1.1\r\n%s\r\n\r\n" % (path, "\r\n".join(lines))).encode()


class Echo(Process):
    """The editors' endpoint with an echo behind it."""

    def __init__(self, port=0, **limits):
        super().__init__([system.WEBSOCKET_ECHO, TOKEN, str(port)] +
                         ["%s=%d" % item for item in limits.items()])
        self.port = int(self.expect(r"^listening (\d+)$").group(1))
        self.url = "ws://127.0.0.1:%d/editor" % self.port

    def raw(self, **options):
        """An open connection."""
        raw = Raw.connect(self.port, **options)
        raw.send(request(self.port))
        head = raw.head()
        assert head.startswith("HTTP/1.1 101 ") and accept_of(KEY) in head, head
        return raw

    def finish(self):
        """Ends it in order and returns how often what happened: it leaves nothing behind."""
        self.kill(signal.SIGINT)
        assert self.wait() == 0 and self.output.endswith("\nend\n"), self.output[-500:]
        lines = self.output.splitlines()
        count = {kind: sum(line.split()[0] == kind for line in lines) for kind in ("open", "close")}
        assert count["open"] == count["close"], self.output[-2000:]
        return count["open"]


class Drive(Process):
    """Our client, driven by lines."""

    def __init__(self, port, **options):
        options.setdefault("token", TOKEN)
        super().__init__([system.WEBSOCKET_DRIVE, str(port)] +
                         ["%s=%s" % item for item in options.items()], stdin=subprocess.PIPE)

    def tell(self, line):
        self.popen.stdin.write(line.encode() + b"\n")
        self.popen.stdin.flush()

    def expect_close(self):
        """Waits for the end of the program and returns (code, why) of its only on_close; the code of an
        error is its name."""
        match = self.expect(r"^close (\w+) (.*)$")
        assert self.wait() == 0, self.output[-500:]
        assert self.output.count("\nclose ") + self.output.startswith("close ") == 1
        code = match.group(1)
        return code if code.isalpha() else int(code), match.group(2)

    def stop(self):
        close_input(self.popen)
        super().stop()


def node_modules():
    """The folder with the npm packages, or None."""
    for found in (os.environ.get("TETHER_NODE_MODULES", ""), os.path.join(os.environ.get("TETHER_NODE", ""), "node_modules")):
        if os.path.isdir(os.path.join(found, "ws")):
            return found
    return None


class Node(Process):
    """The program of `ws`, which does what each line of JSON says and prints what happens."""

    def __init__(self, *arguments):
        modules = node_modules()
        own = glob.glob(os.path.join(modules, ".bin", "node"))
        super().__init__([own[0] if own else "node", PEER] + [str(word) for word in arguments],
                         {"TETHER_WS": os.path.join(modules, "ws"), "NODE_OPTIONS": ""}, stdin=subprocess.PIPE)

    def tell(self, what, **more):
        self.popen.stdin.write(json.dumps(dict(more, do=what)).encode() + b"\n")
        self.popen.stdin.flush()

    def stop(self):
        close_input(self.popen)
        super().stop()
