"""I8: writing the configuration of AI clients, checked with other parsers: whatever a file holds, only our
entry changes in it, or nothing at all."""
import json
import os
import re
import shutil
import stat
import tempfile
import tomllib

import pytest

import jsonc
from clients import in_namespace
from harness import IS_WINDOWS, TETHER, run, run_apart, system
from users import take_users

SEED = os.environ.get("TETHER_SEED", "1")
NAME = "godot-tether"
PROGRAM = system.native(os.path.realpath(system.local(TETHER) if IS_WINDOWS else TETHER))  # as it names itself
URL = "http://127.0.0.1:8000/mcp"
NOWHERE = "Q:\\home" if IS_WINDOWS else "/proc/1"  # where nobody can make a folder
BOM = b"\xef\xbb\xbf"
TRANSPORT = ("type", "url", "httpUrl", "serverUrl", "command", "args")
HTTP = {"type": "http", "url": URL}
# id: (folder, file, key, entry for HTTP); what is not here is like one of these
CLIENTS = {
    "claude-code": ("project", ".mcp.json", "mcpServers", HTTP),
    "cursor": ("project", ".cursor/mcp.json", "mcpServers", {"url": URL}),
    "vscode": ("project", ".vscode/mcp.json", "servers", HTTP),
    "codex": ("project", ".codex/config.toml", "mcp_servers", {"url": URL}),
    "gemini": ("project", ".gemini/settings.json", "mcpServers", {"httpUrl": URL}),
    "qwen": ("project", ".qwen/settings.json", "mcpServers", {"httpUrl": URL}),
    "opencode": ("project", "opencode.json", "mcp", {"type": "remote", "url": URL, "enabled": True}),
    "opencode-2": ("project", ".opencode/opencode.jsonc", "mcp/servers", {"type": "remote", "url": URL}),
    "copilot": ("project", ".mcp.json", "mcpServers", HTTP),
    "claude-desktop": ("config", "Claude/claude_desktop_config.json", "mcpServers", None),
    "windsurf": ("home", ".codeium/windsurf/mcp_config.json", "mcpServers", {"serverUrl": URL}),
    "zed": ("project", ".zed/settings.json", "context_servers", {"url": URL}),
    "antigravity": ("home", ".gemini/config/mcp_config.json", "mcpServers", {"serverUrl": URL}),
    "cline": ("home", ".cline/data/settings/cline_mcp_settings.json", "mcpServers",
              {"type": "streamableHttp", "url": URL}),
    "roo": ("project", ".roo/mcp.json", "mcpServers", {"type": "streamable-http", "url": URL}),
    "kilo": ("project", ".kilo/kilo.jsonc", "mcp", {"type": "remote", "url": URL, "enabled": True}),
    "continue": ("project", ".continue/mcpServers/godot-tether.json", "mcpServers", HTTP),
    "amp": ("project", ".amp/settings.json", "amp.mcpServers", {"url": URL}),
    "kiro": ("project", ".kiro/settings/mcp.json", "mcpServers", {"url": URL}),
    "droid": ("project", ".factory/mcp.json", "mcpServers", HTTP),
    "auggie": ("home", ".augment/settings.json", "mcpServers", HTTP),
    "junie": ("project", ".junie/mcp/mcp.json", "mcpServers", None),
    "crush": ("project", ".crush.json", "mcp", HTTP),
    "nanocoder": ("project", ".mcp.json", "mcpServers", {"transport": "http", "url": URL}),
    "kimi": ("project", ".kimi-code/mcp.json", "mcpServers", {"url": URL}),
    "rovo-dev": ("home", ".rovodev/mcp.json", "mcpServers", {"transport": "http", "url": URL}),
    "trae": ("project", ".trae/mcp.json", "mcpServers", {"url": URL}),
    "warp": ("project", ".warp/.mcp.json", "mcpServers", {"url": URL}),
    "visual-studio": ("project", ".mcp.json", "servers", HTTP),
    "lm-studio": ("home", ".lmstudio/mcp.json", "mcpServers", {"url": URL}),
}
PASTED = ["goose", "vibe", "jetbrains", "other"]
# What a command looks like where it is more than "command" and "args".
TYPES = {"vscode": {"type": "stdio"}, "droid": {"type": "stdio"}, "crush": {"type": "stdio"},
         "visual-studio": {"type": "stdio"}, "nanocoder": {"transport": "stdio"}, "rovo-dev": {"transport": "stdio"}}
# Each form of a file once; with programs that take long to start, fewer.
FORMS = ["cursor", "codex"] if IS_WINDOWS else ["cursor", "vscode", "codex", "gemini", "amp", "zed", "windsurf"]
JSON_FORMS = [name for name in FORMS if name != "codex"]
FEWER = 10 if IS_WINDOWS else 1


