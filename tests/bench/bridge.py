"""The benchmark of servers that speak over standard input and output, and of who gives them an address.

usage: bridge.py --tether PROGRAM --relay PROGRAM --packages FOLDER --strangers FOLDER [--quick] [--json FILE]

The server is the protocol's reference server, in Node.js: spoken to directly, through Tether, and through two other
programs that people use for it. One that answers ping or lists by itself does not ask the server; so the row that
counts is a call of a tool, which all must pass on. The exit status is 1 if a budget is missed.

Latency is that of one client which asks again as soon as it is answered, through the same few lines of Python. Nearly
all of it is processes that wake each other, and that takes several times as long when the woken one is put on a
processor that sleeps; so what is judged is measured with everybody on one processor, and beside it stands what it is
wherever the system puts them. No HTTP address can be as quick as the pipes themselves: how quick it can be is told by
the bare relay, a few lines of C that copy bytes and do nothing else, and that is what Tether is judged by."""
import argparse
import contextlib
import json
import os
import platform
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from lifecycle import describe_load, print_aligned, show
from mcp import request_of, run_wrk
from mcp_subjects import INITIALIZE, LEGACY, LIMIT, Subject, cpu_seconds, free_port, post, private_kb, wait_answer
from processes import Pid, children_of

HERE = os.path.dirname(os.path.abspath(__file__))
STUB = os.path.join(os.path.dirname(HERE), "support", "stdio_stub.py")
ECHO = {"name": "echo", "arguments": {"message": "hello"}}
METHODS = [("tools/call", ECHO), ("tools/list", {}), ("ping", {})]
ESCAPES = 5


class Line:
    def __init__(self, title, unit, judge=None, budget=""):
        self.title, self.unit, self.judge, self.budget = title, unit, judge, budget
        self.values = {}

    def verdict(self):
        if not self.judge:
            return ""
        numbers = {name: value for name, value in self.values.items() if isinstance(value, (int, float))}
        return "pass" if "tether" in numbers and self.judge(numbers) else "FAIL"


def times_the_best(factor):
    return lambda values: values["tether"] >= factor * max([values.get(name, 0) for name in ("supergateway", "mcp-proxy")])


def within_relay(factor):
    return lambda values: values["tether"] <= factor * values["bare relay"]


def at_most(limit):
    return lambda values: values["tether"] <= limit


class Bench:
    def __init__(self, options, folder):
        self.tether, self.folder, self.quick = options.tether, folder, options.quick
        self.packages, self.strangers, self.relay = options.packages, options.strangers, options.relay
        self.node = os.path.join(options.packages, "node_modules/.bin/node")
        self.connections, self.seconds = 10, 2 if options.quick else 8
        self.server = [self.node, os.path.join(
            options.packages, "node_modules/@modelcontextprotocol/server-everything/dist/index.js"), "stdio"]
        self.lines = {}

    def line(self, key, *words, **more):
        return self.lines.setdefault(key, Line(*words, **more))

    def peer(self, path):
        return os.path.join(self.strangers, "node_modules", path)


# ---- who is measured -------------------------------------------------------------------------

