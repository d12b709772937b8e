"""Memory that is out: each allocation of a program fails in turn, alone or with all that follow it.

Whatever a command can do without, it does; otherwise it says so and ends by itself. Row L5."""
import contextlib
import json
import os
import re
import signal

import pytest

from harness import Process, free_ports, kill, run, wait_gone
from scene import wait_until
from tether import SERVER, TETHER, Instance

PRELOAD = os.path.abspath(os.path.join(os.path.dirname(SERVER), "..", "preload", "failing_memory.so"))
THOROUGH = "TETHER_THOROUGH" in os.environ  # ./dev soak
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


@pytest.fixture(autouse=True)
def plain_program():
    if "TETHER_PROGRAM" in os.environ:
        pytest.skip("a sanitizer has allocations of its own")


class Failing:
    """The environment in which the `at`-th allocation of processes with that first word fails."""

    def __init__(self, folder, word, at, once):
        self.told = os.path.join(folder, "told-%s-%d" % (word, at))
        self.env = {"LD_PRELOAD": PRELOAD, "FAILING_MEMORY_AT": str(at), "FAILING_MEMORY_IN": word,
                    "FAILING_MEMORY_TOLD": self.told}
        if once:
            self.env["FAILING_MEMORY_ONCE"] = "1"

    def has_failed(self):
        return os.path.exists(self.told)


def walk(folder, word, once, each=1):
    """One after the other, until none of a program's allocations is left to fail. The first hundred one
    by one, then ever fewer of them."""
    at = 1
    while True:
        failing = Failing(str(folder), word, at, once)
        yield failing
        if not failing.has_failed():
            return
        at += each if THOROUGH or at < 100 else each * at // 15


def plain(text):
    """What is the same from run to run."""
    return re.sub(r"\d+", "N", text)


def check(done, usual, failing):
    """It did what it always does, or says why not."""
    where = "%s\n%s (status %d)" % (failing.env, done.output, done.status)
    assert done.status >= 0, "ended by a signal: " + where
    if not failing.has_failed():
        assert done.status == usual.status, where
    if done.status == usual.status and plain(done.output) == plain(usual.output):
        return
    assert done.status != 0 and "memory" in done.output, where


def walk_command(it, folder, once, command, *arguments):
    usual = it.cli(command, *arguments)
    for failing in walk(folder, command, once):
        check(it.cli(command, *arguments, env=failing.env, limit=15), usual, failing)


MODES = pytest.mark.parametrize("once", [False, True], ids=["from-then-on", "only-then"])
ALONE = [("version",), ("version", "--json"), ("help",), ("help", "launch"), ("status",), ("status", "--json"),
         ("stop",), ("restart",), ("logs",), ("doctor",), ("doctor", "--json"), ("sweep",)]


def test_L5_every_command_is_walked_through():
    """Those above and below; `launch` starts `daemon`, which nobody types."""
    known = set(re.findall(r"^  ([a-z]+) ", run([TETHER, "help"]).output, re.MULTILINE)) | {"daemon"}
    with open(__file__) as file:
        walked = {words[0] for words in ALONE} | set(re.findall(r'walk\(tmp_path, "([a-z]+)"', file.read()))
    assert len(known) == 14 and known == walked


@MODES
@pytest.mark.parametrize("words", ALONE, ids=" ".join)
def test_L5_commands_without_a_daemon(state_dir, tmp_path, words, once):
    it = Instance(state_dir)
    if words[0] not in ("version", "help"):
        walk_command(it, tmp_path, once, *words)
        return
    usual = run([TETHER, *words])
    for failing in walk(tmp_path, words[0], once):
        check(run([TETHER, *words], failing.env, limit=15), usual, failing)


@MODES
@pytest.mark.parametrize("words", [("status",), ("status", "--json"), ("logs",), ("doctor",), ("sweep",)], ids=" ".join)
def test_L5_commands_that_look_at_a_daemon(state_dir, tmp_path, words, once):
    with Instance(state_dir) as it:
        server = it.launch()["server_pid"]
        walk_command(it, tmp_path, once, *words)
        assert it.status()["server"]["pid"] == server


@MODES
@pytest.mark.parametrize("word", ["list", "show", "add", "remove"])
def test_L5_clients(tmp_path, word, once):
    """Of a client's file nothing is lost: it is as it was, or as it should be."""
    file = tmp_path / "game" / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    (tmp_path / "game" / "project.godot").write_text("")
    words = [TETHER, "clients", word] + ["cursor"] * (word != "list") + ["--project", str(tmp_path / "game")]
    file.write_text('{\n  "mcpServers": {\n    "other": {"url": "http://127.0.0.1:1"}\n  }\n}\n')
    if word == "remove":
        assert run([TETHER, "clients", "add"] + words[3:], {"HOME": str(tmp_path)}).status == 0
    before = file.read_text()
    usual = run(words, {"HOME": str(tmp_path)})
    after = file.read_text()
    assert usual.status == 0 and (before != after) == (word in ("add", "remove"))
    for failing in walk(tmp_path, "clients", once):
        file.write_text(before)
        done = run(words, {"HOME": str(tmp_path), **failing.env}, limit=15)
        check(done, usual, failing)
        assert file.read_text() == after or done.status != 0 and file.read_text() == before, failing.env


