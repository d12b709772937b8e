"""Row A1: whatever is reloaded, the same server is found again, and the session goes on."""
import json
import os
import shutil
import signal
import time

import pytest

import editor
from harness import IS_WINDOWS, LIMIT, TETHER, Process, free_ports, system, wait_gone
from plugin_scene import Scene, make_project, shared_scene
from scene import NEWER, is_alive, kill, owner_variables, wait_until
from tether import SERVER, identity

KEPT_S = 30  # the place of an editor that restarts
TOGGLE = 'EditorInterface.set_plugin_enabled("subject", %s)'
RELOAD = ('driver.kept["reloaded"] = -1\n'
          '(func() -> void: driver.kept["reloaded"] = GDExtensionManager.reload_extension('
          '"res://addons/tether/tether.gdextension")).call_deferred()\n'
          'while driver.kept["reloaded"] < 0:\n\tawait Engine.get_main_loop().process_frame\n'
          'return driver.kept["reloaded"]')


def subject_of(ports, **more):
    properties = {"command": [SERVER], "http_port": ports[0], "ws_port": ports[1]}
    properties.update(more)
    return {"SUBJECT": json.dumps(properties)}


def settled(server, limit=LIMIT):
    """Waits until the server has one session again, its own, which is the owner, and returns the status."""
    def look():
        status = server.status()
        if status["client_state"] != "ready" or len(status["sessions"]) != 1:
            return None
        only = status["sessions"][0]
        return status if only["session"] == status["session"] and only["pid"] == status["owner"]["pid"] else None
    return wait_until(look, "one session at %s" % server.name, limit)


def check_same(server, pid):
    status = settled(server)
    assert status["server"]["pid"] == pid and status["restarts"] == 0 and is_alive(pid)
    assert status["sessions"][0]["pid"] == server.scene.pid and status["sessions"][0]["link"] == "connected"


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """An editor with an addon of its own, whose files may be replaced."""
    folder = str(tmp_path_factory.mktemp("reload"))
    shutil.copytree(os.path.join(editor.ROOT, "addons/tether"), folder + "/addon", ignore=shutil.ignore_patterns("~*"))
    make_project(folder + "/p", ["driver", "subject"])
    os.unlink(folder + "/p/addons/tether")
    os.symlink(folder + "/addon", folder + "/p/addons/tether")
    ports = free_ports()
    for scene in shared_scene(folder, env=subject_of(ports)):
        scene.addon, scene.ports = folder + "/addon", ports
        subject = scene.subject(ports)
        subject.wait_state("ready")
        disable(subject)
        yield scene
        enable(subject)  # A10: the end of the editor takes its server along
    assert subject.ports_are_free()


def enable(subject):
    subject.forget()
    subject.scene.run(TOGGLE % "true")
    subject.wait_state("ready")


def disable(subject):
    """Turns the plugin off for good: that is the end of what it had started."""
    pid, daemon = subject.server_pid(), subject.daemon_pid()
    subject.scene.run(TOGGLE % "false")
    wait_gone(pid)
    wait_gone(daemon)
    assert subject.ports_are_free()


@pytest.fixture
def subject(scene):
    """The server of a plugin that is on until the test ends."""
    found = scene.subject(scene.ports)
    enable(found)
    yield found
    disable(found)


def replace(path, by):
    """Puts another file in the place of one, as an update does it: what is in use may have to be moved first."""
    shutil.copy(by, path + ".new")
    if IS_WINDOWS:
        os.rename(path, path + ".old")
    os.replace(path + ".new", path)


def test_A1_plugin_that_is_on_again_at_once_has_not_left_for_good(scene, subject):
    pid, daemon = subject.server_pid(), subject.daemon_pid()
    subject.forget()
    scene.run(TOGGLE % "false" + "\n" + TOGGLE % "true")
    assert subject.expect("adopted")["daemon_pid"] == daemon
    subject.wait_state("ready")
    check_same(subject, pid)


def test_A1_plugin_that_is_on_again_and_slow_to_launch_has_not_left_for_good(scene, tmp_path):
    """As where programs are looked through before they run."""
    launcher = tmp_path / "launcher"
    launcher.write_text('#!/bin/sh\nsleep 2\nexec "%s" "$@"\n' % TETHER)
    launcher.chmod(0o755)
    server = scene.server("slow to come")
    pid, daemon = server.start(), server.daemon_pid()
    server.forget()
    scene.run('driver.servers.erase("slow to come")')
    again = scene.server("slow to come", (server.http, server.ws), launcher=str(launcher))
    again.do("start")
    assert again.expect("adopted")["daemon_pid"] == daemon
    again.wait_state("ready")
    assert again.server_pid() == pid
    again.stop()


