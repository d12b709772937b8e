"""I6, I4: a client belongs to an editor; several at once; and it may have fewer tools."""
import urllib.parse

import pytest

from scene import wait_until
from served import LEGACY, META, MODERN, NOTHING, Served, tool

OWN = ["editors_list", "editor_select"]


@pytest.fixture
def server():
    with Served(kept=NOTHING) as server:
        yield server.ready()


class Caller:
    """A client of either era, by what its URL says."""

    def __init__(self, server, era, **said):
        self.server, self.era, self.last = server, era, 0
        self.path = "/mcp" + ("?" + urllib.parse.urlencode(said) if said else "")
        self.session = None
        if era == "legacy":
            with self.begin("initialize", {"protocolVersion": LEGACY, "capabilities": {},
                                           "clientInfo": {"name": "t", "version": "1"}}) as http:
                self.session = http.answer().headers["mcp-session-id"]

    def begin(self, method, params=None):
        http = self.server.http_connection()
        self.last += 1
        params = dict(params or {})
        headers = {"Mcp_Session_Id": self.session}
        if self.era == "modern":
            params["_meta"] = dict(META, **{"io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}})
            headers = {"MCP_Protocol_Version": MODERN, "Mcp_Method": method, "Mcp_Name": params.get("name")}
        http.post({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}, path=self.path, **headers)
        return http

    def request(self, method, params=None):
        with self.begin(method, params) as http:
            return http.answer().json["result"]

    def call(self, name, **arguments):
        return self.request("tools/call", {"name": name, "arguments": arguments})

    def refusal(self, name, **arguments):
        result = self.call(name, **arguments)
        assert result["isError"]
        return result["content"][0]["text"]

    def served_by(self, editor):
        """Whether its calls go there."""
        with self.begin("tools/call", {"name": "echo", "arguments": {}}) as http:
            editor.say(editor.call(), "me")
            return http.answer().json["result"]["content"][0]["text"] == "me"

    def tools(self):
        return [tool["name"] for tool in self.request("tools/list")["tools"]]


both = pytest.mark.parametrize("era", ["legacy", "modern"])


@both
def test_I6_a_client_belongs_to_a_project(server, era):
    with server.editor(pid=1, project="a") as a, server.editor(pid=2, project="b") as b:
        of_a, of_b = Caller(server, era, project="/games/a"), Caller(server, era, project="/games/b/")
        assert of_a.served_by(a) and of_b.served_by(b)
        b.notify("editor/active")
        assert b.is_silent() and of_a.served_by(a)
        listed = {e["project"]: e["active"] for e in of_a.call("editors_list")["structuredContent"]["editors"]}
        assert listed == {"a": True, "b": False}


@both
def test_I6_what_is_not_open_is_named_and_nobody_else_serves(server, era):
    with server.editor(pid=1, project="a") as a:
        text = Caller(server, era, project="/games/other").refusal("echo")
        assert "Open the project in /games/other in Godot" in text and "editor_select" in text
        assert a.is_silent()


@both
def test_I6_a_folder_near_a_project(server, era):
    """In it, around it, or neither."""
    with server.editor(pid=1, project="a") as a, server.editor(pid=2, project="b") as b:
        assert Caller(server, era, near="/games/b/scenes/deep").served_by(b)
        assert Caller(server, era, near="/games/bb").served_by(a)  # another folder: the active one
        b.notify("editor/active")
        assert b.is_silent() and Caller(server, era, near="/games").served_by(b)


def test_I6_editor_select_moves_only_the_caller(server):
    with server.editor(pid=1, project="a") as a, server.editor(pid=2, project="b") as b:
        one, other = Caller(server, "legacy"), Caller(server, "legacy")
        stateless, other_stateless = Caller(server, "modern", client="x"), Caller(server, "modern", client="y")
        assert "isError" not in one.call("editor_select", editor="b")
        assert "isError" not in stateless.call("editor_select", editor="/games/b")
        assert one.served_by(b) and other.served_by(a)
        assert stateless.served_by(b) and other_stateless.served_by(a)
        bound = Caller(server, "legacy", project="/games/a")
        bound.call("editor_select", editor="b")
        assert bound.served_by(b)


@both
def test_I6_two_projects_with_one_name_are_told_apart(server, era):
    with server.editor(pid=1, project="x/game") as a, server.editor(pid=2, project="y/game") as b:
        for editor in (a, b):  # as Godot has it: the name is not in the path
            assert editor.id
        client = Caller(server, era)
        assert "isError" not in client.call("editor_select", editor="/games/y/game")
        assert client.served_by(b)
    with server.editor(pid=1, project="same") as a, server.editor(pid=2, project="same") as b:
        client = Caller(server, era)
        assert "Several editors" in client.refusal("editor_select", editor="same")
        client.call("editor_select", editor=b.id)
        assert client.served_by(b)


@both
def test_I6_a_selection_outlives_the_editor(server, era):
    """Another editor does not step in; the same project, opened again, does."""
    client = Caller(server, era)
    with server.editor(pid=1, project="a") as a:
        with server.editor(pid=2, project="b"):
            client.call("editor_select", editor="b")
        wait_until(lambda: len(server.status()["editors"]) == 1, "it is gone")
        assert "Open the project in /games/b" in client.refusal("echo") and a.is_silent()
        with server.editor(pid=3, project="b") as b:
            assert client.served_by(b)


def test_I6_the_lists_are_those_of_the_clients_editor(server):
    """And who is moved is told that they are others now."""
    with server.editor(pid=1, project="a", tools=("one",)), server.editor(pid=2, project="b", tools=("two",)):
        client = Caller(server, "legacy")
        assert client.tools() == OWN + ["one"]
        with server.http_connection() as stream:
            stream.send("GET /mcp HTTP/1.1\r\nHost: localhost:%d\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n\r\n"
                        % (server.http, client.session))
            assert stream.head()[0] == 200
            client.call("editor_select", editor="b")
            assert stream.event()["method"] == "notifications/tools/list_changed"
        assert client.tools() == OWN + ["two"]
        assert Caller(server, "legacy").tools() == OWN + ["one"]


PROFILES = {"core": ["one", "two"], "read": ["two", "three"]}


@both
@pytest.mark.parametrize("wanted, tools", [
    ("core", ["one", "two"]), ("read", ["two", "three"]), ("core,read", ["one", "two", "three"]),
    ("core,four", ["one", "two", "four"]), ("all", ["one", "two", "three", "four"]), ("", ["one", "two", "three", "four"]),
    ("nonsense", []), ("cor", [])])
def test_I4_fewer_tools(server, era, wanted, tools):
    """What is not listed is not called either, with or without an editor."""
    with server.editor(tools=("one", "two", "three", "four"), profiles=PROFILES) as editor:
        client = Caller(server, era, tools=wanted)
        assert client.tools() == OWN + tools
        for name in ("one", "two", "three", "four"):
            if name not in tools:
                assert "none of those that this client has asked for" in client.refusal(name)
        assert editor.is_silent()
    wait_until(lambda: not server.status()["editors"], "the editor is gone")
    assert Caller(server, era, tools=wanted).tools() == OWN + tools


def test_I4_profiles_are_kept_for_the_next_server():
    offer = {"tools": [tool("one"), tool("two")], "profiles": {"core": ["two"]}}
    with Served(kept=offer) as server:
        assert Caller(server.ready(), "legacy", tools="core").tools() == OWN + ["two"]


def test_I6_a_query_that_is_nonsense_means_nothing(server):
    with server.editor():
        for query in ("?", "?&&", "?=", "?project", "?tools=%zz%", "?%00=1", "?project=%00", "?near=%ff", "?x=%e2%82%ac#frag"):
            with server.http_connection() as http:
                http.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                    "protocolVersion": LEGACY, "capabilities": {}}}, path="/mcp" + query)
                assert http.answer().status == 200, query


