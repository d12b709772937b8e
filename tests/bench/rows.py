"""The rows of the lifecycle benchmark. Each is a function that measures every subject side by side
and returns Lines; what a subject cannot do stays empty, what fails is told in its place."""
import concurrent.futures
import json
import os
import random
import select
import signal
import socket
import statistics
import sys
import threading
import traceback

from processes import (LIMIT, Fifo, Pid, children_of, fds_of, now, private_kb, state_of, switches_of,
                       wait_bindable, wait_moment)
from subjects import Instance, Reaper, Runsv, Tether

SESSIONS = 100


class Line:
    """One line of the table: a number per subject and the budget that Tether has to keep."""

    def __init__(self, key, title, unit, budget):
        self.key, self.title, self.unit, self.budget = key, title, unit, budget
        self.values = {}  # by the subject's name: a number, or why there is none
        self.note = ""

    def limit_of(self, name):
        """The budget may differ between the two builds of Tether."""
        return self.budget.get(name) if isinstance(self.budget, dict) else self.budget

    def verdict(self):
        judged = [(self.values[name], self.limit_of(name)) for name in ("tether", "static")
                  if name in self.values and self.limit_of(name) is not None]
        if not judged:
            return ""
        good = all(isinstance(value, (int, float)) and value <= limit for value, limit in judged)
        return "pass" if good else "FAIL"


