"""What tests ask of the system that the programs under test run on: Linux, which the tests run on, too.

on_windows.py has the same for programs of Windows; harness.py takes one of the two."""
import contextlib
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time

BUILD = os.environ["TETHER_BUILD"]
TETHER = os.environ.get("TETHER_PROGRAM") or os.path.join(BUILD, "tether")
PROCESSOR = {"aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)  # as Godot names it
BUILT = os.path.join(BUILD, "linux." + PROCESSOR)
PROGRAMS = os.path.join(BUILT, "tests/programs")
SERVER = os.path.join(BUILT, "tests/programs/server")
CLIENT_DRIVE, WEBSOCKET_DRIVE, WEBSOCKET_ECHO = (
    os.path.join(PROGRAMS, name) for name in ("client_drive", "websocket_drive", "websocket_echo"))
NEWER = os.path.join(BUILT, "tests/tether-newer")
UNCERTAIN = os.path.join(BUILT, "tests/tether-uncertain")
IDLE = ["sleep", "1000"]  # a program that does nothing
# An MCP server over standard input and output, which tells its own numbers.
STDIO_STUB = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "stdio_stub.py")]
HOLDER = None  # one that holds sessions, if it is to be another
ENGINE = os.environ.get("TETHER_ENGINE", "")
ENGINE_NOISE = ()  # what this engine says beside that
LIBRARY, LAUNCHER = "libtether.linux.editor.%s.so" % PROCESSOR, "tether.linux." + PROCESSOR  # in the addon
PORT_OUTLIVES = 0  # seconds that a port may be held after its holder's end was told
OUTPUT_ENDS = True  # with the program that writes it, if that has started no other
HELP = "cache/godot"  # where an editor keeps it, in its home()
SHOW_ENVIRONMENT = ["/usr/bin/env"]
FILE_LINKS = True  # whether programs see that a file is a link
ASLEEP = "S"  # the state of a process that waits
UNWAITED = ("Z",)  # the state of a process that has ended, as long as somebody could wait for it
DEADLY = [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV]  # what ends an editor at once, each in its own way
END = "`kill"  # as people are told to
KILLED = "was ended by signal 9 (Killed)"  # as the log words the end of who was killed
ENDED = KILLED  # by the daemon, after the grace
CANNOT_START = {"missing": "No such file or directory", "not in PATH": "No such file or directory",
                "not executable": "Permission denied", "directory": "Permission denied",
                "rubbish": "Exec format error", "bad interpreter": "No such file or directory",
                "below a file": "Not a directory"}
SLOWNESS = 1  # how much less of a thing is enough
WHY_FULL = ": No space left on device"

popen = subprocess.Popen


def is_own(pid):
    """Whether a process is no test's, but of what the tests are run in."""
    return False


BIRTH = 3600  # seconds after which a process that has not begun never will


def end_unborn(pids):
    """Those of them that never will begin."""
    del pids


def wait_settled():
    """Until all that a system does by itself after the end of processes has been done."""


def prepare():
    """Before the first test."""


def command(words):
    """The command of a server."""
    return list(words)


def script(path, text):
    """A program of the shell's."""
    with open(path, "w") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


