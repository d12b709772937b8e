"""What is measured: Tether and its peers, each started and stopped in the best way it knows.

A Subject starts instances. An Instance is one running supervisor with one test server below it; it
knows the processes of both and ends all of them in dispose(), whatever happened before."""
import itertools
import json
import os
import shlex
import shutil
import signal
import sys

from processes import LIMIT, Child, Fifo, Pid, children_of, free_ports, is_bindable, run, wait_moment

STOP_GRACE_MS = 300  # what Tether gives a server between SIGTERM and the end of its tree
PATIENCE = 1.0  # what the peers are told to give it; the smallest that all of them can be told


class Place:
    """Where instances live: a folder each, and the test server's program."""

    def __init__(self, folder, server):
        self.folder = folder
        self.server = server
        self.numbers = itertools.count()

    def new_folder(self):
        path = os.path.join(self.folder, str(next(self.numbers)))
        os.mkdir(path, 0o700)
        return path


class Instance:
    def __init__(self, subject, place, arguments):
        self.subject = subject
        self.folder = place.new_folder()
        self.ports = free_ports()
        self.stamps = Fifo(os.path.join(self.folder, "stamps"))
        self.log = os.path.join(self.folder, "log")
        self.command = [place.server, "--stamp", self.stamps.path, "--http", str(self.ports[0]),
                        "--ws", str(self.ports[1])] + list(arguments)
        self.supervisors = []  # each held as a Pid; for Tether the daemon and the guard
        self.owner = None
        self.main = None  # our child that supervises or, for Tether, launches
        self.servers = []  # every server that reported so far
        self.spawned = self.arrived = 0  # when we spawned, and when the last server was in main()

    @property
    def server(self):
        return self.servers[-1]

    @property
    def pids(self):
        return [process.pid for process in self.supervisors]

    def next_server(self, limit=LIMIT):
        """Waits for the next server to arrive in main() and returns when that was."""
        pid, self.arrived = self.stamps.next(limit)
        self.servers.append(Pid(pid))
        return self.arrived

    def wait_listening(self):
        """Supervisors without readiness are asked no more than whether the ports are taken."""
        for _ in range(int(LIMIT / 0.0005)):
            if not any(is_bindable(port) for port in self.ports):
                return
            wait_moment(0.0005)
        raise TimeoutError("%s: its server does not listen" % self.subject.name)

    def kill_owner(self):
        self.owner.signal(signal.SIGKILL)
        self.owner.finish()

    def stop(self):
        self.subject.stop(self)

    def dispose(self):
        """Ends everything by id, in order first, and drops what was kept."""
        try:
            self.subject.end(self)
        finally:
            for process in self.supervisors + self.servers:
                process.signal(signal.SIGKILL)
                process.wait()
                process.close()
            for child in (self.main, self.owner):
                if child:
                    child.end()
            self.stamps.close()
            shutil.rmtree(self.folder, ignore_errors=True)


class Subject:
    """A supervisor that is one process, our child, which ends its server on SIGTERM."""

    name = program = ""
    ends_with_owner = restarts = False
    slow = False  # takes a second or more for what others do in milliseconds: fewer repetitions

    def is_there(self):
        return shutil.which(self.program) is not None

    def command(self, instance):
        """The supervisor's command line; may write its configuration."""
        raise NotImplementedError

    def start(self, place, arguments=(), owned=False):
        instance = Instance(self, place, arguments)
        try:
            self.spawn(instance, owned)
            instance.next_server()
        except BaseException:
            instance.dispose()
            raise
        return instance

    def spawn(self, instance, owned):
        if owned:
            instance.owner = Child(["sleep", "infinity"], output=os.devnull)
        instance.main = Child(self.command(instance), output=instance.log)
        instance.spawned = instance.main.started
        instance.supervisors = [Pid(instance.main.pid)]

    def stop(self, instance):
        """As any caller would: SIGTERM, then SIGKILL once patience ends."""
        instance.main.signal(signal.SIGTERM)
        if not instance.main.wait(PATIENCE + 2):  # supervisord counts in whole seconds
            instance.main.signal(signal.SIGKILL)
        instance.main.finish()

    def end(self, instance):
        """For dispose(): must cope with whatever was done to the instance."""
        if instance.main:
            instance.main.end(PATIENCE / 2)


class Init(Subject):
    def __init__(self, program, *options):
        self.name = self.program = program
        self.options = list(options)

    def command(self, instance):
        return [self.program] + self.options + ["--"] + instance.command


class Tini(Init):
    """The only one of the peers with an owner: -p gives it SIGTERM when its parent dies."""

    ends_with_owner = True

    def __init__(self):
        super().__init__("tini", "-s", "-g")

    def spawn(self, instance, owned):
        if not owned:
            super().spawn(instance, False)
            return
        argv = ["tini", "-p", "SIGTERM", "-s", "-g", "--"] + instance.command
        instance.owner = Child(["/bin/sh", "-c", '"$@" & wait', "sh"] + argv, output=instance.log)
        instance.spawned = instance.owner.started
        for _ in range(int(LIMIT / 0.0005)):
            found = children_of(instance.owner.pid)
            if found:
                instance.supervisors = [Pid(found[0])]
                return
            wait_moment(0.0005)

    def stop(self, instance):
        if instance.main:
            super().stop(instance)


