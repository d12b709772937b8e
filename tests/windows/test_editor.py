"""Row G8: a Windows editor with the whole addon, and who works with it. What one server does in an editor is
tested by the tests of tests/engine, which run here, too."""
import json
import os

import pytest

from harness import run, system
from scene import Watched, wait_until
from tether import can_bind
from whole import Whole

HERE = os.path.dirname(os.path.abspath(__file__))
NODE = os.environ.get("TETHER_WINDOWS_NODE", "")
RESOLVE = os.path.join(os.path.dirname(HERE), "mcp/resolve.mjs")

pytestmark = pytest.mark.skipif(not system.ENGINE, reason="there is no Godot editor for Windows: "
                                "`./dev engine windows` makes one, or set GODOT_WINDOWS")


@pytest.mark.skipif(not NODE, reason="there is no Node.js for Windows here")
def test_G8_a_client_of_windows_calls_tools_and_nothing_is_left_of_a_killed_editor(tmp_path):
    with Whole(str(tmp_path)) as whole:
        whole.client().close()  # the editor's tools are there
        calls = [["editor_state", {}], ["scene_new", {"path": "res://made.tscn"}], ["scene_tree", {}]]
        done = run([system.native(NODE), "--import", system.url(RESOLVE), system.native(HERE + "/client.mjs"),
                    json.dumps(whole.instance.argv("mcp")), json.dumps(calls)],
                   {**whole.instance.env, "TETHER_NODE": system.native(os.environ["TETHER_NODE"]),
                    "NODE_SKIP_PLATFORM_CHECK": "1"}, limit=120)  # Wine says that it is an old Windows
        assert done.status == 0, done.output
        told = json.loads(done.output.splitlines()[-1])
        assert told["platform"] == "win32" and {name for name, _ in calls} <= set(told["tools"])
        assert not [answer for answer in told["answers"] if answer.get("isError")], told["answers"]
        assert os.path.exists(whole.path("res://made.tscn"))
        status = whole.instance.status()
        pids = [status[part]["pid"] for part in ("daemon", "server")] + [whole.scene.pid]
        with Watched(pids) as all_of_it:
            whole.scene.process.kill()
            all_of_it.wait()
        wait_until(lambda: all(can_bind(port) for port in whole.ports), "both ports are free")
        with open(os.path.join(whole.instance.directory, "last.json")) as file:
            last = json.load(file)
        assert last["cause"] == "owner died" and not last["server"]["processes_left"]
