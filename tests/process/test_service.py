"""`tether run` where something else manages it: a container, a service manager, a terminal."""
import os
import re
import signal
import socket
import sys
import time

import pytest

from harness import LIMIT, Process, children_of, run
from scene import Fifo, Watched, environment_of, find_guard, is_alive, kill, wait_until
from terminal import open_terminal
from tether import SERVER, Instance, http_get, start_owner


def can_unshare():
    try:
        return run(["unshare", "--pid", "--fork", "--mount-proc", "true"]).status == 0
    except FileNotFoundError:
        return False


needs_pid_namespace = pytest.mark.skipif(not can_unshare(), reason="no right to make a pid namespace")


@pytest.fixture
def members(tmp_path):
    with Fifo(tmp_path / "members") as fifo:
        yield fifo


# ---- the first process of a container ------------------------------------------------------------

class Container:
    """`tether run` as process 1 of a pid namespace."""

    def __init__(self, instance, *options, command=(SERVER,)):
        argv = instance.argv("run", *options, "--", *command)
        self.outer = Process(["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"] + argv, instance.env)
        self.outer.expect("server ready")
        self.pid = children_of(self.outer.pid)[0]  # tether, as seen from outside

    def inside(self, *argv):
        return run(["nsenter", "--target", str(self.pid), "--pid", "--mount"] + list(argv))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.outer.stop()


@needs_pid_namespace
def test_F11_as_process_1_it_ends_in_order_on_SIGTERM(state_dir):
    with Instance(state_dir) as it, Container(it, command=[SERVER, "--term-delay-ms", "200"]) as container:
        assert container.inside("cat", "/proc/1/comm").output == "tether\n"
        assert http_get(it.http)[0] == 200
        began = time.monotonic()
        kill(container.pid, signal.SIGTERM)
        assert container.outer.wait() == 0
        assert time.monotonic() - began >= 0.2
        assert "server exited with code 0" in container.outer.output
        assert "ended (signal): no process is left, both ports are free" in container.outer.output


@needs_pid_namespace
def test_F11_as_process_1_it_ends_a_tree_that_tries_to_escape(state_dir, members):
    with Instance(state_dir) as it, \
            Container(it, "--stop-grace-ms", "150", command=[SERVER, "--escape", members.path]) as container:
        for _ in range(5):
            members.line()
        kill(container.pid, signal.SIGTERM)
        assert container.outer.wait() == 0
        assert "no process is left, both ports are free" in container.outer.output


@needs_pid_namespace
def test_F11_as_process_1_it_reaps_strays(state_dir):
    """Orphans that were never below the server, as from `docker exec`, and such of the server."""
    script = "for i in 1 2 3; do (true & true) & done; wait; exec %s" % SERVER
    with Instance(state_dir) as it, Container(it, command=["sh", "-c", script]) as container:
        for _ in range(3):
            # A shell that leaves children behind: one dead already, one that dies later.
            assert container.inside("sh", "-c", "true & (exec sleep 0.1) & exit 0").status == 0
        guard = find_guard(container.pid)
        wait_until(lambda: children_of(container.pid) == [guard], "all strays are reaped")
        assert len(children_of(guard)) == 1
        kill(container.pid, signal.SIGTERM)
        assert container.outer.wait() == 0


@needs_pid_namespace
def test_F11_as_process_1_it_outlives_crashes(state_dir):
    with Instance(state_dir) as it, Container(it) as container:
        server = int(re.search(rb"server (\d+)\n", http_get(it.http)[1]).group(1))
        assert container.inside("sh", "-c", "kill -KILL %d" % server).status == 0
        container.outer.expect("server starting")
        container.outer.expect("(?s)server ready.*server ready")
        guard = find_guard(container.pid)
        assert len(children_of(guard)) == 1 and http_get(it.http)[0] == 200
        kill(container.pid, signal.SIGINT)
        assert container.outer.wait() == 0


@needs_pid_namespace
def test_A12_server_of_a_container_is_a_stranger_outside_of_it(state_dir, tmp_path):
    """The same user, the same ports, but a mark that names a daemon by another namespace's numbers:
    outside nobody has that number, and the server is not an orphan for that."""
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o700)
    with Instance(state_dir) as it, Container(it) as container:
        with Instance(str(outside), ports=(it.http, it.ws)) as other:
            assert other.launch()["code"] == 3
            assert "`tether sweep` ends it" not in other.cli("doctor").output
            other.cli("sweep")
            assert http_get(it.http)[0] == 200
        assert "exited" not in container.outer.output
        kill(container.pid, signal.SIGTERM)
        assert container.outer.wait() == 0


@needs_pid_namespace
def test_B4_as_process_1_the_watchdog_does_not_end_it(state_dir):
    """Process 1 has no parent that could die: it is the one outside, which is another world."""
    with Instance(state_dir) as it, Container(it, "--parent-poll-ms", "50") as container:
        with Watched([container.pid]) as watched:
            wait_until(lambda: http_get(it.http)[0] == 200, "it serves")
            assert watched.left() == [container.pid]
        assert "is gone" not in container.outer.output
        kill(container.pid, signal.SIGTERM)
        assert container.outer.wait() == 0


