"""The extension's session with the launcher, without the engine: orders in any order, daemons that die or
hang, and an end that never takes long. Rows A1, A10, E6."""
import json
import os
import random
import re
import signal

import pytest

from client_drive import Drive
from fake_daemon import FakeDaemon
from harness import TETHER, kill, system, wait_gone
from mcp import BuiltIn
from scene import wait_until
from tether import SERVER, Instance

HURRIED_MS = 5000  # for an end in a hurry; 300 are given to the last word, the rest is a busy machine's
STATES = {"launching", "starting", "ready", "backoff", "stopping", "stopped", "failed", "blocked", "lost"}


@pytest.fixture
def instance(state_dir):
    with Instance(state_dir) as made:
        yield made


def daemon_of(drive):
    found = re.findall(r'"daemon":\{"pid":(\d+)', drive.output)
    return int(found[-1]) if found else 0


def send(pid, number):
    try:
        kill(pid, number)
    except ProcessLookupError:
        pass


ORDERS = ["start", "start", "start", "stop", "force", "restart", "setup", "activate", "offer"]


def go_through_it(drive, dice):
    """One client's life, from its start to its end in a hurry."""
    drive.tell("new", "start")
    if dice.random() < 0.3:
        drive.state("ready", "failed")
    for _ in range(dice.randrange(12)):
        drive.tell(*dice.choices(ORDERS, k=dice.randrange(1, 4)))
        drive.tell(dice.choice(["nap", "sleep"]) + " %d" % dice.choice([0, 0, 1, 5, 30, 80]))
        if dice.random() < 0.15:
            drive.files()  # all orders so far have been given
            if daemon_of(drive):
                send(daemon_of(drive), signal.SIGKILL)
    if dice.random() < 0.5:
        drive.tell("leave " + dice.choice(["disable", "reload", "restart", "-"]), "nap %d" % dice.choice([0, 3, 50]))
    drive.tell("hurry " + dice.choice(["quit", "disable", "reload", "-"]))
    assert drive.destroy() < HURRIED_MS


COMMANDS = [(), (SERVER,), (SERVER, "--ready-after-ms", "60")]  # the built-in one, a quick one, a slow one


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
def test_E6_orders_in_any_order_while_the_daemon_is_killed_now_and_then(instance, seed):
    """Whatever was going on, the end in a hurry comes soon; no file stays open; and it works afterwards."""
    dice = random.Random(seed)
    with Drive(instance, command=COMMANDS[seed % 3]) as drive:
        files = drive.files_at_rest()
        for _ in range(12):
            go_through_it(drive, dice)
        assert drive.files() == files
        drive.tell("new", "start")
        assert drive.state("ready", "failed", "blocked") == "ready"
        drive.tell("force")
        drive.state("stopped")
        drive.tell("hurry quit")
        drive.destroy()
        assert drive.files() == files
        assert set(re.findall(r"^state (\S+)", drive.output, re.MULTILINE)) <= STATES
        drive.end()


def test_A10_the_end_comes_soon_when_the_daemon_does_not_answer(instance):
    """Stopped while connected, while being connected to, and a launch that hangs."""
    with Drive(instance) as drive:
        drive.tell("new", "start")
        drive.state("ready")
        daemon = daemon_of(drive)
        send(daemon, signal.SIGSTOP)
        drive.tell("hurry quit")
        assert drive.destroy() < HURRIED_MS
        drive.tell("new", "start")
        drive.state("launching")
        drive.tell("nap 50", "hurry quit")
        assert drive.destroy() < HURRIED_MS
        send(daemon, signal.SIGCONT)
        drive.tell("new", "start")
        drive.state("ready")
        drive.tell("force")
        drive.state("stopped")
        wait_gone(daemon)
        drive.tell("hurry -")
        drive.destroy()
        drive.end()


