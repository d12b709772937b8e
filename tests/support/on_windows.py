"""What tests ask of the system that the programs under test run on: Windows, under Wine.

Pids, pipes and signals of Windows mean nothing here, so one program in there, host.exe, is asked over
TCP: it starts programs with pipes as their standard streams, and tells their ends. The files are the
same for both, under two names. Where a test gives a program of Linux as the server (a script, as a
rule), stand_in.py starts that, and a process of Windows stands in its place: it hears of the end, and
with it the other one ends, too."""
import atexit
import contextlib
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import time

import pytest

import network
import on_linux
import wine_prefix
from on_linux import describe
from stand_in import StandIns
from wine_prefix import ENVIRONMENT, WINE

BUILD = os.environ["TETHER_BUILD"]
BUILT = os.path.join(BUILD, "windows.x86_64")
# It was built without navigation, and says so at each start.
ENGINE_NOISE = ("WARNING: Failed to initialize NavigationServer",)
LIBRARY, LAUNCHER = "libtether.windows.editor.x86_64.dll", "tether.windows.x86_64.exe"
PORT_OUTLIVES = 1  # Wine tells the end of a process that was killed before Linux has closed what it had open
OUTPUT_ENDS = False  # a daemon that was started meanwhile has been seen to hold it open, now and then
HELP = "data/Godot"  # where an editor keeps it, in its home()
SHOW_ENVIRONMENT = ["cmd.exe", "/c", "set"]
FILE_LINKS = False  # Wine says of those of folders alone that they are links
ASLEEP = "R"  # nobody tells more than that it lives
UNWAITED = ("X", "Z")  # it depends on who else still has it open
DEADLY = [signal.SIGKILL]
END = "`taskkill /f /pid"
KILLED = "exited with code 9"
ENDED = "exited with code 1"  # by the daemon, after the grace
CANNOT_START = dict.fromkeys(("missing", "not in PATH", "directory", "below a file"), "there is no such program")
CANNOT_START["rubbish"] = "inappropriate file type or format"
SLOWNESS = 20  # how much less of a thing is enough
WHY_FULL = ""  # to the C library /dev/full is a console, which it writes to at once; why that failed is lost
ACTS = {signal.SIGKILL: "kill", signal.SIGSTOP: "suspend", signal.SIGCONT: "resume", signal.SIGTERM: "interrupt",
        signal.SIGINT: "interrupt"}
STAYING = (["run"], ["mcp"], ["serve"], ["parent"], ["keep"], ["free"])  # those that a person starts in a console
OWN = ("winedevice", "plugplay", "svchost", "rpcss", "services", "explorer", "conhost", "wineboot")


def native(path):
    """A path of ours, as the programs under test name it."""
    return "Z:" + str(path).replace("/", "\\")


def url(path):
    """A file, as scripts name it."""
    return "file:///" + native(path).replace("\\", "/")


def local(path):
    """The other way round."""
    return path[2:].replace("\\", "/")


TETHER = native(os.environ.get("TETHER_PROGRAM") or os.path.join(BUILT, "tether.exe"))
PROGRAMS = os.path.join(BUILT, "tests/programs/windows")
SERVER = native(os.path.join(PROGRAMS, "server.exe"))
CLIENT_DRIVE, WEBSOCKET_DRIVE, WEBSOCKET_ECHO = (
    native(os.path.join(BUILT, "tests/programs", name + ".exe"))
    for name in ("client_drive", "websocket_drive", "websocket_echo"))
NEWER = native(os.path.join(BUILT, "tests/tether-newer.exe"))
STDIO_STUB = [native(os.path.join(PROGRAMS, "stdio_stub.exe"))]
STAND_IN = native(os.path.join(PROGRAMS, "stand_in.exe"))
HOST = os.path.join(PROGRAMS, "host.exe")
IDLE, PEER, SESSION, HOLDER = ([native(HOST), word] for word in ("idle", "peer", "session", "sessions"))
ENGINE = native(os.environ["TETHER_ENGINE_WINDOWS"]) if os.environ.get("TETHER_ENGINE_WINDOWS") else ""