class Direct:
    """A client that has the server for itself, over its pipes."""

    name = "direct"

    def __init__(self, bench, command=None):
        self.bench, self.command = bench, command or bench.server

    def start(self):
        self.begun = time.monotonic()
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.ask("initialize", INITIALIZE)
        self.first = (time.monotonic() - self.begun) * 1e3
        self.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def tell(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self):
        """The next answer; not what it says on its own account."""
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise EOFError("the server has ended")
            if b'"result"' in line or b'"error"' in line:
                return line
            message = json.loads(line)
            if "id" in message:  # it asks for roots
                self.tell({"jsonrpc": "2.0", "id": message["id"], "result": {"roots": []}})

    def ask(self, method, params):
        self.tell({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        return self.hear()

    @contextlib.contextmanager
    def prepare(self, method, params):
        line = json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode() + b"\n"
        fd = self.process.stdin.fileno()

        def ask():
            os.write(fd, line)
            self.hear()
        yield ask

    def rate(self, method, params, seconds):
        """As many at a time as the others have connections."""
        line = json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode() + b"\n"
        fd = self.process.stdin.fileno()
        os.write(fd, line * self.bench.connections)
        count, start = 0, time.monotonic()
        while time.monotonic() < start + seconds:
            self.hear()
            os.write(fd, line)
            count += 1
        took = time.monotonic() - start
        for _ in range(self.bench.connections):
            self.hear()
        return count / took

    def end(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()


class Bridge(Subject):
    """Something that serves a command over HTTP."""

    def __init__(self, bench, command=None):
        super().__init__(bench.folder, bench)
        self.command = command or bench.server
        self.watched = {}

    def start(self):
        start = time.monotonic()
        self.process = self.spawn(self.argv(), start_new_session=True)
        self.pid = self.process.pid
        self.first = wait_answer(self.port, self.process, start)
        self.open_session()

    def own(self):
        """The processes that are not the server's."""
        return [self.pid]

    @contextlib.contextmanager
    def prepare(self, method, params):
        headers, body = request_of(self, LEGACY, method, params)
        text = json.dumps(body)
        head = "".join("%s: %s\r\n" % pair for pair in headers.items())
        request = ("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%sContent-Length: %d\r\n\r\n%s"
                   % (self.port, head, len(text), text)).encode()
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def ask():
            connection.sendall(request)
            data = connection.recv(65536)
            while not is_whole(data):
                more = connection.recv(65536)
                if not more:
                    raise EOFError("the connection was closed")
                data += more
        with connection:
            yield ask

    def rate(self, method, params, seconds):
        headers, body = request_of(self, LEGACY, method, params)
        result = run_wrk(self.bench, self, headers, body, seconds)
        self.bench.line(method + ".p99", method + ", p99 with 10 connections", "µs").values[self.name] = result["p99_us"]
        return result["requests"] / result["seconds"]

    def add_client(self):
        headers, _ = post(self.port, "initialize", INITIALIZE)
        session = {"MCP-Protocol-Version": LEGACY, "Mcp-Session-Id": headers["Mcp-Session-Id"]}
        post(self.port, "notifications/initialized", headers=session, notify=True)
        post(self.port, "tools/call", ECHO, session)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)


def is_whole(data):
    """Whether an answer has come to its end, be it plain or a stream of one event."""
    head, found, body = data.partition(b"\r\n\r\n")
    if not found:
        return False
    if b"chunked" in head:
        return body.endswith(b"0\r\n\r\n")
    at = head.lower().index(b"content-length:")
    return len(body) >= int(head[at + 15:].split(b"\r\n")[0])


class Tether(Bridge):
    name = "tether"

    def argv(self):
        self.state = tempfile.mkdtemp(prefix="s-", dir=self.folder)
        os.environ["TETHER_STATE_DIR"] = self.state
        return [self.bench.tether, "run", "--http-port", str(self.port), "--ws-port", str(free_port()), "--stdio", "--",
                *self.command]

    def own(self):
        """Daemon, its guard, server, watch, its guard."""
        found, pid = [self.pid], self.pid
        while len(found) < 5:
            pid, = children_of(pid)
            found.append(pid)
        return found


class BareRelay(Bridge):
    """What an HTTP address costs at least: it serves one connection after the other, and only if all goes well."""

    name = "bare relay"

    def argv(self):
        return [self.bench.relay, str(self.port), *self.command]


class Supergateway(Bridge):
    name = "supergateway"

    def argv(self):
        return [self.bench.node, self.bench.peer("supergateway/dist/index.js"), "--stdio", " ".join(self.command),
                "--outputTransport", "streamableHttp", "--stateful", "--port", str(self.port), "--logLevel", "none"]


class McpProxy(Bridge):
    name = "mcp-proxy"

    def argv(self):
        with open(self.bench.peer("mcp-proxy/package.json")) as file:
            path = json.load(file)["bin"]["mcp-proxy"]
        return [self.bench.node, self.bench.peer("mcp-proxy/" + path), "--host", "127.0.0.1", "--port", str(self.port),
                "--server", "stream", "--", *self.command]


BRIDGES = [Tether, Supergateway, McpProxy]


# ---- what is measured --------------------------------------------------------------------------

def measure_latency(bench, subjects, where, judge=None, budget=""):
    """All of them in turns, so that what disturbs the machine disturbs each."""
    rounds, count, warm = (3, 200, 0.2) if bench.quick else (15, 300, 2)
    for method, params in METHODS:
        line = bench.line(method + where, "%s, one client, %s, median" % (method, where), "µs", judge, budget)
        times = {subject.name: [] for subject in subjects}
        with contextlib.ExitStack() as stack:
            asks = {subject.name: stack.enter_context(subject.prepare(method, params)) for subject in subjects}
            for ask in asks.values():
                end = time.monotonic() + warm
                while time.monotonic() < end:  # V8 compiles what runs often
                    ask()
            for _ in range(rounds):
                for name, ask in asks.items():
                    for _ in range(20):
                        ask()
                    for _ in range(count):
                        start = time.perf_counter()
                        ask()
                        times[name].append((time.perf_counter() - start) * 1e6)
        for name, seen in times.items():
            line.values[name] = statistics.median(seen)


def measure_rates(bench, subject):
    for method, params in METHODS:
        line = bench.line(method, method + ", 10 at a time", "per s", times_the_best(5), "≥ 5 × the best")
        subject.rate(method, params, 1)
        line.values[subject.name] = subject.rate(method, params, bench.seconds)


def measure_memory(bench, subject):
    """Beside the server, with so many clients that have each called a tool."""
    have = 1
    for wanted in (1, 10, 50):
        while have < wanted:
            subject.add_client()
            have += 1
        line = bench.line("memory%d" % wanted, "private memory beside the server, %d clients" % wanted, "kB",
                          at_most(1024), "≤ 1024")
        line.values[subject.name] = sum(private_kb(pid) for pid in subject.own())
    line = bench.line("processes", "processes of the server, 50 clients", "")
    line.values[subject.name] = count_servers(subject)


def count_servers(subject):
    found, look = 0, [subject.pid]
    while look:
        pid = look.pop()
        look += children_of(pid)
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            words = file.read().split(b"\0")
        found += any(word.endswith(b"server-everything/dist/index.js") for word in words[1:2])
    return found


def measure_survivors(bench, kind):
    """The server has started five that try to get away; then the bridge is killed."""
    subject = kind(bench, [sys.executable, STUB])
    line = bench.line("survivors", "survivors of %d when the bridge is killed" % ESCAPES, "", at_most(0), "0")
    subject.start()
    try:
        answer = post(subject.port, "tools/call", {"name": "escape", "arguments": {}}, subject.headers)[1]
        escaped = [Pid(int(word)) for word in answer["content"][0]["text"].split()]
        subject.kill()
        subject.process.wait()
        line.values[kind.name] = kill_survivors(escaped, 5)
    finally:
        subject.end()


def kill_survivors(processes, limit):
    """Gives them so much time to end, together; returns how many had to be killed."""
    end = time.monotonic() + limit
    left = [process for process in processes if not process.wait(end - time.monotonic())]
    for process in left:
        process.signal(signal.SIGKILL)
    for process in processes:
        process.close()
    return len(left)


def end(subject):
    """In order, so that what it started ends, too, if it ever does."""
    if isinstance(subject, Bridge):
        below = [subject.pid]
        for pid in below:
            below += children_of(pid)
        below = [Pid(pid) for pid in below[1:]]
        subject.process.send_signal(signal.SIGTERM)
        try:
            subject.process.wait(10)
        except subprocess.TimeoutExpired:
            pass
        kill_survivors(below, 0)
    subject.end()


@contextlib.contextmanager
def started(bench, kinds):
    subjects = []
    try:
        for kind in kinds:
            subjects.append(kind(bench))
            subjects[-1].start()
        yield subjects
    finally:
        for subject in subjects:
            end(subject)


@contextlib.contextmanager
def on_one_processor():
    """What is started in it stays there."""
    all_of_them = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(all_of_them)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_of_them)


def measure(bench):
    everybody = [Direct, BareRelay] + BRIDGES
    start = bench.line("start", "start → first answer", "ms")
    with on_one_processor(), started(bench, everybody) as subjects:
        measure_latency(bench, subjects, "on one processor", within_relay(1.3), "≤ 1.3 × bare relay")
    with started(bench, everybody) as subjects:
        start.values = {subject.name: subject.first for subject in subjects}
        measure_latency(bench, subjects, "on all processors")
    with started(bench, [Direct] + BRIDGES) as subjects:
        for subject in subjects:
            measure_rates(bench, subject)
        for subject in subjects[1:]:
            measure_memory(bench, subject)
    for kind in BRIDGES:
        measure_survivors(bench, kind)


def read_arguments():
    parser = argparse.ArgumentParser(description="measures who serves a stdio server over HTTP")
    parser.add_argument("--tether", required=True, help="the program as users get it")
    parser.add_argument("--relay", required=True, help="tests/programs/bare_relay, built")
    parser.add_argument("--packages", required=True, help="where ./dev has installed the packages of npm")
    parser.add_argument("--strangers", required=True, help="and those of others that serve such servers")
    parser.add_argument("--quick", action="store_true", help="few repetitions: does it work at all?")
    parser.add_argument("--json", metavar="FILE", help="write all numbers there, too")
    return parser.parse_args()


def main():
    options = read_arguments()
    for name in [name for name in os.environ if name.startswith("TETHER_")]:
        del os.environ[name]
    folder = tempfile.mkdtemp(prefix="tb-")
    try:
        bench = Bench(options, folder)
        print("%s %s, %s%s" % (platform.system(), platform.release(), describe_load(),
                               ", quick: too short for a judgement" if options.quick else ""), flush=True)
        measure(bench)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    names = ["tether", "bare relay", "direct", "supergateway", "mcp-proxy"]
    print_aligned([["what", "unit", "budget"] + names + ["verdict"]] + [
        [line.title, line.unit, line.budget] + [show(line.values.get(name)) for name in names] + [line.verdict()]
        for line in bench.lines.values()])
    print("\nat the end: %s" % describe_load())
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"system": platform.platform(), "quick": options.quick, "lines": [
                {"what": line.title, "unit": line.unit, "values": line.values, "verdict": line.verdict()}
                for line in bench.lines.values()]}, file, indent=1)
    return 1 if any(line.verdict() == "FAIL" for line in bench.lines.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
