"""How `tether mcp` ends: with its client, in order, and with nobody left waiting. Rows B1 to B4, F2."""
import json
import os
import signal
import subprocess
import sys

import pytest

from clients import in_namespace, wait_for, watch
from front import MODERN, STUB, Front, Scene
from harness import Process, children_of, kill, system, wait_gone
from scene import cpu_seconds, wait_asleep, wakeups

INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
SAY = 'printf "%s\\n" "$0"; exec sleep 1000'


@pytest.fixture
def scene(state_dir):
    with Scene(state_dir) as made:
        yield made


class Family:
    """Grandparent (the test), parent, and `tether mcp`; its stdin stays open when the parent dies."""

    def __init__(self, scene, env=None, *options):
        instance = scene.instance
        argv = instance.argv("mcp", "--grace-ms", "60000", *options, "--transport", "http", "--", *system.command(STUB))
        self.instance = instance
        self.parent = Process(system.parent(argv), dict(scene.env, **(env or {})),
                              stdin=subprocess.PIPE)
        self.adopted = system.Adopted(int(self.parent.expect(r"^started (\d+)$").group(1)))
        self.front = self.adopted.pid
        self.say(INITIALIZE)
        self.parent.expect('"serverInfo"')
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def say(self, message):
        self.parent.popen.stdin.write(json.dumps(message).encode() + b"\n")
        self.parent.popen.stdin.flush()

    def record(self):
        return os.path.join(self.instance.directory, "sessions", "%d.json" % self.front)

    def kill_parent(self):
        kill(self.parent.pid)
        wait_gone(self.parent.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.adopted.is_there():
            kill(self.front, signal.SIGTERM)
            wait_gone(self.front)
        self.parent.popen.stdin.close()
        self.parent.stop()


@pytest.mark.parametrize("value", [None, "on", "1", "OFF", ""])
def test_B1_B2_B3_it_ends_in_order_when_its_parent_dies_while_stdin_stays_open(scene, value):
    with Family(scene, {} if value is None else {"TETHER_PARENT_WATCHDOG": value}) as family:
        with watch(scene.instance) as control:
            wait_for(control, lambda state: state["sessions"] and os.path.exists(family.record()))
            call = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "hang"}}
            family.say(call)
            scene.observer.expect_call("tools/call")
            family.kill_parent()
            assert family.adopted.wait() == 0
            wait_for(control, lambda state: state["sessions"] == [])
        assert not os.path.exists(family.record())
        scene.observer.expect(event="request", method="DELETE")
        family.parent.expect('"id":9,"error"')


@pytest.mark.parametrize("value", ["off", "0", "false"])
def test_B2_the_watchdog_can_be_turned_off(scene, value):
    with Family(scene, {"TETHER_PARENT_WATCHDOG": value}) as family:
        family.kill_parent()
        for number in range(10, 13):
            family.say({"jsonrpc": "2.0", "id": number, "method": "ping"})
            family.parent.expect('"id": %d' % number)
        kill(family.front, signal.SIGTERM)
        assert family.adopted.wait() == 0
        assert not os.path.exists(family.record())


def test_B4_under_a_parent_that_is_process_1_it_does_not_end_itself(scene):
    """Already orphaned when it starts: the real parent ends before tether begins."""
    words = in_namespace("--pid", "--fork", "--kill-child", "--mount-proc")
    if not words:
        pytest.skip("no pid namespaces here")
    orphan = '(sh -c \'read _; exec "$@"\' sh "$@" <&3 &); echo orphaned; exec sleep 1000'
    argv = scene.instance.argv("mcp", "--transport", "http", "--", *STUB)
    with Process(words + ["sh", "-c", "exec 3<&0; " + orphan, "sh"] + argv, scene.env,
                 stdin=subprocess.PIPE) as init:
        init.expect("^orphaned$")

        def say(message):
            init.popen.stdin.write(message + b"\n")
            init.popen.stdin.flush()
        say(b"")
        say(json.dumps(INITIALIZE).encode())
        init.expect('"serverInfo"')
        for number in range(2, 5):
            say(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}' % number)
            init.expect('"id": %d' % number)
        init.popen.stdin.close()
        scene.observer.expect(event="request", method="DELETE")
        kill(children_of(init.pid)[0])
        init.wait()


