"""The built program, started as a user would."""
import json
import os
import socket
import subprocess

import pytest

from harness import LIMIT, TETHER, run, run_apart, system
from scene import wait_until
from tether import SERVER, Instance


def test_version_is_one_line():
    result = run([TETHER, "version"])
    assert result.status == 0
    assert result.output.startswith("tether ") and result.output.count("\n") == 1


def test_version_as_json_names_the_release():
    result = run([TETHER, "version", "--json"])
    with open(os.path.join(os.path.dirname(__file__), "../../VERSION")) as file:
        assert json.loads(result.output)["version"] == file.read().strip()


def test_help_lists_every_command_that_it_explains():
    overview = run([TETHER, "help"])
    assert overview.status == 0
    names = [line.split()[0] for line in overview.output.splitlines() if line.startswith("  ")]
    assert "version" in names
    for name in names:
        explained = run([TETHER, "help", name])
        assert explained.status == 0 and "usage: tether " + name in explained.output
        assert run([TETHER, name, "--help"]).output == explained.output


@pytest.mark.parametrize("arguments", [[], ["frobnicate"], ["help", "frobnicate"], ["version", "-x"]])
def test_wrong_usage_says_what_to_do(arguments):
    result = run([TETHER] + arguments)
    assert result.status == 2
    assert "help" in result.output or "takes" in result.output
    for word in arguments[-1:]:
        assert word in result.output


@pytest.mark.parametrize("typed, meant", [("statsu", "status"), ("lgos", "logs"), ("doctr", "doctor"),
                                          ("daemo", None), ("st", None), ("frobnicate", None)])
def test_a_mistyped_command_is_told_what_may_be_meant(typed, meant):
    for words in ([typed], ["help", typed]):
        result = run([TETHER] + words)
        assert result.status == 2
        assert ("is '%s' meant?" % meant in result.output) == (meant is not None), result.output
        assert meant or "meant" not in result.output


def test_status_as_json_is_json_also_where_nothing_runs(state_dir):
    result = run_apart([TETHER, "status", "--json"], {"TETHER_STATE_DIR": state_dir, "TETHER_HTTP_PORT": "8123"})
    state = json.loads(result.stdout)
    assert result.returncode == 5 and state["state"] is None and state["instance"] == "8123-9500"
    assert state["message"] in result.stderr


def test_F11_status_tells_by_its_exit_code_whether_the_server_is_ready(state_dir):
    """For those that ask a container how it is."""
    it = Instance(state_dir, "--ready-timeout-ms", 0)
    assert it.cli("status", "--check").status == 5
    for options, code in (["--never-ready"], 4), ([], 0):
        with it.run(command=[SERVER] + options) as process:
            process.expect("server started" if code else "server ready")
            assert it.cli("status", "--check").status == code
            assert it.cli("status").status == 0
            assert it.cli("stop").status == 0
            assert process.wait() == 0


def test_a_failed_start_tells_its_reason_once(state_dir):
    result = run([TETHER, "run", "--ready", "none", "--", "/no/such/server"], {"TETHER_STATE_DIR": state_dir})
    assert result.status == 1 and result.output.count("/no/such/server") == 1, result.output
    assert "no owner" in result.output.splitlines()[0]


# ---- output that nobody takes --------------------------------------------------------------------

@pytest.mark.parametrize("command", [["version"], ["version", "--json"], ["help"], ["help", "stop"],
                                     ["run", "--help"], ["sweep"], ["doctor"], ["doctor", "--json"]])
def test_a_failed_write_is_told_and_is_a_failure(state_dir, command):
    with open("/dev/full", "w") as full:
        done = run_apart([TETHER] + command, {"TETHER_STATE_DIR": state_dir}, stdout=full)
    assert done.returncode == 1
    assert done.stderr == "tether: cannot write to standard output%s\n" % system.WHY_FULL


def test_a_failed_write_of_what_runs_is_told_and_is_a_failure(state_dir):
    """Also when it is more than what waits in memory, so that it fails in the middle."""
    with Instance(state_dir) as one, open("/dev/full", "w") as full:
        one.launch("--ready", "none", command=["sh", "-c", "seq -f %040g 2000; echo the end; exec sleep 1000"])
        with one.control() as control:
            control.hello("cli")
            wait_until(lambda: (control.request("logs", n=1)["lines"] or [""])[-1].endswith(" end"), "all is written")
        for command in (["status"], ["status", "--json"], ["status", "--watch"], ["logs", "-n", "2001"], ["logs", "-f"],
                        ["launch"], ["restart"], ["stop"]):
            done = run_apart(one.argv(*command), one.env, stdout=full)
            assert done.returncode == 1, command
            assert done.stderr.startswith("tether: cannot write to standard output"), command
            assert done.stderr.count("\n") == 1, command


@pytest.mark.parametrize("kind", ["pipe", "socket"])
@pytest.mark.parametrize("command", [["status", "--watch"], ["status", "--json", "--watch"], ["logs", "-f"]])
def test_what_follows_ends_with_its_reader(state_dir, command, kind):
    """As in `tether status --watch | head -1`, without waiting for the next change."""
    with Instance(state_dir) as one:
        one.launch("--ready", "none", command=["sh", "-c", "echo here; exec sleep 1000"])
        with one.control() as control:
            control.hello("cli")
            wait_until(lambda: control.request("logs", n=1)["lines"], "something is written")
        reader, writer = socket.socketpair()
        with reader, writer, system.popen(
                one.argv(*command), env=dict(os.environ, **one.env), stderr=subprocess.PIPE,
                stdout=subprocess.PIPE if kind == "pipe" else writer) as process:
            writer.close()
            try:
                with process.stdout or reader.makefile("rb") as file:
                    assert file.read(1) != b""
                reader.close()
                assert process.wait(LIMIT / 2) == 0 and process.stderr.read() == b""
            finally:
                process.kill()