@MODES
def test_L5_restart_and_stop(state_dir, tmp_path, once):
    with Instance(state_dir) as it:
        it.launch()
        walk_command(it, tmp_path, once, "restart")
        usual = it.cli("stop")
        for failing in walk(tmp_path, "stop", once, each=3):
            if it.cli("status").status != 0:
                it.launch()
            check(it.cli("stop", env=failing.env, limit=15), usual, failing)


@MODES
def test_L5_launch(state_dir, tmp_path, once):
    """Its one line is there in any case, for whoever reads it."""
    with Instance(state_dir) as it:
        for failing in walk(tmp_path, "launch", once, each=2):
            result = it.launch(env=failing.env, limit=15)
            assert result["code"] == 0 or "memory" in result["message"], (failing.env, result)
            it.cli("stop")
            assert it.ports_are_free()


def end(it, has_memory):
    """By a request, perhaps by a second one if the first met the failing allocation. A daemon without any
    memory hears no requests, but ends its server all the same when it is told to by a signal."""
    if has_memory:
        assert it.cli("stop", "--force").status == 0 or it.cli("stop", "--force").status in (0, 5)
    else:
        kill(it.result["daemon_pid"], signal.SIGTERM)
    it.wait_end(15)


@MODES
def test_L5_a_daemon_that_starts(state_dir, tmp_path, once):
    with Instance(state_dir) as it:
        for failing in walk(tmp_path, "daemon", once, each=3):
            result = it.launch("--ready-timeout-ms", 1000, env=failing.env, limit=15)
            if result["code"] == 0:
                end(it, once)
            else:
                assert re.search("memory|not ready", result["message"]), (failing.env, result)
            wait_until(it.ports_are_free, "the ports are free: %s" % failing.env)


@MODES
def test_L5_run(state_dir, tmp_path, once):
    it = Instance(state_dir)
    for failing in walk(tmp_path, "run", once, each=3):
        with it.run("--ready-timeout-ms", 1000, env=failing.env) as process:
            try:
                process.expect("server ready", limit=15)
            except AssertionError:
                assert process.wait(15) > 0, (failing.env, process.output)
                assert re.search("memory|not ready", process.output), (failing.env, process.output)
                continue
            process.kill(signal.SIGTERM)
            assert process.wait(15) == 0, (failing.env, process.output)
        assert it.ports_are_free()


@MODES
def test_L5_serve(tmp_path, once):
    http, ws = free_ports()
    argv = [TETHER, "serve", "--http-port", str(http), "--ws-port", str(ws)]
    for failing in walk(tmp_path, "serve", once, each=2):
        with Process(argv, dict(failing.env, TETHER_WS_TOKEN="secret")) as process:
            try:
                process.expect("^tether serve: http", limit=15)
            except AssertionError:
                assert process.wait(15) > 0 and "memory" in process.output, (failing.env, process.output)
                continue
            process.kill(signal.SIGTERM)
            assert process.wait(15) == 0, (failing.env, process.output)


@MODES
def test_L5_mcp(state_dir, tmp_path, once):
    with Instance(state_dir) as it:
        it.launch(command=(TETHER, "serve", "--http-port", str(it.http), "--ws-port", str(it.ws)))
        for failing in walk(tmp_path, "mcp", once, each=3):
            read, write = os.pipe()
            with Process(it.argv("mcp"), dict(it.env, **failing.env), stdin=read) as front:
                os.close(read)
                with contextlib.suppress(BrokenPipeError), open(write, "wb", buffering=0) as stdin:
                    stdin.write(PING)
                status = front.wait(15)
                assert status >= 0, (failing.env, front.output)
                assert (status == 0 and '"id":1' in front.output) or "memory" in front.output, (failing.env, front.output)


def session_of(it):
    """A session of an editor that comes again if its connection is lost, as editors do."""
    for _ in range(5):
        control = it.control()
        try:
            if control.hello()["type"] == "welcome":
                return control
        except (EOFError, ConnectionError):
            pass
        control.close()
    raise AssertionError("no session")


def test_L5_a_daemon_that_runs_keeps_its_tree(state_dir, tmp_path):
    """Wherever memory is out for a moment, between its start and its end: the server lives on until it is
    stopped, and then nothing of it is left."""
    with Instance(state_dir) as it:
        for failing in walk(tmp_path, "daemon", True, each=2):
            result = it.launch(env=failing.env, limit=15)
            if result["code"] != 0:
                assert "memory" in result["message"], (failing.env, result)
                continue
            with session_of(it):
                done = it.cli("status", "--json")
                if done.status != 0:
                    done = it.cli("status", "--json")
                server = json.loads(done.output)["server"]
                assert server["pid"] == result["server_pid"] and server["restarts"] == 0, (failing.env, server)
                end(it, True)
            wait_gone(result["server_pid"], 15)
            assert it.ports_are_free(), failing.env
