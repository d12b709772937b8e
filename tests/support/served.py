"""The built-in server by itself, HTTP byte by byte, and an editor that is told what to say."""
import collections
import json
import os
import select
import socket
import tempfile
import threading
import time

from harness import LIMIT, TETHER, Process, free_ports
from tether import can_bind
from websocket import FIN, PING, PONG, TEXT, Raw, request

TOKEN = "a-token-of-this-test"
LEGACY, MODERN = "2025-11-25", "2026-07-28"
BOTH = "application/json, text/event-stream"
META = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        """The message; of a stream, which an answer becomes that takes long, the last one."""
        if self.headers.get("content-type") != "text/event-stream":
            return json.loads(self.body)
        data = [line[6:] for line in self.body.decode().splitlines() if line.startswith("data: ") and len(line) > 6]
        return json.loads(data[-1])


class Http:
    """One connection to the server; what is sent is up to the test."""

    def __init__(self, port, limit=LIMIT):
        self.port = port
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=limit)
        self.data = b""

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode())

    def more(self):
        data = self.socket.recv(65536)
        if not data:
            raise EOFError
        self.data += data

    def until(self, mark):
        while mark not in self.data:
            self.more()
        head, self.data = self.data.split(mark, 1)
        return head

    def take(self, count):
        while len(self.data) < count:
            self.more()
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def head(self):
        lines = self.until(b"\r\n\r\n").decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:])
        return int(lines[0].split()[1]), {name.lower(): value for name, value in headers.items()}

    def chunk(self):
        size = int(self.until(b"\r\n"), 16)
        data = self.take(size)
        assert self.take(2) == b"\r\n"
        return data

    def answer(self, to="POST"):
        """The next whole answer; of a stream, all of it."""
        status, headers = self.head()
        body = b""
        if headers.get("transfer-encoding") == "chunked":
            data = self.chunk()
            while data:
                body += data
                data = self.chunk()
        elif to != "HEAD":
            body = self.take(int(headers.get("content-length", 0)))
        return Answer(status, headers, body)

    def event(self):
        """The next message of a stream whose head has been read; comments are passed over."""
        while True:
            data = self.chunk()
            if not data:
                raise EOFError
            for line in data.decode().splitlines():
                if line.startswith("data: ") and len(line) > 6:  # an event without data carries only its id
                    return json.loads(line[6:])

    def is_open(self, limit=0.1):
        """Whether the server has not closed within this time; what it says meanwhile is kept."""
        end = time.monotonic() + limit
        while select.select([self.socket], [], [], max(0, end - time.monotonic()))[0]:
            try:
                self.more()
            except (EOFError, ConnectionResetError):
                return False
        return True

    def wait_closed(self):
        try:
            while True:
                self.more()
        except (EOFError, ConnectionResetError):
            return

    def post(self, message, path="/mcp", **headers):
        """Sends a message as a client would; the answer is read with answer() or head()."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        lines = {"Host": "127.0.0.1:%d" % self.port, "Content-Type": "application/json", "Accept": BOTH,
                 "Content-Length": str(len(body))}
        lines.update({name.replace("_", "-"): value for name, value in headers.items()})
        text = "".join("%s: %s\r\n" % item for item in lines.items() if item[1] is not None)
        self.send(("POST %s HTTP/1.1\r\n%s\r\n" % (path, text)).encode() + body)

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Session:
    """A legacy client with a session, on a connection of its own for each request."""

    def __init__(self, server, capabilities=None):
        self.server = server
        self.last = 0
        with server.http_connection() as http:
            http.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": LEGACY, "capabilities": capabilities or {},
                "clientInfo": {"name": "tests", "version": "1"}}})
            self.answer = http.answer()
        self.id = self.answer.headers["mcp-session-id"]

    def begin(self, method, params=None, ident=None, **headers):
        """Sends a request and returns its connection."""
        http = self.server.http_connection()
        self.last += 1
        http.post({"jsonrpc": "2.0", "id": self.last if ident is None else ident, "method": method,
                   "params": params or {}}, Mcp_Session_Id=self.id, **headers)
        return http

    def request(self, method, params=None, **more):
        with self.begin(method, params, **more) as http:
            return http.answer()

    def send(self, message):
        """Sends a notification or response."""
        with self.server.http_connection() as http:
            http.post(dict({"jsonrpc": "2.0"}, **message), Mcp_Session_Id=self.id)
            return http.answer()

    def stream(self):
        http = self.server.http_connection()
        http.send("GET /mcp HTTP/1.1\r\nHost: localhost:%d\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n\r\n"
                  % (self.server.http, self.id))
        status, http.headers = http.head()
        assert status == 200
        return http


class Load:
    """New connections all the time, without a pause, each with one request; counts what becomes of them."""

    def __init__(self, port, count=4):
        self.port = port
        self.outcomes = collections.Counter()
        self.ending = threading.Event()
        self.threads = [threading.Thread(target=self._work) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def _work(self):
        while not self.ending.is_set():
            try:
                with Http(self.port) as http:
                    http.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                        "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "load", "version": "1"}}})
                    outcome = http.answer().status
            except (OSError, EOFError) as error:
                outcome = type(error).__name__
            self.outcomes[outcome] += 1

    def end(self):
        """Stops, and returns how often each came: HTTP statuses, and names of what went wrong."""
        self.ending.set()
        for thread in self.threads:
            thread.join()
        return self.outcomes


# Kept of an editor that had nothing.
NOTHING = {"instructions": "There was an editor."}


def private(path, flags):
    return os.open(path, flags, 0o600)


class Served(Process):
    """`tether serve`, started without a daemon; calls wait for an editor no longer than a moment."""

    def __init__(self, *options, env=None, ports=None, kept=None, **more):
        self.http, self.ws = ports or free_ports()
        self.folder = None
        if kept is not None:  # what an editor before has offered, in place of what is shipped
            self.folder = tempfile.TemporaryDirectory()
            place = os.path.join(self.folder.name, "%d-%d" % (self.http, self.ws))
            os.mkdir(place, 0o700)
            with open(os.path.join(place, "offer.json"), "w", opener=private) as file:
                json.dump(kept, file)
            env = dict({"TETHER_STATE_DIR": self.folder.name}, **(env or {}))
        super().__init__([TETHER, "serve", "--http-port", str(self.http), "--ws-port", str(self.ws), *options],
                         dict({"TETHER_WS_TOKEN": TOKEN, "TETHER_EDITOR_WAIT_MS": "100"}, **(env or {})), **more)

    def ready(self):
        self.expect(r"/mcp$")
        return self

    def __exit__(self, *_):
        super().__exit__(*_)
        can_bind(self.http)  # where its end is told before the system has closed what it had, that is waited for
        can_bind(self.ws)
        if self.folder:
            self.folder.cleanup()

    def http_connection(self):
        return Http(self.http)

    def session(self, **capabilities):
        return Session(self, capabilities)

    def editor(self, **more):
        return Editor(self.ws, **more)

    def modern_begin(self, method, params=None, capabilities=None, meta=None, ident=1, **headers):
        params = dict(params or {})
        params["_meta"] = dict(META, **(meta or {}))
        if capabilities:
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities
        http = self.http_connection()
        http.post({"jsonrpc": "2.0", "id": ident, "method": method, "params": params}, **dict(
            {"MCP_Protocol_Version": MODERN, "Mcp_Method": method, "Mcp_Name": params.get("name", params.get("uri"))},
            **headers))
        return http

    def modern(self, method, params=None, **more):
        with self.modern_begin(method, params, **more) as http:
            return http.answer()

    def status(self):
        with self.http_connection() as http:
            http.send("GET /status HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % self.http)
            return http.answer().json


def tool(name, **more):
    return dict({"name": name, "description": "A tool.", "inputSchema": {"type": "object"}}, **more)


# What an editor can offer beside tools: for its `capabilities`.
EVERYTHING = {"resources": {"subscribe": True}, "prompts": {}, "completions": {}, "logging": {}}


class Editor:
    """An editor's connection: what the server sends is read when the test asks for it."""

    def __init__(self, port, token=TOKEN, pid=4711, start="1", project="Game", tools=("echo",), sync=True,
                 path=None, **lists):
        self.raw = Raw.connect(port)
        self.raw.send(request(port, token=token))
        assert " 101 " in self.raw.head().splitlines()[0]
        self.last = 0
        hello = self.request("editor/hello", {"protocol": 1, "pid": pid, "start": start, "project": project,
                                              "path": "/games/" + project if path is None else path, "godot": "4.6", "version": "0"})
        self.id = hello["result"]["editor"]
        self.hello = hello["result"]
        if tools is not None:  # else it has not come so far
            self.notify("editor/register", dict({"tools": [tool(name) for name in tools]}, **lists))
        if sync:
            self.request("tests/sync", {})  # all before this has been dealt with

    def send(self, **message):
        self.raw.text(json.dumps(dict({"jsonrpc": "2.0"}, **message)))

    def receive(self):
        """The next message. Pings do not extend the time it may take."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            first, payload = self.raw.receive()
            if first == FIN | PING:
                self.raw.frame(FIN | PONG, payload)
            elif first == FIN | TEXT:
                self.heard = payload.decode()
                return json.loads(payload)
            else:
                raise EOFError
        raise TimeoutError("the server says nothing to its editor")

    def request(self, method, params):
        self.last += 1
        self.send(id="e%d" % self.last, method=method, params=params)
        message = self.receive()
        assert message["id"] == "e%d" % self.last, message
        return message

    def notify(self, method, params=None):
        self.send(method=method, params=params or {})

    def call(self, method="tools/call"):
        """The next request of the server, which must be of this method."""
        message = self.receive()
        assert message["method"] == method, message
        return message

    def answer(self, call, result):
        self.send(id=call["id"], result=result)

    def say(self, call, text):
        self.answer(call, {"content": [{"type": "text", "text": text}]})

    def is_silent(self):
        """Nothing has been sent to it but the answer to this."""
        self.request("tests/sync", {})
        return True

    def close(self):
        self.raw.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