class Case:
    """A client with a home, a configuration folder and a project of its own."""

    def __init__(self, root, client, before=None, mode=0o644, home=None):
        self.client, self.before, self.root = client, before, os.path.realpath(root)
        self.folder, file, self.key, self.entry = CLIENTS[client]
        for folder in ("home", "config", "project", "local"):
            os.makedirs(os.path.join(root, folder))
        with open(self.project + "/project.godot", "w"):
            pass
        self.path = os.path.join(self.root, self.folder, file)
        self.home = home
        if before is not None:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with open(self.path, "wb") as out:
                out.write(before)
            os.chmod(self.path, mode)

    @property
    def project(self):
        return os.path.join(self.root, "project")

    @property
    def env(self):
        home, config = self.home or system.native(self.root + "/home"), system.native(self.root + "/config")
        return {"HOME": home, "USERPROFILE": home, "XDG_CONFIG_HOME": config, "APPDATA": config,
                "LOCALAPPDATA": system.native(self.root + "/local"), "CODEX_HOME": ""}

    def cli(self, *words, wrapper=()):
        return run_apart([*wrapper, TETHER, "clients", *words, "--project", system.native(self.project)], self.env)

    def told(self, *words, wrapper=()):
        done = self.cli(*words, "--json", wrapper=wrapper)
        return json.loads(done.stdout), done.returncode

    def add(self, *words, wrapper=()):
        return self.told("add", self.client, *words, wrapper=wrapper)

    @property
    def command(self):
        """The entry for stdio."""
        words = ["mcp", "--project", system.native(self.project)]
        if self.client in ("opencode", "opencode-2", "kilo"):
            entry = {"type": "local", "command": [PROGRAM, *words], "enabled": True}
            return entry if self.client != "opencode-2" else {k: v for k, v in entry.items() if k != "enabled"}
        return {**TYPES.get(self.client, {}), "command": PROGRAM, "args": words}

    @property
    def after(self):
        with open(self.path, "rb") as file:
            return file.read()

    def files(self):
        return sorted(os.path.relpath(os.path.join(folder, name), self.root) for folder, _, names in os.walk(self.root)
                      for name in names if name != "project.godot")


def run_all(cases, wrapper=()):
    """Writes each twice, over HTTP, and keeps what was said and what was there between."""
    for case in cases:
        case.first, case.code = case.add("--http", wrapper=wrapper)
        case.written = case.after if os.path.isfile(case.path) else None
        case.second, _ = case.add("--http", wrapper=wrapper)


# ---- what must be so after a write ---------------------------------------------------------------

def loads(case, data):
    return tomllib.loads(data.decode("utf-8-sig")) if case.client == "codex" else jsonc.loads(data)


def without_entry(case, values):
    """The entry, and all else."""
    holders = [values]
    for name in case.key.split("/"):
        holders.append(holders[-1].get(name, {}))
    entry = holders[-1].pop(NAME, None)
    for holder, outer, name in reversed(list(zip(holders[1:], holders, case.key.split("/")))):
        if not holder:
            outer.pop(name, None)
    return entry, values


def check_values(case, entry=None):
    """Another parser sees the entry as wanted, its unknown keys kept, and all else as before."""
    old, rest_before = without_entry(case, loads(case, case.before or b""))
    new, rest = without_entry(case, loads(case, case.after))
    kept = {k: v for k, v in old.items() if k not in TRANSPORT} if isinstance(old, dict) else {}
    assert new == {**(entry or case.entry), **kept}
    assert rest == rest_before

def cut_json(data, key):
    """The document without our entry, and without the container if that held nothing else."""
    data = re.sub(rb'\s*"godot-tether"\s*:\s*\{[^{}]*\}', b"", data)
    return re.sub(rb'\s*"%s"\s*:\s*\{\s*\}' % key.encode(), b"", data)


def check_bytes(case):
    """Byte for byte, only the entry is new, and perhaps a comma and space beside it."""
    if b'"godot-tether"' in case.before:
        before, after = (jsonc.value_span(data, NAME) for data in (case.before, case.after))
        assert case.after[:after[0]] == case.before[:before[0]]
        assert case.after[after[1]:] == case.before[before[1]:]
        return
    before, after = cut_json(case.before, case.key), cut_json(case.after, case.key)
    start = len(os.path.commonprefix([before, after]))
    end = len(os.path.commonprefix([before[start:][::-1], after[start:][::-1]]))
    gone, new = before[start:len(before) - end], after[start:len(after) - end]
    if new[:1] == b"," or before[start - 1:start] == b"," == new[-1:]:
        new = new.strip(b",")
    assert gone.strip() == new.strip(), (case.before, case.after)


def check_style(case):
    assert case.after.startswith(BOM) == (case.before or b"").startswith(BOM)
    if case.before and b"\r\n" in case.before and b"\n" not in case.before.replace(b"\r\n", b""):
        assert b"\n" not in case.after.replace(b"\r\n", b"")
    if b"\r" not in (case.before or b""):
        assert b"\r" not in case.after


def check_untouched(case):
    assert not case.first["ok"] and case.code == 1 and not case.second["ok"], (case.first, case.before)
    assert "was not changed: " in case.first["message"] and "tether clients show" in case.first["message"]
    assert case.written is None or case.after == case.before
    assert not [name for name in case.files() if ".tether-" in name], case.files()


def check_written(case):
    assert case.first["ok"] and case.code == 0 and case.second["ok"], (case.first, case.before)
    assert case.first["file"] == system.native(case.path)
    check_values(case)
    check_style(case)
    assert case.first["changed"] == (case.written != case.before)
    assert not case.second["changed"] and case.after == case.written
    assert len(case.files()) == 1


def check_any(case):
    """Written well, or refused and left alone."""
    if case.first["ok"]:
        check_written(case)
    else:
        check_untouched(case)


# ---- every client, every kind of file ------------------------------------------------------------

def entry_text(client, entry):
    if client == "codex":
        return "[mcp_servers.godot-tether]\n" + "".join("%s = %s\n" % (k, json.dumps(v)) for k, v in entry.items())
    return '"godot-tether": ' + json.dumps(entry)


