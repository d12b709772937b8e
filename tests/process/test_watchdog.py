"""The parent watchdog of `tether run`: it ends in order with the program that started it, when that
dies without a word to its children; and only then. Rows B1 to B4."""
import os
import re
import signal
import subprocess

import pytest

from clients import in_namespace
from harness import IS_WINDOWS, Process, children_of, kill, system, wait_gone
from tether import SERVER, Instance

# The parent leaves its own stdin, which the test keeps open, to tether.
FILES = ["state.json"] if IS_WINDOWS else ["state.json", "control.sock", "notify.sock"]


class Family:
    """Grandparent (the test), parent, and `tether run` with its server."""

    def __init__(self, instance, *options, env=None):
        self.instance = instance
        argv = instance.argv("run", "--ready", "notify", *options, "--", SERVER, "--notify")
        self.parent = Process(system.parent(argv), dict(instance.env, **(env or {})),
                              stdin=subprocess.PIPE)
        self.tether = system.Adopted(int(self.parent.expect(r"^started (\d+)$").group(1)))
        self.parent.expect("server ready")

    def kill_parent(self):
        """Returns once tether has another parent, or none."""
        kill(self.parent.pid)
        wait_gone(self.parent.pid)

    def wait_end(self):
        """The exit status of tether, which is our child by then."""
        return self.tether.wait()

    def files(self):
        return [name for name in FILES if os.path.lexists(os.path.join(self.instance.directory, name))]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.tether.is_there():
            kill(self.tether.pid, signal.SIGTERM)
            wait_gone(self.tether.pid)
        self.parent.popen.stdin.close()
        self.parent.stop()


@pytest.mark.parametrize("value", [None, "on", "1", "true", "OFF", "no", "00", ""])
def test_B1_B2_B3_run_ends_in_order_when_its_parent_dies_while_stdin_stays_open(state_dir, value):
    """B1, B3; B2: whatever is not one of three words leaves it on."""
    instance = Instance(state_dir)
    env = {} if value is None else {"TETHER_PARENT_WATCHDOG": value}
    with Family(instance, env=env) as family:
        assert family.files() == FILES
        family.kill_parent()
        assert family.wait_end() == 0
        assert family.files() == []
        assert instance.ports_are_free()
    log = instance.log()
    assert "the program that started this (process %d) is gone" % family.parent.pid in log
    assert "server exited with code 0" in log  # by SIGTERM, which this server obeys; not by SIGKILL
    assert "ended (parent died): no process is left, both ports are free" in log


@pytest.mark.parametrize("value", ["off", "0", "false", "--parent-watchdog=off"])
def test_B2_the_watchdog_can_be_turned_off(state_dir, value):
    instance = Instance(state_dir)
    flags = [value] if value.startswith("--") else []
    env = {} if flags else {"TETHER_PARENT_WATCHDOG": value}
    with Family(instance, *flags, env=env) as family:
        family.kill_parent()
        # A watch would have become readable with the parent's end; each answer is a turn of the
        # loop that comes after it.
        for _ in range(3):
            assert instance.status()["state"] == "ready"
        with instance.control() as control:
            assert control.request("status")["state"] == "ready"
        kill(family.tether.pid, signal.SIGTERM)
        assert family.wait_end() == 0
        assert family.files() == []
    # The console of Windows interrupts the server, too, which may be the first to end.
    assert re.search(r"ended \((signal|server ended)\)" if IS_WINDOWS else r"ended \(signal\)", instance.log())


def test_B2_the_flag_wins_over_the_variable_and_a_wrong_interval_is_told(state_dir):
    instance = Instance(state_dir)
    env = {"TETHER_PARENT_WATCHDOG": "off", "TETHER_PARENT_POLL_MS": "0"}
    with Family(instance, "--parent-watchdog", "on", env=env) as family:
        assert "warning: TETHER_PARENT_POLL_MS: '0' is not valid here" in family.parent.output
        family.kill_parent()
        assert family.wait_end() == 0


def test_B3_a_parent_that_dies_while_the_server_starts_ends_it_too(state_dir):
    instance = Instance(state_dir)
    argv = instance.argv("run", "--", SERVER, "--never-ready")
    with Process(system.parent(argv), instance.env, stdin=subprocess.PIPE) as parent:
        tether = int(parent.expect(r"^started (\d+)$").group(1))
        parent.expect("server started: process")
        kill(parent.pid)
        wait_gone(tether)
        parent.popen.stdin.close()
    assert not os.path.exists(os.path.join(instance.directory, "state.json"))
    assert "ended (parent died)" in instance.log()


def test_B1_a_stubborn_server_does_not_outlive_the_parent(state_dir, tmp_path):
    instance = Instance(state_dir)
    argv = instance.argv("run", "--stop-grace-ms", "200", "--", SERVER,
                         "--escape", str(tmp_path / "pids"))
    with Process(system.parent(argv), instance.env, stdin=subprocess.PIPE) as parent:
        tether = int(parent.expect(r"^started (\d+)$").group(1))
        parent.expect("server ready")
        kill(parent.pid)
        wait_gone(tether)
        parent.popen.stdin.close()
    assert "ended (parent died): no process is left, both ports are free" in instance.log()


def test_B4_under_a_parent_that_is_process_1_it_does_not_end_itself(state_dir):
    """Already orphaned when it starts: the real parent ends before tether begins."""
    words = in_namespace("--pid", "--fork", "--kill-child", "--mount-proc")
    if not words:
        pytest.skip("no pid namespaces here")
    instance = Instance(state_dir)
    # The subshell ends before `cat` does, and tether begins with the end of `cat`'s input.
    orphan = '(sh -c \'read _; exec "$@"\' sh "$@" <&3 &); echo orphaned; exec sleep 1000'
    read, write = os.pipe()
    with Process(words + ["sh", "-c", "exec 3<&0; " + orphan, "sh"] +
                 instance.argv("run", "--", SERVER), instance.env, stdin=read) as init:
        os.close(read)
        init.expect("^orphaned$")
        os.write(write, b"\n")
        os.close(write)
        init.expect("server ready")
        for _ in range(3):
            assert instance.status()["state"] == "ready"
        assert instance.cli("stop").status == 0
        init.expect(r"ended \(stop requested\)")
        kill(children_of(init.pid)[0])
        init.wait()


def test_B4_as_process_1_it_does_not_end_itself_and_obeys_sigterm(state_dir):
    """B4, B3, and that process 1 has no default actions for signals."""
    words = in_namespace("--pid", "--fork", "--kill-child", "--mount-proc")
    if not words:
        pytest.skip("no pid namespaces here")
    instance = Instance(state_dir)
    with Process(words + instance.argv("run", "--", SERVER), instance.env) as run:
        run.expect("server ready")
        for _ in range(3):
            state = instance.status()
            assert state["state"] == "ready" and state["daemon"]["pid"] == 1
        kill(children_of(run.pid)[0], signal.SIGTERM)
        assert run.wait() == 0
        assert r"ended (signal)" in run.output
    assert instance.ports_are_free()
