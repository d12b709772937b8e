"""F7: clients of others against the built-in server, over HTTP and over the stdio front `tether mcp`.

The SDK clients go through the same steps in each era; the Inspector is the one that users have."""
import json
import os
import re

import pytest

from harness import LIMIT, run, system
from mcp import HERE, LEGACY, MODERN, BuiltIn, client, client_env, package

INSPECTOR = package("@modelcontextprotocol/inspector/clients/launcher/build/index.js")
CLIENTS = [("v1", "legacy"), ("v2", "legacy"), ("v2", "auto"), ("v2", "modern")]
TOOLS = ["add", "count", "echo", "editor_select", "editors_list", "go_on", "large", "wait"]


@pytest.fixture
def server(state_dir):
    with BuiltIn(state_dir) as instance:
        yield instance.start()


def front_command(server):
    """How a client that starts its server starts ours."""
    return server.argv("mcp")


def is_modern(era):
    return era in ("auto", "modern")


def run_client(server, sdk, era, transport, steps=None):
    """Lets a client go through its steps; returns {step: value}. A step that failed fails the test."""
    options = ["--era", era] + (["--steps", ",".join(steps)] if steps else [])
    if transport == "http":
        options += ["--url", server.url]
    else:
        options += ["--command", json.dumps(front_command(server))]
    script = os.path.join(HERE, "client_%s.mjs" % sdk)
    done = run(client(script, *options), client_env(**server.env), limit=LIMIT)
    lines = [json.loads(line) for line in done.output.split("\n") if line.startswith('{"step"')]
    failed = [line for line in lines if "failed" in line]
    assert not failed, failed
    assert done.status == 0 and lines and lines[-1]["step"] == "closed", done.output[-2000:]
    return {line["step"]: line.get("value") for line in lines}


def check_lists(seen, era):
    who = seen["who"]
    assert who["server"]["name"].lower() == "tether"
    assert re.match(r"\d+\.\d+\.\d+", who["server"]["version"])
    assert "fake editor Fake" in who["instructions"]
    assert who["era"] == ("modern" if is_modern(era) else "legacy")
    assert who["version"] in ("unknown", MODERN if is_modern(era) else LEGACY)
    assert set(TOOLS) <= set(seen["tools"])
    assert len(set(seen["tools"])) == len(seen["tools"])
    assert seen["schema"]["inputSchema"]["required"] == ["a", "b"]
    assert seen["schema"]["outputSchema"]["required"] == ["sum"]
    assert "fake://greeting" in seen["resources"]
    assert "review" in seen["prompts"]


def check_calls(seen, sdk):
    assert seen["call"] == {"text": '{"sum":5}', "structured": {"sum": 5}}
    assert seen["unicode"] == "„Ä \u2028 🎈 😀“\\n"
    assert seen["nul"] == "a\0b"
    assert seen["large"] == 3000000
    assert seen["many"] is True
    assert seen["progress"] == {"seen": [1, 2, 3, 4, 5], "text": "counted to 5"}
    assert seen["failing"] is True
    assert seen["unknown"]["code"] == -32602
    assert seen["read"] == "Good morning."
    assert seen["missing"]["code"] == (-32002 if sdk == "v1" else -32602)  # the 2.x SDK translates the older code
    assert seen["prompt"] == "Please review the scene main.tscn."
    assert seen["complete"] == ["beta"]
    assert "Fake" in seen["editors"]


def check_rest(seen, editor):
    """What goes the other way: cancelling, asking the client, telling it of changes."""
    assert seen["cancel"] is True
    assert seen["elicit"] == 'The user\'s answer: accept, {"username":"ada","email":"ada@example.org"}'
    assert seen["sample"] == "The model said: forty-two"
    assert seen["changed"] is True
    editor.expect(r'"event":"cancelled"')
    cancelled = editor.events("cancelled")
    assert len(cancelled) == 1 and cancelled[0]["known"], cancelled


@pytest.mark.parametrize("sdk, era", CLIENTS)
@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_F7_sdk_client(server, sdk, era, transport):
    """F7, E6: everything that a client does, with two generations of the TypeScript SDK."""
    with server.editor() as editor:
        seen = run_client(server, sdk, era, transport)
        check_lists(seen, era)
        check_calls(seen, sdk)
        check_rest(seen, editor)


def test_I1_F7_without_an_editor(server):
    """I1: a client that comes before any editor finds what editors offer, and is told what to do."""
    seen = run_client(server, "v2", "modern", "http", ["tools", "unknown", "editors"])
    assert {"editor_select", "editors_list", "editor_state"} <= set(seen["tools"])
    result = seen["unknown"]["result"]
    assert result["isError"] is True and "Godot" in result["content"][0]["text"]


# ---- the Inspector -------------------------------------------------------------------------------

def inspect(server, home, era, transport, *arguments):
    """Runs the Inspector's command line; returns the result that it prints."""
    target = [server.url] if transport == "http" else front_command(server)
    options = ["--protocol-era", era, "--format", "json", "--quiet", *arguments]
    if transport == "stdio":
        # What is behind the target would be taken for the server's own options.
        config = home / "servers.json"
        config.write_text(json.dumps({"mcpServers": {"tether": {
            "command": target[0], "args": target[1:],
            "env": {"TETHER_STATE_DIR": system.native(server.state_dir)}}}}))
        target = ["--config", system.native(config), "--server", "tether"]
    place = {"HOME": system.native(home), "USERPROFILE": system.native(home)}
    done = run(client(INSPECTOR, "--cli", *target, *options), client_env(**place, **server.env), limit=LIMIT)
    assert done.status == 0, done.output[-3000:]
    return json.loads(done.output.strip().splitlines()[-1])["result"]


@pytest.mark.parametrize("era", ["legacy", "auto", "modern"])
@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_F7_inspector(server, tmp_path, era, transport):
    """F7: the Inspector lists, finds every schema portable, and calls, in each era."""
    with server.editor(fixtures="plain") as editor:
        tools = inspect(server, tmp_path, era, transport, "--method", "tools/list", "--strict")["tools"]
        assert set(TOOLS) == {tool["name"] for tool in tools}
        called = inspect(server, tmp_path, era, transport, "--method", "tools/call", "--tool-name", "add",
                         "--tool-args-json", '{"a":40,"b":2}')
        assert called["structuredContent"] == {"sum": 42}
        if transport == "http":
            read = inspect(server, tmp_path, era, transport, "--method", "resources/read", "--uri", "fake://greeting")
            assert read["contents"][0]["text"] == "Good morning."
            prompt = inspect(server, tmp_path, era, transport, "--method", "prompts/get", "--prompt-name", "review",
                             "--prompt-args", "scene=a.tscn")
            assert "a.tscn" in prompt["messages"][0]["content"]["text"]
        wanted = "modern" if is_modern(era) else "legacy"
        assert {event["era"] for event in editor.events("call")} == {wanted}

