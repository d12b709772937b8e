"""The addon's tools in a real editor, called one by one from a test."""
import json
import os
import random
import shutil
import select
import signal
import socket
import struct
import time

from editor import ENGINE, HEADLESS, ROOT, START_LIMIT, around, complaints, home
from harness import IS_WINDOWS, LIMIT, Process, children_of, end_strays, system

FOLDERS = 32  # made at once
SCREENS = range(1000, 50000)  # numbers of screens that nobody has by accident
PLUGIN = '[plugin]\nname="Probe"\ndescription=""\nauthor=""\nversion="1"\nscript="tools_probe.gd"\n'


def make_tools_project(folder, more_settings=""):
    """A project with only the tools of the addon, and the plugin that calls them."""
    shutil.copytree(os.path.join(ROOT, "tests/engine/project"), folder)
    os.makedirs(os.path.join(folder, "addons/tether"))
    os.makedirs(os.path.join(folder, "addons/probe"))
    os.symlink(os.path.join(ROOT, "addons/tether/tools"), os.path.join(folder, "addons/tether/tools"))
    shutil.copy(os.path.join(ROOT, "tests/support/tools_probe.gd"), os.path.join(folder, "addons/probe"))
    with open(os.path.join(folder, "addons/probe/plugin.cfg"), "w") as file:
        file.write(PLUGIN)
    settings = os.path.join(folder, "project.godot")
    with open(settings) as file:
        text = file.read()
    with open(settings, "w") as file:
        file.write(text.replace("res://addons/tether/plugin.cfg", "res://addons/probe/plugin.cfg"))
        # What every machine can do: drawing with OpenGL, and no sound.
        file.write('\n[audio]\n\ndriver/driver="Dummy"\n'
                   '\n[rendering]\n\nrenderer/rendering_method="gl_compatibility"\n' + more_settings)
    return folder


