"""What is cleaned at a start and what is not, orphans, and a state directory that cannot be used.
Rows C1 to C3."""
import json
import os
import signal
import subprocess
import traceback

import pytest

from clients import dead_identity, in_namespace, wait_failed
from harness import IS_WINDOWS, Process, children_of, kill, own_pid, run, system, wait_gone
from scene import environment_of, find_guard, wait_until
from tether import SERVER, Instance, identity, start_owner


def sessions_of(instance, make=True):
    path = os.path.join(instance.directory, "sessions")
    if make:
        make_place(instance)
        os.mkdir(path, mode=0o700)
    return path


def make_place(instance):
    os.makedirs(instance.directory, mode=0o700, exist_ok=True)


def write(directory, name, content):
    with open(os.path.join(directory, name), "w") as file:
        file.write(content if isinstance(content, str) else json.dumps(content))


def start_and_stop(instance):
    """One start and one end in order; returns the launcher's log."""
    assert instance.launch()["code"] == 0
    assert instance.cli("stop").status == 0
    return instance.log()


# ---- C1: what is removed ----

USED_AGAIN = os.getppid() if not IS_WINDOWS else os.getppid() // 4 * 4  # as all pids are there


def files_to_go(dead, zombie):
    """C1, A8: a recycled pid and a zombie are dead identities, too."""
    return {
        "%d.json" % dead["pid"]: dead,
        "%d.json" % USED_AGAIN: {"pid": USED_AGAIN, "start": "1"},
        "%d.json" % zombie["pid"]: zombie,
        ".17.json.0123abcd.tmp": "{",  # half-written
        "../.state.json.01234567.tmp": "",
    }


def files_with_odd_names(dead):
    """Not as a session's file is named, or not for the process that it tells of."""
    return {
        "0%d.json" % dead["pid"]: dead,
        "%d.json.bak" % dead["pid"]: dead,
        "%d" % dead["pid"]: dead,
        "x%d.json" % dead["pid"]: dead,
        "+%d.json" % dead["pid"]: dead,
        "-1.json": {"pid": -1, "start": "5"},
        "0.json": {"pid": 0, "start": "5"},
        ".json": dead,
        "4294967297.json": {"pid": 4294967297, "start": "5"},
        "99999999999999999999.json": {"pid": 9, "start": "5"},
        "%d.json" % (dead["pid"] + 1): dead,
    }


PROVE_NOTHING = {
    "4194001.json": "",
    "4194002.json": "{\"pid\":4194002",
    "4194003.json": [4194003],
    "4194004.json": {"pid": "4194004", "start": "5"},
    "4194005.json": {"pid": 4194005},
    "4194006.json": {"pid": 4194006, "start": 5},
    "4194007.json": {"pid": 4194007, "start": "5", "text": "x" * 70000},
}
NOT_OURS = {
    ".17.json.0123abc.tmp": "",
    "17.json.0123abcd.tmp": "",
    ".17.json.0123ABCD.tmp": "",
    "notes.txt": "mine",
    "../notes.txt": "mine",
    "../.hidden.tmp": "mine",
}


class Cleaned:
    """What two starts have made of all these files."""

    def __init__(self, state_dir):
        instance = Instance(state_dir)
        self.sessions = sessions_of(instance)
        dead, linked = dead_identity(), dead_identity()
        with start_owner() as process:
            kill(process.pid)
            wait_gone(process.pid)
            zombie = identity(process.pid)
            self.gone = files_to_go(dead, zombie)
            self.odd_names = files_with_odd_names(dead)
            here = identity(own_pid())
            self.live = {"%d.json" % one["pid"]: one for one in [here] + ([] if IS_WINDOWS else [identity(1)])}
            for name, content in {**self.gone, **self.live, **self.odd_names, **PROVE_NOTHING, **NOT_OURS}.items():
                write(self.sessions, name, content)
            if not IS_WINDOWS:
                os.mkfifo(os.path.join(self.sessions, "4194008.json"))  # must not be waited for
            os.mkdir(os.path.join(self.sessions, "4194009.json"))
            write(state_dir, "linked", linked)
            self.link = "%d.json" % linked["pid"]
            if not IS_WINDOWS:
                os.symlink(os.path.join(state_dir, "linked"), os.path.join(self.sessions, self.link))
            self.log = start_and_stop(instance)
            self.left = os.listdir(self.sessions) + ["../" + name for name in os.listdir(instance.directory)]
            self.later_log = start_and_stop(instance)

    def lost(self, names):
        return sorted(set(names) - set(self.left))


