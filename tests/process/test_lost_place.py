"""Somebody removes the files by which an instance is found, as those do who clean /tmp. Row L3: the
living instance keeps all that is its own, and can be reached again."""
import json
import os
import random
import shutil
import signal
import subprocess
import time

import pytest

from clients import in_namespace
from harness import IS_WINDOWS, LIMIT, Process, kill, own_pid, run, system, wait_gone
from scene import is_alive, stays, wait_until
from tether import SERVER, Instance, http_get, start_owner

# Of the end of the first nobody hears: it comes back with the others, and so has to go before them.
FILES = ["state.json", "lock"] + ([] if IS_WINDOWS else ["control.sock"])
TMPFILES = shutil.which("systemd-tmpfiles")


def remove(instance, *names):
    for name in names:
        os.unlink(os.path.join(instance.directory, name))


def take_away(instance):
    """All of it. It is moved before, or the daemon would be faster than what is left of the removal."""
    away = instance.directory + ".away"
    os.rename(instance.directory, away)
    while os.path.exists(away):  # the daemon may be writing into it
        shutil.rmtree(away, ignore_errors=True)


def is_reached(instance):
    """A socket is there before anybody listens at it, and a lock's file may be one who just looked for us."""
    try:
        system.connect(instance.endpoint, LIMIT).close()
        lock = os.stat(os.path.join(instance.directory, "lock"))
        with open(os.path.join(instance.directory, "state.json")) as file:
            return json.load(file)["lock"] == "%d:%d" % (lock.st_dev, lock.st_ino)
    except OSError:
        return False


def wait_whole(instance, names=FILES):
    wait_until(lambda: all(os.path.lexists(os.path.join(instance.directory, name)) for name in names)
               and (IS_WINDOWS or names != FILES or is_reached(instance)), "its files are back")


def inodes(instance):
    return [os.stat(os.path.join(instance.directory, name)).st_ino for name in FILES[1:]]


def still_the_same(instance, first):
    """By its own word and by what the system shows."""
    status = instance.status()
    assert status["daemon"]["pid"] == first["daemon_pid"] and status["state"] == "ready"
    assert status["server"]["pid"] == first["server_pid"] and is_alive(first["server_pid"])
    assert status["restarts"] == 0 and http_get(instance.http)[0] == 200
    return status


@pytest.mark.parametrize("names", [["lock"], ["control.sock"], ["state.json", "lock"], FILES], ids=" ".join)
@pytest.mark.parametrize("command", ["launch", "sweep"])
def test_L3_who_comes_after_files_were_removed_ends_nobody(state_dir, names, command):
    with start_owner() as owner, Instance(state_dir) as it:
        first = it.launch("--owner-pid", owner.pid)
        remove(it, *names)
        if command == "launch":
            if names == FILES:
                wait_whole(it)  # until then there is nothing to find it by
            second = it.launch()
            assert second["result"] == "adopted" and second["daemon_pid"] == first["daemon_pid"], second
        else:
            assert it.cli("sweep").status == 0
        wait_whole(it)
        still_the_same(it, first)
        again = it.launch()
        assert again["result"] == "adopted" and again["server_pid"] == first["server_pid"]
        assert it.cli("sweep").output.startswith("nothing to sweep: tether runs here")
        assert it.cli("stop", "--force").status == 0
        assert sorted(os.listdir(it.directory)) == ["last.json", "launcher.log", "lock", "server.log"]


def test_L3_a_daemon_that_cannot_be_found_loses_neither_server_nor_place(state_dir):
    """All that leads to it was removed, and it had no time yet to put that back."""
    with start_owner() as owner, Instance(state_dir) as it:
        first = it.launch("--owner-pid", owner.pid)
        kill(first["daemon_pid"], signal.SIGSTOP)
        try:
            remove(it, *FILES)
            second = json.loads(run(it.argv("launch", "--", SERVER), it.env).output.splitlines()[-1])
        finally:
            kill(first["daemon_pid"], signal.SIGCONT)
        assert second["code"] == 3 and second["holder"]["pid"] == first["server_pid"], second
        wait_whole(it)
        assert it.launch()["result"] == "adopted"
        still_the_same(it, first)


def test_L3_what_is_removed_again_as_soon_as_it_is_back_comes_back(state_dir):
    """Whoever removes a directory with all that is in it does so to what is made meanwhile, too."""
    random_pauses = random.Random(1)
    with start_owner() as owner, Instance(state_dir) as it:
        first = it.launch("--owner-pid", owner.pid)
        for _ in range(60):
            for _ in range(3):
                shutil.rmtree(it.directory, ignore_errors=True)
                end = time.monotonic() + random_pauses.uniform(0, 0.004)
                while time.monotonic() < end:
                    pass
            # The record is not watched: if it goes after the second look, it comes with the next change.
            wait_whole(it, FILES[1:])
        still_the_same(it, first)


def test_L3_where_time_began_elsewhere_nobody_is_taken_for_dead(state_dir):
    """In another time namespace each process seems to have begun at another time than its record says."""
    words = in_namespace("--time", "--boottime", "100000")
    if not words:
        pytest.skip("no right to make a time namespace")
    with start_owner() as owner, Instance(state_dir) as it:
        first = it.launch("--owner-pid", owner.pid)
        assert "orphan" not in run(words + it.argv("doctor"), it.env).output
        kill(first["daemon_pid"], signal.SIGSTOP)
        try:
            remove(it, *FILES[1:])
            for command in (["sweep"], ["launch", "--", SERVER]):
                run(words + it.argv(*command), it.env)
                assert is_alive(first["server_pid"]), command
        finally:
            kill(first["daemon_pid"], signal.SIGCONT)
        wait_whole(it)
        still_the_same(it, first)


