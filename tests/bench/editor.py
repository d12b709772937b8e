"""The benchmark of what a real editor feels: idle cost, start, and how long a tool call takes.

usage: editor.py --engine GODOT [--quick] [--rows a,b] [--json FILE]

The peer is a plugin that listens inside the editor and looks at its WebSockets each frame, as such
plugins do. Absolute times depend on the machine and on who else uses it, so the peer is measured in the
same run, and the load stands beside. The exit status is 1 if a budget is missed."""
import argparse
import json
import os
import platform
import random
import shutil
import socket
import statistics
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
os.environ.setdefault("TETHER_BUILD", os.path.join(ROOT, "build"))
sys.path.insert(0, os.path.join(ROOT, "tests/support"))

from editor_screen import Focus  # noqa: E402
from harness import Process, children_of, free_ports, wait_gone  # noqa: E402
from lifecycle import describe_load, print_aligned, run, show  # noqa: E402
from mcp_client import McpClient  # noqa: E402
from tools_probe import Display  # noqa: E402
from websocket import Raw, request as websocket_request  # noqa: E402

LIMIT = 120.0
SETTINGS = """config_version=5

[application]

config/name="Bench"
config/features=PackedStringArray("4.5")
run/max_fps=60

[editor]

run/main_run_args="--headless"

[audio]

driver/driver="Dummy"

[rendering]

renderer/rendering_method="gl_compatibility"

[editor_plugins]

enabled=PackedStringArray(%s)
"""


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


GAME_NODES = 5000
GAME = {"game.gd": """extends Node2D


func _ready() -> void:
\tfor number: int in %d:
\t\tvar made: Node2D = Node2D.new()
\t\tmade.name = "N%%d" %% number
\t\tadd_child(made)
""" % (GAME_NODES - 2), "game.tscn": """[gd_scene format=3]

[ext_resource type="Script" path="res://game.gd" id="1"]

[node name="Game" type="Node2D"]
script = ExtResource("1")
"""}


# ---- editors -------------------------------------------------------------------------------------

class Bench:
    def __init__(self, options, folder):
        self.engine = options.engine
        self.quick = options.quick
        self.folder = folder
        self.editors = 0
        self.costs = []      # (what, value, unit, most)
        self.latencies = {}  # what: {column: value}

    def cost(self, what, value, unit, most=None):
        self.costs.append((what, value, unit, most))

    def latency(self, what, column, value):
        self.latencies.setdefault(what, {})[column] = value


