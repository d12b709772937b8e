"""What is in the way of a start: left-overs of a crashed daemon, an older release, a stranger."""
import glob
import json
import os
import re
import signal
import socket
import sys

import pytest

from harness import IS_WINDOWS, LIMIT, Process, free_ports, own_pid, system
from scene import (NEWER, SessionProcess, Watched, environment_of, is_alive, kill, server_of, stamps_at, wait_alone,
                   wait_until)
from tether import SERVER, Instance, can_bind, http_get, identity, start_owner


@pytest.fixture
def starts(tmp_path):
    """Tells the pid of each server that starts."""
    with stamps_at(tmp_path / "starts") as fifo:
        yield fifo


def crash(it):
    """SIGKILLs the daemon and the guard in the same moment. Each continues the other by its death, so
    both are stopped before, and what is between the two blows is too short for the second to act;
    unless we lose the processor just there."""
    guard, daemon = it.status()["guard_pid"], it.result["daemon_pid"]
    with Watched([guard, daemon]) as both:
        kill(guard, signal.SIGSTOP)
        kill(daemon, signal.SIGSTOP)
        kill(daemon)
        kill(guard)
        both.wait()


def launch_and_crash(it, *options, command):
    """Leaves a server without daemon and guard behind, and returns its pid. Where the guard could ask
    it to end before its own end, it is done again."""
    for _ in range(20):
        assert it.launch(*options, command=command)["code"] == 0, it.result
        server = server_of(it)
        with Watched([server]) as watched:
            crash(it)
            if watched.left():
                return server
    raise AssertionError("the guard was always faster")


# ---- left-overs of our own -----------------------------------------------------------------------

@pytest.mark.parametrize("server", ["obedient", "stubborn", "stopped", "not listening"])
def test_A12_server_of_a_crashed_daemon_and_guard_is_replaced(state_dir, server):
    """It still holds both ports, or will; nobody supervises it any more."""
    options = {"stubborn": ["--ignore-term"], "not listening": ["--never-ready"]}.get(server, [])
    with Instance(state_dir, "--stop-grace-ms", 300) as it:
        old = launch_and_crash(it, "--ready", "none" if server == "not listening" else "ports",
                               command=[SERVER] + options)
        with Watched([old]) as watched:
            assert can_bind(it.http) == (server == "not listening")
            if server == "stopped":
                kill(old, signal.SIGSTOP)
            assert it.launch(command=[SERVER])["result"] == "started", it.result
            watched.wait()
        assert http_get(it.http)[1].endswith(b"server %d\n" % it.result["server_pid"])
        assert "ended process %d (%s" % (old, SERVER) in it.log()


def test_A12_whole_tree_of_a_crashed_daemon_and_guard_is_replaced(state_dir, starts):
    """Its children too, in whatever group or session, as far as they hang below it."""
    with Instance(state_dir, "--stop-grace-ms", 200) as it:
        it.launch(command=[SERVER, "--escape", starts.path])
        with Watched(starts.pids(5)) as tree:
            root = it.result["server_pid"]
            members = [pid for pid in tree.pids() if pid == root or parent_of(pid) == root]
            assert len(members) == 4
            crash(it)
            assert it.launch(command=[SERVER])["result"] == "started", it.result
            # The fifth has neither our mark nor a parent that leads to us: nothing can tell whose it
            # is, and so it is left. Here it ends with the test.
            left = set(tree.left())
            assert not left & set(members) and len(left) <= 1
            for pid in left:
                kill(pid)


def parent_of(pid):
    with open("/proc/%d/stat" % pid) as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])


@pytest.mark.parametrize("records", ["kept", "lost"])
def test_A12_grandchild_that_holds_the_ports_is_replaced(state_dir, records):
    """L3: the server itself is dead. Who holds its ports is known by the mark in its environment, if that
    is the one in the state file; without such a file nothing proves it."""
    with Instance(state_dir, "--stop-grace-ms", 200) as it:
        it.launch(command=[SERVER, "--hold-socket-child"])
        crash(it)
        kill(it.result["server_pid"])
        assert not it.ports_are_free()
        if records == "lost":
            os.rename(os.path.join(it.directory, "state.json"), os.path.join(it.directory, "kept"))
            assert it.launch(command=[SERVER])["code"] == 3 and not it.ports_are_free()
            it.wait_end()
            os.rename(os.path.join(it.directory, "kept"), os.path.join(it.directory, "state.json"))
        assert it.launch(command=[SERVER])["result"] == "started", it.result
        assert http_get(it.http)[1].endswith(b"server %d\n" % it.result["server_pid"])