@needs_pid_namespace
def test_F11_exit_code_of_a_server_that_gives_up_is_passed_on(state_dir):
    with Instance(state_dir) as it:
        argv = it.argv("run", "--restart", "never", "--", SERVER, "--exit", "7", "--after-ms", "100")
        done = run(["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"] + argv, it.env)
        assert done.status == 1 and "exited with code 7" in done.output


# ---- a service -----------------------------------------------------------------------------------

class Manager:
    """The socket on which a service manager hears of its services."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(LIMIT)
        self.socket.bind("\0" + path[1:] if path.startswith("@") else path)
        self.env = {"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}

    def heard(self, wait=True):
        self.socket.settimeout(LIMIT if wait else 0)
        try:
            return self.socket.recv(4096).decode().strip().split("\n")
        except BlockingIOError:
            return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


@pytest.mark.parametrize("kind", ["file", "abstract"])
def test_F11_service_manager_is_told(state_dir, tmp_path, kind):
    path = str(tmp_path / "notify") if kind == "file" else "@tether-test-%d" % os.getpid()
    with Manager(path) as manager, Instance(state_dir) as it:
        gate = tmp_path / "gate"
        os.mkfifo(gate)
        command = ["sh", "-c", 'read word <"$0"; exec "$1"', str(gate), SERVER]
        with it.run(command=command, env=manager.env) as service:
            service.expect("server started")
            assert manager.heard(wait=False) is None
            gate.write_text("go\n")
            assert manager.heard() == ["READY=1"]
            assert http_get(it.http)[0] == 200
            service.kill(signal.SIGTERM)
            assert manager.heard() == ["STOPPING=1"]
            assert service.wait() == 0
            assert manager.heard(wait=False) is None


def test_F11_service_manager_is_told_when_the_end_begins(state_dir, tmp_path):
    """That is what the message means: the manager shows "deactivating" while the server drains."""
    with Manager(str(tmp_path / "notify")) as manager, Instance(state_dir) as it:
        with it.run("--stop-grace-ms", 600000, command=[SERVER, "--ignore-term"], env=manager.env) as service:
            assert manager.heard() == ["READY=1"]
            server = it.status()["server"]["pid"]
            service.kill(signal.SIGTERM)
            assert manager.heard() == ["STOPPING=1"] and is_alive(server)
            kill(server)
            assert service.wait() == 0


def test_F11_service_managers_socket_is_not_the_servers(state_dir, tmp_path):
    """A server that speaks to a manager by itself would confuse it; with --ready notify it has ours."""
    for ready in ("ports", "notify"):
        with Manager(str(tmp_path / ready)) as manager, Instance(state_dir, "--ready", ready) as it:
            command = [SERVER] + (["--notify"] if ready == "notify" else [])
            with it.run(command=command, env=manager.env) as service:
                assert manager.heard() == ["READY=1"]
                told = environment_of(it.status()["server"]["pid"])
                assert told.get("NOTIFY_SOCKET") != manager.env["NOTIFY_SOCKET"]
                assert ("NOTIFY_SOCKET" in told) == (ready == "notify")
                assert "WATCHDOG_USEC" not in told and "WATCHDOG_PID" not in told
                service.kill(signal.SIGTERM)
                assert service.wait() == 0


def test_F11_service_that_cannot_start_is_told_by_its_exit_code(state_dir, tmp_path):
    with Manager(str(tmp_path / "notify")) as manager, Instance(state_dir) as it:
        done = run(it.argv("run", "--", "/nonexistent/server"), dict(it.env, **manager.env))
        assert done.status == 1 and "/nonexistent/server" in done.output
        assert manager.heard(wait=False) in (None, ["STOPPING=1"])


def test_F11_manager_that_is_gone_does_not_matter(state_dir, tmp_path):
    with Instance(state_dir) as it:
        with it.run(env={"NOTIFY_SOCKET": str(tmp_path / "nobody")}) as service:
            service.expect("server ready")
            service.kill(signal.SIGTERM)
            assert service.wait() == 0


# ---- a terminal ----------------------------------------------------------------------------------

class Terminal:
    """`tether run` as the foreground program of a terminal of its own."""

    def __init__(self, instance, *options, command=(SERVER,)):
        self.keyboard, self.tty = open_terminal()
        argv = ["setsid", "--ctty"] + instance.argv("run", *options, "--", *command)
        self.process = Process(argv, instance.env, stdin=self.tty, start_new_session=False)
        self.process.expect("server ready")

    def press_control_c(self):
        os.write(self.keyboard, b"\x03")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stop()
        os.close(self.keyboard)
        os.close(self.tty)


def test_F11_control_c_stops_in_order(state_dir):
    """The terminal sends SIGINT to the whole foreground group: neither guard nor server is in it."""
    with Instance(state_dir) as it, Terminal(it, command=[SERVER, "--term-delay-ms", "300"]) as terminal:
        server = it.status()["server"]["pid"]
        with Watched([server, it.status()["guard_pid"]]) as tree:
            began = time.monotonic()
            terminal.press_control_c()
            terminal.process.expect("server stopping")
            assert len(tree.left()) == 2
            assert terminal.process.wait() == 0
            assert tree.left() == []
        assert time.monotonic() - began >= 0.3
        assert "server exited with code 0" in terminal.process.output
        assert it.ports_are_free()


def test_F11_second_control_c_stops_at_once(state_dir):
    with Instance(state_dir) as it, \
            Terminal(it, "--stop-grace-ms", "60000", command=[SERVER, "--ignore-term"]) as terminal:
        terminal.press_control_c()
        terminal.process.expect("server stopping")
        terminal.press_control_c()
        assert terminal.process.wait(30) == 0
        assert "server was ended by signal 9" in terminal.process.output
        assert it.ports_are_free()


def test_F11_control_c_before_it_is_ready(state_dir):
    with Instance(state_dir) as it:
        with it.run(command=[SERVER, "--never-ready"]) as service:
            service.expect("server started")
            service.kill(signal.SIGINT)
            assert service.wait() == 0
            assert "no process is left, both ports are free" in service.output


def test_F11_terminal_that_is_closed(state_dir):
    """SIGHUP, as from a terminal window that goes, or the loss of a remote connection."""
    with Instance(state_dir, "--stop-grace-ms", 500) as it, it.run() as service:
        service.expect("server ready")
        with Watched([it.status()["server"]["pid"], it.status()["guard_pid"]]) as tree:
            service.kill(signal.SIGHUP)
            service.wait()
            tree.wait()
        wait_until(it.ports_are_free, "both ports are free", limit=5)


def test_F11_nohup_outlives_the_terminal(state_dir):
    with Instance(state_dir) as it:
        with Process(["nohup"] + it.argv("run", "--", SERVER), it.env) as service:
            service.expect("server ready")
            service.kill(signal.SIGHUP)
            assert it.status()["state"] == "ready"  # by now a signal would have been seen
            server = it.status()["server"]["pid"]
            with open("/proc/%d/status" % server) as file:
                assert not int(re.search(r"SigIgn:\s*(\w+)", file.read()).group(1), 16) & 1, "it ignores SIGHUP, too"
            service.kill(signal.SIGTERM)
            assert service.wait() == 0
            assert service.output.count("ended (signal)") == 1


def test_F11_terminal_that_is_closed_ends_it_in_order(state_dir):
    with Instance(state_dir) as it, it.run(command=[SERVER, "--term-delay-ms", "100"]) as service:
        service.expect("server ready")
        service.kill(signal.SIGHUP)
        assert service.wait() == 0
        assert "no process is left, both ports are free" in it.log()
        assert not os.path.exists(os.path.join(it.directory, "state.json"))


# ---- signals for the server ----------------------------------------------------------------------

LISTENER = """
import signal
wanted = {signal.SIGUSR1, signal.SIGUSR2}
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)  # what comes before it is waited for waits, too
print("listening", flush=True)
while True:
    print("heard", signal.Signals(signal.sigwait(wanted)).name, flush=True)