@pytest.fixture(scope="module")
def cleaned(tmp_path_factory):
    return Cleaned(str(tmp_path_factory.mktemp("cleaned")))


def test_C1_A8_files_of_dead_identities_are_removed(cleaned):
    assert cleaned.lost(cleaned.gone) == sorted(cleaned.gone)


def test_C1_what_is_removed_is_told(cleaned):
    for name in cleaned.gone:
        assert "removed %s, left by a process that is gone" % os.path.basename(name) in cleaned.log
    assert cleaned.log.count("removed ") == len(cleaned.gone)


def test_C2_a_second_start_finds_nothing_to_remove(cleaned):
    assert cleaned.later_log.count("removed ") == len(cleaned.gone)  # it is the same log


@pytest.mark.parametrize("kind", ["live", "odd_names"])
def test_C1_files_of_the_living_and_with_odd_names_stay(cleaned, kind):
    assert cleaned.lost(getattr(cleaned, kind)) == []


@pytest.mark.parametrize("names", [PROVE_NOTHING, NOT_OURS, ["4194008.json", "4194009.json"][IS_WINDOWS:]],
                         ids=["prove nothing", "not ours", "no files"])
def test_C1_files_that_tell_of_no_dead_process_stay(cleaned, names):
    assert cleaned.lost(names) == []


def test_C1_a_link_is_not_followed(cleaned):
    assert cleaned.lost([cleaned.link]) == []


def test_C1_files_of_another_user_stay(state_dir):
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    instance = Instance(state_dir)
    dead = dead_identity()
    sessions = sessions_of(instance)
    write(sessions, "%d.json" % dead["pid"], dead)
    os.chown(os.path.join(sessions, "%d.json" % dead["pid"]), 65534, 65534)
    start_and_stop(instance)
    assert os.listdir(sessions) == ["%d.json" % dead["pid"]]


def test_C1_a_missing_or_empty_sessions_directory_is_fine(state_dir):
    instance = Instance(state_dir)
    start_and_stop(instance)  # not even the instance's directory exists
    sessions_of(instance)
    start_and_stop(instance)
    assert os.listdir(sessions_of(instance, make=False)) == []


@pytest.mark.parametrize("kind", ["symlink", "file", "open to others"])
def test_C1_a_sessions_directory_that_is_not_ours_is_not_touched(state_dir, tmp_path, kind):
    instance = Instance(state_dir)
    make_place(instance)
    dead, real, sessions = dead_identity(), tmp_path / "real", sessions_of(instance, make=False)
    real.mkdir(mode=0o700)
    write(str(real), "%d.json" % dead["pid"], dead)
    if kind == "symlink":
        os.symlink(real, sessions)
    elif kind == "file":
        write(instance.directory, "sessions", "mine")
    else:
        os.rename(real, sessions)
        os.chmod(sessions, 0o777)
    start_and_stop(instance)
    if kind == "file":
        assert os.path.isfile(sessions)
    else:
        assert os.listdir(sessions) == ["%d.json" % dead["pid"]]


def test_C1_sweep_cleans_the_same_without_a_start(state_dir):
    instance = Instance(state_dir)
    dead = dead_identity()
    sessions = sessions_of(instance)
    write(sessions, "%d.json" % dead["pid"], dead)
    write(sessions, "%d.json" % own_pid(), identity(own_pid()))
    write(instance.directory, "state.json", {"daemon": dead})
    swept = instance.cli("sweep")
    assert swept.status == 0 and "removed %d.json" % dead["pid"] in swept.output
    assert os.listdir(sessions) == ["%d.json" % own_pid()]
    assert not os.path.exists(os.path.join(instance.directory, "state.json"))
    assert instance.cli("sweep").output == "swept\n"  # idempotent


