"""TetherServer in one editor that all these tests share: what it does, and what it tells of it."""
import json
import os
import socket
import stat

import pytest

from harness import BUILD, LIMIT, Process, TETHER, free_ports, run, system, wait_gone
from mcp_client import McpClient
from plugin_scene import shared_scene
from scene import command_of, is_alive, kill
from tether import SERVER, can_bind


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    yield from shared_scene(str(tmp_path_factory.mktemp("scene")))


def stop_by_command(scene, server, *options):
    return run([TETHER, "stop", "--http-port", str(server.http), "--ws-port", str(server.ws)] + list(options),
               {"TETHER_STATE_DIR": scene.state_dir})


# Waits until a server has been in a state for a while.
STEADY = """
var frames := 0
while frames < 40:
	frames = frames + 1 if %s.get_state() == "%s" else 0
	await Engine.get_main_loop().process_frame
"""


# ---- what its states tell ------------------------------------------------------------------------

def test_A1_A6_server_starts_stops_and_starts_again(scene):
    server = scene.server("plain")
    assert server.call("get_state") == "off" and server.status()["client_state"] == "off"
    first = server.start()
    status = server.status()
    assert status["state"] == status["client_state"] == "ready" and status["code"] == 0 and status["message"] == ""
    assert status["server"]["http_port"] == server.http and status["owner"]["pid"] == scene.pid
    assert [session["project"] for session in status["sessions"]] == ["Scene"] and status["session"]
    assert status["sessions"][0]["session"] == status["session"]
    assert status["version"] == server.call("get_version") == status["daemon_version"]
    server.stop()
    assert not is_alive(first) and server.ports_are_free()
    assert server.start() != first
    server.stop()
    assert server.states() == ["launching", "ready", "stopping", "stopped"] * 2


def test_D1_log_of_the_server_arrives_line_by_line(scene):
    server = scene.server("log", command=[SERVER, "--say", "words of the server"])
    server.do("start")
    assert server.expect("log", line="words of the server")["stream"] == "stdout"
    scene.run(STEADY % (server.reach, "ready"))
    pid = server.server_pid()
    log = server.call("get_log", 10)
    of_the_server = [line for line in log if line not in ("server started: process %d" % pid, "server ready")]
    assert of_the_server == ["server up pid %d" % pid, "words of the server"]
    assert server.call("get_log", 1) == log[-1:]
    assert server.call("get_log", 0) == []
    server.stop()


def test_D1_flood_of_log_lines_keeps_the_editor_running(scene):
    server = scene.server("flood", command=[SERVER, "--flood", "20000000"], with_log=False)
    scene.run("driver.measure_frames()")
    server.start()
    assert scene.run("return driver.longest_gap_usec") < 2000000
    assert 0 < len(server.call("get_log", 100000)) <= 1000
    server.stop()  # in the middle of it: what was to be heard before is not waited for
    assert server.states() == ["launching", "ready", "stopped"] or "stopping" in server.states()
    assert "lost" not in server.states() and server.ports_are_free()


def test_E6_daemon_that_was_told_to_stop_in_a_flood_is_not_started_again(scene):
    server = scene.server("flood told", command=[SERVER, "--flood", "20000000"], with_log=False)
    server.start()
    assert stop_by_command(scene, server, "--force").status == 0
    server.wait_state("stopped")
    assert "lost" not in server.states() and server.ports_are_free()


def test_K1_server_that_speaks_over_standard_input_gets_an_address(scene):
    """A plugin's server without any HTTP; it is lost, comes back, and ends with the editor's plugin."""
    server = scene.server("piped", command=system.STDIO_STUB, transport="stdio")
    server.start()
    with McpClient(server.http) as client:
        pid = int(client.call("pid"))
        kill(pid)
        assert client.call("echo", text="back") == "back"
        pid = int(client.call("pid"))
    server.stop()
    wait_gone(pid)
    assert server.ports_are_free()


