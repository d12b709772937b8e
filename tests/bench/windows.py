"""The lifecycle benchmark of the Windows build, under Wine: tether.exe beside a polling reaper.

usage: windows.py [--quick] [--json FILE]

The reaper looks every 5 s at its owner's pid, or, "fastest", every 5 ms. Wine starts a process in tens of
milliseconds and answers most calls by way of its server, so the numbers say how the two stand to each
other, and nothing of Windows itself. The reaper ends the server's own process only."""
import argparse
import json
import os
import statistics
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
os.environ.setdefault("TETHER_BUILD", os.path.join(HERE, "../../build"))
os.environ.setdefault("TETHER_WINEPREFIX", os.path.join(os.environ["TETHER_BUILD"], "windows.bench"))
os.environ["TETHER_SYSTEM"] = "windows"

from harness import become_subreaper, system  # noqa: E402
from lifecycle import describe_load, print_table  # noqa: E402
from processes import private_kb, wait_moment  # noqa: E402
from rows import Line  # noqa: E402
from scene import wait_alone, wait_until  # noqa: E402
from tether import SERVER, Instance  # noqa: E402

DEFAULT_MS, FASTEST_MS = 5000, 5
NAMES = ["tether", "reaper", "fastest"]


class Bench:
    def __init__(self, folder, quick):
        self.folder, self.quick = folder, quick
        self.number = 0

    def times(self, full):
        return max(2, full // 5) if self.quick else full

    def instance(self):
        self.number += 1
        state = os.path.join(self.folder, str(self.number))
        os.mkdir(state, 0o700)
        return Instance(state)

    def median(self, rounds, trial):
        return statistics.median(trial() for _ in range(rounds))


def listens(port):
    """Looked up, not tried: who binds a port to find out is in the server's way."""
    with open("/proc/net/tcp") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    return any(row[1].endswith(":%04X" % port) and row[3] == "0A" for row in rows)


def ms(nanoseconds):
    return nanoseconds / 1e6


def strike(process, *ports):
    """Kills it: when, and how long it took until all of the ports could be had."""
    return [int(word) for word in system.host().ask("strike", process, *ports).split()]


class Started:
    """A server with its supervisor, which is Tether's daemon or a reaper."""

    def __init__(self, bench, kind, grace_ms=0):
        self.it, self.struck = bench.instance(), None
        self.owner = system.popen(system.IDLE)
        self.stamps = os.path.join(self.it.state_dir, "stamps")
        server = [SERVER, "--stamp", system.native(self.stamps)]
        if kind == "tether":
            argv = self.it.argv("launch", "--owner-pid", self.owner.pid, "--grace-ms", grace_ms, "--",
                                *server, "--exit-on-stdin-eof")
            env = self.it.env
        else:
            interval = DEFAULT_MS if kind == "reaper" else FASTEST_MS
            argv = [system.native(system.HOST), "reap", str(self.owner.pid), str(interval), *server]
            env = {"TETHER_HTTP_PORT": str(self.it.http), "TETHER_WS_PORT": str(self.it.ws)}
        self.popen = system.popen(argv, env={**os.environ, **env}, console=True)
        self.server, self.arrived = self.wait_stamp(1)
        wait_until(lambda: listens(self.it.http) and listens(self.it.ws), "the server listens")

    def wait_stamp(self, number):
        def lines():
            if not os.path.exists(self.stamps):
                return []
            with open(self.stamps) as file:
                return [[int(word) for word in line.split()] for line in file.read().split("\n")[:-1]]
        wait_until(lambda: len(lines()) >= number, "server %d has begun" % number)
        return lines()[number - 1]

    def kill_owner(self):
        """How long it takes until both ports can be had. Once: a pid is soon another's."""
        if self.struck is None:
            _, self.struck = strike(self.owner.pid, self.it.http, self.it.ws)
        return self.struck

    def end(self, *allowed):
        self.kill_owner()
        for popen in (self.owner, self.popen):
            popen.wait()
        try:
            wait_alone(allowed)
        except TimeoutError as error:
            raise RuntimeError("%s\n%s" % (error, self.it.log())) from None


def linux_pid(*wanted):
    """The process that was started with these words, as Linux counts."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % entry, "rb") as file:
                words = file.read().decode(errors="replace").split("\0")
        except OSError:
            continue
        if {str(word) for word in wanted} <= {*words, os.path.basename(words[0].replace("\\", "/"))}:
            return int(entry)
    raise RuntimeError("no process with the words %s" % (wanted,))


def row_owner(bench):
    lines = []
    for title, grace_ms, names in (("grace 0", 0, NAMES), ("default grace, 500 ms", 500, ["tether"])):
        line = Line("owner", "owner killed -> both ports bindable, %s, median" % title, "ms", None)

        def trial(kind, grace_ms=grace_ms):
            started = Started(bench, kind, grace_ms)
            took = ms(started.kill_owner())
            started.end()
            return took

        for name in names:
            line.values[name] = bench.median(bench.times(3 if name == "reaper" else 15), lambda: trial(name))
        lines.append(line)
    return lines


def switches_of(pid):
    """Context switches so far, as of Linux, of all threads but those of Wine's pool: of these one looks every five
    seconds whether there is something to do. What they do for us wakes the loop, too."""
    total = 0
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, task)) as file:
            lines = file.read().splitlines()
        if lines[0] != "Name:\twine_threadpool":
            total += sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)
    return total


def row_idle(bench):
    window = 3 if bench.quick else 30
    idle = Line("idle", "wakeups of the supervisor in %d s" % window, "", {"tether": 0})
    memory = Line("memory", "private memory of the supervisor, as Linux counts it", "kB", None)
    empty = system.popen(system.IDLE)
    for name in NAMES:
        started = Started(bench, name)
        unix = (linux_pid("daemon", started.it.http) if name == "tether" else
                linux_pid("host.exe", "reap", started.owner.pid))
        wait_until(lambda: quiet(unix) or name == "fastest", "the supervisor is quiet")
        before = switches_of(unix)
        wait_moment(window)
        idle.values[name] = switches_of(unix) - before
        memory.values[name] = private_kb([unix])
        started.end(empty.pid)
    memory.note = ("with Wine's own copies of the system's libraries, of which Tether loads more; a program that "
                   "does nothing has %d kB" % private_kb([linux_pid("host.exe", "idle")]))
    empty.kill()
    empty.wait()
    return [idle, memory]


def quiet(pid):
    before = switches_of(pid)
    wait_moment(1)
    return switches_of(pid) == before


def row_launch(bench):
    line = Line("launch", "spawn of the launcher -> server's main(), median", "ms", None)
    plain = Line("plain", "spawn of the server itself -> its main(), median", "ms", None)

    def trial(name):
        started = Started(bench, name)
        took = ms(started.arrived - started.popen.began)
        started.end()
        return took

    def bare():
        stamps = os.path.join(bench.instance().state_dir, "stamps")
        popen = system.popen([SERVER, "--stamp", system.native(stamps), "--exit", "0"], console=True)
        popen.wait()
        with open(stamps) as file:
            return ms(int(file.read().split()[1]) - popen.began)

    for name in ("tether", "fastest"):
        line.values[name] = bench.median(bench.times(15), lambda: trial(name))
    plain.values["tether"] = bench.median(bench.times(15), bare)
    return [line, plain]


def row_restart(bench):
    line = Line("restart", "crash -> restarted server's main(), median", "ms", None)

    def trial():
        started = Started(bench, "tether")
        wait_until(lambda: started.it.status()["state"] == "ready", "it is ready")
        struck, _ = strike(started.server)
        took = ms(started.wait_stamp(2)[1] - struck)
        started.end()
        return took

    line.values["tether"] = bench.median(bench.times(10), trial)
    return [line]


ROWS = {"owner": row_owner, "idle": row_idle, "launch": row_launch, "restart": row_restart}


def main():
    parser = argparse.ArgumentParser(description="measures the lifecycle of the Windows build under Wine")
    parser.add_argument("--rows", default=",".join(ROWS), help="some of: " + ",".join(ROWS))
    parser.add_argument("--quick", action="store_true", help="few repetitions: does it work at all?")
    parser.add_argument("--json", metavar="FILE", help="write all numbers there, too")
    options = parser.parse_args()
    become_subreaper()
    system.prepare()
    with tempfile.TemporaryDirectory(prefix="tb-") as folder:
        bench = Bench(folder, options.quick)
        print("Wine 8, not Windows; %s%s" % (describe_load(), ", quick" if options.quick else ""), flush=True)
        lines = [line for name in options.rows.split(",") for line in ROWS[name](bench)]
    print_table(lines, NAMES)
    print("\nat the end: " + describe_load())
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"wine": True, "quick": options.quick, "lines": [vars(line) for line in lines]}, file, indent=1)
    return 1 if any(line.verdict() == "FAIL" for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
