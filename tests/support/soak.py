"""What may happen to tether in the course of years, within minutes and in any order: several instances,
launched, adopted, stopped and restarted at once, by whom is killed, stopped and continued at any time.

    soak.py [--seconds N] [--seed N]

Time is cut into rounds. In a round things happen at random; then everybody goes, and nothing of it may
be left: no process, no port, no socket, no record. The seed gives the order of what is tried; what
comes of it depends on the machine, too."""
import argparse
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import harness
from harness import Process, children_of, describe, descendants_of
from scene import CLIENT, environment_of, state_of, wait_until
from tether import SERVER, Instance

INSTANCES = 3
ROUND_SECONDS = 6.0
SETTLE = 90.0  # seconds in which all must be over, on a machine that does much else
MOST = 12      # of each kind of thing at a time
ENV = {"TETHER_GRACE_MS": "50", "TETHER_STOP_GRACE_MS": "150", "TETHER_READY_TIMEOUT_MS": "2000",
       "TETHER_POLL_MS": "50"}
CODES = {"launch": (0, 1, 3, 4), "run": (0, 1, 3, 4), "mcp": (0, 1), "stop": (0, 1, 5), "restart": (0, 1, 4, 5),
         "status": (0, 1, 5), "sweep": (0, 1), "doctor": (0, 1), "logs": (0, 1, 5)}
OURS = {"tether", "server-guard"}
BROKEN = {signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSYS, signal.SIGTRAP}
STAY = ["last.json", "launcher.log", "launcher.log.1", "lock", "offer.json", "server.log", "server.log.1", "sessions", "sessions.key",
        *("offer-%d.json" % i for i in range(16))]


class Found(Exception):
    """Something that must not be."""


