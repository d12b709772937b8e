"""The stop grace is for those who were asked to end."""
import os
import sys
import time

import pytest

from harness import wait_gone
from tether import SERVER, Instance

LONG_MS = 25000


def test_D2_helpers_that_no_sigterm_reached_are_not_waited_for(state_dir, tmp_path):
    """The root obeys at once; three helpers in sessions and groups of their own never hear of it."""
    pids = tmp_path / "pids"
    with Instance(state_dir, "--stop-grace-ms", LONG_MS) as one:
        one.launch(command=[SERVER, "--escape-obedient", str(pids)])
        began = time.monotonic()
        assert one.cli("stop").output == "stopped\n"
        assert time.monotonic() - began < LONG_MS / 2000
        for pid in pids.read_text().split():
            wait_gone(int(pid))
        assert one.ports_are_free()


# Its child lives on in a second thread when the first has ended; to the system it looks like a zombie.
HEADLESS = r"""
import ctypes, os, threading, time
child = os.fork()
if child == 0:
    threading.Thread(target=time.sleep, args=(1000,)).start()
    ctypes.CDLL(None).syscall(%d, 0)  # exit(), which ends one thread
while open("/proc/%%d/stat" %% child).read().rsplit(")", 1)[1].split()[0] != "Z":
    time.sleep(0.001)
os._exit(0)
"""


@pytest.mark.skipif(os.uname().machine not in ("x86_64", "aarch64"), reason="the number of exit()")
def test_D2_a_process_whose_first_thread_has_ended_is_asked_too(state_dir):
    """It is in the server's group, whose leader has ended by itself; nothing else would end it but the
    kill after the grace."""
    script = HEADLESS % (60 if os.uname().machine == "x86_64" else 93)
    with Instance(state_dir) as one:
        began = time.monotonic()
        with one.run("--ready", "none", "--stop-grace-ms", LONG_MS,
                     command=[sys.executable, "-I", "-S", "-c", script]) as run:
            assert run.wait() == 0
            assert "no process is left" in run.output
        assert time.monotonic() - began < LONG_MS / 2000