def test_F8_properties_become_the_flags_of_the_launcher(scene, tmp_path):
    record = tmp_path / "arguments"
    launcher = system.script(str(tmp_path / "launcher"), 'printf "%%s\\n" "$@" >%s\nexec %s "$@"\n' % (record, TETHER))
    server = scene.server("flags", launcher=launcher, grace_ms=700, stop_grace_ms=900, ready_timeout_ms=8000,
                          idle_limit_ms=60000, linger_ms=70000, ready="http:/", restart_policy="never", ports="auto",
                          owner_aliases=["FIRST_ALIAS", "SECOND_ALIAS"])
    server.start()
    server.stop()
    words = record.read_text().splitlines()
    assert words[0] == "launch" and words[words.index("--"):] == ["--", SERVER]
    options = words[1:words.index("--")]
    assert sorted(zip(options[::2], options[1::2])) == sorted([
        ("--http-port", str(server.http)), ("--ws-port", str(server.ws)), ("--ports", "auto"),
        ("--transport", "http"), ("--ready", "http:/"), ("--restart", "never"), ("--ready-timeout-ms", "8000"), ("--grace-ms", "700"),
        ("--stop-grace-ms", "900"), ("--idle-limit-ms", "60000"), ("--linger-ms", "70000"), ("--owner-env", "FIRST_ALIAS"),
        ("--owner-env", "SECOND_ALIAS")])
    plain = scene.server("defaults", launcher=launcher)
    plain.start()
    plain.stop()
    assert record.read_text().splitlines() == [
        "launch", "--http-port", str(plain.http), "--ws-port", str(plain.ws), "--ports", "fixed", "--restart",
        "on-failure", "--transport", "http", "--", SERVER]


def test_F8_two_servers_at_once_do_not_know_of_each_other(scene):
    main, own = scene.server("main"), scene.server("own", command=[SERVER, "--say", "mine"])
    main_pid = main.start()
    own.do("start")
    own.expect("log", line="mine")
    scene.run(STEADY % (own.reach, "ready"))
    own_pid = own.server_pid()
    daemon = main.daemon_pid()
    assert main_pid != own_pid and daemon != own.daemon_pid()
    assert "mine" not in main.call("get_log", 100)
    own.stop()
    assert is_alive(main_pid) and main.call("get_state") == "ready"
    # One that is dropped without a word counts as disabled a moment later, and stops what it started.
    scene.run('driver.servers.erase("main")')
    wait_gone(main_pid)
    wait_gone(daemon)


def test_F5_sockets_that_the_launcher_holds_refuse_nobody(scene):
    """The server is stopped while clients knock: they wait, and its successor answers."""
    server = scene.server("held", command=[SERVER, "--listen-fds"], hold_ports=True, ready="http:/")
    first = server.start()
    server.forget()
    server.do("restart")
    answers = set()
    while str(first) in answers or not answers:
        with socket.create_connection(("127.0.0.1", server.http), LIMIT) as client:  # refused: the test fails
            try:
                client.sendall(b"GET / HTTP/1.0\r\n\r\n")
                text = client.makefile().read()
            except (BrokenPipeError, ConnectionResetError):
                text = ""
        answers = {text.split()[-1]} if text else answers  # cut off by the end of the first
    assert answers == {str(server.wait_another(first))}
    server.stop()


def test_F8_server_with_one_port_only(scene):
    server = scene.server("one", (free_ports(1)[0], 0))
    server.start()
    assert server.status()["server"]["ws_port"] == 0
    server.stop()


def test_D2_stop_and_start_in_every_order_at_once(scene):
    """The last word counts; nothing is left of the others."""
    server = scene.server("orders")
    for orders, last in (("start stop", "stopped"), ("start stop start", "ready"), ("restart restart", "ready"),
                         ("stop stop start stop", "stopped"), ("restart stop restart", "ready"),
                         ("start restart stop", "stopped")):
        server.seen = len(scene.link.events)
        scene.run("\n".join("%s.%s()" % (server.reach, order) for order in orders.split()))
        scene.run(STEADY % (server.reach, last))
    assert server.ports_are_free()


@pytest.mark.parametrize("reason", ["disable", "quit"])
def test_A10_detach_for_good_stops_what_was_started(scene, reason):
    server = scene.server("detach " + reason)
    pid, daemon = server.start(), server.daemon_pid()
    server.do("detach", reason)
    assert server.call("get_state") == "off"
    wait_gone(pid)
    wait_gone(daemon)
    assert server.ports_are_free()
    again = server.start()
    assert again != pid
    server.stop()


@pytest.mark.parametrize("reason", ["reload", "restart"])
def test_A1_detach_for_a_while_keeps_the_server(scene, reason):
    server = scene.server("detach " + reason)
    pid = server.start()
    session = server.status()["session"]
    server.do("detach", reason)
    assert server.call("get_state") == "off"
    assert server.start() == pid
    status = server.status()
    assert len(status["sessions"]) == 1 and status["session"]
    assert reason == "restart" or status["session"] != "" and session
    server.stop()


