"""Lets AI clients of others work with a real editor, in a network of its own, and writes down what came of it.

    python3 client_lab.py --to FILE [--only TRANSPORT] CLIENT…

It is to be started in network and mount namespaces that are new (real_sessions.py does): nothing is reached but 127.0.0.1,
the instance has the ports that people have, and its files are where people have them. The model is ours and says what
stands below. What is written is {client: {"version", "http" and "stdio": {"first", "work", "check", "stranger", "protocol"}}}."""
import argparse
import fcntl
import http.server
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(__file__))

import editor  # noqa: E402
from harness import TETHER, Process, become_subreaper, end_strays, run  # noqa: E402
from mcp_client import McpClient, McpError  # noqa: E402
from real_clients import CLIENTS, ENTRY, NODE  # noqa: E402
from scene import wait_until  # noqa: E402
from scripted_model import Model, Step  # noqa: E402

URL = "http://127.0.0.1:8000/mcp"
INSTRUCTIONS = "You work in a Godot editor that the user has open"
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
OURS = ENTRY.replace("-", "_")  # as some clients write it
LINGER = {"TETHER_LINGER_MS": "60000"}
OPEN_IT = r"[Oo]pen the project.*Godot"


def close_the_world():
    """Brings up the loopback of this network, which has nothing else, and hides the instances of the user."""
    with socket.socket() as stream:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(stream, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(stream, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))
    with open("/proc/net/dev") as file:
        assert len(file.readlines()) == 3, "there is another network than the loopback here"
    os.makedirs("/run/user", exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "none", "/run/user"], check=True)
    os.mkdir("/run/user/%d" % os.getuid(), 0o700)


class Lab:
    """The project, and the editor that comes and goes in it."""

    def __init__(self, folder):
        self.folder = folder
        self.project = editor.make_project(os.path.join(folder, "game"))
        # Clients look for what is told to them in all folders above, up to where a repository begins.
        subprocess.run(["git", "init", "-q", self.project], check=True)
        self.editor = self.front = None
        self.env = {}

    def offers(self):
        """Whether an editor has told its tools."""
        try:
            editors = McpClient(8000).call("editors_list")["editors"]
        except (OSError, McpError):
            return False
        return any(each["tools"] for each in editors)

    def open(self):
        if self.editor is None:
            self.editor = editor.editor(self.project, env={"TETHER_HEADLESS": "1", **self.env})
            wait_until(self.offers, "the editor offers its tools", editor.START_LIMIT)

    def kill(self):
        """The editor dies, and its server with it, unless somebody else has it."""
        if self.editor:
            self.editor.stop()
            self.editor = None
        wait_until(lambda: not self.offers(), "its tools are gone")

    def serve(self):
        """A server without an editor, because another client has started its front."""
        self.front = Process([TETHER, "mcp", "--project", self.project], self.env, stdin=subprocess.PIPE)
        wait_until(lambda: run([TETHER, "status"]).status == 0 and self.answers(), "the server answers")

    def answers(self):
        try:
            return McpClient(8000) is not None
        except OSError:
            return False

    def end_front(self):
        if self.front:
            self.front.popen.stdin.close()
            self.front.wait()
            self.front.stop()
            self.front = None

    def open_for_all(self):
        """The editor comes, and the front that was there before it goes."""
        self.open()
        self.end_front()

    def close(self):
        """And a server that lingers is not waited for."""
        self.end_front()
        self.kill()
        run([TETHER, "stop"])


# ---- what the model does -------------------------------------------------------------------------

def work(lab, scene):
    """A session like any: looks, makes a scene, writes and reads a script, takes something back; then the editor dies,
    and comes back."""
    path = "res://%s.tscn" % scene
    script = "extends Node2D\n\nvar speed: float = 0.7\n"
    return [
        # A client may add arguments of its own.
        Step("editor_state", wait_for_previous=True, expect=r'"project":"Tether demo".*wait_for_previous'),
        Step("scene_new", path=path, root_type="Node2D", expect=r'"opened":"%s"' % path),
        Step("node_add", type="Sprite2D", name="Player", properties='{"position": [3, 0.7]}', expect=r'"added":"Player"'),
        Step("node_set", path="Player", properties='{"rotation": 0.5}', expect=r"rotation"),
        Step("node_add", type="Camera2D", name="Camera", parent="Player", expect=r'"added":"Player/Camera"|"added":"Camera"'),
        Step("editor_undo", expect=r'"undone":"Add Camera"'),
        Step("scene_tree", expect=r"Player \(Sprite2D\)(?!.*Camera)"),
        Step("node_get", path="Player", expect=r"(?s)position.*0\.7\b(?!0)"),
        Step("script_create", path="res://%s.gd" % scene, text=script, expect=r"%s\.gd" % scene),
        Step("file_read", path="res://%s.gd" % scene, expect=r"extends Node2D\s+var speed: float = 0\.7"),
        Step("script_attach", node="Player", path="res://%s.gd" % scene, expect=r"%s\.gd" % scene),
        Step("scene_save", expect=re.escape(path)),
        Step("editor_screenshot", expect=r"without a window"),
        Step("docs_member", **{"class": "Node2D", "name": "rotate"}, expect=r"(?i)rotat"),
        # While nobody is there it may say so in any words: over HTTP there is nobody who could.
        Step("editor_state", before=lab.kill, away=True, expect=r"."),
        Step("scene_open", before=lab.open, path=path, expect=r'"opened":"%s"' % path),
        Step("scene_tree", expect=r"Player \(Sprite2D\)"),
    ]


