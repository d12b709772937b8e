"""TetherServer in one editor that all these tests share: values that make no sense, and scripts that do what
they like while they are told something. Rows F8, A10."""
import json
import socket
import sys

import pytest

from harness import TETHER, free_ports, run, system, wait_gone
from plugin_scene import shared_scene
from scene import Fifo, SessionProcess, command_of, environment_of, is_alive
from tether import SERVER


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    yield from shared_scene(str(tmp_path_factory.mktemp("scene")))


# ---- properties ----------------------------------------------------------------------------------

@pytest.mark.parametrize("values, word", [
    ("http_port = -1", "--http-port"), ("http_port = 65536", "--http-port"), ("http_port = NAN", "--http-port"),
    ("ws_port = 9223372036854775807", "--ws-port"), ('ports = "any"', "--ports"), ('ready = "soon"', "--ready"),
    ('restart_policy = "sometimes"', "--restart"), ('transport = "pigeon"', "--transport"), ('owner_aliases = PackedStringArray(["A=B"])', "--owner-env"),
    ('command = PackedStringArray([""])', "no server command"), ('launcher = "res://no such"', "cannot run"),
    ('command = PackedStringArray(["x".repeat(3000000)])', "cannot run")])
def test_F8_a_value_that_makes_no_sense_is_told(scene, values, word):
    server = scene.server("values")
    scene.run("%s.%s" % (server.reach, values))
    server.do("start")
    told = server.expect("failed")
    assert word in told["message"] and "without a word" not in told["message"], told
    server.wait_state("failed")
    assert server.status()["message"] == told["message"]
    scene.run('driver.servers.erase("values")')


def test_F8_the_environment_takes_what_can_be_a_variable(scene, tmp_path):
    report = tmp_path / "environment"
    server = scene.server("environment", command=["/bin/sh", "-c", 'env >%s; exec "$0"' % report, SERVER])
    scene.run('%s.environment = {"NUMBER": 5, "A=B": "x", "": "y", "EMPTY": "", "LINES": "1\\n2", 7: 8, &"NAME": &"n",'
              ' "TETHER_OWNER_PID": "1"}' % server.reach)
    server.start()
    lines = report.read_text().splitlines()
    assert {"NUMBER=5", "EMPTY=", "LINES=1", "2", "NAME=n", "TETHER_OWNER_PID=%d" % scene.pid} <= set(lines)
    assert not [line for line in lines if line.startswith(("A=", "="))]
    server.stop()


def test_F8_a_tool_that_nobody_could_call_is_not_offered(scene):
    """One odd name, and clients refuse the whole list; the log tells the author which."""
    counts = scene.run("""
var server = ClassDB.instantiate("TetherServer")
var counts = []
Engine.print_error_messages = false
for name in ["", "two words", "ä", "x".repeat(129)]:
	server.register_tool(name, {"description": "d"}, func(_arguments): return "x")
server.register_tool("gone", {"description": "d"}, Callable())
counts.append(server.get_status()["tools"])
Engine.print_error_messages = true
for name in ["a", "x".repeat(128), "A-b_c.9"]:
	server.register_tool(name, {"description": "d"}, func(_arguments): return "x")
counts.append(server.get_status()["tools"])
return counts""")
    assert counts == [0, 3]


# ---- scripts that are told something -------------------------------------------------------------

def on_state(server, code):
    """Has a piece of script run, with `state` and `server`, whenever the server tells its state."""
    lines = "\n".join("\t" + line for line in code.splitlines())
    server.scene.run('var weak: WeakRef = weakref(%s)\n'
                     'driver.kept["handler"] = func(state: String) -> void:\n'
                     '\tvar server: RefCounted = weak.get_ref()\n%s\n'
                     '%s.connect("state_changed", driver.kept["handler"])' % (server.reach, lines, server.reach))


def test_A10_a_handler_that_detaches_hears_no_more_of_that_session(scene):
    server = scene.server("detaching")
    # The frame is held up until much has come, so that there is more behind the one that is answered so.
    on_state(server, 'if state == "launching":\n\tOS.delay_msec(500)\n'
                     'if state == "ready" and server.get_status()["client_state"] == "ready":\n\tserver.detach("disable")')
    server.do("start")
    server.wait_state("ready")
    daemon = server.daemon_pid()
    wait_gone(daemon)
    scene.run("for frame in 20:\n\tawait Engine.get_main_loop().process_frame")
    assert server.call("get_state") == "off" and server.states() == ["launching", "ready", "off"]
    assert server.status()["bridged"] is False and server.ports_are_free()


def test_A10_a_handler_that_starts_anew_gets_a_new_session(scene):
    server = scene.server("renewing")
    on_state(server, 'if state == "ready" and not driver.kept.get("done"):\n\tdriver.kept["done"] = true\n'
                     '\tserver.detach("disable")\n\tserver.start()\n\tserver.restart()\n\tserver.stop()\n\tserver.start()')
    server.do("start")
    for state in ("ready", "off", "launching", "ready"):
        server.wait_state(state)
    assert server.call("get_state") == "ready"
    scene.run('driver.kept.erase("done")')
    server.stop()
    assert server.ports_are_free()