def test_D4_twenty_cycles_leave_nothing_behind(scene):
    def open_now():
        """How many threads, and files of the kinds that a session has; the editor looks into others."""
        folder = "/proc/%d/fd/" % scene.pid
        kinds = [os.readlink(folder + name).split(":")[0] for name in os.listdir(folder)]
        return [kinds.count(kind) for kind in ("pipe", "socket", "anon_inode")] + [
            len(os.listdir("/proc/%d/task" % scene.pid))]
    server = scene.server("cycles", stop_grace_ms=1000)
    server.start()
    server.stop()
    before = open_now()
    for cycle in range(20):
        server.start()
        if cycle % 2:
            server.stop()
        else:
            daemon = server.daemon_pid()
            server.do("detach", "disable")
            wait_gone(daemon)
    server.start()
    server.stop()
    # Twenty cycles would leave twenty, while the editor itself may still open or close a few.
    after = open_now()
    assert all(now < then + 10 for now, then in zip(after, before)), (before, after)


# ---- E6: the daemon goes away --------------------------------------------------------------------

def test_E6_killed_daemon_is_replaced_and_the_session_goes_on(scene):
    server = scene.server("lost")
    pid, daemon = server.start(), server.daemon_pid()
    for _ in range(2):
        kill(daemon)
        server.wait_state("lost")
        server.wait_state("ready")
        status = server.status()
        assert status["daemon"]["pid"] != daemon and status["server"]["pid"] != pid and not is_alive(pid)
        assert status["session"] == status["sessions"][0]["session"] and len(status["sessions"]) == 1
        daemon, pid = status["daemon"]["pid"], status["server"]["pid"]
    server.stop()
    assert server.states() == ["launching", "ready", "lost", "ready", "lost", "ready", "stopping", "stopped"]


def test_E6_server_that_crashes_is_restarted_and_signals_tell(scene):
    server = scene.server("crash")
    pid = server.start()
    kill(pid)
    server.expect("state", state="starting")
    server.wait_state("ready")
    status = server.status()
    assert status["server"]["pid"] != pid and status["restarts"] == 1
    assert status["server"]["last_exit"]["text"] == system.KILLED
    server.stop()


def test_E6_daemon_that_was_told_to_stop_is_not_started_again(scene):
    server = scene.server("told")
    pid, daemon = server.start(), server.daemon_pid()
    refused = stop_by_command(scene, server)
    assert refused.status != 0 and "Scene" in refused.output, refused.output
    assert stop_by_command(scene, server, "--force").status == 0
    server.wait_state("stopped")
    wait_gone(daemon)
    scene.run("for i: int in 60:\n\tawait Engine.get_main_loop().process_frame")
    assert server.call("get_state") == "stopped" and "lost" not in server.states()
    assert server.ports_are_free() and not is_alive(pid)
    assert server.start() != pid
    server.stop()


def test_E6_crash_loop_ends_as_failed_with_reason_and_last_lines(scene):
    server = scene.server("loop", command=[SERVER, "--say", "so it is", "--exit", "7", "--after-ms", "20"])
    server.do("start")
    failed = server.expect("failed")
    assert "7" in failed["message"] and "so it is" in failed["message"]
    server.wait_state("failed")
    status = server.status()
    assert status["client_state"] == "failed" and status["message"] == failed["message"]
    assert server.ports_are_free()
    # What is started now is what is set now.
    server.set(command=[SERVER])
    server.start()
    server.stop()


def test_E6_server_that_never_gets_ready_is_told_with_code_4(scene):
    server = scene.server("never", command=[SERVER, "--never-ready"], ready_timeout_ms=300, restart_policy="never")
    server.do("start")
    assert server.expect("failed")["code"] == 4
    server.wait_state("failed")
    assert server.call("get_state") == "failed"
    server.do("stop", True)


# ---- strangers on the port -----------------------------------------------------------------------

def test_A12_F4_stranger_on_the_port_is_named_and_left_alone(scene):
    server = scene.server("blocked")
    with Process([SERVER, "--http", str(server.http), "--ws", str(server.ws)]) as stranger:
        stranger.expect("server up")
        server.do("start")
        failed = server.expect("failed")
        assert failed["code"] == 3 and str(stranger.pid) in failed["message"]
        server.wait_state("blocked")
        status = server.status()
        assert status["client_state"] == "blocked" and status["code"] == 3
        assert status["holder"]["pid"] == stranger.pid and SERVER in status["holder"]["executable"]
        assert status["holder"]["port"] in (server.http, server.ws)
        assert len(status["next_ports"]) == 2 and all(can_bind(port) for port in status["next_ports"])
        assert is_alive(stranger.pid)
        pair = status["next_ports"]
        server.set(http_port=pair[0], ws_port=pair[1])
        server.start()
        assert server.status()["server"]["http_port"] == pair[0] and server.status()["code"] == 0
        assert server.status()["holder"] == {} and server.status()["next_ports"] == []
        server.stop()
        assert is_alive(stranger.pid)


