"""Who counts as being there, for how long, and what their coming and going does to the server.
Rows E1 to E4, E7, C4, A4, A5, F3."""
import json
import os
import time

import pytest

from clients import Peer, wait_for, watch
from harness import kill, own_pid, wait_gone
from scene import wait_until
from tether import Instance, identity, start_owner


def sessions(state):
    return {session["pid"]: session for session in state["sessions"]}


def stays_ready(control, seconds):
    """Nothing begins to end within this time, in which something wrong would."""
    with pytest.raises(TimeoutError):
        control.wait_state("stopping", "stopped", limit=seconds)
    assert control.request("status")["state"] == "ready"


# ---- E1: hello ----

@pytest.mark.parametrize("drop", [(), ("pid",), ("start",), ("pid", "start")])
def test_E1_pid_and_start_are_optional_because_the_kernel_knows(state_dir, drop):
    with Instance(state_dir) as instance, start_owner() as owner:
        instance.launch("--owner-pid", owner.pid)
        with instance.control() as control:
            welcome = control.hello(**{key: None for key in drop}, project="/games/one", godot="4.6")
            assert welcome["type"] == "welcome" and welcome["ws_token"]
            mine = sessions(welcome)[own_pid()]
            assert mine["start"] == identity(own_pid())["start"] and mine["role"] == "editor"
            assert mine["session"] == welcome["session"] and mine["counts"] is True
            assert mine["project"] == "/games/one" and mine["godot"] == "4.6"
            control.request("status")  # the file is written behind the welcome
            path = os.path.join(instance.directory, "sessions", "%d.json" % own_pid())
            with open(path) as file:
                record = json.load(file)
            assert record["pid"] == own_pid() and record["role"] == "editor"
            control.send(type="leave", reason="quit")
            control.wait_closed()
        with watch(instance) as control:
            wait_for(control, lambda state: state["sessions"] == [])
        assert not os.path.exists(path)


@pytest.mark.parametrize("hello,code,words", [
    ({"pid": 1}, "not-you", "names process 1"),
    ({"pid": os.getppid()}, "not-you", "names process"),
    ({"pid": -5}, "bad-hello", "\"pid\""), ({"pid": 0}, "bad-hello", "\"pid\""),
    ({"pid": 2 ** 31}, "bad-hello", "\"pid\""), ({"pid": "7"}, "bad-hello", "\"pid\""),
    ({"pid": 7.5}, "bad-hello", "\"pid\""), ({"pid": True}, "bad-hello", "\"pid\""),
    ({"start": "yesterday"}, "bad-hello", "\"start\""), ({"start": "-1"}, "bad-hello", "\"start\""),
    ({"start": "9" * 30}, "bad-hello", "\"start\""),
    ({"protocol": 2}, "protocol", "speaks protocol 1, you asked for 2"),
    ({"protocol": None}, "protocol", "speaks protocol 1"),
    ({"protocol": "1"}, "protocol", "speaks protocol 1"),
    ({"role": "anonymous"}, "bad-hello", "\"role\""), ({"role": "king"}, "bad-hello", "\"role\""),
    ({"role": None}, "bad-hello", "\"role\""), ({"role": 5}, "bad-hello", "\"role\""),
])
def test_E1_a_hello_that_is_wrong_is_refused_with_the_reason(state_dir, hello, code, words):
    with Instance(state_dir) as instance:
        instance.launch()
        with instance.control() as control:
            answer = control.hello(**hello)
            assert answer["type"] == "error" and answer["code"] == code, answer
            assert words in answer["message"]
            control.wait_closed()
        with watch(instance) as control:
            wait_for(control, lambda state: state["sessions"] == [])


def test_E1_another_user_is_refused(state_dir):
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with Instance(state_dir) as instance:
        control = instance.launch()["control"]
        with Peer(control, uid=65534, connect=False) as peer:
            assert peer.connect().startswith("refused")  # by the directory, to begin with
            os.chmod(instance.directory, 0o711)
            os.chmod(control, 0o666)
            assert peer.connect() == "connected"
            assert peer.receive("error")["code"] == "not-yours"
            peer.wait_closed()
            os.chmod(instance.directory, 0o700)
        assert "refused a connection of user 65534" in instance.log()
        assert instance.status()["sessions"] == []


# ---- who counts ----

