"""Whether an owner lives, where that is hard to tell: numbers used again, processes not shown.

The first needs a pid namespace, the second a mount namespace and another user: as root."""
import json
import os
import shutil
import sys
import tempfile

import pytest

from harness import BUILD, TETHER, Process, run
from scene import stays
from tether import SERVER, identity, start_owner

SUPPORT = os.path.join(os.path.dirname(__file__), "../support")
NOBODY = 65534


def can_unshare(*what):
    try:
        return run(["unshare"] + list(what) + ["true"]).status == 0
    except FileNotFoundError:
        return False


needs_pid_namespace = pytest.mark.skipif(not can_unshare("--pid", "--fork", "--mount-proc"),
                                         reason="no right to make a pid namespace")
needs_root = pytest.mark.skipif(os.geteuid() != 0 or not can_unshare("--mount"),
                                reason="only root can hide processes and become another user")


def recycled(case, state_dir):
    done = run(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable,
                os.path.join(SUPPORT, "recycled.py"), case, state_dir])
    assert done.status == 0, done.output
    return json.loads(done.output.splitlines()[-1])


@needs_pid_namespace
def test_A8_pid_recycled_before_the_launch_is_not_the_owner(state_dir):
    seen = recycled("before_the_launch", state_dir)
    assert seen["result"]["code"] == 1 and seen["result"]["daemon_pid"] == 0 and seen["stranger_lives"]
    assert "pid %d is another process than the owner meant" % seen["stranger"] in seen["result"]["message"]


@needs_pid_namespace
def test_A8_pid_recycled_behind_the_daemons_back_is_not_the_owner(state_dir):
    seen = recycled("behind_the_daemons_back", state_dir)
    assert seen["code"] == 0 and seen["stranger_lives"]
    assert "ended (owner died)" in seen["log"]


@needs_pid_namespace
def test_A8_rightful_holder_of_a_recycled_pid_is_an_owner(state_dir):
    seen = recycled("rightful_holder", state_dir)
    assert seen["code"] == 0 and seen["kept"]
    assert "ended (owner died)" in seen["log"]


@needs_pid_namespace
def test_A12_stranger_with_the_recycled_pid_of_a_recorded_server_is_not_touched(state_dir):
    seen = recycled("server_of_a_crashed_daemon", state_dir)
    assert seen["code"] == 0 and seen["stranger_lives"]


@pytest.fixture
def nobodys_place():
    """Copies of all that is needed in a folder that another user may enter."""
    with tempfile.TemporaryDirectory(prefix="tether-test-") as folder:
        programs = os.path.join(folder, os.path.relpath(os.path.dirname(SERVER), BUILD))
        os.makedirs(programs)
        shutil.copy2(TETHER, folder)
        shutil.copy2(SERVER, programs)
        for name in ("harness.py", "on_linux.py", "tether.py", "hidden.py"):
            shutil.copy2(os.path.join(SUPPORT, name), folder)
        os.mkdir(os.path.join(folder, "state"), 0o700)
        os.chown(os.path.join(folder, "state"), NOBODY, NOBODY)
        os.chmod(folder, 0o755)
        yield folder


def launch_with_hidden_owner(place, owner, start):
    """As a user to whom /proc does not show the owner; goes on until the daemon has ended."""
    script = ('mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid %d --regid %d --clear-groups "$@"'
              % (NOBODY, NOBODY))
    launcher = Process(["unshare", "--mount", "sh", "-c", script, "sh", sys.executable,
                        os.path.join(place, "hidden.py"), os.path.join(place, "state"), str(owner.pid), start],
                       {"TETHER_BUILD": place})
    seen = json.loads(launcher.expect(r"^\{.*\}$").group())
    assert not seen["shown"] and seen["code"] == 0
    assert seen["status"]["owner"]["alive"] is not False
    assert stays(seen["daemon"], 0.3)
    return launcher


def assert_ended(launcher):
    launcher.expect("^ended$")
    launcher.expect(r"ended \(owner died\): no process is left, both ports are free")
    assert launcher.wait() == 0


@needs_root
@pytest.mark.parametrize("start_is", ["known", "unknown"])
def test_A8_owner_that_may_not_be_looked_at_counts_as_alive(nobodys_place, start_is):
    with start_owner() as owner:
        start = identity(owner.pid)["start"] if start_is == "known" else "-"
        with launch_with_hidden_owner(nobodys_place, owner, start) as launcher:
            owner.stop()
            assert_ended(launcher)


@needs_root
def test_A8_end_of_a_hidden_owner_is_an_event(nobodys_place):
    """Its end is told by the kernel. Nobody waits for it, so that looking would not show it."""
    with start_owner() as owner:
        with launch_with_hidden_owner(nobodys_place, owner, "-") as launcher:
            owner.kill()
            assert_ended(launcher)