@pytest.mark.parametrize("command", ["launch", "sweep"])
def test_C1_where_a_killed_daemon_was_told_that_its_server_is_ready(state_dir, command):
    """Nothing but a daemon that waits for the same would take the place of that socket."""
    with Instance(state_dir) as instance:
        result = instance.launch("--ready", "notify", command=[SERVER, "--notify"])
        guard = find_guard(result["daemon_pid"])
        kill(result["daemon_pid"])
        wait_gone(result["daemon_pid"])
        wait_gone(guard)
        assert "notify.sock" in os.listdir(instance.directory)
        if command == "launch":
            assert instance.launch()["result"] == "started"
        else:
            assert instance.cli("sweep").output.endswith("swept\n")
        assert "notify.sock" not in os.listdir(instance.directory)


# ---- C2: many at once ----

AT_ONCE = 100 if not IS_WINDOWS else 20


def test_C2_of_a_hundred_launches_at_once_one_starts_and_all_succeed(state_dir):
    with Instance(state_dir) as instance:
        sessions = sessions_of(instance)
        dead = dead_identity()
        for pid in range(30000, 30400, 4):  # whoever has them now did not start with the machine
            write(sessions, "%d.json" % pid, {"pid": pid, "start": "1"})
            write(sessions, ".%d.json.%08x.tmp" % (pid, pid), "{")
        write(instance.directory, "state.json", {"daemon": dead, "server": dead})
        launches = [Process(instance.argv("launch", "--", SERVER), instance.env)
                    for _ in range(AT_ONCE)]
        results = []
        for launch in launches:
            assert launch.wait() == 0, launch.output
            results.append(json.loads(launch.output))
            launch.stop()
        instance.result = results[0]
        assert [result["result"] for result in results].count("started") == 1
        assert {result["result"] for result in results} == {"started", "adopted"}
        assert len({result["daemon_pid"] for result in results}) == 1
        assert len({result["server_pid"] for result in results}) == 1
        assert os.listdir(sessions) == []
        log = instance.log()
        assert log.count("server started: process") == 1
        assert log.count("removed ") == 200  # each once


# ---- C3: orphans ----

MARK = "0123456789abcdef0123456789abcdef"


class Orphan:
    """A server that says of itself that a daemon which is dead started it for the instance."""

    def __init__(self, instance, daemon, *options, mark=MARK):
        self.process = Process([SERVER] + list(options), {
            "TETHER_INSTANCE": instance.name,
            "TETHER_DAEMON": "%(pid)d:%(start)s" % daemon,
            "TETHER_MARK": mark,
            "TETHER_HTTP_PORT": str(instance.http), "TETHER_WS_PORT": str(instance.ws)})
        self.pid = self.process.pid
        self.process.expect("server up pid")


def findings_of(instance):
    done = instance.cli("doctor", "--json")
    report = json.loads(done.output)
    assert report["ok"] == (done.status == 0) == all(f["ok"] for f in report["findings"])
    for finding in report["findings"]:
        assert finding["ok"] == (finding["advice"] is None)
    return report["findings"]


class LeftBehind:
    """An instance whose daemon is gone and whose server is not; beside it a server that lives as it should,
    an orphan of another instance, and a helper whose daemon lives."""

    def __init__(self, state_dir):
        self.instance, self.other = Instance(state_dir), Instance(state_dir)
        self.other.launch()
        dead = dead_identity()
        self.orphan = Orphan(self.instance, dead)
        self.others = [Orphan(Instance(state_dir), dead), Orphan(self.instance, identity(own_pid()), "--http", "0", "--ws", "0")]
        make_place(self.instance)
        write(self.instance.directory, "state.json", {"daemon": dead, "server": identity(self.orphan.pid), "mark": MARK,
                                                      "place": system.place()})

    def check_others(self):
        assert [other.process.popen.poll() for other in self.others] == [None, None]
        assert self.other.status()["server"]["pid"] == self.other.result["server_pid"]


@pytest.fixture
def left_behind(state_dir):
    left = LeftBehind(state_dir)
    with left.other, left.instance:
        yield left


def test_C3_orphans_are_listed_with_advice(left_behind):
    findings = findings_of(left_behind.instance)
    listed = [finding for finding in findings if finding["what"] == "orphan"]
    assert len(listed) == 1 and str(left_behind.orphan.pid) in listed[0]["text"]
    assert "tether sweep" in listed[0]["advice"]
    words = left_behind.instance.cli("doctor")
    assert words.status == 1 and "!!   orphan" in words.output
    assert "→ `tether sweep` ends it" in words.output