def documents(client):
    """{what: text} of good files, for JSON or TOML."""
    key = CLIENTS[client][2]
    old = entry_text(client, {"url": "http://127.0.0.1:1/old", "disabled": True})
    if client == "codex":
        other = '# mine\nmodel = "gpt" # why\n\n[mcp_servers.other]\ncommand = "x"\nargs = [\n  "a", # "b"\n]\n'
        return {"empty": "", "blank": "\n \n", "others": other, "end": other[:-1],
                "ours": other + old + "\n[tui]\nx = 1\n", "current": entry_text(client, CLIENTS[client][3]),
                "command": '[mcp_servers."godot-tether"]\ncommand = "old" # gone\nargs = ["a",\n"b"]\nenabled = false\n',
                "dotted": 'mcp_servers.a.url = "b" # mine\n',
                "sub": '[mcp_servers.godot-tether.env]\nA = "1"\n[x]\n', "spaced": '[ mcp_servers . \'godot-tether\' ]',
                "all": 'a.b = 1\n"c d".\'e\' = 1979-05-27 07:32:00Z\nf = """\n"x" = [\n"""\ng = \'\'\'\n[mcp_servers]\'\'\'\n'
                       'h = [[1, 2], [{a = 1}, {a = 2}], "]",]\ni = {j.k = +1_000.5e-3, l = inf}\n[[m]]\nn = 0xff\n'
                       '[m.o]\np = 1\n[[m]]\nn = 1\n[m.o]\np = 2\n[mcp_servers]\n'}
    return {
        "empty": "", "blank": " \n", "nothing": "{}", "comments": "// only\n/* comments */",
        "others": '{\n    "x": [1, 2.50],\n    "%s": {\n        "other": {"command": "y"}\n    },\n    "z": null\n}\n' % key,
        "no-container": '{\n\t"x": 1\n}', "one-line": '{"x":{"y":1},"%s":{"other":{}}}' % key,
        "empty-container": '{\n  "%s": {}\n}\n' % key, "open-container": '{\n  "%s": {\n  }\n}\n' % key,
        "commented": '// top\n{\n  /* a */ "x": 1, // "b": 2,\n  "%s": {\n    // first\n    "other": {}, // its comment\n'
                     '    // last\n  },\n  // end\n}\n// behind\n' % key,
        "behind": '{\n  "x": 1 // no comma here\n  /* , */\n}\n', "inside": '{ "%s": { /* none */ } }' % key,
        "ours": '{\n  "%s": {\n    %s,\n    "other": {"url": "u"} // keep\n  }\n}\n' % (key, old),
        "current": '{"%s": {%s}}' % (key, entry_text(client, CLIENTS[client][3])),
        "twice": '{"%s": {"a": {}}, "%s": {"godot-tether": 1}}' % (key, key),
        "escaped": '{"%s": {"godot\\u002dtether": {"url": "old"}}}' % key,
        "unusual": '{\n\n      "x" :"\\ud83d\\ude00 // \\"",\n      "%s"\n:{"other":[]\n}}' % key,
    }


BROKEN_JSON = ["{", "[]", "3", '"x"', "{} {}", '{"x": 1,, "y": 2}', '{"x": }', "{'x': 1}", '{"x": 01}', "{x: 1}",
               '{"x": "y}', '{"x": "a\nb"}', "/* {}", '{"x": tru}', '{"x": "\\q"}', '{"x" 1}', "{,}", '{"x": [1 2]}',
               '{"KEY": []}', '{"KEY": null}', '{"KEY": "x"}', "[" * 150 + "]" * 150, "<xml/>", '{"x": 1]', "}"]
BROKEN_TOML = ["[", "[x", "x", "x = ", "x = y", 'x = "y', "x = 1 2", 'x = """y""', "= 1", "x = [1", "x = {a = 1",
               "[[mcp_servers]]", "mcp_servers = 1", "mcp_servers = {}", "[mcp_servers]\ngodot-tether = 1",
               "[mcp_servers]\ngodot-tether = {url = \"a\"", "{}", "[[mcp_servers.godot-tether]]",
               'mcp_servers.godot-tether.url = "http://old"', '[mcp_servers]\ngodot-tether = { url = "http://old" }',
               "[mcp_servers.godot-tether]\n[mcp_servers.godot-tether]"]
NOT_TEXT = [b"\xff\xfe{\0}\0", b'{"x": "\xe4"}', b"{}\0"]


def test_I8_every_kind_of_file(tmp_path):
    cases, added, broken = [], [], []
    for client in FORMS:
        cases.append(Case(str(tmp_path / "none" / client), client))
        for what, text in documents(client).items():
            for kind, data in (("", text), ("-crlf", text.replace("\n", "\r\n")), ("-bom", "\ufeff" + text)):
                cases.append(Case(str(tmp_path / client / (what + kind)), client, data.encode()))
                if client != "codex" and what in ("others", "no-container", "one-line", "empty-container", "behind",
                                                  "open-container", "commented", "inside", "ours", "unusual"):
                    added.append(cases[-1])
        key = CLIENTS[client][2]
        texts = BROKEN_TOML if client == "codex" else BROKEN_JSON
        for data in [text.replace("KEY", key).encode() for text in texts] + NOT_TEXT:
            broken.append(Case(str(tmp_path / "broken" / str(len(broken))), client, data))
    run_all(cases + broken)
    for case in cases:
        check_written(case)
    for case in added:
        check_bytes(case)
    for case in broken:
        check_untouched(case)
        assert len(case.first["message"]) < 500


