"""The lifecycle benchmark: Tether, its peers and a polling reaper, side by side in one run.

usage: lifecycle.py [--tether PROGRAM] [--static PROGRAM] --server PROGRAM [--quick] [--rows a,b]
                    [--cycles N] [--json FILE]

Absolute times depend on the machine, so the ratios to the peers stand beside them. Peers that are
not installed are named and left out. The exit status is 1 if a budget is missed. The work is done
by a child; this process stands in for init: orphans come to it, are reaped at once as on any
machine, and whatever is left at the end is ended by id and told."""
import argparse
import ctypes
import json
import os
import platform
import shutil
import signal
import sys
import tempfile
import time

from processes import Pid, children_of
from rows import ROWS, Bench
from subjects import Place, all_subjects

PR_SET_CHILD_SUBREAPER = 36
FASTEST = 0.005  # seconds; below that a polling reaper costs more than what it watches


def read_arguments():
    parser = argparse.ArgumentParser(description="measures Tether's lifecycle against its peers")
    parser.add_argument("--tether", help="the program as users get it")
    parser.add_argument("--static", help="a second, statically linked build of it")
    parser.add_argument("--server", required=True, help="the test server, built from tests/support/server.c")
    parser.add_argument("--rows", default=",".join(ROWS), help="some of: " + ",".join(ROWS))
    parser.add_argument("--subjects", help="only these columns, separated by commas")
    parser.add_argument("--cycles", type=int, help="how many start and stop cycles (1000, quick: 100)")
    parser.add_argument("--fastest", type=float, default=FASTEST, help="the fast reaper's interval in seconds")
    parser.add_argument("--quick", action="store_true", help="few repetitions: does it work at all?")
    parser.add_argument("--json", metavar="FILE", help="write all numbers there, too")
    options = parser.parse_args()
    options.rows = options.rows.split(",")
    unknown = set(options.rows) - set(ROWS)
    if unknown:
        parser.error("unknown rows: %s (there are %s)" % (", ".join(sorted(unknown)), ", ".join(ROWS)))
    for name in ("tether", "static", "server"):
        path = getattr(options, name)
        if path and not os.access(path, os.X_OK):
            parser.error("--%s: %s is not a program; build it first" % (name, path))
        setattr(options, name, path and os.path.abspath(path))
    return options


# ---- the table -----------------------------------------------------------------------------------

def show(value):
    if not isinstance(value, (int, float)):
        return "-" if value is None else value
    if isinstance(value, int) or value >= 100:
        return "%d" % round(value)
    return "%.3g" % value


def show_budget(line):
    if isinstance(line.budget, dict):
        return " / ".join(show(value) for value in line.budget.values())
    return "" if line.budget is None else show(line.budget)


def ratio(ours, theirs):
    """How many times theirs ours is; a peer's zero allows none."""
    if not all(isinstance(value, (int, float)) for value in (ours, theirs)):
        return "-"
    return "%.3g" % (ours / theirs) if theirs else ("=" if ours == 0 else "-")


def print_aligned(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join(cells).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))


def print_table(lines, names):
    table = [["what", "unit", "budget"] + names + ["verdict"]]
    for line in lines:
        table.append([line.title, line.unit, show_budget(line)] +
                     [show(line.values.get(name)) for name in names] + [line.verdict()])
    print_aligned(table)
    peers = [name for name in names if name not in ("tether", "static")]
    for own in [name for name in names if name in ("tether", "static")]:
        print("\nratios %s / peer (below 1: %s needs less; =: both 0)" % (own, own))
        print_aligned([["what"] + peers] + [
            [line.title] + [ratio(line.values.get(own), line.values.get(peer)) for peer in peers]
            for line in lines])
    for line in lines:
        if line.note:
            print("note on %s: %s" % (line.key, line.note.rstrip("; ")))


def describe_load():
    return "load %.2f %.2f %.2f on %d CPUs" % (*os.getloadavg(), os.cpu_count())


# ---- running it ----------------------------------------------------------------------------------

def choose_subjects(options):
    subjects, missing = [], []
    for subject in all_subjects(options.tether, options.static, options.fastest):
        if options.subjects and subject.name not in options.subjects.split(","):
            continue
        (subjects if subject.is_there() else missing).append(subject)
    for subject in missing:
        print("left out: %s (%s is not installed, or cannot do what is measured)" % (subject.name, subject.program))
    return subjects, [subject.name for subject in missing]


def work(options, folder):
    subjects, missing = choose_subjects(options)
    bench = Bench(Place(folder, options.server), subjects, options.quick)
    bench.cycles = options.cycles or bench.cycles
    print("%s %s, %s%s" % (platform.system(), platform.release(), describe_load(),
                           ", quick: too few repetitions for a judgement" if options.quick else ""),
          flush=True)
    lines = []
    loads = {}
    for name in options.rows:
        start = time.monotonic()
        lines += ROWS[name](bench)
        loads[name] = os.getloadavg()[0]
        print("  %s took %.1f s, %s" % (name, time.monotonic() - start, describe_load()), file=sys.stderr)
    print()
    print_table(lines, [subject.name for subject in subjects])
    print("\nat the end: %s; load after each row: %s" %
          (describe_load(), ", ".join("%s %.2f" % pair for pair in loads.items())))
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"system": platform.platform(), "cpus": os.cpu_count(), "load": loads, "quick": options.quick,
                       "cycles": bench.cycles, "missing": missing,
                       "lines": [vars(line) | {"verdict": line.verdict()} for line in lines]}, file, indent=1)
    return 1 if any(line.verdict() == "FAIL" for line in lines) else 0


def work_as_child(work, options, folder):
    status = 2
    try:
        status = work(options, folder)
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = 130
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)


def end_strays():
    """Ends what is left of ours, by id and round by round, for ending one may orphan others."""
    found = 0
    while True:
        left = children_of(os.getpid())
        if not left:
            return found
        for pid in left:
            stray = Pid(pid)
            if not stray.wait(0):
                found += 1
                with open("/proc/%d/cmdline" % pid, "rb") as file:
                    command = file.read().replace(b"\0", b" ").decode(errors="replace")
                print("left over, ended now: %d %s" % (pid, command), file=sys.stderr)
                stray.signal(signal.SIGKILL)
                stray.wait()
            stray.close()
            os.waitpid(pid, 0)


def run(work, options):
    """Has a child do the work, in a folder that is removed afterwards; returns the exit status."""
    for name in [name for name in os.environ if name.startswith("TETHER_")]:
        del os.environ[name]  # what is measured is configured here alone
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
    folder = tempfile.mkdtemp(prefix="tb-")  # short: Unix socket names are limited to 107 bytes
    worker = os.fork()
    if worker == 0:
        work_as_child(work, options, folder)
    status = None
    while status is None:
        try:
            pid, code = os.wait()
        except KeyboardInterrupt:
            continue  # the worker has it, too, and ends
        if pid == worker:
            status = os.waitstatus_to_exitcode(code)
    strays = end_strays()
    shutil.rmtree(folder, ignore_errors=True)
    return status or (3 if strays else 0)


if __name__ == "__main__":
    sys.exit(run(work, read_arguments()))
