"""Which command a server was started with: told by its state, by `status`, and to who wanted another."""
import json
import os
import shlex

from fake_daemon import FakeDaemon
from harness import IS_WINDOWS, TETHER, Process, system
from tether import SERVER, Instance, start_owner


SLEEP = ["sh", "-c", "exec sleep 1000", "sh"] if not IS_WINDOWS else system.IDLE  # and whatever words behind
OPTIONS = ["--ready", "none"]


def command_line(output):
    return [line for line in output.splitlines() if line.startswith("command ")][0][len("command   "):]


def test_the_state_and_the_record_tell_the_command_as_it_was_started(state_dir):
    odd = ["--", "it's \"odd\"", "", "a\x1b[31mb", b"\xff\n".decode(errors="surrogateescape"), "{http_port}"]
    with Instance(state_dir, *OPTIONS) as one:
        one.launch(command=SLEEP + odd)
        shown = SLEEP + ["--", "it's \"odd\"", "", "ab", "\ufffd\\x0a", str(one.http)]
        assert one.status()["server"]["command"] == shown
        with open(os.path.join(one.directory, "state.json")) as file:
            assert json.load(file)["server"]["command"] == shown


def test_status_shows_it_as_one_would_type_it_and_cut(state_dir):
    with Instance(state_dir, *OPTIONS) as one:
        one.launch(command=SLEEP + ["two words", "it's", ""])
        assert shlex.split(command_line(one.cli("status").output)) == SLEEP + ["two words", "it's", ""]
    with Instance(state_dir, *OPTIONS) as one:
        one.launch(command=SLEEP + ["ä" * 300])
        line = command_line(one.cli("status").output)
        assert len(line) == 200 and line.endswith("ää…")


def test_a_long_command_leaves_the_state_a_short_line(state_dir):
    with Instance(state_dir, *OPTIONS) as one:
        one.launch(command=SLEEP + ["\"" * 700] * 40 + ["\x01" * 100000])
        command = one.status()["server"]["command"]
        assert len(json.dumps(command, ensure_ascii=False, separators=(",", ":")).encode()) <= 2100
        assert command[:5] == SLEEP + ["\"" * 700] and command[-1].endswith("\"…")
    with Instance(state_dir, *OPTIONS) as one:
        one.launch(command=SLEEP + ["\x01" * 100000])
        assert one.status()["server"]["command"][-1].endswith("…")


def test_a_launch_that_adopts_another_command_says_so(state_dir):
    with Instance(state_dir, *OPTIONS) as one, start_owner() as owner:
        one.launch(command=SLEEP + ["two words"])
        other = one.launch("--owner-pid", owner.pid, command=["/no/such/server"])
        assert other["result"] == "adopted" and other["code"] == 0 and other["other_command"] is True
        assert "another command: %s;" % shlex.join(SLEEP + ["two words"]) in other["message"]
        assert "tether stop" in other["message"]
        builtin = json.loads(one.cli("launch").output)
        assert builtin["result"] == "adopted" and builtin["other_command"] is True
        assert one.status()["server"]["pid"] == one.result["server_pid"]


def test_a_launch_that_adopts_what_it_wanted_says_nothing_of_it(state_dir):
    with Instance(state_dir, *OPTIONS) as one, start_owner() as first, start_owner() as second:
        command = SLEEP + ["{owner_pid}", "{http_port}"]
        one.launch("--owner-pid", first.pid, command=command)
        again = one.launch("--owner-pid", second.pid, command=command)
        assert again["message"] == "adopted the server that runs" and "other_command" not in again


def test_a_builtin_server_of_another_copy_of_tether_is_the_same_command(state_dir, tmp_path):
    copy = tmp_path / ("tether.exe" if IS_WINDOWS else "tether")
    os.link(system.local(TETHER), copy)
    with Instance(state_dir, *OPTIONS) as one:
        assert json.loads(one.cli("launch").output)["result"] == "started"
        one.program = system.native(copy)
        again = json.loads(one.cli("launch").output)
        assert again["result"] == "adopted" and "other_command" not in again


def test_a_daemon_that_does_not_tell_its_command_is_adopted_as_ever(state_dir):
    one = Instance(state_dir)
    with FakeDaemon(one) as daemon, Process(one.argv("launch", "--", SERVER), one.env) as launch:
        daemon.welcome("ready")
        assert launch.wait() == 0
        assert json.loads(launch.output)["message"] == "adopted the server that runs"
