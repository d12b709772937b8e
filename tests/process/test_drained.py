"""The stop grace is for those who were asked to end."""
import json
import os
import socket
import sys
import time

import pytest

from harness import wait_gone
from scene import wait_until
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


# ---- what is left all the same -------------------------------------------------------------------

def test_D3_stop_tells_a_port_that_is_not_free(state_dir):
    with Instance(state_dir) as one, socket.socket() as port:
        one.launch("--ready", "none", command=["sleep", "1000"])
        port.bind(("127.0.0.1", one.ws))
        port.listen()
        stop = one.cli("stop")
        assert stop.status == 1
        assert stop.output.startswith("tether: stopped, but port %d is held by process %d" % (one.ws, os.getpid()))
        assert stop.output.count("\n") == 1


class Freezer:
    """A place for processes in which not even SIGKILL is acted upon. For root, where there is cgroup v1."""

    def __init__(self):
        self.path = "/sys/fs/cgroup/freezer/tether-test-%d" % os.getpid()
        try:
            os.mkdir(self.path)
            with open(self.path + "/freezer.state"):
                pass
        except OSError as error:
            pytest.skip("no freezer here: %s" % error)

    def write(self, name, text):
        with open(os.path.join(self.path, name), "w") as file:
            file.write(text)

    def freeze(self, pid):
        self.write("cgroup.procs", str(pid))
        self.write("freezer.state", "FROZEN")
        wait_until(lambda: open(self.path + "/freezer.state").read() == "FROZEN\n", "it is frozen")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.write("freezer.state", "THAWED")
        wait_until(lambda: open(self.path + "/cgroup.procs").read() == "", "nobody is left in it")
        os.rmdir(self.path)


def test_D2_stop_tells_processes_that_the_system_does_not_end(state_dir):
    with Instance(state_dir, "--stop-grace-ms", "50") as one, Freezer() as freezer:
        server = one.launch()["server_pid"]
        guard = one.status()["guard_pid"]
        freezer.freeze(server)
        stop = one.cli("stop")
        assert stop.status == 1 and "stopped\n" not in stop.output
        assert "tether: stopped, but the system does not let go of processes of the server: %d;" % server in stop.output
        assert "tether: stopped, but port %d is held by process %d" % (one.http, server) in stop.output
        findings = json.loads(one.cli("doctor", "--json").output)["findings"]
        assert any(finding["what"] == "orphan" and str(server) in finding["text"] for finding in findings)
    wait_gone(guard)
