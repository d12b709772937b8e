"""H4: what is installed from the zip runs in a real editor, wherever that is, and goes without a trace. These tests
run on Windows, too."""
import os
import shutil
import stat
import tempfile

import pytest

import editor
from harness import IS_WINDOWS, Process, run, system
from installed import ADDON, LAUNCHER, SETTINGS, Installed, contents, package
from scene import wait_until
from users import take_users

# What somebody does who chooses a file in AssetLib → Import…; returns which files the editor would install.
CHOOSE = """var library: Node = EditorInterface.get_base_control().find_children("*", "EditorAssetLibrary", true, false)[0]
library.find_children("*", "EditorFileDialog", true, false)[0].emit_signal(&"file_selected", "%s")
var installer: AcceptDialog = library.find_children("*", "EditorAssetInstaller", true, false)[0]
driver.kept["install"] = installer.get_ok_button()
var ticked: PackedStringArray = []
var items: Array[TreeItem] = [(installer.find_children("*", "Tree", true, false)[0] as Tree).get_root()]
while items:
	var item: TreeItem = items.pop_back()
	items.append_array(item.get_children())
	if item.is_checked(0) and item.get_child_count() == 0:
		ticked.append(item.get_text(0))
return ticked"""
INSTALL = 'driver.kept["install"].pressed.emit()'
LOADED = 'return GDExtensionManager.is_extension_loaded("res://addons/tether/tether.gdextension")'
READ_ONLY = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"', "sh"]


def below(folder):
    """All names in a folder, with their permissions."""
    return {os.path.join(at, name): stat.S_IMODE(os.lstat(os.path.join(at, name)).st_mode)
            for at, folders, files in os.walk(folder) for name in folders + files}


@pytest.mark.parametrize("name", ["plain", "mit Leerzeichen und Ümläuten"])
def test_H4_installed_from_the_zip_it_runs_and_ends_with_its_editor(tmp_path, name):
    it = Installed(tmp_path / name)
    it.run_and_end()
    assert IS_WINDOWS or os.stat(it.path(LAUNCHER)).st_mode & stat.S_IXUSR


def test_H4_the_editors_own_installer_puts_it_into_its_place(tmp_path):
    """It runs after the plugin is enabled. A second time the installer leaves out the files that are there."""
    it = Installed(tmp_path / "p", {}, SETTINGS % '"res://addons/driver/plugin.cfg"')
    with it.scene() as scene:
        scene.settle()
        archive = system.native(package()).replace("\\", "/")
        assert {"plugin.cfg", os.path.basename(LAUNCHER)} <= set(scene.run(CHOOSE % archive))
        scene.run(INSTALL)
        wait_until(lambda: scene.run(LOADED), "the engine has found the extension")
        for name, data in contents().items():
            with open(it.path(name), "rb") as file:
                assert file.read() == data, name
        scene.run('EditorInterface.set_plugin_enabled("tether", true)')
        it.wait_ready(scene.pid)
        assert scene.run(CHOOSE % archive) == []
        it.end(scene.pid)


def test_H4_in_a_place_that_is_read_only_it_runs_all_the_same(tmp_path):
    """The launcher cannot get its permission back, and nothing is left there."""
    it = Installed(tmp_path / "p")
    around = READ_ONLY + [it.path(ADDON)]
    if run(around + ["true"]).status != 0:
        pytest.skip("no right to mount a folder read-only")
    before = below(it.path(ADDON))
    output = it.run_and_end(*around)
    assert editor.complaints(output) == []
    assert below(it.path(ADDON)) == before


@pytest.fixture
def other():
    """Another user, and a folder that everybody finds, with one for that user in it."""
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    user, = take_users(1)
    folder = tempfile.mkdtemp(prefix="tether-installed-")
    os.chmod(folder, 0o755)
    yield user, folder
    shutil.rmtree(folder)
    user.claim.close()


def test_H4_what_one_user_has_installed_another_one_runs(other):
    user, folder = other
    # The tests' own programs may lie where this user does not get to; that they are found, and no more:
    rights = ["setpriv", "--reuid", str(user.uid), "--regid", str(user.uid), "--clear-groups",
              "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    if run(rights + ["true"]).status != 0:
        pytest.skip("no right to let another user find the tests' programs")
    it = Installed(folder + "/p", rights=rights)
    editor.home(it.folder)
    for path in (it.state_dir, it.folder, it.path("project.godot"), *(one[0] for one in os.walk(it.folder + ".home"))):
        os.chown(path, user.uid, user.uid)
    before = below(it.path(ADDON))
    assert editor.complaints(it.run_and_end()) == []
    assert below(it.path(ADDON)) == before


def complaints_of_import(folder):
    with Process([editor.ENGINE, *editor.HEADLESS, "--path", system.native(folder), "--import"],
                 editor.home(folder)) as process:
        assert process.wait(editor.START_LIMIT) == 0
        return editor.complaints(process.output)


def test_H4_removed_it_leaves_only_what_is_documented(tmp_path):
    it = Installed(tmp_path / "p")
    it.run_and_end()
    shutil.rmtree(it.path("addons"))
    with open(it.path("project.godot"), "w") as file:
        file.write(SETTINGS.split("[editor_plugins]")[0])
    # The engine keeps a list of extensions; it misses this one once, and forgets it.
    first, second = [complaints_of_import(it.folder) for _ in range(2)]
    assert all("res://addons/tether/tether.gdextension" in line for line in first), first
    assert second == []
    left = [name for name in os.listdir(it.folder) if not name.startswith(".")]
    assert left == ["project.godot"]
