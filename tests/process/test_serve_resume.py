"""F7: a client of the older era that loses the stream of a call goes on where it was, or is told."""
import json
import os

import pytest

from harness import system
from served import MODERN, Http, Served

PARAMS = {"name": "echo", "arguments": {}, "_meta": {"progressToken": "p"}}


@pytest.fixture
def server():
    with Served() as server:
        yield server.ready()


def events(http, count):
    """The next events of a stream, as dictionaries of their fields; comments are left out."""
    found = []
    while len(found) < count:
        fields = dict(line.split(": ", 1) for line in http.chunk().decode().rstrip("\n").split("\n") if line != ":")
        found += [fields] if fields else []
    return found


def data_of(event):
    return json.loads(event["data"])


def progress(editor, call, *numbers):
    for number in numbers:
        editor.notify("notifications/progress", {"call": call["id"], "progress": number})


def get(session, last, **changed):
    http = Http(session.server.http)
    http.send("GET /mcp HTTP/1.1\r\nHost: localhost:%d\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n"
              "Last-Event-ID: %s\r\n\r\n" % (session.server.http, session.id, last))
    return http


def resumed(session, last):
    http = get(session, last)
    status, headers = http.head()
    assert status == 200 and headers["content-type"] == "text/event-stream"
    return http


def refused(session, last):
    with get(session, last) as http:
        answer = http.answer(to="GET")
        return answer.status, answer.body.decode()


def begun(session, editor, *numbers):
    """A call whose stream has begun: its connection, what the editor got, its events so far."""
    http = session.begin("tools/call", PARAMS)
    call = editor.call()
    progress(editor, call, *numbers)
    assert http.head()[0] == 200
    return http, call, events(http, 1 + len(numbers))


def test_F7_a_stream_begins_with_a_place_to_go_on_from(server):
    session = server.session()
    with server.editor() as editor:
        http, call, (first, second) = begun(session, editor, 1)
        editor.say(call, "done")
        (last,) = events(http, 1)
        assert first["data"] == "" and int(first["retry"]) > 0 and "event" not in first
        assert data_of(second)["params"]["progress"] == 1 and data_of(last)["result"]
        assert len({first["id"], second["id"], last["id"]}) == 3
        http.close()


def test_F7_a_lost_stream_goes_on(server):
    """Nothing is missing and nothing comes twice; the old connection, if it is still there, ends."""
    session = server.session()
    with server.editor() as editor:
        http, call, seen = begun(session, editor, 1, 2)
        http.close()
        progress(editor, call, 3)
        editor.request("tests/sync", {})
        with resumed(session, seen[1]["id"]) as second:
            assert [data_of(event)["params"]["progress"] for event in events(second, 2)] == [2, 3]
            progress(editor, call, 4)
            (fourth,) = events(second, 1)
            with resumed(session, fourth["id"]) as third:
                assert second.chunk() == b""
                editor.say(call, "done")
                (last,) = events(third, 1)
                assert data_of(last)["result"]["content"][0]["text"] == "done" and third.chunk() == b""


def test_F7_an_answer_that_nobody_took_is_there_later(server):
    session = server.session()
    with server.editor() as editor:
        http, call, (first, second) = begun(session, editor, 1)
        http.close()
        editor.say(call, "done")
        editor.request("tests/sync", {})
        assert server.status()["calls"] == 0
        for last, count in ((second, 1), (first, 2)):  # it may be lost once more
            with resumed(session, last["id"]) as again:
                *_, answer = events(again, count)
                assert data_of(answer)["result"]["content"][0]["text"] == "done" and again.chunk() == b""


def test_F7_an_editor_that_goes_is_told_of_later(server):
    session = server.session()
    with server.editor() as editor:
        http, _, (first,) = begun_silently(session, editor)
        http.close()
    with resumed(session, first["id"]) as again:
        (answer,) = events(again, 1)
        assert "went away" in data_of(answer)["result"]["content"][0]["text"]