def check_table(registered):
    """The table in docs/tools.md is made of what the tools say of themselves; TETHER_WRITE_DOCS=1 writes it."""
    rows = ["| tool | | what it does | arguments |", "|---|---|---|---|"]
    for name, schema in registered.items():
        hints = schema["annotations"]
        flags = "r" if hints.get("readOnlyHint") else "d" * hints.get("destructiveHint", True)
        required = schema["inputSchema"].get("required", [])
        arguments = ["**%s**" % key if key in required else key for key in schema["inputSchema"]["properties"]]
        rows.append("| `%s` | %s | %s | %s |" % (name, flags, schema["description"].replace("|", "\\|"), ", ".join(arguments)))
    path = os.path.join(ROOT, "docs/tools.md")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    head, rest = text.split("<!-- tools: begin", 1)
    first, rest = rest.split("\n", 1)
    tail = rest[rest.index("<!-- tools: end"):]
    wanted = head + "<!-- tools: begin" + first + "\n" + "\n".join(rows) + "\n" + tail
    if os.environ.get("TETHER_WRITE_DOCS"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(wanted)
    else:
        assert text == wanted, "docs/tools.md is old; TETHER_WRITE_DOCS=1 ./dev test engine writes it"


class Refused(Exception):
    """A tool answered with an error; its text."""


class ToolsEditor:
    """An editor whose tools can be called. Use as a context manager; leaves nothing running."""

    def __init__(self, project, *arguments, env=None, connect=True):
        self.project = project
        self.listener = socket.create_server(("127.0.0.1", 0))
        environment = {**home(project), "TETHER_PROBE_PORT": str(self.listener.getsockname()[1]),
                       **(env or {})}
        # Verbose, because only then the engine names what it has left behind.
        self.process = Process([ENGINE, *(arguments or HEADLESS), "--verbose", "--editor", "--path",
                                system.native(project)], environment)
        self.connection = None
        self.connect = connect
        self.begun = 0
        self.last_usec = 0  # how long the last call took
        self.last_frames = 0  # and how many frames the editor had meanwhile

    def __enter__(self):
        if not self.connect:
            return self
        if not self.comes():
            output = self.process.output
            self.__exit__()
            raise AssertionError("the probe did not connect:\n" + output)
        self.connection, _ = self.listener.accept()
        self.connection.settimeout(2 * LIMIT)
        self.lines = self.connection.makefile("r", encoding="utf-8")
        return self

    def comes(self):
        """Waits for the probe, or the end of its editor."""
        end = time.monotonic() + START_LIMIT
        while time.monotonic() < end and self.process.popen.poll() is None:
            if select.select([self.listener], [], [], 0.5)[0]:
                return True
        return False

    def __exit__(self, *_):
        if self.connection:
            self.lines.close()
            self.connection.close()
        self.listener.close()
        games = [] if IS_WINDOWS else children_of(self.process.pid)  # which would outlive an editor that is not closed in order
        self.process.stop()
        for game in games:
            if game in children_of(os.getpid()):
                os.kill(game, signal.SIGKILL)

    def request(self, **message):
        self.send(**message)
        return self.receive()

    def send(self, **message):
        self.connection.sendall((json.dumps(message) + "\n").encode())

    def receive(self):
        line = self.lines.readline()
        assert line, "the editor is gone:\n" + self.process.output[-4000:]
        return json.loads(line, strict=False)  # the engine leaves control characters as they are

    def call(self, tool, **arguments):
        """The answer of a tool; raises Refused with the text if it is an error. Where the editor scans it is tried
        again, as the answer says."""
        end = time.monotonic() + START_LIMIT
        while True:
            try:
                return self.call_once(tool, **arguments)
            except Refused as error:
                if "busy: it scans" not in str(error) or time.monotonic() > end:
                    raise
                self.request(op="frame")

    def call_once(self, tool, **arguments):
        reply = self.request(op="call", tool=tool, arguments=arguments)
        self.last_usec = reply["usec"]
        self.last_frames = reply["frames"]
        answer = reply["answer"]
        assert isinstance(answer, dict) and "missing" not in answer, (tool, answer)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer

    def refusal(self, tool, **arguments):
        """The text of the error that a call must give."""
        try:
            answer = self.call_once(tool, **arguments)
        except Refused as error:
            return str(error)
        raise AssertionError("%s was not refused: %r" % (tool, answer))

    def run_code(self, code):
        """What a piece of GDScript returns in the editor; it must not fail."""
        answer = self.call("script_run", code=code)
        assert "errors" not in answer, answer
        return answer["result"]

    def until(self, tool, wanted, **arguments):
        """Asks a tool again and again until its answer is as wanted: for states without an event."""
        end = time.monotonic() + START_LIMIT  # it may be a game that is to start
        while time.monotonic() < end:
            try:
                answer = self.call(tool, **arguments)
                if wanted(answer):
                    return answer
            except Refused as error:  # a game that gets no turn on a busy machine
                if "The game is not answering" not in str(error):
                    raise
                answer = str(error)
            self.request(op="frame")
        raise AssertionError("%s stays %r" % (tool, answer))

    def close_scenes(self):
        self.run_code("for path in EditorInterface.get_open_scenes():\n\tEditorInterface.close_scene()")
        self.until("editor_state", lambda state: not state["open_scenes"])

    def attach(self):
        """Registers the tools again after op="detach"."""
        self.request(op="attach")
        while not self.request(op="list")["answer"]:
            self.request(op="frame")

    def begin(self):
        """A new scene, the only one that is open; for tests that share an editor."""
        self.close_scenes()
        if self.begun % FOLDERS == 0:
            self.make_folders()
        self.begun += 1
        self.scene = "res://scene%d/main.tscn" % self.begun
        self.call("scene_new", path=self.scene)

    def make_folders(self):
        """For the next scenes: in one that it does not know yet, the editor would look through the whole project each time,
        which takes a second on Windows."""
        for number in range(self.begun + 1, self.begun + 1 + FOLDERS):
            os.makedirs("%s/scene%d" % (self.project, number), exist_ok=True)  # a test may have gone ahead
        self.run_code("EditorInterface.get_resource_filesystem().scan()")
        self.settle()

    def settle(self):
        """Waits until the editor has scanned the project."""
        self.until("editor_state", lambda state: "busy" not in state)

    def quit(self, expected=()):
        """Closes the editor in order; returns the complaints that no pattern of expected names."""
        self.request(op="quit")
        status = self.process.wait(START_LIMIT)
        assert status == 0, (status, self.process.output[-3000:])
        return [line for line in complaints(self.process.output)
                if not any(part in line for part in expected)]


def shared_tools(folder, *arguments, settings="", expected=(), fill=None, allowed=(), **options):
    """An editor for all tests of a file, as the body of a fixture: it stays when a test ends, and
    closes without a complaint when the last one has."""
    project = make_tools_project(os.path.join(folder, "p"), settings)
    if fill:
        fill(project)
    with ToolsEditor(project, *arguments, **options) as tools:
        Process.running.remove(tools.process)  # what is in that list ends with each test
        try:
            tools.settle()
            yield tools
        finally:
            Process.running.append(tools.process)
        said = tools.quit(expected)
        assert not said, (said, around(tools.process.output, said))
        assert "probe: 0 tools left" in tools.process.output
    strays = end_strays(allowed)
    assert not strays, strays


class Display:
    """A screen that nobody sees, for editors that draw; what is on it is in a file, if there is a folder for that."""

    def __init__(self, size="1280x800x24", folder=None):
        self.file = os.path.join(folder or "", "Xvfb_screen0")
        for _ in range(10):
            self.name = ":%d" % random.choice(SCREENS)
            if self.start("-screen", "0", size, *(["-fbdir", folder] if folder else [])):
                return
            self.process.stop()
        raise AssertionError("Xvfb did not start:\n" + self.process.output)

    def start(self, *options):
        """Whether that screen is ours. Xvfb would look for a free one by itself, but in networks of their own, as tests on
        Windows have, two would find the same, and the second would take away the socket of the first."""
        reading, writing = os.pipe()
        self.process = Process(["Xvfb", self.name, "-displayfd", str(writing), "-nolisten", "tcp", *options], pass_fds=(writing,))
        os.close(writing)
        with os.fdopen(reading) as pipe:
            return pipe.readline() != ""

    def pixels(self, x, y, width, height):
        """The colours in a part of the screen, as (red, green, blue): it is a file of xwd's, of four bytes each."""
        with open(self.file, "rb") as file:
            head = struct.unpack(">25I", file.read(100))
            start, line, colors = head[0], head[12], head[19]
            for row in range(y, y + height):
                file.seek(start + 12 * colors + row * line + 4 * x)
                data = file.read(4 * width)
                yield from zip(data[2::4], data[1::4], data[0::4])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process in Process.running:
            self.process.kill(signal.SIGTERM)  # it takes its files along
            self.process.wait()
        self.process.stop()
