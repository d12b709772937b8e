"""K1: servers of others that speak over standard input and output, through Tether, for clients of others."""
import json
import os

import pytest

from harness import LIMIT, Process, free_ports, run, system
from mcp import HERE, NODE, client, client_env, node, node_env, package
from tether import Instance

STRANGERS = os.environ.get("TETHER_STRANGERS", "")
LEGACY_SUITE = package("conformance-stable/dist/index.js")
SUITE = package("@modelcontextprotocol/conformance/dist/index.js")
EVERYTHING = "@modelcontextprotocol/server-everything/dist/index.js"

# What each is started with, and calls whose answers are the same whenever and by whomever they are made.
SERVERS = {
    "everything": (EVERYTHING, [("echo", {"message": "ä€🎈"}), ("get-sum", {"a": 1, "b": 2}),
                                ("get-tiny-image", {}), ("get-structured-content", {"location": "Chicago"})]),
    "filesystem": ("@modelcontextprotocol/server-filesystem/dist/index.js", [
        ("read_text_file", {"path": "{folder}/a.txt"}), ("list_directory", {"path": "{folder}"}),
        ("read_text_file", {"path": "/etc/passwd"})]),
    "memory": ("@modelcontextprotocol/server-memory/dist/index.js", [
        ("create_entities", {"entities": [{"name": "ada", "entityType": "person", "observations": ["counts"]}]}),
        ("read_graph", {}), ("delete_entities", {"entityNames": ["ada"]})]),
    "sequential-thinking": ("@modelcontextprotocol/server-sequential-thinking/dist/index.js", [
        ("sequentialthinking", {"thought": "so", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1})]),
    "coding-solo": ("@coding-solo/godot-mcp/build/index.js", [("list_projects", {"directory": "{folder}"})]),
    "godot-mcp": ("godot-mcp/build/index.js", [("list_projects", {"directory": "{folder}"})]),
}
HISTORY = {"sequentialthinking"}  # a shared server counts the thoughts of all its clients


class Stranger:
    def __init__(self, name, folder):
        path, calls = SERVERS[name]
        script = package(path) if path == EVERYTHING else os.path.join(STRANGERS, "node_modules", path)
        (folder / "a.txt").write_text("a line\n")
        named = system.native(folder)
        self.command = client(script) + ([named] if name == "filesystem" else [])
        self.calls = [{"name": tool, "arguments": {key: value.replace("{folder}", named) if isinstance(value, str) else value
                                                   for key, value in arguments.items()}} for tool, arguments in calls]
        self.env = client_env(MEMORY_FILE_PATH=system.native(folder / "memory.jsonl"), DISABLE_THOUGHT_LOGGING="true")

    def ask(self, sdk, *where, env=None):
        done = run(client(os.path.join(HERE, "stranger.mjs"), sdk, *where, "--calls", json.dumps(self.calls)),
                   dict(self.env, **(env or {})), limit=LIMIT)
        assert done.status == 0, done.output[-3000:]
        seen = json.loads([line for line in done.output.splitlines() if line.startswith("{")][-1])
        for call, result in zip(self.calls, seen["calls"]):
            if call["name"] in HISTORY:
                result.pop("structuredContent", None)
                result["content"][0]["text"] = json.loads(result["content"][0]["text"])["totalThoughts"]
        return seen


