#!/usr/bin/python3
"""An MCP server for tests that does what it is asked to do, also what no server should.

It speaks both eras on /mcp: sessions for those that initialize, none for the others, whose headers it
compares with the body. What arrives, and when it starts, it tells an observer: lines of JSON over TCP,
to the port in STUB_OBSERVER. What the tools do is below; every answer is written by hand, so that it
can be cut anywhere."""
import base64
import json
import os
import queue
import signal
import socket
import sys
import threading
import time
import uuid

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
SESSIONS = set()
STREAMS = []  # queues of the GET streams
REPLIES = queue.Queue()
REST = {}  # event id → what is still to come
PROGRESS = {"jsonrpc": "2.0", "method": "notifications/progress",
            "params": {"progressToken": 1, "progress": 1, "message": "größer 😀"}}


class Observer:
    def __init__(self):
        self.lock = threading.Lock()
        self.socket = None
        if os.environ.get("STUB_OBSERVER"):
            self.socket = socket.create_connection(("127.0.0.1", int(os.environ["STUB_OBSERVER"])))

    def tell(self, **what):
        if self.socket:
            with self.lock:
                self.socket.sendall(json.dumps(dict(what, pid=os.getpid())).encode() + b"\n")


OBSERVER = Observer()


class Gone(Exception):
    pass


class Request:
    """One request on a connection, and the ways to answer it."""

    def __init__(self, stream, method, headers, body):
        self.stream, self.method, self.headers, self.body = stream, method, headers, body
        self.message = json.loads(body) if body else {}
        self.params = self.message.get("params") or {}

    def send(self, data):
        try:
            self.stream.sendall(data)
        except OSError as error:
            raise Gone from error

    def reply(self, status, body=b"", kind="application/json", **headers):
        head = "HTTP/1.1 %d X\r\nContent-Length: %d\r\n" % (status, len(body))
        if body:
            head += "Content-Type: %s\r\n" % kind
        for name, value in headers.items():
            head += "%s: %s\r\n" % (name.replace("_", "-"), value)
        self.send(head.encode() + b"\r\n" + body)

    def message_of(self, **more):
        return dict({"jsonrpc": "2.0", "id": self.message.get("id")}, **more)

    def result(self, result, **headers):
        self.reply(200, json.dumps(self.message_of(result=result)).encode(), **headers)

    def error(self, status, code, text):
        self.reply(status, json.dumps(self.message_of(error={"code": code, "message": text})).encode())

    def open_events(self):
        self.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")

    def chunk(self, data):
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def event(self, message, event_id=None, retry=None):
        text = "" if event_id is None else "id: %s\n" % event_id
        text += "" if retry is None else "retry: %d\n" % retry
        text += "data: %s\n\n" % (json.dumps(message, ensure_ascii=False) if message else "")
        self.chunk(text.encode())

    def close_events(self):
        self.send(b"0\r\n\r\n")


def text_result(text):
    return {"content": [{"type": "text", "text": text}]}


def split_everywhere(request, size):
    """The same stream, in pieces of so many bytes, chunks and all."""
    events = ": a comment\r\n\r\nevent: message\ndata: %s\r\rdata: %s\n\ndata:%s\n\n" % (
        json.dumps(PROGRESS, ensure_ascii=False),
        json.dumps(request.message_of(result=text_result("€ 日本語 😀")), ensure_ascii=False).replace(
            '"result"', '\ndata: "result"'), "")
    data = events.encode()
    whole = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream;charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
    for at in range(0, len(data), 3):
        piece = data[at:at + 3]
        whole += b"%X\r\n%s\r\n" % (len(piece), piece)
    whole += b"0\r\n\r\n"
    for at in range(0, len(whole), size):
        request.send(whole[at:at + size])


def ask_client(request):
    """A request to the client in the stream of the call; its answer comes as another POST."""
    request.open_events()
    request.event({"jsonrpc": "2.0", "id": "ask-1", "method": "sampling/createMessage", "params": {}})
    answer = REPLIES.get(timeout=60)
    request.event(request.message_of(result=text_result(json.dumps(answer))))
    request.close_events()


def in_parts(request):
    """Ends its stream before the answer; the rest is to be had for the id of the event."""
    key = uuid.uuid4().hex
    REST[key] = request.message_of(result=text_result("the rest"))
    request.open_events()
    request.event(None, event_id=key, retry=20)
    request.close_events()