def test_C3_orphans_on_the_ports_are_named(left_behind):
    instance = left_behind.instance
    ports = {finding["what"]: finding for finding in findings_of(instance) if finding["what"].startswith("port ")}
    assert set(ports) == {"port %d" % instance.http, "port %d" % instance.ws}
    for finding in ports.values():
        assert "an orphan of this instance, process %d" % left_behind.orphan.pid in finding["text"]
        assert "tether sweep" in finding["advice"]


def test_C3_the_doctor_changes_nothing(left_behind):
    assert left_behind.instance.cli("doctor").status == 1
    assert left_behind.orphan.process.popen.poll() is None
    left_behind.check_others()
    assert not left_behind.instance.ports_are_free()


def check_copy_of_environment(state_dir):
    """Daemon and guard are killed, and somebody had tried something with the server's environment, in the
    terminal from which all was started: who adopts orphans there is the parent of both."""
    it = Instance(state_dir)
    with start_owner() as owner, it:
        first = it.launch("--owner-pid", owner.pid, "--ready", "none", command=["sleep", "1000"])
        server = first["server_pid"]
        wait_until(lambda: it.status()["state"] == "ready", "it is recorded")
        with Process(["sleep", "1000"], environment_of(server)) as copy:
            guard = find_guard(first["daemon_pid"])
            kill(first["daemon_pid"], signal.SIGSTOP)  # or it would end the tree of a killed guard
            kill(guard)
            kill(first["daemon_pid"])
            wait_gone(first["daemon_pid"])
            swept = it.cli("sweep").output
            wait_gone(server)
            assert copy.popen.poll() is None and system.END + " %d` ends it" % copy.pid in swept, swept


def in_session_of_its_own(function, leader_lives):
    """Calls it in a process of a new session, and raises here what it raised there."""
    read_end, write_end = os.pipe()
    leader = os.fork()
    if leader == 0:
        failed = "did not come to its end"
        try:
            os.setsid()
            if not leader_lives and os.fork():
                os._exit(0)
            wait_until(lambda: leader_lives or os.getppid() != os.getsid(0), "the leader is gone")
            function()
            failed = ""
        except BaseException:
            failed = traceback.format_exc()
        finally:
            os.write(write_end, failed.encode()[-4096:])
            os._exit(0)
    os.close(write_end)
    os.waitpid(leader, 0)
    with open(read_end, "rb") as end:
        assert end.read() == b""


@pytest.mark.parametrize("leader_lives", [True, False], ids=["leader lives", "leader is gone"])
def test_L3_a_copy_of_a_servers_environment_is_no_orphan(state_dir, leader_lives):
    in_session_of_its_own(lambda: check_copy_of_environment(state_dir), leader_lives)


def test_C3_orphans_are_swept_and_others_are_left_alone(left_behind):
    instance = left_behind.instance
    swept = instance.cli("sweep")
    assert swept.status == 0 and "ended process %d" % left_behind.orphan.pid in swept.output
    assert left_behind.orphan.process.wait() == IS_WINDOWS  # asked by SIGTERM, where there is that, not killed
    assert instance.ports_are_free()
    left_behind.check_others()
    assert all(finding["ok"] for finding in findings_of(instance)) and instance.cli("doctor").status == 0


def test_C3_an_orphan_of_another_instance_is_a_stranger_on_our_port(state_dir):
    """C3, A12: it is named, and not touched."""
    with Instance(state_dir) as instance:
        other = Instance(state_dir, ports=(instance.http, instance.ws + 1))
        orphan = Orphan(other, dead_identity())
        findings = findings_of(instance)
        assert [f["what"] for f in findings if not f["ok"]] == ["port %d" % instance.http]
        assert "orphan" not in json.dumps(findings)
        result = wait_failed(instance.launch())
        assert result["code"] == 3 and "held by " + system.holder(orphan.pid) in result["message"]
        assert instance.cli("sweep").output == "swept\n"
        assert orphan.process.popen.poll() is None


