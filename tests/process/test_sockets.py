"""When a server counts as ready, connections across restarts, and servers that know nothing of us."""
import collections
import errno
import os
import re
import shutil
import socket
import sys
import threading
import time

import pytest

from harness import IS_WINDOWS, Process
from scene import Watched, descendants_of, environment_of, kill, server_of, stamps_at, wait_alone, wait_until
from tether import SERVER, Instance, can_bind, http_get, start_owner

NGINX = shutil.which("nginx") or shutil.which(os.environ.get("TETHER_NGINX", "/usr/sbin/nginx"))
NODE = shutil.which("node")


@pytest.fixture
def starts(tmp_path):
    with stamps_at(tmp_path / "starts") as fifo:
        yield fifo


# ---- readiness -----------------------------------------------------------------------------------

READY = {"ports": [], "notify": ["--notify"], "http:/": [], "http:/a/path?with=query": []}


@pytest.mark.parametrize("how", READY)
def test_F5_ready_when_the_server_is(state_dir, how):
    """The launch returns no earlier than the server says so, in each way of saying it."""
    with Instance(state_dir, "--ready", how) as it:
        began = time.monotonic()
        result = it.launch(command=[SERVER, "--ready-after-ms", "300"] + READY[how])
        assert result["code"] == 0 and time.monotonic() - began >= 0.3
        status = it.status()
        assert status["state"] == "ready" and status["server"]["ready_ms"] >= 300
        assert http_get(it.http)[0] == 200


def test_F5_default_is_both_ports(state_dir):
    with Instance(state_dir) as it:
        began = time.monotonic()
        assert it.launch(command=[SERVER, "--ready-after-ms", "300"])["code"] == 0
        assert time.monotonic() - began >= 0.3 and http_get(it.http)[0] == 200 and http_get(it.ws)[0] == 200


def test_F5_one_port_is_enough_where_there_is_one(state_dir):
    with Instance(state_dir, ports=(Instance(state_dir).http, 0)) as it:
        assert it.launch(command=[SERVER])["code"] == 0
        assert "TETHER_WS_PORT" not in environment_of(it.result["server_pid"]) or \
            environment_of(it.result["server_pid"])["TETHER_WS_PORT"] == "0"


def test_F5_ready_at_once_when_nothing_is_to_be_waited_for(state_dir):
    with Instance(state_dir, "--ready", "none") as it:
        assert it.launch(command=[SERVER, "--never-ready"])["code"] == 0
        assert it.status()["state"] == "ready"


def test_F5_ready_none_needs_a_process(state_dir):
    with Instance(state_dir, "--ready", "none") as it:
        assert it.launch(command=[SERVER, "--never-ready"])["server_pid"] != 0


NOT_READY = {
    "ports": ["--never-ready"],
    "notify": [],  # it listens, but does not say so
    "http:/": ["--http-status", "503"],
    "http:/missing": ["--http-status", "404"],
}


@pytest.mark.parametrize("how", NOT_READY)
def test_F5_not_ready_in_time(state_dir, how):
    """Code 4, with the reason and what the server had to say; nothing of it stays."""
    with Instance(state_dir, "--ready", how, "--ready-timeout-ms", 400, "--stop-grace-ms", 100) as it:
        began = time.monotonic()
        result = it.launch(command=[SERVER, "--say", "waiting for a licence"] + NOT_READY[how])
        assert result["code"] == 4 and result["result"] == "failed" and time.monotonic() - began >= 0.4
        assert "not ready within 400 ms" in result["message"] and "waiting for a licence" in result["message"]
        it.wait_end()
        wait_alone()
        assert it.ports_are_free() and "no process is left" in it.log()


def test_F5_one_of_two_ports_is_not_ready(state_dir):
    with Instance(state_dir, "--ready-timeout-ms", 400) as it:
        assert it.launch(command=[SERVER, "--ws", "0"])["code"] == 4
        it.wait_end()