def test_E1_who_never_says_hello_counts_until_it_closes(state_dir):
    """E1: fail-safe without a hello. A4: the end comes a grace after the last one went."""
    with Instance(state_dir, "--grace-ms", "100") as instance, start_owner() as owner:
        instance.launch("--owner-pid", owner.pid)
        with watch(instance) as control, Peer(instance.result["control"]) as silent:
            state = wait_for(control, lambda state: silent.pid in sessions(state))
            assert sessions(state)[silent.pid]["role"] == "anonymous"
            owner.kill()
            state = wait_for(control, lambda state: state["owner"]["alive"] is False)
            assert state["why"] == "1 session"
            stays_ready(control, 0.4)
            silent.close()
            control.wait_state("stopping")
            control.wait_closed()
        instance.wait_end()
        assert "ended (owner died)" in instance.log()


def test_E2_a_dead_client_is_dropped_although_a_grandchild_holds_its_socket(state_dir):
    with Instance(state_dir) as instance:
        instance.launch()
        with watch(instance) as control, Peer(instance.result["control"]) as peer:
            peer.hello()
            child = peer.fork()
            try:
                killed = time.monotonic()
                peer.kill()
                wait_for(control, lambda state: state["sessions"] == [])
                assert time.monotonic() - killed < 10  # by an event: the sweep comes after 30 s
            finally:
                kill(child)
                wait_gone(child)


@pytest.mark.parametrize("role", ["editor", "front"])
def test_away_sessions_count_and_their_process_inherits_the_server(state_dir, role):
    """A5, F3, design rules 3 and 4: an editor that reloads its plugin is away, and still counts."""
    with Instance(state_dir, "--grace-ms", "100") as instance, start_owner() as owner:
        instance.launch("--owner-pid", owner.pid)
        with watch(instance) as control, Peer(instance.result["control"]) as peer:
            peer.hello(role)
            peer.close()
            state = wait_for(control, lambda s: sessions(s)[peer.pid]["link"] == "away")
            assert sessions(state)[peer.pid]["counts"] is True
            owner.kill()
            state = wait_for(control, lambda s: s["owner"]["pid"] == peer.pid and s["owner"]["alive"])
            assert state["ownership"] == "adopted"
            assert state["why"] == "1 session, and owner %d lives" % peer.pid
            stays_ready(control, 0.4)
            peer.kill()
            control.wait_state("stopping")
        instance.wait_end()


def test_C4_who_comes_back_is_one_session_whatever_its_number(state_dir):
    """C4: one's own former connection is no other editor: neither for `stop`, nor hand-over."""
    with Instance(state_dir) as instance:
        instance.launch()
        with watch(instance) as control, Peer(instance.result["control"]) as peer, \
                instance.control() as other:
            first = peer.hello()["session"]
            peer.close()
            wait_for(control, lambda s: sessions(s)[peer.pid]["link"] == "away")
            stolen = other.hello(resume=first)  # of another process: not its to resume
            assert stolen["type"] == "welcome" and len(stolen["sessions"]) == 2
            other.send(type="leave", reason="quit")
            other.wait_closed()
            peer.connect()
            second = peer.hello()  # known by its process alone
            assert len(second["sessions"]) == 1 and second["session"] != first
            peer.close()
            peer.connect()
            third = peer.hello(resume=second["session"])
            assert len(third["sessions"]) == 1
            assert sessions(third)[peer.pid]["link"] == "connected"
            # One more connection of the same process: it is not in the way of the first.
            peer.send(type="stop", id=1)
            wait_until(lambda: '"id":1,"ok":true' in peer.process.output, "the stop is granted")
        instance.wait_end()


def test_C4_a_second_connection_of_the_same_process_takes_over_or_stands_beside(state_dir):
    """The former connection need not be known to be dead."""
    with Instance(state_dir) as instance:
        instance.launch("--owner-pid", own_pid())
        with instance.control() as first, instance.control() as second, \
                instance.control() as third, watch(instance) as control:
            one = first.hello()
            assert len(second.hello(resume=one["session"])["sessions"]) == 1
            first.wait_closed()
            assert len(third.hello()["sessions"]) == 2
            assert third.request("handover")["ok"]  # it is the same process all the time
            control.wait_closed()
        instance.wait_end()
        assert "ended (hand-over)" in instance.log()


def test_C4_resuming_a_session_of_an_earlier_daemon_finds_ones_own(state_dir):
    """Otherwise a place stays behind, and leaving does not end the server."""
    with Instance(state_dir) as instance:
        instance.launch()
        with watch(instance) as control, Peer(instance.result["control"]) as peer:
            peer.hello()
            peer.close()
            wait_for(control, lambda s: sessions(s)[peer.pid]["link"] == "away")
            peer.connect()
            assert len(peer.hello(resume="4000000000")["sessions"]) == 1


# ---- leaving ----