def is_windows(argv):
    return re.match(r"[A-Z]:\\", argv[0]) is not None


def is_own(pid):
    """Whether a process is no test's, but Wine's or the host: those of Wine come when they are needed."""
    text = describe(pid)
    return ("wineserver64" in text or any("system32\\%s.exe" % name in text for name in OWN)
            or pid in [one.process.pid for one in _hosts])


BIRTH = 10  # seconds after which a process that has not begun never will


def _is_unborn(pid):
    """If who starts a program is ended in the middle of that, or that program is, Wine now and then leaves a process of
    Linux that has not become one of Windows and waits for ever, with all that it was handed down. It still has the name
    that Wine was started by."""
    return "] %s " % WINE in describe(pid)


def end_unborn(pids):
    """Of these, which are that old."""
    for pid in pids:
        if _is_unborn(pid):
            os.kill(pid, signal.SIGKILL)


def _consoles_of_nobody():
    """Wine starts the server of a console as a process of who has the console, and hands down all to it. Who is ended
    in the middle of that leaves one that waits for ever."""
    listed = [word.split(" ", 2) for word in _words("list")]
    there = {pid for pid, _, _ in listed}
    return [int(pid) for pid, parent, name in listed if name == "conhost.exe" and parent not in there]


def wait_settled():
    """Until all that Wine has begun is a process of Windows, and the consoles of those that have ended are gone. Ends
    what stays for ever."""
    end = time.monotonic() + BIRTH
    while True:
        unborn = [pid for pid in on_linux.descendants_of(os.getpid()) if _is_unborn(pid) and not is_own(pid)]
        consoles = _consoles_of_nobody()
        if not unborn and not consoles:
            return
        assert time.monotonic() < 3 * BIRTH + end, "they do not end: %s, consoles %s" % (unborn, consoles)
        if time.monotonic() > end:
            end_unborn(unborn)
            for pid in consoles:
                kill(pid, signal.SIGKILL)
        select.select([], [], [], 0.01)  # nothing tells of a new name


def _said_in():
    return os.environ["TETHER_WINEPREFIX"] + ".said"


_heard = 0  # bytes of it


def said():
    """What Wine has said of its programs since the last time: where one has crashed."""
    global _heard
    with open(_said_in(), "rb") as file:
        file.seek(_heard)
        text = file.read()
    _heard += len(text)
    return text.decode(errors="replace")


class _Host:
    """In a prefix of its own."""

    def __init__(self, prefix, screen=""):
        self.env = {**os.environ, **ENVIRONMENT, "WINEPREFIX": prefix, "DISPLAY": screen, "LIBGL_ALWAYS_SOFTWARE": "1"}
        self.prefix = prefix
        wine_prefix.make(prefix, bool(screen))
        self.began_with = dict(os.environ)
        with open(_said_in(), "ab") as errors:
            self.process = subprocess.Popen([WINE, HOST], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=errors)
        _hosts.append(self)
        port = self.process.stdout.readline()
        if not port:
            wine_prefix.end(prefix)  # or the next one would be this one
            pytest.exit("Wine has not come up", CRASHED)
        self.port = int(port)
        pid, start, self.user = self.ask("self").split()
        self.identity = {"pid": int(pid), "start": start}
        self.stand_ins = StandIns(_translate, environment_of(int(pid), self))

    def request(self, *words):
        try:
            connection = socket.create_connection(("127.0.0.1", self.port))
        except ConnectionRefusedError:
            _tell_crash()
            raise
        data = b"".join(str(word).encode(errors="surrogateescape") + b"\0" for word in words)
        connection.sendall(struct.pack("<I", len(data)) + data)
        return connection

    def ask(self, *words):
        with self.request(*words) as connection:
            return read_line(connection)

    def close(self):
        self.stand_ins.close()
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()
        wine_prefix.end(self.prefix)
        _hosts.remove(self)


