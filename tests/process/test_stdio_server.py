"""K1, K2: a server that speaks over standard input and output, served over HTTP to clients of either era."""
import json
import os
import select

import pytest

import on_linux
from harness import IS_WINDOWS, LIMIT, TETHER, kill, run, system, wait_gone
from mcp_client import McpClient
from served import LEGACY, Served
from tether import Instance

CYCLES = 1000 if "TETHER_THOROUGH" in os.environ else 60  # ./dev soak tests
STUB = on_linux.STDIO_STUB

both = pytest.mark.parametrize("server", [[], ["--modern"]], ids=["of 2025", "of 2026"], indirect=True)
eras = pytest.mark.parametrize("era", ["legacy", "modern"])


@pytest.fixture
def server(request):
    with start(*getattr(request, "param", [])) as served:
        yield served.ready()


def start(*words, options=(), **more):
    return Served("--stdio", *options, "--", *system.command(STUB + list(words)), **more)


class Caller:
    """A client of either era, by the same words."""

    def __init__(self, server, era, **capabilities):
        self.server, self.era, self.capabilities = server, era, capabilities
        self.session = server.session(**capabilities) if era == "legacy" else None

    def begin(self, method, params=None, meta=None, **more):
        if self.session:
            return self.session.begin(method, dict(params or {}, **({"_meta": meta} if meta else {})), **more)
        return self.server.modern_begin(method, params, meta=meta, capabilities=self.capabilities, **more)

    def request(self, method, params=None, **more):
        with self.begin(method, params, **more) as http:
            return http.answer().json

    def call(self, name, /, meta=None, **arguments):
        return self.request("tools/call", {"name": name, "arguments": arguments}, meta=meta)

    def text(self, name, /, **arguments):
        answer = self.call(name, **arguments)
        assert "result" in answer, answer
        return answer["result"]["content"][0]["text"]


@both
@eras
def test_K1_a_stdio_server_is_served_to_clients_of_both_eras(server, era):
    """What it offers and says of itself comes through, from either era's server to either era's client."""
    client = Caller(server, era)
    if era == "legacy":
        hello = client.session.answer.json["result"]
        assert hello["serverInfo"]["name"] == "stub" and hello["protocolVersion"] == LEGACY
    else:
        hello = client.request("server/discover")["result"]
    assert hello["instructions"] == "Do as I do."
    assert set(hello["capabilities"]) == {"tools", "resources", "prompts", "logging", "completions"}
    names = [tool["name"] for tool in client.request("tools/list")["result"]["tools"]]
    assert len(names) == 31 and "echo" in names and "editors_list" not in names
    assert client.text("echo", text="ä€🎈\n") == "ä€🎈\n"
    assert client.request("resources/list")["result"]["resources"] == [{"uri": "stub://a", "name": "a"}]
    assert client.request("resources/templates/list")["result"]["resourceTemplates"][0]["name"] == "x"
    assert client.request("resources/read", {"uri": "stub://b"})["result"]["contents"][0]["text"] == "read"
    assert client.request("prompts/list")["result"]["prompts"] == [{"name": "p"}]
    assert client.request("prompts/get", {"name": "p"})["result"]["messages"][0]["content"]["text"] == "prompted"
    ref = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}
    assert client.request("completion/complete", ref)["result"]["completion"]["values"] == ["one"]
    assert client.call("no_such_tool")["error"]["code"] == -32602


@both
@eras
def test_K1_what_a_client_says_of_itself_stays_here(server, era):
    """The server gets the arguments as they were, a progress token of ours, and nothing of the client."""
    client = Caller(server, era)
    got = json.loads(client.call("args", meta={"progressToken": "mine", "theirs/own": 1}, a=[1, 2.5])
                     ["result"]["content"][0]["text"])
    meta = got.pop("_meta")
    assert got == {"name": "args", "arguments": {"a": [1, 2.5]}}
    assert meta["theirs/own"] == 1 and isinstance(meta["progressToken"], int)
    assert "context" not in got and meta.get("io.modelcontextprotocol/clientInfo", {}).get("name", "tether") == "tether"


