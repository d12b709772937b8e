"""A server lives as long as its owner and those who use it, and ends in order after them (A14: whom it has is in its environment)."""
import json
import os
import re
import shutil
import signal
import socket
import time

import pytest

from clients import Peer
from harness import IS_WINDOWS, Process, own_pid, system
from scene import (SessionProcess, Watched, command_of, environment_of, is_alive, kill, owner_variables, stays,
                   wait_until)
from tether import SERVER, Instance, http_get, identity, start_owner

ENDED = "ended (%s): no process is left, both ports are free"


def watch(instance):
    """A connection that counts for nothing and is told of every change."""
    control = instance.control()
    assert control.hello(role="cli")["type"] == "welcome"
    return control


def wait_for(control, condition):
    while True:
        message = control.receive("state")
        if condition(message):
            return message


# ---- who is the owner ----------------------------------------------------------------------------

def test_A3_flag_wins_over_variable(state_dir):
    with start_owner() as named, start_owner() as inherited, Instance(state_dir) as it:
        result = it.launch("--grace-ms", 0, "--owner-pid", named.pid,
                           env={"TETHER_OWNER_PID": str(inherited.pid),
                                "TETHER_OWNER_START": identity(named.pid)["start"]})
        assert result["code"] == 0
        assert it.status()["owner"] == dict(identity(named.pid), alive=True)
        inherited.stop()
        with watch(it) as control:
            assert control.request("status")["why"] == "owner %d lives" % named.pid
        named.stop()
        it.wait_end()
        assert ENDED % "owner died" in it.log()


def test_A3_variable_alone_arms(state_dir):
    with start_owner() as owner, Instance(state_dir) as it:
        me = identity(owner.pid)
        it.launch("--grace-ms", 0, env={"TETHER_OWNER_PID": str(me["pid"]), "TETHER_OWNER_START": me["start"]})
        assert it.status()["owner"] == dict(me, alive=True)
        owner.stop()
        it.wait_end()


@pytest.mark.parametrize("value", ["abc", "-1", "0", "1", "12x", "0x10", " 12", "+12", "99999999999", "1e3"])
@pytest.mark.parametrize("way", ["flag", "variable"])
def test_A3_malformed_owner_warns_and_arms_nothing(state_dir, way, value):
    with Instance(state_dir, "--grace-ms", 0) as it:
        if way == "flag":
            it.launch("--owner-pid", value)
        else:
            it.launch(env={"TETHER_OWNER_PID": value})
        assert it.result["code"] == 0
        assert "'%s'" % value in it.warnings and "no owner is watched" in it.warnings
        status = it.status()
        assert status["owner"] is None and status["ownership"] == "unarmed"
        assert owner_variables(it.result["server_pid"]) == {}


def test_A3_malformed_flag_does_not_fall_back_to_the_variable(state_dir):
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 0) as it:
        it.launch("--owner-pid", "12x", env={"TETHER_OWNER_PID": str(owner.pid)})
        assert "no owner is watched" in it.warnings
        assert it.status()["ownership"] == "unarmed"


def test_A3_malformed_start_arms_nothing(state_dir):
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 0) as it:
        it.launch("--owner-pid", owner.pid, "--owner-start", "yesterday")
        assert "'yesterday'" in it.warnings and "no owner is watched" in it.warnings
        assert it.status()["ownership"] == "unarmed"


def test_A3_empty_variable_is_no_owner_and_no_warning(state_dir):
    with Instance(state_dir, "--grace-ms", 0) as it:
        it.launch(env={"TETHER_OWNER_PID": "", "TETHER_OWNER_START": ""})
        assert it.warnings == "" and it.status()["ownership"] == "unarmed"


def test_A13_without_owner_nothing_is_ever_armed(state_dir):
    """A3, A13: sessions come, leave and die, the program that launched is gone; the server stays."""
    with Instance(state_dir, "--grace-ms", 0) as it:
        it.launch()
        path = it.result["control"]
        with SessionProcess(path) as first, SessionProcess(path) as second, SessionProcess(path) as third:
            third.kill()
            third.wait()
            first.tell("leave disable")
            second.tell("leave quit")
            with watch(it) as control:
                status = control.request("status")
        assert status["sessions"] == [] and status["ownership"] == "unarmed" and status["owner"] is None
        assert status["why"].startswith("no owner was given")
        assert stays(it.result["daemon_pid"], 0.3) and http_get(it.http)[0] == 200
        assert owner_variables(it.result["server_pid"]) == {}


