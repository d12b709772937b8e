"""What tests of whole programs share: processes that are ended by id, ports, waiting for events.

Nothing here polls on a clock: output is waited for with a condition, the end of a process with a
pidfd. Limits are generous, because machines are busy; they only bound how long a failure takes."""
import ctypes
import os
import random
import re
import select
import signal
import socket
import subprocess
import threading
import time

IS_WINDOWS = os.environ.get("TETHER_SYSTEM") == "windows"
if IS_WINDOWS:
    import on_windows as system
else:
    import on_linux as system
import on_linux
from on_linux import children_of, descendants_of, describe

OUTPUT_MOST = 3.0  # seconds that the rest of an output takes, where its end may not be told
LIMIT = 90.0  # seconds that any single wait may take, on a machine that has much else to do
BUILD, TETHER = system.BUILD, system.TETHER
wait_gone, kill, own_pid = system.wait_gone, system.kill, system.own_pid
PR_SET_CHILD_SUBREAPER = 36


def become_subreaper():
    """Orphans of what a test starts become our children, so that none can hide from the checks."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def open_fds():
    """Our own open files as {number: what it is}, without the one that lists them."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink("/proc/self/fd/" + name)
        except FileNotFoundError:
            pass
    return found


def reap_adopted():
    """Waits for orphans that were handed to us; those of subprocess are left to it."""
    known = {process.pid for process in Process.running}.union(system.children())
    for pid in children_of(os.getpid()):
        if pid not in known:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


def _left(allowed):
    reap_adopted()
    return [pid for pid in descendants_of(os.getpid()) if pid not in allowed and not system.is_own(pid)]


def end_strays(allowed=(), limit=LIMIT):
    """Waits for every descendant that is on its way out, and for its parent to take note. Kills
    what stays, and returns what that was."""
    end = time.monotonic() + limit
    left = _left(allowed)
    while left and time.monotonic() < end:
        try:
            on_linux.wait_gone(left[0], min(end - time.monotonic(), system.BIRTH))
        except TimeoutError:
            system.end_unborn(left)
        before, left = left, _left(allowed)
        if left == before:
            select.select([], [], [], 0.005)  # nothing tells when a parent takes note
    strays = {}
    while left:
        for pid in left:
            strays[pid] = describe(pid)
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it ended by itself
            on_linux.wait_gone(pid)
        left = [pid for pid in _left(allowed) if pid not in strays]
    return list(strays.values())


class Process:
    """A program under test, with all that it prints. Use as a context manager, or end it by stop."""

    running = []
    at_failure = []  # what is to be called when a test has failed

    def __init__(self, argv, env=None, **options):
        environment = dict(os.environ)
        environment.update(env or {})
        self.output = ""
        self.changed = threading.Condition()
        self.popen = system.popen(argv, env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, stdin=options.pop("stdin", subprocess.DEVNULL),
                                  **options)
        self.pid = self.popen.pid
        self.enough, self.tell_enough = os.pipe()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        Process.running.append(self)

    def _read(self):
        """Until the output ends; or, once told so, until nothing more has come: what the program has
        started may hold its output open for long."""
        output = self.popen.stdout.fileno()
        data = b"-"
        while data and output in select.select([output, self.enough], [], [])[0]:
            data = os.read(output, 65536)
            with self.changed:
                self.output += data.decode(errors="replace")
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    def close_output(self):
        """Ends the reader, and only then what it reads from."""
        os.close(self.tell_enough)
        self.reader.join()
        os.close(self.enough)
        self.popen.stdout.close()

    def expect(self, pattern, limit=LIMIT):
        """Waits until the output matches and returns the match."""
        end = time.monotonic() + limit
        with self.changed:
            while True:
                match = re.search(pattern, self.output, re.MULTILINE)
                if match:
                    return match
                if not self.reader.is_alive() or not self.changed.wait(max(0, end - time.monotonic())):
                    if time.monotonic() >= end or not self.reader.is_alive():
                        last = "\n".join(self.output.splitlines()[-40:])
                        raise AssertionError("no %r in the output of %s:\n%s" %
                                             (pattern, self.popen.args, last))

    def end_reading(self):
        os.write(self.tell_enough, b"-")

    def wait(self, limit=LIMIT):
        """Waits for the end and returns the exit status, negative for a signal."""
        system.wait_ended(self.popen, limit)
        status = self.popen.wait()
        if not system.OUTPUT_ENDS and self.reader.is_alive():
            self.reader.join(OUTPUT_MOST)
            self.end_reading()
        self.reader.join(limit)
        if self.reader.is_alive():
            raise TimeoutError("%s has ended, but not its output within %g s" % (self.popen.args, limit))
        return status

    def kill(self, number=signal.SIGKILL):
        self.popen.send_signal(number)

    def stop(self):
        if self in Process.running:
            if self.popen.poll() is None:
                self.kill()
            system.wait_ended(self.popen, LIMIT)
            self.popen.wait()
            self.close_output()
            Process.running.remove(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def run(argv, env=None, limit=LIMIT, **options):
    """Runs a program to its end; returns it, with .status and .output."""
    with Process(argv, env, **options) as process:
        process.status = process.wait(limit)
    return process


def run_apart(argv, env=None, stdout=subprocess.PIPE, stderr=subprocess.PIPE, limit=LIMIT):
    """Runs a program to its end with its two outputs apart, as subprocess.run does."""
    with system.popen(argv, env=dict(os.environ, **(env or {})), stdin=subprocess.DEVNULL, stdout=stdout,
                      stderr=stderr) as process:
        texts = [data and data.decode() for data in process.communicate(timeout=limit)]
    return subprocess.CompletedProcess(argv, process.returncode, *texts)


PORTS = range(14000, 32000, 4)  # below those that the kernel gives out by itself, to connections
claims = []


def _claim(port):
    """Takes the port of UDP, which nothing here speaks: so no other test on this machine, of whatever
    clone or user, takes that of TCP while it is free for a moment."""
    claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        claim.bind(("127.0.0.1", port))
        for each in range(port, port + PORTS.step):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", each))
    except OSError:
        claim.close()
        return False
    claims.append(claim)
    return True


def free_ports(count=2):
    """Ports for this test alone, and with each the three that follow it."""
    found = []
    while len(found) < count:
        port = random.choice(PORTS)
        if _claim(port):
            found.append(port)
    return found


def free_range(count):
    """The first of so many ports in a row."""
    steps = range(0, count, PORTS.step)
    while True:
        first, before = random.choice(PORTS), len(claims)
        if all(first + step in PORTS and _claim(first + step) for step in steps):
            return first
        release_ports(before)


def release_ports(kept):
    """Gives back all ports but those that were claimed first."""
    while len(claims) > kept:
        claims.pop().close()
