#!/usr/bin/env python3
"""Takes the pictures of the dock for the documentation: real editors with real servers, on a screen
of their own. Usage: take.py FOLDER [NAME…]"""
import contextlib
import os
import shutil
import socket
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import harness  # noqa: E402
from editor import ENGINE, ROOT  # noqa: E402
from mcp_client import McpClient, McpError, ToolFailed  # noqa: E402
from scene import wait_until  # noqa: E402

LIMIT = 120.0  # an editor that draws without a graphics card is slow
SCALES = {100: 2, 200: 6}  # the numbers of the editor setting
PYTHON = "/usr/bin/python3"
CRASHING = [PYTHON, "-m", "dungeon_tools"]
# What an AI client does for a picture, and how it is called.
CLIENT = "Claude Code"
CALLS = [("editor_state", {}), ("scene_new", {"path": "res://level.tscn"}),
         ("node_add", {"type": "Sprite2D", "name": "Player", "properties": {"position": [120, 80]}}),
         ("node_set", {"path": "Player", "properties": {"velocity": [10, 0]}}),
         ("script_create", {"path": "res://player.gd", "text": "extends Sprite2D\n\n\nfunc _process(delta: float) -> void:\n"
                                                               "\tposition.x += 60.0 * delta\n"}),
         ("script_attach", {"node": "Player", "path": "res://player.gd"}), ("scene_save", {})]
ASKED = [("script_run", {"code": "for file in DirAccess.get_files_at(\"res://old\"):\n\tDirAccess.remove_absolute(\"res://old\".path_join(file))\n"
                                 "return DirAccess.get_files_at(\"res://old\").size()"})]

# What each picture shows: the state to wait for, and how the editor looks.
SHOTS = {
    "dock-running": {"state": "ready", "second_editor": True},
    "dock-blocked": {"state": "blocked", "stranger": True},
    "dock-crashed": {"state": "failed", "command": CRASHING},
    "dock-connect": {"state": "ready", "tab": "Connect", "home": (".claude", ".cursor", ".codex", "config/Code")},
    "dock-light": {"state": "ready", "preset": "Light"},
    "dock-200-percent": {"state": "ready", "scale": 200, "size": (2700, 1500)},
    "dock-tools": {"state": "ready", "tab": "Tools", "settings": [
        'tools/ask_first=PackedStringArray("script_run", "project")', 'tools/switched_off=PackedStringArray("game")']},
    "dock-activity": {"state": "ready", "tab": "Activity", "calls": CALLS},
    "question": {"state": "ready", "asked": ASKED, "settings": ['tools/ask_first=PackedStringArray("script_run")']},
}


def ports():
    """The usual ports, for the pictures look best with those; others where they are taken."""
    for port in (8000, 9500):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return harness.free_ports()
    return [8000, 9500]


def make_project(folder, name, command, pair, with_shot, more=()):
    """A project with the addon, and with the plugin that takes the picture if it is to be taken."""
    os.makedirs(folder + "/addons")
    os.makedirs(folder + "/.godot")
    os.symlink(ROOT + "/addons/tether", folder + "/addons/tether")
    plugins = ["tether"]
    if with_shot:
        shutil.copytree(HERE, folder + "/addons/shot", ignore=shutil.ignore_patterns("*.py"))
        plugins.append("shot")
    with open(folder + "/.godot/extension_list.cfg", "w") as file:
        file.write("res://addons/tether/tether.gdextension\n")
    listed = ", ".join('"res://addons/%s/plugin.cfg"' % plugin for plugin in plugins)
    settings = ["server/http_port=%d" % pair[0], "server/ws_port=%d" % pair[1], *more]
    if command:
        words = ", ".join('"%s"' % word for word in command)
        settings += ["server/command=PackedStringArray(%s)" % words,
                     'server/environment={"PYTHONPATH": "%s"}' % HERE]
    with open(folder + "/project.godot", "w") as file:
        file.write('config_version=5\n\n[application]\n\nconfig/name="%s"\n\n[editor_plugins]\n\n'
                   'enabled=PackedStringArray(%s)\n\n[tether]\n\n%s\n'
                   % (name, listed, "\n".join(settings)))