def test_A13_behaves_as_if_started_by_hand(state_dir, tmp_path):
    """Same directory, same environment and same words as a shell would give it; SIGTERM ends it."""
    command = [SERVER, "--say", "two words"]
    with Instance(state_dir) as it:
        it.launch(command=command, env={"SOME_SETTING": "kept"}, cwd=tmp_path)
        server = it.result["server_pid"]
        assert system.folder_of(server) == str(tmp_path)
        assert command_of(server) == command
        assert environment_of(server)["SOME_SETTING"] == "kept"
        kill(server, signal.SIGTERM)
        it.wait_end()
        assert "server exited with code 0" in it.log() and it.ports_are_free()


def test_A13_no_folder_of_an_editor_is_held_by_who_outlives_it(state_dir, tmp_path):
    """Daemon and built-in server are in a folder of their own, so that an editor's can be moved and removed."""
    with Instance(state_dir) as it:
        result = json.loads(it.cli("launch", cwd=tmp_path).output.splitlines()[-1])
        assert result["code"] == 0, result
        assert system.folder_of(result["daemon_pid"]) == it.directory
        assert system.folder_of(result["server_pid"]) == it.directory


def test_A13_a_command_starts_again_where_it_was_asked_for(state_dir, tmp_path):
    """Also by a path that begins there, and where that place has another name by then, which it can get on Linux."""
    folder = tmp_path / "project \u00e4"
    folder.mkdir()
    name = "own" + os.path.splitext(SERVER)[1]
    shutil.copy(system.local(SERVER), folder / name)
    with Instance(state_dir) as it:
        it.launch(command=[os.path.join(".", name)], cwd=folder)
        if not IS_WINDOWS:
            folder = folder.rename(tmp_path / "moved")
        assert it.cli("restart").status == 0
        assert it.status()["restarts"] == 1 and system.folder_of(it.status()["server"]["pid"]) == str(folder)


def test_A14_owner_travels_in_the_environment_only(state_dir):
    """A server that ends at any flag that it does not know runs with an owner just the same."""
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 0) as it:
        assert it.launch("--owner-pid", owner.pid, "--owner-env", "OLD_OWNER_PID", command=[SERVER])["code"] == 0
        server = it.result["server_pid"]
        assert command_of(server) == [SERVER]
        assert owner_variables(server, "OLD_OWNER_PID")["OLD_OWNER_PID"] == str(owner.pid)
        owner.stop()
        it.wait_end()


# ---- when it ends --------------------------------------------------------------------------------

def test_A4_ends_one_grace_after_the_owner(state_dir):
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 600) as it:
        it.launch("--owner-pid", owner.pid)
        with Watched([it.result["server_pid"]]) as server:
            began = time.monotonic()
            owner.kill()
            assert 0.6 <= server.wait() - began < 10
        it.wait_end()
        assert ENDED % "owner died" in it.log() and it.ports_are_free()


def test_A4_transient_zeros_between_the_samples_do_not_end_it(state_dir):
    """The owner is dead; whoever uses the server goes and comes back within the grace, again and
    again. Only a whole grace without anybody ends it."""
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 2000) as it:
        it.launch("--owner-pid", owner.pid)
        daemon = it.result["daemon_pid"]
        with watch(it) as control:
            user = it.control()
            user.request("status")  # without a hello: it counts until it closes
            owner.stop()
            wait_for(control, lambda state: state["owner"]["alive"] is False)
            for _ in range(5):
                user.close()
                wait_for(control, lambda state: state["ownership"] == "orphan?")
                assert stays(daemon, 0.5)
                user = it.control()
                user.request("status")
            assert stays(daemon, 2.2)
            assert control.request("status")["why"] == "1 session"
            began = time.monotonic()
            user.close()
            it.wait_end()
            assert time.monotonic() - began >= 2
        assert ENDED % "owner died" in it.log()


def test_A4_session_within_the_grace_saves_it(state_dir):
    """A4, F3: the newcomer becomes the owner, and its end is the server's end."""
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 1000) as it:
        it.launch("--owner-pid", owner.pid)
        with Peer(it.result["control"], connect=False) as editor:
            owner.stop()
            editor.connect()
            editor.hello()
            status = it.status()
            assert status["ownership"] == "adopted" and status["owner"]["pid"] == editor.pid
        it.wait_end()


