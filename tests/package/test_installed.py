"""H4: what is installed from the zip runs in a real editor, wherever that is, and goes without a trace."""
import os
import shutil
import stat
import tempfile

import pytest

import editor
from harness import Process, run
from installed import ADDON, LAUNCHER, SETTINGS, Installed
from users import take_users

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
    assert os.stat(it.path(LAUNCHER)).st_mode & stat.S_IXUSR


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
    it = Installed(folder + "/p", rights=[
        "setpriv", "--reuid", str(user.uid), "--regid", str(user.uid), "--clear-groups",
        "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"])
    os.mkdir(it.folder + ".home")
    for path in (it.state_dir, it.folder, it.folder + ".home", it.path("project.godot")):
        os.chown(path, user.uid, user.uid)
    before = below(it.path(ADDON))
    assert editor.complaints(it.run_and_end()) == []
    assert below(it.path(ADDON)) == before


def complaints_of_import(folder):
    with Process([editor.ENGINE, "--headless", "--path", folder, "--import"],
                 editor.system.home(folder + ".home")) as process:
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