@pytest.mark.parametrize("reason", ["disable", "quit"])
def test_the_last_editor_that_leaves_ends_the_server_it_owns(state_dir, reason):
    """A10, rule 9: although its process lives on."""
    with Instance(state_dir) as instance, Peer("/", connect=False) as editor:
        instance.launch("--owner-pid", editor.pid)
        become_client(editor, instance)
        editor.hello()
        editor.send(type="leave", reason=reason)
        editor.wait_closed()
        instance.wait_end()
        assert "ended (last editor left)" in instance.log()
        assert editor.process.popen.poll() is None


def become_client(peer, instance):
    """A peer that was there before the instance learns its socket."""
    peer.tell("path " + instance.result["control"])
    peer.connect()


@pytest.mark.parametrize("reason", ["disable", "quit"])
def test_an_editor_that_leaves_others_behind_hands_the_server_on(state_dir, reason):
    """A5, A10."""
    with Instance(state_dir, "--grace-ms", "100") as instance, \
            Peer("/", connect=False) as owner, Peer("/", connect=False) as guest:
        instance.launch("--owner-pid", owner.pid)
        become_client(owner, instance)
        become_client(guest, instance)
        with watch(instance) as control:
            owner.hello()
            guest.hello()
            owner.send(type="leave", reason=reason)
            state = wait_for(control, lambda s: s["owner"]["pid"] == guest.pid)
            assert list(sessions(state)) == [guest.pid] and state["ownership"] == "adopted"
            owner.kill()
            stays_ready(control, 0.3)
            guest.send(type="leave", reason=reason)
            control.wait_state("stopping")
        instance.wait_end()


def test_a_guest_that_leaves_ends_nothing_while_the_owner_lives(state_dir):
    """A10: adopted servers stay for the others; and without any owner nobody's leaving ends it."""
    for with_owner in (True, False):
        with Instance(state_dir) as instance, start_owner() as owner:
            instance.launch(*(["--owner-pid", owner.pid] if with_owner else []))
            with Peer(instance.result["control"]) as guest, watch(instance) as control:
                guest.hello()
                guest.send(type="leave", reason="quit")
                guest.wait_closed()
                wait_for(control, lambda s: s["sessions"] == [])
                assert control.request("status")["state"] == "ready"


def test_an_editor_that_reloads_keeps_the_server_while_it_lives(state_dir):
    """A1, rule 9."""
    with Instance(state_dir, "--grace-ms", "100") as instance, \
            Peer("/", connect=False) as editor:
        instance.launch("--owner-pid", editor.pid)
        become_client(editor, instance)
        with watch(instance) as control:
            editor.hello()
            editor.send(type="leave", reason="reload")
            editor.wait_closed()
            wait_for(control, lambda s: sessions(s)[editor.pid]["link"] == "away")
            stays_ready(control, 0.3)
            editor.connect()
            assert sessions(editor.hello())[editor.pid]["link"] == "connected"
            editor.send(type="leave", reason="reload")
            editor.wait_closed()
            editor.kill()
            control.wait_state("stopping")
        instance.wait_end()


def test_an_editor_that_restarts_finds_its_place_kept_for_its_successor(state_dir):
    """A1, rule 9: another process with another pid, of which nobody knew."""
    with Instance(state_dir, "--grace-ms", "100") as instance, \
            Peer("/", connect=False) as editor:
        instance.launch("--owner-pid", editor.pid)
        become_client(editor, instance)
        with watch(instance) as control:
            editor.hello()
            editor.send(type="leave", reason="restart")
            editor.wait_closed()
            editor.kill()
            state = wait_for(control, lambda s: s["owner"]["alive"] is False)
            assert sessions(state)[editor.pid]["link"] == "restarting"
            assert "an editor is restarting; its place is kept for" in state["why"]
            stays_ready(control, 0.4)
            with Peer(instance.result["control"]) as successor:
                welcome = successor.hello()
                assert list(sessions(welcome)) == [successor.pid]
                wait_for(control, lambda s: s["owner"]["pid"] == successor.pid)
                stays_ready(control, 0.3)
                successor.kill()
                control.wait_state("stopping")
        instance.wait_end()


def test_a_leave_without_a_proper_reason_is_told_and_changes_nothing(state_dir):
    with Instance(state_dir) as instance:
        instance.launch()
        with instance.control() as control:
            control.hello()
            for reason in ("", "bored", None, 5, ["quit"]):
                control.send(type="leave", reason=reason)
                assert control.receive("error")["code"] == "bad-leave"
            assert len(control.request("status")["sessions"]) == 1


# ---- times ----

