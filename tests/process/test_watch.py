"""`tether status --watch` on a terminal: drawn over in place, and only when something has changed."""
import fcntl
import os
import re
import select
import struct
import subprocess
import termios
import time

import pytest

from fake_daemon import FakeDaemon
from harness import LIMIT
from terminal import open_terminal
from tether import Instance

SLEEP = ["sh", "-c", "exec sleep 1000", "sh"]


class Screen:
    """A terminal that a program writes to, and what stands on it. Knows what the program may use."""

    def __init__(self, argv, env, columns=80):
        self.master, slave = open_terminal()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.process = subprocess.Popen(argv, env=dict(os.environ, **env), stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        self.bytes = b""

    def lines(self):
        rows, row, column = [""], 0, 0
        for part in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", self.bytes.decode(errors="ignore")):
            if part == "\x1b[H":
                row = column = 0
            elif part == "\x1b[K":
                rows[row] = rows[row][:column]
            elif part == "\x1b[J":
                rows[row:] = [rows[row][:column]]
            elif part == "\r":
                column = 0
            elif part == "\n":
                row += 1
                rows += [""] * (row + 1 - len(rows))
            else:
                assert not part.startswith("\x1b"), "what is %r for?" % part
                rows[row] = rows[row][:column].ljust(column) + part + rows[row][column + len(part):]
                column += len(part)
        return [line for line in rows if line]

    def drawn(self):
        return self.bytes.count(b"\x1b[H")

    def wait(self, what, accept):
        """Reads until what stands there is accepted."""
        end = time.monotonic() + LIMIT
        while not accept(self.lines()):
            if not select.select([self.master], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("%s: %r" % (what, self.bytes[-2000:]))
            try:
                self.bytes += os.read(self.master, 65536)
            except OSError:  # the other end is closed
                assert accept(self.lines()), "%s: %r" % (what, self.bytes[-2000:])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)


def test_a_terminal_is_drawn_over_in_place(state_dir):
    with Instance(state_dir, "--ready", "none") as one:
        one.launch(command=SLEEP + ["w" * 500])
        with Screen(one.argv("status", "--watch"), one.env, columns=60) as screen:
            screen.wait("the state", lambda lines: any("w…" in line for line in lines))
            assert len([line for line in screen.lines() if line.startswith("command ")][0]) == 60
            before = len(screen.lines())
            with one.control() as editor:
                editor.hello("editor", project="A game with a long name")
                screen.wait("its session", lambda lines: any("long name" in line for line in lines))
                assert len(screen.lines()) == before + 1
                editor.send(type="leave", reason="disable")
                screen.wait("its end", lambda lines: lines and not any("session  " in line for line in lines))
                assert len(screen.lines()) == before
            assert b"\x1b[2J" not in screen.bytes  # which would flicker
            one.cli("stop")
            screen.wait("the end", lambda lines: "it has ended" in "".join(lines))
            assert screen.process.wait() == 0
            assert sum(line.startswith("server ") for line in screen.lines()) == 1


def test_nothing_is_drawn_when_nothing_has_changed(state_dir):
    one = Instance(state_dir)
    with FakeDaemon(one) as daemon, Screen(one.argv("status", "--watch"), one.env) as screen:
        daemon.welcome("ready")
        for _ in range(5):
            daemon.say(type="state", **daemon.state("ready"))
        daemon.say(type="state", **daemon.state("backoff"))
        screen.wait("the change", lambda lines: "backoff" in "".join(lines))
        assert screen.drawn() == 2


@pytest.mark.parametrize("options", [["--json"], []])
def test_json_and_files_are_added_to_as_ever(state_dir, options):
    one = Instance(state_dir)
    with FakeDaemon(one) as daemon:
        if options:
            with Screen(one.argv("status", "--watch", *options), one.env) as screen:
                daemon.welcome("ready")
                daemon.say(type="state", **daemon.state("backoff"))
                screen.wait("both", lambda lines: "".join(lines).count('"state"') == 4)
                assert screen.drawn() == 0
        else:
            with subprocess.Popen(one.argv("status", "--watch"), env=dict(os.environ, **one.env),
                                  stdout=subprocess.PIPE) as process:
                daemon.welcome("ready")
                daemon.say(type="state", **daemon.state("stopped"))
                daemon.hang_up()
                output = process.stdout.read().decode()
                assert process.wait() == 0
            assert "\x1b" not in output and output.count("server    ") == 2 and "\n\nserver    stopped" in output