@pytest.mark.parametrize("name", SERVERS)
def test_K1_strangers_servers_answer_strangers_clients_as_they_do_directly(state_dir, tmp_path, name):
    """Lists and answers through Tether, over HTTP and over its front, by either SDK, are those without it."""
    folder = tmp_path / "project"
    folder.mkdir()
    stranger = Stranger(name, folder)
    directly = stranger.ask("v1", "--command", json.dumps(stranger.command))
    assert directly["tools"] and not all(call.get("isError") for call in directly["calls"])
    with Instance(state_dir) as instance:
        assert instance.launch("--stdio", command=stranger.command, env=stranger.env)["code"] == 0
        url = "http://127.0.0.1:%d/mcp" % instance.http
        front = json.dumps(instance.argv("mcp", "--stdio", "--", *stranger.command))
        for sdk in ("v1", "v2", "v2-modern"):
            for where in (["--url", url], ["--command", front]):
                seen = stranger.ask(sdk, *where, env=instance.env)
                if sdk == "v2-modern":
                    seen["server"] = directly["server"]  # of this era each answer says who made it
                for key, value in directly.items():
                    assert seen[key] == value or (key == "tools" and by_name(seen[key]) == by_name(value)), (sdk, where, key)
        below = system.descendants_of(instance.status()["server"]["pid"])
        assert ["mcp" in system.command_of(pid) for pid in below].count(True) == 1


def by_name(tools):
    """Without what a server offers only to clients who can be asked something: Tether asks on behalf of those; and
    without what the era of 2026 does not know any more."""
    return sorted((tool["name"], json.dumps(dict(tool, execution=None), sort_keys=True)) for tool in tools
                  if not tool["name"].startswith(("trigger-elicitation", "trigger-sampling", "get-roots", "simulate-")))


def test_K1_the_inspector_sees_it(state_dir, tmp_path):
    stranger = Stranger("everything", tmp_path)
    with Instance(state_dir) as instance:
        instance.launch("--stdio", command=stranger.command, env=stranger.env)
        done = run(client(package("@modelcontextprotocol/inspector/clients/launcher/build/index.js"), "--cli",
                          "http://127.0.0.1:%d/mcp" % instance.http, "--format", "json", "--quiet", "--method", "tools/call",
                          "--tool-name", "echo", "--tool-args-json", '{"message":"hi"}'),
                   client_env(HOME=str(tmp_path)), limit=LIMIT)
        assert json.loads(done.output.strip().splitlines()[-1])["result"]["content"][0]["text"] == "Echo: hi", done.output


def judge(url, out, program, *options):
    """The checks of the conformance suite, as {scenario: {check: status}}."""
    out.mkdir()
    run(node(program, "server", "--url", url, "-o", str(out), *options), node_env(), limit=180, cwd=str(out))
    found = {}
    for entry in os.listdir(out):
        path = os.path.join(out, entry, "checks.json")
        if os.path.exists(path):
            with open(path) as file:
                found[entry.split("-20")[0]] = {check["id"]: check["status"] for check in json.load(file)}
    return found


@pytest.mark.parametrize("program, options", [(LEGACY_SUITE, ["--suite", "all"]), (SUITE, ["--requirements", "2025-11-25"])],
                         ids=["stable", "2025-11-25"])
def test_K1_conformance_is_no_less_than_the_servers_own(state_dir, tmp_path, program, options):
    """What the reference server passes over HTTP of its own it passes through Tether. (What the suite looks at only where
    an answer is a stream is not there where it is a plain one.)"""
    port = free_ports()[0]
    with Process([NODE, package(EVERYTHING), "streamableHttp"], node_env(PORT=str(port))) as own:
        own.expect("listening|running|started")
        directly = judge("http://127.0.0.1:%d/mcp" % port, tmp_path / "own", program, *options)
    with Instance(state_dir) as instance:
        instance.launch("--stdio", command=client(package(EVERYTHING)), env=client_env())
        through = judge("http://127.0.0.1:%d/mcp" % instance.http, tmp_path / "through", program, *options)
    good = [(scenario, check) for scenario, checks in directly.items() for check, status in checks.items()
            if status == "SUCCESS"]
    assert len(good) > 10
    lost = [(scenario, check) for scenario, check in good
            if through.get(scenario, {check: "FAILURE"}).get(check) in ("FAILURE", "WARNING")]
    assert not lost, lost
    better = [check for scenario, checks in through.items() for check, status in checks.items()
              if status == "SUCCESS" and directly.get(scenario, {}).get(check) == "FAILURE"]
    assert "localhost-host-rebinding-rejected" in better, better  # our guards are before it
