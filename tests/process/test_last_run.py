"""What is told of the run before when nothing runs: why it ended, when, and where its log is."""
import json
import os
import re
import time

import pytest

from harness import kill, run_apart, system, wait_gone
from tether import SERVER, Instance

CRASH = ("sh", "-c", "echo it hurts; exit 3")


def status(instance):
    done = run_apart(instance.argv("status", "--json"), instance.env)
    assert done.returncode == 5
    state = json.loads(done.stdout)
    assert state["state"] is None
    return state


def finding(instance):
    report = json.loads(instance.cli("doctor", "--json").output)
    return [f for f in report["findings"] if f["what"] == "last run"]


@pytest.fixture
def failed(state_dir):
    """A server that failed for good."""
    instance = Instance(state_dir)
    result = instance.launch(command=CRASH)
    assert result["code"] == 1
    wait_gone(result["daemon_pid"])
    return instance


def test_a_server_that_failed_for_good_is_told_of_afterwards(failed):
    words = failed.cli("status")
    assert words.status == 5 and "no tether runs" in words.output.splitlines()[0]
    assert re.search(r"^the last one ended \d+ s ago: the server crashed too often: it exited with code 3;.*\n"
                     r"(.*\n)*.*it hurts", words.output, re.MULTILINE)
    log = system.native(os.path.join(failed.directory, "server.log"))
    assert "its log: %s" % log in words.output
    last = status(failed)["last"]
    assert abs(last["ended"] - time.time()) < 60 and last["cause"] == "server failed"
    assert last["failure"] == "crashes" and "it hurts" in last["reason"] and last["last_exit"]["code"] == 3
    assert last["command"] == system.command(CRASH) and last["restarts"] > 0 and last["log"] == log
    assert "it hurts" in failed.cli("logs").output


def test_the_doctor_mentions_a_last_failure_until_something_runs(failed):
    (found,) = finding(failed)
    assert not found["ok"] and "crashed too often" in found["text"] and "tether logs" in found["advice"]
    with failed:
        failed.launch()
        assert finding(failed) == []
    (found,) = finding(failed)
    assert found["ok"] and "stop requested" in found["text"]


def test_a_run_that_was_stopped_says_so(state_dir):
    with Instance(state_dir) as one:
        assert "last" not in status(one) and "last one" not in one.cli("status").output
        one.launch()
        one.cli("stop")
        assert re.search(r"^the last one ended \d+ s ago: stop requested; the server exited with code 0$",
                         one.cli("status").output, re.MULTILINE)
        assert status(one)["last"]["reason"] is None
        one.launch()
        assert "last" not in one.status()


@pytest.mark.parametrize("swept", [False, True])
def test_a_run_whose_daemon_was_killed_says_so(state_dir, swept):
    with Instance(state_dir) as one:
        one.launch()
        one.cli("stop")
        one.launch()
        kill(one.result["daemon_pid"])
        wait_gone(one.result["daemon_pid"])
        wait_gone(one.result["server_pid"])
        if swept:
            assert one.cli("sweep").status == 0
        assert "the last one was killed" in one.cli("status").output
        last = status(one)["last"]
        assert last["ended"] is None and last["cause"] == "killed" and last["command"] == [SERVER]
        assert finding(one)[0]["ok"]


GOOD = {"type": "last", "instance": None, "ended": 1, "cause": "signal", "server": {"reason": "R"}}


@pytest.mark.parametrize("record", [
    b"", b"{", b"[]", b"null", b"\xff\xfe", b"{}", b"x" * 100000, dict(GOOD, instance="1-2"), dict(GOOD, instance=7),
    dict(GOOD, server=[]), dict(GOOD, server=None), "directory", "link"])
@pytest.mark.parametrize("name", ["last.json", "state.json"])
def test_records_that_make_no_sense_are_ignored(state_dir, record, name):
    one = Instance(state_dir)
    os.mkdir(one.directory, 0o700)
    path = os.path.join(one.directory, name)
    if record == "directory":
        os.mkdir(path)
    elif record == "link":
        with open(os.path.join(state_dir, "elsewhere"), "w") as file:
            json.dump(dict(GOOD, instance=one.name), file)
        os.symlink(os.path.join(state_dir, "elsewhere"), path)
    else:
        with open(path, "wb") as file:
            if isinstance(record, dict):
                record = json.dumps(dict(record, instance=record["instance"] or one.name)).encode()
            file.write(record)
    assert "last" not in status(one) and finding(one) == []
    words = one.cli("status")
    assert words.status == 5 and "last one" not in words.output


@pytest.mark.parametrize("change, text", [
    ({}, r"ended \d+ days ago: R"), ({"ended": "soon"}, "was killed.*before that: R"),
    ({"ended": 1 << 60}, "ended: R"), ({"ended": -5}, "ended: R"),
    ({"cause": 5, "server": {"reason": [], "last_exit": 7, "command": "x"}}, "ended .* ago: "),
])
def test_records_with_odd_values_tell_what_they_can(state_dir, change, text):
    one = Instance(state_dir)
    os.mkdir(one.directory, 0o700)
    with open(os.path.join(one.directory, "last.json"), "w") as file:
        json.dump({**GOOD, "instance": one.name, **change}, file)
    words = one.cli("status")
    assert words.status == 5 and re.search("^the last one %s$" % text, words.output, re.MULTILINE)
    assert status(one)["last"]["restarts"] == 0 and len(finding(one)) == 1
