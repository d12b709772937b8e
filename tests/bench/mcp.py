"""The benchmark of the built-in server, beside servers in Node.js, in one run.

usage: mcp.py --tether PROGRAM --editor PROGRAM --packages FOLDER [--alone] [--quick] [--connections N] [--json FILE]

Every server lists the same tools: those of the reference server, which an editor that takes no time
registers with Tether. The load comes from wrk, one thread, so that on two CPUs load and server have one
each. Absolute numbers depend on the machine and on who else uses it, so ratios stand beside them, and the
work done per CPU second. The exit status is 1 if a budget is missed."""
import argparse
import json
import math
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from lifecycle import describe_load, print_aligned, show
from mcp_subjects import LEGACY, MODERN, Bare, Lean, Reference, Tether, cpu_seconds, post, private_kb

HERE = os.path.dirname(os.path.abspath(__file__))
BUSY = 0.95  # of a CPU: whoever uses that much may be what limits the others
REQUESTS = 100000
TOKENS_MOST = 6000
# Tokens of tools/list of other servers for Godot, by how many tools: counted once, in November 2026.
TOKENS_OF_PEERS = {"coding-solo": (14, 1124), "gopeak": (33, 5872), "runtime": (39, 10690), "satellite": (21, 16394),
                   "server": (77, 18246), "breakpoint": (280, 51393)}
CALLS_TIMES_BARE = 1  # a whole call, to the editor and back, costs no more than an echo does there
PATIENCE = 60  # seconds for all of them


class Line:
    """One line of the table: a number for each subject, and what Tether has to keep."""

    def __init__(self, key, title, unit, most=None, times=None, peer="node-reference"):
        self.key, self.title, self.unit = key, title, unit
        self.most = most
        self.times, self.peer = times, peer  # at least so many times that one's
        self.values = {}
        self.notes = []

    def ratio(self, peer=None):
        ours, theirs = self.values.get("tether"), self.values.get(peer or self.peer)
        numbers = all(isinstance(value, (int, float)) and value > 0 for value in (ours, theirs))
        return ours / theirs if numbers else None

    def budget(self):
        if self.times:
            return "≥ %g × %s" % (self.times, self.peer.removeprefix("node-"))
        return "≤ %g" % self.most if self.most else ""

    def verdict(self, alone=False):
        ours = self.values.get("tether")
        if not self.times and not self.most:
            return ""
        if self.times and alone:
            return "-"
        if self.times:
            good = (self.ratio() or 0) >= self.times
        else:
            good = isinstance(ours, (int, float)) and ours <= self.most
        return "pass" if good else "FAIL"


class Bench:
    def __init__(self, options, folder):
        self.tether = options.tether
        self.editor = options.editor
        self.packages = options.packages
        self.node = os.path.join(options.packages, "node_modules/.bin/node")
        self.connections = options.connections
        self.quick = options.quick
        self.seconds = 2 if options.quick else 8
        self.folder = folder
        self.tools_file = os.path.join(folder, "tools.json")
        self.tools = []
        self.lines = {}

    def package(self, path):
        return os.path.join(self.packages, "node_modules", path)

    def script(self, path):
        return os.path.join(os.path.dirname(HERE), path)

    def line(self, key, *words, **budget):
        return self.lines.setdefault(key, Line(key, *words, **budget))


# ---- requests ------------------------------------------------------------------------------------

def modern_params(params):
    return dict(params, _meta={"io.modelcontextprotocol/protocolVersion": MODERN,
                               "io.modelcontextprotocol/clientCapabilities": {}})


