"""A second launch of the same instance, and what becomes of the owner that it names."""
import json
import os
import select

from fake_daemon import FakeDaemon
from harness import Process, own_pid
from tether import SERVER, Instance, identity, start_owner


def test_F3_the_owner_of_a_second_launch_keeps_the_server(state_dir):
    with start_owner() as first, start_owner() as second, Instance(state_dir, "--grace-ms", "50") as one:
        daemon = one.launch("--owner-pid", first.pid)["daemon_pid"]
        again = one.launch("--owner-pid", second.pid)
        assert again["result"] == "adopted" and again["daemon_pid"] == daemon
        with one.control() as watcher:
            watcher.hello("cli")
            first.kill()
            first.wait()
            while True:
                state = watcher.receive("state", "welcome")
                if state["owner"] == dict(identity(second.pid), alive=True):
                    break
            assert state["state"] == "ready" and state["ownership"] == "adopted"
            second.kill()
            watcher.wait_closed()
        one.wait_end()
        assert one.ports_are_free()


def test_E4_an_owner_without_a_connection_is_never_silent_while_it_lives(state_dir):
    """Its process is proof enough: it is not thrown out, however long it says nothing."""
    with start_owner() as first, start_owner() as second, Instance(
            state_dir, "--grace-ms", "50", "--sweep-ms", "50", "--silence-limit-ms", "300") as one:
        one.launch("--owner-pid", first.pid)
        one.launch("--owner-pid", second.pid)
        with one.control() as quiet:
            quiet.hello("editor")
            # This session never answers a ping; when it counts no more, the other had as much time.
            while True:
                state = quiet.receive("state", "welcome")
                counts = {s["pid"]: s["counts"] for s in state["sessions"]}
                if not counts[own_pid()]:
                    break
            assert counts[second.pid]


def test_C4_an_editor_that_was_named_by_its_launcher_is_one_session(state_dir):
    me = own_pid()
    with start_owner() as first, Instance(state_dir, "--grace-ms", "50") as one:
        one.launch("--owner-pid", first.pid)
        one.launch("--owner-pid", me)
        with one.control() as editor:
            welcome = editor.hello("editor")
            assert [s["pid"] for s in welcome["sessions"]] == [me]
            assert not editor.request("handover")["ok"]  # the owner lives
            first.stop()
            while editor.receive("state")["owner"]["pid"] != me:
                pass
            assert editor.request("handover")["ok"]  # nobody else is there
            editor.wait_closed()
        one.wait_end()


def test_a_second_launch_that_names_a_dead_owner_changes_nothing(state_dir):
    with start_owner() as gone, Instance(state_dir) as one:
        one.launch()
        gone.kill()
        gone.wait()
        assert one.launch("--owner-pid", gone.pid)["result"] == "adopted"
        assert one.status()["sessions"] == [] and one.status()["ownership"] == "unarmed"


def test_what_an_editor_left_open_does_not_live_on_in_the_daemon(state_dir):
    """A file that the starter forgot to close on exec would pin its sockets and ports for ever."""
    reader, writer = os.pipe()
    try:
        os.set_inheritable(writer, True)
        with Instance(state_dir) as it:
            assert it.launch(pass_fds=[writer])["result"] == "started"
            os.close(writer)
            assert select.select([reader], [], [], 0)[0] and os.read(reader, 1) == b""  # nobody else could write
            assert it.status()["state"] == "ready"
    finally:
        os.close(reader)


def test_F3_a_server_that_is_ready_while_the_owner_is_registered_is_not_waited_for(state_dir):
    """The change of state comes between the welcome and the reply, and never again."""
    one = Instance(state_dir)
    with FakeDaemon(one) as daemon, Process(one.argv("launch", "--owner-pid", own_pid(), "--", SERVER),
                                            one.env) as launch:
        daemon.welcome("starting")
        adopt = daemon.hear("adopt")
        daemon.say(type="state", **daemon.state("ready"))
        daemon.say(id=adopt["id"], ok=True)
        status = daemon.hear("status")
        daemon.say(id=status["id"], ok=True, type="status", **daemon.state("ready"))
        assert launch.wait() == 0, launch.output
        assert json.loads(launch.output)["result"] == "adopted"
