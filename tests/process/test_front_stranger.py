"""`tether mcp` says nothing to a server of another user, whoever has taken the port of ours. Row F7."""
import os
import shutil
import sys
import tempfile

import pytest

from front import LEGACY, STUB, Scene
from harness import kill

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="another user can be had by root only")
AS_NOBODY = [sys.executable, "-c",
             "import os, sys; os.setgroups([]); os.setgid(65534); os.setuid(65534); os.execv(sys.argv[1], sys.argv[1:])"]
ONLY_LISTENS = [sys.executable, "-c", """
import os, signal, socket
kept = [socket.create_server(("127.0.0.1", int(os.environ["TETHER_%s_PORT" % name]))) for name in ("HTTP", "WS")]
signal.pause()"""]
MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {}}}


@pytest.fixture
def scene(state_dir):
    with Scene(state_dir, env={"TETHER_HTTP_TOKEN": "secret"}) as made:
        yield made


@pytest.fixture
def stub():
    """The stub where every user may read it: a home is often closed to others, with all below it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        yield [sys.executable, shutil.copy(STUB[-1], folder)]


@pytest.mark.parametrize("kind", ["accepts", "only listens"])
def test_F7_a_server_of_another_user_is_told_nothing(stub, scene, kind):
    front = scene.start(command=AS_NOBODY + (stub if kind == "accepts" else ONLY_LISTENS))
    for method, params in (("initialize", {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {}}),
                           ("tools/list", MODERN)):
        error = front.ask(method, params)["error"]
        assert error["code"] == -32000 and "another user" in error["message"], error
    assert [event for event in scene.observer.rest() if event["event"] == "request"] == []


def test_F7_a_session_does_not_go_on_with_a_server_of_another_user(stub, scene, tmp_path):
    """It was ours; the one that comes after a crash is not."""
    mark = tmp_path / "once"
    mark.touch()
    mark.chmod(0o600)
    change = [sys.executable, "-c", """
import os, sys
if os.path.exists(%r):
    os.unlink(%r)
else:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
os.execv(sys.argv[1], sys.argv[1:])""" % (str(mark), str(mark))]
    front = scene.start(command=change + stub)
    front.initialize()
    assert front.ask("ping")["result"] == {}
    assert scene.observer.expect_call("ping")
    kill(scene.status()["server"]["pid"])
    error = front.ask("ping")["error"]
    assert error["code"] == -32000 and "another user" in error["message"], error
    # The stream of the server that was ours may be heard of late.
    assert [event for event in scene.observer.rest() if event.get("method") == "POST"] == []