def request_of(subject, era, method, params):
    """(headers, body) of one request."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if era == MODERN:
        params = modern_params(params)
        headers.update({"MCP-Protocol-Version": MODERN, "Mcp-Method": method})
        if "name" in params:
            headers["Mcp-Name"] = params["name"]
    else:
        headers.update(subject.headers)
    return headers, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def run_wrk(bench, subject, headers, body, seconds):
    """Lets wrk ask for some seconds; returns its numbers, with who was busy meanwhile."""
    watched = dict({"the server": subject.pid}, **subject.watched)
    before = {name: cpu_seconds(pid) for name, pid in watched.items()}
    used = os.times()
    done = subprocess.run(
        ["wrk", "-t1", "-c%d" % bench.connections, "-d%ds" % seconds, "--timeout", "10s",
         "-s", os.path.join(HERE, "load.lua"), "http://127.0.0.1:%d/mcp" % subject.port],
        capture_output=True, text=True, timeout=seconds + 60,
        env=dict(os.environ, LOAD_BODY=json.dumps(dict(body, id="ID")).replace('"ID"', "%d"),
                 LOAD_HEADERS="\n".join("%s: %s" % pair for pair in headers.items())))
    match = re.search(r"^RESULT (.*)$", done.stdout, re.MULTILINE)
    if not match:
        raise RuntimeError("wrk: %s%s" % (done.stdout[-300:], done.stderr[-300:]))
    result = json.loads(match.group(1))
    later = os.times()
    result["busy"] = {name: (cpu_seconds(pid) - before[name]) / result["seconds"] for name, pid in watched.items()}
    result["busy"]["wrk"] = (later.children_user + later.children_system - used.children_user
                             - used.children_system) / result["seconds"]
    if result["refused"] or result["cut"] or result["late"]:
        raise RuntimeError("of %(requests)d requests %(refused)d were refused, %(cut)d cut off, %(late)d too late" %
                           result)
    return result


# ---- measurements --------------------------------------------------------------------------------

def measure_start(bench, kinds):
    line = bench.line("ready", "start → first answer, median", "ms", most=10)
    for kind in kinds:
        times = []
        for _ in range(3 if bench.quick else 10):
            subject = kind(bench.folder, bench)
            try:
                times.append(subject.start_once())
            finally:
                subject.end()
        line.values[kind.name] = statistics.median(times)
    line = bench.line("launch", "tether launch, all of it, median", "ms")
    times = []
    for _ in range(3 if bench.quick else 10):
        subject = Tether(bench.folder, bench)
        try:
            times.append(subject.launch_once())
        finally:
            subject.cli("stop", "--force")
            subject.end()
    line.values["tether"] = statistics.median(times)


def measure_rates(bench, subject):
    echo = {"name": "echo", "arguments": {"message": "hello"}}
    # Budgets: so many times the reference's rate; per CPU second of the server, what a busy machine changes least, so
    # many times what a server in Node.js can do that does nothing else.
    rows = [(LEGACY, "ping", {}, 20, None), (LEGACY, "tools/list", {}, 20, None),
            (LEGACY, "tools/call", echo, None, CALLS_TIMES_BARE), (MODERN, "server/discover", {}, None, None),
            (MODERN, "tools/list", {}, None, None), (MODERN, "tools/call", echo, None, None)]
    for era, method, params, times, per_cpu in rows:
        if era not in subject.eras:
            continue
        headers, body = request_of(subject, era, method, params)
        post(subject.port, method, body["params"], headers)  # does it work at all?
        run_wrk(bench, subject, headers, body, 1)  # warm up
        result = run_wrk(bench, subject, headers, body, bench.seconds)
        name = "%s%s" % (method, " (2026)" if era == MODERN else "")
        key = name.replace(" ", "")
        rate = bench.line(key, name, "per s", times=times)
        rate.values[subject.name] = result["requests"] / result["seconds"]
        bench.line(key + ".p50", name + ", p50", "µs").values[subject.name] = result["p50_us"]
        bench.line(key + ".p99", name + ", p99", "µs").values[subject.name] = result["p99_us"]
        effort = bench.line(key + ".cpu", name + ", per CPU second of the server", "", times=per_cpu, peer="node-bare")
        effort.values[subject.name] = result["requests"] / (result["busy"]["the server"] * result["seconds"])
        busy = ["%s %d %%" % (who, round(100 * share)) for who, share in result["busy"].items()]
        rate.notes.append("%s: CPU %s" % (subject.name, ", ".join(busy)))
        if result["busy"]["wrk"] > BUSY:
            rate.notes.append("%s: wrk itself was the limit" % subject.name)


def measure_after_load(bench, subject):
    """Memory after that many requests, on top of those before; slow servers get a minute for them."""
    wanted = 10000 if bench.quick else REQUESTS
    end = time.monotonic() + PATIENCE
    headers, body = request_of(subject, LEGACY, "ping", {})
    sent = 0
    rate = bench.lines["ping"].values[subject.name]
    while sent < wanted and time.monotonic() < end:
        seconds = math.ceil(min((wanted - sent) / rate, end - time.monotonic()))
        sent += run_wrk(bench, subject, headers, body, max(1, seconds))["requests"]
    line = bench.line("after", "private memory after %d requests" % wanted, "kB")
    line.values[subject.name] = private_kb(subject.pid)
    line.notes.append("%s: after %d" % (subject.name, sent))


def measure(bench, kind):
    subject = kind(bench.folder, bench)
    start = time.monotonic()
    try:
        subject.start()
        bench.line("idle", "private memory at idle", "kB", most=1024).values[kind.name] = private_kb(subject.pid)
        measure_rates(bench, subject)
        measure_after_load(bench, subject)
    finally:
        subject.end()
    print("  %s took %.1f s, %s" % (kind.name, time.monotonic() - start, describe_load()), file=sys.stderr)


def copy_tools(bench):
    """The reference server's list of tools becomes everybody's."""
    subject = Reference(bench.folder, bench)
    try:
        subject.start()
        bench.tools = post(subject.port, "tools/list", headers=subject.headers)[1]["tools"]
    finally:
        subject.end()
    with open(bench.tools_file, "w") as file:
        json.dump({"tools": bench.tools}, file)


def tell_tokens(bench):
    """What a client pays for the tools of a real editor; true if it is within the budget."""
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
    import tokens
    from tools_probe import ToolsEditor, make_tools_project
    with ToolsEditor(make_tools_project(os.path.join(bench.folder, "project"))) as editor:
        listed = editor.request(op="list")["answer"]
        editor.quit()
    whole, each = tokens.of_tools([dict({"name": name}, **tool) for name, tool in listed.items()], bench.packages)
    print("\ntokens (o200k) of the editor's %d tools: %d (≤ %d: %s)" % (
        len(each), whole, TOKENS_MOST, "pass" if whole <= TOKENS_MOST else "FAIL"))
    print("  " + ", ".join("%s %d" % (name, count) for count, name in each))
    print("  of others: " + ", ".join("%s %d (%d tools)" % (name, count, tools) for name, (tools, count) in TOKENS_OF_PEERS.items()))
    return whole <= TOKENS_MOST


# ---- the table -----------------------------------------------------------------------------------

def print_table(bench, names):
    table = [["what", "unit", "budget"] + names + ["/ reference", "/ sdk", "/ bare"][:len(names) - 1] + ["verdict"]]
    for line in bench.lines.values():
        ratios = [line.ratio(name) for name in names if name != "tether"]
        table.append([line.title, line.unit, line.budget()] + [show(line.values.get(name)) for name in names] +
                     ["%.3g" % ratio if ratio else "-" for ratio in ratios] + [line.verdict(len(names) == 1)])
    print_aligned(table)
    for line in bench.lines.values():
        for note in line.notes:
            print("note on %s: %s" % (line.title, note))


def read_arguments():
    parser = argparse.ArgumentParser(description="measures the built-in MCP server")
    parser.add_argument("--tether", required=True, help="the program as users get it")
    parser.add_argument("--editor", required=True, help="tests/programs/quick_editor, built")
    parser.add_argument("--packages", required=True, help="where ./dev has installed the packages of npm")
    parser.add_argument("--connections", type=int, default=10)
    parser.add_argument("--alone", action="store_true", help="without the others: no ratios")
    parser.add_argument("--quick", action="store_true", help="few repetitions: does it work at all?")
    parser.add_argument("--json", metavar="FILE", help="write all numbers there, too")
    return parser.parse_args()


def work(options, folder):
    bench = Bench(options, folder)
    kinds = [Tether] if options.alone else [Tether, Reference, Lean, Bare]
    print("%s %s, %s, %d connections%s" % (
        platform.system(), platform.release(), describe_load(), bench.connections,
        ", quick: too short for a judgement" if bench.quick else ""), flush=True)
    copy_tools(bench)
    measure_start(bench, kinds)
    for kind in kinds:
        measure(bench, kind)
    print()
    print_table(bench, [kind.name for kind in kinds])
    print("\n%d tools, %d bytes of JSON, with every server; at the end: %s" % (
        len(bench.tools), os.path.getsize(bench.tools_file), describe_load()))
    cheap = tell_tokens(bench)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"system": platform.platform(), "cpus": os.cpu_count(), "load": os.getloadavg(),
                       "quick": bench.quick, "connections": bench.connections,
                       "lines": [vars(line) | {"ratio": line.ratio(), "verdict": line.verdict(options.alone)}
                                 for line in bench.lines.values()]}, file, indent=1)
    return 1 if not cheap or any(line.verdict(options.alone) == "FAIL" for line in bench.lines.values()) else 0


def main():
    options = read_arguments()
    for name in [name for name in os.environ if name.startswith("TETHER_") and name not in ("TETHER_ENGINE", "TETHER_BUILD")]:
        del os.environ[name]
    folder = tempfile.mkdtemp(prefix="tb-")
    try:
        return work(options, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