def test_C3_of_a_live_instance_nothing_is_called_an_orphan_and_sweep_keeps_out(state_dir):
    with Instance(state_dir) as instance:
        instance.launch()
        assert all(f["ok"] and f["what"] != "orphan" for f in findings_of(instance))
        swept = instance.cli("sweep")
        assert swept.status == 0 and "keeps its own place clean" in swept.output
        assert instance.status()["state"] == "ready"


def test_C3_the_next_start_ends_orphans_in_the_way_and_says_so(state_dir):
    """C3, A12: the daemon and its guard are killed at one blow, and what they leave is taken away."""
    with Instance(state_dir) as instance:
        for _ in range(20):  # the guard may be faster than our second signal; then there is no orphan
            first = instance.launch()
            guard = children_of(first["daemon_pid"])[0]
            kill(guard, signal.SIGSTOP)
            kill(first["daemon_pid"], signal.SIGSTOP)
            kill(guard)
            kill(first["daemon_pid"])
            wait_gone(guard)
            wait_gone(first["daemon_pid"])
            if not instance.ports_are_free():
                break
        assert not instance.ports_are_free(), "no orphan in 20 tries"
        assert [f["what"] for f in findings_of(instance) if not f["ok"]].count("orphan") == 1
        second = instance.launch()
        assert second["result"] == "started", second
        wait_gone(first["server_pid"])
        assert "ended process %d" % first["server_pid"] in instance.log()


def test_L3_a_recorded_server_that_hides_its_environment_is_left_alone(state_dir):
    """Pid and start alone are no proof. The log and the doctor tell of it."""
    with Instance(state_dir) as instance, Process(["env", "-i"] * (not IS_WINDOWS) + [SERVER, "--http",
                                                   str(instance.http)]) as server:
        server.expect("server up pid")
        make_place(instance)
        write(instance.directory, "state.json", {"daemon": dead_identity(), "server": identity(server.pid),
                                                 "mark": MARK, "place": system.place()})
        result = wait_failed(instance.launch())
        assert result["code"] == 3 and "held by " + system.holder(server.pid) in result["message"]
        assert system.END + " %d` ends it" % server.pid in instance.log()
        assert server.popen.poll() is None


# What is not as it should be in the record, or in the environment of the process.
DOUBTS = {
    "no mark is recorded": {"mark": None},
    "another mark is recorded": {"mark": MARK[::-1]},
    "it was another start of the machine": {"place": "00000000-1111-2222-3333-444444444444/4026531836"},
    "it was another pid namespace": {"place": "%s/17"},
    "no place is recorded": {"place": None},
    "it is not told which daemon": {"daemon": None},
    "there is no record": None,
}


ELSEWHERE = ["it was another pid namespace"]
if IS_WINDOWS:  # whose records tell the machine, and not its starts: those of a process tell enough
    ELSEWHERE.append("it was another start of the machine")


@pytest.mark.parametrize("doubt", DOUBTS)
def test_L3_what_is_not_proven_to_be_ours_is_left_alone_and_told(state_dir, doubt):
    """Neither a forged or restored record nor a copied environment ends anybody."""
    dead = dead_identity()
    with Instance(state_dir) as instance:
        other = Orphan(instance, dead, "--http", "0", "--ws", "0")
        record = {"daemon": dead, "server": identity(other.pid), "mark": MARK, "place": system.place(), "lock": "1:1"}
        make_place(instance)
        if DOUBTS[doubt] is not None:
            changes = DOUBTS[doubt]
            if doubt == "it was another pid namespace":
                changes = {"place": changes["place"] % system.place().split("/")[0]}
            write(instance.directory, "state.json", dict(record, **changes))
        finding = next(f for f in findings_of(instance) if f["what"] == "orphan")
        assert system.END + " %d` ends it" % other.pid in finding["advice"]
        if doubt not in ELSEWHERE:  # where that daemon may live
            assert "ended" not in instance.cli("sweep").output
            assert instance.launch()["result"] == "started"
        assert other.process.popen.poll() is None


