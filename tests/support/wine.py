"""tether.exe and other programs of Windows, run under Wine.

What they print goes to files: a process that a program of Windows starts keeps its standard error
of Linux, whatever it was given by Windows, so that a pipe would end with the last of them only. Where
pipes of Windows are needed, agent.exe stands between. Processes are named by the pids of Windows,
which mean nothing outside: agent.exe ends them and waits for them."""
import json
import os
import subprocess
import tempfile
import time

from harness import BUILD, LIMIT, Process, describe
from tether import Instance

WINE = "/usr/lib/wine/wine64"
WINESERVER = "/usr/lib/wine/wineserver64"
BUILT = os.path.join(BUILD, "windows.x86_64")
TETHER_EXE = os.path.join(BUILT, "tether.exe")
AGENT = os.path.join(BUILT, "tests/wine/programs/agent.exe")
SERVER = os.path.join(BUILT, "tests/wine/programs/server.exe")


def windows_path(path):
    """A path of ours, as programs of Windows see it."""
    return "Z:" + str(path).replace("/", "\\")


class WineOwn:
    """Processes that are not ours to end: those that were there, and Wine's own."""

    names = ("winedevice", "plugplay", "svchost", "rpcss", "services", "explorer", "conhost")

    def __init__(self, known):
        self.known = known

    def __contains__(self, pid):
        text = describe(pid)
        return pid in self.known or any("system32\\%s.exe" % name in text for name in self.names)


class Wine:
    """A prefix of our own with an agent in it, which keeps its server running between tests. In a locale in which
    a file may have any name: Wine finds no other than ASCII in that of a minimal system."""

    def __init__(self, prefix):
        self.env = {"WINEPREFIX": prefix, "WINEDEBUG": "-all", "DISPLAY": "", "LC_ALL": "C.UTF-8",
                    "WINEDLLOVERRIDES": "mscoree,mshtml,winedbg.exe="}
        os.makedirs(prefix, exist_ok=True)
        self._call([WINE, "wineboot", "--init"])
        self._let_windows_exist(prefix)
        self.agent = subprocess.Popen([WINE, AGENT], env=dict(os.environ, **self.env), text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.left_of([], 0)  # it is up, and Wine's server with it

    def _let_windows_exist(self, prefix):
        """Although nobody sees them. The desktop asks for it once, when it is made."""
        done = os.path.join(prefix, "windows-exist")
        if os.path.exists(done):
            return
        self._call([WINE, "reg", "add", r"HKCU\Software\Wine\Drivers", "/v", "Graphics", "/d", "null", "/f"])
        self._call([WINESERVER, "-k"])
        self._call([WINESERVER, "-w"])
        with open(done, "w"):
            pass

    def _call(self, argv):
        subprocess.run(argv, env=dict(os.environ, **self.env), stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120, check=False)

    def ask(self, *words):
        self.agent.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.agent.stdin.flush()
        return self.agent.stdout.readline().split()

    def kill(self, pid):
        assert self.ask("kill", pid) == ["ok"], "there is no process %s" % pid

    def left_of(self, pids, limit=LIMIT):
        """Those of the processes that still live after so many seconds."""
        return [int(word) for word in self.ask("gone", int(limit * 1000), *pids)]

    def find(self, *names):
        """The processes of programs of these names."""
        return [int(word) for word in self.ask("find", *names)]

    def owner(self):
        """Starts a process that does nothing: its pid and its start."""
        pid, start = self.ask("owner")
        return int(pid), start

    def close(self):
        self.agent.stdin.close()
        self.agent.wait(LIMIT)
        self.agent.stdout.close()
        self._call([WINESERVER, "-k"])
        self._call([WINESERVER, "-w"])


class Done:
    def __init__(self, status, output):
        self.status = status
        self.output = output


class Watch:
    """States as they come from `tether status --json --watch`."""

    def __init__(self, instance):
        self.process = Process(instance.argv("status", "--json", "--watch"), instance.env)
        self.seen = 0

    def until(self, test, limit=LIMIT):
        """The first state that passes the test."""
        end = time.monotonic() + limit
        with self.process.changed:
            while True:
                lines = self.process.output.split("\n")[self.seen:-1]
                self.seen += len(lines)
                for line in lines:
                    if test(json.loads(line)):
                        return json.loads(line)
                if not self.process.changed.wait(max(0, end - time.monotonic())):
                    raise AssertionError("no such state in:\n" + self.process.output)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stop()


class WineInstance(Instance):
    """An instance of tether.exe, used as tests use that of Linux."""

    def __init__(self, wine, state_dir, *options):
        super().__init__(state_dir, *options, program=TETHER_EXE)
        self.wine = wine
        self.env = dict(wine.env, TETHER_STATE_DIR=windows_path(state_dir))

    def argv(self, command, *arguments):
        return [WINE] + super().argv(command, *arguments)

    def cli(self, command, *arguments, env=None, limit=LIMIT):
        with tempfile.TemporaryFile(mode="w+", errors="replace") as file:
            done = subprocess.run(self.argv(command, *arguments), env=dict(os.environ, **self.env, **(env or {})),
                                  stdin=subprocess.DEVNULL, stdout=file, stderr=file, timeout=limit, check=False)
            file.seek(0)
            return Done(done.returncode, file.read())

    def launch(self, *options, command=(windows_path(SERVER),), env=None, **more):
        return super().launch(*options, command=command, env=env, **more)

    def launch_own(self, *options, env=None):
        """Launches the built-in server."""
        done = self.cli("launch", *self.options, *options, env=env)
        self.result = json.loads(done.output.splitlines()[-1])
        assert self.result["code"] == done.status, done.output
        return self.result

    def run(self, *options, command=(windows_path(SERVER),), env=None, **more):
        return super().run(*options, command=command, env=env, **more)

    def follow(self):
        """`tether logs -f`, from the end on."""
        return Process(self.argv("logs", "-f", "-n", 1), self.env)

    def watch(self):
        """`tether status --json --watch`, read line by line."""
        return Watch(self)

    def front(self, *options):
        """`tether mcp` on pipes of Windows; what is written to its standard input gets there."""
        return Process([WINE, AGENT, "pipes", windows_path(TETHER_EXE), "mcp"] + self.ports + list(options),
                       self.env, stdin=subprocess.PIPE)

    def launch_in_job(self, kind, command=(windows_path(SERVER),)):
        """Launches in a job that is ended when the returned process's input is."""
        words = [windows_path(TETHER_EXE)] + self.argv("launch", "--", *command)[2:]
        job = Process([WINE, AGENT, kind] + words, self.env, stdin=subprocess.PIPE)
        self.result = json.loads(job.expect(r'^\{"result".*\}').group())
        return job

    def wait_end(self, limit=LIMIT):
        assert not self.wine.left_of([self.result["daemon_pid"]], limit)