class Editor:
    """An editor on a project of its own; what is measured inside it, the probe does."""

    def __init__(self, bench, plugins, has_addon=True, display=None):
        bench.editors += 1
        self.folder = os.path.join(bench.folder, "p%d" % bench.editors)
        self.state_dir = self.folder + ".state"
        self.http, self.ws, self.peer_port = free_ports(3)
        self.make_project(plugins, has_addon)
        self.bench, self.display = bench, display
        self.open()

    def make_project(self, plugins, has_addon):
        os.makedirs(self.folder + "/addons")
        os.mkdir(self.folder + "/.godot")
        os.mkdir(self.state_dir, 0o700)
        shutil.copytree(HERE + "/editor_probe", self.folder + "/addons/probe")
        shutil.copytree(HERE + "/polling_peer", self.folder + "/addons/peer")
        if has_addon:
            os.symlink(ROOT + "/addons/tether", self.folder + "/addons/tether")
            with open(self.folder + "/.godot/extension_list.cfg", "w") as file:
                file.write("res://addons/tether/tether.gdextension\n")
        for name, text in GAME.items():
            with open(os.path.join(self.folder, name), "w") as file:
                file.write(text)
        with open(self.folder + "/project.godot", "w") as file:
            file.write(SETTINGS % ", ".join('"res://addons/%s/plugin.cfg"' % plugin for plugin in plugins))

    def open(self):
        """Starts the editor and waits until it has settled; remembers how long that took, in ms."""
        listener = socket.create_server(("127.0.0.1", 0))
        listener.settimeout(LIMIT)
        home = self.folder + ".home"
        environment = {"XDG_CONFIG_HOME": home + "/config", "XDG_DATA_HOME": home + "/data",
                       "XDG_CACHE_HOME": home + "/cache", "PROBE_PORT": str(listener.getsockname()[1]),
                       "PEER_PORT": str(self.peer_port), "TETHER_HEADLESS": "1", "TETHER_STATE_DIR": self.state_dir,
                       "TETHER_HTTP_PORT": str(self.http), "TETHER_WS_PORT": str(self.ws)}
        screen = ["--headless"]
        if self.display:
            environment["DISPLAY"] = self.display.name
            screen = ["--rendering-driver", "opengl3", "--single-window"]
        start = time.monotonic()
        self.process = Process([self.bench.engine, *screen, "--editor", "--path", self.folder], environment)
        try:
            self.link = listener.accept()[0]
        except socket.timeout:
            raise RuntimeError("the probe never came:\n" + self.process.output[-2000:])
        finally:
            listener.close()
        self.link.settimeout(LIMIT)
        self.lines = self.link.makefile("r")
        self.ask("settled")
        self.start_ms = (time.monotonic() - start) * 1e3

    @property
    def pid(self):
        return self.process.pid

    def ask(self, *words):
        self.link.sendall((" ".join(str(word) for word in words) + "\n").encode())
        line = self.lines.readline()
        if not line:
            raise RuntimeError("the editor is gone:\n" + self.process.output[-2000:])
        return json.loads(line)

    def wait_offered(self):
        """Waits until the addon's tools are at clients' hands; returns a client."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            try:
                client = McpClient(self.http, name="bench")
                if "bench_ping" in client.tools():
                    return client
                client.close()
            except OSError:
                pass
            time.sleep(0.05)
        raise RuntimeError("the tools never came:\n" + self.process.output[-2000:])

    def close(self):
        """Closes the editor, and waits for its server's daemon, if it has one."""
        daemon = None
        for name in os.listdir(self.state_dir):
            try:
                with open(os.path.join(self.state_dir, name, "daemon.json")) as file:
                    daemon = json.load(file).get("pid")
            except (OSError, ValueError):
                pass
        self.ask("quit")
        self.lines.close()
        self.link.close()
        self.process.wait(LIMIT)
        self.process.stop()
        if daemon:
            wait_gone(daemon)


# ---- what it costs -------------------------------------------------------------------------------

def measure_start(bench):
    """From the process's start until the editor has read the project, with and without the addon."""
    with_addon = Editor(bench, ["probe", "tether"])
    with_addon.close()
    without = Editor(bench, ["probe"], has_addon=False)
    without.close()  # the first start of a project imports it
    times = {with_addon: [], without: []}
    for _ in range(3 if bench.quick else 9):
        for editor in (with_addon, without):
            editor.open()
            times[editor].append(editor.start_ms)
            editor.close()
    medians = [statistics.median(times[editor]) for editor in (with_addon, without)]
    bench.cost("editor start with the addon, median of %d" % len(times[without]), medians[0], "ms")
    bench.cost("editor start without it, median", medians[1], "ms")
    bench.cost("difference (spread of the starts without: %.0f)" % (max(times[without]) - min(times[without])),
               medians[0] - medians[1], "ms")