@both
@pytest.mark.parametrize("nonsense", ["\0", "\0read", "\udcff", "core,\udcff"])
def test_I6_who_says_nonsense_is_not_served_as_if_he_had_said_nothing(server, era, nonsense):
    """Neither by another project's editor, nor with more tools than he wanted."""
    said = {"project": nonsense}, {"tools": nonsense}
    with server.editor(project="a", tools=("one", "four"), profiles=PROFILES) as a:
        for query in said:
            client = Caller(server, era)
            client.path = "/mcp?" + urllib.parse.urlencode(query, errors="surrogateescape")
            refused = client.call("four")
            assert refused["isError"] and a.is_silent(), (query, refused)
            assert "tools" not in query or "four" not in client.tools()


@both
def test_I6_an_editor_without_a_path_is_near_nothing(server, era):
    with server.editor(pid=1, project="nowhere", path="") as nowhere, server.editor(pid=2, project="a") as a:
        a.notify("editor/active")
        assert a.is_silent() and Caller(server, era, near="/games").served_by(a)
        assert Caller(server, era, near="x").served_by(a) and nowhere.is_silent()


# ---- roots ---------------------------------------------------------------------------------------

class Rooted:
    """A client of the legacy era that has roots, with its stream open."""

    def __init__(self, server, *roots, path="/mcp", capabilities=None):
        self.server, self.roots, self.path = server, roots, path
        self.caller = Caller(server, "modern")  # for its connections
        with server.http_connection() as http:
            http.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": LEGACY, "capabilities": {"roots": {"listChanged": True}} if capabilities is None else capabilities,
                "clientInfo": {"name": "t", "version": "1"}}}, path=path)
            self.session = http.answer().headers["mcp-session-id"]
        self.open()

    def open(self):
        self.stream = self.server.http_connection()
        self.stream.send("GET %s HTTP/1.1\r\nHost: localhost:%d\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n\r\n"
                         % (self.path, self.server.http, self.session))
        assert self.stream.head()[0] == 200

    def send(self, **message):
        with self.server.http_connection() as http:
            http.post(dict({"jsonrpc": "2.0"}, **message), path=self.path, Mcp_Session_Id=self.session)
            return http.answer()

    def answer(self):
        """Answers the next question of the server's."""
        question = self.stream.event()
        assert question["method"] == "roots/list" and self.send(
            id=question["id"], result={"roots": [{"uri": uri} for uri in self.roots]}).status == 202
        return self

    def editor(self):
        """The project of the editor that serves it."""
        answer = self.send(id=1, method="tools/call", params={"name": "editors_list", "arguments": {}})
        return [editor["project"] for editor in answer.json["result"]["structuredContent"]["editors"] if editor["active"]]

    def is_asked(self):
        """Whether anything comes on the stream before what is told next."""
        self.send(id=2, method="ping")
        return not self.stream.is_open(0.2) or bool(self.stream.data)