@both
@eras
def test_K1_progress_finds_its_call(server, era):
    """Of two calls that are under way each gets the progress of its own, under its own token."""
    client = Caller(server, era)
    for token in ("a", "b"):
        with client.begin("tools/call", {"name": "progress"}, meta={"progressToken": token}) as http:
            http.head()
            seen = [http.event() for _ in range(4)]
        assert [event["params"]["progressToken"] for event in seen[:3]] == [token] * 3
        assert [event["params"]["progress"] for event in seen[:3]] == [1, 2, 3]
        assert seen[3]["result"]["content"][0]["text"] == "done"


@both
def test_K1_one_process_serves_all_and_ids_do_not_meet(server):
    """Two clients use the same ids at the same time."""
    clients = [Caller(server, "legacy") for _ in range(10)] + [Caller(server, "modern")] * 10
    asked = [(client.begin("tools/call", {"name": "echo", "arguments": {"text": str(i)}}, ident=5), i)
             for i, client in enumerate(clients)]
    for http, i in asked:
        with http:
            message = http.answer().json
            assert message["id"] == 5 and message["result"]["content"][0]["text"] == str(i)
    assert len({client.text("pid") for client in clients}) == 1


@both
@eras
def test_K1_cancellation_reaches_the_server(server, era):
    client = Caller(server, era)
    http = client.begin("tools/call", {"name": "wait"}, ident=9)
    server.expect('heard tools/call .*"wait"')
    if era == "legacy":
        client.session.send({"method": "notifications/cancelled", "params": {"requestId": 9, "reason": "enough"}})
    else:
        http.close()
    number = server.expect(r'heard notifications/cancelled \{"requestId": (\d+)').group(1)
    assert int(number) > 0
    http.close()


@both
def test_K1_a_changed_list_is_fetched_and_told(server):
    client = Caller(server, "legacy")
    with client.session.stream() as stream:
        client.text("add_tool", name="brand_new")
        assert stream.event()["method"] == "notifications/tools/list_changed"
    assert "brand_new" in [tool["name"] for tool in client.request("tools/list")["result"]["tools"]]


@both
@eras
def test_K1_the_server_asks_the_client_of_the_call(server, era):
    """Sampling, elicitation, roots: the one client whose call is under way is asked."""
    client = Caller(server, era, sampling={}, elicitation={}, roots={})
    arguments = {"method": "elicitation/create", "params": {"message": "Well?", "requestedSchema": {"type": "object"}}}
    http = client.begin("tools/call", {"name": "ask", "arguments": arguments})
    if era == "legacy":
        http.head()
        question = http.event()
        assert question["method"] == "elicitation/create" and question["params"]["message"] == "Well?"
        client.session.send({"id": question["id"], "result": {"action": "decline"}})
        message = http.event()
    else:
        first = http.answer().json["result"]
        assert first["resultType"] == "input_required"
        (key, question), = first["inputRequests"].items()
        assert question["params"]["message"] == "Well?"
        again = {"name": "ask", "arguments": arguments, "requestState": first["requestState"],
                 "inputResponses": {key: {"action": "decline"}}}
        message = client.request("tools/call", again)
    http.close()
    assert json.loads(message["result"]["content"][0]["text"]) == {"action": "decline"}


@both
def test_K1_what_the_client_of_a_call_cannot_be_asked_is_named(server):
    """To the server that asks, or to the client whose call cannot go on without it."""
    said = Caller(server, "legacy", elicitation={}).call("ask", method="roots/list")
    assert "has not declared" in json.dumps(said), said


@pytest.mark.parametrize("server", [["--modern"]], indirect=True)
def test_K2_a_server_that_also_wants_what_nobody_gives_does_not_ask_for_ever(server):
    """It would not go on with a part of what it wants."""
    said = Caller(server, "legacy", roots={}).call("ask", method="roots/list", also="made/up")
    assert "none that a client can give" in json.dumps(said), said


