"""Nothing of a server's process tree outlives its end, whoever dies in which order; and an instance
that has nothing to do does nothing."""
import signal
import time

import pytest

from scene import (PROBE, Watched, descendants_of, find_guard, is_alive, kill, server_of, stamps_at, state_of, stays,
                   wait_alone, wait_asleep, wait_until, wakeups)
from harness import IS_WINDOWS, Process, system
from tether import SERVER, Instance, start_owner


@pytest.fixture
def members(tmp_path):
    """Tells the pids of those that try to escape."""
    with stamps_at(tmp_path / "members") as fifo:
        yield fifo


# ---- ways to end ---------------------------------------------------------------------------------

def stop(it, owner, guard):
    assert it.cli("stop").status == 0


def kill_owner(it, owner, guard):
    owner.kill()


def terminate_daemon(it, owner, guard):
    kill(it.result["daemon_pid"], signal.SIGTERM)


def kill_daemon(it, owner, guard):
    kill(it.result["daemon_pid"])


def kill_guard(it, owner, guard):
    kill(guard)


def kill_daemon_beside_a_stopped_guard(it, owner, guard):
    kill(guard, signal.SIGSTOP)
    wait_until(lambda: state_of(guard) == "T", "the guard is stopped")
    kill(it.result["daemon_pid"])


def kill_guard_beside_a_stopped_daemon(it, owner, guard):
    kill(it.result["daemon_pid"], signal.SIGSTOP)
    wait_until(lambda: state_of(it.result["daemon_pid"]) == "T", "the daemon is stopped")
    kill(guard)


def stop_with_a_stopped_guard(it, owner, guard):
    kill(guard, signal.SIGSTOP)
    wait_until(lambda: state_of(guard) == "T", "the guard is stopped")
    assert it.cli("stop").status == 0


def kill_owner_with_a_stopped_guard(it, owner, guard):
    kill(guard, signal.SIGSTOP)
    wait_until(lambda: state_of(guard) == "T", "the guard is stopped")
    owner.kill()


def kill_server_itself(it, owner, guard):
    kill(it.result["server_pid"])


BOMB = [PROBE, "bomb", "300"] if not IS_WINDOWS else [SERVER, "--fork-bomb", "15", "--say", "ready"]
WAYS = [stop, kill_owner, terminate_daemon, kill_daemon, kill_guard, kill_daemon_beside_a_stopped_guard,
        kill_guard_beside_a_stopped_daemon, stop_with_a_stopped_guard, kill_owner_with_a_stopped_guard,
        kill_server_itself]


def end_and_check(it, owner, end, tree):
    """Ends an instance whose server is not to be restarted; nothing may be left of it."""
    guard = it.status()["guard_pid"]
    tree.add(guard)
    tree.add(it.result["daemon_pid"])
    end(it, owner, guard)
    tree.wait()
    wait_until(it.ports_are_free, "both ports are free", limit=5)
    wait_alone([owner.pid])


# ---- F1 ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("end", WAYS)
def test_F1_no_survivor_of_the_escape_test(state_dir, members, end):
    """The root, a child, one in a group of its own, one in a session of its own, and one that forked
    twice and emptied its environment: all ignore SIGTERM."""
    with start_owner() as owner, Instance(state_dir, "--restart", "never", "--grace-ms", 0,
                                          "--stop-grace-ms", 150) as it:
        it.launch("--owner-pid", owner.pid, command=[SERVER, "--escape", members.path])
        with Watched(members.pids(5)) as tree:
            assert len(set(tree.pids())) == 5 and len(tree.left()) == 5
            end_and_check(it, owner, end, tree)


@pytest.mark.parametrize("end", WAYS[:7])
def test_F1_orderly_end_of_an_obedient_tree(state_dir, members, end):
    """The same five without the ignoring: the end is quick where SIGTERM is enough, and complete."""
    with start_owner() as owner, Instance(state_dir, "--restart", "never", "--grace-ms", 0,
                                          "--stop-grace-ms", 150) as it:
        it.launch("--owner-pid", owner.pid, command=[SERVER, "--escape-obedient", members.path])
        with Watched(members.pids(5)) as tree:
            end_and_check(it, owner, end, tree)


@pytest.mark.parametrize("victim", ["server", "guard"])
def test_F1_no_survivor_beside_the_restarted_server(state_dir, members, victim):
    """After a crash the new server starts only when nothing of the old tree is left."""
    with Instance(state_dir, "--stop-grace-ms", 150) as it:
        it.launch(command=[SERVER, "--escape", members.path])
        with Watched(members.pids(5)) as old:
            kill(it.result["server_pid"] if victim == "server" else it.status()["guard_pid"])
            new = [members.pids(1)[0]]
            assert old.left() == []
            new += members.pids(4)
        with Watched(new) as tree:
            assert it.cli("stop").status == 0
            assert tree.left() == []