@pytest.mark.parametrize("roots, project", [
    (["file:///games/b"], "b"), (["file:///games/b/scenes"], "b"), (["file://localhost/games/b/"], "b"), (["file:///games/b%2Fsc%20enes"], "b"),
    (["file:///other", "file:///games/b"], "b"), (["file:///games/a", "file:///games/b"], "a"), (["file:///games"], "a"),
    (["file:///games/bb"], "a"), (["https://games/b"], "a"), (["file://other/games/b"], "a"), (["/games/b"], "a"), ([], "a"),
    (["file:///games/c+d"], "c+d"), (["file:///games/c%20d"], "a")])
def test_I6_a_client_with_roots_belongs_to_the_editor_that_is_open_there(server, roots, project):
    with server.editor(pid=1, project="b"), server.editor(pid=3, project="c+d"), server.editor(pid=2, project="a") as a:
        a.notify("editor/active")
        assert a.is_silent()
        client = Rooted(server, *roots)
        assert client.editor() == ["a"]  # as long as it has not said where it works
        assert client.answer().editor() == [project]


def test_I6_what_a_client_says_wins_over_its_roots(server):
    with server.editor(pid=1, project="b"), server.editor(pid=2, project="a") as a:
        a.notify("editor/active")
        assert a.is_silent()
        for path, editor in (("/mcp?project=/games/a", "a"), ("/mcp?near=/games/a", "a")):
            client = Rooted(server, "file:///games/b", path=path)
            assert not client.is_asked() and client.editor() == [editor]
        assert not Rooted(server, capabilities={}).is_asked()  # who has none is not asked
        client = Rooted(server, "file:///games/b").answer()
        assert client.send(id=4, method="tools/call", params={"name": "editor_select", "arguments": {"editor": "a"}}).status == 200
        assert client.editor() == ["a"]


def test_I6_roots_are_asked_for_once_and_again_when_they_change(server):
    with server.editor(pid=1, project="b", tools=["of_b"]), server.editor(pid=2, project="a") as a:
        a.notify("editor/active")
        assert a.is_silent()
        client = Rooted(server, "file:///games/b").answer()
        assert client.stream.event()["method"] == "notifications/tools/list_changed"  # those of another editor
        client.stream.close()
        client.open()
        assert not client.is_asked() and client.editor() == ["b"]
        client.roots = ["file:///games/a"]
        client.send(method="notifications/roots/list_changed")
        assert client.answer().editor() == ["a"]
        assert client.send(id="tether-roots", error={"code": -32603, "message": "no"}).status == 202
        assert client.send(id="tether-roots", result={"roots": 7}).status == 202 and client.editor() == ["a"]
