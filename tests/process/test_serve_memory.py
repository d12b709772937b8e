"""F7: what one client sends, or many of them at once, does not make the built-in server large."""
import os

import pytest

from harness import system
from served import Served, tool

MOST = 4 * 1024 * 1024
plain = pytest.mark.skipif("TETHER_PROGRAM" in os.environ, reason="a program that checks itself needs memory for that")


@pytest.fixture
def server():
    with Served() as server:
        yield server.ready()


def peak(server):
    """MiB that the server has had at its largest."""
    return system.peak_kb(server.pid) / 1024


def largest(unit):
    """A request of the largest size, full of this."""
    head, tail = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[', b"]}}"
    return head + (unit * ((MOST - 100) // len(unit)))[:-1] + tail


def most_values(unit, values=128 * 1024 - 100):
    """A request of as many values as there may be."""
    return largest(unit)[:55] + (unit * (values // sum(unit.count(c) for c in (b"[", b"{", b","))))[:-1] + b"]}}"


@plain
@pytest.mark.parametrize("unit", [b"[],", b"{},", b'{"a":0},', b'"",', b"0,"],
                         ids=["arrays", "objects", "members", "texts", "numbers"])
def test_F7_values_of_a_message_have_a_limit(server, unit):
    session = server.session()
    for body, status in ((largest(unit), 413), (most_values(unit), 200)):
        with server.http_connection() as http:
            http.post(body, Mcp_Session_Id=session.id)
            answer = http.answer()
            assert answer.status == status
            if status == 413:
                assert answer.json["error"]["code"] == -32600 and answer.json["id"] is None
            http.post({"jsonrpc": "2.0", "id": 2, "method": "ping"}, Mcp_Session_Id=session.id)
            assert http.answer().json["id"] == 2  # the connection goes on
    assert peak(server) < 50


@plain
def test_F7_finished_requests_keep_no_memory(server):
    """Clients that stay connected after a large request, as they do."""
    session = server.session()
    body = largest(b"                ")
    https = [server.http_connection() for _ in range(30)]
    for http in https:
        http.post(body[:-4] + b"0]}}", Mcp_Session_Id=session.id)
        assert http.answer().status == 200
    assert all(http.is_open(0) for http in https)
    assert peak(server) < 40
    for http in https:
        http.close()


@plain
def test_F7_large_requests_have_one_limit_together(server):
    """Sixty clients who stop in the middle of a large request: some are refused, and nobody else is."""
    session = server.session()
    body = largest(b"                ")[:-4] + b"0]}}"
    https = [server.http_connection() for _ in range(60)]
    refused = 0
    for http in https:
        try:
            http.post(body[:-1], Mcp_Session_Id=session.id, Content_Length=str(len(body)))
        except OSError:
            pass
        assert session.request("ping").json["result"] == {}
    for http in https:
        try:
            http.send(body[-1:])
            status = http.answer().status
        except OSError:
            status = 503  # it was told, and has not listened
        assert status in (200, 503)
        refused += status == 503
        http.close()
    assert 60 - 17 <= refused < 60
    assert peak(server) < 160
    with server.http_connection() as http:  # there is room again
        http.post(body, Mcp_Session_Id=session.id)
        assert http.answer().status == 200


@plain
def test_F7_what_clients_say_of_themselves_is_small(server):
    """Text that is short can be many values."""
    crowd = {"experimental": {"a": [{}] * 1300}}
    for _ in range(128):
        server.session(**crowd)
    assert server.status()["sessions"] == 128
    assert peak(server) < 20


@pytest.mark.parametrize("result, why", [
    ('{"content":[],"structuredContent":{"a":[%s0]}}' % ("0," * 1100000), "too many values"),
    ('{"content":[],"structuredContent":%s}' % ('{"a":' * 200 + "0" + "}" * 200), "nested too deeply"),
    ('{"content":[],"resultType":"a","resultType":"b"}', "not valid JSON")], ids=["many values", "deep", "twice the same key"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_F7_answer_that_cannot_be_read_ends_its_call(server, era, result, why):
    params = {"name": "echo", "arguments": {}}
    with server.editor() as editor:
        http = server.session().begin("tools/call", params) if era == "legacy" else server.modern_begin("tools/call", params)
        with http:
            call = editor.call()
            editor.raw.text('{"jsonrpc":"2.0","id":%d,"result":%s}' % (call["id"], result))
            result = http.answer().json["result"]
            assert result["isError"] and why in result["content"][0]["text"]
        editor.notify("editor/register", {"tools": [tool("other")]})
        assert editor.is_silent()  # the editor is still there