def measure_plugin(bench):
    """What enabling the addon takes of the main thread."""
    editor = Editor(bench, ["probe"])
    cold = editor.ask("enable")
    loading = editor.ask("tools")
    enabled, attached, started, ready, gaps = [], [], [], [], []
    for _ in range(7 if bench.quick else 15):
        editor.ask("disable")
        editor.ask("longest_gap", 300)
        enabled.append(editor.ask("enable_again")["enable_usec"])
        attached.append(editor.ask("tools")["attach_usec"])
    editor.ask("disable")
    editor.ask("longest_gap", 1500)
    for _ in range(3 if bench.quick else 10):
        answer = editor.ask("start_server", *free_ports(), "-", 20000)
        if answer["state"] != "ready":
            raise RuntimeError("the server did not get ready: %s" % answer)
        started.append(answer["start_usec"])
        ready.append(answer["ready_usec"])
    hanging = os.path.join(bench.folder, "hanging")
    with open(hanging, "w") as file:
        file.write("#!/bin/sh\nexec sleep 2\n")
    os.chmod(hanging, 0o755)
    for _ in range(2 if bench.quick else 5):
        gaps.append((editor.ask("longest_gap", 1500)["gap_usec"],
                     editor.ask("start_server", *free_ports(), hanging, 1500)["gap_usec"]))
    editor.close()
    medians = [statistics.median(values) / 1e3 for values in (enabled, attached, started)]
    bench.cost("plugin start on the main thread: enable (dock, start) and tools, median", medians[0] + medians[1], "ms", 5)
    bench.cost("  of it: enable, with the dock and start()", medians[0], "ms")
    bench.cost("  of it: making and registering the tools", medians[1], "ms")
    bench.cost("  of it: TetherServer.start()", medians[2], "ms")
    bench.cost("cold, beside that: compiling the addon's scripts", cold["load_usec"] / 1e3, "ms")
    bench.cost("cold: first enabling, scripts loaded", cold["enable_usec"] / 1e3, "ms")
    bench.cost("cold: compiling the tools (on a thread)", loading["load_usec"] / 1e3, "ms")
    bench.cost("start() to ready, as the editor sees it, median", statistics.median(ready) / 1e3, "ms")
    bench.cost("longest frame while a launcher hangs, worst of %d" % len(gaps), max(gap[1] for gap in gaps) / 1e3, "ms")
    bench.cost("longest frame without, worst of %d" % len(gaps), max(gap[0] for gap in gaps) / 1e3, "ms")


def measure_idle(bench, editor, column):
    """What Tether takes of a frame in which nothing happens."""
    before = editor.ask("addon")["status"]["cost"]
    cpu, start = cpu_seconds(editor.pid), time.monotonic()
    time.sleep(2 if bench.quick else 8)
    share = (cpu_seconds(editor.pid) - cpu) / (time.monotonic() - start)
    after = editor.ask("addon")["status"]["cost"]
    frames = after["idle_frames"] - before["idle_frames"]
    bench.cost("idle frame, %s (%d frames)" % (column, frames),
               (after["idle_ns"] - before["idle_ns"]) / 1e3 / max(1, frames), "µs", 5)
    bench.latency("CPU, idle", column, share * 100)


# ---- calls ---------------------------------------------------------------------------------------

class TetherCaller:
    def __init__(self, editor):
        self.client = McpClient(editor.http, name="bench")

    def call(self):
        assert self.client.call("bench_ping") == "pong"

    def close(self):
        self.client.close()


class PeerCaller:
    def __init__(self, editor):
        self.raw = Raw.connect(editor.peer_port)
        self.raw.send(websocket_request(editor.peer_port))
        assert " 101 " in self.raw.head().splitlines()[0]

    def call(self):
        self.raw.text(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                                  "params": {"name": "bench_ping", "arguments": {}}}))
        assert b"pong" in self.raw.receive()[1]

    def close(self):
        self.raw.close()


def timed(call):
    start = time.monotonic()
    call()
    return (time.monotonic() - start) * 1e3


def tell_times(bench, what, column, times):
    times = sorted(times)
    bench.latency(what + ", median (ms)", column, statistics.median(times))
    if len(times) >= 20:
        bench.latency(what + ", p95 (ms)", column, times[int(len(times) * 0.95)])
    if len(times) >= 100:
        bench.latency(what + ", p99 (ms)", column, times[int(len(times) * 0.99)])
    bench.latency(what + ", worst (ms)", column, times[-1])