"""


@pytest.mark.parametrize("way", ["run", "launch"])
def test_F11_user_signals_are_passed_on(state_dir, way):
    """Many servers reopen logs or reload on them."""
    with Instance(state_dir, "--ready", "none") as it:
        command = [sys.executable, "-S", "-c", LISTENER]
        service = it.run(command=command) if way == "run" else None
        if not service:
            it.launch(command=command)
        wait_until(lambda: "listening" in it.cli("logs").output, "the server listens")
        pid = service.pid if service else it.result["daemon_pid"]
        for name in ("SIGUSR1", "SIGUSR2"):
            kill(pid, getattr(signal, name))
            wait_until(lambda: "heard " + name in it.cli("logs").output, "the server has heard " + name)
        assert it.status()["state"] == "ready" and it.status()["restarts"] == 0
        assert it.cli("stop").status == 0


def test_F11_user_signal_without_a_server_is_harmless(state_dir, tmp_path):
    """It comes while the server is down between two starts, and is nobody's."""
    with start_owner() as owner, Instance(state_dir, "--ready", "none") as it:
        it.launch("--owner-pid", owner.pid,
                  command=[SERVER, "--exit-times", "5", str(tmp_path / "count"), "--after-ms", "20"])
        wait_until(lambda: it.status()["state"] == "failed", "the server is down")
        kill(it.result["daemon_pid"], signal.SIGUSR1)
        assert it.status()["state"] == "failed"
        assert it.cli("restart").status == 0
