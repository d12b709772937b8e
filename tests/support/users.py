"""Ordinary users of this machine: numbers that nobody has. With root."""
import os
import pwd
import socket

from harness import Process, run

HIGHEST = 64990


def is_nobody(uid):
    try:
        pwd.getpwuid(uid)
        return False
    except KeyError:
        return not any(os.path.lexists(place % uid) for place in ("/tmp/tether-%d", "/run/user/%d"))


class User:
    """Somebody with nothing but a number, which no other test on this machine takes meanwhile."""

    def __init__(self, uid):
        self.claim = socket.socket(socket.AF_UNIX)
        self.claim.bind("\0tether-tests-user-%d" % uid)
        self.uid = uid
        self.place = "/tmp/tether-%d" % uid  # where his instances are, if he says nothing
        self.rights = {"user": uid, "group": uid, "extra_groups": []}

    def run(self, argv, env=None):
        return run(argv, dict({"TETHER_STATE_DIR": ""}, **(env or {})), **self.rights)

    def python(self, code, *arguments):
        """What the system says to that: the name of an error, or "done"."""
        wrapped = "import os, socket, sys\ntry:\n%s\n    print('done')\nexcept OSError as error:\n" \
                  "    print(type(error).__name__)" % "\n".join("    " + line for line in code.splitlines())
        return self.run(["/usr/bin/python3", "-c", wrapped, *map(str, arguments)]).output.splitlines()[-1]

    def sleeps(self):
        return Process(["sleep", "1000"], **self.rights)


def take_users(count):
    found, uid = [], HIGHEST
    while len(found) < count:
        try:
            found += [User(uid)] if is_nobody(uid) else []
        except OSError:  # another test has it
            pass
        uid -= 1
    return found