_host = None
_hosts = []


def host():
    global _host
    if not _host:
        network.make_own()  # also where a file asks for something before its first test
        open(_said_in(), "wb").close()
        _host = _Host(os.environ["TETHER_WINEPREFIX"])
        atexit.register(_host.close)
    return _host


def prepare():
    """Before the first test."""
    _stay_on_one_processor()
    host()


def _stay_on_one_processor():
    """With all that is started from here. Nearly all that programs do under Wine is a question to its server: where the two
    are on processors of a virtual machine that wake each other, that takes twice the time, of both."""
    lane = os.environ["TETHER_WINEPREFIX"].rpartition(".")[2]
    usable = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, usable[int(lane) % len(usable):][:1] if lane.isdigit() else usable[:1])


@contextlib.contextmanager
def on_screen(name):
    """What is started meanwhile shows its windows on a screen of X11."""
    global _host
    kept = host()
    _host = _Host(os.environ["TETHER_WINEPREFIX"] + ".screen", name)
    try:
        yield
    finally:
        _host.close()
        _host = kept


CRASHED = 75  # what pytest exits with then


def _tell_crash():
    """The server of Wine 8 now and then reads what it has freed, when it ends a thread that waited for something, and with
    it all ends. A file of tests that this happens in says nothing, and is begun once more (areas.sh)."""
    left = on_linux.descendants_of(os.getpid())
    if any("wineserver64" in describe(pid) for pid in left):
        return
    for one in _hosts:
        atexit.unregister(one.close)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    pytest.exit("the server of Wine has crashed", CRASHED)


def read_line(connection):
    """A line and nothing behind it."""
    line = b""
    while not line.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte:
            _tell_crash()
            raise EOFError("host.exe has hung up")
        line += byte
    return line[:-1].decode()


class _Popen:
    """As much of subprocess.Popen as tests use."""

    def __init__(self, argv, env=None, cwd=None, stdin=None, stdout=None, stderr=None, console=None):
        if console is None:
            console = argv[1:2] in STAYING or argv[0] == WEBSOCKET_ECHO
        if argv[0] == ENGINE:  # its own words on a crash do not tell where that was, Wine's do
            argv = [ENGINE, "--disable-crash-handler", *argv[1:]]
        self.args, self.returncode = argv, None
        self.stdin = self.stdout = self.stderr = None
        words = [self._stream("stdin", stdin, "wb"), self._stream("stdout", stdout, "rb"),
                 "same" if stderr == subprocess.STDOUT else self._stream("stderr", stderr, "rb")]
        changes = _changes(os.environ if env is None else env)
        self.connection = host().request("run", subprocess.list2cmdline(argv), native(cwd) if cwd else "",
                                         int(console), *words, *changes)
        pid, self.start, began = read_line(self.connection).split()
        if pid == "error":
            self.connection.close()
            raise OSError("Windows cannot start %s: error %s" % (argv, self.start))
        self.pid = int(pid)
        self.began = int(began)  # before it was created, as the test server's stamps tell the time

    def _stream(self, name, wanted, mode):
        if wanted == subprocess.PIPE:
            connection = host().request("stream")
            number = read_line(connection)
            setattr(self, name, os.fdopen(connection.detach(), mode))
            return number
        if wanted in (None, subprocess.DEVNULL):
            return "null"
        number = wanted if isinstance(wanted, int) else wanted.fileno()
        path = os.readlink("/proc/self/fd/%d" % number)
        assert path.startswith("/"), "programs of Windows do not get %s" % path
        return native(path)

    def ended(self, limit):
        """Whether it has, within this time."""
        if self.returncode is None and select.select([self.connection], [], [], limit)[0]:
            self.returncode = int(read_line(self.connection))
            self.connection.close()
        return self.returncode is not None

    def poll(self):
        self.ended(0)
        return self.returncode

    def wait(self, timeout=None):
        if not self.ended(timeout):
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def communicate(self, data=None, timeout=None):
        """Of one stream at most: what is written to both is small."""
        if self.stdin:
            self.stdin.write(data or b"")
            self.stdin.close()
        found = [stream.read() if stream else None for stream in (self.stdout, self.stderr)]
        self.wait(timeout)
        return tuple(found)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream and not stream.closed:
                stream.close()
        self.wait()