def test_A10_a_handler_may_drop_the_server(scene):
    server = scene.server("dropped")
    on_state(server, 'if state == "ready":\n\tdriver.kept["pid"] = server.get_status()["daemon"]["pid"]\n'
                     '\tdriver.servers.erase("dropped")')
    server.do("start")
    server.wait_state("ready")
    wait_gone(scene.run('return driver.kept["pid"]'))
    assert server.ports_are_free()


# ---- restart -------------------------------------------------------------------------------------

def test_F8_restart_of_a_stopped_server_takes_the_properties_of_now(scene):
    server = scene.server("restarting")
    server.start()
    server.stop()
    server.http, server.ws = free_ports()
    server.set(http_port=server.http, ws_port=server.ws)
    server.do("restart")
    server.wait_state("ready")
    assert server.status()["server"]["http_port"] == server.http
    assert scene.run("return %s.active" % server.reach) is True
    server.stop()


def test_F8_restart_with_the_same_properties_keeps_the_launcher(scene):
    server = scene.server("same", environment={"A": "1"})
    pid, daemon = server.start(), server.daemon_pid()
    server.set(environment={"A": "1"}, http_port=server.http)
    server.do("restart")
    server.wait_another(pid)
    assert server.daemon_pid() == daemon
    server.stop()


@pytest.mark.parametrize("change", [{"command": [SERVER, "--say", "anew"]}, {"environment": {"B": "2"}},
                                    {"owner_aliases": ["OWNER_OF_MINE"]}, {"keep_on_exit": True}])
def test_F8_restart_takes_properties_that_have_changed(scene, change):
    server = scene.server("changed")
    pid, daemon = server.start(), server.daemon_pid()
    server.set(**change)
    server.do("restart")
    for state in ("stopping", "launching", "ready"):
        server.wait_state(state)
    assert server.daemon_pid() != daemon and server.server_pid() != pid
    if "command" in change:
        assert "anew" in command_of(server.server_pid())
    if "environment" in change:
        assert environment_of(server.server_pid())["B"] == "2"
    if "owner_aliases" in change:
        assert environment_of(server.server_pid())["OWNER_OF_MINE"] == str(scene.pid)
    pid, daemon = server.server_pid(), server.daemon_pid()
    server.do("restart")  # and that is that
    server.wait_another(pid)
    assert server.daemon_pid() == daemon
    server.stop()


def test_F8_A5_restart_with_another_command_is_refused_while_others_use_the_server(scene):
    server = scene.server("shared")
    pid, daemon = server.start(), server.daemon_pid()
    with SessionProcess(system.endpoint(server.directory)) as other:
        server.set(command=[SERVER, "--say", "anew"])
        server.do("restart")
        assert "editor %d" % other.pid in server.expect("failed")["message"]
        assert server.call("get_state") == "ready" and server.server_pid() == pid
        server.do("restart", True)
        server.wait_state("launching")
        server.wait_state("ready")
        assert server.daemon_pid() != daemon
        server.stop()


def test_F8_A5_restart_on_other_ports_leaves_the_old_server_to_others(scene):
    server = scene.server("moved")
    pid, daemon = server.start(), server.daemon_pid()
    with SessionProcess(system.endpoint(server.directory)) as other:
        server.http, server.ws = free_ports()
        server.set(http_port=server.http, ws_port=server.ws)
        server.do("restart")
        server.wait_state("launching")
        server.wait_state("ready")
        assert server.status()["server"]["http_port"] == server.http and is_alive(pid) and is_alive(daemon)
        other.tell("leave disable")
        wait_gone(daemon)
    server.stop()


# ---- somebody else's server ----------------------------------------------------------------------

# A server on two ports that says who comes to the second.
DOORKEEPER = """
import os, select, socket, sys
doors = [socket.create_server(("127.0.0.1", int(os.environ[name]))) for name in ("TETHER_HTTP_PORT", "TETHER_WS_PORT")]
told = open(sys.argv[1], "a")
print("the doors are open", flush=True)
while True:
    for door in select.select(doors, [], [])[0]:
        door.accept()[0].close()
        if door is doors[1]:
            print("somebody", file=told, flush=True)
"""


def test_F8_a_server_that_is_not_the_built_in_one_is_not_knocked_at(scene, tmp_path):
    """An empty command adopts what runs; if that does not speak to editors, its second port is let alone."""
    server = scene.server("empty", command=())
    with Fifo(tmp_path / "told") as told:
        launched = run([TETHER, "launch", "--http-port", str(server.http), "--ws-port", str(server.ws), "--ready",
                        "none", "--", *system.command([sys.executable, "-S", "-E", "-c", DOORKEEPER, told.path])],
                       {"TETHER_STATE_DIR": scene.state_dir})
        assert launched.status == 0, launched.output
        server.do("start")
        server.expect("log", line="the doors are open")
        assert server.status()["server"]["builtin"] is False
        server.do("restart")
        server.expect("log", line="the doors are open")
        with socket.create_connection(("127.0.0.1", server.ws)):
            assert told.line() == "somebody"  # that was us; nobody had come before, or there were more
        scene.run("for frame in 20:\n\tawait Engine.get_main_loop().process_frame")
        assert told.rest() == b""
        server.stop()
