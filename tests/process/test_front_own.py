"""`tether mcp` with the built-in server, which is what it starts when no other is named. Rows E6, F5, F7."""
import urllib.error
import urllib.request

import pytest

from front import MODERN, Scene
from harness import kill, wait_gone


@pytest.fixture
def scene(state_dir):
    with Scene(state_dir) as made:
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
