"""A start that takes its time: it is shown, it can be called off, and how it fails is told once. Rows A1, D1, E6."""
import time

import pytest

from harness import TETHER, Process, run, system, wait_gone
from plugin_scene import shared_scene
from scene import Fifo, is_alive, kill, wait_until
from tether import SERVER
from test_server import STEADY

SOON = 10.0  # seconds; the starts that are called off here would take a minute
SLOW = 'echo warming up; read word <"$1"; exec "$2"'  # until it is told to go on


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    yield from shared_scene(str(tmp_path_factory.mktemp("scene")))


class Gate:
    """What a slow server waits for."""

    def __init__(self, path):
        self.fifo = Fifo(path)

    @property
    def command(self):
        return system.command(["/bin/sh", "-c", SLOW, "slow", self.fifo.path, SERVER])

    def open(self):
        with open(self.fifo.path, "w") as file:
            file.write("go\n")


@pytest.fixture
def gate(tmp_path):
    made = Gate(tmp_path / "gate")
    yield made
    made.fifo.close()


def slow(scene, name, gate, **properties):
    return scene.server(name, command=gate.command, ready_timeout_ms=60000, **properties)


def begin(server):
    """Starts it and waits until it is in the middle of that."""
    server.do("start")
    server.expect("log", line="warming up")


def launch_words(server, *words):
    return [TETHER, words[0], "--http-port", str(server.http), "--ws-port", str(server.ws)] + list(words[1:])


def is_gone(scene, server):
    return run(launch_words(server, "status"), {"TETHER_STATE_DIR": scene.state_dir}).status == 5


def failures(server):
    return [event for event in server.scene.link.events
            if event.get("server") == server.name and event["event"] == "failed"]


# ---- a start that is watched ---------------------------------------------------------------------

def test_A1_D1_a_start_is_shown_with_its_log_before_the_server_is_ready(scene, gate):
    server = slow(scene, "watched", gate)
    server.do("start")
    assert server.expect("log", line="warming up")["stream"] == "stdout"
    assert server.call("get_state") == "starting" and "ready" not in server.states()
    status = server.status()
    assert status["state"] == "starting" and len(status["sessions"]) == 1 and status["owner"]["pid"] == scene.pid
    gate.open()
    server.wait_state("ready")
    assert server.states(with_starting=True) == ["launching", "starting", "ready"]
    assert "warming up" in server.call("get_log", 10) and failures(server) == []
    server.stop()


def test_A1_a_start_of_somebody_else_is_joined_and_shown(scene, gate):
    server = slow(scene, "joined", gate)
    with Process(launch_words(server, "launch", "--ready-timeout-ms", "60000", "--") + gate.command,
                 {"TETHER_STATE_DIR": scene.state_dir}) as launch:
        wait_until(lambda: not is_gone(scene, server), "the daemon listens")
        server.do("start")
        server.expect("log", line="warming up")
        assert server.call("get_state") == "starting"
        gate.open()
        server.expect("adopted")
        scene.run(STEADY % (server.reach, "ready"))
        assert launch.wait() == 0
    assert server.status()["sessions"][0]["pid"] == scene.pid and len(server.status()["sessions"]) == 1
    server.stop()


# ---- a start that is called off ------------------------------------------------------------------

def test_E6_a_stop_ends_a_start_at_once_and_is_no_failure(scene, gate):
    server = slow(scene, "called off", gate)
    begin(server)
    daemon, began = server.daemon_pid(), time.monotonic()
    server.do("stop")
    server.wait_state("stopped")
    wait_gone(daemon)
    assert time.monotonic() - began < SOON
    assert server.states(with_starting=True) == ["launching", "starting", "stopping", "stopped"]
    assert failures(server) == [] and server.status()["message"] == ""
    assert server.ports_are_free() and is_gone(scene, server)
    server.set(command=[SERVER])  # and it is as good as new
    server.start()
    server.stop()


def test_E6_a_stop_before_anybody_listens_ends_the_start_as_soon_as_somebody_does(scene, gate):
    server = slow(scene, "at once", gate)
    began = time.monotonic()
    scene.run("%s.start()\n%s.stop()" % (server.reach, server.reach))
    server.wait_state("stopped")
    wait_until(lambda: is_gone(scene, server), "nothing runs")
    assert time.monotonic() - began < SOON and failures(server) == [] and "ready" not in server.states()
    assert server.ports_are_free()


def test_E6_a_start_after_that_counts_again(scene, gate):
    server = slow(scene, "again", gate)
    begin(server)
    daemon = server.daemon_pid()
    server.set(command=[SERVER])
    scene.run("%s.stop()\n%s.start()" % (server.reach, server.reach))
    server.wait_state("ready")
    wait_gone(daemon)
    assert server.daemon_pid() != daemon and failures(server) == []
    server.stop()


def test_F8_a_restart_in_the_middle_of_a_start_takes_the_properties_of_now(scene, gate):
    server = slow(scene, "renewed", gate)
    begin(server)
    daemon = server.daemon_pid()
    server.set(command=[SERVER])
    server.do("restart")
    server.wait_state("ready")
    wait_gone(daemon)
    assert server.daemon_pid() != daemon and failures(server) == []
    server.stop()


def test_A10_a_plugin_that_goes_in_the_middle_of_a_start_takes_the_server_along(scene, gate):
    server = slow(scene, "dropped", gate)
    begin(server)
    daemon, began = server.daemon_pid(), time.monotonic()
    scene.run('driver.servers.erase("dropped")')
    wait_gone(daemon)
    assert time.monotonic() - began < SOON and server.ports_are_free()


# ---- a start that fails --------------------------------------------------------------------------

FAILURES = {"missing": (1, ["/no/such/server"], {}),
            "ends at once": (1, [SERVER, "--exit", "7"], {"restart_policy": "never"}),
            "crashes": (1, ["/bin/sh", "-c", "exit 7"], {}),
            "not ready": (4, [SERVER, "--never-ready"], {"ready_timeout_ms": 300}),
            "not ready and stubborn": (4, [SERVER, "--never-ready", "--ignore-term"],
                                       {"ready_timeout_ms": 300, "stop_grace_ms": 300})}


@pytest.mark.parametrize("how", FAILURES)
def test_E6_a_start_that_fails_is_told_once_when_nothing_is_left_of_it(scene, how):
    code, command, properties = FAILURES[how]
    server = scene.server(how, command=command, **properties)
    server.do("start")
    failed = server.expect("failed")
    server.wait_state("failed")
    assert server.ports_are_free()
    assert [state for state in server.states() if state != "backoff"] == ["launching", "failed"]
    assert failed["code"] == code and failures(server) == [failed], failed
    assert server.status()["code"] == code and server.status()["message"] == failed["message"]
    wait_until(lambda: is_gone(scene, server), "nothing runs")
    assert failures(server) == [failed]


def test_E6_a_daemon_that_dies_during_the_start_is_a_failure(scene, gate):
    server = slow(scene, "killed", gate)
    begin(server)
    status = server.status()
    kill(status["daemon"]["pid"])
    assert server.expect("failed")["code"] == 1
    server.wait_state("failed")
    if status["guard"]:
        wait_gone(status["guard"]["pid"])
    assert not is_alive(status["daemon"]["pid"]) and len(failures(server)) == 1