@pytest.mark.parametrize("server", [["--term-delay-ms", "400"], ["--ignore-term"]])
def test_A12_launch_while_the_guard_still_ends_the_old_server(state_dir, server):
    """Only the daemon crashed. Its lock is free at once, its server's ports are not."""
    with Instance(state_dir, "--stop-grace-ms", 600) as it:
        it.launch(command=[SERVER] + server)
        with Watched([it.result["server_pid"], it.status()["guard_pid"]]) as old:
            kill(it.result["daemon_pid"])
            assert it.launch(command=[SERVER])["result"] == "started", it.result
            old.wait()
        assert http_get(it.http)[1].endswith(b"server %d\n" % it.result["server_pid"])


def test_A12_left_over_of_an_older_release(state_dir):
    with Instance(state_dir, "--stop-grace-ms", 300) as old, \
            Instance(state_dir, program=NEWER, ports=(old.http, old.ws)) as new:
        with Watched([launch_and_crash(old, command=[SERVER])]) as watched:
            assert new.launch()["result"] == "started", new.result
            watched.wait()
        assert new.status()["version"] == "99.0.0"


# ---- strangers -----------------------------------------------------------------------------------

PLACES = {"127.0.0.1": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1", "::1": "::1"}
STRANGER = """
import socket, sys
listener = socket.create_server((sys.argv[1], int(sys.argv[2])),
                                family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
print("listening", flush=True)
while True:
    connection = listener.accept()[0]
    connection.sendall(b"stranger")
    connection.close()
"""


class Stranger(Process):
    """A program that has nothing to do with us and listens on a port."""

    def __init__(self, port, address="127.0.0.1"):
        self.address = (PLACES[address], port)
        super().__init__([sys.executable, "-S", "-c", STRANGER, address, str(port), "--my-mark"])
        self.expect("^listening")

    def serves(self):
        with socket.create_connection(self.address, timeout=30) as stream:
            return stream.recv(100) == b"stranger" and self.popen.poll() is None


class Marked(Process):
    """The same with this environment, among the processes that Tether sees."""

    def __init__(self, port, env):
        super().__init__([SERVER, "--http", str(port), "--ws", "0"], env)
        self.expect("server up")
        self.port = port

    def serves(self):
        return http_get(self.port)[0] == 200


@pytest.mark.parametrize("address", PLACES)
@pytest.mark.parametrize("which", ["http", "ws"])
def test_A12_stranger_on_a_port_is_named_and_not_touched(state_dir, which, address):
    """F4: pid, executable and command line, found without running another program."""
    ports = free_ports()
    port = ports[0] if which == "http" else ports[1]
    with Stranger(port, address) as stranger, Instance(state_dir, ports=ports) as it:
        result = it.launch(env={"PATH": "/nonexistent"})
        assert result["code"] == 3 and result["result"] == "failed"
        assert "port %d is held by %s" % (port, system.holder(stranger.pid)) in result["message"]
        if not IS_WINDOWS:
            assert os.path.realpath(sys.executable) in result["message"]
            assert "-S" in result["message"] and "-c" in result["message"]
        assert stranger.serves()
        it.wait_end()
        assert it.cli("status").status == 5


def test_F4_next_free_pair_is_offered_and_works(state_dir):
    ports = free_ports()
    with Stranger(ports[0]) as stranger, Stranger(ports[1] + 1), Instance(state_dir, ports=ports) as it:
        message = it.launch()["message"]
        it.wait_end()
        offer = re.search(r"--http-port (\d+) --ws-port (\d+)", message)
        pair = tuple(int(number) for number in offer.groups())
        assert pair == (ports[0] + 2, ports[1] + 2) and "--ports auto" in message
        with Instance(state_dir, ports=pair) as other:
            assert other.launch()["code"] == 0
        assert stranger.serves()


def test_F4_ports_auto_takes_the_next_free_pair(state_dir):
    ports = free_ports()
    with Stranger(ports[1]) as stranger, Stranger(ports[0] + 1) as another, Instance(state_dir, ports=ports) as it:
        result = it.launch("--ports", "auto")
        assert result["code"] == 0 and result["result"] == "started"
        with Instance(state_dir, ports=(result["http_port"], result["ws_port"])) as other:
            assert (other.http, other.ws) == (ports[0] + 2, ports[1] + 2)
            assert http_get(other.http)[1].endswith(b"server %d\n" % result["server_pid"])
            told = environment_of(result["server_pid"])
            assert told["TETHER_HTTP_PORT"] == str(other.http) and told["TETHER_WS_PORT"] == str(other.ws)
            # Once more: the one that runs there is adopted, no third one is started.
            again = it.launch("--ports", "auto")
            assert again["result"] == "adopted" and again["server_pid"] == result["server_pid"]
            assert again["http_port"] == other.http
            # Each daemon writes to a log: there was none where a stranger is.
            assert glob.glob(os.path.join(state_dir, "*", "launcher.log")) == [os.path.join(other.directory, "launcher.log")]
        assert stranger.serves() and another.serves()


def test_F4_ports_auto_without_a_second_port(state_dir):
    ports = free_ports()
    with Stranger(ports[0]) as stranger, Instance(state_dir, ports=(ports[0], 0)) as it:
        result = it.launch("--ports", "auto")
        assert result["code"] == 0 and (result["http_port"], result["ws_port"]) == (ports[0] + 1, 0)
        with Instance(state_dir, ports=(ports[0] + 1, 0)):
            assert stranger.serves()


def test_A12_run_in_the_foreground_names_a_stranger_too(state_dir):
    with Instance(state_dir) as it, Stranger(it.http) as stranger:
        with it.run() as foreground:
            assert foreground.wait() == 3
            assert "port %d is held by %s" % (it.http, system.holder(stranger.pid)) in foreground.output
        assert stranger.serves()


def test_A12_server_of_another_living_instance_is_a_stranger(state_dir):
    """It carries our marks, of another pair of ports that shares one with ours."""
    with Instance(state_dir) as other:
        other.launch()
        with Instance(state_dir, ports=(other.http, free_ports()[0])) as it:
            result = it.launch()
            assert result["code"] == 3 and "held by " + system.holder(other.result["server_pid"]) in result["message"]
            it.wait_end()
        assert other.status()["state"] == "ready" and http_get(other.http)[0] == 200


@pytest.mark.parametrize("mark", ["living daemon", "other instance", "no daemon", "malformed"])
def test_A12_mark_alone_makes_no_orphan(state_dir, mark):
    """Only this instance's mark with a dead daemon does; a program that merely inherited some of the
    variables, as from a terminal inside a server, is a stranger."""
    with start_owner() as process:
        dead = identity(process.pid)
    living = identity(own_pid())
    daemon = {"living daemon": "%(pid)d:%(start)s" % living, "other instance": "%(pid)d:%(start)s" % dead,
              "no daemon": None, "malformed": "%(pid)dx:%(start)s" % dead}[mark]
    with Instance(state_dir) as it:
        env = {"TETHER_INSTANCE": "1-2" if mark == "other instance" else it.name}
        if daemon:
            env["TETHER_DAEMON"] = daemon
        os.mkdir(it.directory, 0o700)
        with open(os.path.join(it.directory, "state.json"), "w") as file:
            file.write("{}")
        with Marked(it.http, env) as stranger:
            assert it.launch()["code"] == 3
            it.wait_end()
            assert stranger.serves()


@pytest.mark.parametrize("text", [
    "", "{", "[]", "\0" * 100, '{"server":{"pid":%(pid)d}}', '{"server":{"pid":%(pid)d,"start":""}}',
    '{"server":{"pid":%(pid)d,"start":"%(other)d"}}', '{"server":{"pid":-1,"start":"1"}}',
    '{"server":{"pid":"%(pid)d","start":"%(start)s"}}'])
def test_A12_unusable_records_end_nobody(state_dir, text):
    """Half an identity, or a wrong one, could be anybody's."""
    with start_owner() as stranger, Instance(state_dir) as it:
        me = identity(stranger.pid)
        os.mkdir(it.directory, 0o700)
        with open(os.path.join(it.directory, "state.json"), "w") as file:
            file.write(text % dict(me, other=int(me["start"]) + 1) if "%" in text else text)
        assert it.launch()["code"] == 0
        assert is_alive(stranger.pid)


# ---- older and newer releases --------------------------------------------------------------------

@pytest.fixture
def pair(state_dir):
    """The same instance as two releases see it."""
    with Instance(state_dir) as older, Instance(state_dir, program=NEWER, ports=(older.http, older.ws)) as newer:
        yield older, newer


LONG_MS = 600000  # for a server to stay when its owner is dead


def launch_for_the_dead(older, **how):
    """A server that nobody uses any more and that would soon end."""
    with start_owner() as owner:
        older.launch("--owner-pid", owner.pid, "--grace-ms", LONG_MS, **how)


def test_F6_newer_replaces_older_whose_owner_is_dead(pair):
    older, newer = pair
    launch_for_the_dead(older, command=[SERVER, "--term-delay-ms", "200"])
    with Watched([older.result["daemon_pid"], older.result["server_pid"]]) as old:
        result = newer.launch()
        assert result["result"] == "started", result
        assert old.left() == []
    assert newer.status()["version"] == "99.0.0"
    assert "exited with code 0" in older.log() and "ended (hand-over" in older.log()


def test_F6_A3_newer_adopts_older_that_was_started_by_hand_and_says_so(pair):
    """No owner was ever given, so there is somebody who wants it until they stop it."""
    older, newer = pair
    older.launch()
    with start_owner() as editor:
        for options in ([], ["--owner-pid", editor.pid]):
            result = newer.launch(*options)
            assert result["result"] == "adopted" and result["server_pid"] == older.result["server_pid"]
            assert older.status()["version"] in result["message"] and "99.0.0" in result["message"]
    with newer.control() as control:
        control.hello("cli")
        reply = control.request("handover")
        assert reply["code"] == "in-use" and "by hand" in reply["message"]
    assert newer.cli("stop", "--force").status == 0


def test_F6_newer_adopts_older_with_sessions_and_says_so(pair):
    older, newer = pair
    older.launch()
    with SessionProcess(older.result["control"]):
        result = newer.launch()
        assert result["result"] == "adopted" and result["daemon_pid"] == older.result["daemon_pid"]
        assert older.status()["version"] in result["message"] and "99.0.0" in result["message"]
        assert result["server_pid"] == older.result["server_pid"] and http_get(older.http)[0] == 200


@pytest.mark.parametrize("with_session", [False, True])
def test_F6_older_never_replaces_newer(pair, with_session):
    older, newer = pair
    newer.launch()
    session = SessionProcess(newer.result["control"]) if with_session else None
    result = older.launch()
    assert result["result"] == "adopted" and result["daemon_pid"] == newer.result["daemon_pid"]
    assert "99.0.0" in result["message"]
    assert newer.status()["version"] == "99.0.0"
    if session:
        session.stop()


def test_F6_no_ping_pong(pair):
    """Two projects with two releases of the addon, opened by turns."""
    older, newer = pair
    launch_for_the_dead(older)
    daemons = [program.launch()["daemon_pid"] for program in [newer, older] * 4]
    assert len(set(daemons)) == 1 and newer.status()["version"] == "99.0.0"


@pytest.mark.parametrize("owner", ["the same", "none"])
def test_F6_no_ping_pong_when_both_come_at_once(pair, owner):
    """Whoever comes first: all are told of a server that runs, and the newer release stays; or the
    first, where nobody may take it over."""
    older, newer = pair
    editor = start_owner() if owner == "the same" else None
    options = ["--owner-pid", str(editor.pid)] if editor else []
    launches = [Process(program.argv("launch", *options, "--", SERVER), program.env) for program in [older, newer] * 5]
    try:
        for process in launches:
            assert process.wait() == 0, process.output
        daemons = {json.loads(process.output.splitlines()[-1])["daemon_pid"] for process in launches[1::2]}
        status = newer.status()
        assert daemons == {status["daemon"]["pid"]} and (owner == "none" or status["version"] == "99.0.0")
        assert status["state"] == "ready" and http_get(newer.http)[0] == 200
    finally:
        newer.cli("stop", "--force")
        wait_alone([process.pid for process in launches + ([editor] if editor else [])])


def test_F6_launch_that_waits_for_a_replaced_daemon_joins_the_new_one(pair, starts):
    """The older daemon makes room while its server is not ready yet. Whoever launched that wants a
    server, and there will be one."""
    older, newer = pair
    with start_owner() as owner, Process(older.argv("launch", "--owner-pid", owner.pid, "--", SERVER, "--stamp",
                                                    starts.path, "--never-ready"), older.env) as first:
        starts.pids(1)
        result = newer.launch("--owner-pid", owner.pid)
        assert result["result"] == "started", result
        assert first.wait() == 0, first.output
        assert json.loads(first.output)["daemon_pid"] == result["daemon_pid"]


# Not ready and in no hurry to end, the first time.
SLOW_ONCE = ('if test -e %(mark)s; then exec %(server)s --stamp %(stamps)s; fi; '
             ': >%(mark)s; exec %(server)s --stamp %(stamps)s --never-ready --term-delay-ms 2000')


def test_F6_launch_that_waits_for_a_successor_that_dies_starts_the_server_itself(pair, starts, tmp_path):
    older, newer = pair
    command = system.command(["sh", "-c", SLOW_ONCE % {"mark": tmp_path / "mark", "server": SERVER, "stamps": starts.path}])
    with start_owner() as owner, Process(older.argv("launch", "--owner-pid", owner.pid, "--", *command), older.env) as first:
        starts.pids(1)
        with older.control() as control:
            control.hello("cli")
            with Process(newer.argv("launch", "--owner-pid", owner.pid), newer.env) as successor:
                control.wait_state("stopping")  # the older daemon makes room
                successor.kill()
        assert first.wait() == 0, first.output
        assert json.loads(first.output)["result"] == "started" and starts.pids(1)
        assert older.status()["version"] != "99.0.0"


def test_F6_newer_adopts_older_while_its_owner_lives(pair):
    """F6, A4: the owner has no session; its editor is about to connect, or never will. The server is
    its own all the same, and would end with the newcomer if that one took it over."""
    older, newer = pair
    with start_owner() as owner, start_owner() as newcomer:
        older.launch("--owner-pid", owner.pid)
        for options in ([], ["--owner-pid", newcomer.pid]):
            result = newer.launch(*options)
            assert result["result"] == "adopted" and result["daemon_pid"] == older.result["daemon_pid"]
        newcomer.stop()
        wait_until(lambda: older.status()["sessions"] == [], "the newcomer's session is gone")
        result = newer.launch("--owner-pid", owner.pid)  # the same editor, with a newer addon
        assert result["result"] == "started", result


def test_F6_editor_that_updates_its_addon_replaces_its_own_daemon(pair):
    """The addon is updated under a running editor and reloads. Its own session is no other session."""
    older, newer = pair
    with start_owner() as another:
        older.launch("--owner-pid", another.pid)
        with SessionProcess(older.result["control"]) as editor:
            another.stop()
            wait_until(lambda: older.status()["owner"]["pid"] == editor.pid, "the editor is the owner")
            editor.tell("leave reload")
            result = newer.launch("--owner-pid", editor.pid)
            assert result["result"] == "started", result
        newer.cli("stop", "--force")


# ---- a daemon that goes while it is talked to ----------------------------------------------------

class GoingDaemon:
    """Holds the lock and listens like a daemon, answers one hello, and is gone: whatever is said to it
    then cannot be delivered."""

    def __init__(self, it):
        os.makedirs(it.directory, 0o700)
        self.path = os.path.join(it.directory, "control.sock")
        self.held = system.Daemon(it.directory, 128)

    def answer_and_go(self):
        connection = self.held.accept(LIMIT)
        with connection, connection.makefile("rb") as lines:
            assert json.loads(lines.readline())["type"] == "hello"
            connection.shutdown(socket.SHUT_RD)
            welcome = {"type": "welcome", "session": "1", "version": "0.0.1", "state": "ready",
                       "daemon": dict(identity(own_pid()), start="1"), "server": {"state": "ready", "pid": 0}}
            connection.sendall(json.dumps(welcome).encode() + b"\n")
            self.close()

    def close(self):
        if self.held:
            if os.path.exists(self.path):
                os.unlink(self.path)
            self.held.close()
        self.held = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def test_E6_launch_outlives_a_daemon_that_goes_while_it_talks(state_dir):
    """It starts one of its own, as if nobody had been there. A write to one that is gone must not
    end it, neither by an error nor by SIGPIPE."""
    with start_owner() as owner, Instance(state_dir) as it, GoingDaemon(it) as daemon:
        with Process(it.argv("launch", "--owner-pid", owner.pid, "--", SERVER), it.env) as launch:
            daemon.answer_and_go()
            assert launch.wait() == 0, launch.output
            assert json.loads(launch.output)["result"] == "started"


@pytest.mark.parametrize("command", ["stop", "restart"])
def test_E6_commands_outlive_a_daemon_that_goes_while_they_talk(state_dir, command):
    with Instance(state_dir) as it, GoingDaemon(it) as daemon:
        with Process(it.argv(command), it.env) as process:
            daemon.answer_and_go()
            assert process.wait() in (0, 1, 5), process.output
            assert process.output != ""
