"""A small MCP client over Streamable HTTP, of the 2025-11-25 era; nothing but the standard library."""
import http.client
import json
import threading

PROTOCOL = "2025-11-25"


class McpError(Exception):
    """The server answered with a JSON-RPC error."""

    def __init__(self, error):
        super().__init__("%(code)d: %(message)s" % error)
        self.code = error["code"]


class ToolFailed(Exception):
    """A tool answered with isError; its text."""


def text_of(result):
    return "\n".join(part["text"] for part in result["content"] if part["type"] == "text")


def messages_of(response):
    """The JSON-RPC messages of an answer, as they come: of a plain one or of a stream of events."""
    if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
        body = response.read()
        if body:
            yield json.loads(body)
        return
    for line in response:
        if line.startswith(b"data: {"):  # not the event that only says where to go on from
            yield json.loads(line[6:])


class McpClient:
    """One session. A connection is kept and, where it was lost between two requests, made anew. What the server asks
    meanwhile is answered from {method: result}; what it tells is kept in heard."""

    def __init__(self, port, limit=30.0, name="tests", capabilities=None, answers=None):
        self.answers = answers or {}
        self.heard = []
        self.port = port
        self.limit = limit
        self.connection = None
        self.headers = {"Content-Type": "application/json", "MCP-Protocol-Version": PROTOCOL,
                        "Accept": "application/json, text/event-stream"}
        self.last_id = 0
        response = self._post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": PROTOCOL, "capabilities": capabilities or {}, "clientInfo": {"name": name, "version": "1"}}})
        self.headers["Mcp-Session-Id"] = response.headers["Mcp-Session-Id"]
        self.server = self._result(response, 0)
        self.notify("notifications/initialized")

    def _connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.limit)

    def _post(self, message):
        body = json.dumps(message)
        for attempt in (1, 2):
            is_fresh = self.connection is None
            self.connection = self.connection or self._connect()
            try:
                self.connection.request("POST", "/mcp", body, self.headers)
                return self.connection.getresponse()
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                self.close()
                if is_fresh or attempt == 2:
                    raise

    def _result(self, response, ident):
        if response.status >= 400:
            raise AssertionError("HTTP %d: %s" % (response.status, response.read()[:500]))
        for message in messages_of(response):
            if "method" in message:
                self._take(message)
            elif message.get("id") == ident:
                response.read()
                if "error" in message:
                    raise McpError(message["error"])
                return message["result"]
        raise EOFError("no answer to request %r" % ident)

    def _take(self, message):
        """What the server asks or tells in the middle of an answer."""
        self.heard.append(message)
        if "id" in message:
            connection = self._connect()
            connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": message["id"], "result":
                                                           self.answers[message["method"]]}), self.headers)
            assert connection.getresponse().status == 202
            connection.close()

    def request(self, method, params=None):
        self.last_id += 1
        return self._result(self._post({"jsonrpc": "2.0", "id": self.last_id, "method": method,
                                        "params": params or {}}), self.last_id)

    def notify(self, method, params=None):
        self._post({"jsonrpc": "2.0", "method": method, "params": params or {}}).read()

    def tools(self):
        """The tools that are listed, as {name: tool}."""
        return {tool["name"]: tool for tool in self.request("tools/list")["tools"]}

    def result(self, tool, **arguments):
        """The whole result of a call, be it an error or not."""
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool, **arguments):
        """What a tool answers: the value that its text is, or else the text. Raises ToolFailed."""
        result = self.result(tool, **arguments)
        if result.get("isError"):
            raise ToolFailed(text_of(result))
        return value_of(result)

    def refusal(self, tool, **arguments):
        """The text of the error that a call must give, in the result or of the protocol."""
        try:
            answer = self.call(tool, **arguments)
        except (ToolFailed, McpError) as error:
            return str(error)
        raise AssertionError("%s was not refused: %r" % (tool, answer))

    def listen(self):
        return Listener(self)

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def value_of(result):
    """A result as a program would read it: JSON, beside plain lines if there are such."""
    texts = [block["text"] for block in result["content"] if block["type"] == "text"]
    try:
        value = json.loads(texts[-1])
    except (ValueError, IndexError):
        return text_of(result)
    if not isinstance(value, dict):
        return text_of(result)
    return dict(value, text=texts[0]) if len(texts) == 2 else value


class Listener:
    """The stream on which a session hears of changes."""

    def __init__(self, client):
        self.connection = client._connect()
        headers = {key: value for key, value in client.headers.items() if key != "Content-Type"}
        self.connection.request("GET", "/mcp", headers=dict(headers, Accept="text/event-stream"))
        self.response = self.connection.getresponse()
        assert self.response.status == 200, self.response.status
        self.heard = []
        self.changed = threading.Condition()
        self.limit = client.limit
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        try:
            for message in messages_of(self.response):
                with self.changed:
                    self.heard.append(message["method"])
                    self.changed.notify_all()
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            pass  # it was closed, by us or by the server

    def expect(self, method):
        """Waits for such a notification and forgets all until then."""
        with self.changed:
            assert self.changed.wait_for(lambda: method in self.heard, self.limit), (method, self.heard)
            del self.heard[:self.heard.index(method) + 1]

    def close(self):
        self.connection.sock and self.connection.sock.shutdown(2)
        self.thread.join(self.limit)
        self.response.close()
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
