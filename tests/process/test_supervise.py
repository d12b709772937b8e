"""The server as a child: its output, its end, and that nothing piles up. Rows D1 to D4."""
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time

import pytest

from clients import check_peak
from harness import IS_WINDOWS, LIMIT, Process, children_of, descendants_of, kill, system, wait_gone
from scene import wait_until
from terminal import open_terminal
from tether import SERVER, Instance, http_get

LINE = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (stdout|stderr|launcher) .*$")
MIB = 1024 * 1024




def zombies_below(pid):
    found = []
    for child in descendants_of(pid):
        try:
            with open("/proc/%d/stat" % child) as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    found.append(child)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def check_log_files(instance, full):
    """Three files of at most 1 MiB, of whole, readable lines."""
    names = sorted(name for name in os.listdir(instance.directory) if name.startswith("server.log"))
    assert set(names) <= {"server.log", "server.log.1", "server.log.2"}
    assert not full or len(names) == 3
    for name in names:
        with open(os.path.join(instance.directory, name), "rb") as file:
            data = file.read()
        assert len(data) <= MIB and data.endswith(b"\n")
        assert len(data) > MIB * 9 // 10 or name == "server.log" or not full
        for line in data.decode("utf-8").split("\n")[:-1]:  # fails for what is no UTF-8
            assert LINE.match(line) and not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", line), line


# ---- D1: output ----

@pytest.mark.parametrize("options", [["--endless", "1000000000"], ["--flood", "300000000"],
                                     ["--flood", "30000000", "--stderr"],
                                     ["--binary", "20000000"]], ids=lambda o: " ".join(o))