def _changes(env):
    """What this environment has more or less than that of the host, which ours was."""
    base = host().began_with
    changes = [name for name in base if name not in env]
    for name, value in env.items():
        if base.get(name) != value:
            is_path = name == "TETHER_STATE_DIR" and value.startswith("/")
            changes.append("%s=%s" % (name, native(value) if is_path else value))
    return changes


def popen(argv, **options):
    """A program of Windows, by its path there, or one of Linux."""
    if not is_windows(argv):
        return subprocess.Popen(argv, **options)
    return _Popen(argv, **options)


def command(words):
    """The command of a server: a program of Windows as it is, for one of Linux its stand-in."""
    words = [str(word) for word in words]
    if not words or is_windows(words) or not shutil.which(words[0]):
        return words
    return [STAND_IN, str(host().stand_ins.port)] + words


def script(path, text):
    """A program of the shell's of Linux, or what stands for it."""
    shutil.copy(local(STAND_IN), path + ".exe")
    with open(path + ".exe.is", "w") as file:
        file.write("%d %s" % (host().stand_ins.port, on_linux.script(path, text)))
    return native(path + ".exe")


def home(folder):
    """Where an editor is to keep its settings and data, as variables."""
    for name in ("config", "data"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    return {"APPDATA": native(folder + "/config"), "LOCALAPPDATA": native(folder + "/data")}


def calm_editors(folder):
    """Editors with this home() have fewer frames, for each costs more here, and many wait at a time."""
    os.makedirs(os.path.join(folder, "config/Godot"), exist_ok=True)
    with open(os.path.join(folder, "config/Godot/editor_settings-4.6.tres"), "w") as file:
        file.write('[gd_resource type="EditorSettings" format=3]\n\n[resource]\n'
                   "interface/editor/low_processor_mode_sleep_usec = 20000\n"
                   "interface/editor/unfocused_low_processor_mode_sleep_usec = 20000\n")


def place_addon(addon, link):
    """Gives a project an addon, which is a copy: the engine puts another one of the library beside it and
    loads that, and no two editors can have the same. Files are links."""
    project = os.path.dirname(os.path.dirname(link))
    copy = "%s.%s" % (project, os.path.basename(link))
    shutil.copytree(addon, copy, copy_function=os.symlink, ignore=shutil.ignore_patterns("~*"))
    os.symlink(copy, link)


def own_pid():
    """Who speaks where a test speaks for itself: the host's connections are ours."""
    return host().identity["pid"]


def identity(pid):
    """The process as it is named in messages: with its start time."""
    start = host().ask("start", pid)
    if start == "gone":
        raise ProcessLookupError(pid)
    return {"pid": pid, "start": start.split()[-1]}


def wait_gone(pid, limit=30.0):
    """Waits until a process of Windows has ended."""
    if host().ask("await", int(limit * 1000), pid) != "gone":
        raise TimeoutError("still there after %g s: process %d" % (limit, pid))


def wait_ended(started, limit=30.0):
    """Waits for the end of what popen() started."""
    if not isinstance(started, _Popen):
        on_linux.wait_ended(started, limit)
    elif not started.ended(limit):
        raise TimeoutError("still there after %g s: %s" % (limit, started.args))


_suspended = set()  # by us; nobody tells


def kill(pid, number=signal.SIGKILL):
    """What comes nearest to this signal, for a process of Windows."""
    if number == signal.SIGKILL and host().stand_ins.kill(pid):
        return wait_gone(pid)
    host().ask(ACTS[number], pid)
    if number == signal.SIGSTOP:
        _suspended.add(pid)
    else:
        _suspended.discard(pid)


def state_of(pid):
    """X for one that is gone, Z for one that has ended but is held by somebody, T for one that was
    suspended, R for any other that lives."""
    state = {"gone": "X", "ended": "Z"}.get(host().ask("start", pid).split()[0], "R")
    return "T" if state == "R" and pid in _suspended else state


def _translate(words, env):
    """What a program of Linux is told, by what a program of Windows was."""
    return [re.sub(r"Z:\\[^\s'\";]*", lambda path: local(path.group()), word.replace(SERVER, on_linux.SERVER))
            for word in words], env


def _list():
    """{pid: its parent} of all processes but Wine's own and the host."""
    found = {}
    for word in _words("list"):
        pid, parent, name = word.split(" ", 2)
        if name.rsplit(".", 1)[0] not in OWN and int(pid) != own_pid():
            found[int(pid)] = int(parent)
    return found


def running():
    """Programs under test, and what they have started."""
    return list(_list())


def descendants_of(pid):
    """All below a process, as long as those between live."""
    parents, found = _list(), [pid]
    for above in found:
        found += [child for child, parent in parents.items() if parent == above]
    return found[1:]


def children():
    """Our own that somebody waits for."""
    return host().stand_ins.pids()


def settle():
    """After a test: all that goes on by itself comes to its end."""
    host().stand_ins.wait(30)


def _words(*request, by=None):
    with (by or host()).request(*request) as connection, connection.makefile("rb") as file:
        return file.read().decode().split("\0")[:-1]


def environment_of(pid, by=None):
    """What the program was started with, as {name: value}."""
    return dict(entry.split("=", 1) for entry in _words("environment", pid, by=by) if not entry.startswith("="))


def processes_with(name, value):
    """Those that live and were started with this variable."""
    found = []
    for pid in _list():
        try:
            is_one = state_of(pid) == "R" and environment_of(pid).get(name) == native(value)
        except (OSError, ValueError):
            is_one = False  # it is gone meanwhile
        found += [pid] * is_one
    return found


def command_of(pid):
    line = _words("command", pid)
    if not line:
        raise ProcessLookupError(pid)
    words = re.findall(r'(?:[^\s"]|"(?:\\"|[^"])*")+', line[0])
    return [re.sub(r'(?<!\\)"', "", word).replace('\\"', '"') for word in words]


def folder_of(pid):
    return local(_words("folder", pid)[0]).rstrip("/")


_numbers = {}  # of Linux, by pid and start


def _on_linux(pid):
    """The number that Linux has for a process of Windows: by its command line, in which there are ports or paths of
    the test's own. That is looked up once, for whoever is asked for it wakes up."""
    identified = pid, host().ask("start", pid)
    if identified not in _numbers:
        _numbers[identified] = _find([word for word in command_of(pid) if word])
    return _numbers[identified]


def _find(words):
    for found in on_linux.descendants_of(os.getpid()):
        try:
            if [word for word in on_linux.command_of(found) if word] == words:
                return found
        except FileNotFoundError:
            pass  # it is gone
    raise ProcessLookupError(words)


def cpu_seconds(pid):
    """With what Wine takes for itself, in the process. What it lets its server do is not counted."""
    return on_linux.cpu_seconds(_on_linux(pid))


def resident_kb(pid):
    return on_linux.resident_kb(_on_linux(pid))


def memory_kb(pid):
    return on_linux.memory_kb(_on_linux(pid))


WINE_KB = 16384  # of libraries that tether.exe has loaded, and one that does nothing has not


def peak_kb(pid):
    """Without what a program takes under Wine that does nothing, and not all the libraries that there are."""
    with popen(IDLE) as idle:
        try:
            of_wine = on_linux.peak_kb(_on_linux(idle.pid))
        finally:
            idle.kill()
    return on_linux.peak_kb(_on_linux(pid)) - of_wine - WINE_KB


def wakeups(pid):
    """Of all threads but those of Wine's own pool, of which one looks every five seconds whether there is something to
    do. What they do for us wakes others, too."""
    total, folder = 0, "/proc/%d/task" % _on_linux(pid)
    for task in os.listdir(folder):
        with open("%s/%s/status" % (folder, task)) as file:
            lines = file.read().splitlines()
        if lines[0] != "Name:\twine_threadpool":
            total += sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))
    return total


