"""What tests of owners, trees and replacements share: processes that live, die and report on cue.

Where the system has an event (the end of a process, a line in a FIFO, a message), it is waited for.
wait_until() is the one place that looks again and again, for what no event tells."""
import os
import select
import sys
import time

import on_linux
from harness import IS_WINDOWS, LIMIT, Process, children_of, describe, kill, reap_adopted, system, wait_gone

NEWER = system.NEWER
PROBE = os.path.join(on_linux.BUILT, "tests/programs/probe")
environment_of, command_of, state_of = system.environment_of, system.command_of, system.state_of
Watched, cpu_seconds, wakeups = system.Watched, system.cpu_seconds, system.wakeups
descendants_of = system.descendants_of
CLIENT = os.path.join(os.path.dirname(__file__), "session_client.py")


def wait_until(condition, what, limit=LIMIT):
    """Looks until the condition holds and returns its value."""
    end = time.monotonic() + limit
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError("not within %g s: %s" % (limit, what))
        select.select([], [], [], 0.005)


def stays(pid, seconds):
    """Whether the process is still there after this time; returns at once if it ends."""
    try:
        wait_gone(pid, seconds)
    except TimeoutError:
        return True
    return False


def is_alive(pid):
    """Whether there is such a process that is not a zombie."""
    return state_of(pid) not in "ZX"


def wait_asleep(pid):
    """Waits until a process has not been woken for half a second."""
    def is_asleep():
        before = wakeups(pid)
        return stays(pid, 0.5) and wakeups(pid) == before and state_of(pid) == system.ASLEEP
    wait_until(is_asleep, "process %d sleeps" % pid)


def owner_variables(pid, *aliases):
    """What a server was told of its owner."""
    environment = environment_of(pid)
    return {name: value for name, value in environment.items()
            if name.startswith("TETHER_OWNER") or name in aliases}


def wait_alone(allowed=(), limit=LIMIT):
    """Waits until none of our descendants is left but the allowed and those that the tests keep, and none is about
    to be one."""
    end = time.monotonic() + limit
    while True:
        reap_adopted()
        kept = set(allowed) | {process.pid for process in Process.running}
        left = [pid for pid in system.running() if pid not in kept]
        if not left:
            system.wait_settled()
            return
        try:
            wait_gone(left[0], max(0, end - time.monotonic()))
        except TimeoutError:
            raise TimeoutError("still there: %s" % [describe(pid) for pid in left]) from None


class Fifo:
    """A FIFO into which programs write lines; made for the options of the test server that take a
    file. Lines are small, so they arrive whole. For programs of Windows it is a file."""

    def __init__(self, path, for_windows=False):
        if not for_windows:
            os.mkfifo(path)
        self.path = system.native(path) if for_windows else str(path)
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        self.data = b""

    def line(self, limit=LIMIT):
        end = time.monotonic() + limit
        while b"\n" not in self.data:
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0] or time.monotonic() > end:
                raise TimeoutError("no line in %s within %g s" % (self.path, limit))
            more = os.read(self.fd, 65536)
            if not more:
                select.select([], [], [], 0.005)  # of a file nothing tells that there is more
            self.data += more
        line, self.data = self.data.split(b"\n", 1)
        return line.decode()

    def rest(self):
        """What was written and not looked at."""
        try:
            self.data += os.read(self.fd, 65536)
        except BlockingIOError:
            pass
        return self.data

    def pids(self, count):
        """The pids at the beginning of the next lines."""
        return [int(self.line().split()[0]) for _ in range(count)]

    def close(self):
        os.close(self.fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class SessionProcess(Process):
    """A process that holds a session, as an editor would. Tell it "leave REASON" or "close"."""

    def __init__(self, path, role="editor"):
        ours = [sys.executable, "-S", "-E", CLIENT]
        super().__init__((ours if not IS_WINDOWS else system.SESSION) + [path, role], stdin=-1)
        self.expect("^(welcome|error) ")

    @property
    def welcomed(self):
        return self.output.startswith("welcome ")

    def tell(self, words):
        self.popen.stdin.write(words.encode() + b"\n")
        self.popen.stdin.flush()
        self.expect("^done " + words)

    def stop(self):
        super().stop()
        self.popen.stdin.close()


def stamps_at(path):
    """What the test server writes into."""
    return Fifo(path, for_windows=IS_WINDOWS)


def server_of(instance):
    """The pid of the instance's server, as soon as it has one."""
    return wait_until(lambda: instance.status()["server"]["pid"], "there is a server")


def find_daemon(instance):
    """The daemon of this instance among what we started or adopted; None while there is none."""
    for pid in system.running():
        try:
            words = command_of(pid)
        except (FileNotFoundError, ProcessLookupError):
            continue
        if words[1:2] in (["daemon"], ["run"]) and str(instance.http) in words:
            return pid
    return None


def find_guard(daemon):
    """The guard below a daemon; None while there is none."""
    for pid in children_of(daemon) if daemon else []:
        try:
            with open("/proc/%d/comm" % pid) as file:
                if file.read() == "server-guard\n":
                    return pid
        except (FileNotFoundError, ProcessLookupError):
            pass
    return None