def test_I8_every_client_both_ways_and_out_again(tmp_path):
    """More than 25, each with its own file and form, as a command first; and what is taken out leaves no trace
    in what was there before."""
    assert len(CLIENTS) + len(PASTED) - 1 >= 25
    for client, (_, _, key, entry) in CLIENTS.items():
        case = Case(str(tmp_path / client), client)
        if client != "codex":  # with another server in it
            other = {"x": [1]}
            for name in reversed(key.split("/")):
                other = {name: other}
            case.before = (json.dumps(other, indent=2) + "\n").encode()
            os.makedirs(os.path.dirname(case.path), exist_ok=True)
            with open(case.path, "wb") as out:
                out.write(case.before)
        told, code = case.add()
        assert code == 0 and told["changed"] and told["file"] == system.native(case.path) and told["hint"], told
        check_values(case, case.command)
        assert case.told("show", client)[0]["transport"] == "stdio"
        if entry is None:
            assert case.add("--http")[1] == 1
        else:
            assert case.add("--http")[0]["changed"]
            check_values(case)
            assert case.told("show", client)[0]["transport"] == "http"
        assert case.told("remove", client)[0]["changed"] and not case.told("remove", client)[0]["changed"]
        assert case.after == (case.before or b""), client


def test_I8_the_page_names_every_client_and_its_file():
    """docs/clients.md, with the document that says so."""
    with open(os.path.join(os.path.dirname(__file__), "../../docs/clients.md")) as file:
        rows = {row[0].strip("`"): row for row in (line.strip("| \n").split(" | ") for line in file)
                if row[0].startswith("`") and len(row) > 2}
    assert set(rows) == set(CLIENTS) | set(PASTED)
    for client, (folder, file, key, _) in CLIENTS.items():
        place, sources = rows[client][2], rows[client][-1]
        name = {"project": "project", "home": "user", "config": "config"}[folder]
        assert place.startswith("%s `%s`" % (name, file)), (client, place)
        assert client == "codex" or ", ".join("`%s`" % part for part in key.split("/")) == rows[client][3], client
        assert "." in sources and "/" in sources, sources


# As a person would have written it: (client, before, after).
EXACT = [
    ("cursor", '{\n\t"a": 1, // one\n\t"mcpServers": {\n\t\t"b": {} // its\n\t\t// last\n\t} /* c */\n}\n',
     '{\n\t"a": 1, // one\n\t"mcpServers": {\n\t\t"b": {}, // its\n\t\t"godot-tether": {\n\t\t\t"url": "%s"\n\t\t}\n'
     '\t\t// last\n\t} /* c */\n}\n'),
    ("cursor", '{\n  "a": 1, // one\n}', '{\n  "a": 1, // one\n  "mcpServers": {\n    "godot-tether": {\n'
     '      "url": "%s"\n    }\n  },\n}'),
    ("cursor", '{"a":1,"mcpServers":{"b":{}}}', '{"a":1,"mcpServers":{"b":{}, "godot-tether": {"url": "%s"}}}'),
    ("cursor", '{ "mcpServers": { } }', '{ "mcpServers": {"godot-tether": {"url": "%s"} } }'),
    ("codex", '[mcp_servers.godot-tether]   # mine\n  # before\n  url   =  "x" # behind\n\n[z]\n',
     '[mcp_servers.godot-tether]   # mine\n  # before\n  url   =  "%s" # behind\n\n[z]\n'),
    ("codex", '[mcp_servers.godot-tether]\ncommand = "x"\nargs = [\n  "y",\n]\nenabled = false\n',
     '[mcp_servers.godot-tether]\nurl = "%s"\nenabled = false\n'),
    ("codex", "a = 1", 'a = 1\n\n[mcp_servers.godot-tether]\nurl = "%s"\n'),
]



def test_I8_text_as_a_person_would_have_written_it(tmp_path):
    cases = [Case(str(tmp_path / str(i)), client, before.encode()) for i, (client, before, _) in enumerate(EXACT)]
    run_all(cases)
    for case, (_, _, after) in zip(cases, EXACT):
        check_written(case)
        assert case.after.decode() == after % URL


def test_I8_comments_within_the_entry_stay(tmp_path):
    """Only what leads to the server is ours."""
    before = ('{\n  "mcpServers": {\n    "godot-tether": {\n      // mine\n      "url": "http://old", // his\n'
              '      "disabled": true /* so */\n    }\n  }\n}\n')
    case = Case(str(tmp_path), "cursor", before.encode())
    run_all([case])
    check_written(case)
    assert case.after.decode() == before.replace("http://old", URL)
    case = Case(str(tmp_path / "toml"), "codex", b'[mcp_servers.godot-tether] # a\n# b\nurl = "x" # c\nenabled = false # d\n')
    case.add()
    assert [line.split(b"#")[-1] for line in case.after.splitlines() if b"#" in line] == [b" a", b" b", b" d"]


def test_I8_who_is_switched_off_stays_so(tmp_path):
    """What we write besides the way to the server is for new entries: the user has the last word."""
    off = {"type": "remote", "url": "http://old", "enabled": False}
    case = Case(str(tmp_path), "opencode", json.dumps({"mcp": {NAME: off}}).encode())
    assert case.add()[0]["changed"] and not case.add()[0]["changed"]
    assert json.loads(case.after)["mcp"][NAME] == {**case.command, "enabled": False}