@pytest.mark.parametrize("end", WAYS[:7])
def test_F1_stopped_server(state_dir, end):
    """SIGSTOP keeps nobody alive: it is continued to hear SIGTERM, and obeys."""
    with start_owner() as owner, Instance(state_dir, "--restart", "never", "--grace-ms", 0,
                                          "--stop-grace-ms", 25000, "--ready", "none") as it:
        it.launch("--owner-pid", owner.pid, command=[SERVER, "--stop-self"])
        server = server_of(it)
        wait_until(lambda: state_of(server) == "T", "the server has stopped itself")
        with Watched([server]) as tree:
            began = time.monotonic()
            end_and_check(it, owner, end, tree)
            assert time.monotonic() - began < 12, "it was not continued, but killed after the stop grace"


@pytest.mark.parametrize("end", WAYS[:7])
def test_F1_fork_bomb(state_dir, end):
    """300 processes that replace whoever of them dies, and ignore SIGTERM."""
    with start_owner() as owner, Instance(state_dir, "--restart", "never", "--grace-ms", 0, "--stop-grace-ms", 100,
                                          "--ready", "none") as it:
        it.launch("--owner-pid", owner.pid, command=BOMB)
        with it.control() as control:
            control.hello(role="cli")
            log = control.request("logs", n=10, follow=True)
            ready = any(line.endswith(" ready") for line in log["lines"])
            while not ready:
                ready = control.receive("log")["line"] == "ready"
        server = server_of(it)
        # The test server of Windows says so when it begins.
        wait_until(lambda: len(descendants_of(server)) > 100 / system.SLOWNESS, "there are many")
        with Watched([server] + descendants_of(server)) as tree:
            end_and_check(it, owner, end, tree)


@pytest.mark.parametrize("end", [stop, kill_daemon, kill_guard, kill_owner])
def test_F1_bomb_of_the_server_that_ends_at_some_number(state_dir, end):
    """The end comes while it is still growing."""
    with start_owner() as owner, Instance(state_dir, "--restart", "never", "--grace-ms", 0, "--stop-grace-ms", 50,
                                          "--ready", "none") as it:
        it.launch("--owner-pid", owner.pid, command=[SERVER, "--fork-bomb", str(1500 // system.SLOWNESS)])
        with Watched([server_of(it)]) as tree:
            end_and_check(it, owner, end, tree)


def test_F1_guard_is_killed_while_the_server_starts(state_dir, members):
    """Before the server is ready, again and again: each time all of it goes, and a new one comes."""
    with Instance(state_dir, "--stop-grace-ms", 100, "--ready", "none") as it:
        it.launch(command=[SERVER, "--escape", members.path, "--never-ready"])
        tree = Watched([])
        with tree:
            for _ in range(3):
                for pid in members.pids(5):
                    tree.add(pid)
                kill(wait_until(lambda: find_guard(it.result["daemon_pid"]), "there is a guard"))
            for pid in members.pids(5):
                tree.add(pid)
            assert it.cli("stop").status == 0
            assert tree.left() == []


def test_F1_strangers_beside_the_tree_are_left_alone(state_dir, members):
    """A process of the same program that was started by hand."""
    with Process([SERVER, "--http", "0", "--ws", "0"]) as stranger:
        stranger.expect("server up")
        with Instance(state_dir, "--stop-grace-ms", 100) as it:
            it.launch(command=[SERVER, "--escape", members.path])
            members.pids(5)
            kill(it.status()["guard_pid"] or it.result["server_pid"])
            members.pids(5)
            assert it.cli("stop").status == 0
        assert is_alive(stranger.pid)


# ---- F2 ------------------------------------------------------------------------------------------

def test_F2_idle_instances_do_nothing(state_dir):
    """Daemon and guard, with an owner that lives: not woken in five seconds, and once at most with
    twenty sessions."""
    with start_owner() as owner, Instance(state_dir) as quiet, Instance(state_dir) as busy:
        for it in (quiet, busy):
            it.launch("--owner-pid", owner.pid)
        controls = [busy.control() for _ in range(20)]
        for control in controls:
            assert control.hello()["type"] == "welcome"
        pids = {"daemon": quiet.result["daemon_pid"], "daemon with sessions": busy.result["daemon_pid"]}
        if not IS_WINDOWS:
            pids["guard"] = quiet.status()["guard_pid"]
        for pid in pids.values():
            wait_asleep(pid)
        before = {name: wakeups(pid) for name, pid in pids.items()}
        assert stays(owner.pid, 5)
        woken = {name: wakeups(pid) - before[name] for name, pid in pids.items()}
        for control in controls:
            control.close()
        assert woken.pop("daemon with sessions") <= 1 and not any(woken.values()), woken