def test_A4_a_moment_without_anybody_shorter_than_the_grace_ends_nothing(state_dir):
    with Instance(state_dir, "--grace-ms", "1500") as instance, start_owner() as owner:
        instance.launch("--owner-pid", owner.pid)
        with watch(instance) as control, Peer(instance.result["control"]) as first:
            wait_for(control, lambda s: len(s["sessions"]) == 1)
            owner.kill()
            wait_for(control, lambda s: s["owner"]["alive"] is False)
            first.close()
            state = wait_for(control, lambda s: s["ownership"] == "orphan?")
            assert "a second look follows" in state["why"]
            first.connect()
            wait_for(control, lambda s: s["ownership"] == "owned")
            stays_ready(control, 1.8)
            gone = time.monotonic()
            first.close()
            control.wait_state("stopping")
            assert time.monotonic() - gone >= 1.5  # the grace began anew
        instance.wait_end()


def test_E4_a_silent_session_is_pinged_and_then_no_longer_counts(state_dir):
    """E3, E4: the limit and the sweep are settable, and the sweep finds what no event tells. Who
    answers stays; who does not cannot hold the server, and is not thrown out."""
    env = {"TETHER_SILENCE_LIMIT_MS": "2000"}
    with Instance(state_dir, "--sweep-ms", "200", "--grace-ms", "100") as instance, \
            start_owner() as owner:
        instance.launch("--owner-pid", owner.pid, env=env)
        with watch(instance) as control, instance.control() as answering, \
                Peer(instance.result["control"]) as phantom:
            answering.hello(role="front")
            phantom.hello(role="front")
            for _ in range(3):
                answering.receive("ping")
                answering.send(type="pong")
            state = wait_for(control, lambda s: not sessions(s)[phantom.pid]["counts"])
            assert sessions(state)[own_pid()]["counts"] is True
            assert "ping" in phantom.process.output
            assert sessions(state)[phantom.pid]["link"] == "connected"
            phantom.send(type="anything")  # it was only quiet
            wait_for(control, lambda s: sessions(s)[phantom.pid]["counts"])


def test_E4_a_phantom_does_not_pin_an_orphaned_server(state_dir):
    with Instance(state_dir, "--sweep-ms", "50", "--silence-limit-ms", "400", "--grace-ms", "50") \
            as instance, start_owner() as owner:
        instance.launch("--owner-pid", owner.pid)
        # Without a hello it can inherit nothing; it is there, and says nothing.
        with watch(instance) as control, Peer(instance.result["control"]) as phantom:
            wait_for(control, lambda s: phantom.pid in sessions(s))
            owner.kill()
            control.wait_state("stopping")
            phantom.wait_closed()
        instance.wait_end()
        assert "ended (owner died)" in instance.log()


def test_E7_the_idle_limit_counts_only_without_sessions_and_starts_afresh(state_dir):
    with Instance(state_dir, "--idle-limit-ms", "2000") as instance:
        instance.launch()
        with watch(instance) as control, instance.control() as session:
            session.hello()
            stays_ready(control, 2.3)
            left = time.monotonic()
            session.send(type="leave", reason="quit")
            session.wait_closed()
            control.wait_state("stopping")
            assert time.monotonic() - left >= 2
        instance.wait_end()
        assert "ended (idle limit)" in instance.log()


# ---- other ways to be there ----

def test_adopt_registers_the_owner_that_a_later_launch_names(state_dir):
    """A5, F3: it counts like an editor that is away, until it connects itself or ends."""
    with Instance(state_dir, "--grace-ms", "100") as instance, start_owner() as first, \
            Peer("/", connect=False) as second:
        instance.launch("--owner-pid", first.pid)
        assert instance.launch("--owner-pid", second.pid)["result"] == "adopted"
        assert instance.launch("--owner-pid", second.pid)["result"] == "adopted"  # twice is once
        with watch(instance) as control:
            state = control.request("status")
            assert sessions(state)[second.pid]["counts"] and len(state["sessions"]) == 1
            become_client(second, instance)
            assert list(sessions(second.hello())) == [second.pid]
            first.kill()
            wait_for(control, lambda s: s["owner"]["pid"] == second.pid)
            second.kill()
            control.wait_state("stopping")
        instance.wait_end()


@pytest.mark.parametrize("owner", [
    {"pid": 0}, {"pid": 1}, {"pid": -1}, {"pid": "12"}, {"pid": 1.5}, {},
    {"pid": own_pid(), "start": "1"}, {"pid": 2 ** 40}])
def test_adopt_of_nobody_is_refused(state_dir, owner):
    with Instance(state_dir) as instance:
        instance.launch()
        with watch(instance) as control:
            answer = control.request("adopt", **owner)
            assert answer["ok"] is False and answer["code"] == "bad-owner"
            assert control.request("status")["sessions"] == []