def test_I8_list_tells_where_files_are_and_who_is_there(tmp_path):
    cases = [Case(str(tmp_path / "a"), "cursor"), Case(str(tmp_path / "b"), "cursor")]
    for path in ("home/.claude.json", "config/Code/User", "home/.codeium/windsurf"):
        os.makedirs(os.path.join(cases[1].root, path))
    for case, present in zip(cases, ([], ["claude-code", "vscode", "windsurf"])):
        listed = case.told("list")[0]["clients"]
        assert [client["id"] for client in listed if client["there"]] == present
        assert [client["id"] for client in listed[:len(present)]] == present  # they come first
        assert {client["id"] for client in listed} == set(CLIENTS) | set(PASTED)
        for client in listed:
            assert client["name"] and client["hint"] and client["stdio"] and client["stale"] is None
            assert client["writable"] == (client["id"] in CLIENTS) == (client["file"] is not None)
            if client["writable"]:
                folder, file, _, _ = CLIENTS[client["id"]]
                assert client["file"] == system.native(os.path.join(case.root, folder, file))
        text = case.cli("list").stdout
        assert "CONNECTED" in text and "served that starts before the editor" in text


def test_I8_snippets_can_be_pasted_into_an_empty_file(tmp_path):
    for client in FORMS:
        case = Case(str(tmp_path / client), client)
        shown, _ = case.told("show", client)
        for way, words in (("stdio", []), ("http", ["--http"])):
            if shown[way]:
                os.path.exists(case.path) and os.remove(case.path)
                case.add(*words)
                assert shown[way].encode() == case.after
    case = Case(str(tmp_path / "other"), "cursor")
    for client in PASTED:
        shown = case.told("show", client)[0]
        assert NAME in shown["stdio"] and "--project" in shown["stdio"] and not shown["writable"]
        told, code = case.told("add", client)
        assert code == 1 and "tether clients show %s" % client in told["message"] and case.files() == []
    assert tomllib.loads(case.told("show", "vibe")[0]["stdio"])["mcp_servers"][0]["name"] == NAME
    assert case.cli("show", "goose").stdout.count("extensions:\n  godot-tether:\n") == 1


def test_I8_ports_are_those_of_the_project_or_as_said(tmp_path):
    case = Case(str(tmp_path), "cursor")
    with open(case.project + "/project.godot", "w") as file:
        file.write('[application]\nserver/http_port=1\n\n[tether]\n\nserver/http_port=8123\nserver/ws_port=9600\n')
    shown = case.told("show", "cursor")[0]
    assert json.loads(shown["http"])["mcpServers"][NAME]["url"] == "http://127.0.0.1:8123/mcp"
    assert json.loads(shown["stdio"])["mcpServers"][NAME]["args"][3:] == ["--http-port", "8123", "--ws-port", "9600"]
    shown = case.told("show", "cursor", "--http-port", "8200", "--ws-port", "9500")[0]
    assert json.loads(shown["stdio"])["mcpServers"][NAME]["args"][3:] == ["--http-port", "8200"]
    shown = case.told("show", "cursor", "--http-port", "8200")[0]  # the other is still the project's
    assert json.loads(shown["stdio"])["mcpServers"][NAME]["args"][3:] == ["--http-port", "8200", "--ws-port", "9600"]


@pytest.mark.parametrize("settings, words, warnings", [
    ('server/http_port="abc"', [], ["tether/server/http_port: '\"abc\"' is not valid here; the default is taken"]),
    ("server/http_port=\nserver/ws_port=9600x", [], ["http_port: ''", "ws_port: '9600x'"]),
    ("server/http_port=0\nserver/ws_port=0", ["--ws-port", "0"], ["http_port: '0'"]),
    ("server/http_port=-1\nserver/ws_port=65536", [], ["'-1'", "'65536'"]),
    ("server/http_port=18446744073709559616", [], ["is not valid here"]),
    ("server/http_port = 8123 \r\nserver/ws_port=9600 ; mine\r", ["--http-port", "8123", "--ws-port", "9600"], []),
    ("server/http_port=9500", ["--http-port", "9500", "--ws-port", "0"], ["both ports are 9500"]),
    ("server/http_port_2=1\n[x]\nserver/http_port=2", [], [])])
def test_I8_ports_that_make_no_sense_are_told(tmp_path, settings, words, warnings):
    """As the editor does it: a warning, and the default."""
    case = Case(str(tmp_path), "cursor")
    with open(case.project + "/project.godot", "w", newline="") as file:
        file.write("[tether]\n" + settings)
    done = case.cli("show", "cursor", "--json")
    assert json.loads(json.loads(done.stdout)["stdio"])["mcpServers"][NAME]["args"][3:] == words
    said = done.stderr or ""
    assert said.startswith("tether: warning: ") == bool(warnings) and all(warning in said for warning in warnings), said


def in_project(tmp_path, name, here=""):
    """The file that is meant for a project in a folder of that name, asked for there or by its path."""
    folder = os.fsencode(str(tmp_path)) + b"/" + name
    os.makedirs(folder + here.encode())
    with open(folder + b"/project.godot", "w"):
        pass
    words = ["show", "claude-code", "--json"] + ([] if here else ["--project", os.fsdecode(folder)])
    done = run_apart(["sh", "-c", "cd '%s' && exec \"$0\" \"$@\"" % os.fsdecode(folder + here.encode()), TETHER, "clients", *words])
    return done, os.fsdecode(folder) + "/.mcp.json"