@pytest.mark.parametrize("server", [["--modern"]], indirect=True)
def test_K1_a_client_that_refuses_input_ends_its_call(server):
    client = Caller(server, "legacy", roots={})
    with client.begin("tools/call", {"name": "ask", "arguments": {"method": "roots/list"}}) as http:
        http.head()
        client.session.send({"id": http.event()["id"], "error": {"code": -1, "message": "not today"}})
        answer = http.event()["result"]
    assert answer["isError"] and "not today" in answer["content"][0]["text"]
    assert client.text("echo", text="on") == "on"


def test_K1_a_question_of_which_nobody_knows_for_whom_is_refused_in_words(server):
    one, other = Caller(server, "legacy", roots={}), Caller(server, "legacy", roots={})
    with one.begin("tools/call", {"name": "wait"}):
        server.expect('heard tools/call .*"wait"')
        said = json.loads(other.text("ask", method="roots/list"))
    assert "for which of them" in said["message"] and "--per-client" in said["message"]


def test_K1_a_client_that_cannot_be_asked_is_named_as_the_reason(server):
    said = json.loads(Caller(server, "legacy").text("ask", method="roots/list"))
    assert said["code"] == -32021 and "has not declared" in said["message"]


def test_K1_the_log_of_the_server_reaches_who_wants_it(server):
    client = Caller(server, "legacy")
    assert client.request("logging/setLevel", {"level": "warning"})["result"] == {}
    server.expect('heard logging/setLevel {"level": "warning"}')
    with client.session.stream() as stream:
        client.text("log")
        assert stream.event()["params"] == {"level": "warning", "data": "a word"}


@both
@eras
def test_K1_the_level_of_the_log_reaches_the_server_in_its_own_way(server, era):
    """One of 2026 is told with each call, and knows of no other way."""
    client = Caller(server, era)
    if era == "legacy":
        client.request("logging/setLevel", {"level": "warning"})
        with client.session.stream() as stream:
            client.text("log")
            assert stream.event()["params"]["data"] == "a word"
        return
    with client.begin("tools/call", {"name": "log"}, meta={"io.modelcontextprotocol/logLevel": "warning"}) as http:
        http.head()
        assert http.event()["params"] == {"level": "warning", "data": "a word"}
        assert "result" in http.event()


