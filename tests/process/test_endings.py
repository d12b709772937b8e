"""What is told of a server that cannot be started, or ends by itself. Rows D6 and D7."""
import os
import re
import sys

import pytest

from clients import wait_failed, wait_for, watch
from harness import IS_WINDOWS, kill, system, wait_gone
from tether import SERVER, Instance, can_bind

# ---- D6: what cannot be executed ----

def bad_command(tmp_path, kind):
    path = tmp_path / ("server.exe" if IS_WINDOWS else "server")
    if kind == "not in PATH":
        return "no-such-program-anywhere"
    if kind == "directory":
        path.mkdir()
    elif kind != "missing":
        path.write_text("#!/no/such/interpreter\n" if kind == "bad interpreter" else "rubbish\n")
        path.chmod(0o644 if kind == "not executable" else 0o755)
    return system.native(path / "server" if kind == "below a file" else path)


@pytest.mark.parametrize("kind", ["missing", "not in PATH", "not executable", "directory", "rubbish", "bad interpreter",
                                  "below a file"])
def test_D6_what_cannot_be_executed_is_named_at_once(state_dir, tmp_path, kind):
    instance = Instance(state_dir)
    command, text = bad_command(tmp_path, kind), system.CANNOT_START[kind]
    result = instance.launch("--ready-timeout-ms", "600000", command=[command, "argument"])
    assert result["result"] == "failed" and result["code"] == 1
    assert command in result["message"] and text in result["message"]
    assert "; check " in result["message"]
    wait_gone(result["daemon_pid"])
    with instance.run(command=[command]) as run:
        assert run.wait() == 1
        assert command in run.output and text in run.output
    assert result["message"] in instance.log()
    assert not os.path.exists(os.path.join(instance.directory, "state.json"))


@pytest.mark.parametrize("command", ["/no/such/server", SERVER])
def test_D6_ready_none_means_that_it_runs(state_dir, command):
    with Instance(state_dir, "--ready", "none") as instance:
        result = instance.launch(command=[command])
        if command == SERVER:
            assert result["server_pid"] == instance.status()["server"]["pid"] > 0
        else:
            assert wait_failed(result)["code"] == 1 and system.CANNOT_START["missing"] in result["message"]


def test_D6_a_command_that_is_no_utf8_is_named_too(state_dir):
    instance = Instance(state_dir)
    result = instance.launch(command=[os.fsdecode(b"/no/such/\xff/server")])
    assert "No such file or directory" in result["message"]
    assert re.search("start /no/such/[?\ufffd]/server: ", result["message"])
    wait_failed(result)


# ---- D7: how it ended ----

@pytest.mark.parametrize("option,number,text", [
    ("--exit", 7, "exited with code 7"), ("--exit", 255, "exited with code 255"),
    ("--exit", 137, "exited with code 137"), ("--signal", 9, "was ended by signal 9 (Killed)"),
    ("--signal", 11, "was ended by signal 11 (Segmentation fault)")])
def test_D7_exit_status_and_signal_are_told_apart(state_dir, tmp_path, option, number, text):
    instance = Instance(state_dir)
    result = instance.launch("--restart", "never", "--ready", "notify", command=[
        SERVER, option, str(number), "--say", "the last words", "--after-ms", "50"])
    assert result["code"] == 1 and "the server crashed: it %s; " % text in result["message"]
    assert "its last lines:\nserver up pid" in result["message"]
    assert result["message"].endswith("\nthe last words")
    instance.wait_end()
    assert "launcher server %s\n" % text in instance.log()
    assert "stdout the last words\n" in instance.log("server.log")

    with Instance(state_dir) as instance:  # seen from outside after a restart
        once = ["--exit-times", "1", str(tmp_path / "n")]
        instance.launch(command=[SERVER, option, str(number)] + once)
        with watch(instance) as control:  # it may have been ready for a moment before it ended
            server = wait_for(control, lambda s: s["restarts"] == 1 and s["state"] == "ready")["server"]
        assert server["last_exit"] == {"code": number if option == "--exit" else None,
                                       "signal": number if option == "--signal" else None,
                                       "text": text}


def test_D7_a_server_that_is_well_again_needs_nobody(state_dir, tmp_path):
    with Instance(state_dir) as instance:
        instance.launch(command=[SERVER, "--exit", "1", "--exit-times", "1", str(tmp_path / "n")])
        assert instance.status()["server"]["reason"] is None
        assert instance.cli("doctor").status == 0


