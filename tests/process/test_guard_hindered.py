"""The guard cannot be kept from its work by those it guards, nor by who kills by name. Row L3."""
import os
import shutil
import signal
import sys
import tempfile

import pytest

from harness import Process, wait_gone
from scene import find_guard
from tether import Instance, start_owner

# Attaches to its parent, the guard, and never lets it go on; or takes from it what it needs to look for processes.
HOLDER = """
import ctypes, os, resource, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
said = "holds"
if sys.argv[2] == "descriptors":
    resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (0, 0))
elif libc.ptrace(16, os.getppid(), None, None) != 0:
    said = os.strerror(ctypes.get_errno())
with open(sys.argv[1], "w") as told:
    told.write(said)
while True:
    signal.pause()
"""


def holder(path, by="tracing"):
    os.mkfifo(path)
    return ["--ready", "none"], [sys.executable, "-c", HOLDER, str(path), by]


@pytest.mark.parametrize("how", ["stop", "owner"])
@pytest.mark.parametrize("by", ["tracing", "descriptors"])
def test_L3_a_server_that_holds_its_guard_up_is_ended(state_dir, tmp_path, how, by):
    options, command = holder(tmp_path / "told", by)
    with start_owner() as owner, Instance(state_dir, "--stop-grace-ms", "200", "--grace-ms", "0") as it:
        result = it.launch("--owner-pid", owner.pid, *options, command=command)
        guard = find_guard(result["daemon_pid"])
        with open(tmp_path / "told") as told:
            what = told.read()
        if what != "holds":
            pytest.skip("nobody may trace here: %s" % what)
        if how == "stop":
            assert it.cli("stop").output == "stopped\n"
        else:
            owner.kill()
        for pid in (result["daemon_pid"], result["server_pid"], guard):
            wait_gone(pid)
        assert "no process is left" in it.log() and "held up by somebody" in it.log()


@pytest.mark.skipif(os.geteuid() != 0, reason="to become an ordinary user takes root")
def test_L3_a_server_of_an_ordinary_user_cannot_trace_its_guard():
    place = tempfile.mkdtemp(dir="/tmp")
    try:
        os.chmod(place, 0o711)
        state = os.path.join(place, "state")
        os.mkdir(state, 0o700)
        shutil.copy(os.environ["TETHER_BUILD"] + "/tether", place)
        options, command = holder(os.path.join(place, "told"))
        os.chown(state, 65534, 65534)
        os.chown(os.path.join(place, "told"), 65534, 65534)
        it = Instance(state, program=os.path.join(place, "tether"))
        with Process(it.argv("run", *options, "--", *command), it.env, user=65534, group=65534, extra_groups=[],
                     cwd="/") as daemon:
            with open(os.path.join(place, "told")) as told:
                assert told.read() == "Operation not permitted"
            daemon.kill(signal.SIGKILL)
            daemon.wait()
    finally:
        shutil.rmtree(place)


# In a pid namespace of its own, so that nobody else is meant by the names. It says "gone" when the
# server is; that one's name is none that is looked for.
BY_NAME = """
cd %s && %s && %s
while pgrep -x sleeper >/dev/null; do sleep 0.05; done
echo gone
"""


@pytest.mark.parametrize("words", ["pkill -9 tether", "killall -9 tether", "pkill -9 -f tether"])
def test_L3_who_kills_by_name_leaves_the_guard_to_end_the_tree(state_dir, tmp_path, words):
    if not shutil.which(words.split()[0]):
        pytest.skip("no %s here" % words.split()[0])
    shutil.copy("/bin/sleep", tmp_path / "sleeper")
    it = Instance(state_dir)
    launch = " ".join(it.argv("launch", "--ready", "none", "--", "./sleeper", "1000"))
    with Process(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
                  BY_NAME % (tmp_path, launch, words)], it.env) as space:
        try:
            space.expect("^gone$")
        except AssertionError:
            if "unshare" in space.output:
                pytest.skip("no pid namespaces here: " + space.output)
            raise
    assert '"result":"started"' in space.output