def test_L3_a_directory_that_is_gone_is_made_again(state_dir):
    """With all that was in it, for all that was to be found there; sessions are not interrupted."""
    with start_owner() as owner, Instance(state_dir, "--ready", "notify") as it:
        first = it.launch("--owner-pid", owner.pid, command=[SERVER, "--notify"])
        with it.control() as control:
            session = control.hello()["session"]
            take_away(it)
            wait_whole(it, FILES + ["sessions/%d.json" % own_pid()])
            assert control.request("status")["ok"]
            assert session in [one["session"] for one in still_the_same(it, first)["sessions"]]
            assert "made again" in it.log()
            # The new server tells it is ready where the old one would have.
            assert it.cli("restart").status == 0
            wait_until(lambda: it.cli("logs", "-n", "100").output.count("server up") == 1, "its log is whole again")
        assert it.cli("stop", "--force").status == 0 and it.ports_are_free()


def test_L3_a_stopped_daemon_without_its_files_is_neither_ended_nor_replaced(state_dir):
    """It cannot make them again. Whoever comes is told whom to see to, in bounded time."""
    with start_owner() as owner, Instance(state_dir) as it:
        first = it.launch("--owner-pid", owner.pid)
        kill(first["daemon_pid"], signal.SIGSTOP)
        try:
            remove(it, *FILES[1:])
            results = [it.launch()]
            swept = it.cli("sweep")
            doctor = json.loads(it.cli("doctor", "--json").output)["findings"]
        finally:
            kill(first["daemon_pid"], signal.SIGCONT)
        for result in results:
            assert result["code"] == 1 and "process %d" % first["daemon_pid"] in result["message"], result
        assert "process %d" % first["daemon_pid"] in swept.output, swept.output
        finding = next(f for f in doctor if f["what"] == "daemon")
        assert not finding["ok"] and "process %d" % first["daemon_pid"] in finding["text"]
        wait_whole(it)
        still_the_same(it, first)


@pytest.mark.skipif(not TMPFILES, reason="no systemd-tmpfiles here")
def test_L3_a_cleaner_that_honours_locks_leaves_a_running_instance_alone(state_dir, tmp_path):
    conf = tmp_path / "clean.conf"
    conf.write_text("d %s - - - 0\n" % state_dir)
    with Instance(state_dir) as it:
        first = it.launch()
        inode = os.stat(os.path.join(it.directory, "lock")).st_ino
        subprocess.run([TMPFILES, "--clean", str(conf)], check=True)
        assert os.stat(os.path.join(it.directory, "lock")).st_ino == inode
        still_the_same(it, first)
        assert it.cli("stop").status == 0
        subprocess.run([TMPFILES, "--clean", str(conf)], check=True)
        assert not os.path.exists(it.directory)  # what nobody uses is the cleaner's


def test_L3_who_ends_removes_only_what_is_its_own(state_dir):
    """Another has come to the same place while the first could not see to it."""
    idle = ["--ready", "none", "--"] + system.IDLE  # no ports, so that both can be there
    with start_owner() as owner, Instance(state_dir) as it:
        with Process(it.argv("run", "--owner-pid", owner.pid, *idle), it.env) as first:
            first.expect("server ready")
            kill(first.pid, signal.SIGSTOP)
            take_away(it)
            with Process(it.argv("run", *idle), it.env) as second:
                second.expect("server ready")
                before = inodes(it)
                kill(first.pid, signal.SIGTERM)
                kill(first.pid, signal.SIGCONT)
                assert first.wait() == 0
                assert inodes(it) == before and os.path.exists(os.path.join(it.directory, "state.json"))
                assert it.status()["daemon"]["pid"] == second.pid
                assert it.cli("stop").status == 0 and second.wait() == 0


def test_L5_no_command_waits_for_a_daemon_that_is_stopped(state_dir):
    """Each of them says within a minute for whom it waited in vain. As long as the daemon answers they
    wait, however long the server takes."""
    slow = ["--stop-grace-ms", "1000", "--ready-timeout-ms", "600000"]
    with Instance(state_dir) as one, Instance(state_dir) as two:
        starting = Process(one.argv("launch", *slow, "--", SERVER, "--never-ready"), one.env)
        wait_until(lambda: one.cli("status").status == 0, "it listens")
        daemon = one.status()["daemon"]["pid"]
        two.launch("--stop-grace-ms", "600000", command=[SERVER, "--ignore-term"])
        waiting = {
            "starts": starting,
            "adopts": Process(one.argv("launch", "--", SERVER), one.env),
            "restarts": Process(one.argv("restart"), one.env),
        }
        ending = Process(two.argv("stop"), two.env)
        wait_until(lambda: one.log().count("server started: process") == 2, "it restarts")
        wait_until(lambda: "server stopping" in two.log(), "it ends")
        assert stays(starting.pid, 7)  # a daemon that is quiet is asked, and waited for
        assert all(process.popen.poll() is None for process in list(waiting.values()) + [ending])
        kill(daemon, signal.SIGSTOP)
        kill(two.result["daemon_pid"], signal.SIGSTOP)
        commands = [Process(one.argv(*words.split()), one.env)
                    for words in ("status", "stop", "restart", "logs -f", "doctor")]
        try:
            for what, process in waiting.items():
                assert process.wait(60) != 0 and "process %d," % daemon in process.output, (what, process.output)
            assert ending.wait(60) == 1 and "process %d," % two.result["daemon_pid"] in ending.output
            for process in commands:
                assert process.wait(60) == 1 and "process %d" % daemon in process.output, process.output
        finally:
            kill(daemon, signal.SIGCONT)
            kill(two.result["daemon_pid"], signal.SIGCONT)
            kill(two.result["server_pid"])
