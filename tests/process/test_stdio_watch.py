"""K3: `tether mcp -- COMMAND` watches a stdio server that a client has started: its tree, its parent, its log."""
import json
import select
import signal
import subprocess

import pytest

import on_linux
from front import Front
from harness import IS_WINDOWS, LIMIT, TETHER, Process, kill, run, system, wait_gone
from tether import Instance

# As what the server ends is passed on: by being killed, by being asked to end (Wine then often says that all went
# well), and by us after the grace.
KILLED, ASKED, LATE = ([9], [0xC000013A, 0], [1]) if IS_WINDOWS else ([137], [143], [137])


def watch(*command, options=()):
    """Runs a program of the shell's under our eyes, to its end."""
    return run([TETHER, "mcp", *options, "--", *system.command(command)])


def request_of(name, ident, **arguments):
    message = {"jsonrpc": "2.0", "id": ident, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return json.dumps(message).encode() + b"\n"


class Watched(Process):
    """A client that has started its server by way of us."""

    def __init__(self, *words, options=(), env=None, wrap=None, **more):
        argv = [TETHER, "mcp", *options, "--", *system.STDIO_STUB, *words]
        super().__init__(wrap(argv) if wrap else argv, env, stdin=subprocess.PIPE, **more)
        self.last = 0

    def call(self, name, **arguments):
        self.last += 1
        self.popen.stdin.write(request_of(name, self.last, **arguments))
        self.popen.stdin.flush()
        found = self.expect(r'^({.*"id": %d.*})$' % self.last)
        return json.loads(found.group(1))["result"]["content"][0]["text"]


def test_K3_nothing_stands_between_client_and_server():
    with Watched() as client:
        assert client.call("echo", text="ä€🎈") == "ä€🎈"
        assert len(client.call("huge", size=1 << 20)) == 1 << 20
        client.popen.stdin.close()
        client.expect("end of input")
        assert client.wait() == 0


def test_K3_what_the_server_closes_is_closed():
    """Its client sees the end of the output, though server and watcher live on."""
    argv = [TETHER, "mcp", "--", *system.STDIO_STUB]
    with system.popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as client:
        client.stdin.write(request_of("close_output", 1))
        client.stdin.flush()
        ended = select.select([client.stdout], [], [], LIMIT)[0]
        try:
            assert ended and client.stdout.read(1) == b""
            assert client.poll() is None
        finally:
            client.terminate()
            assert client.wait(LIMIT) in ASKED


def test_K3_what_it_started_ends_with_it():
    """However it tries to get away; and its exit code is passed on."""
    with Watched() as client:
        child, pid = int(client.call("spawn")), int(client.call("pid"))
        kill(pid)
        assert client.wait() in KILLED
        wait_gone(child)
    assert watch("sh", "-c", "exit 42").status == 42


@pytest.mark.parametrize("whom", ["watcher", "guard"])
def test_K3_whoever_is_killed_nothing_is_left(whom):
    with Watched() as client:
        child, pid = int(client.call("spawn")), int(client.call("pid"))
        below = system.descendants_of(client.pid)
        assert {child, pid} <= set(below)
        kill(client.pid if whom == "watcher" else below[0])
        client.wait()
        for one in below:
            wait_gone(one)


@pytest.mark.parametrize("words", [[], ["--deaf"]], ids=["obeys", "does not"])
def test_K3_B1_it_ends_with_its_client_though_the_input_stays_open(words):
    """The parent is killed, and somebody else still holds the pipe: no signal, no end of input."""
    with Watched(*words, options=["--stop-grace-ms", "300"], wrap=system.parent) as client:
        watcher = system.Adopted(int(client.expect(r"^started (\d+)$").group(1)))
        child, pid = int(client.call("spawn")), int(client.call("pid"))
        kill(client.pid)
        for one in (pid, child):
            wait_gone(one)
        watcher.wait()


def test_K3_B2_it_stays_if_that_is_turned_off():
    with Watched(env={"TETHER_PARENT_WATCHDOG": "off"}, wrap=system.parent) as client:
        watcher = system.Adopted(int(client.expect(r"^started (\d+)$").group(1)))
        pid = int(client.call("pid"))
        kill(client.pid)
        wait_gone(client.pid)
        client.last += 1
        assert int(client.call("pid")) == pid  # the input is still there, and the server answers
        client.popen.stdin.close()
        watcher.wait()


@pytest.mark.parametrize("words", [[], ["--deaf"]], ids=["obeys", "does not"])
def test_K3_B3_a_signal_ends_it_in_order(words):
    with Watched(*words, options=["--stop-grace-ms", "300"]) as client:
        child, pid = int(client.call("spawn")), int(client.call("pid"))
        client.kill(signal.SIGTERM)
        assert client.wait() in (LATE if words else ASKED)
        for one in (pid, child):
            wait_gone(one)


def test_K3_a_variable_shares_it_as_the_word_does(state_dir):
    """What an option says its variable says, too: with TETHER_STDIO two clients of `tether mcp -- COMMAND` have one."""
    with Instance(state_dir) as instance:
        argv = instance.argv("mcp", *instance.options, "--", *system.command(on_linux.STDIO_STUB))
        env = dict(instance.env, TETHER_STDIO="on")
        with Front(argv, env) as one, Front(argv, env) as other:
            for client in (one, other):
                client.initialize()
            first, second = (client.call("pid")["result"]["content"] for client in (one, other))
            assert first == second


def test_K3_what_cannot_be_started_is_told():
    done = watch("/no/such/server")
    assert done.status == 1
    assert "cannot start /no/such/server: " + system.CANNOT_START["missing"] in done.output


def test_K3_the_log_has_what_it_wrote_to_standard_error(tmp_path):
    """With the time, the beginning and the end; the client gets it, too."""
    log = tmp_path / "server.log"
    with Watched(options=["--log", system.native(log)]) as client:
        client.expect("^stub ")
        client.call("echo", text="a")
        client.popen.stdin.close()
        client.expect("end of input")
        assert client.wait() == 0
    lines = log.read_text().splitlines()
    assert all(line[:2] == "20" and line[19] == "Z" for line in lines)
    text = [line[21:] for line in lines]
    assert " runs as process " in text[0] and text[1].startswith("stub ")
    assert text[-2:] == ["end of input", "the server ended with exit code 0"]


def test_K3_a_log_that_is_large_begins_anew(tmp_path):
    log = tmp_path / "server.log"
    log.write_bytes(b"x" * (1 << 20) + b"y")
    assert watch("sh", "-c", "echo new >&2", options=["--log", system.native(log)]).status == 0
    assert (tmp_path / "server.log.1").stat().st_size == (1 << 20) + 1
    assert "new" in log.read_text() and len(log.read_text()) < 1000


def test_K3_a_client_that_reads_no_errors_stops_nothing(tmp_path):
    """Without a reader of standard error a pipe is full after 64 kB; with a log it never is."""
    size = 1 << (23 if IS_WINDOWS else 20)  # the connection behind a pipe of Windows keeps more than one would think
    argv = [TETHER, "mcp", "--log", system.native(tmp_path / "log"), "--", *system.STDIO_STUB]
    call = request_of("noise", 1, size=size)
    with system.popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as client:
        for _ in range(3):
            client.stdin.write(call)
            client.stdin.flush()
            assert b"noisy" in client.stdout.readline()
        client.stdin.close()
        assert client.wait(LIMIT) == 0
    assert (tmp_path / "log").stat().st_size > 3 * size


def test_K3_a_log_that_cannot_be_written_is_told():
    done = watch("true", options=["--log", "/no/such/folder/log"])
    assert done.status == 1 and "cannot write the log /no/such/folder/log" in done.output and "--log" in done.output
