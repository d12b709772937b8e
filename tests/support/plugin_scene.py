"""An editor that does what a test says.

The project has a plugin, the driver, that connects to the test and runs the pieces of GDScript it is
sent, so that one start of an editor serves many checks. What TetherServers emit comes back over the
same connection, in order. A second plugin, the subject, holds a server as a plugin of a user would."""
import json
import os
import select
import shutil
import socket
import time

import editor
from harness import LIMIT, Process, end_strays, free_ports, system, wait_gone
from tether import SERVER, can_bind

ENGINE_TESTS = os.path.join(editor.ROOT, "tests/engine")
SETTINGS = """config_version=5

[application]

config/name="%s"
config/features=PackedStringArray("4.5")

[editor_plugins]

enabled=PackedStringArray(%s)
"""
SETTLED = ("while EditorInterface.get_resource_filesystem().is_scanning():\n"
           "\tawait driver.get_tree().process_frame\n")


def make_project(folder, plugins, title="Scene"):
    """A project with the addon's extension and these plugins."""
    editor.make_project(folder)
    for plugin in plugins:
        if plugin != "tether":
            shutil.copytree(os.path.join(ENGINE_TESTS, plugin), os.path.join(folder, "addons", plugin))
    with open(os.path.join(folder, "project.godot"), "w") as file:
        paths = ", ".join('"res://addons/%s/plugin.cfg"' % plugin for plugin in plugins)
        file.write(SETTINGS % (title, paths))
    return folder


class Link:
    """The connection to the driver of one editor at a time; a restarted editor connects anew."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.stream = None
        self.data = b""
        self.events = []
        self.replies = {}
        self.last_id = 0

    @property
    def port(self):
        return self.listener.getsockname()[1]

    def _read_more(self, end, process):
        sources = [self.listener] + ([self.stream] if self.stream else [])
        ready = select.select(sources, [], [],
                              max(0, min(1.0, end - time.monotonic())))[0]
        if self.stream in ready:
            try:
                more = self.stream.recv(65536)
            except ConnectionResetError:
                more = b""
            self.data += more
            if not more:
                self.stream.close()
                self.stream = None
        elif self.listener in ready:
            self.stream, self.data = self.listener.accept()[0], b""
        while b"\n" in self.data:
            line, self.data = self.data.split(b"\n", 1)
            message = json.loads(line)
            if "id" in message:
                self.replies[message["id"]] = message
            else:
                self.events.append(message)

    def wait(self, condition, what, process, limit=LIMIT):
        """Reads until the condition has a value and returns that."""
        end = time.monotonic() + limit
        while True:
            value = condition()
            if value is not None:
                return value
            if time.monotonic() > end or not process.reader.is_alive():  # its output has ended, and so has it
                raise AssertionError("no %s within %g s; last events: %s\n%s" % (
                    what, limit, [event for event in self.events if event["event"] != "log"][-8:],
                    process.output[:600] + "…" + process.output[-600:]))
            self._read_more(end, process)

    def send(self, code):
        self.last_id += 1
        self.stream.sendall(json.dumps({"id": self.last_id, "code": code}).encode() + b"\n")
        return self.last_id

    def close(self):
        self.listener.close()
        if self.stream:
            self.stream.close()


class Server:
    """One TetherServer inside the editor."""

    def __init__(self, scene, name, ports):
        self.scene = scene
        self.name = name
        self.http, self.ws = ports
        self.seen = len(scene.link.events)  # events before this one have been looked at
        self.reach = 'driver.servers["%s"]' % name

    @property
    def directory(self):
        return os.path.join(self.scene.state_dir, "%d-%d" % (self.http, self.ws))

    def call(self, method, *arguments):
        return self.scene.run("return %s.%s(%s)" % (
            self.reach, method, ", ".join(json.dumps(argument) for argument in arguments)))

    def do(self, method, *arguments):
        """Calls a method that returns nothing."""
        self.scene.run("%s.%s(%s)" % (
            self.reach, method, ", ".join(json.dumps(argument) for argument in arguments)))

    def set(self, **properties):
        for name, value in properties.items():
            self.scene.run("%s.set(%s, %s)" % (self.reach, json.dumps(name), json.dumps(value)))

    def status(self):
        return self.call("get_status")

    def forget(self):
        """Looks at no event from before now."""
        self.scene.run("")
        self.seen = len(self.scene.link.events)

    def expect(self, kind, limit=LIMIT, **values):
        """Waits for the next event of this kind with these values, and looks at none before it again."""
        def find():
            events = self.scene.link.events
            for index in range(self.seen, len(events)):
                event = events[index]
                if (event.get("server") == self.name and event["event"] == kind and
                        all(event.get(key) == value for key, value in values.items())):
                    self.seen = index + 1
                    return event
            return None
        return self.scene.wait(find, "%s %s of %s" % (kind, values, self.name), limit)

    def wait_state(self, state, limit=LIMIT):
        return self.expect("state", limit, state=state)

    def wait_another(self, pid):
        """Waits until a server other than this one is ready, and returns its pid. A state may be told
        again, with news of sessions, so that the first "ready" may still be that of the old one."""
        while True:
            self.wait_state("ready")
            if self.server_pid() not in (0, pid):
                return self.server_pid()

    def states(self, with_starting=False):
        """All states it was ever told in, in order, each once in a row. Starting only if asked for: how
        often a quick server is seen at it is up to chance."""
        found = []
        for event in self.scene.link.events:
            if event.get("server") == self.name and event["event"] == "state":
                if found[-1:] != [event["state"]] and (with_starting or event["state"] != "starting"):
                    found.append(event["state"])
        return found

    def server_pid(self):
        return self.status()["server"]["pid"]

    def daemon_pid(self):
        return self.status()["daemon"]["pid"]

    def start(self):
        """Starts it and waits until it is up; returns the server's pid."""
        self.forget()
        self.do("start")
        self.wait_state("ready")
        return self.server_pid()

    def stop(self):
        """Stops it and waits until its daemon is gone."""
        self.forget()
        daemon = self.daemon_pid()
        self.do("stop", True)
        self.wait_state("stopped")
        wait_gone(daemon)

    def ports_are_free(self):
        return can_bind(self.http) and (self.ws == 0 or can_bind(self.ws))


