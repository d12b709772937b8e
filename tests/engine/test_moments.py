"""Rows A11, F9: an editor is killed at any moment of start, reload and stop, and nothing of it is left."""
import concurrent.futures
import json
import os
import random
import time

from harness import Process, free_ports, system
from plugin_scene import Scene
from scene import Watched, command_of, wait_until
from tether import SERVER, can_bind
from test_reload import RELOAD

RESTART_PLUGIN = ('EditorInterface.set_plugin_enabled("subject", false)\n'
                  'EditorInterface.set_plugin_enabled("subject", true)')
CALL = 'Engine.get_meta(&"subject").get_ref().%s'
# What the editor is doing when it is killed, and within how many seconds of its beginning.
MOMENTS = [("start", None, 0.03), ("start", None, 0.06), ("start", None, 0.15),
           ("reload of the library", RELOAD, 0.06), ("reload of the library", RELOAD, 0.15),
           ("plugin off and on", RESTART_PLUGIN, 0.1),
           ("restart of the server", CALL % "restart()", 0.05),
           ("stop", CALL % "stop(true)", 0.02), ("stop", CALL % "stop(true)", 0.1),
           ("end of the editor", "EditorInterface.get_base_control().get_tree().quit()", 0.5)]
AT_ONCE = 3
LIMIT = 60.0  # seconds until all is gone: to stop the stubborn takes its grace, too


def all_of(state_dir):
    """Whatever was started with this state directory in its environment: all that an editor starts."""
    return system.processes_with("TETHER_STATE_DIR", state_dir)


def kill_at(moment, pause, folder):
    """Opens an editor, kills it when the moment has come, and returns what is wrong afterwards."""
    name, code, _ = moment
    state_dir = os.path.join(folder, "state")
    os.makedirs(state_dir, 0o700)
    ports = free_ports()
    env = {"SUBJECT": json.dumps({"command": [SERVER], "http_port": ports[0], "ws_port": ports[1]})}
    with Scene(os.path.join(folder, "p"), state_dir, ("driver", "subject"), env) as scene:
        subject = scene.subject(ports)
        if code:
            subject.wait_state("ready")
            scene.post(code)
        time.sleep(pause)  # this is what is tried: any moment
        pid = scene.pid
        with Watched([pid]) as watched:
            scene.process.kill()
            dead = watched.wait()
            try:
                wait_until(lambda: all_of(state_dir) in ([pid], []), "its end", LIMIT)
            except TimeoutError:
                raise AssertionError("%s after %.3f s: there is still %s" % (name, pause, [
                    command_of(one) for one in all_of(state_dir) if one != pid])) from None
        took = time.monotonic() - dead
        left = [file for _, _, files in os.walk(state_dir) for file in files
                if file.endswith((".json", ".sock")) and file != "last.json"]
        wrong = [] if can_bind(ports[0]) and can_bind(ports[1]) else ["a port is held"]
        return took, wrong + left


def test_A11_F9_editor_killed_at_any_moment_leaves_nothing(tmp_path):
    seed = int(os.environ.get("TETHER_SEED", random.randrange(1 << 32)))
    source = random.Random(seed)
    pauses = [source.uniform(0, longest) for _, _, longest in MOMENTS]
    print("seed %d (TETHER_SEED)" % seed)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        tries = [pool.submit(kill_at, moment, pause, str(tmp_path / str(number)))
                 for number, (moment, pause) in enumerate(zip(MOMENTS, pauses))]
    problems = []
    for (name, _, _), pause, one in zip(MOMENTS, pauses, tries):
        took, wrong = one.result()
        print("%-22s killed after %5.1f ms, all gone %4.0f ms later %s" % (name, pause * 1000, took * 1000, wrong))
        problems += wrong
    assert problems == [], "seed %d" % seed
    assert Process.running == []
