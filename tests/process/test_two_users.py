"""Two ordinary users of one machine, who share its ports, its /tmp and its processes. Row L3: each has an
instance, and whatever the other tries, it stays his. They are two numbers that nobody has; with root."""
import contextlib
import json
import os
import shutil
import stat
import struct
import tempfile

import pytest

from harness import Process, run
from scene import is_alive, wait_until
from tether import SERVER, TETHER, Instance
from users import is_nobody, take_users

PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})


class OwnInstance(Instance):
    """That of a user, in his place of old."""

    def __init__(self, user, programs, ports=None):
        super().__init__(user.place, program=os.path.join(programs, "tether"), ports=ports)
        self.user = user
        self.env = {"TETHER_STATE_DIR": ""}
        self.server = os.path.join(programs, "server")

    def cli(self, command, *arguments, env=None, **options):
        return super().cli(command, *arguments, env=env, **dict(self.user.rights, **options))

    def launch(self, *options, **more):
        more.setdefault("command", (self.server,))
        return super().launch(*options, **more)


@pytest.fixture
def users():
    if os.geteuid() != 0:
        pytest.skip("only root can be two other users")
    found = take_users(2)
    yield found
    for user in found:
        if os.path.islink(user.place) or os.path.isfile(user.place):
            os.unlink(user.place)
        shutil.rmtree(user.place, ignore_errors=True)
        user.claim.close()


