"""Many sessions at once: all are known, told and forgotten, at little cost. Rows A5 and F2."""
import contextlib
import json
import os
import re
import subprocess
import sys

import pytest

from clients import check_peak, wait_for, watch
from harness import LIMIT, Process, system
from scene import cpu_seconds, stays, wait_asleep, wait_until, wakeups
from tether import Instance, identity, start_owner

NAME = "/games/" + "x" * 900  # makes states long, so that few of them fill what is between the processes

HOLD = r"""
import socket, sys
path, count, hello = sys.argv[1], int(sys.argv[2]), sys.stdin.readline()
held = []
for i in range(count):
    held.append(socket.socket(socket.AF_UNIX))
    held[-1].connect(path)
    if hello:
        held[-1].sendall(hello.encode())
        assert b"welcome" in held[-1].recv(200)
print("holding", flush=True)
sys.stdin.read()
"""


class Holders:
    """Processes that hold many sessions and read nothing of what they are told."""

    def __init__(self, instance, processes, each, **hello):
        text = json.dumps({"type": "hello", "protocol": 1, "role": "editor", **hello})
        program = system.HOLDER or [sys.executable, "-I", "-S", "-c", HOLD]
        self.processes = [Process(program + [instance.result["control"], str(each)], stdin=subprocess.PIPE)
                          for _ in range(processes)]
        for process in self.processes:
            process.popen.stdin.write(text.encode() + b"\n")
            process.popen.stdin.flush()

    def __enter__(self):
        for process in self.processes:
            process.expect("holding", limit=2 * LIMIT)
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.popen.stdin.close()
        for process in self.processes:
            process.wait()
            process.stop()


def test_many_sessions_at_once_are_all_known_and_go_with_their_processes(state_dir):
    """A5."""
    with Instance(state_dir) as instance:
        instance.launch()
        with Holders(instance, 6, 10) as editors:
            state = instance.status()
            assert len(state["sessions"]) == 60 and state["why"] == "60 sessions"
            assert {s["pid"] for s in state["sessions"]} == {process.pid for process in editors.processes}
            assert instance.cli("stop").status == 1
        with watch(instance) as control:
            wait_for(control, lambda s: s["sessions"] == [])
        assert os.listdir(os.path.join(instance.directory, "sessions")) == []


def test_E4_of_many_owners_without_a_connection_all_count_as_long_as_they_live(state_dir):
    """Each answers the same sweep's ping, if only by being alive."""
    with Instance(state_dir, "--silence-limit-ms", 2000, "--sweep-ms", 250) as instance:
        instance.launch()
        with contextlib.ExitStack() as stack, watch(instance) as control:
            for owner in [stack.enter_context(start_owner()) for _ in range(40)]:
                assert control.request("adopt", **identity(owner.pid))["ok"]
            wait_for(control, lambda s: len(s["sessions"]) == 40)
            with pytest.raises(TimeoutError):  # no news
                while all(session["counts"] for session in control.receive("state", limit=2.5)["sessions"]):
                    pass
        wait_until(lambda: instance.status()["sessions"] == [], "all are gone")


def test_two_hundred_sessions_cost_little_time(state_dir):
    with Instance(state_dir) as instance:
        instance.launch()
        with Holders(instance, 10, 20):
            state = instance.status()
            assert state["why"] == "200 sessions" and len(state["sessions"]) == 200
            assert cpu_seconds(instance.result["daemon_pid"]) < 3


def test_two_hundred_sessions_that_read_nothing_cost_little_memory(state_dir):
    with Instance(state_dir) as instance:
        instance.launch()
        with Holders(instance, 10, 20):
            check_peak(instance.result["daemon_pid"], 24 * 1024)


def test_a_state_with_many_long_names_can_still_be_told(state_dir):
    with Instance(state_dir) as instance:
        instance.launch()
        with Holders(instance, 1, 80, project="/games/" + "x" * 1000):
            status = instance.cli("status", "--json")
            assert status.status == 0, status.output
            assert len(json.loads(status.output)["sessions"]) == 80


def test_A5_one_session_more_than_may_be_is_refused_until_another_goes(state_dir):
    with Instance(state_dir) as instance:
        instance.launch()
        with Holders(instance, 16, 16):
            with instance.control() as control:
                assert control.hello()["code"] == "full"
            with open(os.path.join(instance.directory, "state.json")) as file:
                assert len(json.load(file)["sessions"]) == 256
        with watch(instance) as control:
            wait_for(control, lambda s: s["sessions"] == [])


# ---- peers that do not read ----

def change_state(instance, times):
    for _ in range(times):
        with instance.control() as editor:
            editor.hello(project=NAME)
            editor.send(type="leave", reason="quit")
            editor.wait_closed()


def test_F2_a_hundred_sessions_that_never_read_cost_no_wakeups(state_dir):
    """Only the sweep, every 30 s, may come in between."""
    with Instance(state_dir) as instance:
        daemon = instance.launch()["daemon_pid"]
        with Holders(instance, 10, 10, project=NAME):
            change_state(instance, 5)
            wait_asleep(daemon)
            before = wakeups(daemon)
            assert stays(daemon, 8)
            assert wakeups(daemon) - before <= 2
            assert instance.status()["why"] == "100 sessions"


def test_F2_a_peer_that_reads_again_gets_the_newest_state_and_not_all_of_them(state_dir):
    changes = 20
    with Instance(state_dir) as instance:
        instance.launch()
        with Holders(instance, 2, 30, project=NAME), instance.control() as reader, instance.control() as newest:
            reader.hello(role="cli")
            change_state(instance, changes)
            newest.hello(project="/the/newest")
            states = [reader.receive("state")]
            while not names_project(states[-1], "/the/newest"):
                states.append(reader.receive("state"))
            assert len(states) < 2 * changes  # it had not got all: the rest did not fit
            newest.send(type="leave", reason="quit")
            assert not names_project(reader.receive("state"), "/the/newest")  # and now it is up to date


def names_project(state, project):
    return any(session.get("project") == project for session in state["sessions"])


# ---- names that make states long ----

ODD = {"quotes": '"\\' * 500, "controls": "\x01\x1f\x7f" * 300, "four bytes": "x" + "\U0001F3AE" * 300}


@pytest.mark.parametrize("name", ODD)
def test_A5_all_sessions_that_may_be_with_odd_names_are_told_in_one_line_and_recorded(state_dir, name):
    """State, record, and what is said of them: none is longer than a line, and what is left out is counted."""
    hello = {"project": ODD[name], "version": ODD[name], "godot": ODD[name]}
    shown = re.sub("[\x01\x1f\x7f]", lambda control: "\\x%02x" % ord(control.group()), ODD[name])
    with Instance(state_dir) as instance:
        instance.launch()
        with Holders(instance, 10, 25, **hello), instance.control() as control:
            control.hello("cli")
            state = control.request("status")
            for record in (state, json.loads(instance.log("state.json"))):
                assert len(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()) < 65536
                assert record["sessions_total"] == 250 and 15 < len(record["sessions"]) < 250
                session = record["sessions"][-1]
                for key in hello:
                    assert shown.startswith(session[key])  # cut before it is made harmless
                    assert 117 <= len(re.sub(r"\\x[0-9a-f]{2}", "?", session[key]).encode()) <= 120
            status = instance.cli("status", "--json")
            assert status.status == 0 and json.loads(status.output)["why"] == "250 sessions"
            assert re.search(r"^session   … and \d+ more$", instance.cli("status").output, re.MULTILINE)
        with watch(instance) as control:
            wait_for(control, lambda s: s["sessions_total"] == 0)