@pytest.mark.parametrize("name", ["ga*me", "my.project.godot", "a project.godot"])
def test_I8_a_folder_may_be_called_anything(tmp_path, name):
    """And is not taken for another one beside it."""
    for other in ("game", "ga"):
        in_project(tmp_path, other.encode())
    done, file = in_project(tmp_path, name.encode())
    assert json.loads(done.stdout)["file"] == file


def test_I8_a_backslash_is_part_of_a_name(tmp_path):
    in_project(tmp_path, b"ga")
    os.makedirs(tmp_path / "ga\\me" / "scenes")
    done = run_apart(["sh", "-c", "cd '%s' && exec '%s' clients list --json" % (tmp_path / "ga\\me" / "scenes", TETHER)])
    assert "project" not in json.loads(done.stdout) or json.loads(done.stdout)["project"] is None


def test_I8_a_name_that_is_no_text_is_refused(tmp_path):
    """An entry that leaves it out would be for any project."""
    for words in (["list"], ["add", "cursor"], ["add", "windsurf"]):
        folder = tmp_path / os.fsdecode(b"\xe9t\xe9")
        folder.mkdir(exist_ok=True)
        (folder / "project.godot").touch()
        done = run_apart([TETHER, "clients", *words, "--project", str(folder)], {"HOME": str(tmp_path)})
        assert done.returncode == 1 and "not UTF-8" in done.stderr and not done.stdout, done
        assert os.listdir(folder) == ["project.godot"] and sorted(os.listdir(tmp_path)) == [folder.name]


def test_I8_the_project_is_the_one_around(tmp_path):
    case = Case(str(tmp_path), "cursor")
    os.makedirs(case.project + "/scenes/deep")
    done = run_apart(["sh", "-c", "cd '%s/scenes/deep' && exec '%s' clients add cursor --json" % (case.project, TETHER)],
                     case.env) if not IS_WINDOWS else case.cli("add", "cursor", "--json")
    assert json.loads(done.stdout)["file"] == system.native(case.path)
    nowhere = run_apart([TETHER, "clients", "add", "cursor", "--project", system.native(case.root)], case.env)
    assert nowhere.returncode == 1 and "no project.godot" in nowhere.stderr


@pytest.mark.parametrize("words, said", [
    (["ad"], "list, show, add and remove"), (["add"], "which client?"), (["add", "--http"], "which client?"),
    (["add", "curso"], "is 'cursor' meant?"), (["list", "--what"], "--what"), (["add", "zed", "--http", "--stdio"], "one of them")])
def test_I8_wrong_words(words, said):
    done = run_apart([TETHER, "clients", *words])
    assert done.returncode == 2 and said in done.stderr and "tether help clients" in done.stderr and not done.stdout


# ---- stale entries -------------------------------------------------------------------------------

def doctor(case):
    done = run_apart([TETHER, "doctor", "--json", "--project", system.native(case.project)], case.env)
    return {f["text"].split(":")[0].split(" is ")[0]: f for f in json.loads(done.stdout)["findings"] if f["what"] == "client"}


def put(case, entry):
    os.makedirs(os.path.dirname(case.path), exist_ok=True)
    with open(case.path, "w") as out:
        json.dump({"mcpServers": {NAME: entry}}, out)


def test_I8_stale_entries_are_found_and_mended(tmp_path):
    """An old port, a launcher that is gone, one of another addon, a project that moved; read only."""
    case, other = Case(str(tmp_path / "a"), "cursor"), Case(str(tmp_path / "b"), "cursor")
    mine, his = system.native(case.project), system.native(other.project)
    addon = other.project + "/addons/tether/bin"
    os.makedirs(addon)
    with open(addon + "/tether.exe", "w"):
        pass
    stale = [({"url": "http://127.0.0.1:9000/mcp"}, "port 9000, and here it is 8000"),
             ({"command": system.native(str(tmp_path / "none")), "args": ["mcp", "--project", mine]}, "launcher is gone"),
             ({"command": system.native(addon + "/tether.exe"), "args": ["mcp", "--project", mine]}, "launcher belongs to another"),
             ({"command": TETHER, "args": ["mcp", "--project", mine + "-old"]}, "project is gone"),
             ({"command": TETHER, "args": ["mcp", "--project", his]}, "for another project"),
             ({"command": TETHER, "args": ["mcp", "--project", mine, "--http-port", "8500"]}, "port 8500"),
             ({"command": TETHER, "args": ["mcp", "--project", mine, "--ws-port", "9600"]}, "port 9600, and here it is 9500"),
             ({"disabled": True}, "neither a command nor an address")]
    assert doctor(case) == {}
    for entry, why in stale:
        put(case, entry)
        before = case.after
        found = doctor(case)["Cursor"]
        assert not found["ok"] and why in found["text"] and "`tether clients add cursor`" in found["advice"], found
        assert why in case.told("show", "cursor")[0]["stale"] and "stale: " in case.cli("list").stdout
        assert case.after == before
        assert not ("command" in entry or "url" in entry) or ", stale: " in case.cli("show", "cursor").stdout
        assert "connected: ," not in case.cli("show", "cursor").stdout
        assert case.add()[0]["changed"]
        assert doctor(case)["Cursor"]["ok"] and case.told("show", "cursor")[0]["stale"] is None
    put(case, {"url": "x"})
    with open(case.path, "a") as out:
        out.write("}")
    assert "nothing more" in case.told("show", "cursor")[0]["problem"]


