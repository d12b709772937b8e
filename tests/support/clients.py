"""Clients of the control socket that are processes of their own: editors that die, hang or hand
their socket to others, and users who may not be here. And what several topics need besides."""
import json
import os
import re
import subprocess
import sys
import time

from harness import IS_WINDOWS, LIMIT, Process, system, wait_gone
from tether import identity, start_owner

# Says on the socket what it reads after "send ", and prints what the socket says. On "fork" a child
# gets the socket, too, and keeps it until it is killed.
PEER = r"""
import os, select, signal, socket, sys
path, uid = sys.argv[1], int(sys.argv[2])
os.chdir(os.path.dirname(path))  # what is above it may be closed to the user
if uid:
    os.setgroups([])
    os.setuid(uid)
peer, told = None, b""
def say(text):
    os.write(1, text.encode() + b"\n")
while True:
    for fd in select.select([0] + ([peer] if peer else []), [], [])[0]:
        if fd == peer:
            try:
                data = peer.recv(65536)
            except ConnectionResetError:
                data = b""
            if data:
                os.write(1, data)
            else:
                say("closed")
                peer = None
            continue
        data = os.read(0, 65536)
        if not data:
            sys.exit(0)
        told += data
        while b"\n" in told:
            line, told = told.split(b"\n", 1)
            if line.startswith(b"path "):
                path = line[5:].decode()
                os.chdir(os.path.dirname(path))
            elif line == b"connect":
                peer = socket.socket(socket.AF_UNIX)
                try:
                    peer.connect(os.path.basename(path))
                    say("connected")
                except OSError as error:
                    say("refused %d" % error.errno)
                    peer = None
            elif line == b"fork":
                child = os.fork()
                if child == 0:
                    for fd in range(3):
                        os.close(fd)
                    signal.pause()
                say("forked %d" % child)
            elif line == b"close":
                peer.close()
                peer = None
                say("closed")
            else:
                peer.sendall(line[5:] + b"\n")
"""


class Peer:
    """A client in a process of its own. Connected at once unless told otherwise."""

    def __init__(self, path, uid=0, connect=True):
        ours = [sys.executable, "-I", "-S", "-c", PEER, path, str(uid)]
        self.process = Process(ours if not IS_WINDOWS else system.PEER + [path], stdin=subprocess.PIPE)
        self.pid = self.process.pid
        self.at = 0
        if connect:
            self.connect()

    def tell(self, line):
        os.write(self.process.popen.stdin.fileno(), line.encode() + b"\n")

    def connect(self):
        self.tell("connect")
        return self.next_line("connected|refused .*")

    def close(self):
        self.tell("close")
        self.next_line("closed")

    def fork(self):
        """A child that keeps the socket open; returns its pid."""
        self.tell("fork")
        return int(self.next_line("forked [0-9]+").split()[1])

    def send(self, **message):
        self.tell("send " + json.dumps(message))

    def hello(self, role="editor", **more):
        message = {"type": "hello", "protocol": 1, "role": role, **identity(self.pid), **more}
        self.send(**message)
        return self.receive("welcome", "error")

    def next_line(self, pattern, limit=LIMIT):
        """The next line of its output that is all of the pattern."""
        end = time.monotonic() + limit
        with self.process.changed:
            while True:
                while "\n" in self.process.output[self.at:]:
                    line = self.process.output[self.at:].split("\n", 1)[0]
                    self.at += len(line) + 1
                    if re.fullmatch(pattern, line):
                        return line
                assert self.process.changed.wait(max(0, end - time.monotonic())), \
                    "no %s from the peer:\n%s" % (pattern, self.process.output[-2000:])

    def receive(self, *types):
        while True:
            message = json.loads(self.next_line("{.*}"))
            if message.get("type") in types:
                return message

    def wait_closed(self):
        self.next_line("closed")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.popen.stdin.close()
        self.process.stop()


def wait_for(control, condition):
    """The next state of which the condition is true; the present one counts."""
    end = time.monotonic() + LIMIT
    state = control.request("status")
    while not condition(state):
        assert time.monotonic() < end, "still not as expected: %s" % state
        state = control.receive("state")
    return state


def watch(instance):
    """A connection that counts for nothing and is told every change."""
    control = instance.control()
    control.hello(role="cli")
    return control


def wait_failed(result):
    """A daemon that reported a failure is about to end."""
    assert result["result"] == "failed", result
    if result.get("daemon_pid"):
        wait_gone(result["daemon_pid"])
    return result


def check_peak(pid, most_kib):
    """That a process never had more memory resident. A sanitizer needs more, and is not checked."""
    peak = system.peak_kb(pid)
    assert peak <= most_kib or "TETHER_PROGRAM" in os.environ, "%d kB" % peak


def dead_identity():
    """The identity of a process that has ended."""
    with start_owner() as process:
        return identity(process.pid)


def in_namespace(*kinds):
    """The words before a command that give it namespaces of its own, or None where we may not."""
    words = ["unshare"] + ([] if os.geteuid() == 0 else ["--map-root-user"]) + list(kinds)
    return words if subprocess.run(words + ["true"], capture_output=True).returncode == 0 else None
