"""`tether mcp` when the server, its daemon or a connection goes away. Row E6: losing the daemon is not
fatal, what is safe to repeat is served again, and no request hangs."""
import os
import queue
import shutil

import pytest

from front import MODERN, STUB, Scene, text_of
from harness import LIMIT, TETHER, kill, system, wait_gone
from scene import NEWER


@pytest.fixture
def scene(state_dir):
    with Scene(state_dir) as made:
        yield made


def begin(scene, *options, **more):
    front = scene.start(*options, **more)
    front.initialize()
    scene.observer.expect(event="stream")
    front.ask("tools/list")
    return front


def test_E6_a_call_that_is_safe_to_repeat_survives_the_death_of_the_server(scene):
    front = begin(scene)
    assert text_of(front.call("safe_die")) == "alive"
    again = scene.observer.expect_call("initialize")
    assert again["message"]["id"] == 1  # the session was begun anew with the client's own words
    assert front.notification("notifications/tools/list_changed")
    assert [m for m in front.messages if m.get("id") == 1] == []  # and the client has not seen that


def test_E6_a_call_that_may_not_be_repeated_gets_an_error_that_says_what_happened(scene):
    front = begin(scene)
    error = front.call("die")["error"]
    assert -32099 <= error["code"] <= -32000
    assert system.KILLED in error["message"] and "may or may not" in error["message"]
    assert text_of(front.call("die")) == "alive"


@pytest.mark.parametrize("tool, fine", [("part_die", False), ("safe_part_die", True)])
def test_E6_the_rest_of_an_answer_is_not_asked_of_another_server(scene, tool, fine):
    """It would not know of it, and might keep the stream open for ever."""
    front = begin(scene)
    answer = front.call(tool)
    assert text_of(answer) == "alive" if fine else "may or may not" in answer["error"]["message"], answer
    assert [e for e in scene.observer.rest() if e.get("headers", {}).get("last-event-id")] == []


@pytest.mark.parametrize("method,params", [
    ("tools/list", {}), ("resources/read", {"uri": "a:b"}), ("prompts/get", {"name": "x"}), ("ping", {})])
def test_E6_requests_that_wait_while_the_server_is_gone_are_served_by_the_next(scene, method, params):
    front = begin(scene)
    kill(scene.status()["server"]["pid"])
    assert "result" in front.ask(method, params)


def test_E6_what_a_session_had_asked_for_is_asked_for_again(scene):
    front = begin(scene)
    front.ask("logging/setLevel", {"level": "error"})
    for uri in ("test:a", "test:b", "test:a", "test:c"):
        front.ask("resources/subscribe", {"uri": uri})
    front.ask("resources/unsubscribe", {"uri": "test:b"})
    scene.observer.rest()
    pid = scene.status()["server"]["pid"]
    kill(pid)
    first = scene.observer.expect_call("initialize")
    told = [scene.observer.expect(event="request") for _ in range(5)]
    assert first["pid"] != pid and len({event["headers"].get("mcp-session-id") for event in told}) == 1
    bodies = " ".join(str(event["body"]) for event in told)
    assert "notifications/initialized" in bodies and '"error"' in bodies
    assert "test:a" in bodies and "test:c" in bodies and "test:b" not in bodies
    assert "GET" in [event["method"] for event in told]


def test_E6_a_session_that_the_server_has_forgotten_is_begun_anew(scene):
    front = begin(scene)
    front.call("forget")
    assert text_of(front.call("echo", a=1)) == '{"a": 1}'  # not repeatable, but it was not run either
    scene.observer.expect_call("initialize")


