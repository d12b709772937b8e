"""What a machine does to programs: its date is set, it sleeps, and of something there is no more."""
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from harness import Process, kill, run, system, wait_gone
from scene import SessionProcess, Watched, server_of, state_of, wait_until
from terminal import open_terminal
from tether import SERVER, TETHER, Instance, http_get, start_owner

HERE = os.path.dirname(os.path.abspath(__file__))
CLOCK = os.path.abspath(os.path.join(os.path.dirname(SERVER), "..", "preload", "moving_clock.so"))
FORBID = os.path.join(HERE, "../support/forbid.py")
YEAR = time.gmtime().tm_year


# ---- clocks that jump ----------------------------------------------------------------------------

@pytest.fixture
def clock(request):
    if "TETHER_PROGRAM" in os.environ:
        pytest.skip("a sanitizer wants to be loaded first")
    return {"LD_PRELOAD": CLOCK}


def years_of(it):
    return {int(line[:4]) - YEAR for line in it.log().splitlines()}


def test_L5_no_limit_follows_the_date(state_dir, tmp_path, clock):
    """Starts, crashes, restarts, owners and grace, while the date jumps by forty years each time that
    somebody asks. It is written into the log, and that is all."""
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 100) as it:
        result = it.launch("--owner-pid", owner.pid, env=clock,
                           command=[SERVER, "--exit-times", "2", tmp_path / "times", "--exit", "3", "--after-ms", "100"])
        assert result["code"] == 0, result
        wait_until(lambda: it.status()["restarts"] == 2 and it.status()["state"] == "ready", "two crashes are over")
        with SessionProcess(it.endpoint) as editor:
            assert editor.welcomed
            owner.stop()
            assert it.cli("restart", env=clock).status == 0
            assert http_get(it.http)[0] == 200
        it.wait_end()
        assert "ended (owner died): no process is left, both ports are free" in it.log()
        assert min(years_of(it)) < -10 and max(years_of(it)) > 10, "the clock did not jump"
        for _ in range(2):
            assert re.search(r"ended( \d+ [a-z]+)* ago|ended:", it.cli("status", env=clock).output)


def test_L5_the_idle_limit_does_not_follow_the_date(state_dir, clock):
    with Instance(state_dir, "--idle-limit-ms", 300) as it:
        began = time.monotonic()
        assert it.launch(env=clock, command=(TETHER, "serve", "--http-port", str(it.http), "--ws-port",
                                             str(it.ws)))["code"] == 0
        it.wait_end()
        assert time.monotonic() - began > 0.3
        assert "ended (idle" in it.log()


# ---- a machine that sleeps -----------------------------------------------------------------------

def all_of(it, result):
    status = it.status()
    return [result["daemon_pid"], status["guard_pid"], result["server_pid"]]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)], ids=["daemon first", "server first"])
def test_A8_L5_after_a_long_sleep_all_is_as_it_was(state_dir, order):
    """Longer than every limit that there is. Nothing that lives is taken for dead or silent."""
    limits = ["--grace-ms", 100, "--sweep-ms", 100, "--ready-timeout-ms", 1000, "--idle-limit-ms", 2000,
              "--stop-grace-ms", 100, "--poll-ms", 100]
    with start_owner() as owner, Instance(state_dir, *limits) as it:
        result = it.launch("--owner-pid", owner.pid)
        with it.control():  # somebody is there until the editor is, however long that takes
            editor = SessionProcess(it.endpoint)
        with editor:
            assert editor.welcomed
            pids = all_of(it, result)
            for pid in pids:
                kill(pid, signal.SIGSTOP)
            with pytest.raises(TimeoutError):
                wait_gone(owner.pid, 2.5)
            for place in order:
                kill(pids[place], signal.SIGCONT)
            status = it.status()
            assert status["state"] == "ready" and status["restarts"] == 0, status
            assert status["server"]["pid"] == result["server_pid"] and all_of(it, result) == pids
            assert [one["counts"] for one in status["sessions"]] == [True], status["sessions"]
            owner.stop()
        it.wait_end()
        assert it.ports_are_free()


def test_A8_an_owner_who_died_in_the_sleep_is_noticed_after_it(state_dir):
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 100) as it:
        result = it.launch("--owner-pid", owner.pid)
        pids = all_of(it, result)
        for pid in pids:
            kill(pid, signal.SIGSTOP)
        owner.stop()
        for pid in pids:
            kill(pid, signal.SIGCONT)
        it.wait_end()
        assert it.ports_are_free()


# ---- a terminal that takes the program out of its foreground -------------------------------------

