"""A project with the addon out of the zip that ./dev package has made, as a user has it."""
import json
import os
import re
import shutil
import zipfile

import editor
import plugin_scene
from harness import BUILD, TETHER, Process, end_strays, free_ports, run, system
from scene import kill, wait_until

FOLDER = os.path.join(BUILD, "package")
ADDON = "addons/tether/"
BIN = ADDON + "bin/"
LAUNCHER, LIBRARY = BIN + system.LAUNCHER, BIN + system.LIBRARY
SETTINGS = """config_version=5

[application]

config/name="Installed"

[editor_plugins]

enabled=PackedStringArray(%s)
"""
ENABLED = SETTINGS % '"res://addons/tether/plugin.cfg"'
DRIVEN = SETTINGS % '"res://addons/tether/plugin.cfg", "res://addons/driver/plugin.cfg"'


def package():
    names = [name for name in os.listdir(FOLDER) if re.fullmatch(r"tether-v[0-9.]+\.zip", name)]
    assert len(names) == 1
    return os.path.join(FOLDER, names[0])


def contents():
    """What is in the zip, by name."""
    with zipfile.ZipFile(package()) as file:
        return {name: file.read(name) for name in file.namelist()}


def version_of(files):
    return re.search(r'version="(.*)"', files[ADDON + "plugin.cfg"].decode())[1]


def previous(files):
    """The same package of an earlier version, which is the one text in it that is another."""
    now = version_of(files)
    digits = iter(str(int(now.replace(".", "")) - 1).zfill(len(now) - 2))
    before = re.sub(r"\d", lambda _: next(digits), now)
    found = {}
    for name, data in files.items():
        text = b'version="%s"' if name.endswith("plugin.cfg") else b"%s\0"
        found[name] = data.replace(text % now.encode(), text % before.encode())
    assert all(found[name] != files[name] for name in (LAUNCHER, LIBRARY, ADDON + "plugin.cfg"))
    return found


def write_files(folder, files):
    """As the editor's installer does it: files come without their permissions."""
    for name, data in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(data)


class Installed:
    """A project with the addon, and editors on it."""

    def __init__(self, folder, files=None, settings=ENABLED, rights=()):
        self.folder, self.state_dir, self.rights = str(folder), str(folder) + ".state", list(rights)
        self.ports = free_ports()
        self.env = {"TETHER_STATE_DIR": self.state_dir, "TETHER_HEADLESS": "1",
                    "TETHER_HTTP_PORT": str(self.ports[0]), "TETHER_WS_PORT": str(self.ports[1])}
        os.mkdir(self.state_dir, 0o700)
        os.makedirs(self.folder)
        write_files(self.folder, contents() if files is None else files)
        with open(self.path("project.godot"), "w") as file:
            file.write(settings)

    def path(self, name):
        return os.path.join(self.folder, name)

    def open(self, *around):
        return Process(self.rights + list(around) + [editor.ENGINE, *editor.HEADLESS, "--editor", "--path", system.native(self.folder)],
                       dict(editor.home(self.folder), **self.env))

    def scene(self):
        """An editor that does what a test says."""
        driver = self.path("addons/driver")
        if not os.path.exists(driver):
            shutil.copytree(os.path.join(plugin_scene.ENGINE_TESTS, "driver"), driver)
        return plugin_scene.Scene(self.folder, self.state_dir, env=self.env)

    def status(self):
        done = run(self.rights + [TETHER, "status", "--json", "--http-port", str(self.ports[0]),
                                  "--ws-port", str(self.ports[1])], {"TETHER_STATE_DIR": self.state_dir})
        return json.loads(done.output) if done.status == 0 else None

    def wait_ready(self, pid):
        """The status, once the server is up for this editor."""
        def look():
            now = self.status()
            return now if now and now["state"] == "ready" and [one["pid"] for one in now["sessions"]] == [pid] else None
        try:
            return wait_until(look, "the server of the installed addon is ready", editor.START_LIMIT)
        except TimeoutError as error:
            raise TimeoutError("%s\n%s" % (error, "\n".join(one.output[-4000:] for one in Process.running))) from None

    def end(self, pid):
        """Kills the editor, and waits until nothing is left of it."""
        kill(pid)
        wait_until(lambda: self.status() is None, "the server ends with its editor")

    def run_and_end(self, *around):
        """Opens it, sees that it works, also after a crash of the server, and kills the editor; returns what that
        has said."""
        with self.open(*around) as process:
            kill(self.wait_ready(process.pid)["server"]["pid"])
            wait_until(lambda: self.wait_ready(process.pid)["restarts"] == 1, "the server is started again")
            self.end(process.pid)
        assert end_strays() == []
        return process.output