def name_of(pid):
    try:
        with open("/proc/%d/comm" % pid) as file:
            return file.read().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def parent_of(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return int(file.read().rsplit(")", 1)[1].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def daemon_of(pid):
    """The daemon that started it, as its environment says; 0 where that says nothing."""
    try:
        return int(environment_of(pid).get("TETHER_DAEMON", "0").split(":")[0])
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0


class Someone(Process):
    """A process with an input of its own, which ends with us."""

    def __init__(self, argv, env=None):
        super().__init__(argv, env, stdin=subprocess.PIPE)

    def stop(self):
        super().stop()
        self.popen.stdin.close()


class Round:
    """One round of it: what runs, and whom we have hit."""

    def __init__(self, folder, instances, seed, number):
        self.random = random.Random("%s %d" % (seed, number))
        self.folder = folder
        self.instances = instances
        self.is_owned = self.random.random() < 0.7  # or it needs to be stopped
        self.people = []    # owners, and whoever has a session
        self.commands = []
        self.stopped = []   # pidfds with the time at which they go on
        self.hit = set()    # pids that got a signal
        self.struck = set() # daemons that were killed; guards are struck with their daemon's pid
        self.guards_of = set()
        self.orphaned = {}  # guards whose daemon was struck before them: that daemon
        self.lost_records = False
        self.trail = []
        self.before = set(descendants_of(os.getpid()))
        self.began = time.monotonic()

    def note(self, text):
        self.trail.append("%7.3f %s" % (time.monotonic() - self.began, text))

    # ---- what is done ----

    def someone(self):
        alive = [one for one in self.people if one.popen.poll() is None]
        return self.random.choice(alive) if alive else None

    def new_owner(self):
        if len(self.people) < MOST:
            self.people.append(Someone(["cat"]))
            self.note("owner %d" % self.people[-1].pid)

    def server_words(self):
        escapes = os.path.join(self.folder, "escapes")
        return self.random.choice([
            ["--", SERVER], ["--", SERVER], ["--", SERVER, "--ignore-term"], ["--", SERVER, "--escape", escapes],
            ["--", SERVER, "--exit", "3", "--after-ms", "30"], ["--", SERVER, "--never-ready"],
            ["--", SERVER, "--term-delay-ms", "100"], ["--", SERVER, "--stop-self"],
            ["--hold-ports", "--ready", "notify", "--", SERVER, "--listen-fds", "--notify"], []])

    def begin(self, name, *words):
        running = [one for one in self.commands if one.popen.poll() is None]
        if len(running) >= MOST:
            return
        it = self.random.choice(self.instances)
        kind = Someone if name == "mcp" else Process
        command = kind(it.argv(name, *words), dict(it.env, **ENV))
        command.what = name
        self.commands.append(command)
        if name == "mcp":
            self.people.append(command)
        self.note("%s %s: %d" % (it.name, " ".join([name, *map(os.path.basename, map(str, words))]), command.pid))

    def start(self):
        name = self.random.choice(["launch", "launch", "launch", "launch", "run", "mcp"])
        words = self.server_words()
        owner = self.someone()
        if name != "mcp" and self.is_owned:
            if not owner:
                return self.new_owner()
            words = ["--owner-pid", owner.pid] + words
        if name == "mcp":
            words = ["--transport", "http"] + words if words and self.random.random() < 0.5 else []
        self.begin(name, *words)

    def ask(self):
        name, *words = self.random.choice([["stop"], ["stop", "--force"], ["restart"], ["restart"], ["status"],
                                           ["status", "--json"], ["sweep"], ["doctor"], ["logs"]])
        self.begin(name, *words)

    def new_session(self):
        if len(self.people) < MOST:
            it = self.random.choice(self.instances)
            role = self.random.choice(["editor", "editor", "front", "anonymous"])
            self.people.append(Someone([sys.executable, "-S", "-E", CLIENT, it.directory + "/control.sock", role]))
            self.note("%s session %d" % (it.name, self.people[-1].pid))

    def tell_session(self):
        one = self.someone()
        if one and "session_client" in str(one.popen.args):
            word = self.random.choice(["leave quit", "leave disable", "leave reload", "close", "hello"])
            self.note("tell %d: %s" % (one.pid, word))
            try:
                one.popen.stdin.write(word.encode() + b"\n")
                one.popen.stdin.flush()
            except BrokenPipeError:
                pass

    def signal_to(self, pid, number):
        """Only to what is below us when the signal is sent; a number used again is nobody's."""
        try:
            handle = os.pidfd_open(pid)
        except OSError:
            return
        name, parent, what = name_of(pid), parent_of(pid), describe(pid)
        try:
            if pid in descendants_of(os.getpid()) and pid not in self.before:
                self.orphaned.update((child, pid) for child in children_of(pid) if name_of(child) == "server-guard")
                signal.pidfd_send_signal(handle, number)
                self.hit.add(pid)
                self.note("%s to %s" % (signal.Signals(number).name, what))
                if number in (signal.SIGKILL, signal.SIGSTOP):
                    self.struck.add(pid)
                    if name == "server-guard":
                        self.guards_of.add(self.orphaned.get(pid, parent))
                if number == signal.SIGSTOP:
                    self.stopped.append((time.monotonic() + self.random.expovariate(2), handle))
                    handle = None
        except ProcessLookupError:
            pass
        finally:
            if handle is not None:
                os.close(handle)

    def strike(self):
        """At first a kind of process, then one of it: else it would be servers most of the time."""
        kinds = {}
        for pid in descendants_of(os.getpid()):
            if pid not in self.before and state_of(pid) not in "ZX":
                kinds.setdefault(name_of(pid), []).append(pid)
        if not kinds:
            return
        name = self.random.choice(sorted(kinds))
        number = self.random.choice([signal.SIGKILL] * 4 + [signal.SIGSTOP] * 4 +
                                    [signal.SIGTERM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
        pids = kinds[name] if self.random.random() < 0.05 else [self.random.choice(kinds[name])]
        for pid in pids:
            self.signal_to(pid, number)

    def remove(self):
        """As those do who clean /tmp. Without its record, what a killed daemon left is nobody's."""
        it = self.random.choice(self.instances)
        name = self.random.choice(["lock", "control.sock", "state.json", ""])
        self.note("%s without %s" % (it.name, name or "its directory"))
        self.lost_records = True
        if name:
            try:
                os.unlink(os.path.join(it.directory, name))
            except FileNotFoundError:
                pass
        else:
            shutil.rmtree(it.directory, ignore_errors=True)

    # ---- in between ----

    def go_on(self, at):
        """Continues those whose time has come."""
        for when, handle in list(self.stopped):
            if when <= at:
                try:
                    signal.pidfd_send_signal(handle, signal.SIGCONT)
                except ProcessLookupError:
                    pass
                os.close(handle)
                self.stopped.remove((when, handle))

    def reap(self):
        """Orphans come to us; how they ended tells whether it was a fault of theirs."""
        known = {process.pid for process in Process.running}
        for pid in harness.children_of(os.getpid()):
            if pid in known or pid in self.before:
                continue
            what = describe(pid)
            try:
                done, status = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                continue
            if done and os.WIFSIGNALED(status) and os.WTERMSIG(status) in BROKEN:
                raise Found("%s ended by signal %d" % (what, os.WTERMSIG(status)))

    def check_commands(self):
        for one in list(self.commands):
            status = one.popen.poll()
            if status is None:
                continue
            one.stop()
            self.commands.remove(one)
            if one in self.people:
                self.people.remove(one)
            self.note("%d %s ended with %d" % (one.pid, one.what, status))
            if "must hold" in one.output or "Sanitizer" in one.output:
                raise Found("%s %d: %s" % (one.what, one.pid, one.output))
            if one.pid not in self.hit and status not in CODES[one.what]:
                raise Found("%s %d ended with %d: %s" % (one.what, one.pid, status, one.output))

    def check_people(self):
        """Nobody ends an owner, or whoever uses a server, but we."""
        for one in list(self.people):
            if one in self.commands or one.popen.poll() is None:
                continue
            status = one.popen.poll()
            one.stop()
            self.people.remove(one)
            if status < 0 and one.pid not in self.hit:
                raise Found("%s was ended by signal %d" % (one.popen.args, -status))

    def happen(self, seconds):
        acts = ([self.start] * 6 + [self.ask] * 4 + [self.strike] * 6 + [self.new_owner] * 2 +
                [self.new_session] * 3 + [self.tell_session] * 2 + [self.remove] * (self.random.random() < 0.3))
        end = time.monotonic() + seconds
        self.new_owner()
        while time.monotonic() < end:
            self.random.choice(acts)()
            self.go_on(time.monotonic())
            self.reap()
            self.check_commands()
            self.check_people()
            select.select([], [], [], self.random.choice([0, self.random.uniform(0, 0.01), self.random.uniform(0, 0.2)]))

    # ---- everybody goes ----

    def left(self):
        self.reap()
        self.check_commands()
        kept = {process.pid for process in Process.running}
        return [pid for pid in descendants_of(os.getpid()) if pid not in kept and pid not in self.before]

    def is_over(self):
        if not self.is_owned and not [one for one in self.commands if one.what == "stop"]:
            for it in self.instances:
                self.commands.append(Process(it.argv("stop", "--force"), dict(it.env, **ENV)))
                self.commands[-1].what = "stop"
        left = [pid for pid in self.left() if not self.is_excused(pid)]
        return not left and not [one for one in self.commands if one.what != "stop"]

    def wait(self, condition, limit):
        try:
            return wait_until(condition, "", limit)
        except TimeoutError:
            return False

    def last_blow(self):
        """After it nobody comes who would end what is left over."""
        guards = [pid for pid in descendants_of(os.getpid()) if name_of(pid) == "server-guard"]
        for pid in guards:
            whom = self.random.choice([0, 0, pid, parent_of(pid), parent_of(pid)])
            if whom and whom != os.getpid():
                self.signal_to(whom, signal.SIGKILL)

    def everybody_goes(self):
        self.go_on(float("inf"))
        self.last_blow()
        for one in list(self.people):
            self.hit.add(one.pid)
            one.kill()
        self.note("everybody has gone")
        over = self.wait(self.is_over, SETTLE)
        self.wait(lambda: self.check_commands() or not self.commands, SETTLE)
        if not over:
            raise Found("still there: %s" % [describe(pid) for pid in self.left() if not self.is_excused(pid)])

    def both_struck(self):
        """The daemons that were hit with their guards, at once or nearly so."""
        return self.guards_of & self.struck

    def is_excused(self, pid):
        """What those leave waits for the next start; whose it is may be told by nothing."""
        return name_of(pid) not in OURS and daemon_of(pid) in self.both_struck() | ({0} if self.both_struck() else set())

    def sweep(self):
        """What nothing proves to be ours stays: without record, mark or descent. We say who that was."""
        for it in self.instances:
            done = it.cli("sweep", env=ENV, limit=SETTLE)
            self.note("%s: %s" % (it.name, done.output.strip()))
            if done.status != 0:
                raise Found("sweep ended with %d: %s" % (done.status, done.output))
        if self.wait(lambda: not self.left(), 5 if self.both_struck() else SETTLE):
            return
        for pid in self.left():
            what = describe(pid)
            if not self.is_excused(pid) or (daemon_of(pid) and not self.lost_records):
                raise Found("not swept: %s" % what)
            self.note("promised to nobody, so ended here: %s" % what)
            self.signal_to(pid, signal.SIGKILL)
        if not self.wait(lambda: not self.left(), SETTLE):
            raise Found("does not end: %s" % [describe(pid) for pid in self.left()])

    def check_places(self):
        for it in self.instances:
            if not self.wait(it.ports_are_free, 10):
                raise Found("a port of %s is taken" % it.name)
            names = os.listdir(it.directory) if os.path.isdir(it.directory) else []
            rest = [name for name in names if name not in STAY]
            sessions = os.path.join(it.directory, "sessions")
            rest += os.listdir(sessions) if os.path.isdir(sessions) else []
            if rest:
                raise Found("%s keeps %s" % (it.directory, rest))

    def check_next(self):
        """And it can be had again."""
        it = self.random.choice(self.instances)
        result = it.launch(limit=SETTLE)
        if result["code"] != 0 or result["result"] != "started":
            raise Found("the next launch: %s" % result)
        done = it.cli("stop", limit=SETTLE)
        if done.status != 0:
            raise Found("the next stop: %s" % done.output)
        if not self.wait(lambda: not self.left(), SETTLE):
            raise Found("left after it: %s" % [describe(pid) for pid in self.left()])
        self.check_places()

    def close(self):
        self.go_on(float("inf"))
        for one in self.people + self.commands:
            one.stop()

    def tell(self, out):
        print("\n".join(self.trail), file=out)
        for it in self.instances:
            try:
                print("---- %s\n%s" % (it.name, it.log()), file=out)
            except OSError:
                pass


def soak(folder, seconds, seed, say):
    """Rounds until the time is over. Raises Found, with all that was done printed before."""
    state_dir = os.path.join(folder, "state")
    os.makedirs(state_dir, mode=0o700, exist_ok=True)
    instances = [Instance(state_dir) for _ in range(INSTANCES)]
    end = time.monotonic() + seconds
    done = {"rounds": 0, "actions": 0, "signals": 0, "both": 0}
    while time.monotonic() < end:
        one = Round(folder, instances, seed, done["rounds"])
        try:
            one.happen(min(ROUND_SECONDS, max(1.0, end - time.monotonic())))
            one.everybody_goes()
            one.sweep()
            one.check_places()
            one.check_next()
        except BaseException as error:
            say("seed %s, round %d: %s" % (seed, done["rounds"], error))
            one.tell(sys.stdout)
            raise
        finally:
            one.close()
        done["rounds"] += 1
        done["actions"] += len(one.trail)
        done["signals"] += sum(line[8:11] == "SIG" for line in one.trail)
        done["both"] += bool(one.both_struck())
    say("seed %s: %d rounds, %d things done and seen, %d signals; in %d rounds daemon and guard were hit at once" %
        (seed, done["rounds"], done["actions"], done["signals"], done["both"]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(10 ** 6)))
    words = parser.parse_args()
    harness.become_subreaper()
    say = lambda text: print("soak: " + text, flush=True)  # noqa: E731
    say("seed %s, %g seconds" % (words.seed, words.seconds))
    folder = tempfile.mkdtemp(prefix="soak-", dir=os.environ["TETHER_BUILD"])
    try:
        soak(folder, words.seconds, words.seed, say)
    except Found:
        harness.end_strays()
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