@pytest.mark.parametrize("hangs", ["exec sleep 1000", "exec >&-; exec sleep 1000"])
def test_A10_a_launch_that_hangs_is_ended(instance, tmp_path, hangs):
    with Drive(instance, program=system.script(str(tmp_path / "hangs"), hangs + "\n")) as drive:
        drive.tell("new", "start")
        drive.state("launching")
        drive.tell("nap 30", "hurry quit")
        assert drive.destroy() < HURRIED_MS
        drive.end()


SAID = '{"result":"failed","code":1,"message":"said in the end"}'


@pytest.mark.parametrize("says, told", [("printf '%s'" % SAID, "said in the end"), ("exit 0", ".*without a word.*")],
                         ids=["a result", "nothing"])
def test_E6_a_launch_has_ended_though_its_output_is_held_open(instance, tmp_path, says, told):
    """By a program that another thread of the editor has started in that moment, and that has inherited it."""
    held = tmp_path / "held"
    program = system.script(str(tmp_path / "launcher"), "sleep 1000 &\necho $! >%s\n%s\n" % (held, says))
    with Drive(instance, program=program) as drive:
        try:
            drive.tell("new", "start")
            drive.next(r"failed -?\d+ (%s)" % told)
        finally:
            os.kill(int(held.read_text()), signal.SIGKILL)
        drive.tell("hurry quit")
        drive.destroy()
        drive.end()


def test_E6_a_stop_while_the_daemon_is_looked_for_is_the_end(instance, tmp_path):
    """It is not looked for again, or even started, for nothing but to be stopped."""
    mark = tmp_path / "gone"
    program = system.script(str(tmp_path / "launcher"), 'test ! -e %s || exit 1\nexec %s "$@"\n' % (mark, TETHER))
    with Drive(instance, program=program) as drive:
        drive.tell("new", "start")
        drive.state("ready")
        mark.touch()
        send(daemon_of(drive), signal.SIGKILL)
        drive.state("lost")
        drive.tell("stop")
        assert drive.state("stopped", "failed", "ready") == "stopped"
        mark.unlink()
        drive.tell("start")
        assert drive.next(r"state (\S+) .*").group(1) == "launching"
        drive.state("ready")
        drive.tell("hurry quit")
        drive.destroy()
        drive.end()


REFUSAL = {"type": "error", "code": "protocol", "message": "this daemon speaks protocol 7"}


def connect(daemon, drive):
    drive.tell("new", "start")
    daemon.be_adopted()
    daemon.accept()


def test_A10_one_that_is_refused_while_it_leaves_is_gone(instance):
    """The daemon speaks another protocol, as one of a later release may: there is nobody to take leave of."""
    with FakeDaemon(instance) as daemon, Drive(instance) as drive:
        connect(daemon, drive)
        drive.tell("leave disable", "nap 50")
        drive.files()
        daemon.say(**REFUSAL)
        assert drive.destroy() < HURRIED_MS
        drive.end()


def test_E6_one_that_is_refused_says_so_once(instance):
    with FakeDaemon(instance) as daemon, Drive(instance) as drive:
        connect(daemon, drive)
        daemon.say(**REFUSAL)
        assert drive.next(r"failed (\d+) (.*)").groups() == ("1", REFUSAL["message"])
        drive.state("failed")
        drive.tell("hurry quit")
        drive.destroy()
        drive.end()


def test_E6_a_stop_is_not_forgotten_when_the_daemon_ends_by_itself(instance):
    with FakeDaemon(instance) as daemon, Drive(instance) as drive:
        connect(daemon, drive)
        drive.tell("stop", "nap 50")
        drive.files()
        daemon.say(type="error", code="stopping", message="this daemon is ending")
        daemon.hang_up()
        assert drive.state("stopped", "launching", "lost", "failed") == "stopped"
        drive.tell("hurry quit")
        drive.destroy()
        drive.end()


def adopt(daemon, drive):
    connect(daemon, drive)
    daemon.say(type="welcome", session="1", **daemon.state("ready"))
    daemon.hear("logs")
    drive.state("ready")


