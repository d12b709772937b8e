"""More want to reach a daemon than there is room for at its endpoint: whoever it is, none gives up. Row A10."""
import os
import subprocess

import pytest

from client_drive import DRIVE
from fake_daemon import FakeDaemon
from harness import TETHER, Process
from scene import wait_until
from tether import SERVER, Instance

TRIES = 30  # so often it is seen to wake up, where it would be asleep if it had given up
COMMANDS = {"editor": [DRIVE, TETHER], "front": [TETHER, "mcp"]}
HTTP = {"editor": [], "front": ["--transport", "http"]}


@pytest.fixture
def instance(state_dir):
    with Instance(state_dir) as made:
        yield made


def wakings(pid, who):
    """How often it has waited for something, in the thread that has to do with the daemon: of the editor's
    program that is not the first one, which runs frames."""
    total = 0
    for task in os.listdir("/proc/%d/task" % pid):
        if who == "front" or int(task) != pid:
            with open("/proc/%d/task/%s/status" % (pid, task)) as file:
                total += int(file.read().split("\nvoluntary_ctxt_switches:")[1].split()[0])
    return total


@pytest.mark.parametrize("who", sorted(COMMANDS))
def test_A10_who_finds_no_room_at_the_endpoint_tries_again(instance, who):
    with FakeDaemon(instance, room=0) as daemon, Process(
            COMMANDS[who] + instance.ports + HTTP[who] + ["--", SERVER], instance.env, stdin=subprocess.PIPE) as program:
        if who == "editor":
            program.popen.stdin.write(b"new\nstart\n")
            program.popen.stdin.flush()
        daemon.welcome("ready")
        daemon.fill()
        before = wakings(program.pid, who)
        daemon.adopt()
        wait_until(lambda: wakings(program.pid, who) > before + TRIES, "it tries to connect")
        daemon.make_room()
        assert daemon.accept()["role"] == who  # and no other launch
        daemon.say(type="welcome", session="1", **daemon.state("ready"))
        daemon.say(type="ping")  # answered by who has heard that it is welcome
        if who == "editor":
            daemon.hear("logs")
        daemon.hear("pong")
        if who == "editor":
            program.popen.stdin.write(b"leave quit\n")
        program.popen.stdin.close()
        daemon.hear("leave")
        daemon.hang_up()
        assert program.wait() == 0, program.output[-2000:]
