"""Row G7: nothing shows for a moment. An editor has no console that what it starts could share, and a console
program that is given none gets one of its own, with a window. Two things keep that away, and each is looked for:
the consoles that we give have no window, and what is started is told to hide its own. Who is there from the
first instruction on says so: the server, below a batch file and below Node.js, too."""
import os
import re

import pytest

from client_drive import Drive
from editor_screen import Shown
from harness import LIMIT, Process, system
from tether import SERVER, Instance
from tools_probe import Display

NODE = os.environ.get("TETHER_WINDOWS_NODE", "")
NOTHING_SEEN = "console 1, window 0, visible 0"
STARTED_BY_US = NOTHING_SEEN + ", hide 1"
NEW_CONSOLE = [r"C:\windows\system32\cmd.exe", "/c", "start", "/wait", "ping.exe", "-n", "3", "127.0.0.1"]


@pytest.fixture(scope="module")
def shown():
    """A screen of which it is told what comes onto it."""
    with Display() as display, system.on_screen(display.name), Shown(display.name) as made:
        Process.running.remove(display.process)  # what is in that list ends with each test
        yield made
        Process.running.append(display.process)


def commands(folder):
    """What people give as a command, each with the server at its end, and whether that one is started by us."""
    report = system.native(folder / "report")
    server = [SERVER, "--console", report]
    batch, script = folder / "server.cmd", folder / "node_modules/npm/bin/npx-cli.js"
    batch.write_text("@%s\r\n" % " ".join('"%s"' % word for word in server))
    found = {"program": (server, True), "batch file": ([system.native(batch)], False)}
    if NODE:
        script.parent.mkdir(parents=True)
        script.write_text("require('child_process').spawn(process.argv[2], process.argv.slice(3), {stdio: 'inherit'});")
        (folder / "npx.cmd").write_text("@echo this is never run\r\n")
        os.symlink(NODE, folder / "node.exe")
        found["npx"] = ([system.native(folder / "npx.cmd"), *server], False)
    return found


@pytest.mark.parametrize("kind", ["program", "batch file", "npx"])
def test_G7_nothing_shows_whatever_an_editor_starts_and_ends(shown, state_dir, tmp_path, kind):
    found = commands(tmp_path)
    if kind not in found:
        pytest.skip("there is no Node.js for Windows here")
    command, started_by_us = found[kind]
    with Instance(state_dir) as instance, Drive(instance, command=command,
                                                env={"NODE_SKIP_PLATFORM_CHECK": "1"}) as drive:
        drive.tell("new", "start")
        drive.state("ready")
        drive.tell("restart")
        drive.state("starting")
        drive.state("ready")
        system.kill(instance.status()["server"]["pid"])
        drive.state("starting")
        drive.state("ready")
        drive.tell("force")
        drive.state("stopped")
        drive.tell("hurry quit")
        drive.destroy()
        drive.end()
    reports = re.findall(r"^\d+: (.*)$", (tmp_path / "report").read_text(), re.MULTILINE)
    assert len(reports) == 3, reports
    for report in reports:
        assert report == STARTED_BY_US if started_by_us else report.startswith(NOTHING_SEEN), reports
    assert shown.windows() == []


def test_G7_a_server_of_who_has_no_console_gets_one_that_nobody_sees(shown, state_dir, tmp_path):
    with Instance(state_dir) as instance:
        argv = instance.argv("run", "--ready", "none", "--restart", "never", "--", SERVER, "--console",
                             system.native(tmp_path / "report"), "--exit", "0")
        with Process(argv, instance.env, console=False) as process:
            process.wait()
    assert (tmp_path / "report").read_text().split(": ")[1].strip() == STARTED_BY_US
    assert shown.windows() == []


def test_G7_a_window_that_shows_would_have_been_seen(shown):
    assert system.popen(NEW_CONSOLE).wait(LIMIT) == 0
    assert shown.windows() != []
