"""`tether mcp` with the built-in server, which is what it starts when no other is named. Rows E6, F5, F7."""
import urllib.error
import urllib.request

import pytest

from front import MODERN, Scene
from harness import kill, system, wait_gone
from served import Editor


@pytest.fixture
def scene(state_dir):
    with Scene(state_dir, env={"TETHER_EDITOR_WAIT_MS": "100"}) as made:
        yield made


def test_the_built_in_server_is_the_default_and_both_eras_work(scene):
    front = scene.start(command=[])
    assert front.initialize()["serverInfo"]["name"] == "tether"
    assert [tool["name"] for tool in front.ask("tools/list")["result"]["tools"]]
    found = front.ask("server/discover", MODERN)["result"]
    assert "2026-07-28" in found["supportedVersions"]
    called = front.ask("tools/call", dict(MODERN, name="editors_list", arguments={}))
    assert called["result"]["structuredContent"] == {"editors": []}
    assert scene.status()["server"]["builtin"] is True  # so that editors come to it, too
    front.end_input()
    assert front.wait() == 0


def test_a_token_that_the_server_wants_is_sent(scene):
    scene.env["TETHER_HTTP_TOKEN"] = "secret"
    front = scene.start(command=[])
    front.initialize()
    assert front.ask("ping")["result"] == {}
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(urllib.request.Request(
            "http://127.0.0.1:%d/mcp" % scene.instance.http, b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
            {"Content-Type": "application/json"}), timeout=10)
    refused.value.close()
    assert refused.value.code == 401


def test_E6_every_request_has_one_answer_whoever_is_killed_meanwhile(scene):
    """Server and daemon are killed in turns while requests of all kinds are under way."""
    front = scene.start(command=[])
    front.initialize()
    front.ask("tools/list")
    asked, answered = [], 0
    for victim in ("server", "daemon", "server", "server", "daemon", "server"):
        for number in range(60):
            if number == 30:
                state = scene.status()
                kill(state[victim]["pid"])
                if victim == "daemon":
                    wait_gone(state["daemon"]["pid"])
            method, params = [("ping", {}), ("tools/list", {}), ("tools/list", MODERN), ("server/discover", MODERN),
                              ("tools/call", {"name": "editors_list", "arguments": {}}),
                              ("tools/call", dict(MODERN, name="editor_select", arguments={"editor": "none"}))
                              ][number % 6]
            asked.append((front.begin(method, params), method))
        for request, method in asked[answered:]:
            answer = front.answer(request)
            assert "result" in answer or (method == "tools/call" and "error" in answer), answer
        answered = len(asked)
    front.ask("ping")
    assert [m for m in front.messages if "id" in m] == []


@pytest.fixture
def editors(scene):
    """The server is up, with two editors: of projects a and b, of which a is the active one."""
    first = scene.start(command=[])
    first.initialize()
    with scene.instance.control() as control:
        token = control.hello("editor")["ws_token"]
        with Editor(scene.instance.ws, token=token, pid=1, project="a", tools=("echo", "more"),
                    profiles={"core": ["echo"]}) as a, \
                Editor(scene.instance.ws, token=token, pid=2, project="b", tools=("echo",)) as b:
            yield a, b


def served_by(front, editor, begin=None):
    ident = front.begin("tools/call", dict(begin or {}, name="echo", arguments={}))
    editor.say(editor.call(), "me")
    return front.answer(ident)["result"]["content"][0]["text"] == "me"


def test_I6_a_front_belongs_to_the_project_that_is_named(scene, editors):
    front = scene.start("--project", "/games/b", command=[])
    front.initialize()
    assert served_by(front, editors[1]) and served_by(front, editors[1], MODERN)
    other = scene.start("--project", "/games/c", command=[])
    other.initialize()
    told = other.ask("tools/call", {"name": "echo", "arguments": {}})["result"]
    assert told["isError"] and "Open the project in /games/c" in told["content"][0]["text"]


def test_I6_a_front_belongs_to_the_project_that_it_is_started_in(scene, editors, tmp_path):
    """From anywhere below it; from elsewhere to the active editor."""
    folder = tmp_path / "our game"
    (folder / "deep").mkdir(parents=True)
    (folder / "project.godot").touch()
    inside = scene.start(command=[], cwd=folder / "deep")
    inside.initialize()
    told = inside.ask("tools/call", {"name": "echo", "arguments": {}})["result"]["content"][0]["text"]
    assert "Open the project in %s" % system.native(folder).replace("\\", "/") in told.replace("\\", "/"), told
    assert editors[0].is_silent()
    outside = scene.start(command=[], cwd=tmp_path)
    outside.initialize()
    assert served_by(outside, editors[0])


def test_I6_two_fronts_select_each_for_itself(scene, editors):
    """In either era."""
    one, other = scene.start(command=[]), scene.start(command=[])
    for front in (one, other):
        front.initialize()
    for era in ({}, MODERN):
        one.ask("tools/call", dict(era, name="editor_select", arguments={"editor": "b"}))
        assert served_by(one, editors[1], era) and served_by(other, editors[0], era)


def test_I4_a_front_with_fewer_tools(scene, editors):
    front = scene.start("--tools", "core", command=[])
    front.initialize()
    assert [tool["name"] for tool in front.ask("tools/list")["result"]["tools"]] == ["editors_list", "editor_select", "echo"]
    assert front.ask("tools/call", {"name": "more", "arguments": {}})["result"]["isError"]