def refused_for_the_owner(it, text, pid, *start):
    """Told before anything is started."""
    options = ["--owner-pid", str(pid)] + (["--owner-start", str(start[0])] if start else [])
    result = it.launch(*options)
    assert result["result"] == "failed" and result["code"] == 1 and result["daemon_pid"] == 0
    assert text in result["message"]
    with it.run(*options) as ran:
        assert ran.wait() == 1 and text in ran.output
    assert not os.path.exists(os.path.join(it.directory, "launcher.log"))  # no daemon was there


def test_A4_owner_that_is_dead_before_the_launch(state_dir):
    with start_owner() as owner:
        me = identity(owner.pid)
    text = "the owner, process %d, does not live" % me["pid"]
    refused_for_the_owner(Instance(state_dir), text, me["pid"])
    refused_for_the_owner(Instance(state_dir), text, me["pid"], me["start"])


def test_A4_owner_whose_pid_is_anothers_now(state_dir):
    me = identity(own_pid())
    refused_for_the_owner(Instance(state_dir), "pid %d is another process than the owner meant" % me["pid"],
                          me["pid"], int(me["start"]) + 1)


def test_A4_owner_that_dies_while_the_server_starts(state_dir):
    it = Instance(state_dir, "--grace-ms", 0)
    with start_owner() as owner, Process(it.argv("launch", "--grace-ms", 0, "--owner-pid", owner.pid, "--", SERVER,
                                                 "--never-ready"), it.env) as launch:
        wait_until(lambda: it.cli("status").status == 0, "the daemon listens")
        owner.kill()
        assert launch.wait() == 1
        assert json.loads(launch.output)["message"] == "the owner died before the server was ready"


# ---- how it ends ---------------------------------------------------------------------------------

def end_by(it, way, owner):
    if way == "owner":
        owner.kill()
    elif way == "stop":
        assert it.cli("stop").status == 0
    else:
        kill(it.result["daemon_pid"], signal.SIGTERM)
    it.wait_end()


CAUSES = {"owner": "owner died", "stop": "stop requested", "signal": "signal"}


def ended_line(log):
    return re.search(r"ended \((.*?)\): (.*)", log).groups()


@pytest.mark.parametrize("way", CAUSES)
def test_A6_obedient_server_drains(state_dir, way):
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 0) as it:
        it.launch("--owner-pid", owner.pid, command=[SERVER, "--term-delay-ms", "250"])
        began = time.monotonic()
        end_by(it, way, owner)
        assert it.ports_are_free()
        assert time.monotonic() - began >= 0.25
        assert "server exited with code 0" in it.log()
        assert ended_line(it.log())[1] == "no process is left, both ports are free"


@pytest.mark.parametrize("way", CAUSES)
def test_A6_stubborn_server_is_killed_after_the_stop_grace(state_dir, way):
    """The tree ignores SIGTERM, and a grandchild out of its reach holds the ports."""
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 0, "--stop-grace-ms", 300) as it:
        it.launch("--owner-pid", owner.pid, command=[SERVER, "--ignore-term", "--hold-socket-child"])
        began = time.monotonic()
        end_by(it, way, owner)
        assert it.ports_are_free()
        assert time.monotonic() - began >= 0.3
        assert "server " + system.ENDED in it.log()
        assert ended_line(it.log())[1] == "no process is left, both ports are free"


def test_A6_grandchild_that_holds_the_ports_after_an_orderly_exit(state_dir):
    with Instance(state_dir, "--stop-grace-ms", 300) as it:
        it.launch(command=[SERVER, "--hold-socket-child"])
        end_by(it, "stop", None)
        assert it.ports_are_free() and "server exited with code 0" in it.log()


def test_A6_a_port_that_is_not_free_afterwards_is_recorded(state_dir):
    with Instance(state_dir, "--ready", "none") as it, socket.socket() as stranger:
        it.launch(command=[SERVER, "--never-ready"])
        stranger.bind(("127.0.0.1", it.ws))
        stranger.listen()
        assert it.cli("stop").status == 1
        it.wait_end()
        assert ended_line(it.log())[1] == "no process is left, a port is not free"
        assert "after the end: port %d is held by %s" % (it.ws, system.holder(os.getpid())) in it.log()


# ---- liveness ------------------------------------------------------------------------------------

def test_A8_zombie_owner_is_dead(state_dir):
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 0) as it:
        it.launch("--owner-pid", owner.pid)
        owner.kill()  # and nobody waits for it
        it.wait_end()
        assert system.state_of(owner.pid) == "Z"
        assert ENDED % "owner died" in it.log()


