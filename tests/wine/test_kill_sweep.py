"""F9 on Windows: whoever is killed at whatever step, once the owner is dead nothing is left, the ports
can be had, and the next launch works. As process/test_sweep_kill.py does it on Linux; here nobody
has a guard, for the system ends the tree of a daemon that is gone.

TETHER_SEED repeats or varies a run."""
import os
import random
import time

import pytest

import harness
from harness import LIMIT, Process
from scene import kill, stays, wait_until
from tether import http_get
from wine import SERVER, windows_path

SEED = os.environ.get("TETHER_SEED", "1")
OPTIONS = ["--grace-ms", "0", "--stop-grace-ms", "150"]
PROGRAMS = ["tether.exe", "server.exe"]


class Scene:
    """An instance with its owner and all that a blow may be aimed at."""

    def __init__(self, instance, wine, starts, offset):
        self.it, self.wine, self.starts, self.offset = instance, wine, starts, offset
        self.owner, self.owner_start = wine.owner()
        self.launcher = self.command = self.server = self.hit = None

    def begin_launch(self, owner=None, start=None):
        self.launcher = Process(self.it.argv(
            "launch", *OPTIONS, "--owner-pid", owner or self.owner, "--owner-start", start or self.owner_start,
            "--", windows_path(SERVER), "few", windows_path(self.starts), "deaf"), self.it.env)

    def launch(self):
        self.begin_launch()
        self.launcher.expect(r'^\{"result":"(started|adopted)"')
        self.wait_server(1)

    def begin(self, command):
        """A command that goes on while the blow falls."""
        self.command = Process(self.it.argv(command, "--force") if command == "stop" else self.it.argv(command),
                               self.it.env)

    def started(self):
        try:
            with open(self.starts) as file:
                return [int(line) for line in file.read().split("\n")[:-1]]
        except FileNotFoundError:
            return []

    def wait_server(self, number):
        wait_until(lambda: len(self.started()) >= number, "the server has begun", limit=LIMIT)
        self.server = self.started()[number - 1]

    def log(self):
        """What the log says so far, if there is one."""
        try:
            return self.it.log()
        except FileNotFoundError:
            return ""

    def wait_log(self, text):
        wait_until(lambda: text in self.log(), "the log says " + text, limit=LIMIT)

    def pid_of(self, victim):
        """None if it is not there: its pid may be another's."""
        if victim == "daemon":
            said = self.log().split(", process ")
            pid = int(said[1].split(",")[0]) if len(said) > 1 else None
        else:
            pid = self.server
        return pid if pid in self.wine.find(*PROGRAMS) else None

    def kill_owner(self):
        """Once: a pid is soon another's."""
        owner, self.owner = self.owner, None
        return bool(owner) and self.wine.ask("kill", owner) == ["ok"]

    def strike(self, victim):
        """Kills the victim, if it is there at this moment."""
        stays(os.getpid(), self.offset)
        if victim == "launcher":
            self.hit = self.launcher.popen.poll() is None
            self.launcher.popen.kill()
        elif victim == "owner":
            self.hit = self.kill_owner()
        else:
            pid = self.pid_of(victim)
            self.hit = bool(pid) and self.wine.ask("kill", pid) == ["ok"]


# ---- steps: each brings its moment about and strikes in it ---------------------------------------

def at_the_launch(scene, victim):
    scene.begin_launch()
    scene.strike(victim)


def when_there_is_a_daemon(scene, victim):
    scene.begin_launch()
    scene.wait_log(", process ")
    scene.strike(victim)


def when_the_server_begins(scene, victim):
    scene.begin_launch()
    scene.wait_server(1)
    scene.strike(victim)


def when_it_is_ready(scene, victim):
    scene.launch()
    scene.strike(victim)


def when_it_has_a_session(scene, victim):
    """Another owner: it keeps the server, so it ends after the blow."""
    scene.launch()
    other, start = scene.wine.owner()
    scene.begin_launch(other, start)
    scene.launcher.expect(r'^\{"result":"adopted"')
    scene.strike(victim)
    scene.wine.kill(other)


def during_an_adoption(scene, victim):
    scene.launch()
    scene.begin_launch()
    scene.strike(victim)


def when_a_restart_begins(scene, victim):
    scene.launch()
    scene.begin("restart")
    scene.wait_log("server stopping")
    scene.strike(victim)


def when_the_restarted_server_begins(scene, victim):
    scene.launch()
    scene.begin("restart")
    scene.wait_server(2)
    scene.strike(victim)


def after_a_crash(scene, victim):
    scene.launch()
    scene.wine.kill(scene.server)
    scene.strike(victim)


def when_the_crashed_server_begins_again(scene, victim):
    scene.launch()
    scene.wine.kill(scene.server)
    scene.wait_server(2)
    scene.strike(victim)


def when_the_stop_begins(scene, victim):
    scene.launch()
    scene.begin("stop")
    scene.wait_log("server stopping")
    scene.strike(victim)