def hang(request):
    request.open_events()
    request.event(PROGRESS)
    try:
        while request.stream.recv(1):
            pass
    except OSError:
        pass
    OBSERVER.tell(event="hang-up", id=request.message.get("id"))
    raise Gone


def die_once(request):
    """Kills the server the first time, in the middle of the call."""
    mark = os.environ.get("STUB_MARK", "/nonexistent/mark")
    if not os.path.exists(mark):
        with open(mark, "w"):
            os.kill(os.getpid(), signal.SIGKILL)
    request.result(text_result("alive"))


def part_and_die_once(request):
    """The first time the server is gone before the rest is asked for."""
    mark = os.environ.get("STUB_MARK", "/nonexistent/mark")
    if not os.path.exists(mark):
        in_parts(request)
        die_once(request)
    request.result(text_result("alive"))


def drop(request):
    """Closes the connection without a word, so many times."""
    left = int(request.params["arguments"].get("times", 1))
    if DROPS.setdefault(request.params["name"], 0) < left:
        DROPS[request.params["name"]] += 1
        raise Gone
    request.result(text_result("after %d" % left))


DROPS = {}


def drop_in_stream(request):
    request.open_events()
    request.event(PROGRESS)
    raise Gone


def wait_a_while(request):
    time.sleep(request.params["arguments"]["seconds"])
    request.result(text_result("waited"))


def forget(request):
    request.result(text_result("forgotten"))
    SESSIONS.clear()


def many_events(request):
    request.open_events()
    arguments = request.params["arguments"]
    for number in range(arguments["count"]):
        request.event({"jsonrpc": "2.0", "method": "notifications/message",
                       "params": {"level": "info", "data": {"n": number, "x": "x" * arguments["size"]}}})
    request.event(request.message_of(result=text_result("sent %d" % arguments["count"])))
    request.close_events()
    OBSERVER.tell(event="sent")


def pretty(request):
    request.reply(200, json.dumps(request.message_of(result=text_result("a\nb")), indent=2).encode().replace(
        b"\n", b"\r\n"))


def impostor(request):
    """Answers another request before its own, here and in the streams of the sessions."""
    other = {"jsonrpc": "2.0", "id": request.params["arguments"]["id"], "result": text_result("not mine")}
    for stream in list(STREAMS):
        stream.put(other)
    request.open_events()
    request.event(other)
    request.event(request.message_of(result=text_result("mine")))
    request.event(request.message_of(result=text_result("mine again")))
    request.close_events()


def null_id_in_stream(request):
    request.open_events()
    request.event({"jsonrpc": "2.0", "id": None, "error": {"code": -32602, "message": "no"}})
    request.close_events()


def announce(request):
    for stream in list(STREAMS):
        stream.put({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "stream"}})
    request.result(text_result("announced to %d" % len(STREAMS)))