# ---- files ---------------------------------------------------------------------------------------

def test_I8_what_is_in_the_way_stays(tmp_path):
    folder = Case(str(tmp_path / "folder"), "claude-code")
    os.makedirs(folder.path)
    file = Case(str(tmp_path / "file"), "windsurf")
    with open(file.root + "/home/.codeium", "w") as out:
        out.write("mine")
    nowhere = Case(str(tmp_path / "nowhere"), "windsurf", home=NOWHERE)
    run_all([folder, file, nowhere])
    assert not folder.first["ok"] and "is a folder" in folder.first["message"]
    assert not file.first["ok"] and file.files() == ["home/.codeium"]
    assert not nowhere.first["ok"] and nowhere.files() == []
    for case in (file, nowhere):
        assert "was not changed: " in case.first["message"], case.first


def test_I8_mode_and_links(tmp_path):
    mode = Case(str(tmp_path / "mode"), "claude-code", b'{"x": 1}', mode=0o640)
    link = Case(str(tmp_path / "link"), "claude-code", b'{"x": 1}')
    os.makedirs(link.root + "/dotfiles")
    os.rename(link.path, link.root + "/dotfiles/mcp.json")
    os.symlink("again", link.path)
    os.symlink("../dotfiles/mcp.json", link.root + "/project/again")
    dangling = Case(str(tmp_path / "dangling"), "claude-code")
    os.symlink("../dotfiles/mcp.json", dangling.path)
    loop = Case(str(tmp_path / "loop"), "claude-code")
    os.symlink(".mcp.json", loop.path)
    run_all([mode, link, dangling, loop])
    check_written(mode)
    assert stat.S_IMODE(os.stat(mode.path).st_mode) == 0o640
    assert os.readlink(link.path) == "again" and os.path.islink(link.root + "/project/again")
    check_values(link)
    assert os.path.islink(dangling.path) and dangling.first["ok"]
    check_values(dangling)
    assert not loop.first["ok"] and os.readlink(loop.path) == ".mcp.json"


def test_I8_what_is_read_only_stays(tmp_path):
    case = Case(str(tmp_path), "cursor", b'{"x": 1}', mode=0o444)
    run_all([case])
    check_untouched(case)
    assert "is read-only" in case.first["message"] and case.told("remove", "cursor")[1] == 0  # nothing to be changed
    os.chmod(case.path, 0o644)


def test_I8_a_file_keeps_its_owner_or_stays():
    """Whoever may write to another user's file, and to its folder, would else shut that one out."""
    if os.geteuid() != 0:
        pytest.skip("only root can be two other users")
    me, other = take_users(2)
    me.rights["extra_groups"] = [other.uid]
    with tempfile.TemporaryDirectory(prefix="tether-clients-") as folder:  # where others may go
        os.chmod(folder, 0o755)
        program = shutil.copy(TETHER, folder)
        case = Case(folder + "/case", "claude-code", b'{"x": 1}', mode=0o660)
        os.chmod(case.project, 0o777)
        os.chown(case.path, other.uid, other.uid)
        done = run([program, "clients", "add", "claude-code", "--project", case.project], case.env, **me.rights)
        assert done.status == 1 and "was not changed" in done.output, done.output
        assert case.after == case.before and sorted(os.listdir(case.project)) == [".mcp.json", "project.godot"]
        assert (os.stat(case.path).st_uid, os.stat(case.path).st_gid) == (other.uid, other.uid)
        assert run([program, "clients", "add", "claude-code", "--project", case.project], case.env).status == 0
        assert (os.stat(case.path).st_uid, os.stat(case.path).st_gid) == (other.uid, other.uid)
    for user in (me, other):
        user.claim.close()


def test_I8_what_cannot_be_looked_at_is_not_taken_for_nothing(tmp_path):
    case = Case(str(tmp_path), "cursor")
    os.symlink(".cursor", case.project + "/.cursor")
    assert "it cannot be told whether" in (case.told("show", "cursor")[0]["problem"] or "")
    run_all([case])
    assert not case.first["ok"] and os.path.islink(case.project + "/.cursor")


def test_I8_a_long_path_is_told_whole_or_cut_between_letters(tmp_path):
    """The doctor's finding is not lost for it."""
    case = Case(str(tmp_path), "cursor")
    for before in ("", "a", "aa"):
        put(case, {"command": "/" + before + "日" * 300, "args": []})
        assert "launcher is gone" in doctor(case)["Cursor"]["text"]