def test_D7_the_result_of_a_crash_before_ready_has_the_last_lines(state_dir):
    instance = Instance(state_dir)
    result = instance.launch("--restart", "never", command=[
        "sh", "-c", "for i in $(seq 1 30); do echo line $i; done; echo oops >&2; exit 42"])
    assert result["code"] == 1 and result["result"] == "failed"
    message = result["message"]
    assert message.startswith("the server crashed: it exited with code 42; its last lines:\n")
    assert "oops" in message and "line 30" in message and "line 20\n" not in message
    wait_gone(result["daemon_pid"])


def test_D7_five_crashes_in_a_row_are_enough(state_dir, tmp_path):
    """One start and four more, then the reason; `tether run` ends, and its code is 1."""
    instance = Instance(state_dir)
    words = ["sh", "-c", 'echo . >> "$0"; echo it hurts; exit 3', str(tmp_path / "starts")]
    result = instance.launch(command=words)
    assert result["code"] == 1, result
    assert "the server crashed too often: it exited with code 3" in result["message"]
    assert result["message"].endswith("it hurts")
    assert len((tmp_path / "starts").read_text().splitlines()) == 5
    wait_gone(result["daemon_pid"])
    with instance.run(command=words) as run:
        assert run.wait() == 1
        assert run.output.count("server exited with code 3") == 5
        assert "the server crashed too often: it exited with code 3" in run.output
    assert instance.ports_are_free()


def test_D7_a_failed_server_with_sessions_tells_them_why_and_starts_again_on_demand(state_dir,
                                                                                   tmp_path):
    with Instance(state_dir) as instance:
        # Ready once until it is told to end, then four crashes more; after those it is well.
        words = ["sh", "-c", 'echo . >> "$0"; n=$(wc -l < "$0"); [ $n = 1 ] && exec "$1"; '
                 '[ $n -gt 6 ] && exec "$1"; echo bad; exit 9', str(tmp_path / "n"), SERVER]
        instance.launch(command=words)
        with instance.control() as control:
            state = control.hello()
            assert state["state"] == "ready"
            kill(state["server"]["pid"])
            server = control.wait_state("failed")["server"]
            assert server["failure"] == "crashes" and server["pid"] == 0
            assert "it exited with code 9" in server["reason"] and server["reason"].endswith("bad")
            assert "crashed too often" in instance.cli("status").output
            doctor = instance.cli("doctor")
            assert doctor.status == 1 and "tether restart" in doctor.output
            (tmp_path / "n").write_text("\n" * 6)
            assert instance.cli("restart").output == "restarted\n"
            assert control.wait_state("ready")["server"]["restarts"] == 5


@pytest.mark.parametrize("character", ["x", "é", "€"])
def test_D7_of_long_last_lines_the_last_are_told(state_dir, character):
    instance = Instance(state_dir)
    result = instance.launch("--restart", "never", command=[
        sys.executable, "-I", "-S", "-c", "import sys\nfor i in range(12):\n"
        " sys.stdout.buffer.write(('%s' * 300 + str(i) + '\\n').encode())\n"
        "sys.exit(3)" % character])
    assert "it exited with code 3" in result["message"]
    assert result["message"].endswith(character + "11")
    wait_gone(result["daemon_pid"])
    assert character + "11\n" in instance.log()


def test_D7_a_server_that_goes_to_the_background_is_told_not_to(state_dir, tmp_path):
    """What it left there is ended with it: a tree without its first process has no exit to watch."""
    instance, pids = Instance(state_dir), tmp_path / "pids"
    result = instance.launch(command=[SERVER, "--escape", system.native(pids), "--say", "going", "--exit", "0"])
    assert result["code"] == 1
    assert re.match(r"(?s)the server ended before it was ready .*foreground.*code 0; its last lines:\n.*\ngoing$",
                    result["message"])
    wait_gone(result["daemon_pid"])


def test_D7_a_server_that_ends_well_ends_the_daemon(state_dir):
    instance = Instance(state_dir)
    with instance.run(command=[SERVER, "--exit", "0", "--after-ms", "50"]) as run:
        assert run.wait() == 0
        assert "ended (server ended): no process is left, both ports are free" in run.output
    assert can_bind(instance.http)