def test_L3_whoever_asks_for_a_start_is_not_ended_by_it(state_dir):
    """An editor that was started from the server has its environment, and starts the next daemon."""
    dead = dead_identity()
    with Instance(state_dir) as instance:
        make_place(instance)
        script = "exec 3<&0; read _; %s; read _ <&3" % " ".join(instance.argv("launch", "--owner-pid", "$$", "--", SERVER))
        with Process(["sh", "-c", script], dict(instance.env, TETHER_INSTANCE=instance.name, TETHER_MARK=MARK,
                                                TETHER_DAEMON="%(pid)d:%(start)s" % dead),
                     stdin=subprocess.PIPE) as editor:
            write(instance.directory, "state.json", {"daemon": dead, "server": identity(editor.pid), "mark": MARK,
                                                     "place": system.place()})
            editor.popen.stdin.write(b"\n")
            editor.popen.stdin.flush()
            editor.expect('"result":"started"')
            assert editor.popen.poll() is None
            editor.popen.stdin.close()


def test_C3_a_recorded_server_whose_pid_has_another_start_is_left_alone(state_dir):
    with Instance(state_dir) as instance, start_owner() as stranger:
        make_place(instance)
        write(instance.directory, "state.json",
              {"daemon": dead_identity(), "server": {"pid": stranger.pid, "start": "12345"}})
        assert instance.launch()["code"] == 0
        assert stranger.popen.poll() is None


# ---- a state directory that cannot be used ----

def everything_below(path):
    return sorted(os.path.join(top, name) for top, dirs, files in os.walk(path)
                  for name in dirs + files)


def refused(instance, *words, env=None):
    """Both ways of starting are refused alike, with code 1; returns the message."""
    before = everything_below(os.path.dirname(instance.state_dir))
    launch = instance.cli("launch", "--", SERVER, env=env)
    result = json.loads(launch.output)
    assert launch.status == 1 and result["result"] == "failed" and result["code"] == 1, result
    ran = instance.cli("run", "--", SERVER, env=env)
    assert ran.status == 1 and ran.output == "tether: %s\n" % result["message"]
    for word in words:
        assert word in result["message"], result["message"]
    assert everything_below(os.path.dirname(instance.state_dir)) == before  # nothing is left behind
    return result["message"]


@pytest.mark.parametrize("level", ["state", "instance"])
@pytest.mark.parametrize("kind", ["symlink", "file", "mode 0755", "mode 0777", "owner"])
def test_a_hostile_directory_is_refused_with_advice(tmp_path, level, kind):
    if kind == "owner" and os.geteuid() != 0:
        pytest.skip("only root can give directories away")
    instance = Instance(str(tmp_path / "state"))
    path = instance.state_dir if level == "state" else instance.directory
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    if kind == "symlink":
        (tmp_path / "real").mkdir(mode=0o700)
        os.symlink(tmp_path / "real", path)
    elif kind == "file":
        open(path, "w").close()
    else:
        os.mkdir(path, mode=0o700)
    if kind == "owner":
        os.chown(path, 65534, 65534)
    elif kind.startswith("mode"):
        os.chmod(path, int(kind.split()[1], 8))
    advice = {"symlink": "remove it", "file": "move it away", "mode 0755": "run `chmod 700",
              "mode 0777": "run `chmod 700", "owner": "move it away"}[kind]
    what = {"symlink": "is a symbolic link", "file": "is not a directory",
            "mode 0755": "(mode 0755)", "mode 0777": "(mode 0777)",
            "owner": "belongs to user 65534"}[kind]
    refused(instance, system.native(path), what, advice)
    doctor = instance.cli("doctor")
    assert doctor.status == 1 and what in doctor.output


def test_a_directory_that_others_may_rename_is_refused(tmp_path):
    above = tmp_path / "above"
    above.mkdir()
    os.chmod(above, 0o777)
    refused(Instance(str(above / "state")), "everybody may rename", "chmod +t", "TETHER_STATE_DIR")


def test_a_relative_or_too_long_state_directory_is_refused(tmp_path):
    instance = Instance("relative/state")
    instance.state_dir = str(tmp_path)
    refused(instance, "must be an absolute path", "TETHER_STATE_DIR")
    instance.env = {"TETHER_STATE_DIR": str(tmp_path) + "/x" * 600}
    refused(instance, "too long", "choose a shorter TETHER_STATE_DIR")


def test_what_is_in_the_way_of_the_socket_is_not_removed(state_dir):
    instance = Instance(state_dir)
    make_place(instance)
    write(instance.directory, "control.sock", "mine")
    done = wait_failed(instance.launch())
    assert done["code"] == 1 and "control.sock is in the way" in done["message"]
    assert "move it away" in done["message"]
    with open(os.path.join(instance.directory, "control.sock")) as file:
        assert file.read() == "mine"