def make_home(folder, shot):
    """Editor settings: the scale and the colours of the picture."""
    os.makedirs(folder + "/config/godot")
    version = harness.run([ENGINE, "--version"]).output.split(".")
    lines = ["interface/editor/display_scale = %d" % SCALES[shot.get("scale", 100)],
             "tether/notifications/show_toasts = false"]  # they would hide a part of the dock
    if "preset" in shot:
        lines.append('interface/theme/color_preset = "%s"' % shot["preset"])
    name = "editor_settings-%s.%s.tres" % (version[0], version[1])
    with open(folder + "/config/godot/" + name, "w") as file:
        file.write('[gd_resource type="EditorSettings" format=3]\n\n[resource]\n%s\n' % "\n".join(lines))
    for name in shot.get("home", ()):  # what tells that clients are there
        os.makedirs(os.path.join(folder, name))
    return {"HOME": folder, "XDG_CONFIG_HOME": folder + "/config", "XDG_DATA_HOME": folder + "/data",
            "XDG_CACHE_HOME": folder + "/cache", "TETHER_STATE_DIR": folder + "/state"}


@contextlib.contextmanager
def screen(size):
    """An X server of our own; yields the name of its display."""
    read, write = os.pipe()
    with harness.Process(["Xvfb", "-displayfd", str(write), "-screen", "0", "%dx%dx24" % size,
                          "-nolisten", "tcp"], pass_fds=[write]):
        os.close(write)
        with os.fdopen(read) as file:
            yield ":" + file.readline().strip()


@contextlib.contextmanager
def stranger(port):
    with harness.Process([PYTHON, "-u", "-m", "http.server", str(port), "--bind", "127.0.0.1"]) as process:
        process.expect("Serving HTTP")
        yield


@contextlib.contextmanager
def second_editor(folder, command, pair, home):
    make_project(folder, "Dungeon", command, pair, False)
    with harness.Process([ENGINE, "--headless", "--editor", "--path", folder],
                         dict(home, TETHER_HEADLESS="1")) as process:
        yield process


def connected(port):
    try:
        return McpClient(port, limit=LIMIT, name=CLIENT)
    except OSError:
        return None


def be_client(port, calls):
    """An AI client that makes these calls; the last may be under way when the editor goes."""
    try:
        with wait_until(lambda: connected(port), "the server answers", LIMIT) as client:
            wait_until(lambda: any(editor["tools"] for editor in client.call("editors_list")["editors"]), "the tools are there", LIMIT)
            for tool, arguments in calls:
                try:
                    client.call(tool, **arguments)
                except (ToolFailed, McpError):
                    pass  # which is shown, too
    except (OSError, EOFError, AssertionError):
        pass


def take(name, out, work):
    shot = SHOTS[name]
    pair = ports()
    command = shot.get("command", [])  # none: the server that Tether brings along
    home = make_home(work + "/home", shot)
    os.mkdir(home["TETHER_STATE_DIR"], 0o700)
    make_project(work + "/my-game", "My Game", command, pair, True, shot.get("settings", ()))
    calls = shot.get("calls", shot.get("asked", ()))
    client = threading.Thread(target=be_client, args=(pair[0], calls), daemon=True)
    picture = work + "/picture.png"
    with contextlib.ExitStack() as stack:
        if shot.get("stranger"):
            stack.enter_context(stranger(pair[0]))
        if shot.get("second_editor"):
            stack.enter_context(second_editor(work + "/dungeon", command, pair, home))
        display = stack.enter_context(screen(shot.get("size", (1600, 900))))
        editor = stack.enter_context(harness.Process(
            [ENGINE, "--rendering-driver", "opengl3", "--audio-driver", "Dummy", "--editor",
             "--path", work + "/my-game"],
            dict(home, DISPLAY=display, SHOT_STATE=shot["state"], SHOT_FILE=picture, SHOT_TAB=shot.get("tab", ""),
                 SHOT_SESSIONS="2" if shot.get("second_editor") else "0", SHOT_CALLS=str(len(shot.get("calls", ()))),
                 **({"SHOT_QUESTION": "1"} if "asked" in shot else {}))))
        if calls:
            client.start()
        editor.expect("^shot taken", LIMIT)
        editor.wait()
        if calls:
            client.join(LIMIT)
    shutil.move(picture, os.path.join(out, name + ".png"))


def main():
    out, names = sys.argv[1], sys.argv[2:] or list(SHOTS)
    unknown = [name for name in names if name not in SHOTS]
    if unknown:
        sys.exit("there is no picture %s; there are: %s" % (", ".join(unknown), " ".join(SHOTS)))
    harness.become_subreaper()
    for name in names:
        with tempfile.TemporaryDirectory(prefix="tether-shot-") as work:
            try:
                take(name, out, work)
            finally:
                harness.end_strays()
        print(os.path.join(out, name + ".png"))


if __name__ == "__main__":
    main()