class Bench:
    def __init__(self, place, subjects, quick):
        self.place, self.subjects, self.quick = place, subjects, quick
        self.kept = {}  # what a later row uses again
        self.cycles = 100 if quick else 1000

    def times(self, full, quick, subject=None):
        """How often to repeat; slow subjects a few times only."""
        count = quick if self.quick else full
        return max(1, count // 5) if subject and subject.slow else count

    def try_on(self, subject, lines, measure):
        """Measures one subject; a failure is shown in its place and the rest goes on."""
        try:
            measure(subject)
        except Exception as error:  # whatever it is: one subject must not end the run
            text = "%s: %s" % (type(error).__name__, error)
            print("  %s: %s" % (subject.name, text), file=sys.stderr)
            if os.environ.get("BENCH_TRACE"):
                traceback.print_exc()
            for line in lines:
                line.values.setdefault(subject.name, "error")
                line.note = line.note or "%s: %s" % (subject.name, text)


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


# ---- owner SIGKILLed -> ports bindable -----------------------------------------------------------

def owner_trial(bench, subject, wait_before=0.0, **options):
    instance = subject.start(bench.place, owned=True, **options)
    try:
        instance.wait_listening()
        wait_moment(wait_before)
        start = now()
        instance.kill_owner()
        if not instance.server.wait():
            raise TimeoutError("the server outlived its owner by %g s" % LIMIT)
        wait_bindable(instance.ports)
        return (now() - start) / 1e6
    finally:
        instance.dispose()


def owner_times(bench, subject, grace):
    if isinstance(subject, Tether):
        options = ["--grace-ms", "0"] if grace == 0 else []
        count = bench.times(100, 10) if grace == 0 else bench.times(20, 3)
        return [owner_trial(bench, subject, options=options) for _ in range(count)]
    if isinstance(subject, Reaper) and subject.slow:  # sleeps nearly all the time: all at once
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            phases = 0 if bench.quick else subject.interval
            waits = [random.uniform(0, phases) for _ in range(bench.times(20, 3))]
            return list(pool.map(lambda wait: owner_trial(bench, subject, wait), waits))
    return [owner_trial(bench, subject) for _ in range(bench.times(50, 10))]


def measure_owner(bench, key, title, budgets, grace):
    lines = [Line(key + "_median", title + ", median", "ms", budgets[0]),
             Line(key + "_p99", title + ", p99", "ms", budgets[1])]

    def measure(subject):
        known = None if isinstance(subject, Tether) else bench.kept.get(("owner", subject.name))
        times = known or owner_times(bench, subject, grace)
        bench.kept["owner", subject.name] = times
        lines[0].values[subject.name] = statistics.median(times)
        lines[1].values[subject.name] = percentile(times, 0.99)

    for subject in bench.subjects:
        if subject.ends_with_owner:
            bench.try_on(subject, lines, measure)
    return lines


def row_owner0(bench):
    return measure_owner(bench, "owner0", "owner SIGKILLed -> ports bindable, grace 0", (5, 20), 0)


def row_owner(bench):
    return measure_owner(bench, "owner", "owner SIGKILLed -> ports, default grace", (550, 550), None)


# ---- survivors of the escape test ----------------------------------------------------------------

def stop_it(instance):
    instance.stop()


def kill_owner(instance):
    instance.kill_owner()


def kill_nth(number, stopped=None):
    """Kills daemon (0) or guard (1), after the other was stopped if that is asked for."""
    def act(instance):
        if stopped is not None:
            instance.supervisors[stopped].signal(signal.SIGSTOP)
            while state_of(instance.supervisors[stopped].pid) not in ("T", None):
                wait_moment(0.0005)
        instance.supervisors[number].signal(signal.SIGKILL)
    return act


# Key, title, the server's flag, what is done, and what a subject must have for it.
ESCAPES = [
    ("stop", "stop, all ignore SIGTERM", "--escape", stop_it, None),
    ("stop_obedient", "stop, all obey SIGTERM", "--escape-obedient", stop_it, None),
    ("owner", "owner SIGKILLed", "--escape", kill_owner, "owner"),
    ("daemon", "SIGKILL of the daemon", "--escape", kill_nth(0), None),
    ("guard", "SIGKILL of the guard", "--escape", kill_nth(1), "guard"),
    ("guard_stopped", "guard stopped, daemon SIGKILLed", "--escape", kill_nth(0, stopped=1), "guard"),
    ("daemon_stopped", "daemon stopped, guard SIGKILLed", "--escape", kill_nth(1, stopped=0), "guard"),
]


def escape_trial(bench, subject, flag, act, needs):
    """How many of the five processes are alive once all had the time to end."""
    report = Fifo(os.path.join(bench.place.new_folder(), "pids"))
    options = {"options": ["--grace-ms", "0"]} if isinstance(subject, Tether) else {}
    escaped, instance = [], None
    try:
        instance = subject.start(bench.place, [flag, report.path], owned=needs == "owner", **options)
        escaped = [Pid(report.next()[0]) for _ in range(5)]
        if isinstance(subject, Tether):
            subject.find_guard(instance)
        act(instance)
        end = now() + (1.5e9 if bench.quick else 3e9)
        if isinstance(subject, Reaper) and needs == "owner":
            end += (2 * subject.interval + 2) * 1e9
        return sum(not process.wait((end - now()) / 1e9) for process in escaped)
    finally:
        for process in escaped:
            process.signal(signal.SIGKILL)
            process.close()
        if instance:
            instance.dispose()
        report.close()


def row_escape(bench):
    lines = {key: Line("escape_" + key, "survivors of 5: " + title, "", 0) for key, title, *_ in ESCAPES}

    def is_able(subject, needs):
        if needs == "guard":
            return isinstance(subject, Tether)
        if needs == "owner" and isinstance(subject, Reaper) and subject.slow and bench.quick:
            return False  # takes long, and says what the fast one says
        return needs is None or subject.ends_with_owner

    def measure(pair):
        subject, (key, _, flag, act, needs) = pair
        rounds = bench.times(5, 1) if isinstance(subject, Tether) else 1
        bench.try_on(subject, [lines[key]], lambda it: lines[key].values.update(
            {it.name: max(escape_trial(bench, it, flag, act, needs) for _ in range(rounds))}))

    pairs = [(subject, escape) for subject in bench.subjects for escape in ESCAPES if is_able(subject, escape[4])]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:  # mostly waiting: several at once
        list(pool.map(measure, pairs))
    return list(lines.values())


# ---- idle wakeups --------------------------------------------------------------------------------

def hold_sessions(path, count):
    """Starts editors that do no more than say hello, a process each, and waits for each welcome.
    Returns the pipe that ends them when it is closed, their pids, and what each has met."""
    inner, outer = os.pipe()
    ready_in, ready_out = os.pipe()
    pids = []
    for _ in range(count):
        pid = os.fork()
        if pid == 0:
            os.close(outer)
            os.close(ready_in)
            live_as_session(path, inner, ready_out)
        pids.append(pid)
    os.close(inner)
    os.close(ready_out)
    with os.fdopen(ready_in) as answers:
        return outer, pids, answers.read().splitlines()


def live_as_session(path, stop, ready):
    """Never returns. What the daemon tells is read and dropped, as by an editor that lists nothing."""
    try:
        connection = say_hello(path)
        os.write(ready, b"welcome\n")
        os.close(ready)
        while stop not in select.select([connection, stop], [], [])[0]:
            if not connection.recv(65536):
                select.select([stop], [], [])
    except Exception as error:
        os.write(ready, repr(error).encode() + b"\n")
    finally:
        os._exit(0)


def say_hello(path):
    with open("/proc/self/stat") as file:
        start = file.read().rsplit(")", 1)[1].split()[19]
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(LIMIT)
    connection.connect(path)
    hello = {"type": "hello", "protocol": 1, "role": "editor", "pid": os.getpid(), "start": start,
             "version": "0.1.0", "godot": "4.5", "project": "/bench"}
    connection.sendall(json.dumps(hello).encode() + b"\n")
    with connection.makefile() as lines:
        for line in lines:
            message = json.loads(line)
            if message["type"] == "welcome":
                return connection
            if message["type"] == "error":
                raise RuntimeError(line.strip())
    raise RuntimeError("the daemon closed the connection without a welcome")


def settle(instances):
    """Waits until start-up noise is over: no switches for a moment, but 5 s at most."""
    before = None
    for _ in range(20):
        seen = {i: switches_of(i.pids) for i in instances if not isinstance(i.subject, Reaper)}
        if seen == before:
            return
        before = seen
        wait_moment(0.25)


def row_idle(bench):
    window = 3 if bench.quick else 30
    plain = Line("idle", "wakeups in %d s, idle" % window, "", 0)
    full = Line("idle_sessions", "wakeups in %d s, %d sessions" % (window, SESSIONS), "", 2)
    started, groups = [], []  # (instance, its line); sessions

    def start(subject, line):
        instance = subject.start(bench.place, owned=subject.ends_with_owner)
        started.append((instance, line))
        if isinstance(subject, Tether):
            subject.find_guard(instance)
        if line is full:
            groups.append(hold_sessions(instance.control, SESSIONS))
            failed = [met for met in groups[-1][2] if met != "welcome"]
            if failed:
                raise RuntimeError("%d of %d sessions failed, the first with %s" % (len(failed), SESSIONS, failed[0]))

    try:
        for subject in bench.subjects:
            bench.try_on(subject, [plain], lambda it: start(it, plain))
            if isinstance(subject, Tether):
                bench.try_on(subject, [full], lambda it: start(it, full))
        settle([instance for instance, _ in started])
        before = [switches_of(instance.pids) for instance, _ in started]
        wait_moment(window)
        counts = [switches_of(instance.pids) - count for (instance, _), count in zip(started, before)]
        for (instance, line), count in zip(started, counts):
            if line is full and instance.subject.count_sessions(instance) < SESSIONS:
                count = "lost some"
            line.values.setdefault(instance.subject.name, count)
    finally:
        for outer, _, _ in groups:  # all of them first: later sessions inherited the earlier ends
            os.close(outer)
        for pid in [pid for _, pids, _ in groups for pid in pids]:
            os.waitpid(pid, 0)
        for instance, _ in started:
            instance.dispose()
    return [plain, full]


# ---- memory, start, restart ----------------------------------------------------------------------

def row_memory(bench):
    # What a process has written to is its own; a page of a program's file is private only as long as
    # nobody else runs that program, and dirty only until the file has reached the disk.
    os.sync()
    line = Line("memory", "private memory, daemon + guard", "kB", {"tether": 400, "static": 150})
    clean = Line("memory_clean", "the same with file pages that nobody else maps", "kB", None)

    def measure(subject):
        instance = subject.start(bench.place, owned=subject.ends_with_owner)
        try:
            if isinstance(subject, Tether):
                subject.find_guard(instance)
            settle([instance])
            line.values[subject.name] = private_kb(instance.pids, clean=False)
            clean.values[subject.name] = private_kb(instance.pids)
        finally:
            instance.dispose()

    for subject in bench.subjects:
        bench.try_on(subject, [line], measure)
    return [line, clean]


def in_rounds(bench, subjects, line, rounds, trial):
    """Takes turns, so that noise of the machine meets all alike; the median goes into the line."""
    times = {subject: [] for subject in subjects}
    for number in range(rounds):
        for subject in subjects:
            if number < bench.times(rounds, rounds, subject) and subject.name not in line.values:
                bench.try_on(subject, [line], lambda it: times[it].append(trial(it)))
    for subject in subjects:
        line.values.setdefault(subject.name, statistics.median(times[subject]) if times[subject] else "error")
    return [line]


def row_launch(bench):
    def trial(subject):
        instance = subject.start(bench.place)
        try:
            return (instance.arrived - instance.spawned) / 1e6
        finally:
            instance.dispose()

    line = Line("launch", "spawn of the launcher -> server's main(), median", "ms", 6)
    return in_rounds(bench, bench.subjects, line, bench.times(30, 5), trial)


def row_restart(bench):
    def trial(subject):
        instance = subject.start(bench.place)
        try:
            instance.wait_listening()
            # The peers hold back a server that crashes within its first second; this must not count.
            wait_moment(0.05 if isinstance(subject, Tether) else 1.2)
            start = now()
            instance.server.signal(signal.SIGKILL)
            return (instance.next_server() - start) / 1e6
        finally:
            instance.dispose()

    line = Line("restart", "crash -> restarted server's main(), median", "ms", 3)
    subjects = [subject for subject in bench.subjects if subject.restarts]
    return in_rounds(bench, subjects, line, bench.times(20, 3), trial)


# ---- connections during a restart ----------------------------------------------------------------

def ask_again_and_again(port, stop, counts):
    """Requests one after the other, a millisecond apart, counted by how they ended."""
    while not stop.wait(0.001):
        outcome = "broken"
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                if connection.recv(64).startswith(b"HTTP/1.1 200"):
                    outcome = "answered"
        except ConnectionRefusedError:
            outcome = "refused"
        except OSError:
            pass
        counts[outcome] = counts.get(outcome, 0) + 1


def restart_under_load(bench, subject, rounds, held):
    if isinstance(subject, Tether):
        options = ["--hold-ports", "--ready", "notify"] if held else ["--ready", "ports"]
        arguments = ["--listen-fds", "--notify"] if held else []
        instance = subject.start(bench.place, arguments, options=options)
    else:
        instance = subject.start(bench.place)
    stop, counts = threading.Event(), {}
    client = threading.Thread(target=ask_again_and_again, args=(instance.ports[0], stop, counts))
    try:
        instance.wait_listening()
        client.start()
        for _ in range(rounds):
            subject.restart(instance)
            instance.next_server()
            wait_moment(0.02)
        for _ in range(2):  # crashes: few, for a supervisor gives up after several
            instance.server.signal(signal.SIGKILL)
            instance.next_server()
            wait_moment(0.1)
    finally:
        stop.set()
        if client.ident:
            client.join()
        instance.dispose()
    return counts


def row_refused(bench):
    """runsv is the contrast; it restarts a server only once a second."""
    held = Line("refused", "connections refused in restarts, sockets held", "", 0)
    loose = Line("refused_not_held", "the same, sockets not held", "", None)

    def measure(subject, line):
        rounds = bench.times(50, 5) if isinstance(subject, Tether) else bench.times(5, 1)
        counts = restart_under_load(bench, subject, rounds, line is held)
        line.values[subject.name] = counts.get("refused", 0)
        line.note += "%s: %s; " % (subject.name, ", ".join("%s %d" % pair for pair in sorted(counts.items())))
        if not counts.get("answered"):
            raise RuntimeError("no request was ever answered")

    for subject in bench.subjects:
        if isinstance(subject, Tether):
            bench.try_on(subject, [held], lambda it: measure(it, held))
        if isinstance(subject, (Tether, Runsv)):
            bench.try_on(subject, [loose], lambda it: measure(it, loose))
    return [held, loose]


# ---- growth over many cycles ---------------------------------------------------------------------

def zombies_below(pids):
    return sum(state_of(child) == "Z" for pid in pids for child in children_of(pid))


def restart_cycles(bench, subject, lines):
    """Restarts within one supervisor: what it holds afterwards is compared with a tenth of the way."""
    instance = subject.start(bench.place)
    try:
        for number in range(bench.cycles):
            if number == bench.cycles // 10:
                subject.find_guard(instance)  # each server may have one of its own
                settle([instance])
                before = fds_of(instance.pids), private_kb(instance.pids)
            subject.restart(instance)
            instance.next_server()
            instance.servers.pop(0).close()
        subject.find_guard(instance)
        settle([instance])
        lines[0].values[subject.name] = fds_of(instance.pids) - before[0]
        lines[1].values[subject.name] = private_kb(instance.pids) - before[1]
        lines[2].values[subject.name] = zombies_below(instance.pids)
    finally:
        instance.dispose()


def is_left(instance):
    return sum(not process.wait(2) for process in instance.supervisors + instance.servers)


def files_of(instance):
    """The names in the state folder; those that come from the ports are the same for all instances."""
    found = sorted(name for _, folders, files in os.walk(os.path.join(instance.folder, "state"))
                   for name in folders + files)
    return [name.replace("%d-%d" % tuple(instance.ports), "PORTS") for name in found]


def start_stop_cycles(bench, subject, line):
    """Whole lives: nothing may be left of any but the lock and the logs, which the first leaves too."""
    left, first = 0, None
    for _ in range(bench.cycles):
        instance = subject.start(bench.place)
        try:
            subject.find_guard(instance)
            subject.stop(instance)
            left += is_left(instance)
            files = files_of(instance)
            first = first or files
            left += files != first
        finally:
            instance.dispose()
    line.values[subject.name] = left


def stop_in_mid_start(bench, subject, line):
    """Stops at any moment of a start whose server never gets ready; counts what outlives that."""
    left = 0
    for _ in range(bench.cycles // 5):
        instance = Instance(subject, bench.place, ["--never-ready"])
        try:
            instance.main = subject.launcher(instance, ["--ready-timeout-ms", "30000"])
            wait_moment(random.uniform(0, 0.01))
            if subject.ask(instance, "stop", "--force")[0] != 0:  # too early: nothing ran yet
                instance.next_server()
                subject.stop(instance)
            instance.main.finish()
            while instance.stamps.has_line():
                instance.next_server()
            left += is_left(instance)
        finally:
            instance.dispose()
    line.values[subject.name] = left


def row_cycles(bench):
    """Tether alone: each of the peers starts a server at most once a second."""
    count = bench.cycles
    grown = [Line("cycles_fds", "fds grown in %d restarts" % count, "", 0),
             Line("cycles_memory", "memory grown in %d restarts" % count, "kB", 16),
             Line("cycles_zombies", "zombies after %d restarts" % count, "", 0)]
    lives = Line("cycles_lives", "left after %d starts and stops" % count, "", 0)
    middle = Line("cycles_mid_start", "left after %d stops in mid-start" % (count // 5), "", 0)
    for subject in bench.subjects:
        if isinstance(subject, Tether):
            bench.try_on(subject, grown, lambda it: restart_cycles(bench, it, grown))
            bench.try_on(subject, [lives], lambda it: start_stop_cycles(bench, it, lives))
            bench.try_on(subject, [middle], lambda it: stop_in_mid_start(bench, it, middle))
    return grown + [lives, middle]


ROWS = {"owner0": row_owner0, "owner": row_owner, "escape": row_escape, "idle": row_idle, "memory": row_memory,
        "launch": row_launch, "restart": row_restart, "refused": row_refused, "cycles": row_cycles}
