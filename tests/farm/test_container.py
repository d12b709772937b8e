"""F11: the image of docs/farms/, made and run by podman: process 1 is the launcher."""
import json
import os
import shutil
import tempfile

import pytest

from harness import LIMIT, run, run_apart
from scene import wait_until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECIPE = os.path.join(ROOT, "docs/farms/Containerfile")
STATIC = os.environ.get("TETHER_STATIC", "")
BUSYBOX = "/bin/busybox"
WITH_SHELL = "FROM localhost/tether\nCOPY busybox /bin/busybox\nCOPY busybox /bin/sh\n"


class Podman:
    """With images and containers in a place of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.words = ["podman", "--root", folder + "/root", "--runroot", folder + "/run", "--storage-driver", "vfs",
                      "--cgroup-manager", "cgroupfs", "--events-backend", "none", "--runtime", "runc", "--tmpdir", folder + "/tmp"]

    def __call__(self, *words, status=0):
        done = run_apart(self.words + list(words), limit=LIMIT * 2)
        output, errors = done.stdout or "", done.stderr or ""
        assert done.returncode == status, "%s: %d: %s%s" % (words, done.returncode, output, errors)
        return (output + errors if words[0] == "logs" else output).strip()

    def build(self, name, recipe, **files):
        context = tempfile.mkdtemp(dir=self.folder)
        for file, source in files.items():
            shutil.copy(source, os.path.join(context, file.replace("__", ".")))
        self("build", "--format", "docker", "--file", recipe, "--tag", name, context)


def why_not():
    for path in (STATIC, BUSYBOX, shutil.which("podman") or ""):
        if not os.path.exists(path):
            return "podman, busybox and a static launcher are needed"
    if os.geteuid() != 0 or run(["unshare", "--mount", "true"]).status != 0:
        return "no right to start containers"
    return None


pytestmark = pytest.mark.skipif(bool(why_not()), reason=str(why_not()))


@pytest.fixture(scope="module")
def podman(tmp_path_factory):
    podman = Podman(str(tmp_path_factory.mktemp("podman")))
    podman.build("tether", RECIPE, tether__linux__x86_64=STATIC)
    recipe = os.path.join(podman.folder, "shell")
    with open(recipe, "w") as file:
        file.write(WITH_SHELL)
    podman.build("shell", recipe, busybox=BUSYBOX)
    yield podman
    podman("rm", "--all", "--force", "--time", "0")


class Container:
    def __init__(self, podman, image, *words, options=()):
        self.podman = podman
        self.id = podman("run", "--detach", "--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096", "--log-driver", "k8s-file", *options, image, *words)

    def exec(self, *words, status=0):
        return self.podman("exec", self.id, *words, status=status)

    def logs(self):
        return self.podman("logs", self.id)

    def expect(self, text):
        wait_until(lambda: text in self.logs(), text)

    def wait(self):
        return int(self.podman("wait", self.id))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.podman("rm", "--force", "--time", "0", self.id)


def test_F11_image_holds_the_launcher_alone(podman):
    told = json.loads(podman("image", "inspect", "tether"))[0]
    assert told["Size"] < os.path.getsize(STATIC) + 10000
    with Container(podman, "tether", "version") as it:
        assert it.wait() == 0
        names = run(podman.words + ["export", "--output", podman.folder + "/image.tar", it.id])
        assert names.status == 0, names.output
    names = run(["tar", "-tf", podman.folder + "/image.tar"]).output.split()
    assert [name for name in names if not name.endswith("/") and not name.startswith(("dev/", "etc/", "run/", "proc", "sys"))] == ["tether"]


def test_F11_container_is_ready_tells_its_health_and_ends_in_order(podman):
    with Container(podman, "tether") as it:
        it.expect("server ready")
        it.exec("/tether", "status", "--check")
        podman("healthcheck", "run", it.id)
        assert '"pid":1,' in it.exec("/tether", "status", "--json").replace(" ", "")
        podman("stop", "--time", "60", it.id)
        assert it.wait() == 0
        assert "no process is left, both ports are free" in it.logs()


@pytest.mark.parametrize("options", [("--read-only", "--user", "1000:1000", "--tmpfs", "/tmp"),
                                     ("--cap-drop", "all", "--security-opt", "no-new-privileges")])
def test_F11_container_needs_no_rights(podman, options):
    with Container(podman, "tether", options=options) as it:
        it.expect("server ready")
        it.exec("/tether", "status", "--check")
        podman("stop", "--time", "60", it.id)
        assert it.wait() == 0


def test_F11_container_whose_server_is_not_ready_is_not_healthy(podman):
    with Container(podman, "shell", "run", "--", "/bin/sh", "-c", "exec /bin/busybox sleep 1000") as it:
        it.expect("server started")
        it.exec("/tether", "status", "--check", status=4)
        podman("healthcheck", "run", it.id, status=1)


RUN = ("run", "--ready", "none", "--", "/bin/sh", "-c")
# Reads until its input ends; a signal that is handled is told.
SPEAKER = "trap 'echo heard USR1' USR1; trap 'echo heard TERM; exit 7' TERM; echo here; while :; do /bin/busybox sleep 1000 & wait $!; done"


def test_F11_signals_of_a_container_reach_the_server(podman):
    with Container(podman, "shell", *RUN, SPEAKER) as it:
        it.expect("here")
        podman("kill", "--signal", "USR1", it.id)
        it.expect("heard USR1")
        podman("kill", "--signal", "TERM", it.id)
        it.wait()
        assert "heard TERM" in it.logs() and "no process is left" in it.logs()


def states(it):
    """Of all processes in the container: name → state."""
    return it.exec("/bin/sh", "-c", "for f in /proc/[0-9]*/stat; do read -r line <$f && echo \"$line\"; done").splitlines()


def test_F11_container_reaps_what_others_leave(podman):
    """From `podman exec`, whose orphans come to process 1; nothing of the server's own."""
    with Container(podman, "shell", *RUN, SPEAKER) as it:
        it.expect("here")
        for _ in range(5):
            it.exec("/bin/sh", "-c", "(/bin/busybox sleep 0.2 & /bin/busybox true &) & exit 0")
        wait_until(lambda: not [line for line in states(it) if ") Z " in line or "(sleep 0.2" in line], "none is a zombie")
        left = [line.split()[1] for line in states(it)]
        assert left.count("(tether)") == 1 and left.count("(server-guard)") == 1, left


def test_F11_crash_in_a_container_is_a_restart(podman):
    with Container(podman, "tether") as it:
        it.expect("server ready")
        server = json.loads(it.exec("/tether", "status", "--json"))["server"]["pid"]
        inside = int(podman("inspect", "--format", "{{.State.Pid}}", it.id))
        run(["nsenter", "--target", str(inside), "--pid", "kill", "-KILL", str(server)])
        wait_until(lambda: it.logs().count("server ready") == 2, "it is ready again")
        it.exec("/tether", "status", "--check")