def test_a_start_that_fails_early_leaves_no_socket(state_dir):
    instance = Instance(state_dir)
    make_place(instance)
    os.mkdir(os.path.join(instance.directory, "control.sock"))
    assert "is in the way" in wait_failed(instance.launch("--ready", "notify"))["message"]
    assert "notify.sock" not in os.listdir(instance.directory)


MOUNT = 'set -e; mount -t tmpfs -o "mode=700,$1" none "$2"; eval "$3"; shift 3; exec "$@"'


def on_a_mount(instance, options, prepare, *command):
    words = in_namespace("--mount")
    if not words:
        pytest.skip("no mount namespaces here")
    return run(words + ["sh", "-c", MOUNT, "sh", options, instance.state_dir,
                        'cd "$2"; ' + prepare] + list(command), instance.env)


READ_ONLY = "mkdir -m 700 %(name)s; touch %(name)s/lock; mount -o remount,bind,ro ."


@pytest.mark.parametrize("options,prepare,words", [
    ("size=64k", "mount -o remount,bind,ro .", ["Read-only file system", "TETHER_STATE_DIR"]),
    ("nr_inodes=1", ":", ["No space left on device", "TETHER_STATE_DIR"]),
    ("size=64k", READ_ONLY, ["Read-only file system", "TETHER_STATE_DIR"]),
    ("nr_inodes=2", ":", ["No space left on device", "TETHER_STATE_DIR"]),
])
def test_a_read_only_or_full_place_is_refused_with_advice(state_dir, options, prepare, words):
    instance = Instance(state_dir)
    launch = on_a_mount(instance, options, prepare % {"name": instance.name} if "%" in prepare
                        else prepare, *instance.argv("launch", "--", SERVER))
    result = wait_failed(json.loads(launch.output))
    assert launch.status == 1 and result["code"] == 1
    for word in words:
        assert word in result["message"], result["message"]


FULL_DISK = 'dd if=/dev/zero of="$TETHER_STATE_DIR/fill" bs=4k 2>/dev/null; ' \
            '"$@"; echo "code $?"; ls -A "$TETHER_STATE_DIR"/*-*'


def test_on_a_full_disk_nothing_is_started_and_nothing_is_left(state_dir):
    """What is started there could not be found again by the next start, were its daemon killed."""
    instance = Instance(state_dir)
    done = on_a_mount(instance, "size=64k", ":", "sh", "-c", FULL_DISK, "sh",
                      *instance.argv("launch", "--ready", "notify", "--", SERVER, "--notify"))
    line, code, *files = done.output.splitlines()
    result = wait_failed(json.loads(line))
    assert code == "code 1" and result["result"] == "failed"
    assert "cannot write" in result["message"] and "No space left on device" in result["message"]
    assert "TETHER_STATE_DIR" in result["message"]
    assert set(files) <= {"lock", "launcher.log"}


FILLS = """set -e
"$@" launch --grace-ms 50 -- sh -c "head -c 2000000 /dev/zero | tr '\\\\0' 'a\\n'; exec %(server)s"
echo x >>"$TETHER_STATE_DIR/full" && dd if=/dev/zero of="$TETHER_STATE_DIR/full" bs=4k 2>/dev/null || echo full
"$@" restart; echo "restart $?"
"$@" status >/dev/null; echo "status $?"
"$@" stop; echo "stop $?"
rm "$TETHER_STATE_DIR/full"
"$@" launch -- %(server)s
"$@" stop; echo "again $?"
"""


def test_L5_a_disk_that_fills_while_it_runs_costs_lines_and_nothing_else(state_dir):
    instance = Instance(state_dir)
    tether = 'c=$1; shift; exec "%s" $c --http-port %d --ws-port %d "$@"' % (instance.program, instance.http, instance.ws)
    done = on_a_mount(instance, "size=256k", ":", "sh", "-c", FILLS % {"server": SERVER}, "sh",
                      "sh", "-c", tether, "sh")
    for line in ("full", "restart 0", "status 0", "stop 0", "again 0"):
        assert line in done.output.splitlines(), done.output
    assert instance.ports_are_free()
