"""F11: the unit of docs/farms/, kept by a real systemd: a user manager of its own, in control groups of its own."""
import glob
import os
import shutil
import signal
import tempfile

import pytest

from harness import LIMIT, TETHER, Process, free_ports, run
from scene import Watched, find_guard, kill, wait_until
from tether import Instance, can_bind, http_get

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SYSTEMD = "/lib/systemd/systemd"
UNIT = os.path.join(ROOT, "docs/farms/tether@.service")
GROUPS = [path for path in ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")
          if os.path.exists(path + "/cgroup.procs")]


def why_not():
    if not os.path.exists(SYSTEMD):
        return "there is no systemd"
    if os.geteuid() != 0 or not GROUPS or not os.access(GROUPS[0], os.W_OK):
        return "no right to make control groups"
    return None


pytestmark = pytest.mark.skipif(bool(why_not()), reason=str(why_not()))


class Manager:
    """A user manager that starts nothing by itself."""

    def __init__(self, folder):
        self.folder = folder
        self.groups = [os.path.join(path, "tether-test-%d" % os.getpid()) for path in GROUPS[:2]]
        self.runtime, config = folder + "/run", folder + "/config"
        self.units, self.files = config + "/systemd/user", config + "/tether"
        for path in (self.runtime, self.units, self.files):
            os.makedirs(path, mode=0o700)
        with open(UNIT) as unit, open(self.units + "/tether@.service", "w") as out:
            out.write(unit.read().replace("/usr/local/bin/tether", TETHER))
        with open(self.units + "/nothing.target", "w") as out:
            out.write("[Unit]\nDescription=Nothing\n")
        self.env = {"XDG_RUNTIME_DIR": self.runtime, "XDG_CONFIG_HOME": config, "HOME": folder,
                    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent", "SYSTEMD_LOG_TARGET": "console"}
        for group in self.groups:
            os.mkdir(group)
        join = "".join("echo $$ >%s/cgroup.procs; " % group for group in self.groups)
        # It runs only where the machine was started by its kind: that is what the folder says, to it alone.
        booted = "mount -t tmpfs none /run; mkdir -p /run/systemd/system; "
        self.process = Process(["unshare", "--mount", "sh", "-c", join + booted + 'exec "$@"', "sh", SYSTEMD, "--user",
                                "--unit=nothing.target"], self.env)
        wait_until(lambda: self.control("is-active", "nothing.target").status == 0, "the manager is up")

    def control(self, *words):
        return run(["systemctl", "--user", *words], self.env, limit=LIMIT)

    def show(self, unit, *names):
        output = self.control("show", unit, *["--property=" + name for name in names]).output
        found = dict(line.split("=", 1) for line in output.splitlines())
        return [found[name] for name in names]

    def main_pid(self, unit):
        return int(self.show(unit, "MainPID")[0])

    def instance(self, name):
        """An instance with ports of its own, as its file says."""
        http, ws = free_ports()
        with open("%s/%s.conf" % (self.files, name), "w") as file:
            file.write("TETHER_HTTP_PORT=%d\nTETHER_WS_PORT=%d\n" % (http, ws))
        return Instance("%s/tether-%s" % (self.runtime, name), ports=(http, ws))

    def close(self):
        self.process.kill(signal.SIGTERM)
        self.process.wait()
        self.process.stop()
        for group in self.groups:
            for path in sorted(glob.glob(group + "/**/", recursive=True), key=len, reverse=True):
                os.rmdir(path)


@pytest.fixture
def manager():
    # Short, for sockets are in it; and in memory: a manager removes folders for a run from nowhere else.
    folder = tempfile.mkdtemp(prefix="tether-systemd-", dir="/dev/shm")
    manager = Manager(folder)
    yield manager
    manager.close()
    shutil.rmtree(folder)


def test_F11_service_is_started_when_it_is_ready_and_stopped_with_its_tree(manager):
    it = manager.instance("one")
    assert manager.control("start", "tether@one").status == 0
    assert http_get(it.http, "/status")[0] == 200
    assert it.cli("status", "--check").status == 0
    status = it.status()
    assert manager.show("tether@one", "ActiveState", "SubState") == ["active", "running"]
    assert manager.main_pid("tether@one") == status["daemon"]["pid"]
    with Watched([status["daemon"]["pid"], status["guard_pid"], status["server"]["pid"]]) as tree:
        assert manager.control("stop", "tether@one").status == 0
        assert tree.left() == []
    assert manager.show("tether@one", "ActiveState", "Result") == ["inactive", "success"]
    assert it.ports_are_free() and not os.path.exists(it.state_dir)


def test_F11_service_whose_daemon_is_killed_is_started_again(manager):
    it = manager.instance("one")
    manager.control("start", "tether@one")
    old = it.status()
    with Watched([old["guard_pid"], old["server"]["pid"]]) as tree:
        kill(old["daemon"]["pid"])
        wait_until(lambda: manager.main_pid("tether@one") not in (0, old["daemon"]["pid"]), "there is another daemon")
        tree.wait()
        wait_until(lambda: manager.show("tether@one", "ActiveState") == ["active"], "it is ready again")
        assert it.cli("status", "--check").status == 0


def test_F11_services_do_not_touch_each_other(manager):
    names = ["a", "b", "c"]
    instances = {name: manager.instance(name) for name in names}
    assert manager.control("start", *["tether@" + name for name in names]).status == 0
    before = {name: it.status() for name, it in instances.items()}
    kill(before["b"]["server"]["pid"])
    kill(find_guard(before["c"]["daemon"]["pid"]))
    for name in "b", "c":
        wait_until(lambda: instances[name].status()["restarts"] == 1 and instances[name].status()["state"] == "ready",
                   "the server of %s is back" % name)
        assert manager.main_pid("tether@" + name) == before[name]["daemon"]["pid"]
    now = instances["a"].status()
    assert now["server"]["pid"] == before["a"]["server"]["pid"] and now["restarts"] == 0
    manager.control("stop", "tether@*")
    assert all(it.ports_are_free() for it in instances.values())


def test_F11_service_without_its_port_fails_and_says_why(manager):
    it = manager.instance("one")
    with it.run() as stranger:
        stranger.expect("server ready")
        assert not can_bind(it.http)
        other = manager.instance("two")
        shutil.copy(manager.files + "/one.conf", manager.files + "/two.conf")
        assert manager.control("start", "tether@two").status != 0
        assert manager.show("tether@two", "ActiveState", "ExecMainStatus", "NRestarts") == ["failed", "3", "0"]
        assert not os.path.exists(other.state_dir)
        stranger.kill(signal.SIGTERM)
        stranger.wait()
