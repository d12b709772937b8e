"""The job in which a server's tree is. Row G2."""
import json
import subprocess

import pytest

from harness import Process, kill, system
from scene import Watched, wait_until
from tether import SERVER, Instance, start_owner

STUBBORN = [SERVER, "--ignore-term"]
KINDS = {"console", "detached", "group", "nested", "orphan", "plain", "root", "silent", "window"}


def read_pids(path):
    """{kind: pid}, as the server has written them."""
    return {kind: int(pid) for kind, pid in (line.split() for line in path.read_text().splitlines())}


# ---- ways to end ---------------------------------------------------------------------------------

def stop(it, owner, root):
    assert it.cli("stop", "--force").status == 0


def kill_owner(it, owner, root):
    owner.kill()


def kill_daemon(it, owner, root):
    kill(it.result["daemon_pid"])


def kill_server(it, owner, root):
    kill(root)


@pytest.mark.parametrize("end", [stop, kill_owner, kill_daemon, kill_server])
def test_G2_nobody_gets_out_of_the_tree(state_dir, tmp_path, end):
    with start_owner() as owner, Instance(state_dir, "--restart", "never", "--stop-grace-ms", 500) as it:
        it.launch("--owner-pid", owner.pid, command=[*STUBBORN, "--kinds", system.native(tmp_path / "kinds")])
        pids = read_pids(tmp_path / "kinds")
        assert pids.pop("away") == 0  # it may not even start
        assert set(pids) == KINDS
        with Watched(pids.values()) as tree:
            assert len(tree.left()) == len(KINDS)
            end(it, owner, pids["root"])
            tree.wait()
        it.wait_end()
        wait_until(it.ports_are_free, "both ports are free", limit=5)


def test_G2_who_has_itself_fostered_outside_is_told_of(state_dir, tmp_path):
    """The one way out that a job does not close: to be started with somebody outside as parent."""
    with start_owner() as owner, Instance(state_dir, "--stop-grace-ms", 500) as it:
        it.launch("--owner-pid", owner.pid, command=[*STUBBORN, "--kinds", system.native(tmp_path / "kinds"),
                                                     "--foster", system.native(tmp_path / "foster")])
        pids, fostered = read_pids(tmp_path / "kinds"), read_pids(tmp_path / "foster")["fostered"]
        with Watched(pids.values()) as tree, Watched([fostered]) as outside:
            it.cli("stop", "--force")
            it.wait_end()
            tree.wait()
            assert outside.left() == [fostered]
            assert it.ports_are_free()
            told = it.cli("doctor").output
            kill(fostered)
        assert "process %d" % fostered in told, told


@pytest.mark.parametrize("kind", ["keep", "free"])
def test_G2_a_job_of_others_is_left_if_it_may_be(state_dir, kind):
    """Or else the daemon ends with it, and so does its server. (That it says so is tested by os_calls.c.)"""
    with Instance(state_dir) as it:
        with Process(system.in_job(kind, it.argv("launch", "--", SERVER)), it.env, stdin=subprocess.PIPE) as job:
            it.result = json.loads(job.expect(r'^\{"result".*\}').group())
            with Watched([it.result["daemon_pid"], it.result["server_pid"]]) as both:
                job.popen.stdin.close()
                job.wait()
                if kind == "keep":
                    both.wait()
                    wait_until(it.ports_are_free, "both ports are free", limit=5)
                else:
                    assert it.status()["state"] == "ready" and len(both.left()) == 2