def children_of(pid):
    found = []
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as file:
                found += [int(word) for word in file.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def _look_below(pid):
    found = children_of(pid)
    for child in list(found):
        found += _look_below(child)
    return found


def descendants_of(pid):
    """All below a process. A child whose parent ends just then stands in neither place, so it is
    looked until two looks agree; among processes that never rest, a hundred times."""
    found = _look_below(pid)
    for _ in range(100):
        before, found = found, _look_below(pid)
        if found == before:
            break
    return found


def running():
    """Programs under test, and what they have started."""
    return descendants_of(os.getpid())


def children():
    """Our own that somebody waits for."""
    return []


def settle():
    """After a test: all that goes on by itself comes to its end."""


def native(path):
    """A path of ours, as the programs under test name it."""
    return str(path)


def local(path):
    """The other way round."""
    return path


def on_screen(name):
    """What is started meanwhile shows its windows on a screen of X11: here each is told by itself."""
    return contextlib.nullcontext(name)


def url(path):
    """A file, as scripts name it."""
    return "file://" + path


def home(folder):
    """Where an editor is to keep its settings and data, as variables."""
    return {"XDG_CONFIG_HOME": folder + "/config", "XDG_DATA_HOME": folder + "/data",
            "XDG_CACHE_HOME": folder + "/cache"}


def calm_editors(folder):
    """Editors with this home() are as they are."""
    del folder


def place_addon(addon, link):
    """Gives a project an addon."""
    os.symlink(addon, link)


def own_pid():
    """Who speaks where a test speaks for itself."""
    return os.getpid()


def identity(pid):
    """The process as it is named in messages: with its start time."""
    with open("/proc/%d/stat" % pid) as file:
        return {"pid": pid, "start": file.read().rsplit(")", 1)[1].split()[19]}


def describe(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            text = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
        with open("/proc/%d/stat" % pid) as file:
            state = file.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "%d (gone)" % pid
    return "%d [%s] %s" % (pid, state, text)


def wait_gone(pid, limit=30.0):
    """Waits until a process, child of ours or not, has ended."""
    try:
        fd = os.pidfd_open(pid)
    except (ProcessLookupError, FileNotFoundError):  # the second while it is being collected
        return
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        if not poll.poll(limit * 1000):
            raise TimeoutError("still there after %g s: %s" % (limit, describe(pid)))
    finally:
        os.close(fd)


def wait_ended(started, limit=30.0):
    """Waits for the end of what popen() started, which keeps it for wait()."""
    wait_gone(started.pid, limit)


def kill(pid, number=signal.SIGKILL):
    """Signals one process that a test started, directly or not."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def state_of(pid):
    """One letter, as of /proc/PID/stat; X for one that is gone."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def environment_of(pid):
    """What the program was started with, as {name: value}."""
    with open("/proc/%d/environ" % pid, "rb") as file:
        entries = file.read().split(b"\0")
    return dict(entry.decode(errors="replace").split("=", 1) for entry in entries if b"=" in entry)


def processes_with(name, value):
    """Those that were started with this variable."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid, "rb") as file:
                if ("%s=%s\0" % (name, value)).encode() in file.read():
                    found.append(int(pid))
        except OSError:
            pass  # it is gone, or not ours
    return found


def command_of(pid):
    with open("/proc/%d/cmdline" % pid, "rb") as file:
        return file.read().decode(errors="replace").split("\0")[:-1]


def folder_of(pid):
    return os.readlink("/proc/%d/cwd" % pid)


def cpu_seconds(pid):
    """How long a process has computed so far: what it takes does not depend on what else runs."""
    with open("/proc/%d/stat" % pid) as file:
        return sum(int(word) for word in file.read().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")


def memory_kb(pid):
    """What is a process's own. A page of its program's file is not: that is shared with whoever else runs it, and
    counts as the process's if nobody does, or, of one just built, as long as it has not reached the disk."""
    with open("/proc/%d/smaps_rollup" % pid) as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Anonymous:"))


def _status_kb(pid, name):
    with open("/proc/%d/status" % pid) as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name))


def resident_kb(pid):
    """What of a process is in memory now."""
    return _status_kb(pid, "VmRSS:")


def peak_kb(pid):
    """What of it was in memory at its largest."""
    return _status_kb(pid, "VmHWM:")


def wakeups(pid):
    """How often a process has gone to sleep, and so how often it was woken; not how often another
    has taken its place on the processor."""
    with open("/proc/%d/status" % pid) as file:
        return next(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt_switches"))


def open_count(pid):
    """How much a process has open."""
    return len(os.listdir("/proc/%d/fd" % pid))


def holder(pid):
    """Of a port, as it is told."""
    return "process %d " % pid


def place():
    """This start of the machine and this pid namespace, as records name them."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        spaces = [os.stat(path).st_ino if os.path.exists(path) else 0 for path in ("/proc/self/ns/pid", "/proc/self/ns/time")]
        return "%s/%d/%d" % (file.read().strip(), *spaces)


def endpoint(directory):
    """Where the daemon of an instance listens, by its directory."""
    return os.path.join(directory, "control.sock")


def connect(path, limit):
    """A socket that is connected with it."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(limit)
    connection.connect(path)
    return connection


class Daemon:
    """What a daemon holds: its lock, and where it listens."""

    def __init__(self, directory, room):
        self.lock = os.open(os.path.join(directory, "lock"), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.fcntl(self.lock, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(os.path.join(directory, "control.sock"))
        self.listener.listen(room)

    def accept(self, limit):
        self.listener.settimeout(limit)
        return self.listener.accept()[0]

    def close(self):
        self.listener.close()
        os.close(self.lock)


PARENT = 'exec 3<&0; "$@" <&3 3<&- & echo "started $!"; wait'


def parent(argv):
    """A program that starts another one, which shares its standard streams, tells its pid, and waits."""
    return ["sh", "-c", PARENT, "sh"] + list(argv)


class Adopted:
    """The child of a parent that may have ended: then it is ours."""

    def __init__(self, pid):
        self.pid, self.status = pid, None

    def is_there(self):
        return self.status is None and state_of(self.pid) != "X"

    def wait(self, limit=30.0):
        """For its end; its exit code, which its parent takes if that lives."""
        if self.status is None:
            wait_gone(self.pid, limit)
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status


class Watched:
    """Processes held by pidfd, so that their end can be told from a number used again."""

    def __init__(self, pids):
        self.fds = {}
        for pid in pids:
            self.add(pid)

    def add(self, pid):
        try:
            self.fds[os.pidfd_open(pid)] = pid
        except OSError as error:
            if error.errno != errno.ESRCH:
                raise

    def pids(self):
        return list(self.fds.values())

    def left(self):
        return sorted(pid for fd, pid in self.fds.items() if not select.select([fd], [], [], 0)[0])

    def wait(self, limit=30.0):
        """Waits until all have ended; returns when that was."""
        end = time.monotonic() + limit
        for fd, pid in self.fds.items():
            if not select.select([fd], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("survived: %s" % [describe(pid) for pid in self.left()])
        return time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for fd in self.fds:
            os.close(fd)
