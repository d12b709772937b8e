"""The built-in server with a fake editor, and programs of others that use it.

The fake editor prints a line of JSON for everything that it sees, so that a test can tell a call that
was answered from one that never came."""
import http.client
import json
import os
import subprocess

from harness import IS_WINDOWS, LIMIT, Process, run, system
from tether import Instance

PACKAGES = os.environ.get("TETHER_NODE", "")
NODE = os.path.join(PACKAGES, "node_modules/.bin/node")
CLIENT_NODE = system.native(os.environ.get("TETHER_WINDOWS_NODE", "")) if IS_WINDOWS else NODE
HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "mcp")
RESOLVE = os.path.join(HERE, "resolve.mjs")
LEGACY = "2025-11-25"
MODERN = "2026-07-28"


def package(path):
    """A file of an installed package."""
    return os.path.join(PACKAGES, "node_modules", path)


def node(script, *arguments):
    """The command that runs a script, one of ours with access to the installed packages."""
    ours = os.path.dirname(script) == HERE
    return [NODE] + (["--import", RESOLVE] if ours else []) + [script] + [str(a) for a in arguments]


def node_env(**more):
    """Node without network, colours, or anything that it would write into the user's home."""
    return dict({"TETHER_NODE": PACKAGES, "NO_COLOR": "1", "NO_UPDATE_NOTIFIER": "1", "NODE_OPTIONS": ""}, **more)


def client(script, *arguments):
    """The same for a client, which is a program of the system that tether runs on."""
    ours = os.path.dirname(script) == HERE
    return ([CLIENT_NODE] + (["--import", system.url(RESOLVE)] if ours else []) + [system.native(script)] +
            [str(a) for a in arguments])


def client_env(**more):
    """And its environment. Wine says that it is a Windows too old for Node, and lacks an option of sockets."""
    if IS_WINDOWS:
        more["NODE_OPTIONS"] = "--require=" + system.native(os.path.join(HERE, "wine.cjs")).replace("\\", "/")
    return dict(node_env(**more), TETHER_NODE=system.native(PACKAGES), NODE_SKIP_PLATFORM_CHECK="1")


class FakeEditor(Process):
    """An editor without an engine, connected to a server."""

    def __init__(self, server, *options, fixtures="all", project="Fake", token=None):
        script = node(os.path.join(HERE, "fake_editor.mjs"), "--url", "ws://127.0.0.1:%d/editor" % server.ws,
                      "--set", fixtures, "--project", project, *options)
        super().__init__(script, node_env(TETHER_WS_TOKEN=token or server.token), stdin=subprocess.PIPE)

    def wait_ready(self):
        return json.loads(self.expect(r'^\{"event":"(?:ready|failed)".*$').group(0))

    def tell(self, words):
        """Gives the editor an order and waits until it has carried it out."""
        told = self.output.count('{"event":"told"')
        self.popen.stdin.write(words.encode() + b"\n")
        self.popen.stdin.flush()
        self.expect(r'(?:[\s\S]*?\{"event":"told"){%d}' % (told + 1))

    def events(self, kind=None):
        """What has happened so far, oldest first."""
        lines = self.output.split("\n")[:-1]
        found = [json.loads(line) for line in lines if line.startswith("{")]
        return [event for event in found if kind is None or event["event"] == kind]

    def calls(self):
        """What was called so far, each with its outcome: (method, name, outcome)."""
        outcomes = {event["call"]: event["outcome"] for event in self.events("answer")}
        return [(event["method"], event.get("name"), outcomes.get(event["call"]))
                for event in self.events("call")]

    def stop(self):
        if self.popen.stdin and not self.popen.stdin.closed:
            self.popen.stdin.close()
        super().stop()


class BuiltIn(Instance):
    """The built-in server, started by `tether launch`, kept alive by a session of ours as an editor's."""

    def start(self, *options, env=None):
        # Our own session is that of an editor which never connects: nobody is to wait for it.
        done = self.cli("launch", *self.options, *options, env=dict({"TETHER_EDITOR_WAIT_MS": "100"}, **(env or {})))
        self.result = json.loads(done.output.splitlines()[-1])
        assert self.result["code"] == 0, done.output
        self.session = self.control()
        self.welcome = self.session.hello("editor", project="tests")
        self.token = self.welcome["ws_token"]
        return self

    @property
    def url(self):
        return "http://127.0.0.1:%d/mcp" % self.http

    @property
    def server_pid(self):
        return self.status()["server"]["pid"]

    def editor(self, *options, **more):
        """Connects a fake editor and waits until it is registered."""
        editor = FakeEditor(self, *options, **more)
        ready = editor.wait_ready()
        assert ready["event"] == "ready", ready
        return editor

    def post(self, message, headers=None, limit=LIMIT):
        """Sends one message as an MCP client would; returns (status, headers, the message in the answer)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=limit)
        try:
            body = message if isinstance(message, bytes) else json.dumps(message).encode()
            connection.request("POST", "/mcp", body, dict({
                "Content-Type": "application/json", "Accept": "application/json, text/event-stream"},
                **(headers or {})))
            response = connection.getresponse()
            text = response.read().decode()
            data = [line[5:] for line in text.splitlines() if line.startswith("data:")]
            found = data[-1] if data else text
            return response.status, response.headers, json.loads(found) if found.strip() else None
        finally:
            connection.close()

    def modern(self, method, params=None, headers=None, capabilities=None, **more):
        """A request of the stateless era, with all that it needs."""
        params = dict(params or {})
        params["_meta"] = {"io.modelcontextprotocol/protocolVersion": MODERN,
                           "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
                           "io.modelcontextprotocol/clientCapabilities": capabilities or {}}
        named = {"Mcp-Name": params.get("name", params.get("uri"))}
        return self.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, dict(
            {"MCP-Protocol-Version": MODERN, "Mcp-Method": method},
            **{key: value for key, value in named.items() if value}, **(headers or {})), **more)

    def __exit__(self, *_):
        if getattr(self, "session", None):
            self.session.close()
        super().__exit__()


def run_node(script, *arguments, env=None, limit=LIMIT):
    return run(node(script, *arguments), node_env(**(env or {})), limit=limit)
