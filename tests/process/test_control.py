"""What comes over the control socket, whatever it is, and the commands that speak over it. Row E5,
and the control protocol."""
import json
import random
import re
import signal
import socket

import pytest

from clients import Peer
from harness import Process, kill, system, wait_gone
from scene import cpu_seconds, wait_until
from tether import SERVER, Instance, http_get

LONGEST = 65536  # bytes of a line, without its newline


def hello_bytes(project):
    return json.dumps({"type": "hello", "protocol": 1, "role": "cli", "project": project},
                      ensure_ascii=False).encode() + b"\n"


def round_trip(control):
    """The daemon's loop has turned: what was sent before this has been read."""
    assert control.request("status")["ok"]


# ---- E5: lines ----

def test_E5_a_line_may_be_cut_anywhere(state_dir):
    """Also inside a UTF-8 sequence, and byte by byte."""
    project = "Größe €uro 𝄞 end"
    line = hello_bytes(project).replace(b'"cli"', b'"editor"')
    with Instance(state_dir) as instance:
        instance.launch()
        with instance.control() as other:
            other.hello(role="cli")
            for cut in range(1, len(line)):
                with instance.control() as control:
                    control.send_bytes(line[:cut])
                    round_trip(other)
                    control.send_bytes(line[cut:])
                    welcome = control.receive("welcome", "error")
                    assert welcome["sessions"][-1]["project"] == project, cut
                    control.send(type="leave", reason="quit")
                    control.wait_closed()
            with instance.control() as control:
                for i in range(len(line)):
                    control.send_bytes(line[i:i + 1])
                    round_trip(other)
                assert control.receive("welcome", "error")["sessions"][-1]["project"] == project


def test_E5_the_longest_line_is_taken_and_a_longer_one_ends_the_connection(state_dir):
    with Instance(state_dir) as instance:
        instance.launch()
        for extra, end in ((0, b"\n"), (0, b"\r\n"), (1, b"\n"), (1, b""), (100000, b"")):
            with instance.control() as control:
                control.hello(role="cli")
                start = b'{"type":"status","id":9,"pad":"'
                line = start + b"x" * (LONGEST + extra - len(start) - 2) + b'"}'
                assert len(line) == LONGEST + extra
                try:
                    control.send_bytes(line + end)
                except BrokenPipeError:
                    assert extra > 1
                if extra == 0:
                    assert control.receive("status")["id"] == 9
                else:
                    if not end and extra == 1:
                        control.send_bytes(b"y")
                    assert control.receive("error")["code"] == "too-long"
                    control.wait_closed()
        assert instance.status()["state"] == "ready"


@pytest.mark.parametrize("line", [
    b"rubbish", b"\x00", b'{"type":"status","id":1}\x00', b'{"type":"sta\x00tus","id":1}', b"\xff\xfe",
    b'{"type":"\xc3\x28"}', b'{"type":"\xed\xa0\x80"}', b'{"a":"\\ud800"}', b'{"a":"\\u0000"}',
    b"[" * 30000, b'{"a":' * 10000, b'{"a":' + b"[" * 30000 + b"]" * 30000 + b"}", b"[]", b"5", b"null",
    b'"hello"', b"{", b"}", b'{"type":"status","id":1}x', b'{"id":1,"id":2}',
    b'{"id":' + b"9" * 400 + b"}", b'{"id":1e999}', b'{"id":-}', b"{'id':1}", b"\xef\xbb\xbf{}"],
    ids=lambda line: repr(line[:24]))
def test_E5_what_is_no_message_is_told_and_costs_nothing_else(state_dir, line):
    with Instance(state_dir) as instance:
        instance.launch()
        with instance.control() as control:
            control.hello(role="cli")
            control.send_bytes(line + b"\n")
            error = control.receive("error")
            assert error["code"] == "bad-message" and len(error["message"]) > 10
            round_trip(control)  # the connection goes on


@pytest.mark.parametrize("line", [
    b"{}", b"", b"\r", b"  ", b'{"type":null}', b'{"type":5}', b'{"type":["status"],"id":1}',
    b'{"type":"unheard-of","id":1}', b'{"type":"unheard-of"}', b'{"type":"status"}',
    b'{"type":"ping"}', b'{"type":"welcome","session":"1"}', b'{"type":"state"}',
    b'{"type":"hello"}', b'{"type":"stop"}', b'{"type":"restart"}'], ids=repr)
def test_unknown_types_and_requests_without_an_id_are_ignored(state_dir, line):
    with Instance(state_dir) as instance:
        instance.launch()
        with instance.control() as control:
            control.hello(role="cli")
            before = control.request("status")["server"]
            control.send_bytes(line + b"\n")
            assert control.request("status")["server"] == before