def measure_calls(bench, editor, column, kind):
    one, two = kind(editor), kind(editor)
    one.call(), two.call()
    bursts = []
    for _ in range(2 if bench.quick else 6):
        time.sleep(1.5)
        bursts += [timed(one.call) for _ in range(50)]
    tell_times(bench, "burst of 50", column, bursts)
    both = []
    threads = [threading.Thread(target=lambda caller=caller: both.extend(
        [timed(caller.call) for _ in range(50 if bench.quick else 150)])) for caller in (one, two)]
    cpu, start = cpu_seconds(editor.pid), time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    bench.latency("CPU, two clients", column, 100 * (cpu_seconds(editor.pid) - cpu) / (time.monotonic() - start))
    tell_times(bench, "two clients", column, both)
    single = []
    cpu, start = cpu_seconds(editor.pid), time.monotonic()
    for _ in range(5 if bench.quick else 25):
        time.sleep(random.uniform(1.5, 2.5) if bench.quick else random.uniform(2, 4))  # not in step with its frames
        single.append(timed(one.call))
    bench.latency("CPU, single calls", column, 100 * (cpu_seconds(editor.pid) - cpu) / (time.monotonic() - start))
    tell_times(bench, "single call, now and then", column, single)
    time.sleep(1.5)  # what it does afterwards is over by now
    cpu, start = cpu_seconds(editor.pid), time.monotonic()
    time.sleep(2 if bench.quick else 5)
    bench.latency("CPU, afterwards", column, 100 * (cpu_seconds(editor.pid) - cpu) / (time.monotonic() - start))
    one.close(), two.close()


def focus_editor(editor, focus, wanted):
    """Gives the keyboard to the editor or takes it away, and waits until it knows."""
    focus.move(editor.ask("state")["window"] if wanted else None)
    end = time.monotonic() + LIMIT
    while editor.ask("state")["focused"] != wanted:
        if time.monotonic() > end:
            raise RuntimeError("the editor's focus is not as wanted: %s" % editor.ask("state"))
        time.sleep(0.05)


def measure_headless(bench):
    editor = Editor(bench, ["probe", "tether"])
    editor.ask("offer_ping")
    editor.wait_offered().close()
    measure_idle(bench, editor, "headless")
    measure_calls(bench, editor, "headless", TetherCaller)
    editor.close()


def measure_screen(bench):
    """With a window, which has the keyboard or not; then the same with the peer instead of the addon."""
    for plugins, kind, name in ((["probe", "tether"], TetherCaller, ""), (["probe", "peer"], PeerCaller, "peer, ")):
        with Display() as display:
            editor = Editor(bench, plugins, display=display)
            focus = Focus(display.name)
            if not name:
                editor.ask("offer_ping")
                editor.wait_offered().close()
            for column, wanted in (("focused", True), ("unfocused", False)):
                focus_editor(editor, focus, wanted)
                if not name:
                    measure_idle(bench, editor, column)
                measure_calls(bench, editor, name + column, kind)
                if editor.ask("state")["focused"] != wanted:
                    raise RuntimeError("the focus has moved meanwhile")
            focus.close()
            editor.close()


# ---- a running game ------------------------------------------------------------------------------

def measure_share(bench, editor, game):
    """CPU of the editor and of the game, in percent of one, while nothing is asked of either."""
    time.sleep(1)
    start = time.monotonic()
    before = cpu_seconds(editor.pid), cpu_seconds(game)
    time.sleep(3 if bench.quick else 10)
    return [100 * (now - then) / (time.monotonic() - start) for now, then in zip((cpu_seconds(editor.pid), cpu_seconds(game)), before)]


def run_game(editor):
    """Starts it from the editor; its process."""
    known = set(children_of(editor.pid))
    editor.ask("play", "res://game.tscn")
    end = time.monotonic() + LIMIT
    while not set(children_of(editor.pid)) - known:
        if time.monotonic() > end:
            raise RuntimeError("the game did not start:\n" + editor.process.output[-2000:])
        time.sleep(0.05)
    return (set(children_of(editor.pid)) - known).pop()


