"""Row A1: whatever is reloaded, the same server is found again, and the session goes on."""
import json
import os
import shutil

import editor
from harness import LIMIT, Process, free_ports, wait_gone
from plugin_scene import Scene, make_project
from scene import NEWER, is_alive, owner_variables, wait_until
from tether import SERVER, identity

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
    """Waits until the server has one session again, its own, and returns the status."""
    def look():
        status = server.status()
        own = status["client_state"] == "ready" and len(status["sessions"]) == 1
        return status if own and status["sessions"][0]["session"] == status["session"] else None
    return wait_until(look, "one session at %s" % server.name, limit)


def check_same(server, pid):
    status = settled(server)
    assert status["server"]["pid"] == pid and status["restarts"] == 0 and is_alive(pid)
    assert status["sessions"][0]["pid"] == server.scene.pid and status["sessions"][0]["link"] == "connected"


def test_A1_plugin_script_and_library_are_reloaded(tmp_path, state_dir):
    """With a library that was replaced by one of the same name, as an update does it."""
    ports = free_ports()
    addon = str(tmp_path / "addon")
    shutil.copytree(os.path.join(editor.ROOT, "addons/tether"), addon)
    folder = str(tmp_path / "p")
    make_project(folder, ["driver", "subject"])
    os.unlink(folder + "/addons/tether")
    os.symlink(addon, folder + "/addons/tether")
    with Scene(folder, state_dir, env=subject_of(ports)) as scene:
        subject = scene.subject(ports)
        subject.wait_state("ready")
        pid, daemon = subject.server_pid(), subject.daemon_pid()

        # Off and on again at once: nobody has left for good.
        scene.run(TOGGLE % "false" + "\n" + TOGGLE % "true")
        assert subject.expect("adopted")["daemon_pid"] == daemon
        subject.wait_state("ready")
        check_same(subject, pid)

        scene.run('(load("res://addons/subject/subject.gd") as GDScript).reload(true)')
        check_same(subject, pid)

        # The library: servers that were wanted are wanted again, others are not.
        stopped, second = scene.server("stopped"), scene.server("second")
        stopped.start()
        stopped.stop()
        second_pid = second.start()
        library = addon + "/bin/libtether.linux.editor.x86_64.so"
        shutil.copy(library, library + ".new")
        os.replace(library + ".new", library)
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
        log = second.call("get_log", 100)
        assert "server up pid %d" % second_pid in log  # what was said before is there again
        second.stop()

        # A later release of the launcher takes over, for nobody else is there.
        shutil.copy(NEWER, addon + "/bin/new")
        os.replace(addon + "/bin/new", addon + "/bin/tether.linux.x86_64")
        subject.forget()
        assert scene.run(RELOAD) == 0
        subject.wait_state("ready")
        wait_gone(daemon)
        status = settled(subject)
        assert status["daemon_version"] != status["version"] and not is_alive(pid)
        pid, daemon = status["server"]["pid"], status["daemon"]["pid"]
        assert owner_variables(pid)["TETHER_OWNER_PID"] == str(scene.pid)

        # Off for good: that is the end of what it had started.
        scene.run(TOGGLE % "false")
        wait_gone(pid)
        wait_gone(daemon)
        assert subject.ports_are_free()
        subject.forget()
        scene.run(TOGGLE % "true")
        subject.wait_state("ready")
        pid, daemon = subject.server_pid(), subject.daemon_pid()
        assert scene.quit() == []  # A10: and so is the end of the editor
        wait_gone(pid)
        wait_gone(daemon)
        assert subject.ports_are_free()


def restartable(folder, arguments, env):
    """An editor without a window whose successor will have none either: unlike --headless, these
    arguments are handed on."""
    home = folder + ".home"
    environment = dict(env, XDG_CONFIG_HOME=home + "/config", XDG_DATA_HOME=home + "/data",
                       XDG_CACHE_HOME=home + "/cache")
    return Process([editor.ENGINE, "--display-driver", "headless", "--audio-driver", "Dummy", "--editor",
                    "--path", folder] + arguments, environment)


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
        successor = scene.wait_here(seen)
        assert successor != scene.pid
        subject.wait_state("ready")
        after = settled(subject, LIMIT / 3)  # what the place is kept for is longer: it was taken, not given up
        for key in ("daemon", "server", "restarts"):
            assert after[key] == before[key]
        assert after["sessions"][0]["pid"] == successor and after["owner"]["pid"] == successor
        scene.post("EditorInterface.get_base_control().get_tree().quit()")
        wait_gone(successor)
        wait_gone(after["daemon"]["pid"])
        assert subject.ports_are_free()
        scene.process.wait()
        assert editor.complaints(scene.process.output) == []