def test_D1_endless_output_neither_blocks_the_server_nor_grows_the_daemon(state_dir, options):
    with Instance(state_dir) as instance:
        instance.launch(command=[SERVER, options[0], str(int(options[1]) // system.SLOWNESS), *options[2:]])
        # The server answers only when it has got rid of everything.
        assert http_get(instance.http, limit=4 * LIMIT)[0] == 200
        daemon = instance.result["daemon_pid"]
        check_peak(daemon, 12 * 1024)
        assert instance.status()["state"] == "ready"  # and the daemon answers
        check_log_files(instance, full=True)
        wanted = "xxx" if options[0] != "--binary" else ""
        tail = instance.cli("logs", "-n", 5).output.splitlines()
        assert len(tail) == 5 and all(LINE.match(line) and wanted in line for line in tail)
        check_peak(daemon, 12 * 1024)


def test_D1_a_line_longer_than_a_line_may_be_is_broken_and_the_rest_is_kept(state_dir):
    """Inside no UTF-8 sequence, whatever its place."""
    text = "ab" + "€" * 3000
    with Instance(state_dir) as instance:
        instance.launch(command=[SERVER, "--say", text])
        http_get(instance.http)
        with instance.control() as control:
            lines = control.request("logs", n=10)["lines"]
    parts = [line.split(" stdout ", 1)[1] for line in lines if "€" in line]
    assert len(parts) == 3 and "".join(parts) == text
    assert all(len(part.encode()) <= 4096 for part in parts)


def test_D1_subscribers_get_every_line_in_order_with_its_stream(state_dir):
    talk = "import sys\nfor line in sys.stdin: break\n" \
           "for i in range(2000): print('line', i, file=sys.stdout if i % 2 else sys.stderr, " \
           "flush=True)\nsys.stdin.read()"
    with Instance(state_dir, "--ready", "none", "--restart", "never") as instance:
        instance.launch(command=["sh", "-c", 'read _ < "$0"; exec "$1" -c "$2"', make_fifo(state_dir),
                                 sys.executable, talk.replace("for line in sys.stdin: break\n", "")])
        with instance.control() as control:
            control.hello(role="front")
            assert control.request("logs", follow=True)["ok"]
            with open(os.path.join(state_dir, "go"), "w") as go:
                go.write("\n")
            got = {"stdout": [], "stderr": []}
            numbers = []
            while len(got["stdout"]) + len(got["stderr"]) < 2000:
                message = control.receive("log")
                if message["stream"] == "launcher":
                    continue
                got[message["stream"]].append(message["line"])
                numbers.append(message["seq"])
            assert got["stdout"] == ["line %d" % i for i in range(1, 2000, 2)]
            assert got["stderr"] == ["line %d" % i for i in range(0, 2000, 2)]
            assert numbers == sorted(set(numbers)) and numbers[-1] - numbers[0] < 2010


def make_fifo(state_dir):
    path = os.path.join(state_dir, "go")
    os.mkfifo(path)
    return path


def test_D1_a_subscriber_that_does_not_read_blocks_nobody_and_costs_little(state_dir):
    with Instance(state_dir, "--ready", "none") as instance:
        instance.launch(command=["sh", "-c", 'read _ < "$0"; exec "$@"', make_fifo(state_dir),
                                 SERVER, "--flood", str(60000000 // system.SLOWNESS)])
        with instance.control() as deaf, instance.control() as reader:
            for control in (deaf, reader):
                control.hello(role="front")
                assert control.request("logs", follow=True)["ok"]
            with open(os.path.join(state_dir, "go"), "w") as go:
                go.write("\n")
            reader.receive("log")
            assert instance.status()["state"] == "ready"
            reader.close()
            assert http_get(instance.http, limit=2 * LIMIT)[0] == 200
            check_peak(instance.result["daemon_pid"], 16 * 1024)
            # It lost lines, seen by the gaps in their numbers, and not its connection.
            numbers = []
            deaf.send(type="status", id=77)
            while True:
                message = deaf.receive()
                if message.get("id") == 77:
                    break
                if message["type"] == "log":
                    numbers.append(message["seq"])
            assert 0 < len(numbers) < 750000 and numbers == sorted(numbers)
            assert message["state"] == "ready"


def test_D1_run_prints_lines_as_they_come_also_into_a_pipe(state_dir):
    instance = Instance(state_dir)
    with instance.run() as run:
        run.expect("^server up pid")
        run.kill(signal.SIGTERM)
        assert run.wait() == 0


class Unread:
    """What `tether run` prints goes to somebody who does not read it until asked to."""

    def __init__(self, kind):
        if kind == "socket":
            self.ends = [end.detach() for end in socket.socketpair()]
        elif IS_WINDOWS:
            self.ends = [subprocess.PIPE]
        else:
            self.ends = open_terminal() if kind == "terminal" else os.pipe()
        self.child = self.ends[-1]

    def began(self, process):
        """A program of Windows has brought a pipe of its own, behind which not much more fits."""
        if IS_WINDOWS:
            self.ends = [os.dup(process.stdout.fileno())]
            process.stdout.close()
            self.make_room(4096)

    def make_room(self, size):
        with socket.socket(fileno=os.dup(self.ends[0])) as rest:
            rest.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
            rest.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, size)

    def read_until(self, text, limit=LIMIT):
        if IS_WINDOWS:
            self.make_room(1 << 20)
        data, end = b"", time.monotonic() + limit
        while text not in data:
            assert select.select([self.ends[0]], [], [], max(0, end - time.monotonic()))[0], data[-2000:]
            data += os.read(self.ends[0], 65536)
        return data

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for end in self.ends:
            os.close(end)


@pytest.mark.parametrize("kind", ["pipe", "socket", "terminal"])
def test_D1_run_does_not_wait_for_who_does_not_read(state_dir, kind):
    """D1, B1: with a paused pager, a frozen terminal, or a parent that never looks, the server is
    ended as ever; and it can be asked how it is. A shared pipe or terminal stays as it was."""
    with Instance(state_dir, "--ready", "none") as instance, Unread(kind) as unread:
        count = 1200000 if IS_WINDOWS else 400000  # the connection behind the pipe keeps more than one would think
        server = ["sh", "-c", "seq %d; echo all written; while sleep 0.05; do echo more; done" % count]
        run = system.popen(instance.argv("run", "--ready", "none", "--", *system.command(server)), stdin=subprocess.DEVNULL,
                           stdout=unread.child, stderr=subprocess.STDOUT, env=dict(os.environ, **instance.env))
        unread.began(run)
        try:
            wait_until(lambda: instance.cli("logs", "-n", 1).output.endswith("more\n"), "all of the output")
            assert instance.status()["state"] == "ready"
            assert IS_WINDOWS or os.get_blocking(unread.child)
            assert re.search(rb"\b[1-9][0-9]* lines are left out", unread.read_until(b" has them"))
        finally:
            run.terminate()
            assert run.wait(LIMIT) == 0


def test_D1_run_leaves_no_line_out_for_who_reads(state_dir):
    with Instance(state_dir, "--ready", "none") as instance:
        with instance.run(command=["sh", "-c", "seq 100000; exec sleep 1000"]) as run:
            run.expect(r"^100000$", LIMIT * system.SLOWNESS)
            numbers = re.findall(r"^[0-9]+$", run.output, re.MULTILINE)
            assert numbers == [str(n + 1) for n in range(100000)]
            run.kill(signal.SIGTERM)
            assert run.wait() == 0


# ---- D2: the order of a stop ----

RECORDER = r"""
import os, select, signal, sys, time
record = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def say(text):
    os.write(record, ("%s %.3f\n" % (text, time.monotonic())).encode())
def on_term(number, frame):
    # Which of the two came first? An end of input that is there now came before.
    say("term after eof" if select.select([0], [], [], 0)[0] else "term before eof")
    if sys.argv[2] == "obey":
        sys.exit(0)
signal.signal(signal.SIGTERM, on_term)
say("up")
sys.stdout.write("recording\n")
sys.stdout.flush()
while os.read(0, 100):
    pass
say("eof")
while True:
    signal.pause()
"""


def recorder(tmp_path, how):
    return [sys.executable, "-I", "-S", "-c", RECORDER, str(tmp_path / "record"), how]


def wait_line(control, text):
    """Until the server has written this line."""
    lines = control.request("logs", n=20, follow=True)["lines"]
    while not any(line.endswith(text) for line in lines):
        lines = [control.receive("log")["line"]]


def read_record(tmp_path):
    return [line.rsplit(" ", 1) for line in (tmp_path / "record").read_text().splitlines()]


@pytest.mark.parametrize("how", ["obey", "ignore"])
def test_D2_stdin_is_closed_then_sigterm_then_after_the_grace_sigkill(state_dir, tmp_path, how):
    with Instance(state_dir, "--ready", "none", "--stop-grace-ms", "400") as instance:
        instance.launch(command=recorder(tmp_path, how))
        with instance.control() as control:
            control.hello(role="cli")
            wait_line(control, "recording")  # its handlers are in place
            assert control.request("stop")["ok"]
            instance.wait_end()
    events = read_record(tmp_path)
    names = [event[0] for event in events]
    assert names.count("term after eof") == 1 and "term before eof" not in names
    log = instance.log()
    if how == "obey":
        assert "server exited with code 0" in log
    else:
        assert set(names) == {"up", "term after eof", "eof"}
        assert "server " + system.ENDED in log
        times = dict(re.findall(r"(?m)^\S+T(\S+)Z launcher server (stopping|was ended|exited)", log)[::-1])
        stop, end = (sum(float(x) * y for x, y in zip(t.split(":"), (3600, 60, 1)))
                     for t in sorted(times))
        assert (end - stop) % 86400 >= 0.399  # the grace was given
    assert instance.ports_are_free()


def test_D2_a_server_that_ends_with_its_stdin_needs_no_signal(state_dir):
    with Instance(state_dir) as instance:
        instance.launch(command=[SERVER, "--exit-on-stdin-eof", "--ignore-term"])
        assert instance.cli("stop").status == 0
    assert "server exited with code 0" in instance.log()


def test_D2_concurrent_stops_are_one(state_dir, tmp_path):
    with Instance(state_dir, "--ready", "none", "--stop-grace-ms", "300") as instance:
        instance.launch(command=recorder(tmp_path, "ignore"))
        with instance.control() as control:
            control.hello(role="cli")
            wait_line(control, "recording")  # its handlers are in place
            stops = [Process(instance.argv("stop"), instance.env) for _ in range(15)]
            kill(instance.result["daemon_pid"], signal.SIGTERM)  # one more way to ask
            for stop in stops:
                # 5: it was there too late to find anybody
                assert stop.wait() in (0, 5), stop.output
                stop.stop()
        wait_gone(instance.result["daemon_pid"])
    assert [event[0] for event in read_record(tmp_path)].count("term after eof") == 1
    assert instance.log().count("launcher server stopping") == 1
    assert instance.log().count("launcher ended (") == 1


def test_D2_a_second_ctrl_c_ends_at_once(state_dir):
    instance = Instance(state_dir, "--stop-grace-ms", "3600000")
    with instance.run(command=[SERVER, "--ignore-term", "--ignore-stdin-eof"]) as run:
        run.expect("server ready")
        run.kill(signal.SIGINT)
        run.expect("server stopping")
        run.kill(signal.SIGINT)
        assert run.wait() == 0
        assert system.ENDED in run.output and "no process is left" in run.output


# ---- D3: zombies ----

STRAYS = r"""
import os, sys
read, write = os.pipe()
for i in range(30):
    if os.fork() == 0:
        for j in range(2):
            if os.fork() == 0:
                os.close(write)
                os.read(read, 1)   # until the server lets all of them go at once
                os._exit(j)
        os._exit(0)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
print("forked", flush=True)
os.close(write)
sys.stdin.read()
"""


def test_D3_orphans_of_the_server_are_collected_while_it_runs(state_dir):
    with Instance(state_dir, "--ready", "none") as instance:
        instance.launch(command=[sys.executable, "-I", "-S", "-c", STRAYS])
        daemon = instance.result["daemon_pid"]
        with instance.control() as control:
            wait_line(control, "forked")
        wait_until(lambda: len(descendants_of(daemon)) == 2, "60 grandchildren collected")
        assert zombies_below(daemon) == []
        state = instance.status()
        assert descendants_of(daemon) == [state["guard_pid"], state["server"]["pid"]]


def test_D3_no_zombie_stays_after_crashes_and_restarts(state_dir, tmp_path):
    with Instance(state_dir) as instance:
        instance.launch(command=[SERVER, "--exit", "1", "--exit-times", "2", str(tmp_path / "n")])
        daemon = instance.result["daemon_pid"]
        for _ in range(3):
            assert instance.cli("restart").status == 0
        assert instance.status()["restarts"] == 5
        wait_until(lambda: len(descendants_of(daemon)) == 2, "former guards and servers collected")


# ---- D4: no growth ----

def test_D4_forty_starts_and_stops_leave_nothing(state_dir):
    instance = Instance(state_dir)
    for i in range(10 if IS_WINDOWS else 40):
        assert instance.launch()["result"] == "started"
        assert instance.cli("stop").status == 0
        assert instance.ports_are_free()
    assert children_of(os.getpid()) == [] or zombies_only()
    left = set(os.listdir(instance.directory))
    assert left - {"server.log"} == {"last.json", "launcher.log", "lock"}  # that one if any came to say something
    assert "removed " not in instance.log() and "left over" not in instance.log()


def zombies_only():
    return IS_WINDOWS or set(zombies_below(os.getpid())) == set(children_of(os.getpid()))


def test_D4_twenty_stops_in_the_middle_of_a_start(state_dir, tmp_path):
    """Stopped again and again from the moment of the launch, so at one step or another of it. Wine asks nobody to end
    who has just begun, so that the grace passes."""
    instance = Instance(state_dir)
    for i in range(20):
        words = ["--never-ready"] if i % 2 else ["--ready-after-ms", str(i)]
        with Process(instance.argv("launch", "--stop-grace-ms", "300", "--", SERVER, *words), instance.env) as launch:
            while launch.popen.poll() is None:
                assert instance.cli("stop", "--force").status in (0, 5)
            launch.wait()
            result = json.loads(launch.output)
            assert launch.popen.returncode == result["code"]
            if result["result"] == "failed":
                assert "ended before it was ready" in result["message"]
                wait_gone(result["daemon_pid"])
            else:
                assert instance.cli("stop").status in (0, 5)
                wait_gone(result["daemon_pid"])
        assert instance.ports_are_free() and zombies_only()
    left = set(os.listdir(instance.directory))
    assert left - {"server.log"} == {"last.json", "launcher.log", "lock"}  # that one if any came to say something


def test_D4_fds_do_not_grow_with_restarts(state_dir):
    instance = Instance(state_dir)
    with instance.run() as run:
        run.expect("server ready")
        with instance.control() as control:
            control.hello(role="cli")
            counts = []
            for i in range(15):
                assert instance.cli("restart").status == 0
                for _ in range(3):  # the command's own connection is gone after a turn of the loop
                    control.request("status")
                counts.append(system.open_count(run.pid))
            assert len(set(counts[1:])) == 1, counts
        run.kill(signal.SIGTERM)
        assert run.wait() == 0