def test_E6_of_several_stops_the_last_ones_answer_counts(instance):
    """A daemon that does what the second asks for may have refused the first, and may end without a word."""
    with FakeDaemon(instance) as daemon, Drive(instance) as drive:
        adopt(daemon, drive)
        drive.tell("stop", "force")
        first, second = daemon.hear("stop"), daemon.hear("stop")
        assert (first["force"], second["force"]) == (False, True)
        daemon.say(id=first["id"], ok=False, code="in-use", message="others use it")
        daemon.hang_up()
        assert drive.state("stopped", "launching", "lost", "failed") == "stopped"
        assert "refused" not in drive.output
        drive.tell("hurry quit")
        drive.destroy()
        drive.end()


def test_E6_a_restart_of_what_is_ending_starts_it_afresh(instance):
    with FakeDaemon(instance) as daemon, Drive(instance) as drive:
        adopt(daemon, drive)
        drive.tell("restart")
        daemon.say(id=daemon.hear("restart")["id"], ok=False, code="stopping", message="this daemon is ending")
        daemon.hang_up()
        assert drive.state("stopped", "launching", "lost", "failed") == "launching"
        assert "refused" not in drive.output
        drive.tell("hurry quit")
        drive.destroy()
        drive.end()


ONCE = """printf '%%s\\n' '%(listening)s'
if test -e %(mark)s; then exec sleep 1000; fi
: >%(mark)s
echo '{"result":"failed","code":1,"message":"not today"}'
"""


def test_E6_a_start_that_failed_does_not_end_the_next_one(instance, tmp_path):
    """Launch gives up, and then the daemon refuses the session: that is one failure, and it is over with it."""
    with FakeDaemon(instance) as daemon:
        program = system.script(str(tmp_path / "launcher"), ONCE % {
            "listening": json.dumps({"listening": instance.endpoint}), "mark": tmp_path / "mark"})
        with Drive(instance, program=program) as drive:
            drive.tell("new", "start")
            daemon.accept()
            drive.tell("nap 50")
            drive.files()
            daemon.say(**REFUSAL)
            assert drive.next(r"failed (\d+) (.*)").groups() == ("1", "not today")
            drive.state("failed")
            drive.tell("start")
            daemon.welcome("ready")
            daemon.hear("logs")
            drive.state("ready")
            drive.tell("restart")
            daemon.hear("restart")
            drive.tell("hurry quit")
            drive.destroy()
            drive.end()


def test_F7_whatever_a_tool_returns_the_call_is_answered(state_dir):
    """Also a NUL in its arguments, and a result that is larger than a message may be."""
    with BuiltIn(state_dir) as instance, Drive(instance, command=()) as drive:
        drive.tell("new", "start", "offer")
        drive.next("bridge connected")
        wait_until(lambda: "echo" in json.dumps(instance.modern("tools/list")[2]), "the tool is listed")
        for arguments in ({"a": "x\0y"}, {"a": [1, 2.5, None, {"b": "€"}]}):
            result = instance.modern("tools/call", {"name": "echo", "arguments": arguments})[2]["result"]
            assert json.loads(result["content"][0]["text"]) == arguments
        result = instance.modern("tools/call", {"name": "echo", "arguments": {"size": 33 << 20}})[2]["result"]
        assert result["isError"] and "32 MiB" in result["content"][0]["text"]
        drive.tell("hurry quit")
        drive.destroy()
        drive.end()


def test_one_that_adopts_another_command_logs_that(instance):
    instance.launch()
    with Drive(instance, command=[SERVER, "--notify"]) as drive:
        drive.tell("new", "start")
        drive.next(r"launcher adopted .*another command: '?%s'?;.*" % re.escape(SERVER))
        drive.tell("hurry quit")
        instance.cli("stop", "--force")
        drive.destroy()
        drive.end()
