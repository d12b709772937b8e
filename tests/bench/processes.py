"""What the benchmark needs of the system: processes that are ended by id, pipes by name, ports.

Nothing here looks at a clock to find out whether something happened: the end of a process is told
by its pidfd, what a server reports by a named pipe. Times are CLOCK_MONOTONIC in nanoseconds, as
the test server writes them."""
import errno
import os
import random
import select
import signal
import socket
import time

LIMIT = 20.0  # seconds that any single wait may take before the measurement is given up


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Pid:
    """Any process, held by its pidfd, so that no signal can meet another one with the same number."""

    def __init__(self, pid):
        self.pid = pid
        try:
            self.fd = os.pidfd_open(pid)
        except ProcessLookupError:
            self.fd = -1

    def wait(self, limit=LIMIT):
        """Whether it ended within the limit; a zombie has ended."""
        if self.fd < 0:
            return True
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        return bool(poll.poll(max(0, limit) * 1000))

    def signal(self, number):
        try:
            if self.fd >= 0:
                signal.pidfd_send_signal(self.fd, number)
        except ProcessLookupError:
            pass

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


class Child(Pid):
    """A process that we started. Its group is its own, so that no supervisor meets ours. Both outputs
    go into the file `output`, or stdout into a pipe, to be read, and stderr into `errors` if given."""

    def __init__(self, argv, env=None, output=None, errors=None):
        environment = dict(os.environ)
        environment.update(env or {})
        self.status = None
        self.output = None
        actions = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)]
        if output is None:
            self.output, inner = os.pipe()
            actions.append((os.POSIX_SPAWN_DUP2, inner, 1))
        if output or errors:
            actions.append((os.POSIX_SPAWN_OPEN, 2, output or errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        if output:
            actions.append((os.POSIX_SPAWN_DUP2, 2, 1))
        self.started = now()
        pid = os.posix_spawnp(argv[0], argv, environment, file_actions=actions, setpgroup=0)
        if output is None:
            os.close(inner)
        super().__init__(pid)

    def read_all(self, limit=LIMIT):
        """All that it writes on stdout until it or the last that inherited it closes that."""
        data, end = b"", time.monotonic() + limit
        poll = select.poll()
        poll.register(self.output, select.POLLIN)
        while poll.poll(max(0, end - time.monotonic()) * 1000):
            part = os.read(self.output, 65536)
            if not part:
                return data.decode(errors="replace")
            data += part
        raise TimeoutError("no end of the output of %d after %g s: %r" % (self.pid, limit, data))

    def finish(self, limit=LIMIT):
        """Waits for the end and returns the exit status, negative for a signal."""
        if self.status is None:
            if not self.wait(limit):
                raise TimeoutError("process %d did not end within %g s" % (self.pid, limit))
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            self.close()
            if self.output is not None:
                os.close(self.output)
        return self.status

    def end(self, patience=0.0):
        """Ends it for certain: SIGTERM if it is given patience, then SIGKILL."""
        if self.status is None and patience > 0:
            self.signal(signal.SIGTERM)
            self.wait(patience)
        if self.status is None:
            self.signal(signal.SIGKILL)
            self.finish()


def run(argv, env=None, limit=LIMIT, errors=None):
    """Runs a program to its end; returns the status and what it wrote on stdout."""
    child = Child(argv, env, errors=errors)
    try:
        text = child.read_all(limit)
        return child.finish(limit), text
    finally:
        child.end()


class Fifo:
    """A named pipe into which servers write a line; waiting for a line is one poll."""

    def __init__(self, path):
        os.mkfifo(path, 0o600)
        self.path = path
        self.fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self.rest = b""
        self.lines = []

    def has_line(self, limit=0):
        """Whether a line is there, or comes within the limit."""
        end = time.monotonic() + limit
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        while not self.lines and poll.poll(max(0, end - time.monotonic()) * 1000):
            self.rest += os.read(self.fd, 65536)
            *whole, self.rest = self.rest.split(b"\n")
            self.lines += [[int(word) for word in line.split()] for line in whole]
        return bool(self.lines)

    def next(self, limit=LIMIT):
        """The next line as a list of numbers."""
        if not self.has_line(limit):
            raise TimeoutError("no server reported within %g s" % limit)
        return self.lines.pop(0)

    def close(self):
        os.close(self.fd)
        os.unlink(self.path)


def free_ports(count=2):
    """Ports that are free now, below the range from which the kernel gives out its own."""
    found = []
    while len(found) < count:
        port = random.randrange(20000, 32000)
        if port not in found and is_bindable(port):
            found.append(port)
    return found


def is_bindable(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as every server does
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return False
    return True


def wait_bindable(ports, limit=LIMIT):
    """Waits until all ports can be bound. The kernel tells nobody when that is: call it only once
    the server has ended, then the first look nearly always succeeds."""
    end = time.monotonic() + limit
    pause = select.poll()
    while not all(is_bindable(port) for port in ports):
        if time.monotonic() > end:
            raise TimeoutError("ports %s are still taken after %g s" % (ports, limit))
        pause.poll(0.2)


def wait_moment(seconds):
    """A pause that is itself part of what is measured, such as the idle window."""
    select.select([], [], [], seconds)


# ---- what /proc says of a process ----------------------------------------------------------------

def state_of(pid):
    """The letter of its state, or None if it is gone."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def children_of(pid):
    found = []
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as file:
                found += [int(word) for word in file.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def switches_of(pids):
    """Context switches so far of all threads of these processes: each is a wakeup or a preemption."""
    total = 0
    for pid in pids:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/status" % (pid, task)) as file:
                total += sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)
    return total


def private_kb(pids, clean=True):
    """Memory that these processes share with nobody: clean are file pages, dirty is written to."""
    kinds = ("Private_Clean:", "Private_Dirty:") if clean else ("Private_Dirty:",)
    total = 0
    for pid in pids:
        with open("/proc/%d/smaps_rollup" % pid) as file:
            total += sum(int(line.split()[1]) for line in file if line.startswith(kinds))
    return total


def fds_of(pids):
    return sum(len(os.listdir("/proc/%d/fd" % pid)) for pid in pids)
