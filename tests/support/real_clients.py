"""AI clients of others, from npm: how each is pointed at a model of ours and at a server, asked, and let run.

Each has a home of its own that nobody has been in, no account, and a key that means nothing."""
import glob
import json
import os
import re
import shutil
import subprocess

from harness import TETHER, Process, run

PACKAGES = os.environ.get("TETHER_REAL_CLIENTS", "")
NODE = os.path.join(os.environ.get("TETHER_NODE", ""), "node_modules/.bin/node")
ENTRY = "godot-tether"
MODEL = "scripted"
KEY = "no-key-of-anybody"
ASK_LIMIT, RUN_LIMIT = 120.0, 400.0  # seconds for a client's own check; for a session


def package(path):
    """A file of an installed package, or None. Stars may stand for the processor."""
    found = glob.glob(os.path.join(PACKAGES, "node_modules", path))
    return found[0] if found else None


def write(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(value if isinstance(value, str) else json.dumps(value, indent=1))


class Client:
    """One client with a home of its own, in a project. It is told of Tether by `tether clients`, for "http" or "stdio"; or
    it is told of another server: {"url": …} or {"command": […]}."""

    name = id = ""  # ours, and that of `tether clients` if it is another
    title = ""
    program = ""  # within the packages
    is_script = False
    check_words = ("mcp", "list")
    connected = r"(?i)%s.*connected"
    visits = False  # whether it tries servers of others, too
    lingers = False  # whether a server that it knows by its address has to stay there, else it is given up

    def __init__(self, home, project, model, server):
        self.home, self.project, self.model = home, project, model
        self.env = {"HOME": home, "PATH": os.environ["PATH"], "TERM": "dumb", "NO_COLOR": "1", "CI": "1",
                    "XDG_CONFIG_HOME": home + "/.config", "XDG_DATA_HOME": home + "/.local/share",
                    "XDG_CACHE_HOME": home + "/.cache", "XDG_STATE_HOME": home + "/.local/state",
                    "DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}
        os.makedirs(home, exist_ok=True)
        self.prepare()
        if isinstance(server, dict):
            self.tell(server)
        else:
            done = run(["env", "-i", *self.words(), TETHER, "clients", "add", self.id or self.name, "--project", project,
                        *(["--http"] if server == "http" else [])])
            assert done.status == 0, done.output
        self.trust()

    @classmethod
    def missing(cls):
        """Why it cannot be tried here, or None."""
        return None if package(cls.program) else "%s is not in npm for this system (%s)" % (cls.title, cls.program)

    @classmethod
    def version(cls):
        folder = package(cls.program.split("/bin/")[0].split("/vendor/")[0])
        while folder and not os.path.exists(os.path.join(folder, "package.json")):
            folder = os.path.dirname(folder)
        with open(os.path.join(folder, "package.json")) as file:
            return re.sub(r"-linux-.*", "", json.load(file)["version"])

    @staticmethod
    def entry(server, url_key="url", **more):
        """What describes a server in most files."""
        if "url" in server:
            return {url_key: server["url"], **more}
        return {"command": server["command"][0], "args": server["command"][1:]}

    def prepare(self):
        """All but the server."""
        raise NotImplementedError

    def tell(self, server):
        """Writes of another server where Tether writes of itself."""
        raise NotImplementedError

    def trust(self):
        """What the user says once to a server that is in the project's files, where that is no setting."""

    def argv(self, *words):
        return ([NODE] if self.is_script else []) + [package(self.program), *words]

    def command(self, *words):
        """All of a command, with an environment in which there is nothing of ours."""
        return ["env", "-i", *self.words(), *self.argv(*words)]

    def words(self):
        return ["%s=%s" % item for item in self.env.items()]

    def start(self, words, limit):
        return run(self.command(*words), cwd=self.project, limit=limit)

    def check(self, told):
        """Asks the client itself, or looks at what it told of a session; returns whether it says that it is connected,
        and its words."""
        told = self.start(self.check_words, ASK_LIMIT).output
        return bool(re.search(self.connected % ENTRY, told)), told

    def clean(self):
        """Takes its files out of the project again."""
        for path in (".mcp.json", ".codex", ".gemini", ".qwen", "opencode.json", ".opencode", ".claude", ".github"):
            path = os.path.join(self.project, path)
            if os.path.isdir(path):
                shutil.rmtree(path)
            elif os.path.exists(path):
                os.remove(path)

    def session(self):
        """Lets it work until its model says that all is done; returns what it printed."""
        return self.start(self.run_words, RUN_LIMIT)


class ClaudeCode(Client):
    name, id, title = "claude", "claude-code", "Claude Code"
    visits = True
    program = "@anthropic-ai/claude-code-linux-*/claude"
    run_words = ("-p", "go", "--allowedTools", "mcp__" + ENTRY, "--model", "claude-sonnet-4-5")
    lingers = True  # it looks for it during some ten seconds

    def prepare(self):
        self.env.update(ANTHROPIC_BASE_URL=self.model, ANTHROPIC_API_KEY=KEY, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
                        ENABLE_TOOL_SEARCH="false")
        write(self.home + "/.claude.json", {
            "hasCompletedOnboarding": True, "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {self.project: {"hasTrustDialogAccepted": True, "enabledMcpjsonServers": [ENTRY]}}})

    def tell(self, server):
        write(self.project + "/.mcp.json", {"mcpServers": {ENTRY: self.entry(server, type="http")}})


class Codex(Client):
    name, title = "codex", "Codex"
    visits = True
    program = "@openai/codex-linux-*/vendor/*/bin/codex"
    run_words = ("exec", "--skip-git-repo-check", "--json", "go")

    def check(self, told):
        """Its list tells only what is in its files; what it uses in editors tells what became of them."""
        begin = [{"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "tests", "version": "1"}}},
                 {"method": "initialized"}, {"id": 2, "method": "thread/start", "params": {"cwd": self.project}}]
        listed = self.start(self.check_words, ASK_LIMIT).output
        with Process(self.command("app-server"), cwd=self.project, stdin=subprocess.PIPE) as server:
            for message in begin:
                server.popen.stdin.write(json.dumps(message).encode() + b"\n")
                server.popen.stdin.flush()
            status = server.expect(r'"name":"%s","status":"(ready|failed|cancelled)".*' % ENTRY, ASK_LIMIT)
            server.popen.stdin.close()
        return bool(re.search(r"%s\b.*enabled" % ENTRY, listed)) and status.group(1) == "ready", listed + status.group(0)

    def prepare(self):
        self.env.update(SCRIPTED_KEY=KEY)
        write(self.home + "/.codex/config.toml", """model = "%s"
model_provider = "ours"
[model_providers.ours]
name = "ours"
base_url = "%s/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
[projects."%s"]
trust_level = "trusted"
""" % (MODEL, self.model, self.project))

    def tell(self, server):
        entry = self.entry(server)
        write(self.project + "/.codex/config.toml", "[mcp_servers.%s]\n" % ENTRY +
              "".join("%s = %s\n" % (key, json.dumps(value)) for key, value in entry.items()))


class GeminiCli(Client):
    name, title = "gemini", "Gemini CLI"
    program, is_script = "@google/gemini-cli/bundle/gemini.js", True
    run_words = ("-p", "go", "--yolo", "-m", "gemini-2.5-pro")

    def prepare(self):
        self.env.update(GEMINI_API_KEY=KEY, GOOGLE_GEMINI_BASE_URL=self.model)
        write(self.home + "/.gemini/settings.json", {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": True}},
            "general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False}})
        write(self.home + "/.gemini/trustedFolders.json", {self.project: "TRUST_FOLDER"})

    def tell(self, server):
        write(self.project + "/.gemini/settings.json", {"mcpServers": {ENTRY: self.entry(server, "httpUrl")}})


class QwenCode(Client):
    name, title = "qwen", "Qwen Code"
    program, is_script = "@qwen-code/qwen-code/cli-entry.js", True
    run_words = ("-p", "go", "--yolo", "--auth-type", "openai")

    def prepare(self):
        self.env.update(OPENAI_API_KEY=KEY, OPENAI_BASE_URL=self.model + "/v1", OPENAI_MODEL=MODEL,
                        QWEN_CODE_LEGACY_MCP_BLOCKING="1")  # else the first turn is without what servers have
        write(self.home + "/.qwen/settings.json", {
            "tools": {"toolSearch": {"threshold": 100}},  # else the model has to look for tools before it sees them
            "general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False}})

    def trust(self):
        done = self.start(("mcp", "approve", ENTRY), ASK_LIMIT)
        assert done.status == 0, done.output

    def tell(self, server):
        write(self.project + "/.qwen/settings.json", {"mcpServers": {ENTRY: self.entry(server, "httpUrl")}})


class Opencode(Client):
    name, title = "opencode", "opencode"
    visits = True
    program = "opencode-linux-*/bin/opencode"
    run_words = ("run", "go")

    def prepare(self):
        write(self.home + "/.config/opencode/opencode.json", {
            "model": "ours/" + MODEL, "small_model": "ours/" + MODEL, "autoupdate": False, "share": "disabled",
            "provider": {"ours": {"npm": "@ai-sdk/openai-compatible", "name": "ours", "models": {MODEL: {
                "name": MODEL, "tool_call": True, "attachment": True, "modalities": {"input": ["text", "image"], "output": ["text"]}}},
                "options": {"baseURL": self.model + "/v1", "apiKey": KEY}}}})

    def tell(self, server):
        entry = ({"type": "remote", "url": server["url"]} if "url" in server
                 else {"type": "local", "command": server["command"]})
        write(self.project + "/opencode.json", {"mcp": {ENTRY: entry}})


class Copilot(Client):
    name, title = "copilot", "Copilot CLI"
    program = "@github/copilot-linux-*/copilot"
    run_words = ("-p", "go", "--allow-all-tools", "--allow-all-mcp-server-instructions", "--output-format", "json")
    connected = r'"serverName":"%s","status":"connected"'
    lingers = True  # it looks for it during five seconds

    def check(self, told):
        """Its list tells only what is in its files; a session tells what became of them."""
        listed = self.start(self.check_words, ASK_LIMIT).output
        return ENTRY in listed and bool(re.search(self.connected % ENTRY, told)), listed + told[:2000]

    def prepare(self):
        self.env.update(COPILOT_PROVIDER_BASE_URL=self.model + "/v1", COPILOT_PROVIDER_API_KEY=KEY, COPILOT_MODEL=MODEL,
                        COPILOT_OFFLINE="true", COPILOT_AUTO_UPDATE="false")
        write(self.home + "/.copilot/config.json", {"trusted_folders": [self.project]})

    def tell(self, server):
        write(self.project + "/.mcp.json", {"mcpServers": {ENTRY: self.entry(server, type="http")}})


CLIENTS = {client.name: client for client in (ClaudeCode, Codex, GeminiCli, QwenCode, Opencode, Copilot)}
