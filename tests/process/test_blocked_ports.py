"""A port that nobody has, but what is left of the connections of a server that is gone. Rows A6 and A11."""
import contextlib
import socket
import struct

from tether import Instance


@contextlib.contextmanager
def blocked(port):
    """By a server that had no SO_REUSEADDR and is gone; its client has not noticed."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))
        listener.listen()
        with socket.create_connection(("127.0.0.1", port)) as client:
            listener.accept()[0].close()
            listener.close()
            # When the client is closed nothing more is left.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            yield client


def test_A11_a_start_waits_for_what_is_left_of_connections(state_dir):
    with Instance(state_dir) as it, blocked(it.http) as client, it.run() as foreground:
        foreground.expect("port %d is still blocked by closed connections .* waiting a moment" % it.http)
        client.close()
        foreground.expect("server ready")
        assert it.status()["restarts"] == 0


def test_A11_but_not_for_ever_and_blames_nobody(state_dir):
    with Instance(state_dir) as it, blocked(it.http):
        result = it.launch()
        assert result["code"] == 3 and "still blocked by closed connections" in result["message"], result
        assert "holder" not in result
        assert it.log().count("waiting a moment") == 1


def test_A11_a_start_that_waits_can_be_stopped(state_dir):
    with Instance(state_dir) as it, blocked(it.ws), it.run() as foreground:
        foreground.expect("waiting a moment")
        assert "stopped, but port %d is still blocked" % it.ws in it.cli("stop", "--force").output
        foreground.wait()
        assert "no process is left, a port is not free" in it.log()


def test_A11_a_start_that_waits_can_be_begun_anew(state_dir):
    with Instance(state_dir) as it, blocked(it.http) as client, it.run() as foreground:
        foreground.expect("waiting a moment")
        with it.control() as control:
            control.hello()
            control.send(type="restart")
            foreground.expect("waiting a moment")
            client.close()
            control.wait_state("ready")


@contextlib.contextmanager
def held_by_nobody(port):
    """As while the system takes a process apart: no process has this socket. It is on its way to one that does not
    take it."""
    ends = socket.socketpair()
    with ends[0], ends[1]:
        with socket.create_server(("127.0.0.1", port)) as listener:
            socket.send_fds(ends[0], [b"x"], [listener.fileno()])
        yield ends[1]


def test_A11_a_start_waits_for_who_is_just_being_ended(state_dir):
    """As who starts again at once when a daemon was killed."""
    with Instance(state_dir) as it, held_by_nobody(it.http) as way, it.run() as foreground:
        foreground.expect("port %d is held by a process of user .* waiting a moment" % it.http)
        way.close()
        foreground.expect("server ready")


def test_A11_who_is_hidden_is_told_then(state_dir):
    with Instance(state_dir) as it, held_by_nobody(it.ws):
        result = it.launch("--ready-timeout-ms", 1500)
        assert result["code"] == 3 and "port %d is held by a process of user" % it.ws in result["message"], result


def test_A11_the_wait_leaves_time_to_become_ready(state_dir):
    """Or the reason would be told as that of a server which was never started."""
    with Instance(state_dir) as it, blocked(it.http):
        result = it.launch("--ready-timeout-ms", 1500)
        assert result["code"] == 3 and "still blocked by closed connections" in result["message"], result


def test_A11_where_another_pair_will_do_nobody_waits(state_dir):
    with Instance(state_dir) as it, blocked(it.http):
        it.launch("--ports", "auto")
        assert "waiting a moment" not in it.log()
        it.http, it.ws = it.result["http_port"] or it.http, it.result["ws_port"] or it.ws


def test_A12_a_stranger_on_the_other_port_is_told_at_once(state_dir):
    with Instance(state_dir) as it, blocked(it.http), socket.create_server(("127.0.0.1", it.ws)):
        result = it.launch()
        assert result["code"] == 3 and "port %d is held by" % it.ws in result["message"], result
        assert "waiting a moment" not in it.log()