def test_E6_the_killed_daemon_is_replaced_and_the_session_goes_on(scene):
    front = begin(scene)
    before = scene.status()
    hanging = front.begin_call("hang")
    front.notification("notifications/progress")
    safe = front.begin_call("safe_die")
    with open(scene.env["STUB_MARK"], "w"):
        pass
    kill(before["daemon"]["pid"])
    assert "error" in front.answer(hanging) and "result" in front.answer(safe)
    assert text_of(front.call("echo")) == "{}"
    after = scene.status()
    assert after["daemon"]["pid"] != before["daemon"]["pid"]
    assert after["server"]["pid"] != before["server"]["pid"]
    assert after["owner"]["pid"] == front.pid and after["sessions"][0]["role"] == "front"


def test_E6_an_update_of_the_program_is_taken_by_the_next_start(scene, tmp_path):
    """The front itself goes on with what it was started from, in whose place another file is."""
    program = str(tmp_path / "tether")
    shutil.copy(system.local(TETHER), program)
    scene.instance.program = system.native(program)
    front = begin(scene)
    before = scene.status()
    shutil.copy(system.local(NEWER), program + ".new")
    os.replace(program + ".new", program)
    kill(before["daemon"]["pid"])
    wait_gone(before["server"]["pid"])
    assert text_of(front.call("echo")) == "{}"
    assert scene.status()["version"] == "99.0.0" != before["version"]


def test_E6_many_in_flight_when_the_server_dies_each_have_one_end(scene):
    front = begin(scene)
    calls = [front.begin_call("hang" if number % 2 else "wait", seconds=20) for number in range(60)]
    for _ in range(30):
        front.notification("notifications/progress")
    lists = [front.begin("tools/list") for _ in range(60)]
    kill(scene.status()["server"]["pid"])
    for call in calls:
        assert "error" in front.answer(call)
    for request in lists:
        assert "result" in front.answer(request)
    front.ask("ping")
    assert [m for m in front.messages if "id" in m] == []


def test_E6_questions_of_a_server_that_is_gone_are_withdrawn(scene):
    front = begin(scene)
    call = front.begin_call("ask")
    asked = front.notification("sampling/createMessage")
    kill(scene.status()["server"]["pid"])
    assert "error" in front.answer(call)
    assert front.notification("notifications/cancelled")["params"]["requestId"] == asked["id"]
    scene.observer.rest()
    front.send(id=asked["id"], result={"late": True})
    front.ask("ping")
    assert [e for e in scene.observer.rest() if "late" in str(e.get("body"))] == []


def test_E6_a_restart_loses_nothing_that_waits(scene):
    front = begin(scene)
    assert scene.instance.cli("restart").status == 0
    requests = [front.begin("tools/list") for _ in range(20)]
    for request in requests:
        assert "result" in front.answer(request)


@pytest.mark.parametrize("tool,times,fine", [
    ("safe_drop", 2, True), ("safe_drop", 9, False), ("drop", 1, False), ("drop_in_stream", 1, False),
    ("safe_drop_in_stream", 1, False)])
def test_E6_a_server_that_drops_connections_and_lives(scene, tool, times, fine):
    """What the client has heard of already is not repeated, however safe it is."""
    front = begin(scene)
    answer = front.call(tool, times=times)
    assert ("result" in answer) == fine, answer
    calls = [e for e in scene.observer.rest() if tool in str(e.get("body")) and "tools/call" in e["body"]]
    assert len(calls) == (3 if tool == "safe_drop" else 1)
    assert front.ask("ping")["result"] == {}


def test_E6_stateless_requests_survive_as_well_and_a_subscription_stays(scene):
    front = scene.start()
    listening = front.begin("subscriptions/listen", MODERN)
    front.notification("notifications/subscriptions/acknowledged")
    kill(scene.status()["server"]["pid"])
    assert "result" in front.ask("tools/list", MODERN)
    scene.observer.expect_call("subscriptions/listen")
    again = scene.observer.expect_call("subscriptions/listen")
    assert again["message"]["id"] == listening
    while text_of(front.ask("tools/call", dict(MODERN, name="announce"))) == "announced to 0":
        pass
    assert front.notification("notifications/message")
    assert [m for m in front.messages if m.get("id") == listening or "acknowledged" in str(m)] == []