def open_count(pid):
    """How much a process has open."""
    return int(host().ask("handles", pid))


def holder(pid):
    """Of a port, as it is told: Wine does not say who it is."""
    del pid
    return ""


def place():
    """This machine, as records name it."""
    return "windows/" + environment_of(own_pid())["COMPUTERNAME"]


def endpoint(directory):
    """Where the daemon of an instance listens, by its directory."""
    value = 0xcbf29ce484222325
    for byte in native(directory).encode():
        value = (value ^ (byte + 32 if 65 <= byte <= 90 else byte)) * 0x100000001b3 % (1 << 64)
    return "\\\\.\\pipe\\tether-%s-%016x" % (host().user, value)


def connect(path, limit):
    """A socket that is connected with it, by way of the host."""
    connection = host().request("connect", path)
    connection.settimeout(limit)
    if read_line(connection) != "ok":
        connection.close()
        raise ConnectionRefusedError(path)
    return connection


class Daemon:
    """What a daemon holds: its lock, and where it listens."""

    def __init__(self, directory, room):
        del room  # one waits at a time
        self.path = endpoint(directory)
        self.lock = host().request("hold", native(os.path.join(directory, "lock")))
        assert read_line(self.lock) == "ok"
        self._wait()

    def _wait(self):
        self.waiting = host().request("accept", self.path)
        assert read_line(self.waiting) == "waiting"

    def accept(self, limit):
        taken = self.waiting
        taken.settimeout(limit)
        assert read_line(taken) == "ok"
        self._wait()
        return taken

    def close(self):
        self.waiting.close()
        self.lock.close()