def test_F5_not_ready_after_a_restart_is_not_hidden(state_dir, tmp_path):
    """The first start was ready, the second is not: `tether restart` says so."""
    gate = tmp_path / "closed"
    script = 'if test -e %s; then exec %s --never-ready; else exec %s; fi' % (gate, SERVER, SERVER)
    limit = 400 if not IS_WINDOWS else 5000  # a stand-in takes its time
    with start_owner() as owner, Instance(state_dir, "--ready-timeout-ms", limit) as it:
        assert it.launch("--owner-pid", owner.pid, command=["sh", "-c", script])["code"] == 0
        gate.touch()
        done = it.cli("restart")
        assert done.status == 4 and "not ready within %d ms" % limit in done.output
        assert it.status()["state"] == "failed" and it.ports_are_free()
        gate.unlink()
        assert it.cli("restart").status == 0 and http_get(it.http)[0] == 200


SPEAKER = """
import os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
    notify.connect(os.environ["NOTIFY_SOCKET"])
    with open(sys.argv[1], "rb", buffering=0) as wishes:
        for wish in wishes:
            notify.send(eval(wish))
"""


class Speaker:
    """A process of the server's tree that sends notifications on demand. It is in each run of it."""

    def __init__(self, path):
        self.path = str(path)
        os.mkfifo(self.path)

    def command(self, rest):
        return ["sh", "-c", '%s -c "$1" %s & %s' % (sys.executable, self.path, rest), "sh", SPEAKER]

    def open(self):
        """Once for each run: its speaker waits for that."""
        return open(self.path, "wb", buffering=0)


def test_F5_only_a_notification_of_this_run_counts(state_dir, tmp_path, starts):
    """Neither what was said before the restart nor what merely looks like it."""
    gate = tmp_path / "closed"
    speaker = Speaker(tmp_path / "wishes")
    command = speaker.command('test -e %s && exec %s --stamp %s; exec %s --stamp %s --notify' %
                              (gate, SERVER, starts.path, SERVER, starts.path))
    with start_owner() as owner, Instance(state_dir, "--ready", "notify", "--ready-timeout-ms", 2000) as it:
        it.launch("--owner-pid", owner.pid, command=command)
        starts.pids(1)
        gate.touch()
        with speaker.open() as wishes:
            wishes.write(b"b'READY=1'\n")
        with Process(it.argv("restart"), it.env) as restart:
            starts.pids(1)
            with speaker.open() as wishes:
                for text in (b"", b"READY=0", b"READY=10", b"X_READY=1", b"STATUS=READY=1", b"STATUS=x\nNOT_READY=1"):
                    wishes.write(repr(text).encode() + b"\n")
                assert restart.wait() == 4
        with Process(it.argv("restart"), it.env) as restart:
            starts.pids(1)
            with speaker.open() as wishes:
                wishes.write(repr(b"STATUS=warming up\nREADY=1\n").encode() + b"\n")
                assert restart.wait() == 0, restart.output
        assert it.status()["state"] == "ready"


def test_L5_nobody_outside_of_the_tree_says_that_it_is_ready(state_dir, tmp_path, starts):
    """The variable is inherited and copied; and descriptors sent along do not stay with us."""
    with start_owner() as owner, Instance(state_dir) as it:
        with Process(it.argv("launch", "--ready", "notify", "--ready-timeout-ms", 600000, "--owner-pid", owner.pid, "--",
                             SERVER, "--stamp", starts.path), it.env) as launch:
            place = environment_of(starts.pids(1)[0])["NOTIFY_SOCKET"]
            daemon = it.status()["daemon"]["pid"]
            before = len(os.listdir("/proc/%d/fd" % daemon))
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
                notify.connect(place)
                notify.send(b"READY=1")
                socket.send_fds(notify, [b"FDSTORE=1"], [0, 1, 2])
            wait_until(lambda: len(os.listdir("/proc/%d/fd" % daemon)) <= before, "it holds nothing more")
            for _ in range(3):  # each answer is a turn of its loop
                assert it.status()["state"] == "starting"
            assert it.cli("stop", "--force").status == 0
            assert launch.wait() == 1


# ---- sockets that outlive the server -------------------------------------------------------------