def test_A1_plugin_that_was_off_starts_another_server(subject):
    pid = subject.server_pid()
    disable(subject)
    enable(subject)
    assert subject.server_pid() != pid


def test_A1_script_is_reloaded(scene, subject):
    pid = subject.server_pid()
    scene.run('(load("res://addons/subject/subject.gd") as GDScript).reload(true)')
    check_same(subject, pid)


def test_A1_library_is_replaced_and_reloaded(scene, subject):
    """By one of the same name. Servers that were wanted are wanted again, others are not."""
    pid, daemon = subject.server_pid(), subject.daemon_pid()
    stopped, second = scene.server("stopped"), scene.server("second")
    stopped.start()
    stopped.stop()
    second_pid = second.start()
    library = scene.addon + "/bin/" + system.LIBRARY
    replace(library, by=library)
    for _ in range(2):
        subject.forget()
        second.forget()
        assert scene.run(RELOAD) == 0
        assert subject.expect("adopted")["daemon_pid"] == daemon
        subject.wait_state("ready")
        second.wait_state("ready")
        check_same(subject, pid)
        check_same(second, second_pid)
        assert stopped.call("get_state") == "off" and stopped.ports_are_free()
    wait_until(lambda: "server up pid %d" % second_pid in second.call("get_log", 100), "what was said before is there again")
    second.stop()


def test_A1_a_reload_does_not_wait_for_a_daemon_that_hangs(scene, subject):
    """Nobody reads its goodbye."""
    pid, daemon = subject.server_pid(), subject.daemon_pid()
    subject.forget()
    kill(daemon, signal.SIGSTOP)
    try:
        begun = time.monotonic()
        assert scene.run(RELOAD) == 0
        took = time.monotonic() - begun
    finally:
        kill(daemon, signal.SIGCONT)
    assert took < LIMIT / 2
    subject.wait_state("ready")
    check_same(subject, pid)


def test_F6_launcher_of_a_later_release_takes_over_with_the_next_reload(scene, subject):
    """For nobody else is there."""
    pid, daemon = subject.server_pid(), subject.daemon_pid()
    launcher = "/bin/" + system.LAUNCHER
    replace(scene.addon + launcher, by=system.local(NEWER))
    subject.forget()
    assert scene.run(RELOAD) == 0
    subject.wait_state("ready")
    wait_gone(daemon)
    status = settled(subject)
    assert status["daemon_version"] != status["version"] and not is_alive(pid)
    assert owner_variables(status["server"]["pid"])["TETHER_OWNER_PID"] == str(scene.pid)
    replace(scene.addon + launcher, by=editor.ROOT + "/addons/tether" + launcher)


def restartable(folder, arguments, env):
    """An editor without a window whose successor will have none either: unlike --headless, these
    arguments are handed on."""
    return Process([editor.ENGINE, "--display-driver", "headless", "--audio-driver", "Dummy", "--editor",
                    "--path", system.native(folder)] + arguments, dict(env, **editor.home(folder)))


def test_A1_editor_that_restarts_finds_the_server_under_its_new_pid(tmp_path, state_dir):
    ports = free_ports()
    with Scene(str(tmp_path / "p"), state_dir, ("driver", "subject"), subject_of(ports),
               command=restartable) as scene:
        subject = scene.subject(ports)
        subject.wait_state("ready")
        before = subject.status()
        assert before["owner"] == dict(identity(scene.pid), alive=True)
        seen = len(scene.link.events)
        scene.post("EditorInterface.restart_editor.call_deferred(false)")
        wait_gone(scene.pid)
        gone = time.monotonic()
        successor = scene.wait_here(seen)
        assert successor != scene.pid
        if time.monotonic() - gone > KEPT_S - 5:
            kill(successor)
            pytest.skip("this machine is too busy: an editor took longer to come than its place is kept")
        subject.wait_state("ready")
        after = settled(subject, 10)  # what the place is kept for is longer: it was taken, not given up
        for key in ("daemon", "server", "restarts"):
            assert after[key] == before[key]
        assert after["sessions"][0]["pid"] == successor and after["owner"]["pid"] == successor
        scene.settle()
        scene.post("EditorInterface.get_base_control().get_tree().quit()")
        wait_gone(successor)
        wait_gone(after["daemon"]["pid"])
        assert subject.ports_are_free()
        scene.process.wait(editor.START_LIMIT)
        assert editor.complaints(scene.process.output) == []