def test_E6_a_server_that_cannot_start_is_an_error_with_the_reason(scene):
    front = scene.start(command=["/nonexistent/server"])
    error = front.ask("initialize", {"protocolVersion": "2025-11-25"})["error"]
    assert error["code"] == -32000 and "/nonexistent/server" in error["message"], error
    assert "error" in front.ask("ping")
    front.end_input()
    assert front.wait() == 0


def test_E6_a_stranger_on_the_port_is_named(scene):
    import socket
    with socket.create_server(("127.0.0.1", scene.instance.http)):
        front = scene.start()
        error = front.ask("initialize", {"protocolVersion": "2025-11-25"})["error"]
        assert str(os.getpid()) in error["message"] and str(scene.instance.http) in error["message"]


def test_ports_auto_finds_the_pair_that_the_launch_took(scene):
    import socket
    with socket.create_server(("127.0.0.1", scene.instance.http)):
        front = scene.start("--ports", "auto")
        assert front.initialize()["serverInfo"]["name"] == "stub"
        scene.instance.http += 1
        scene.instance.ws += 1
        assert scene.status()["owner"]["pid"] == front.pid


def test_E6_a_server_that_does_not_come_up_is_an_error_in_time(scene):
    front = scene.start("--ready-timeout-ms", "300", command=["sleep", "1000"])
    error = front.ask("initialize", {"protocolVersion": "2025-11-25"})["error"]
    assert error["code"] == -32000 and "ready" in error["message"], error


def test_E6_a_server_that_does_not_come_back_is_an_error_in_time(scene):
    front = begin(scene, "--ready-timeout-ms", "2000", "--stop-grace-ms", "50")
    scene.make_deaf()
    assert front.call("die")["error"]["code"] == -32000
    for request in [front.begin("tools/list") for _ in range(3)]:  # it is gone when they are asked
        error = front.answer(request)["error"]
        assert error["code"] == -32000, error
    assert "ready" in error["message"]
    os.unlink(scene.env["STUB_DEAF"])
    while "error" in front.ask("tools/list"):
        pass  # it rests for a moment between its tries


def test_E6_a_stopped_server_stays_stopped_until_somebody_asks(scene):
    front = begin(scene)
    hanging = front.begin_call("hang")
    front.notification("notifications/progress")
    daemon = scene.status()["daemon"]["pid"]
    assert scene.instance.cli("stop").status == 0
    wait_gone(daemon)
    assert "error" in front.answer(hanging)
    scene.observer.rest()
    with pytest.raises(queue.Empty):
        scene.observer.expect(event="start", limit=0.5)
    assert scene.instance.cli("status").status == 5
    assert text_of(front.call("echo")) == "{}"
    assert scene.status()["daemon"]["pid"] != daemon


def test_F3_the_server_passes_on_to_another_front_and_ends_with_the_last(scene):
    first = begin(scene)
    second = scene.start()
    second.initialize()
    state = scene.status()
    assert state["owner"]["pid"] == first.pid and len(state["sessions"]) == 2
    assert {s["role"] for s in state["sessions"]} == {"front"}
    with scene.instance.control() as control:
        control.hello("cli")
        kill(first.pid)
        state = control.receive("state")
        while state["owner"]["pid"] != second.pid:
            state = control.receive("state")
        assert text_of(second.call("echo")) == "{}"
        second.end_input()
        control.wait_closed()
    assert second.wait() == 0
    wait_gone(state["daemon"]["pid"], LIMIT)
    assert scene.instance.ports_are_free()


def test_two_fronts_that_start_at_once_are_two_sessions_of_one_server(scene):
    fronts = [scene.start(command=STUB) for _ in range(4)]
    for front in fronts:
        front.initialize()
    sessions = scene.status()["sessions"]
    assert sorted(s["pid"] for s in sessions) == sorted(front.pid for front in fronts)
    assert {(s["role"], s["link"]) for s in sessions} == {("front", "connected")}