class Load:
    """Connects again and again from several threads, and counts what becomes of it."""

    def __init__(self, *ports):
        self.outcomes = collections.Counter()
        self.answers = collections.Counter()
        self.ending = threading.Event()
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.work, args=(port,)) for port in ports]
        for thread in self.threads:
            thread.start()

    def work(self, port):
        while not self.ending.is_set():
            try:
                answer = http_get(port, limit=10)[1].rsplit(b" ", 1)[1].decode().strip()
                outcome = "answered"
            except ConnectionRefusedError:
                outcome = "refused"
            except (OSError, IndexError) as error:  # reset, or closed without an answer
                outcome = type(error).__name__
            with self.lock:
                self.outcomes[outcome] += 1
                if outcome == "answered":
                    self.answers[answer] += 1

    def end(self):
        self.ending.set()
        for thread in self.threads:
            thread.join()

    def wait_answer(self, pid):
        wait_until(lambda: self.answers[str(pid)], "an answer of process %d" % pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


HOLDING = [SERVER, "--listen-fds", "--notify"]


@pytest.mark.parametrize("reuse", [0, 1])
def test_L3_nobody_else_can_have_the_other_loopback_address_of_held_ports(state_dir, reuse):
    """Clients that say `localhost` would reach him. Once the server has ended anybody can."""
    def bind(port, address):
        with socket.socket(socket.AF_INET6) as other:
            other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
            other.bind((address, port))
            other.listen()
    with Instance(state_dir, "--hold-ports") as it:
        assert it.launch(command=HOLDING)["code"] == 0
        for port in (it.http, it.ws):
            for address in ("::1", "::"):
                with pytest.raises(OSError) as refused:
                    bind(port, address)
                assert refused.value.errno == errno.EADDRINUSE
        assert it.cli("restart").status == 0
        with pytest.raises(OSError):
            bind(it.http, "::1")
        assert it.cli("stop").status == 0
        it.wait_end()
        for port in (it.http, it.ws):
            bind(port, "::1")


def test_F5_no_connection_is_refused_during_restarts(state_dir, starts):
    """Ten restarts on request, under load on both ports."""
    with Instance(state_dir, "--hold-ports") as it:
        assert it.launch(command=HOLDING + ["--stamp", starts.path])["code"] == 0
        servers = starts.pids(1)
        with Load(it.http, it.http, it.ws) as load:
            load.wait_answer(servers[0])
            for _ in range(10):
                assert it.cli("restart").status == 0
                servers += starts.pids(1)
                load.wait_answer(servers[-1])
        assert load.outcomes["refused"] == 0, load.outcomes
        assert load.outcomes["answered"] >= 11 and all(one != other for one, other in zip(servers, servers[1:]))
        assert it.status()["restarts"] == 10


@pytest.mark.parametrize("victim", ["server", "guard"])
def test_F5_no_connection_is_refused_after_a_crash(state_dir, starts, victim):
    """Three in a row: the later ones are followed by a delay, in which clients wait, but are not
    refused."""
    with Instance(state_dir, "--hold-ports") as it:
        assert it.launch(command=HOLDING + ["--stamp", starts.path])["code"] == 0
        server = starts.pids(1)[0]
        with Load(it.http, it.ws) as load:
            for _ in range(3):
                load.wait_answer(server)
                kill(server if victim == "server" else it.status()["guard_pid"])
                server = starts.pids(1)[0]
            load.wait_answer(server)
        assert load.outcomes["refused"] == 0, load.outcomes


def test_F5_client_that_connects_before_the_server_is_up_is_served(state_dir):
    """It waits in the queue of the socket, for a server that takes its time."""
    with Instance(state_dir, "--hold-ports") as it:
        with it.run(command=HOLDING + ["--ready-after-ms", "400"]) as foreground:
            foreground.expect("server started")
            assert http_get(it.http)[0] == 200
            foreground.expect("server ready")
            assert it.cli("stop").status == 0


def test_F5_held_ports_are_given_up_at_the_end(state_dir):
    with Instance(state_dir, "--hold-ports") as it:
        it.launch(command=HOLDING)
        assert not can_bind(it.http) and not can_bind(it.ws)
        assert it.cli("stop").status == 0
        assert it.ports_are_free() and "both ports are free" in it.log()


def test_F5_handed_down_as_systemd_does(state_dir):
    """Two sockets from number 3 on, named; LISTEN_PID is the server itself; nothing else is open."""
    with Instance(state_dir, "--hold-ports", "--ready", "http:/") as it:
        it.launch(command=[SERVER, "--listen-fds"])
        server = it.result["server_pid"]
        told = environment_of(server)
        assert told["LISTEN_PID"] == str(server) and told["LISTEN_FDS"] == "2"
        assert told["LISTEN_FDNAMES"] == "http:ws"
        sockets = [os.readlink("/proc/%d/fd/%d" % (server, fd)) for fd in (3, 4)]
        inodes = listening_inodes()
        assert [inodes[it.http], inodes[it.ws]] == [re.search(r"\d+", name).group() for name in sockets]


def listening_inodes():
    """{port: inode} of the sockets that listen on IPv4."""
    with open("/proc/net/tcp") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    return {int(row[1].split(":")[1], 16): row[9] for row in rows if row[3] == "0A"}


def test_F5_without_holding_nothing_is_handed_down(state_dir):
    """What somebody else handed to the launcher is not the server's."""
    with Instance(state_dir) as it:
        it.launch(env={"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid()), "LISTEN_FDNAMES": "foreign"})
        told = environment_of(it.result["server_pid"])
        assert not [name for name in told if name.startswith("LISTEN_")]


# ---- real servers --------------------------------------------------------------------------------

NODE_SERVER = """
const http = require('http');
const server = http.createServer((request, answer) => answer.end('node ' + process.pid + '\\n'));
server.listen(+process.argv[2], '127.0.0.1', () => console.log('node listens'));
process.on('SIGTERM', () => { console.log('node drains'); server.close(() => process.exit(0)); });
"""

NGINX_CONF = """
worker_processes 2;
pid %(folder)s/nginx.pid;
error_log stderr;
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path %(folder)s/body; proxy_temp_path %(folder)s/proxy; fastcgi_temp_path %(folder)s/fastcgi;
    uwsgi_temp_path %(folder)s/uwsgi; scgi_temp_path %(folder)s/scgi;
    server { listen 127.0.0.1:%(port)d; location / { return 200 "nginx\\n"; } }
}
"""


def python_server(folder, port):
    return [sys.executable, "-m", "http.server", "{http_port}", "--bind", "127.0.0.1", "--directory", str(folder)]


def node_server(folder, port):
    (folder / "server.js").write_text(NODE_SERVER)
    return [NODE, str(folder / "server.js"), "{http_port}"]


def nginx_server(folder, port):
    (folder / "nginx.conf").write_text(NGINX_CONF % {"folder": folder, "port": port})
    return [NGINX, "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]


SERVERS = [python_server,
           pytest.param(node_server, marks=pytest.mark.skipif(not NODE, reason="there is no node")),
           pytest.param(nginx_server, marks=pytest.mark.skipif(not NGINX, reason="there is no nginx"))]


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("end", ["stop", "owner", "guard", "daemon"])
def test_A13_servers_that_know_nothing_of_us(state_dir, tmp_path, server, end):
    """Started, ready, restarted and ended by us, like any other; whatever ends, all of it goes."""
    folder = tmp_path / "place"
    folder.mkdir()
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 0, "--restart", "never", "--ready", "http:/",
                                          ports=(Instance(state_dir).http, 0)) as it:
        assert it.launch("--owner-pid", owner.pid, command=server(folder, it.http))["code"] == 0, it.result
        assert http_get(it.http)[0] == 200
        if end == "stop":
            assert it.cli("restart").status == 0 and http_get(it.http)[0] == 200
        root = server_of(it)
        with Watched([root, it.result["daemon_pid"]] + descendants_of(root)) as tree:
            if end == "stop":
                assert it.cli("stop").status == 0
            elif end == "owner":
                owner.kill()
            else:
                kill(it.result["daemon_pid"] if end == "daemon" else it.status()["guard_pid"])
            tree.wait()
        wait_alone([owner.pid])
        wait_until(lambda: can_bind(it.http), "the port is free", limit=5)
        if end in ("stop", "owner"):
            assert "no process is left, both ports are free" in it.log()