def measure_game(bench):
    """A game costs no more with Tether in the editor, until something is asked of it; and then its tree."""
    plain = Editor(bench, ["probe"], has_addon=False)
    shares = {"without Tether": measure_share(bench, plain, run_game(plain))}
    plain.ask("stop")
    plain.close()
    editor = Editor(bench, ["probe", "tether"])
    editor.ask("offer_ping")
    client = editor.wait_offered()
    game = run_game(editor)
    shares["with it, unused"] = measure_share(bench, editor, game)
    times = []
    for _ in range(5 if bench.quick else 30):
        times.append(timed(lambda: client.call("game_tree")))
    listed = client.call("game_tree")
    assert listed["total"] == GAME_NODES, listed
    shares["after it was used"] = measure_share(bench, editor, game)
    bench.cost("tree of a game with %d nodes, to the client: the first, with the helper" % GAME_NODES, times[0], "ms")
    bench.cost("  the others, median", statistics.median(times[1:]), "ms", 100)
    bench.cost("  the others, worst", max(times[1:]), "ms")
    for when, (of_editor, of_game) in shares.items():
        bench.cost("CPU of the editor while a game runs, %s" % when, of_editor, "%")
        bench.cost("CPU of that game, %s" % when, of_game, "%")
    client.close()
    editor.ask("stop")
    editor.close()


# ---- the report ----------------------------------------------------------------------------------

ROWS = {"plugin": measure_plugin, "headless": measure_headless, "screen": measure_screen, "game": measure_game, "start": measure_start}
BUDGETS = {"single call, now and then, median (ms)": 15, "burst of 50, median (ms)": 15, "two clients, median (ms)": 15}


def verdict(value, most):
    if most is None or value is None:
        return ""
    return "pass" if value <= most else "FAIL"


def print_report(bench):
    if bench.costs:
        print_aligned([["what", "value", "unit", "budget", ""]] + [
            [what, show(value), unit, show(most) if most else "", verdict(value, most)]
            for what, value, unit, most in bench.costs])
    columns = [column for column in ("headless", "focused", "unfocused", "peer, focused", "peer, unfocused")
               if any(column in values for values in bench.latencies.values())]
    if columns:
        print()
        print_aligned([["what"] + columns + ["budget (unfocused)", ""]] + [
            [what] + [show(values.get(column)) for column in columns] +
            [show(BUDGETS[what]) if what in BUDGETS else "", verdict(values.get("unfocused"), BUDGETS.get(what))]
            for what, values in sorted(bench.latencies.items())])
    return ([verdict(value, most) for _, value, _, most in bench.costs] +
            [verdict(values.get("unfocused"), BUDGETS.get(what)) for what, values in bench.latencies.items()])


def work(options, folder):
    bench = Bench(options, folder)
    print("%s %s, %s%s" % (platform.system(), platform.release(), describe_load(),
                           ", quick: too few repetitions for a judgement" if options.quick else ""), flush=True)
    loads = {}
    for name in options.rows:
        start = time.monotonic()
        try:
            ROWS[name](bench)
        finally:
            for process in list(Process.running):
                process.stop()
        loads[name] = os.getloadavg()[0]
        print("  %s took %.1f s, %s" % (name, time.monotonic() - start, describe_load()), file=sys.stderr, flush=True)
    print()
    verdicts = print_report(bench)
    print("\nCPU in percent of one. At the end: %s; load after each row: %s" %
          (describe_load(), ", ".join("%s %.2f" % pair for pair in loads.items())))
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"system": platform.platform(), "cpus": os.cpu_count(), "load": loads, "quick": options.quick,
                       "costs": [dict(zip(("what", "value", "unit", "most"), cost)) for cost in bench.costs],
                       "latencies": bench.latencies, "budgets": BUDGETS}, file, indent=1)
    return 1 if "FAIL" in verdicts else 0


def read_arguments():
    parser = argparse.ArgumentParser(description="measures what a real editor feels of Tether")
    parser.add_argument("--engine", required=True, help="the Godot editor")
    parser.add_argument("--rows", default=",".join(ROWS), help="some of: " + ",".join(ROWS))
    parser.add_argument("--quick", action="store_true", help="few repetitions: does it work at all?")
    parser.add_argument("--json", metavar="FILE", help="write all numbers there, too")
    options = parser.parse_args()
    options.rows = options.rows.split(",")
    unknown = set(options.rows) - set(ROWS)
    if unknown:
        parser.error("unknown rows: %s (there are %s)" % (", ".join(sorted(unknown)), ", ".join(ROWS)))
    return options


if __name__ == "__main__":
    sys.exit(run(work, read_arguments()))