@both
@eras
def test_K1_who_watches_a_resource_hears_of_it(server, era):
    """In whatever way the server wants to be told what is watched; also after it has been lost."""
    client = Caller(server, era)
    if era == "legacy":
        assert client.request("resources/subscribe", {"uri": "stub://a"})["result"] == {}
        stream = client.session.stream()
    else:
        stream = server.modern_begin("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["stub://a"]}})
        stream.head()
        assert "acknowledged" in stream.event()["method"]
    with stream:
        for lost in (False, True):
            if lost:
                client.call("quit")
            assert client.text("touch") == "touched"
            event = stream.event()
            assert event["method"] == "notifications/resources/updated" and event["params"]["uri"] == "stub://a"
    Caller(server, "legacy").text("touch")  # nobody hears it, and nobody minds


def test_K1_a_question_that_the_server_takes_back_is_taken_back(server):
    client = Caller(server, "legacy", roots={})
    with client.begin("tools/call", {"name": "change_mind", "arguments": {"method": "roots/list"}}) as http:
        http.head()
        question, cancelled, answer = http.event(), http.event(), http.event()
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"] == {"requestId": question["id"], "reason": "too late"}
    assert answer["result"]["content"][0]["text"] == "changed"


def test_K1_a_tool_that_is_called_as_one_of_ours_is_listed(server):
    client = Caller(server, "legacy")
    with client.session.stream() as stream:
        client.text("add_tool", name="editors_list")
        assert stream.event()["method"] == "notifications/tools/list_changed"
    assert "editors_list" in [tool["name"] for tool in client.request("tools/list")["result"]["tools"]]


def test_K1_a_list_that_cannot_be_had_again_stays(server):
    client = Caller(server, "legacy")
    fetched = server.output.count("heard tools/list")
    client.text("fail_list")
    wait_count(server, "heard tools/list", fetched + 1)
    client.text("echo")  # and so the answer to that has come
    assert len(client.request("tools/list")["result"]["tools"]) == 31


def test_K1_a_list_without_end_is_cut(server):
    client = Caller(server, "legacy")
    client.text("no_end")
    server.expect('the server ".*" has no end of tools')
    assert client.text("echo", text="on") == "on"


# ---- a process for each -----------------------------------------------------------------------

def test_K1_each_client_has_its_own_process_if_it_wants():
    with start(options=["--per-client", "--clients", "2"]) as server:
        server.ready()
        one, other = Caller(server, "legacy"), Caller(server, "legacy")
        assert one.text("remember", text="a") == "a" and other.text("remember", text="b") == "b"
        assert one.text("remember", text="c") == "a c"
        assert one.text("pid") != other.text("pid")
        third = Caller(server, "legacy")
        refused = third.call("pid")["result"]
        assert refused["isError"] and "All 2 processes" in refused["content"][0]["text"]
        pid = int(other.text("pid"))
        with server.http_connection() as http:
            http.send("DELETE /mcp HTTP/1.1\r\nHost: localhost:%d\r\nMcp-Session-Id: %s\r\n\r\n"
                      % (server.http, other.session.id))
            assert http.answer().status == 204
        wait_gone(pid)
        server.expect("the server of a client has ended")
        assert third.text("remember", text="d") == "d"


def test_K1_a_client_that_died_keeps_no_process_for_ever():
    """It ends without a word, and so do the next ones. A client that listens is still there."""
    with start(options=["--per-client", "--clients", "2"], env={"TETHER_CLIENT_IDLE_MS": "1"}) as server:
        server.ready()
        listening, dead = Caller(server, "legacy"), Caller(server, "legacy")
        with listening.session.stream():
            assert listening.text("remember", text="a") == "a"
            for _ in range(3):
                pid = int(dead.text("pid"))
                select.select([], [], [], 0.01)  # it is idle for longer than that
                newcomer = Caller(server, "legacy")
                assert newcomer.text("echo", text="in") == "in"
                wait_gone(pid)
                assert dead.session.request("ping").status == 404  # it has to begin anew, and knows
                dead = newcomer
            assert listening.text("remember", text="b") == "a b"


def test_K1_each_client_hears_the_log_that_it_wants():
    with start(options=["--per-client"]) as server:
        server.ready()
        one, other = Caller(server, "legacy"), Caller(server, "legacy")
        for client, level in ((one, "error"), (other, "debug")):
            client.text("echo")
            client.request("logging/setLevel", {"level": level})
        with one.session.stream() as stream:
            one.text("log", level="warning")
            one.text("log", level="error")
            assert stream.event()["params"]["level"] == "error"


@pytest.mark.parametrize("words", [[], ["--modern"]], ids=["of 2025", "of 2026"])
def test_K1_what_a_stateless_client_is_asked_goes_on_with_its_own_process(words):
    """In the process that asked, or, if that has said all that it knows, in any."""
    with start(*words, options=["--per-client"]) as server:
        server.ready()
        client = Caller(server, "modern", roots={})
        first = client.call("ask", method="roots/list")["result"]
        (key, _), = first["inputRequests"].items()
        if words:
            server.expect("the server of a client has ended")
        again = client.request("tools/call", {
            "name": "ask", "arguments": {"method": "roots/list"}, "requestState": first["requestState"],
            "inputResponses": {key: {"roots": []}}})
        assert json.loads(again["result"]["content"][0]["text"]) == {"roots": []}


def test_K1_each_stateless_request_has_its_own_process():
    with start(options=["--per-client"]) as server:
        server.ready()
        client = Caller(server, "modern")
        pids = {int(client.text("pid")) for _ in range(3)}
        assert len(pids) == 3
        for pid in pids:
            wait_gone(pid)
        assert client.call("no_such_tool")["error"]["code"] == -32602


def wait_count(process, text, count):
    with process.changed:
        while process.output.count(text) < count:
            assert process.changed.wait(LIMIT), "%d of %d" % (process.output.count(text), count)


def test_K1_D4_many_processes_leave_nothing_behind():
    """Started for a request and ended with it, again and again, some in the middle of their start."""
    with start(options=["--per-client"]) as server:
        server.ready()
        client = Caller(server, "modern")

        def cycle(count):
            for i in range(count):
                if i % 5 == 4:
                    with client.begin("tools/call", {"name": "echo", "arguments": {"text": "given up"}}):
                        while len(server.status()["programs"]) == 1:
                            pass
                else:
                    assert client.text("echo", text=str(i)) == str(i)
            nonlocal ended
            ended += count
            wait_count(server, "the server of a client has ended", ended)
            return system.open_count(server.pid), len(system.descendants_of(server.pid)), system.memory_kb(server.pid)

        ended = 0
        cycle(20)  # warm
        files, below, before = cycle(20)
        files_now, below_now, after = cycle(CYCLES)
        assert (files_now, below_now) == (files, below)
        assert after - before <= 256, (before, after)  # what two at once have for reading, and no more with each


# ---- losing it ------------------------------------------------------------------------------

@both
@eras
def test_K2_a_crash_is_answered_and_the_session_goes_on(server, era):
    """What may have had an effect is not repeated: it is told how the server went."""
    client = Caller(server, era)
    answer = client.call("crash")["result"]
    assert answer["isError"] and "exit code 7" in answer["content"][0]["text"]
    assert "may or may not have taken effect" in answer["content"][0]["text"]
    assert client.text("echo", text="again") == "again"
    assert server.status()["programs"][0]["restarts"] == 1


@eras
def test_K2_what_is_safe_to_repeat_is_repeated(server, era, tmp_path):
    client = Caller(server, era)
    assert client.text("crash_once", file=str(tmp_path / "mark")) == "the second time"


def test_K2_what_kills_it_each_time_is_not_repeated_for_ever(server):
    """Three tries, and an answer."""
    answer = Caller(server, "legacy").call("crash_always")["result"]
    assert answer["isError"] and "exit code 7" in answer["content"][0]["text"]
    assert server.status()["programs"][0]["restarts"] in (2, 3)


def test_K2_calls_wait_for_a_server_on_its_way(server, tmp_path):
    """A client that comes in the middle of a restart notices nothing but the time."""
    client = Caller(server, "legacy")
    pid = int(client.text("pid"))
    kill(pid)
    assert client.text("echo", text="here") == "here"
    assert int(client.text("pid")) != pid


def test_K2_a_server_that_ends_in_order_is_missed_too(server):
    client = Caller(server, "legacy")
    assert "exit code 0" in client.call("quit")["result"]["content"][0]["text"]
    assert client.text("echo", text="here") == "here"


def test_K2_five_losses_in_a_row_are_the_end_with_the_reason(server):
    client = Caller(server, "legacy")
    for _ in range(4):
        client.call("crash")
    with client.begin("tools/call", {"name": "crash"}) as http:
        assert "exit code 7" in http.answer().json["result"]["content"][0]["text"]
    server.expect("lost: it ended with exit code 7; it is not started again")
    assert server.wait() == 1


def test_K2_one_that_begins_too_late_is_not_waited_for(tmp_path):
    """It says what it is only when it has been given up, and would not take a call any more."""
    with start("--late", str(tmp_path / "mark"), options=["--ready-timeout-ms", "5000"]) as server:
        client = Caller(server.ready(), "legacy")
        client.call("crash")
        assert client.text("echo", text="here") == "here"
        assert server.status()["programs"][0]["restarts"] == 2


@pytest.mark.parametrize("what", ["close_input", "close_output"])
def test_K2_one_that_hears_or_says_no_more_is_lost(server, what):
    """Though it lives."""
    client = Caller(server, "legacy")
    answer = client.call(what)["result"]
    assert answer.get("isError", False) == (what == "close_output"), answer
    assert client.text("echo", text="again") == "again"


def test_K1_numbers_that_come_back_as_floats_are_the_same():
    """As from servers in languages that have no others."""
    with start("--floats") as server:
        client = Caller(server.ready(), "legacy")
        assert client.text("echo", text="a") == "a"
        with client.begin("tools/call", {"name": "progress"}, meta={"progressToken": "t"}) as http:
            http.head()
            assert [http.event()["params"]["progress"] for _ in range(3)] == [1, 2, 3]
            assert http.event()["result"]["content"][0]["text"] == "done"


@eras
@pytest.mark.parametrize("what, text", [("tells_all", "told"), ("prefix", "prefix"), ("batch", "batch"), ("latin", "bl?")])
def test_K2_an_answer_is_found_however_it_comes(server, era, what, text):
    """Behind what the server prints of its own doings, in a list, or with bytes in it that are no UTF-8."""
    assert Caller(server, era).text(what) == text


@pytest.mark.parametrize("what", ["garbage", "split", "unreadable"])
def test_K2_what_it_says_beside_the_protocol_is_survived(server, what):
    client = Caller(server, "legacy")
    answer = client.call(what)["result"]
    text = answer["content"][0]["text"]
    if what == "unreadable":
        assert answer["isError"] and "cannot be passed on" in text
    else:
        assert text == ("after garbage" if what == "garbage" else "ä€🎈" * 50)
    if what == "garbage":
        server.expect("wrote what is no message to its standard output: loading plugins...")
    assert client.text("echo", text="on") == "on"


def test_K2_a_line_that_is_too_long_is_told_to_its_call(server):
    client = Caller(server, "legacy")
    answer = client.call("huge", size=65 << 20)["result"]
    assert answer["isError"] and "longer than 64 MiB" in answer["content"][0]["text"]
    assert len(client.text("huge", size=8 << 20)) == 8 << 20


def test_K1_standard_error_is_drained(server):
    client = Caller(server, "legacy")
    for _ in range(3):
        assert client.text("noise", size=1 << 20) == "noisy"


# ---- beginning and end ----------------------------------------------------------------------

@pytest.mark.parametrize("words, told", [
    (["serve", "--stdio"], "--stdio and a command behind"), (["serve", "--", "true"], "--stdio and a command behind"),
    (["run", "--stdio"], "which server?"), (["run", "--per-client", "--", "true"], "--per-client goes with --stdio"),
    (["run", "--stdio", "--clients", "0", "--", "true"], "a number from 1 to 128"),
    (["run", "--transport", "pigeon", "--", "true"], "http|stdio"), (["mcp", "--log", "x"], "--log goes with")])
def test_K1_words_that_make_no_sense_are_told(words, told):
    done = run([TETHER] + words)
    assert done.status == 2 and told in done.output, done.output


def test_K1_a_server_can_open_its_streams_by_their_names():
    """As scripts do; a pair of sockets could not be opened so."""
    with Served("--stdio", "--", "sh", "-c", 'exec "$@" </dev/stdin >/dev/stdout', "sh", *STUB) as server:
        assert Caller(server.ready(), "legacy").text("echo", text="here") == "here"


def test_K1_what_cannot_be_started_is_told_at_once():
    with Served("--stdio", "--", "/no/such/server") as server:
        server.expect("cannot start /no/such/server: " + system.CANNOT_START["missing"])
        assert server.wait() == 1


def test_K1_what_is_no_mcp_server_is_told():
    with Served("--stdio", "--", *system.command(["sh", "-c", "read line; exit 4"])) as server:
        server.expect("it ended with exit code 4")
        assert server.wait() == 1


def test_K1_a_server_that_says_nothing_is_not_waited_for_without_end(state_dir):
    with Instance(state_dir, "--ready-timeout-ms", "300") as instance:
        done = instance.launch("--stdio", command=STUB + ["--mute"])
        assert done["code"] == 4, done


def test_K2_one_that_is_never_to_be_started_again_is_not(state_dir):
    with Instance(state_dir, "--restart", "never") as instance:
        assert instance.launch("--stdio", command=STUB)["code"] == 0
        with McpClient(instance.http) as client:
            assert "exit code 7" in client.refusal("crash")
        instance.wait_end()
        assert "it is not started again" in instance.log("server.log")


def test_K1_the_times_that_are_given_are_those_of_the_server_behind(state_dir):
    with Instance(state_dir, "--ready-timeout-ms", "7777", "--stop-grace-ms", "333") as instance:
        assert instance.launch("--stdio", command=STUB)["code"] == 0
        server = instance.status()["server"]["pid"]
        watcher, = [pid for pid in system.descendants_of(server) if "mcp" in system.command_of(pid)]
        for pid, words in ((server, ["7777", "333"]), (watcher, ["333"])):
            assert set(words) <= set(system.command_of(pid))


@pytest.mark.parametrize("how", ["input", "signal"])
def test_K1_the_end_is_in_order(server, how):
    """Its input is closed first, and then it has time; what is under way before is answered."""
    client = Caller(server, "legacy")
    child = int(client.text("spawn"))
    pid = int(client.text("pid"))
    server.kill(15)
    server.expect("end of input")
    assert server.wait() == 0
    wait_gone(pid)
    wait_gone(child)


@pytest.mark.parametrize("env", [{"TETHER_STDIO": "on"}, {"TETHER_TRANSPORT": "stdio"},
                                 {"TETHER_STDIO": "on", "TETHER_PER_CLIENT": "on"}], ids=lambda env: " ".join(env))
def test_K1_variables_say_it_as_well_as_words(state_dir, env):
    """To the launcher that serves, but not to the watch below it, which would share the server once more."""
    with Instance(state_dir) as instance:
        assert instance.launch("--ready-timeout-ms", "10000", command=STUB, env=env)["code"] == 0
        with McpClient(instance.http) as one, McpClient(instance.http) as other:
            assert (one.call("pid") == other.call("pid")) == ("TETHER_PER_CLIENT" not in env)


def test_K1_a_server_that_does_not_want_to_end_does(state_dir):
    with Instance(state_dir, "--stop-grace-ms", "300") as instance:
        assert instance.launch("--stdio", command=STUB + ["--deaf"])["code"] == 0
        below = system.descendants_of(instance.status()["daemon"]["pid"])
        assert len(below) >= (3 if IS_WINDOWS else 4)  # there are no guards there
        assert instance.cli("stop", "--force").status == 0
        for pid in below:
            wait_gone(pid)
        assert instance.ports_are_free()


@pytest.mark.parametrize("whom", ["daemon", "server", "watcher", "its guard", "program"])
def test_K2_whoever_is_killed_nothing_is_left_or_all_comes_back(state_dir, whom):
    with Instance(state_dir) as instance:
        assert instance.launch("--stdio", command=STUB)["code"] == 0
        status = instance.status()
        daemon, server = status["daemon"]["pid"], status["server"]["pid"]
        watcher, = [pid for pid in system.descendants_of(server) if "mcp" in system.command_of(pid)]
        guard, program = ([None] * IS_WINDOWS + system.descendants_of(watcher))
        below = system.descendants_of(daemon)
        kill({"daemon": daemon, "server": server, "watcher": watcher, "its guard": guard, "program": program}[whom])
        for pid in (program, watcher if whom != "its guard" else program):
            wait_gone(pid)
        if whom == "daemon":
            for pid in below:
                wait_gone(pid)
            assert instance.ports_are_free()
            return
        with McpClient(instance.http) as client:
            assert client.call("echo", text="back") == "back"
