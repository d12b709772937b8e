"""A launch that says where sessions can be held before the server is ready, as the editor asks for it; and how
a start ends that somebody has watched from its beginning."""
import json

import pytest

from harness import Process, system
from scene import Fifo, environment_of, wait_until
from tether import SERVER, Instance, can_bind

SLOW = ["/bin/sh", "-c", 'read word <"$1"; exec "$2"', "slow"]


@pytest.fixture
def gate(tmp_path):
    with Fifo(tmp_path / "gate") as made:
        yield made


def open_gate(gate):
    with open(gate.path, "w") as file:
        file.write("go\n")


def begin(one, *command, announce=True, options=()):
    return Process(one.argv("launch", *options, "--", *system.command(command)),
                   dict(one.env, **({"TETHER_ANNOUNCE": "1"} if announce else {})))


def lines_of(launch):
    assert launch.wait() is not None
    return [json.loads(line) for line in launch.output.splitlines()]


def test_a_launch_announces_the_daemon_if_asked_and_its_result_is_as_ever(state_dir, gate):
    with Instance(state_dir) as one, begin(one, *SLOW, gate.path, SERVER) as launch:
        path = json.loads(launch.expect(r"^\{.*\}$").group(0))["listening"]
        with one.control() as watcher:
            assert watcher.hello("cli")["state"] == "starting"
            assert path == one.endpoint
        with begin(one, SERVER) as second, begin(one, SERVER, announce=False) as third:
            assert json.loads(second.expect(r"^\{.*\}$").group(0)) == {"listening": path}
            open_gate(gate)
            results = [lines_of(process)[-1] for process in (launch, second, third)]
            assert third.output.count("\n") == 1  # the documented one line, for everybody else
        assert [result["result"] for result in results] == ["started", "adopted", "adopted"]
        assert {result["control"] for result in results} == {path}
        assert len(lines_of(launch)) == len(lines_of(second)) == 2
        assert "TETHER_ANNOUNCE" not in environment_of(results[0]["server_pid"])
        with begin(one, SERVER) as settled:
            assert [line["result"] for line in lines_of(settled)] == ["adopted"]


def test_a_start_that_cannot_even_begin_announces_nothing(state_dir):
    with Instance(state_dir) as one, Process([SERVER, "--http", str(one.http), "--ws", str(one.ws)]) as stranger:
        stranger.expect("server up")
        with begin(one, SERVER) as launch:
            assert [(line["result"], line["code"]) for line in lines_of(launch)] == [("failed", 3)]


def test_a_start_that_somebody_watches_fails_with_its_code_all_the_same(state_dir):
    """The session keeps the failed server's daemon, for the reason; launch says what happened, and at once."""
    with Instance(state_dir) as one, begin(one, SERVER, "--never-ready",
                                           options=("--ready-timeout-ms", "500")) as launch:
        launch.expect("listening")
        with one.control() as editor:
            editor.hello("editor")
            failed = editor.wait_state("failed")
            assert failed["server"]["failure"] == "not-ready"
            result = lines_of(launch)[-1]
            assert launch.wait() == result["code"] == 4 and result["result"] == "failed", result
            assert result["message"] == failed["server"]["reason"]
            assert editor.request("stop")["ok"]
            editor.wait_closed()
        wait_until(lambda: can_bind(one.http) and can_bind(one.ws), "free ports")