class Shell:
    """A shell with job control on a terminal of its own."""

    def __init__(self, env):
        self.keyboard, self.tty = open_terminal()
        self.process = Process(["setsid", "--ctty", "bash", "--norc", "--noprofile", "-i"], dict(env, PS1="$ "),
                               stdin=self.tty)

    def type(self, keys):
        os.write(self.keyboard, keys.encode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stop()
        os.close(self.keyboard)
        os.close(self.tty)


def test_B1_a_run_that_is_suspended_at_the_terminal_goes_on_where_it_was(state_dir):
    """Ctrl-Z stops the daemon alone: the server serves on, whoever asks is told why nobody answers, and
    with `fg` all is as before."""
    with Instance(state_dir) as it, Shell(it.env) as shell:
        shell.type(" ".join(it.argv("run", "--stop-grace-ms", 500, "--", SERVER)) + "\n")
        shell.process.expect("server ready")
        status = it.status()
        daemon, server = status["daemon"]["pid"], status["server"]["pid"]
        shell.type("\x1a")
        wait_until(lambda: state_of(daemon) == "T", "the daemon is stopped")
        assert http_get(it.http)[1].endswith(b"server %d\n" % server) and state_of(server) != "T"
        asked = it.cli("status")
        assert asked.status == 1 and "kill -CONT" in asked.output, asked.output
        shell.type("fg\n")
        wait_until(lambda: state_of(daemon) != "T", "it goes on")
        assert it.status()["server"]["pid"] == server and it.status()["restarts"] == 0
        with Watched([daemon, server]) as both:
            shell.type("\x03")
            both.wait()
        assert it.ports_are_free()


def test_B1_whose_owner_dies_meanwhile_ends_as_soon_as_it_may(state_dir):
    with start_owner() as owner, Instance(state_dir) as it, Shell(it.env) as shell:
        shell.type(" ".join(it.argv("run", "--grace-ms", 50, "--owner-pid", owner.pid, "--", SERVER)) + "\n")
        shell.process.expect("server ready")
        daemon, server = it.status()["daemon"]["pid"], it.status()["server"]["pid"]
        with Watched([daemon, server]) as both:
            shell.type("\x1a")
            wait_until(lambda: state_of(daemon) == "T", "the daemon is stopped")
            owner.stop()
            shell.type("bg\n")
            both.wait()
        assert it.ports_are_free()


def test_B1_a_run_in_the_background_of_a_terminal_that_minds(state_dir):
    """`stty tostop`: who writes to it from there is stopped. A daemon that is has nobody to hear of its
    owner's end."""
    with start_owner() as owner, Instance(state_dir) as it, Shell(it.env) as shell:
        shell.type("stty tostop\n")
        shell.type(" ".join(it.argv("run", "--grace-ms", 50, "--owner-pid", owner.pid, "--", SERVER)) + " >/dev/tty 2>&1 &\n")
        wait_until(lambda: it.cli("status").status == 0 and it.status()["state"] == "ready", "it is ready")
        daemon = it.status()["daemon"]["pid"]
        owner.stop()
        wait_gone(daemon)
        assert it.ports_are_free()


# ---- no more watches -----------------------------------------------------------------------------

@pytest.mark.parametrize("calls", [["inotify_init1/EMFILE"], ["inotify_add_watch/ENOSPC"]],
                         ids=["instances", "watches"])
def test_L5_without_watches_of_files_it_works_all_the_same(state_dir, calls):
    """What nobody tells is looked for again, or found out by the next who comes."""
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 50) as it:
        argv = [sys.executable, FORBID] + calls + ["--"]
        launches = [Process(argv + it.argv("launch", "--owner-pid", owner.pid, "--", SERVER), it.env) for _ in range(5)]
        results = []
        for launch in launches:
            assert launch.wait() == 0, launch.output
            results.append(json.loads(launch.output.splitlines()[-1]))
        assert sorted(one["result"] for one in results) == ["adopted"] * 4 + ["started"]
        it.result = results[0]
        os.unlink(it.directory + "/lock")
        assert run(argv + it.argv("launch", "--", SERVER), it.env).status == 0
        assert it.status()["daemon"]["pid"] == it.result["daemon_pid"]
        assert run(argv + it.argv("logs"), it.env).status == 0
        owner.stop()
        it.wait_end()
        assert it.ports_are_free()


# ---- a memory limit ------------------------------------------------------------------------------

@pytest.fixture
def memory_group():
    """A control group with room for 48 MB, of whichever version there is."""
    own, limit = None, None
    for top, limit in (("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
        own = os.path.join(top, "tether-test-%d" % os.getpid())
        try:
            os.mkdir(own)
        except OSError:
            continue
        if os.path.exists(os.path.join(own, limit)):
            break
        os.rmdir(own)
    else:
        pytest.skip("no right to make a control group for memory")
    with open(os.path.join(own, limit), "w") as file:
        file.write(str(48 << 20))
    yield own

    def is_removed():
        try:
            os.rmdir(own)
        except OSError:
            return False
        return True
    wait_until(is_removed, "nobody is in the group any more")


def join_group(group):
    with open(os.path.join(group, "cgroup.procs"), "w") as file:
        file.write("0")


def test_L5_a_server_that_takes_all_the_memory_of_its_group_ends_alone(state_dir, memory_group):
    """The system kills the largest of the group: daemon and guard, who are in it, too, go on and say what
    happened, until the server has crashed too often."""
    greedy = ["/usr/bin/python3", "-S", "-c", "import time; time.sleep(0.2); bytearray(300 << 20); time.sleep(60)"]
    with start_owner() as owner, Instance(state_dir) as it:
        result = it.launch("--owner-pid", owner.pid, "--ready", "none", command=greedy,
                           preexec_fn=lambda: join_group(memory_group))
        assert result["code"] == 0, result
        wait_until(lambda: it.status()["state"] == "failed", "it has crashed too often")
        status = it.status()
        assert "signal 9" in status["server"]["reason"] and status["daemon"]["pid"] == result["daemon_pid"], status
        owner.stop()
        it.wait_end()
        assert "no process is left" in it.log()