def test_unknown_keys_and_wrong_types_of_known_ones_are_ignored(state_dir):
    with Instance(state_dir) as instance:
        instance.launch()
        with instance.control() as control:
            welcome = control.hello(role="cli", future={"a": [1, 2, {}]}, project=5, godot=[],
                                    version={}, resume=7)
            assert welcome["type"] == "welcome"
            for wrong in ({"n": "many"}, {"n": -5}, {"n": 2 ** 62}, {"n": 1.5}, {"follow": "yes"}):
                answer = control.request("logs", extra=None, **wrong)
                assert answer["ok"] is True and isinstance(answer["lines"], list)
            for id_ in (0, -1, 2 ** 62, "text", None, [1, {"a": 2}], 1.5, True):
                control.send(type="status", id=id_)
                message = control.receive("status")
                assert message["id"] == id_ and message["ok"] is True


def test_pipelined_requests_are_answered_in_order(state_dir):
    with Instance(state_dir) as instance:
        instance.launch()
        with instance.control() as control:
            control.send_bytes(hello_bytes("p") + b"".join(
                b'{"type":"%s","id":%d}\n' % (b"status" if i % 3 else b"logs", i)
                for i in range(1000)))
            ids = []
            while len(ids) < 1000:
                message = control.receive()
                if "id" in message:
                    assert message["ok"] is True
                    ids.append(message["id"])
            assert ids == list(range(1000))


def test_garbage_of_every_kind_does_not_end_the_daemon(state_dir):
    """Valid messages with bytes changed, cut and repeated, always the same ones."""
    rng = random.Random(4711)
    seeds = [hello_bytes("x").replace(b"cli", b"editor"), b'{"type":"logs","id":1,"n":5}\n',
             b'{"type":"adopt","id":2,"pid":1}\n', b'{"type":"leave","reason":"reload"}\n',
             b'{"type":"status","id":[]}\n', b'{"type":"handovers","id":{}}\n']
    with Instance(state_dir) as instance:
        instance.launch()
        for i in range(300):
            if i % 20 == 0:
                instance.status()  # it keeps up
            data = bytearray(b"".join(rng.choices(seeds, k=6)))
            for _ in range(rng.randrange(8)):
                at = rng.randrange(len(data))
                data[at:at + rng.randrange(3)] = rng.randbytes(rng.randrange(4))
            with instance.control() as control:
                try:
                    control.send_bytes(data)
                except (BrokenPipeError, ConnectionResetError):
                    pass
        state = instance.status()
        assert state["state"] == "ready" and state["daemon"]["pid"] == instance.result["daemon_pid"]


# ---- stop ----

def test_stop_refuses_while_another_editor_is_there_and_names_it(state_dir):
    with Instance(state_dir) as instance:
        instance.launch()
        with Peer(instance.result["control"]) as one, Peer(instance.result["control"]) as two:
            one.hello(project="/games/One")
            two.hello()
            refused = instance.cli("stop")
            assert refused.status == 1
            assert "editor %d (/games/One)" % one.pid in refused.output
            assert "editor %d" % two.pid in refused.output and "--force" in refused.output
            one.send(type="stop", id=1)  # it is asked for by one of them: the other is named
            answer = json.loads(one.next_line('{"id":1,.*'))
            assert answer["ok"] is False and answer["code"] == "in-use"
            assert "editor %d" % two.pid in answer["message"]
            assert "editor %d" % one.pid not in answer["message"]
            two.send(type="leave", reason="quit")
            two.wait_closed()
            one.send(type="stop", id=2)
            one.next_line('{"id":2,"ok":true}')
            instance.wait_end()


def test_stop_force_stops_although_editors_are_there(state_dir):
    with Instance(state_dir) as instance:
        instance.launch()
        with Peer(instance.result["control"]) as editor:
            editor.hello()
            assert instance.cli("stop", "--force").status == 0
            editor.wait_closed()
        assert instance.cli("status").status == 5


@pytest.mark.parametrize("offset", [0, 1])
def test_a_refused_stop_says_why_also_with_a_long_foreign_name(state_dir, offset):
    with Instance(state_dir) as instance:
        instance.launch()
        with Peer(instance.result["control"]) as editor:
            editor.hello(project="x" * offset + "é" * 400)
            refused = instance.cli("stop")
            assert refused.status == 1 and "editor %d (" % editor.pid in refused.output
            assert "--force stops it all the same" in refused.output


def test_a_newcomer_is_turned_away_while_the_end_is_under_way(state_dir):
    """Rule 7."""
    with Instance(state_dir, "--stop-grace-ms", "1500") as instance:
        instance.launch(command=[SERVER, "--ignore-term"])
        with instance.control() as control:
            control.hello(role="cli")
            assert control.request("stop")["ok"]
            with instance.control() as late:
                answer = late.hello()
                assert answer["type"] == "error" and answer["code"] == "stopping"
            answer = control.request("restart")
            assert answer["ok"] is False and answer["code"] == "stopping"
            assert control.request("stop")["ok"]  # that is what is being done
            control.wait_closed()
        instance.wait_end()


# ---- status and logs ----

def watch_status(instance, *options):
    return Process(instance.argv("status", "--watch", *options), instance.env)