def begun_silently(session, editor):
    """It becomes a stream because nothing comes."""
    http = session.begin("tools/call", PARAMS)
    call = editor.call()
    assert http.head()[0] == 200
    return http, call, events(http, 1)


def test_F7_streams_are_their_sessions(server):
    """What is no id of ours is not looked at; what is one leads nowhere but to its own call."""
    session = server.session()
    with server.editor() as editor:
        http, call, (first, _) = begun(session, editor, 1)
        start, number, event = first["id"].split("-")
        assert refused(server.session(), first["id"])[0] == 400
        for wrong in ("%s-%s-%s" % (start, "ffff", event), "%s0-%s-%s" % (start, number, event)):
            status, text = refused(session, wrong)
            assert status == 400 and "nothing is known" in text
        for strange in ("7", "t", "t-", first["id"] + "-1", first["id"] + "g", "t%s-1-1" % ("f" * 400), "t1-1-fffffffff"):
            with resumed(session, strange) as own:
                assert own.is_open()
        editor.say(call, "done")
        assert data_of(events(http, 1)[0])["result"]
        http.close()
        with server.http_connection() as bye:
            bye.send("DELETE /mcp HTTP/1.1\r\nHost: localhost:%d\r\nMcp-Session-Id: %s\r\n\r\n" % (server.http, session.id))
            assert bye.answer(to="DELETE").status == 204
        assert refused(session, first["id"])[0] == 404


def test_F7_older_clients_get_no_empty_events(server):
    """They take every event for a message; ids they have always known."""
    with server.http_connection() as http:
        http.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}})
        answer = http.answer()
    session = server.session()
    session.id = answer.headers["mcp-session-id"]
    with server.editor() as editor:
        http = session.begin("tools/call", PARAMS)
        call = editor.call()
        progress(editor, call, 1)
        assert http.head()[0] == 200
        (first,) = events(http, 1)
        assert data_of(first)["params"]["progress"] == 1 and "retry" not in first
        http.close()
        editor.say(call, "done")
        editor.request("tests/sync", {})
        with resumed(session, first["id"]) as again:
            assert data_of(events(again, 1)[0])["result"]


def test_F7_the_newer_era_has_no_such_thing(server):
    with server.editor() as editor:
        with server.modern_begin("tools/call", PARAMS, meta=PARAMS["_meta"]) as http:
            call = editor.call()
            progress(editor, call, 1)
            editor.say(call, "done")
            assert http.head()[0] == 200
            assert all("id" not in event for event in events(http, 2))
    with server.http_connection() as http:
        http.send("GET /mcp HTTP/1.1\r\nHost: localhost:%d\r\nMCP-Protocol-Version: %s\r\nLast-Event-ID: 1\r\n\r\n"
                  % (server.http, MODERN))
        assert http.answer(to="GET").status == 405


def test_F7_what_is_kept_has_a_limit(server):
    """Of many events the newest, of many answers the newest, and no more memory than that."""
    session = server.session()
    many, text = 200, "x" * 1000
    with server.editor() as editor:
        http, call, (first,) = begun_silently(session, editor)
        http.close()
        for number in range(1, many + 1):
            editor.notify("notifications/progress", {"call": call["id"], "progress": number, "message": text})
        editor.say(call, "done")
        editor.request("tests/sync", {})
        with resumed(session, first["id"]) as again:
            numbers = []
            while True:
                (event,) = events(again, 1)
                if "result" in data_of(event):
                    break
                numbers.append(data_of(event)["params"]["progress"])
            assert numbers == list(range(many + 1 - len(numbers), many + 1)) and 50 <= len(numbers) <= 65
        ids, large = [], "y" * 1000000
        for _ in range(40):
            http, call, (_, event) = begun(session, editor, 1)
            http.close()
            editor.say(call, large)
            editor.request("tests/sync", {})
            ids.append(event["id"])
        there = [get(session, ident).head()[0] for ident in (ids[0], ids[20], ids[39])]
        assert there == [400, 400, 200]
        assert system.peak_kb(server.pid) < 40 * 1024 or "TETHER_PROGRAM" in os.environ
