"""Where an old kernel does not have, or a sandbox forbids, what tether would like to use."""
import json
import os
import sys

import pytest

from clients import in_namespace
from harness import run
from tether import SERVER, Instance, http_get, start_owner

FORBID = os.path.join(os.path.dirname(__file__), "../support/forbid.py")
SO_PEERPIDFD, PR_SET_CHILD_SUBREAPER = 77, 36


def launch_without(it, calls, *options):
    argv = it.argv("launch", *options, "--", SERVER, "--ignore-term")
    done = run([sys.executable, FORBID] + calls + ["--"] + argv, it.env)
    it.result = json.loads(done.output.splitlines()[-1])
    assert it.result["code"] == done.status
    return it.result


@pytest.mark.parametrize("calls", [
    ["pidfd_open/ENOSYS"],
    ["pidfd_open/EPERM"],
    ["pidfd_open/EPERM", "getsockopt:2=%d/ENOPROTOOPT" % SO_PEERPIDFD]], ids=["old", "container", "old container"])
def test_A4_F2_without_pidfds_processes_are_looked_at_again_and_again(state_dir, calls):
    """A4, A8, E2: EPERM is how containers say it that know fewer calls than their kernel."""
    with Instance(state_dir) as it, start_owner() as owner, start_owner() as editor:
        assert launch_without(it, calls, "--owner-pid", owner.pid, "--poll-ms", 50, "--grace-ms", 50,
                              "--stop-grace-ms", 50)["code"] == 0
        assert it.launch("--owner-pid", editor.pid)["result"] == "adopted"
        owner.stop()
        assert http_get(it.http)[0] == 200
        editor.stop()
        it.wait_end()
        assert "ended (owner died): no process is left, both ports are free" in it.log()


def test_D6_a_system_that_cannot_hand_orphans_down_is_named(state_dir):
    with Instance(state_dir) as it:
        result = launch_without(it, ["prctl:0=%d/EINVAL" % PR_SET_CHILD_SUBREAPER])
        assert result["code"] == 1
        assert result["message"].startswith("cannot supervise processes: invalid argument")


@pytest.mark.parametrize("command", ["launch", "run"])
def test_D6_foreign_process_numbers_are_no_ground_to_start_on(state_dir, command):
    """A pid namespace that still sees the /proc of another: each number there means somebody else, and
    who is to be ended could not be told from who is not."""
    words = in_namespace("--pid", "--fork", "--kill-child")
    if not words:
        pytest.skip("no right to make a pid namespace")
    with Instance(state_dir) as it:
        done = run(words + it.argv(command, "--", SERVER), it.env)
        assert done.status == 1
        assert "/proc" in done.output and "pid namespace" in done.output