def test_status_watch_prints_each_change_once_and_nothing_else(state_dir):
    with Instance(state_dir) as instance:
        instance.launch()
        with watch_status(instance, "--json") as watching:
            watching.expect(r'"state":"ready"')
            for _ in range(3):  # others who look are no change
                instance.cli("status")
            with Peer(instance.result["control"]) as peer:
                peer.hello()
                watching.expect(r'"link":"connected"')
            watching.expect(r'(?s)"link":"connected".*"sessions":\[\]')
            instance.cli("stop")
            assert watching.wait() == 0
        states = [json.loads(line) for line in watching.output.splitlines()]
        for state in states:
            del state["uptime_ms"]
        assert all(a != b for a, b in zip(states, states[1:])), "the same state twice"
        assert states[-1]["state"] in ("stopping", "stopped")
        assert len(states) <= 7, watching.output


def test_status_watch_tells_the_loss_of_the_daemon(state_dir):
    with Instance(state_dir) as instance:
        instance.launch()
        guard = instance.status()["guard_pid"]
        with watch_status(instance) as watching:
            watching.expect("^server    ready")
            kill(instance.result["daemon_pid"])
            assert watching.wait() == 1
            assert "the daemon is gone" in watching.output
        wait_gone(guard)


def test_status_tells_no_secret_and_names_what_runs(state_dir):
    with Instance(state_dir) as instance:
        instance.launch()
        done = instance.cli("status", "--json")
        assert "ws_token" not in done.output
        state = json.loads(done.output)
        assert state["daemon"]["pid"] == instance.result["daemon_pid"]
        assert state["server"]["pid"] == instance.result["server_pid"]
        assert state["why"] == "no owner was given; `tether stop` ends it"
        assert state["server"]["url"] == "http://127.0.0.1:%d/mcp" % instance.http
        words = instance.cli("status").output
        assert "ports     %d and %d\n" % (instance.http, instance.ws) in words


STAMPED = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z "  # old lines and new ones alike


def test_logs_follow_prints_what_was_and_what_comes(state_dir):
    with Instance(state_dir) as instance:
        instance.launch(command=[SERVER, "--say", "first words"])
        http_get(instance.http)
        with Process(instance.argv("logs", "-f", "-n", "1"), instance.env) as following:
            following.expect("first words$")
            assert "server up pid" not in following.output
            # What it has printed was the answer, behind which it follows.
            kill(instance.status()["server"]["pid"])
            following.expect(STAMPED + "launcher server " + re.escape(system.KILLED))
            following.expect(STAMPED + r"stdout server up pid \d+$")
            instance.cli("stop")
            assert following.wait() == 0


def test_logs_are_there_after_the_end_and_counted(state_dir):
    with Instance(state_dir) as instance:
        nothing = instance.cli("logs")
        assert nothing.status == 5 and "there is no log" in nothing.output
        lines = "\n".join("line %d" % i for i in range(1, 51))
        instance.launch("--ready", "notify", command=[SERVER, "--notify", "--say", lines])
        http_get(instance.http)  # it has said all of it
        instance.cli("stop")
        for count in (0, 1, 20, 49):
            lines = instance.cli("logs", "-n", count).output.splitlines()
            assert len(lines) == count
            assert count < 1 or lines[-1].endswith("stdout line 50")
        assert len(instance.cli("logs").output.splitlines()) == 20
        assert len(instance.cli("logs", "-n", "100000").output.splitlines()) == 51
        assert instance.cli("logs", "-f").status == 5  # what there was, and nobody to follow


def test_many_lines_of_log_come_as_one_line_of_the_protocol(state_dir):
    """The newest that fit; and to find them takes the daemon little."""
    with Instance(state_dir) as instance:
        instance.launch(command=[SERVER, "--flood", "4000000"])
        http_get(instance.http)
        with instance.control() as control:
            control.hello(role="cli")
            before = cpu_seconds(instance.result["daemon_pid"])
            answer = control.request("logs", n=5000)
            assert cpu_seconds(instance.result["daemon_pid"]) - before < 1
        lines = answer["lines"]
        assert len(json.dumps(answer, ensure_ascii=False, separators=(",", ":"))) <= LONGEST
        assert len(lines) > 200 and all(line.endswith(" stdout " + "x" * 79) for line in lines)


def test_a_daemon_that_is_busy_for_a_moment_is_waited_for(state_dir):
    with Instance(state_dir) as instance:
        instance.launch()
        kill(instance.result["daemon_pid"], signal.SIGSTOP)
        waiting = []
        with pytest.raises(BlockingIOError):
            for _ in range(5000):
                waiting.append(socket.socket(socket.AF_UNIX))
                waiting[-1].setblocking(False)
                waiting[-1].connect(instance.result["control"])
        with Process(instance.argv("status"), instance.env) as status:
            # It waits, or it fails at once; either way this comes after its connect().
            wait_until(lambda: status.popen.poll() is not None or is_asleep(status.pid), "its try")
            kill(instance.result["daemon_pid"], signal.SIGCONT)
            code = status.wait()
        for stream in waiting:
            stream.close()
        wait_until(lambda: instance.cli("status").status == 0, "room in the backlog")
        assert code == 0, status.output


def is_asleep(pid):
    with open("/proc/%d/stat" % pid) as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "S"