TOOLS = {
    "echo": lambda r: r.result(text_result(json.dumps(r.params.get("arguments")))),
    "split": lambda r: split_everywhere(r, r.params["arguments"]["size"]),
    "ask": ask_client, "parts": in_parts, "hang": hang, "safe_hang": hang,
    "die": die_once, "safe_die": die_once, "drop": drop, "safe_drop": drop, "drop_in_stream": drop_in_stream,
    "safe_drop_in_stream": drop_in_stream, "part_die": part_and_die_once, "safe_part_die": part_and_die_once,
    "wait": wait_a_while, "forget": forget, "many": many_events, "pretty": pretty, "announce": announce,
    "impostor": impostor, "null_id_in_stream": null_id_in_stream,
    "garbage": lambda r: r.send(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"),
    "wrong_id": lambda r: r.reply(200, b'{"jsonrpc":"2.0","id":"other","result":{}}'),
    "null_id": lambda r: r.reply(400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no"}}'),
    "html": lambda r: r.reply(502, b"<html>Bad Gateway</html>", "text/html"),
    "nothing": lambda r: r.reply(202),
    "empty_stream": lambda r: (r.open_events(), r.close_events()),
}


def list_tools(request):
    request.result({"tools": [
        {"name": name, "inputSchema": {"type": "object"},
         "annotations": {"readOnlyHint": name.startswith("safe_")}} for name in TOOLS]})


def initialize(request):
    session = uuid.uuid4().hex
    SESSIONS.add(session)
    capabilities = {"tools": {"listChanged": True}, "logging": {}, "resources": {"subscribe": True}}
    request.result({"protocolVersion": request.params.get("protocolVersion"), "capabilities": capabilities,
                    "serverInfo": {"name": "stub", "version": "1"}}, Mcp_Session_Id=session)


METHODS = {
    "initialize": initialize,
    "tools/list": list_tools,
    "tools/call": lambda r: TOOLS[r.params["name"]](r),
    "resources/read": lambda r: r.result({"contents": [{"uri": r.params["uri"], "text": "read"}]}),
}


def listen(request):
    request.open_events()
    request.event({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {}})
    serve_stream(request)


METHODS["subscriptions/listen"] = listen


def serve_stream(request):
    mine = queue.Queue()
    STREAMS.append(mine)
    try:
        while True:
            request.event(mine.get())
    finally:
        STREAMS.remove(mine)


def get(request):
    last = request.headers.get("last-event-id")
    if os.environ.get("STUB_NO_STREAM") and last not in REST:
        request.reply(405)
        return
    request.open_events()
    if last in REST:
        request.event(REST.pop(last), event_id="end")
        request.close_events()
        return
    OBSERVER.tell(event="stream")
    serve_stream(request)


def decode(value):
    if value and value.startswith("=?base64?") and value.endswith("?="):
        return base64.b64decode(value[9:-2]).decode()
    return value


def check_modern(request):
    """What the stateless era wants in the head; None if all is well."""
    named = request.params.get("uri" if request.message["method"] == "resources/read" else "name")
    wanted = {"mcp-protocol-version": request.params["_meta"][VERSION_KEY],
              "mcp-method": request.message["method"], "mcp-name": named, "mcp-session-id": None}
    for name, value in wanted.items():
        if decode(request.headers.get(name)) != value:
            return "%s: %r is not %r" % (name, request.headers.get(name), value)
    return None


def post(request):
    message = request.message
    if VERSION_KEY in (request.params.get("_meta") or {} if isinstance(request.params, dict) else {}):
        wrong = check_modern(request)
        if wrong:
            request.error(400, -32020, wrong)
            return
    elif message.get("method") != "initialize" and request.headers.get("mcp-session-id") not in SESSIONS:
        status = 404 if request.headers.get("mcp-session-id") else 400
        if os.environ.get("STUB_STRICT"):
            request.error(status, -32000, "no session")
            return
    if "id" not in message or "method" not in message:
        if "method" not in message:
            REPLIES.put(message)
        request.reply(202)
        return
    METHODS.get(message["method"], lambda r: r.result({}))(request)


def read_request(stream, data):
    while b"\r\n\r\n" not in data:
        more = stream.recv(65536)
        if not more:
            return None, b""
        data += more
    head, data = data.split(b"\r\n\r\n", 1)
    lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines[1:])}
    length = int(headers.get("content-length", 0))
    while len(data) < length:
        more = stream.recv(65536)
        if not more:
            return None, b""
        data += more
    return Request(stream, lines[0].split()[0], headers, data[:length]), data[length:]


def serve(stream):
    data = b""
    try:
        while True:
            request, data = read_request(stream, data)
            if not request:
                return
            OBSERVER.tell(event="request", method=request.method, headers=request.headers,
                          body=request.body.decode("latin-1") if len(request.body) < 65536 else len(request.body))
            if request.method == "DELETE":
                SESSIONS.discard(request.headers.get("mcp-session-id"))
                request.reply(200)
            elif request.method == "GET":
                get(request)
            else:
                post(request)
    except (Gone, OSError, ValueError, queue.Empty):
        pass
    finally:
        stream.close()


def listen_on(port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(port)))
    listener.listen(512)
    return listener


def main():
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    while os.path.exists(os.environ.get("STUB_DEAF", "")):
        OBSERVER.tell(event="start")
        signal.pause()
    second = listen_on(os.environ["TETHER_WS_PORT"])  # nobody comes there
    listener = listen_on(os.environ["TETHER_HTTP_PORT"])
    OBSERVER.tell(event="start")
    while second:
        stream, _ = listener.accept()
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(stream,), daemon=True).start()


if __name__ == "__main__":
    main()