def test_I8_nothing_is_written_if_nothing_changes(tmp_path):
    case = Case(str(tmp_path), "cursor", b"{}")
    case.add()
    before = os.stat(case.path)
    assert not case.add()[0]["changed"]
    assert (os.stat(case.path).st_ino, os.stat(case.path).st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_I8_folders_that_cannot_be_written(tmp_path):
    file, none = (Case(str(tmp_path / name), "windsurf", before) for name, before in
                  (("file", b'{"x": 1}'), ("none", None)))
    words = []
    for case in (file, none):
        closed = case.root + "/home"
        if os.geteuid() == 0:
            words.append("mount --bind '%s' '%s' && mount -o remount,ro,bind '%s'" % (closed, closed, closed))
        else:
            for folder in (closed, os.path.dirname(case.path)):
                if os.path.isdir(folder):
                    os.chmod(folder, 0o555)
    wrapper = in_namespace("--mount") if words else []
    if wrapper is None:
        pytest.skip("no namespaces here")
    if words:
        wrapper += ["sh", "-c", " && ".join(words) + ' && exec "$@"', "sh"]
    run_all([file, none], wrapper)
    for case in (file, none):
        check_untouched(case)
        os.chmod(case.root + "/home", 0o755)


def test_I8_huge_files(tmp_path):
    members = ",\n".join('    "server-%d": {"command": "c", "args": ["a", "b"], "env": {"K": "%s"}}' % (i, "v" * 20)
                         for i in range(9000))
    text = '{\n  "mcpServers": {\n%s\n  }\n}\n' % members
    tables = "".join('[projects."/p/%d"]\ntrust_level = "trusted" # why\n' % i for i in range(10000))
    large = [Case(str(tmp_path / "json"), "windsurf", text.encode()),
             Case(str(tmp_path / "one-line"), "windsurf", json.dumps(jsonc.loads(text.encode())).encode()),
             Case(str(tmp_path / "comments"), "windsurf", ("//\n" * 30000 + text[:600000] + "}}").encode()),
             Case(str(tmp_path / "toml"), "codex", tables.encode())]
    beyond = Case(str(tmp_path / "beyond"), "windsurf", b'{"x": "' + b"y" * (1 << 20) + b'"}')
    run_all(large + [beyond])
    for case in large:
        check_any(case)
    for case in large[:2] + large[3:]:
        assert case.first["ok"], case.first
    check_untouched(beyond)


# ---- anything ------------------------------------------------------------------------------------

def test_I8_random_json(tmp_path):
    """Good ones are written, and mutilated ones are written well or left alone."""
    rng = jsonc.generator(SEED)
    good, bad = [], []
    for i in range(250 // FEWER):
        client = rng.choice(JSON_FORMS)
        _, _, key, entry = CLIENTS[client]
        data = jsonc.random_document(rng, key, NAME, dict(entry, url="http://old"))
        good.append(Case(str(tmp_path / ("good-%d" % i)), client, data))
        at = rng.randrange(len(data))
        data = data[:at] + rng.choice([b"", b"", b",", b"}", b'"', b"/*", b"\\"]) + data[at + 1:]
        bad.append(Case(str(tmp_path / ("bad-%d" % i)), client, data))
    run_all(good + bad)
    for case in good:
        check_written(case)
        check_bytes(case)
    refused = 0
    for case in bad:
        try:
            loads(case, case.before)
        except jsonc.Broken:
            check_untouched(case)
            refused += 1
        else:
            check_any(case)
    assert 50 // FEWER < refused < 250 // FEWER


def test_I8_random_toml(tmp_path):
    rng = jsonc.generator(SEED)
    values = ["1", "-2.5", "true", '"a # b"', "'c'", '"""\n[x]\n"""', "[1, 2]", '[\n  "a", # c\n  "b"\n]', "{ a = 1 }",
              "2020-01-01", '"\\u00fc \\" ="', "[{a = 1}, {a = 2}]"]
    cases, bad = [], []
    for i in range(120 // FEWER):
        lines = ["%s = %s" % (name, rng.choice(values)) for name in rng.sample(["a", "b.c", '"d e"', "f-g"], 2)]
        tables = ["[t]", "[mcp_servers.x]", "[[list]]", "[[list]]", "[mcp_servers]", '[projects."/p [q]"]',
                  '[mcp_servers.godot-tether]', "[mcp_servers.godot-tether.env]"]
        for table in rng.sample(tables, rng.randrange(len(tables))):
            lines += rng.choice([[], [""], ["# about"]]) + [rng.choice(["", "  "]) + table + rng.choice(["", " # x"])]
            lines += ["%s = %s" % (name, rng.choice(values)) for name in rng.sample(["k", "l.m", "n"], rng.randrange(3))]
            if table == "[mcp_servers.godot-tether]":
                lines += rng.choice([[], ['url = "http://old"'], ['command = "x"', "args = [\n]"]])
        data = rng.choice(["\n", "\n", "\r\n"]).join(lines + rng.choice([[], [""]])).encode()
        cases.append(Case(str(tmp_path / str(i)), "codex", data))
        at = rng.randrange(len(data))
        data = data[:at] + rng.choice([b"", b"", b",", b"]", b'"', b"\n", b"\\"]) + data[at + 1:]
        bad.append(Case(str(tmp_path / ("bad-%d" % i)), "codex", data))
    run_all(cases + bad)
    for case in cases:
        check_written(case)
    accepted = 0
    for case in bad:
        try:
            loads(case, case.before)
        except tomllib.TOMLDecodeError:  # a newer TOML may allow it
            accepted += case.first["ok"]
            assert case.first["ok"] or case.after == case.before
        else:
            check_any(case)
    assert accepted < len(bad) / 5  # what is said twice, say, is its reader's to refuse
    cases += [case for case in bad if case.first["ok"]]
    for case in cases:
        gone = set(case.before.splitlines()) - set(case.after.splitlines())
        assert all(re.match(rb"\s*(url|command|args|\]|godot-tether)", line) for line in gone), gone