class ServiceFolder(Subject):
    """runsv and s6 take a folder whose program `run` becomes the server."""

    restarts = True

    def command(self, instance):
        service = os.path.join(instance.folder, "service")
        os.mkdir(service)
        run_file = os.path.join(service, "run")
        with open(run_file, "w") as file:
            file.write("#!/bin/sh\nexec %s\n" % shlex.join(instance.command))
        os.chmod(run_file, 0o700)
        with open(os.path.join(service, "timeout-kill"), "w") as file:  # only s6 knows it
            file.write("%d\n" % (PATIENCE * 1000))
        return [self.program, service]

    def tell(self, instance, *argv):
        return run(list(argv) + [os.path.join(instance.folder, "service")], errors=instance.log)


class Runsv(ServiceFolder):
    name, program = "runsv", "runsv"

    def stop(self, instance):
        self.tell(instance, "sv", "-w", str(int(PATIENCE)), "force-stop")

    def restart(self, instance):
        self.tell(instance, "sv", "restart")


class S6(ServiceFolder):
    name, program, slow = "s6", "s6-supervise", True

    def stop(self, instance):
        self.tell(instance, "s6-svc", "-wD", "-T", str(int(PATIENCE * 3000)), "-d")


class Supervisor(Subject):
    name, program = "supervisor", "supervisord"
    restarts = slow = True

    def command(self, instance):
        path = os.path.join(instance.folder, "supervisord.conf")
        with open(path, "w") as file:
            file.write("[supervisord]\nnodaemon=true\nuser=%d\nlogfile=/dev/null\nlogfile_maxbytes=0\n"
                       "pidfile=%s/pid\n[program:server]\ncommand=%s\nstartsecs=0\nautorestart=true\n"
                       "stopasgroup=true\nkillasgroup=true\nstopwaitsecs=%d\nstdout_logfile=/dev/null\n"
                       % (os.getuid(), instance.folder, shlex.join(instance.command).replace("%", "%%"), PATIENCE))
        return [self.program, "-c", path]


class Reaper(Subject):
    program = sys.executable
    ends_with_owner = True

    def __init__(self, interval):
        self.interval = interval
        self.name = "poll %gs" % interval if interval >= 1 else "poll %gms" % (interval * 1000)
        self.slow = interval >= 1

    def command(self, instance):
        if not instance.owner:
            instance.owner = Child(["sleep", "infinity"], output=os.devnull)
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "poll_reaper.py")
        return [self.program, script, "--owner-pid", str(instance.owner.pid), "--kill-after", str(PATIENCE),
                "--interval", str(self.interval), "--"] + instance.command


class Tether(Subject):
    ends_with_owner = restarts = True

    def __init__(self, name, program):
        self.name, self.program = name, program

    def is_there(self):
        """Whether the program can do what is measured: an early build may lack commands."""
        return run([self.program, "help", "launch"], errors=os.devnull)[0] == 0

    def environment(self, instance):
        return {"TETHER_STATE_DIR": os.path.join(instance.folder, "state")}

    def at_ports(self, instance):
        return ["--http-port", str(instance.ports[0]), "--ws-port", str(instance.ports[1])]

    def launcher(self, instance, options):
        """The launching process, just started; it writes one line of JSON and ends."""
        return Child([self.program, "launch"] + self.at_ports(instance) + list(options) + ["--"] + instance.command,
                     self.environment(instance), errors=instance.log)

    def start(self, place, arguments=(), owned=False, options=()):
        instance = Instance(self, place, arguments)
        try:
            options = ["--stop-grace-ms", str(STOP_GRACE_MS)] + list(options)
            if owned:
                instance.owner = Child(["sleep", "infinity"], output=os.devnull)
                options += ["--owner-pid", str(instance.owner.pid)]
            instance.main = self.launcher(instance, options)
            instance.spawned = instance.main.started
            text = instance.main.read_all()
            instance.main.finish()
            self.take_answer(instance, text)
            instance.next_server()
        except BaseException:
            instance.dispose()
            raise
        return instance

    def take_answer(self, instance, text):
        answer = json.loads(text.strip().splitlines()[-1])
        if answer["result"] != "started":
            raise RuntimeError("launch: %s" % text.strip())
        instance.supervisors = [Pid(answer["daemon_pid"])]
        instance.control = answer["control"]

    def ask(self, instance, *words, limit=LIMIT):
        return run([self.program] + list(words) + self.at_ports(instance), self.environment(instance), limit,
                   errors=instance.log)

    def ask_well(self, instance, *words):
        status, text = self.ask(instance, *words)
        if status != 0:
            with open(instance.log) as file:
                raise RuntimeError("%s: exit %d: %s %s" % (words[0], status, text.strip(), file.read().strip()[-300:]))
        return text

    def status(self, instance):
        return json.loads(self.ask_well(instance, "status", "--json"))

    def find_guard(self, instance):
        """Asks for the guard; not done at the start, so that it is in no measured time."""
        guard = self.status(instance).get("guard_pid")
        if not guard:
            raise RuntimeError("status names no guard_pid")
        for former in instance.supervisors[1:]:
            former.close()
        instance.supervisors = [instance.supervisors[0], Pid(guard)]

    def count_sessions(self, instance):
        return len(self.status(instance)["sessions"])

    def stop(self, instance):
        self.ask_well(instance, "stop", "--force")

    def restart(self, instance):
        self.ask_well(instance, "restart")

    def end(self, instance):
        for process in instance.supervisors:
            process.signal(signal.SIGCONT)  # a measurement may have stopped it
        self.ask(instance, "stop", "--force")


def all_subjects(tether, static, fastest):
    """Every subject, in the order of the table's columns."""
    subjects = [Tether("tether", tether)] if tether else []
    subjects += [Tether("static", static)] if static else []
    return subjects + [Tini(), Init("catatonit", "-g"), Init("dumb-init"), Runsv(), S6(), Supervisor(),
                       Reaper(5.0), Reaper(fastest)]
