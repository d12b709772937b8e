"""I1: what the server knows of editors by its daemon, and how long it stays for clients alone."""
import json
import os

import pytest

from clients import Peer
from scene import kill, wait_until
from served import Editor, Http, Session
from tether import Instance, identity, start_owner


class Alone(Instance):
    """The built-in server, with an owner that is no editor of ours."""

    def start(self, *options, env=None):
        self.owner = start_owner()
        done = self.cli("launch", *self.options, "--owner-pid", str(self.owner.pid), *options, env=env)
        self.result = json.loads(done.output.splitlines()[-1])
        assert self.result["code"] == 0, done.output
        return self

    @property
    def why(self):
        return self.status()["why"]

    def http_connection(self):
        return Http(self.http)

    def session(self):
        return Session(self)

    def __exit__(self, *_):
        super().__exit__(*_)
        self.owner.stop()


@pytest.fixture
def it(state_dir):
    with Alone(state_dir) as it:
        yield it


def streaming(it):
    """A client with an open stream, of which the daemon knows."""
    stream = it.session().stream()
    return stream


def held(it, http):
    """The connection of a call that waits, or None if it has been answered."""
    with Http(it.http) as status:
        status.send("GET /status HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % it.http)
        if status.answer().json["calls"]:
            return http
    http.close()
    return None


def test_I1_without_linger_it_ends_with_its_owner(it):
    it.start()
    with streaming(it):
        kill(it.owner.pid)
        it.wait_end()
    assert it.ports_are_free()


def test_I1_it_stays_for_clients_and_says_so(it):
    it.start("--linger-ms", "600000")
    with streaming(it) as stream:
        kill(it.owner.pid)
        wait_until(lambda: "clients of the server are connected; it stays for them" in it.why, "it stays")
        assert stream.is_open(0)
    it.wait_end()  # the last client has gone
    assert it.ports_are_free()


def test_I1_it_does_not_stay_for_ever(it):
    it.start("--linger-ms", "700")
    with streaming(it):
        kill(it.owner.pid)
        it.wait_end()


def test_I1_it_does_not_stay_for_nobody(it):
    it.start("--linger-ms", "600000")
    assert it.session().request("ping").json["result"] == {}  # a session without a stream
    kill(it.owner.pid)
    it.wait_end()


def test_I1_it_does_not_stay_for_who_switches_it_off(it):
    it.start("--linger-ms", "600000")
    with it.control() as control, streaming(it):
        control.hello("editor")
        kill(it.owner.pid)
        wait_until(lambda: it.status()["owner"]["pid"] != it.owner.pid, "the session is the owner")
        control.send(type="leave", reason="disable")
        it.wait_end()


def test_I1_a_launch_of_somebody_else_ends_the_wait(it):
    it.start("--linger-ms", "600000")
    with streaming(it):
        kill(it.owner.pid)
        wait_until(lambda: "it stays" in it.why, "it stays")
        owner = start_owner()
        done = it.cli("launch", "--owner-pid", str(owner.pid), "--linger-ms", "600000")
        assert json.loads(done.output.splitlines()[-1])["result"] == "adopted"
        assert "session" in it.why
        owner.stop()
        wait_until(lambda: "it stays" in it.why, "it stays again")


def test_I1_others_do_not_tell_of_clients(it):
    it.start("--linger-ms", "600000")
    with it.control() as control:
        control.hello("cli")
        answer = control.request("clients", some=True)
        assert not answer["ok"] and answer["code"] == "not-yours"


def test_I1_an_editor_that_the_daemon_knows_is_waited_for(it):
    """It starts and has not come to our port yet."""
    it.start(env={"TETHER_EDITOR_WAIT_MS": "60000"})
    with it.control() as control:
        token = control.hello("editor", project="Game")["ws_token"]
        session = it.session()
        # The daemon tells the server a moment after it has told us.
        with wait_until(lambda: held(it, session.begin("tools/call", {"name": "echo"})), "the call waits") as http:
            with Editor(it.ws, token=token, pid=os.getpid(), sync=False) as editor:
                editor.say(editor.call(), "here")
                assert http.answer().json["result"]["content"][0]["text"] == "here"


def test_I1_an_editor_that_dies_after_its_connection_is_not_waited_for(it):
    """A process that dies loses its connections first, and lives for a moment more."""
    it.start(env={"TETHER_EDITOR_WAIT_MS": "600000"})
    with Peer(it.endpoint) as process:
        editor = Editor(it.ws, token=process.hello()["ws_token"], **identity(process.pid))
        editor.raw.close()
        session = it.session()
        with wait_until(lambda: held(it, session.begin("tools/call", {"name": "echo"})), "the call waits") as http:
            process.kill()
            assert "Open the project" in http.answer().json["result"]["content"][0]["text"]


def test_I1_who_only_uses_the_server_is_no_editor(it):
    """For a front nobody waits: it comes before the editor, perhaps long before."""
    it.start(env={"TETHER_EDITOR_WAIT_MS": "60000"})
    with it.control() as control:
        control.hello("front")
        answer = it.session().request("tools/call", {"name": "editor_state"})
        assert "Open the project" in answer.json["result"]["content"][0]["text"]


def test_I1_a_session_outlives_the_daemon(it):
    it.start()
    session = it.session()
    kill(it.result["daemon_pid"])
    kill(it.owner.pid)
    wait_until(it.ports_are_free, "the ports are free")
    it.start()
    assert session.request("ping").json["result"] == {}
