"""The servers that the MCP benchmark compares: Tether's own, the protocol's reference server for Node.js, a
lean one made with the protocol's SDK, and the least that a server in Node.js can do."""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import time

LIMIT = 30.0
LEGACY = "2025-11-25"
MODERN = "2026-07-28"
INITIALIZE = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def post(port, method, params=None, headers=None, notify=False):
    """One request on a connection of its own; returns (headers, result)."""
    message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
    if not notify:
        message["id"] = 1
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
    try:
        connection.request("POST", "/mcp", json.dumps(message), dict({
            "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}, **(headers or {})))
        response = connection.getresponse()
        text = response.read().decode()
    finally:
        connection.close()
    if response.status >= 300:
        raise RuntimeError("%s: status %d: %s" % (method, response.status, text[:200]))
    data = [line[5:] for line in text.splitlines() if line.startswith("data:")]
    found = data[-1] if data else text
    answer = json.loads(found) if found.strip() else {}
    if "error" in answer:
        raise RuntimeError("%s: %s" % (method, answer["error"]))
    return response.headers, answer.get("result")


def wait_answer(port, process, start):
    """Asks until the server answers; returns the milliseconds since `start`."""
    while True:
        try:
            post(port, "initialize", INITIALIZE)
            return (time.monotonic() - start) * 1e3
        except (ConnectionError, http.client.HTTPException):
            if process.poll() is not None or time.monotonic() - start > LIMIT:
                raise RuntimeError("it did not start: status %s" % process.poll())
            time.sleep(0.0002)


def private_kb(pid):
    """Memory that is the process's alone."""
    with open("/proc/%d/smaps_rollup" % pid) as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private_"))


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Subject:
    """A server that can be started, asked and ended. `headers` are what its sessions need."""

    name = None
    eras = (LEGACY,)

    def __init__(self, folder, bench):
        self.folder = folder
        self.bench = bench
        self.processes = []
        self.port = free_port()

    def spawn(self, argv, env=None, **more):
        log = open(os.path.join(self.folder, self.name + ".log"), "ab")
        process = subprocess.Popen(argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                   env=dict(os.environ, **(env or {})), **more)
        log.close()
        self.processes.append(process)
        return process

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()
        self.processes.clear()

    def open_session(self):
        """The headers with which requests of the first era go."""
        headers, _ = post(self.port, "initialize", INITIALIZE)
        self.headers = {"MCP-Protocol-Version": LEGACY}
        if headers.get("Mcp-Session-Id"):
            self.headers["Mcp-Session-Id"] = headers["Mcp-Session-Id"]
            post(self.port, "notifications/initialized", headers=self.headers, notify=True)


class NodeServer(Subject):
    def start_once(self):
        """Starts the server; returns the milliseconds until its first answer."""
        start = time.monotonic()
        self.server = self.spawn(*self.command())
        return wait_answer(self.port, self.server, start)

    def start(self):
        self.start_once()
        self.pid = self.server.pid
        self.watched = {}
        self.open_session()


class Reference(NodeServer):
    name = "node-reference"

    def command(self):
        script = self.bench.package("@modelcontextprotocol/server-everything/dist/index.js")
        return [self.bench.node, script, "streamableHttp"], {"PORT": str(self.port)}


class Lean(NodeServer):
    name = "node-sdk"

    def command(self):
        here = os.path.dirname(os.path.abspath(__file__))
        return [self.bench.node, "--import", self.bench.script("mcp/resolve.mjs"), os.path.join(here, "sdk_server.mjs"),
                str(self.port), self.bench.tools_file], {"TETHER_NODE": self.bench.packages}


class Bare(NodeServer):
    name = "node-bare"

    def command(self):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bare_server.mjs")
        return [self.bench.node, script, str(self.port), self.bench.tools_file], {}


class Tether(Subject):
    name = "tether"
    eras = (LEGACY, MODERN)

    def __init__(self, folder, bench):
        super().__init__(folder, bench)
        self.ws_port = free_port()
        self.state = os.path.join(folder, "state")
        shutil.rmtree(self.state, ignore_errors=True)
        os.mkdir(self.state, 0o700)
        self.env = {"TETHER_STATE_DIR": self.state}
        self.control = None

    def ports(self):
        return ["--http-port", str(self.port), "--ws-port", str(self.ws_port)]

    def cli(self, command, *more):
        return subprocess.run([self.bench.tether, command, *self.ports(), *more], capture_output=True, text=True,
                              env=dict(os.environ, **self.env), timeout=LIMIT)

    def start_once(self):
        """Starts `tether serve` as its daemon does, with listening sockets; until its first answer."""
        listening = [socket.create_server(("127.0.0.1", port)) for port in (self.port, self.ws_port)]

        def become_server():
            copies = [os.dup(one.fileno()) for one in listening]
            for number, copy in enumerate(copies):
                os.dup2(copy, 3 + number)
            # Only the process itself knows its id, which has to be in its environment.
            os.execve(self.bench.tether, ["tether", "serve"], dict(
                os.environ, **self.env, LISTEN_FDS="2", LISTEN_PID=str(os.getpid()), TETHER_WS_TOKEN="bench",
                TETHER_HTTP_PORT=str(self.port), TETHER_WS_PORT=str(self.ws_port)))

        start = time.monotonic()
        process = self.spawn([self.bench.tether], preexec_fn=become_server, pass_fds=(3, 4))
        for one in listening:
            one.close()
        return wait_answer(self.port, process, start)

    def launch_once(self):
        """The whole of `tether launch`: daemon, guard, server, until all is ready."""
        start = time.monotonic()
        done = self.cli("launch")
        took = (time.monotonic() - start) * 1e3
        result = json.loads(done.stdout.splitlines()[-1])
        if result["code"] != 0:
            raise RuntimeError("tether launch: %s" % result["message"])
        self.pid = result["server_pid"]
        self.result = result
        return took

    def start(self):
        self.launch_once()
        self.control = socket.socket(socket.AF_UNIX)
        self.control.settimeout(LIMIT)
        self.control.connect(self.result["control"])
        self.control.sendall(b'{"type":"hello","protocol":1,"role":"editor","project":"bench"}\n')
        welcome = json.loads(self.control.makefile().readline())
        editor = self.spawn([self.bench.editor, str(self.ws_port), self.bench.tools_file],
                            {"TETHER_WS_TOKEN": welcome["ws_token"]})
        self.watched = {"the fake editor": editor.pid}
        self.open_session()
        self.wait_tools()

    def wait_tools(self):
        """Until the fake editor has registered; there is no event for that on this side."""
        end = time.monotonic() + LIMIT
        while len(post(self.port, "tools/list", headers=self.headers)[1]["tools"]) < len(self.bench.tools):
            if time.monotonic() > end:
                raise RuntimeError("the fake editor never registered its tools")
            time.sleep(0.01)

    def end(self):
        super().end()
        if self.control:
            self.control.close()
            self.control = None
            self.cli("stop", "--force")