def when_the_tree_is_being_killed(scene, victim):
    """Past the stop grace, in which the stubborn tree does nothing."""
    scene.launch()
    scene.begin("stop")
    assert not scene.wine.left_of([scene.server])
    scene.strike(victim)


def after_the_owner(scene, victim):
    scene.launch()
    scene.kill_owner()
    scene.strike(victim)


STEPS = [at_the_launch, when_there_is_a_daemon, when_the_server_begins, when_it_is_ready, when_it_has_a_session,
         during_an_adoption, when_a_restart_begins, when_the_restarted_server_begins, after_a_crash,
         when_the_crashed_server_begins_again, when_the_stop_begins, when_the_tree_is_being_killed,
         after_the_owner]
VICTIMS = ["launcher", "daemon", "server", "owner"]
LAUNCHING = (at_the_launch, when_there_is_a_daemon, when_the_server_begins, during_an_adoption)
POINTS = [(step, victim) for step in STEPS for victim in VICTIMS
          if (victim != "launcher" or step in LAUNCHING) and (victim, step) != ("owner", after_the_owner)]
# Where the victim is there for certain, so that a blow that hits nobody is a fault of the test.
CERTAIN = {(step, victim) for step in (when_it_is_ready, when_it_has_a_session) for victim in VICTIMS[1:]}
CERTAIN |= {(step, "owner") for step, victim in POINTS}
# What the sweep checks at each point, in the order in which it does; docs/kill-table.md publishes it.
CHECKS = ["the launcher has ended by itself, and so has a `tether restart` or `stop` under way;",
          "no process of the server's tree and no daemon is left;",
          "both ports can be had at once;",
          "the next launch, with another owner, starts a new server, which ends with that owner."]

HITS = {}


def ours():
    """The processes of the programs themselves, as Linux sees them."""
    return [pid for pid in harness.descendants_of(os.getpid())
            if any(name in harness.describe(pid) for name in PROGRAMS)]


def check_nobody_is_left(wine):
    """Of the programs themselves: whoever was started in this prefix is in the system's list. Who is cut off
    in the midst of its start may show only after a while."""
    end = time.monotonic() + LIMIT
    end_unborn()
    found = wine.find(*PROGRAMS)
    while found:
        if wine.left_of(found, 1):
            end_unborn()
            assert time.monotonic() < end, (found, [harness.describe(pid) for pid in harness.descendants_of(os.getpid())])
        found = wine.find(*PROGRAMS)


def has_begun(pid):
    """Whether the system's libraries are there, which comes before all that is its own. What has ended counts."""
    try:
        with open("/proc/%d/maps" % pid) as file:
            mapped = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return "kernel32.dll" in mapped


def end_unborn():
    """If who starts a process is killed in the midst of it, Wine leaves the new one waiting for ever for a
    first word of Wine's server, in its list or not; nothing of the program has run in it."""
    for pid in ours():
        if not has_begun(pid) and stays(pid, 3) and not has_begun(pid):
            kill(pid)


def check_the_next_launch(instance, wine):
    owner, start = wine.owner()
    result = instance.launch("--grace-ms", 0, "--owner-pid", owner, "--owner-start", start)
    assert result["code"] == 0 and result["result"] == "started", result
    assert http_get(instance.http)[1].endswith(b"%d" % result["server_pid"])
    wine.kill(owner)
    instance.wait_end()
    assert instance.ports_are_free()


@pytest.mark.parametrize("step,victim", POINTS, ids=lambda value: getattr(value, "__name__", value))
def test_F9_G2_kill(instance, wine, tmp_path, step, victim):
    offsets = random.Random("%s %s %s" % (SEED, step.__name__, victim))
    offset = offsets.choice([0, offsets.uniform(0, 0.02), offsets.uniform(0, 0.2)])
    scene = Scene(instance, wine, str(tmp_path / "starts"), offset)
    try:
        step(scene, victim)
        HITS[step, victim] = scene.hit
        assert scene.hit or (step, victim) not in CERTAIN
        scene.kill_owner()
        scene.launcher.popen.wait(LIMIT)  # CHECKS, from here on
        if scene.command:
            scene.command.popen.wait(LIMIT)
        check_nobody_is_left(wine)
        wait_until(instance.ports_are_free, "both ports are free", limit=5)
    except BaseException:
        print("offset %.1f ms\n%s" % (offset * 1000, scene.log()))
        raise
    finally:
        scene.kill_owner()
        for process in (scene.launcher, scene.command):
            if process:
                process.stop()
    check_the_next_launch(instance, wine)


def test_F9_G2_blows_hit_somebody():
    """The sweep above is worth something only if the victims are there when they are aimed at."""
    if set(HITS) != set(POINTS):
        pytest.skip("only a part of the sweep was run")
    missed = ["%s %s" % (victim, step.__name__) for (step, victim), hit in HITS.items() if not hit]
    print("missed: %s" % missed)
    assert len(POINTS) - len(missed) >= 30, missed