def parent(argv):
    """A program that starts another one, which shares its standard streams, tells its pid, and waits."""
    return [native(HOST), "parent"] + list(argv)


def in_job(kind, argv):
    """A program that starts another one in a job that nobody may leave ("keep") or everybody ("free"), and ends
    the job when its standard input ends."""
    return [native(HOST), kind] + list(argv)


class Adopted:
    """The child of a parent that may have ended."""

    def __init__(self, pid):
        self.connection = host().request("attach", pid)
        self.pid, self.status = pid, None
        assert read_line(self.connection) == "ok"

    def is_there(self):
        return self.status is None and state_of(self.pid) == "R"

    def wait(self, limit=30.0):
        """For its end; its exit code."""
        if self.status is None:
            self.connection.settimeout(limit)
            self.status = int(read_line(self.connection))
            self.connection.close()
        return self.status


class Watched:
    """Processes held by what cannot be another's, so that their end can be told from a number used again."""

    def __init__(self, pids):
        self.starts = {}
        for pid in pids:
            self.add(pid)

    def add(self, pid):
        start = host().ask("start", pid)
        if start.isdigit():
            self.starts[pid] = start

    def pids(self):
        return list(self.starts)

    def left(self):
        return sorted(pid for pid, start in self.starts.items() if host().ask("start", pid) == start)

    def wait(self, limit=30.0):
        """Waits until all have ended; returns when that was."""
        end = time.monotonic() + limit
        for pid in self.left():
            if host().ask("await", int(max(0, end - time.monotonic()) * 1000), pid) != "gone":
                raise TimeoutError("survived: %s" % self.left())
        return time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass
