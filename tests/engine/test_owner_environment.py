"""Row A2: who the owner is stands in the environment of what the extension starts, and nowhere else."""
import json
import os
import subprocess

import pytest

from harness import TETHER, free_ports, run, system, wait_gone
from plugin_scene import Server, shared_scene
from scene import NEWER, command_of, environment_of, kill, owner_variables, wait_until
from tether import SERVER, identity, start_owner

ALIAS = "MY_PLUGIN_OWNER_PID"
SHIM = os.path.join(os.path.dirname(__file__), "environment_shim.c")
# Reads the environment as fast as it can, from several threads, and notes what it must never see.
HAMMER = '''
driver.kept["hammer"] = self
driver.kept["go on"] = true
driver.kept["looks"] = 0
driver.kept["seen"] = []
driver.kept["threads"] = []
var look := func() -> void:
	var looks := 0
	while driver.kept["go on"]:
		for name: String in ["TETHER_OWNER_PID", "TETHER_OWNER_START", "MY_PLUGIN_OWNER_PID"]:
			if OS.has_environment(name) or OS.get_environment(name) != "":
				driver.kept["seen"].append(name)
		if OS.get_environment("PATH") == "":
			driver.kept["seen"].append("no PATH")
		looks += 1
	driver.kept["looks"] += looks
for i: int in 2:
	var thread := Thread.new()
	thread.start(look)
	driver.kept["threads"].append(thread)
'''
REST = '''
driver.kept["go on"] = false
for thread: Thread in driver.kept["threads"]:
	thread.wait_to_finish()
var found: Array = [driver.kept["looks"], driver.kept["seen"]]
driver.kept.clear()
return found
'''


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    """Tells who changes the environment of the editor; returns where it writes to."""
    folder = tmp_path_factory.mktemp("shim")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", str(folder / "shim.so"), SHIM, "-ldl"], check=True)
    return folder


@pytest.fixture(scope="module")
def scene(tmp_path_factory, shim):
    env = {"LD_PRELOAD": str(shim / "shim.so"), "SHIM_LOG": str(shim / "log")}
    yield from shared_scene(str(tmp_path_factory.mktemp("scene")), env=env)


def named(scene, aliases=(ALIAS,)):
    """The variables that name this editor as the owner."""
    me = identity(scene.pid)
    return dict({"TETHER_OWNER_PID": str(me["pid"]), "TETHER_OWNER_START": me["start"]},
                **{alias: str(me["pid"]) for alias in aliases})


def check_owner(scene, server):
    """Daemon and server both know the editor; returns the server's pid."""
    status = server.status()
    for pid in (status["daemon"]["pid"], status["server"]["pid"]):
        assert owner_variables(pid, ALIAS) == named(scene)
    assert status["owner"] == dict(identity(scene.pid), alive=True)
    return status["server"]["pid"]


def test_A2_owner_is_told_on_every_spawn_path_while_threads_read_the_environment(scene):
    scene.run(HAMMER)
    server = scene.server("paths", owner_aliases=[ALIAS], stop_grace_ms=1000)
    pids = []
    server.start()
    pids.append(check_owner(scene, server))  # the first start

    server.do("restart")
    server.wait_state("stopping")
    server.wait_state("ready")
    pids.append(check_owner(scene, server))  # a restart below the same daemon

    kill(server.daemon_pid())
    server.wait_state("lost")
    server.wait_state("ready")
    pids.append(check_owner(scene, server))  # a launch because the daemon was lost

    server.stop()
    server.set(command=["/no/such/program"])
    server.do("start")
    assert "/no/such/program" in server.expect("failed")["message"]
    server.set(command=[SERVER])
    server.start()
    pids.append(check_owner(scene, server))  # a launch after a failed one
    server.stop()
    assert len(set(pids)) == 4

    looks, seen = scene.run(REST)
    assert looks > 1000 and seen == []


def test_A2_owner_is_told_when_a_newer_release_takes_over(scene):
    ports = free_ports()
    env = {"TETHER_STATE_DIR": scene.state_dir}
    with start_owner() as gone:  # else it would be somebody's, and stay
        owner = ["--owner-pid", str(gone.pid), "--grace-ms", "600000"]
        old = run([TETHER, "launch", *owner, "--http-port", str(ports[0]), "--ws-port", str(ports[1]), "--", SERVER], env)
    old = json.loads(old.output.splitlines()[-1])
    assert old["result"] == "started"
    server = scene.server("handover", ports, owner_aliases=[ALIAS], launcher=NEWER)
    pid = server.start()
    wait_gone(old["daemon_pid"])
    assert pid != old["server_pid"] and pid == check_owner(scene, server)
    assert server.status()["daemon_version"] != server.call("get_version")
    server.stop()


def test_A2_adopted_server_of_nobody_learns_of_the_owner_through_the_launcher(scene):
    """Its environment cannot change any more; the daemon is told instead."""
    ports = free_ports()
    argv = [TETHER, "launch", "--http-port", str(ports[0]), "--ws-port", str(ports[1]), "--", SERVER]
    found = json.loads(run(argv, {"TETHER_STATE_DIR": scene.state_dir}).output.splitlines()[-1])
    server = scene.server("adopting", ports)
    server.do("start")
    assert server.expect("adopted")["daemon_pid"] == found["daemon_pid"]
    server.wait_state("ready")
    assert server.server_pid() == found["server_pid"]
    assert owner_variables(found["server_pid"]) == {}
    assert [session["pid"] for session in server.status()["sessions"]] == [scene.pid]
    server.stop()


def test_A2_owner_that_the_editor_inherited_is_not_passed_on(scene):
    """As when the editor itself was started by such a server."""
    scene.run('OS.set_environment("TETHER_OWNER_PID", "1")\nOS.set_environment("%s", "1")' % ALIAS)
    try:
        server = scene.server("inherited", owner_aliases=[ALIAS])
        server.start()
        check_owner(scene, server)
        server.stop()
        kept = scene.server("inherited-kept", owner_aliases=[ALIAS], keep_on_exit=True)
        assert owner_variables(kept.start(), ALIAS) == {}
        assert owner_variables(kept.daemon_pid(), ALIAS) == {}
        kept.stop()
    finally:
        scene.run('OS.unset_environment("TETHER_OWNER_PID")\nOS.unset_environment("%s")' % ALIAS)


def test_A2_what_the_editor_starts_afterwards_inherits_nothing(scene):
    server = scene.server("others", owner_aliases=[ALIAS])
    server.start()
    executed = scene.run('var output: Array = []\nOS.execute(%s, %s, output)\nreturn output[0]' %
                         (json.dumps(system.SHOW_ENVIRONMENT[0]), json.dumps(system.SHOW_ENVIRONMENT[1:])))
    assert "PATH=" in executed.upper() and "OWNER" not in executed
    created = scene.run("return OS.create_process(%s, %s)" % (json.dumps(system.IDLE[0]), json.dumps(system.IDLE[1:])))
    try:
        # Until it has become the other program, its environment is that of the editor's start.
        wait_until(lambda: command_of(created)[1:] == system.IDLE[1:], "the other program")
        assert "PATH" in map(str.upper, environment_of(created)) and owner_variables(created, ALIAS) == {}
    finally:
        scene.run("OS.kill(%d)" % created)
    assert owner_variables(scene.pid, ALIAS) == {}
    assert scene.run('return [OS.has_environment("TETHER_OWNER_PID"), OS.has_environment("%s")]' % ALIAS) == [
        False, False]
    server.stop()


def test_A2_environment_property_is_for_the_server_only(scene):
    server = scene.server("additions", environment={"OF_THE_SERVER": "a b=c", "TETHER_OWNER_PID": "1"})
    pid = server.start()
    assert environment_of(pid)["OF_THE_SERVER"] == "a b=c"
    assert owner_variables(pid) == named(scene, ())  # this is not for anybody to say
    assert scene.run('return OS.has_environment("OF_THE_SERVER")') is False
    server.stop()


def test_A2_extension_never_changes_the_environment_of_the_editor(scene, shim):
    """After all of the above, and proved to be noticed: scripts of the tests did change it."""
    server = scene.server("quiet", owner_aliases=[ALIAS])
    server.start()
    server.stop()
    scene.run('OS.set_environment("CHANGED_BY_A_TEST", "1")\nOS.unset_environment("CHANGED_BY_A_TEST")')
    lines = [line.split(" ", 2) for line in (shim / "log").read_text().splitlines()]
    ours = [(function, caller) for pid, function, caller in lines if int(pid) == scene.pid]
    assert [function for function, caller in ours[-2:]] == ["setenv", "unsetenv"], ours[-2:]
    assert [entry for entry in ours if "tether" in os.path.basename(entry[1])] == []
