"""H4, G9: an update from the previous version while an editor runs that. These tests run on Windows, too."""
import json
import os

import pytest

from harness import IS_WINDOWS, end_strays, system
from installed import BIN, DRIVEN, LAUNCHER, LIBRARY, Installed, contents, previous, version_of, write_files
from scene import kill, wait_until

# What the editor's installer does with each file of a zip; returns those that could not be opened.
INSTALL = """var failed: PackedStringArray = []
for name: String in %s:
	var file: FileAccess = FileAccess.open("res://" + name, FileAccess.WRITE)
	if file == null or not file.store_buffer(FileAccess.get_file_as_bytes("%s/" + name)):
		failed.append(name)
EditorInterface.get_resource_filesystem().scan()
return failed"""
# The user comes back to the editor from where the update was got, and the engine takes the new library.
FOCUS = """var tree: SceneTree = EditorInterface.get_base_control().get_tree()
tree.root.propagate_notification(Node.NOTIFICATION_WM_WINDOW_FOCUS_IN)
tree.root.propagate_notification(Node.NOTIFICATION_APPLICATION_FOCUS_IN)"""
VERSION = "return TetherServer.new().get_version()"


def node(path):
    info = os.stat(path)
    return info.st_dev, info.st_ino


@pytest.fixture
def it(tmp_path):
    return Installed(tmp_path / "p", previous(contents()), DRIVEN)


def put_aside(it, scene):
    """What a person does on Windows with the program that is in use, and cannot be written to."""
    assert scene.run('return FileAccess.open("res://%s", FileAccess.READ_WRITE) == null' % LAUNCHER)
    os.rename(it.path(LAUNCHER), it.path(LAUNCHER) + ".old-1")


@pytest.fixture
def unpacked(tmp_path):
    """Where the editor finds the files of the new version."""
    folder = tmp_path / "new"
    folder.mkdir()
    write_files(folder, contents())
    return system.native(folder).replace("\\", "/")


def test_H4_G9_an_update_while_an_editor_uses_what_is_replaced(it, unpacked):
    """With tether.exe in use, which Windows does not overwrite, and the DLL, of which the editor has a copy. What runs
    goes on, and with the new library, which the engine takes once its user is back, the new launcher takes over."""
    new = contents()
    with it.scene() as scene:
        before = it.wait_ready(scene.pid)
        assert before["version"] != version_of(new) and scene.run(VERSION) == before["version"]
        scene.settle()
        files = [it.path(LIBRARY), it.path(LAUNCHER)]
        nodes = [node(path) for path in files]
        if IS_WINDOWS:
            put_aside(it, scene)
        assert scene.run(INSTALL % (json.dumps(sorted(new)), unpacked)) == []
        assert all(node(path) != old for path, old in zip(files, nodes)), "written into what is in use"
        for name, data in new.items():
            with open(it.path(name), "rb") as file:
                assert file.read() == data, name
        scene.settle()
        kill(before["server"]["pid"])  # its successor is the new program already, below the old daemon
        wait_until(lambda: it.wait_ready(scene.pid)["restarts"] == 1, "the server is started again")
        assert it.status()["daemon"] == before["daemon"] and scene.run(VERSION) == before["version"]
        scene.run(FOCUS)
        wait_until(lambda: scene.run(VERSION) == version_of(new), "the engine has taken the new library")
        wait_until(lambda: it.wait_ready(scene.pid)["version"] == version_of(new), "the new launcher has taken over")
        assert scene.quit() == []
    assert end_strays() == []
    with it.scene() as scene:
        assert it.wait_ready(scene.pid)["version"] == version_of(new)
        scene.settle()
        assert scene.quit() == []
    assert end_strays() == []
    assert sorted(os.listdir(it.path(BIN))) == sorted({name[len(BIN):].split("/")[0] for name in new if name.startswith(BIN)})