def come_first(lab):
    """The client is there before the editor."""
    return [Step("editor_state", expect=OPEN_IT),
            Step("editor_state", before=lab.open_for_all, expect=r'"project":"Tether demo"'),
            Step("file_list", expect=r"project\.godot")]


def judge(steps, wrong, done):
    """What came of a session, as it is written down."""
    told = []
    for step in steps:
        text = step.result["text"] if step.result else None
        told.append({"tool": step.tool, "away": step.away, "ok": text is not None and bool(re.search(step.expect, text, re.S)),
                     "text": text if text is None else text[:600],
                     "tools": step.ask and sum(OURS in name.replace("-", "_") for name in step.ask.tools),
                     "instructions": step.ask is not None and INSTRUCTIONS in step.ask.text})
    return {"steps": told, "wrong": wrong, "status": done and done.status, "output": done and done.output[-3000:],
            "all_output": done.output if done else ""}


def hold(model, client, steps):
    model.play(steps)
    begun = time.monotonic()
    try:
        done = client.session()
    except TimeoutError as error:
        done = None
        model.wrong.append(str(error))
    return dict(judge(steps, model.wrong, done), seconds=round(time.monotonic() - begun, 1))


def examine(lab, model, kind, transport):
    """All of one client over one transport."""
    home = os.path.join(lab.folder, "%s-%s" % (kind.name, transport))
    lab.close()
    lab.env = LINGER if kind.lingers and transport == "http" else {}
    client = kind(home, lab.project, model.url, transport)
    if transport == "http":
        lab.serve()
    found = {"first": hold(model, client, come_first(lab))}
    found["first"].pop("all_output")
    lab.open_for_all()  # if the client did not come so far
    found["work"] = hold(model, client, work(lab, kind.name + "_" + transport))
    lab.open()
    ok, said = client.check(found["work"].pop("all_output"))
    found["check"] = {"ok": ok, "said": said[-3000:]}
    client.clean()
    return found


# ---- a server of others --------------------------------------------------------------------------

EVERYTHING = os.path.join(os.environ.get("TETHER_NODE", ""),
                          "node_modules/@modelcontextprotocol/server-everything/dist/index.js")


def visit(lab, model, kind, transport):
    """A server that speaks over standard input and output: shared over HTTP, or watched for this client alone."""
    lab.close()
    home = os.path.join(lab.folder, "%s-%s-stranger" % (kind.name, transport))
    words = ["--", NODE, EVERYTHING]
    if transport == "http":
        done = run([TETHER, "launch", "--stdio", *words])
        assert done.status == 0, done.output
    server = {"url": URL} if transport == "http" else {"command": [TETHER, "mcp", *words]}
    client = kind(home, lab.project, model.url, server)
    found = hold(model, client, [Step("echo", message="ä€🎈", expect=r"Echo: ä€🎈"),
                                 Step("get-sum", a=40, b=2, expect=r"sum of 40 and 2 is 42"),
                                 Step("get-structured-content", location="Chicago", expect=r"\d")])
    client.clean()
    if transport == "http":
        assert run([TETHER, "stop"]).status == 0
    found.pop("all_output")
    return found


# ---- the protocol --------------------------------------------------------------------------------

class Listener(http.server.BaseHTTPRequestHandler):
    """A server that serves nobody; the first thing that it is told stands in `first`."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.first = self.server.first or body
        self.send_error(404)

    def log_message(self, *_):
        pass


def first_word(model, kind, lab, transport):
    """What a client says first, to a server that does not answer."""
    model.play([])
    home = os.path.join(lab.folder, "%s-%s-first" % (kind.name, transport))
    if transport == "stdio":
        path = home + ".json"
        client = kind(home, lab.project, model.url, {"command": ["sh", "-c", "head -n 1 >>'%s'" % path]})
        client.session()
        client.clean()
        with open(path, "rb") as file:
            return file.readline()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener) as server:
        server.first = None
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        client = kind(home, lab.project, model.url, {"url": "http://127.0.0.1:%d/mcp" % server.server_address[1]})
        client.session()
        client.clean()
        server.shutdown()
        thread.join()
        return server.first


def protocol(*where):
    """Which revision of the protocol it asks for, in either era's words."""
    params = json.loads(first_word(*where))["params"]
    return params.get("protocolVersion") or params["_meta"]["io.modelcontextprotocol/protocolVersion"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--to", required=True, help="where what came of it is written, as JSON")
    parser.add_argument("--only", choices=("http", "stdio"))
    parser.add_argument("--protocol", action="store_true", help="which one each asks for, too")
    parser.add_argument("clients", nargs="+", choices=CLIENTS)
    options = parser.parse_args()
    close_the_world()
    become_subreaper()
    folder = tempfile.mkdtemp(prefix="clients-")
    lab = Lab(folder)
    told = {}
    try:
        with Model() as model:
            for kind in (CLIENTS[name] for name in options.clients):
                told[kind.name] = {"version": kind.version()}
                for transport in ("http", "stdio"):
                    if options.only in (None, transport):
                        told[kind.name][transport] = examine(lab, model, kind, transport)
                        if kind.visits:
                            told[kind.name][transport]["stranger"] = visit(lab, model, kind, transport)
                        if options.protocol:
                            told[kind.name][transport]["protocol"] = protocol(model, kind, lab, transport)
            lab.close()
        left = end_strays()
        assert not left, left
    finally:
        for process in list(Process.running):
            process.stop()
        shutil.rmtree(folder, ignore_errors=True)
        with open(options.to, "w") as file:
            json.dump(told, file, indent=1)


if __name__ == "__main__":
    main()
