"""What a server is told of its owner by its environment, in each way in which it can be started.

A2: the part of it that is the daemon's. The variables are read from the kernel, so what is seen is
what the server was started with."""
import signal

import pytest

from harness import own_pid
from scene import Fifo, SessionProcess, environment_of, kill, owner_variables, wait_until
from tether import SERVER, Instance, identity, start_owner

ALIASES = ("GODOT_AI_OWNER_PID", "ANOTHER_OWNER")
NAMED = [word for name in ALIASES for word in ("--owner-env", name)]


def variables(owner):
    me = identity(owner)
    told = {"TETHER_OWNER_PID": str(owner), "TETHER_OWNER_START": me["start"]}
    return dict(told, **{name: str(owner) for name in ALIASES})


def assert_told(server, owner):
    assert owner_variables(server, *ALIASES) == (variables(owner) if owner else {})


@pytest.fixture
def starts(tmp_path):
    """Tells the pid of each server that starts."""
    with Fifo(tmp_path / "starts") as fifo:
        yield fifo


def test_A2_first_start(state_dir, starts):
    with start_owner() as owner, Instance(state_dir, *NAMED) as it:
        it.launch("--owner-pid", owner.pid, command=[SERVER, "--stamp", starts.path])
        server = starts.pids(1)[0]
        assert server == it.result["server_pid"]
        assert_told(server, owner.pid)


def test_A2_restarts(state_dir, starts):
    """After a crash, after two in a row (with a delay), on request, and after a crash of the guard."""
    with start_owner() as owner, Instance(state_dir, *NAMED) as it:
        it.launch("--owner-pid", owner.pid, command=[SERVER, "--stamp", starts.path])
        for _ in range(3):
            kill(starts.pids(1)[0])
        server = starts.pids(1)[0]
        assert_told(server, owner.pid)
        wait_until(lambda: it.status()["state"] == "ready", "the server is ready")
        assert it.cli("restart").status == 0
        server = starts.pids(1)[0]
        assert_told(server, owner.pid)
        guard = it.status()["guard_pid"]
        if guard:  # not every system has or needs one
            kill(guard)
            assert_told(starts.pids(1)[0], owner.pid)


@pytest.mark.parametrize("how", ["crash", "request"])
def test_A2_restart_under_the_heir(state_dir, starts, how):
    """A2, F3: the server that starts after a hand-over is told of the owner of now."""
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 0, *NAMED) as it:
        it.launch("--owner-pid", owner.pid, command=[SERVER, "--stamp", starts.path])
        server = starts.pids(1)[0]
        with SessionProcess(it.result["control"]) as heir:
            owner.stop()
            wait_until(lambda: it.status()["owner"]["pid"] == heir.pid, "the heir inherits")
            if how == "crash":
                kill(server)
            else:
                assert it.cli("restart").status == 0
            assert_told(starts.pids(1)[0], heir.pid)
        it.wait_end()


def test_A2_restart_when_the_owner_is_dead_and_none_inherits(state_dir, starts):
    """A user without a process that could own keeps the server. A dead owner is not told: a server
    that watches its owner by itself would end at once."""
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 0, *NAMED) as it:
        it.launch("--owner-pid", owner.pid, command=[SERVER, "--stamp", starts.path])
        starts.pids(1)
        with it.control() as user:
            user.request("status")
            owner.stop()
            wait_until(lambda: it.status()["owner"]["alive"] is False, "the death is noticed")
            assert it.cli("restart").status == 0
            assert_told(starts.pids(1)[0], None)
        it.wait_end()


def test_A2_second_launch_revives_a_server_that_had_failed(state_dir, starts, tmp_path):
    with start_owner() as owner, Instance(state_dir, "--ready", "none", *NAMED) as it:
        it.launch("--owner-pid", owner.pid, command=[
            SERVER, "--stamp", starts.path, "--exit-times", "5", str(tmp_path / "count"), "--after-ms", "30"])
        starts.pids(5)
        wait_until(lambda: it.status()["state"] == "failed", "the daemon gives up")
        assert it.launch(command=["/bin/false"])["result"] == "adopted"
        assert_told(starts.pids(1)[0], owner.pid)


def test_A2_foreground(state_dir, starts):
    with start_owner() as owner, Instance(state_dir, *NAMED) as it:
        with it.run("--owner-pid", owner.pid, command=[SERVER, "--stamp", starts.path]) as foreground:
            server = starts.pids(1)[0]
            assert_told(server, owner.pid)
            foreground.expect("server ready")
            kill(server)
            assert_told(starts.pids(1)[0], owner.pid)
            foreground.kill(signal.SIGTERM)
            assert foreground.wait() == 0


@pytest.mark.parametrize("way", ["launch", "run"])
def test_A2_nothing_of_it_without_an_owner(state_dir, starts, way):
    """A2, A13: an owner of something else, found in the environment under an alias, is not passed on,
    at the start or after a crash."""
    foreign = {name: str(own_pid()) for name in ALIASES}
    with Instance(state_dir, *NAMED) as it:
        command = [SERVER, "--stamp", starts.path]
        process = it.run(command=command, env=foreign) if way == "run" else None
        if not process:
            it.launch(command=command, env=foreign)
        for _ in range(2):
            server = starts.pids(1)[0]
            assert_told(server, None)
            kill(server)
        assert_told(starts.pids(1)[0], None)
        assert it.cli("stop").status == 0


def test_A2_start_without_pid_is_not_passed_on(state_dir):
    with Instance(state_dir) as it:
        it.launch(env={"TETHER_OWNER_START": "12345"})
        assert owner_variables(it.result["server_pid"]) == {}


def test_A2_unnamed_alias_is_left_alone(state_dir):
    """What nobody called an owner variable is the user's own."""
    with start_owner() as owner, Instance(state_dir) as it:
        it.launch("--owner-pid", owner.pid, env={"ANOTHER_OWNER": "mine"})
        assert environment_of(it.result["server_pid"])["ANOTHER_OWNER"] == "mine"


def test_A2_placeholder_follows_the_owner(state_dir, starts):
    """{owner_pid} in the command is the owner of now, or nothing."""
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 0) as it:
        it.launch("--owner-pid", owner.pid,
                  command=[SERVER, "--stamp", starts.path, "--say", "owner <{owner_pid}> {http_port} {instance}"])
        starts.pids(1)
        with SessionProcess(it.result["control"]) as heir, it.control() as log:
            log.hello(role="cli")
            assert log.request("logs", n=0, follow=True)["ok"]
            owner.stop()
            wait_until(lambda: it.status()["owner"]["pid"] == heir.pid, "the heir inherits")
            assert it.cli("restart").status == 0
            while True:
                line = log.receive("log")["line"]
                if line.startswith("owner"):
                    break
            assert line == "owner <%d> %d %s" % (heir.pid, it.http, it.name)
        it.wait_end()
        assert "owner <%d> " % owner.pid in it.log("server.log")