def test_B4_as_process_1_it_does_not_end_itself_and_obeys_sigterm(scene):
    words = in_namespace("--pid", "--fork", "--kill-child", "--mount-proc")
    if not words:
        pytest.skip("no pid namespaces here")
    with Process(words + scene.instance.argv("mcp", "--transport", "http", "--", *STUB), scene.env, stdin=subprocess.PIPE) as front:
        front.popen.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        front.popen.stdin.flush()
        front.expect('"serverInfo"')
        kill(children_of(front.pid)[0], signal.SIGTERM)
        assert front.wait() == 0
        front.popen.stdin.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_B3_a_signal_answers_what_is_in_flight_and_leaves(scene, number):
    front = scene.start("--grace-ms", "60000")
    front.initialize()
    hanging = front.begin_call("hang")
    front.notification("notifications/progress")
    front.kill(number)
    assert "asked to end" in front.answer(hanging)["error"]["message"]
    assert front.wait() == 0
    scene.observer.expect(event="request", method="DELETE")
    assert scene.status()["sessions"] == []
    assert os.listdir(os.path.join(scene.instance.directory, "sessions")) == []


def test_the_end_of_input_lets_what_is_in_flight_finish(scene):
    front = scene.start()
    front.initialize()
    slow = front.begin_call("wait", seconds=0.5)
    front.end_input()
    assert "result" in front.answer(slow)
    assert front.wait() == 0


def test_the_end_of_input_does_not_wait_for_ever(scene):
    front = scene.start("--stop-grace-ms", "300")
    front.initialize()
    listening = front.begin_call("hang")
    front.notification("notifications/progress")
    front.end_input()
    assert "closed its side" in front.answer(listening)["error"]["message"]
    assert front.wait() == 0


def test_everything_may_be_said_before_the_server_is_up(scene):
    """As from a shell's pipe, or a file."""
    lines = [INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"},
             {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, {"jsonrpc": "2.0", "id": 3, "method": "ping"}]
    text = "\n".join(json.dumps(line) for line in lines)
    path = os.path.join(scene.instance.state_dir, "input")
    with open(path, "w") as file:
        file.write(text)
    with open(path) as file:
        done = scene.instance.cli("mcp", "--grace-ms", "0", "--transport", "http", "--", *system.command(STUB), env=scene.env, stdin=file)
    answers = [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]
    assert sorted(answer["id"] for answer in answers) == [1, 2, 3] and done.status == 0
    order = [scene.observer.expect(event="request")["body"] for _ in range(2)]
    assert "initialize" in order[0] and "notifications/initialized" in order[1]


def test_a_client_that_is_gone_without_a_word_ends_it(scene):
    front = scene.start()
    front.initialize()
    front.popen.stdin.close()
    assert front.wait() == 0


def test_a_client_that_closes_only_its_ears_ends_it(scene):
    front = scene.start(reading=False)
    front.popen.stdout.close()
    front.send(id=1, method="ping")
    wait_gone(front.pid)
    front.popen.wait()
    front.popen.stdout = open(os.devnull, "rb")


def test_it_ends_while_the_server_starts(scene):
    scene.make_deaf()
    front = scene.start()
    request = front.begin("ping")
    scene.observer.expect(event="start")
    front.kill(signal.SIGTERM)
    assert "error" in front.answer(request)
    assert front.wait() == 0


def test_F2_at_rest_it_does_not_wake_up(scene):
    front = scene.start()
    front.initialize()
    scene.observer.expect(event="stream")
    front.ask("ping")

    wait_asleep(front.pid)
    before = wakeups(front.pid)
    with pytest.raises(AssertionError):
        front.wait_for(lambda m: False, limit=3)
    assert wakeups(front.pid) - before <= 1


def test_F2_while_the_server_is_away_it_does_not_spin(scene):
    front = scene.start()
    front.initialize()
    scene.observer.expect(event="stream")
    listening = front.begin("subscriptions/listen", MODERN)
    waiting = front.begin_call("hang")
    scene.make_deaf()
    front.notification("notifications/progress")
    kill(scene.status()["server"]["pid"])
    assert "error" in front.answer(waiting)
    scene.observer.expect(event="start")
    request = front.begin("ping")

    before = cpu_seconds(front.pid)
    with pytest.raises(AssertionError):
        front.wait_for(lambda m: m.get("id") in (listening, request), limit=2)
    assert cpu_seconds(front.pid) - before <= 0.05


def test_a_long_stdout_line_is_whole_whatever_the_pipe_takes(scene):
    front = scene.start()
    front.initialize()
    text = "ü" * (1 << 20)
    calls = [front.begin_call("echo", x=text) for _ in range(6)]
    for call in calls:
        assert len(front.answer(call)["result"]["content"][0]["text"]) > 1 << 20
    assert sys.getsizeof(front.raw[-1]) > 1 << 20 and isinstance(front, Front)