def test_A8_zombie_at_the_launch_is_dead(state_dir):
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 300) as it:
        me = identity(owner.pid)
        owner.kill()
        wait_until(lambda: not is_alive(owner.pid), "the owner is a zombie")
        refused_for_the_owner(it, "does not live", me["pid"], me["start"])


def test_A8_stopped_owner_is_alive(state_dir):
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 0) as it:
        it.launch("--owner-pid", owner.pid)
        owner.kill(signal.SIGSTOP)
        assert stays(it.result["daemon_pid"], 0.3)
        assert it.status()["why"] == "owner %d lives" % owner.pid


def test_A8_owner_whose_program_is_replaced_is_the_same(state_dir):
    """exec keeps pid and start."""
    with Process(["sh", "-c", "read line; exec sleep 1000"], stdin=-1) as owner, \
            Instance(state_dir, "--grace-ms", 0) as it:
        it.launch("--owner-pid", owner.pid)
        owner.popen.stdin.close()
        wait_until(lambda: command_of(owner.pid)[:1] == ["sleep"], "the owner is another program")
        assert stays(it.result["daemon_pid"], 0.2)
        owner.kill()
        it.wait_end()


# ---- passing on ----------------------------------------------------------------------------------

def test_F3_ownership_passes_to_the_oldest_session(state_dir):
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 0) as it:
        it.launch("--owner-pid", owner.pid)
        path = it.result["control"]
        with SessionProcess(path) as first, SessionProcess(path) as second, watch(it) as control:
            owner.kill()
            state = wait_for(control, lambda state: state["owner"]["pid"] == first.pid and state["owner"]["alive"])
            assert state["ownership"] == "adopted"
            assert state["why"] == "2 sessions, and owner %d lives" % first.pid
            first.kill()
            state = wait_for(control, lambda state: state["owner"]["pid"] == second.pid and state["owner"]["alive"])
            assert state["why"] == "1 session, and owner %d lives" % second.pid
            assert http_get(it.http)[0] == 200
            second.kill()
            it.wait_end()
        assert ended_line(it.log())[0] == "owner died" and it.ports_are_free()


def test_F3_owner_that_leaves_passes_it_on(state_dir):
    """The owner's own session says goodbye, but its process lives on."""
    with start_owner() as bystander, Instance(state_dir, "--grace-ms", 0) as it:
        it.launch("--owner-pid", bystander.pid)
        path = it.result["control"]
        with SessionProcess(path) as first, SessionProcess(path) as second:
            bystander.stop()
            wait_until(lambda: it.status()["owner"]["pid"] == first.pid, "the first inherits")
            first.tell("leave quit")
            wait_until(lambda: it.status()["owner"]["pid"] == second.pid, "the second inherits")
            assert is_alive(first.pid) and it.status()["ownership"] == "adopted"
            second.tell("leave quit")
            it.wait_end()
        assert "ended (" in it.log() and it.ports_are_free()


def test_F3_status_says_why_the_server_lives(state_dir):
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 500) as it:
        it.launch("--owner-pid", owner.pid, command=[SERVER, "--term-delay-ms", "300"])
        with watch(it) as control:
            assert control.request("status")["why"] == "owner %d lives" % owner.pid
            assert "why       owner %d lives\n" % owner.pid in it.cli("status").output
            user = it.control()
            user.request("status")
            assert control.request("status")["why"] == "1 session, and owner %d lives" % owner.pid
            owner.stop()
            wait_for(control, lambda state: state["why"] == "1 session")
            user.close()
            wait_for(control, lambda state: state["why"] ==
                     "owner %d is dead and nobody is left; a second look follows" % owner.pid)
            state = wait_for(control, lambda state: state["state"] == "stopping")
            assert state["why"] == "it is being stopped (owner died)"
        it.wait_end()


def test_F3_place_of_a_restarting_editor(state_dir):
    with start_owner() as owner, Instance(state_dir, "--grace-ms", 0) as it:
        it.launch("--owner-pid", owner.pid)
        with SessionProcess(it.result["control"]) as editor:
            owner.stop()
            wait_until(lambda: it.status()["owner"]["pid"] == editor.pid, "the editor inherits")
            editor.tell("leave restart")
        wait_until(lambda: it.status()["owner"]["alive"] is False, "the former editor is dead")
        assert re.match(r"an editor is restarting; its place is kept for (2\d|30) s", it.status()["why"])
        with SessionProcess(it.result["control"]) as successor:
            status = it.status()
            assert status["owner"]["pid"] == successor.pid and len(status["sessions"]) == 1
        it.wait_end()