class Scene:
    """One editor with the driver. A context manager: what is left of it is killed at the end."""

    def __init__(self, folder, state_dir, plugins=("driver",), env=None, title="Scene", arguments=("--verbose",),
                 command=None, wait=True):
        self.folder = folder
        self.state_dir = state_dir
        self.link = Link()
        self.process = None
        self.title = title
        self.plugins = plugins
        self.env = {"TETHER_STATE_DIR": state_dir, "TETHER_HEADLESS": "1",
                    "DRIVER_PORT": str(self.link.port)}
        self.env.update(env or {})
        self.arguments = list(arguments)
        self.command = command
        if not os.path.exists(folder):
            make_project(folder, plugins, title)
        try:
            self.open(wait)
        except BaseException:
            self.close()
            raise

    def open(self, wait=True):
        """Starts the editor, also anew after its end."""
        seen = len(self.link.events)
        if self.command:
            self.process = self.command(self.folder, self.arguments, self.env)
        else:
            self.process = editor.editor(self.folder, *self.arguments, env=self.env)
        if wait:
            self.wait_here(seen)

    def wait_here(self, seen=0):
        """Waits until the driver has come; returns the pid of its editor."""
        def find():
            for event in self.link.events[seen:]:
                if event["event"] == "here":
                    return event["pid"]
            return None
        return self.wait(find, "driver", editor.START_LIMIT)

    @property
    def pid(self):
        return self.process.pid

    def wait(self, condition, what, limit=LIMIT):
        return self.link.wait(condition, what, self.process, limit)

    def post(self, code):
        """Sends a piece of script that nobody waits for."""
        return self.link.send(code)

    def result(self, number, limit=LIMIT):
        reply = self.wait(lambda: self.link.replies.pop(number, None), "reply", limit)
        assert "error" not in reply, reply
        return reply.get("value")

    def run(self, code, limit=LIMIT):
        """Runs lines of GDScript in the editor, as the body of a function that has `driver`."""
        return self.result(self.post(code), limit)

    def server(self, name, pair=None, command=(SERVER,), with_log=True, **properties):
        """Makes a TetherServer, with the test server as its command and ports of its own."""
        pair = pair or free_ports()
        properties.update(command=system.command(command), http_port=pair[0], ws_port=pair[1])
        self.run("driver.make(%s, %s, %s)" % (json.dumps(name), json.dumps(properties), json.dumps(with_log)))
        return Server(self, name, pair)

    def subject(self, ports):
        """The server of the plugin beside the driver."""
        found = Server(self, "subject", ports)
        found.seen = 0
        found.reach = 'Engine.get_meta(&"subject").get_ref()'
        return found

    def drop_servers(self):
        """So that those of a test that failed do not come back in the next one."""
        if self.link.stream and self.process.reader.is_alive():
            self.run("driver.servers.clear()")

    def settle(self):
        """Waits until the editor has looked through the project's files. If it ends before, the engine itself
        leaves objects behind now and then, or aborts."""
        self.run(SETTLED, editor.START_LIMIT)

    def quit(self):
        """Closes the editor as its user would, in a frame without a scan; returns its complaints."""
        self.post(SETTLED + "EditorInterface.get_base_control().get_tree().quit()")
        return self.wait_closed()

    def wait_closed(self):
        status = self.process.wait(editor.START_LIMIT)
        assert status == 0, "exit status %d\n%s" % (status, self.process.output[-4000:])
        return editor.complaints(self.process.output)

    def close(self):
        if self.process:
            self.process.stop()
        self.link.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def shared_scene(folder, **options):
    """An editor for all tests of a file, as the body of a fixture: it stays when a test ends, and
    closes without a complaint and without a process of ours when the last one has."""
    state_dir = os.path.join(folder, "state")
    os.mkdir(state_dir, 0o700)
    scene = Scene(os.path.join(folder, "p"), state_dir, **options)
    Process.running.remove(scene.process)  # what is in that list ends with each test
    Process.at_failure.append(scene.drop_servers)
    yield scene
    Process.at_failure.remove(scene.drop_servers)
    Process.running.append(scene.process)
    try:
        complaints = scene.quit()
        assert not complaints, (complaints, editor.around(scene.process.output, complaints))
        assert end_strays() == []
    finally:
        scene.close()
