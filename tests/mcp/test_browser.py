"""F7: a page in a real browser, of another origin or after its name was rebound to this machine, gets
nothing out of the server, starts nothing in the editor, and cannot pose as an editor."""
import os

import pytest

from browser import Browser, Site
from mcp import HERE, BuiltIn

PAGE = "<!doctype html><title>hostile</title><body></body>"
NAME = "rebound.example"

with open(os.path.join(HERE, "attack.js")) as file:
    ATTACK = file.read()


@pytest.fixture
def server(state_dir):
    with BuiltIn(state_dir) as instance:
        yield instance.start()


@pytest.fixture
def browser(tmp_path):
    profile = tmp_path / "profile"
    profile.mkdir()
    with Browser(profile, "--host-resolver-rules=MAP %s 127.0.0.1" % NAME) as started:
        yield started


def attack(browser, server, host):
    """Runs the attack in the page that is open; returns (outcome by attempt, answers of the server)."""
    browser.events.clear()
    outcome = browser.run("(%s)(%r, %d, %d)" % (ATTACK, host, server.http, server.ws))
    answers = []
    for event in browser.events:
        if event.get("method") == "Network.responseReceived":
            response = event["params"]["response"]
            if ":%d/" % server.http in response["url"] or ":%d/" % server.ws in response["url"]:
                answers.append((response["url"], response["status"]))
    return outcome, answers


def check_nothing_happened(server, editor):
    """The editor was asked for nothing, nobody else became one, and the server is as it was."""
    assert editor.events("call") == []
    status, _, answer = server.modern("tools/call", {"name": "editors_list", "arguments": {}})
    assert status == 200 and str(answer).count("Fake") >= 1, answer
    status, _, answer = server.modern("tools/call", {"name": "echo", "arguments": {"text": "still here"}})
    assert status == 200 and answer["result"]["content"][0]["text"] == "still here"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", NAME])
def test_F7_page_of_another_origin(server, browser, host):
    """F7: a page from another port of this machine can read nothing and call nothing."""
    with server.editor(fixtures="plain") as editor, Site(PAGE) as site:
        browser.navigate("http://127.0.0.1:%d/" % site.port)
        outcome, answers = attack(browser, server, host)
        assert outcome.pop("control")["status"] == 200
        # Without permission to read, the browser hides even the status: opaque, empty.
        blind = outcome.pop("call blindly")
        assert blind == "refused" or blind == {"type": "opaque", "status": 0, "text": ""}
        assert outcome and set(map(str, outcome.values())) == {"refused"}, outcome
        posted = [status for url, status in answers if url.endswith("/mcp")]
        assert posted and all(status >= 400 for status in posted), answers
        check_nothing_happened(server, editor)


def test_F7_page_after_dns_rebinding(server, browser):
    """F7: a page whose name now leads here is of the same origin, so only the server itself protects."""
    with server.editor(fixtures="plain") as editor:
        browser.serve_document("http://%s:%d/" % (NAME, server.http), PAGE)
        outcome, _ = attack(browser, server, NAME)
        for name, came in outcome.items():
            if came == "refused":
                continue
            text = came.get("text", "")
            assert not came.get("opened") and not came.get("loaded"), (name, came)
            assert came.get("status", 403) in (400, 403, 404, 405, 421), (name, came)
            assert "tether" not in text.lower() and "tools" not in text and "result" not in text, (name, came)
        check_nothing_happened(server, editor)


def test_browser_attack_works_where_nothing_stops_it(browser):
    """The attack itself: on its own origin the page reads what it asks for."""
    with Site(PAGE) as site:
        browser.navigate("http://127.0.0.1:%d/" % site.port)
        outcome = browser.run("(%s)('127.0.0.1', %d, %d)" % (ATTACK, site.port, site.port))
        assert outcome["status"]["status"] == 200 and "hostile" in outcome["status"]["text"]
        assert outcome["control"]["status"] == 200