@pytest.fixture
def programs():
    """Where everybody may start them, wherever they were built."""
    folder = tempfile.mkdtemp(prefix="tether-programs-")
    os.chmod(folder, 0o755)
    shutil.copy(TETHER, os.path.join(folder, "tether"))
    shutil.copy(SERVER, os.path.join(folder, "server"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def scene(users, programs):
    """Alice runs a server; Bob has the same ports in mind."""
    alice, bob = users
    with alice.sleeps() as owner, OwnInstance(alice, programs) as it:
        first = it.launch("--owner-pid", owner.pid, "--ready", "notify", command=(it.server, "--notify"))
        assert first["code"] == 0, first
        it.owner = owner
        yield it, bob, OwnInstance(bob, programs, ports=(it.http, it.ws))
        status = it.status()
        assert status["state"] == "ready" and status["restarts"] == 0, status
        assert status["server"]["pid"] == it.result["server_pid"] and is_alive(it.result["daemon_pid"])
        assert is_alive(owner.pid)


def test_L3_nothing_of_another_user_can_be_read(scene):
    it, bob, _ = scene
    assert stat.S_IMODE(os.stat(it.directory).st_mode) == 0o700
    for name in os.listdir(it.directory):
        assert bob.python("open(sys.argv[1]).read()", os.path.join(it.directory, name)) == "PermissionError", name
    assert bob.python("os.listdir(sys.argv[1])", it.directory) == "PermissionError"
    for pid in (it.result["daemon_pid"], it.result["server_pid"], it.status()["guard_pid"]):
        assert bob.python("open('/proc/%s/environ' % sys.argv[1]).read()", pid) == "PermissionError"


def test_L3_nobody_else_talks_to_its_daemon(scene):
    it, bob, _ = scene
    for name, kind in (("control.sock", "SOCK_STREAM"), ("notify.sock", "SOCK_DGRAM")):
        said = bob.python("socket.socket(socket.AF_UNIX, socket.%s).connect(sys.argv[1])" % kind,
                          os.path.join(it.directory, name))
        assert said == "PermissionError", name


def test_L3_nobody_else_ends_it(scene):
    it, bob, _ = scene
    for pid in (it.result["daemon_pid"], it.result["server_pid"], it.status()["guard_pid"]):
        assert bob.python("os.kill(int(sys.argv[1]), 9)", pid) == "PermissionError"
    theirs = {"TETHER_STATE_DIR": it.user.place}
    for command in ("status", "stop", "restart", "logs", "sweep", "launch", "run"):
        done = run(it.argv(command), theirs, **bob.rights)
        assert done.status == 1 and "no access to the directory " + it.user.place in done.output, (command, done.output)


def test_L3_commands_of_another_user_see_that_a_port_is_taken_and_no_more(scene):
    it, bob, other = scene
    for command in (["stop"], ["stop", "--force"], ["restart"], ["status"]):
        assert other.cli(*command).status in (0, 5), command
    assert other.cli("sweep").status == 0
    result = other.launch()
    assert result["code"] == 3 and "user %d" % it.user.uid in result["message"], result
    moved = other.launch("--ports", "auto")
    assert moved["code"] == 0 and moved["http_port"] != it.http, moved
    theirs = OwnInstance(bob, os.path.dirname(other.program), ports=(moved["http_port"], moved["ws_port"]))
    assert theirs.cli("stop").status == 0


def test_L3_a_copied_mark_ends_nobody_of_another_user(scene):
    """Bob's process says that it is Alice's server; hers is not, nor does she end his."""
    it, bob, _ = scene
    # By herself: root in a container may not look into processes of others.
    seen = it.user.run(["cat", "/proc/%d/environ" % it.result["server_pid"]]).output
    copied = dict(entry.split("=", 1) for entry in seen.split("\0") if entry.startswith("TETHER_") and "=" in entry)
    assert "TETHER_MARK" in copied, seen
    with Process(["sleep", "1000"], copied, **bob.rights) as liar:
        for command in (["sweep"], ["doctor"], ["stop", "--force"]):
            assert it.cli(*command).status in (0, 1), command
        assert is_alive(liar.pid)
        assert it.launch("--owner-pid", it.owner.pid)["code"] == 0 and is_alive(liar.pid)


def test_L3_its_place_can_neither_be_removed_nor_renamed(scene):
    it, bob, _ = scene
    assert bob.python("os.rename(sys.argv[1], '/tmp/tether-of-bob')", it.user.place) == "PermissionError"
    assert bob.python("os.rmdir(sys.argv[1])", it.user.place) == "PermissionError"
    assert bob.python("os.mkdir(sys.argv[1] + '/x')", it.user.place) == "PermissionError"


SQUATS = {"directory": "os.mkdir(sys.argv[1]); os.chmod(sys.argv[1], 0o777)",
          "link": "os.symlink('/tmp', sys.argv[1])",
          "file": "open(sys.argv[1], 'w').close()"}


@pytest.mark.parametrize("kind", SQUATS)
def test_L3_a_place_that_another_was_first_to_take_is_refused(users, programs, kind):
    """Bob has been there before Alice's first start. She is told whose it is, and nothing is put there."""
    alice, bob = users
    assert bob.python(SQUATS[kind], alice.place) == "done"
    it = OwnInstance(alice, programs)
    for command in ("launch", "run", "status", "stop", "doctor", "sweep"):
        done = it.cli(command)
        assert done.status != 0 and alice.place in done.output, (command, done.output)
    if kind != "file":
        assert str(bob.uid) in it.cli("launch").output
    if kind == "directory":
        assert os.listdir(alice.place) == []
    assert is_nobody(alice.uid) is False and not os.path.exists("/tmp/%s" % it.name)


def test_L3_a_port_that_another_has_taken_is_left_to_him(users, programs):
    alice, bob = users
    it = OwnInstance(alice, programs)
    listen = "import socket; s = socket.socket(); s.bind(('127.0.0.1', %d)); s.listen(); print('up', flush=True); s.accept()"
    with Process(["/usr/bin/python3", "-c", listen % it.http], **bob.rights) as squatter:
        squatter.expect("up")
        result = it.launch()
        assert result["code"] == 3 and "user %d" % bob.uid in result["message"], result
        assert is_alive(squatter.pid)


def test_L3_the_built_in_server_answers_its_own_user_alone(users, programs):
    """Ports belong to the machine: who connects is asked for by the system, not by what he says."""
    alice, bob = users
    with alice.sleeps() as owner, OwnInstance(alice, programs) as it:
        assert it.launch("--owner-pid", owner.pid, command=(
            it.program, "serve", "--http-port", it.http, "--ws-port", it.ws))["code"] == 0
        ask = ("import http.client\nc = http.client.HTTPConnection('127.0.0.1', %d)\n"
               "c.request('POST', '/mcp', %r, {'Content-Type': 'application/json', 'Accept': 'application/json, "
               "text/event-stream'})\nprint(c.getresponse().status)")
        for port in (it.http, it.ws):
            refused = bob.run(["/usr/bin/python3", "-c", ask % (port, PING)]).output.splitlines()[-1]
            assert refused == "403" or "RemoteDisconnected" in refused or "ConnectionReset" in refused, (port, refused)
        assert alice.run(["/usr/bin/python3", "-c", ask % (it.http, PING)]).output.strip() == "400"  # no session yet


# ---- access lists --------------------------------------------------------------------------------

def access_list(uid):
    """Owner, that user, the group, the mask, others: all for the owner and for that user."""
    nobody = 0xFFFFFFFF
    entries = [(0x01, 7, nobody), (0x02, 7, uid), (0x04, 0, nobody), (0x10, 7, nobody), (0x20, 0, nobody)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def set_access_list(path, kind, uid):
    try:
        os.setxattr(path, "system.posix_acl_" + kind, access_list(uid))
    except OSError as error:
        pytest.skip("no access lists in this file system: %s" % error)


@pytest.mark.parametrize("level", ["state", "instance"])
def test_L3_a_directory_that_a_list_opens_to_another_is_refused(users, programs, level):
    """Such a list shows in the mode, as what the group may do."""
    alice, bob = users
    it = OwnInstance(alice, programs)
    path = it.directory if level == "instance" else it.user.place
    assert alice.python("os.makedirs(sys.argv[1], mode=0o700)", it.directory) == "done"
    os.chmod(it.user.place, 0o700)
    set_access_list(path, "access", bob.uid)
    result = it.launch()
    assert result["code"] == 1 and path in result["message"] and "open to other users" in result["message"], result


def test_L3_a_list_that_is_handed_down_opens_nothing(users, programs):
    """A default for what is made below a directory does not give more than the mode that we ask for."""
    alice, bob = users
    with alice.sleeps() as owner, OwnInstance(alice, programs) as it:
        assert alice.python("os.mkdir(sys.argv[1], mode=0o700)", it.user.place) == "done"
        set_access_list(it.user.place, "default", bob.uid)
        assert it.launch("--owner-pid", owner.pid)["code"] == 0
        os.chmod(it.user.place, 0o711)  # so that Bob gets as far as to what was made
        for name in os.listdir(it.directory):
            assert bob.python("open(sys.argv[1])", os.path.join(it.directory, name)) == "PermissionError", name
        os.chmod(it.user.place, 0o700)


# ---- a place that nothing can be written into any more -------------------------------------------

@pytest.mark.parametrize("mode", [0o500, 0o000])
def test_L5_a_place_that_is_closed_while_it_runs_hinders_nothing_but_the_records(users, programs, mode):
    """The server is supervised as before, and ends as told."""
    alice, _ = users
    with alice.sleeps() as owner, OwnInstance(alice, programs) as it:
        first = it.launch("--owner-pid", owner.pid, "--grace-ms", 50)
        assert first["code"] == 0
        for name in os.listdir(it.directory):
            if name != "control.sock":
                with contextlib.suppress(FileNotFoundError):  # a record that is just being written
                    os.chmod(os.path.join(it.directory, name), 0o400)
        os.chmod(it.directory, mode)
        try:
            os.kill(first["server_pid"], 9)
            if mode:
                wait_until(lambda: it.status()["restarts"] == 1 and it.status()["state"] == "ready", "it restarts")
                assert it.cli("restart").status == 0
            else:
                asked = it.cli("status")
                assert asked.status == 1 and "no access to the directory " + it.directory in asked.output
            owner.stop()
            it.wait_end()
            assert it.ports_are_free()
        finally:
            os.chmod(it.directory, 0o700)
