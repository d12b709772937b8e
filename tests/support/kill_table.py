"""docs/kill-table.md, made from the sweep's own data: kill_table.py [--write]."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "../../docs/kill-table.md")
sys.path[:0] = [HERE, os.path.join(HERE, "../process")]
os.environ.setdefault("TETHER_BUILD", os.path.join(HERE, "../../build"))

import test_sweep_kill as sweep  # noqa: E402

TEXT = """# Killed at every step

Which process is killed with SIGKILL at which step of the server's life. Below the server are four
processes that ignore SIGTERM: in its group, in a group of its own, in a session of its own, and one
that forked twice and dropped its environment and its files.

{table}

● the process is there for certain, and is hit · ○ the blow falls while it comes or goes, so it may miss ·
— no such blow. The launcher is the short-lived `tether launch`. Each blow is moved within its step by a
random offset of up to {most} ms; `TETHER_SEED` varies it.

In each of the {points} cases the test checks, once the owner is dead as well:

{checks}

The one case that is open is daemon and guard killed at the same moment:
[troubleshooting](troubleshooting.md#what-tether-cannot-do) tells what happens then.

## Windows, under Wine 8

The same test on the Windows build, where every process is ended by TerminateProcess, as by the task manager. Under
Wine 8, that is: on Windows itself nobody has run it so far ([windows.md](windows.md) tells how). There is no
guard, for the system ends the server's job with the daemon. Below the server are four processes that take no
notice of Ctrl-C: a plain one, one in a group of its own, one without console, and one whose parent is gone.
Offsets are up to {windows_most} ms.

{windows_table}

In each of the {windows_points} cases the test checks the same, once the owner is dead as well.

Nine ways to get away (a console of its own, none, a break-away, jobs within the job, …) are tried in
`tests/windows/test_tree.py`, against a stop and the ends of owner, daemon and server: nobody is left.
[One way out](windows.md#what-a-job-does-not-hold) is open.

This page is made by `/usr/bin/python3 tests/support/kill_table.py --write` from `tests/process/test_sweep_kill.py`,
for both systems.
"""


def words(step):
    return step.__name__.replace("_", " ")


def victims(where):
    return [victim for victim in sweep.VICTIMS if victim not in sweep.NOT_THERE[where]]


def cell(step, victim):
    if (step, victim) not in sweep.POINTS:
        return "—"
    return "●" if (step, victim) in sweep.CERTAIN else "○"


def table(where):
    found = victims(where)
    lines = ["| killed … | " + " | ".join(found) + " |", "|---|" + ":-:|" * len(found)]
    for step in sweep.STEPS:
        lines.append("| %s | " % words(step) + " | ".join(cell(step, victim) for victim in found) + " |")
    return "\n".join(lines)


def points(where):
    return sum(victim in victims(where) for _, victim in sweep.POINTS)


def most(where):
    return "%d" % (sweep.MOST[where] * 1000)


def page():
    checks = "\n".join("* " + check for check in sweep.CHECKS)
    return TEXT.format(table=table("linux"), points=points("linux"), most=most("linux"), checks=checks,
                       windows_table=table("windows"), windows_points=points("windows"),
                       windows_most=most("windows"))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        with open(PAGE, "w") as out:
            out.write(page())
    else:
        sys.stdout.write(page())