def test_F4_auto_takes_the_next_pair(scene):
    server = scene.server("auto", ports="auto")
    with socket.create_server(("127.0.0.1", server.http)):
        server.start()
        assert server.status()["server"]["http_port"] != server.http
        server.stop()


# ---- launchers that misbehave --------------------------------------------------------------------

def test_F8_unknown_launcher_is_named(scene):
    server = scene.server("nowhere", launcher="/no/such/tether")
    server.do("start")
    failed = server.expect("failed")
    assert failed["code"] == 1 and "/no/such/tether" in failed["message"]
    server.wait_state("failed")
    server.set(launcher="")
    server.start()
    assert command_of(server.daemon_pid())[1] == "daemon"
    server.stop()


def test_F8_launcher_gets_its_execute_permission_back(scene, tmp_path):
    """As it is lost by unpacking with some tools."""
    launcher = tmp_path / "tether"
    launcher.write_bytes(open(TETHER, "rb").read())
    launcher.chmod(0o644)
    server = scene.server("permission", launcher=str(launcher))
    server.start()
    assert stat.S_IMODE(launcher.stat().st_mode) == 0o744
    server.stop()


def test_F8_launcher_that_may_not_be_executed_is_told_of_with_what_to_do(scene, tmp_path):
    server = scene.server("forbidden", launcher=str(tmp_path))
    server.do("start")
    failed = server.expect("failed")
    assert failed["code"] == 1 and failed["message"].startswith("cannot run %s: permission denied" % tmp_path)
    assert "make it executable" in failed["message"]
    server.wait_state("failed")


SPEECHES = {"garbage": "echo this is no result", "nothing": "exit 0", "failure": "exit 7", "binary": "head -c 5000 /dev/urandom",
            "too much": "head -c 1000000 /dev/zero", "half a result": "printf '{\"result\":'",
            "result of a wrong kind": "echo '[1,2]'", "empty result": "echo '{}'",
            "closed output": "exec >&- ; exec sleep 1000",
            "control that is no path": "echo '{\"result\":\"started\",\"code\":0,\"control\":\"/no/such\"}'",
            "control too long": "printf '{\"result\":\"started\",\"code\":0,\"control\":\"/%0500d\"}' 0"}


@pytest.mark.parametrize("speech", SPEECHES)
def test_F8_launcher_that_says_what_no_launcher_says_is_a_failure(scene, tmp_path, speech):
    server = scene.server(speech, launcher=system.script(str(tmp_path / "launcher"), SPEECHES[speech] + "\n"))
    server.do("start")
    if speech.startswith("control"):
        server.wait_state("lost")  # it may come back, so this goes on for a while
    else:
        failed = server.expect("failed")
        assert failed["code"] != 0 and len(failed["message"]) > 10, speech
        server.wait_state("failed")
        assert server.status()["message"] == failed["message"]
    server.set(launcher="")
    server.start()
    server.stop()


# ---- questions -----------------------------------------------------------------------------------

CHORUS = '''extends RefCounted
var server := TetherServer.new()
var told := 0
var in_frame := {} # asked in each frame
func begin(voices, times):
	for voice in voices:
		ask(times)
func ask(times):
	for number in times:
		var frame = Engine.get_process_frames()
		in_frame[frame] = in_frame.get(frame, 0) + 1
		var answer = await server.ask_user(0, "Well?", {})
		told += 1 if "Nobody" in answer["error"] else 0
'''


@pytest.mark.parametrize("voices, times, most", [(100, 3, 200), (1, 50, 2)], ids=["many", "stubborn"])
def test_I7_who_asks_nobody_is_told_in_the_next_frame_and_may_ask_again(scene, voices, times, most):
    """Many at a time, each to the end; and who asks until somebody answers does not hold up the editor. (The frame in which
    they begin is told of at its end, and so has two rounds.)"""
    scene.run('var script := GDScript.new()\nscript.source_code = %s\nscript.reload()\ndriver.kept["chorus"] = script.new()\n'
              'driver.kept["chorus"].begin(%d, %d)' % (json.dumps(CHORUS), voices, times))
    told, in_frame = scene.run('var chorus = driver.kept["chorus"]\nfor frame in 500:\n\tif chorus.told == %d:\n\t\tbreak\n'
                               '\tawait driver.get_tree().process_frame\nreturn [chorus.told, chorus.in_frame.values().max()]' % (voices * times))
    assert told == voices * times and in_frame == most
    scene.run("driver.kept.clear()")
