"""What holds the lock and the socket of an instance, as a daemon does, and says what a test tells it to."""
import json
import os
import socket

from harness import LIMIT, own_pid, system
from tether import identity


class FakeDaemon:
    def __init__(self, instance, room=128):
        """There is room for so many to wait, and one more."""
        self.instance = instance
        self.stream = self.lines = None
        self.waiting = []
        os.mkdir(instance.directory, 0o700)
        self.held = system.Daemon(instance.directory, room)

    def state(self, name):
        return {"state": name, "version": "0.1.0", "daemon": identity(own_pid()),
                "server": {"state": name, "http_port": self.instance.http, "ws_port": self.instance.ws}}

    def accept(self):
        """Takes the next connection and hears its hello."""
        self.hang_up()
        self.stream = self.held.accept(LIMIT)
        self.stream.settimeout(LIMIT)
        self.lines = self.stream.makefile("r")
        return self.hear("hello")

    def welcome(self, name):
        self.accept()
        self.say(type="welcome", session="1", **self.state(name))

    def hear(self, kind):
        message = json.loads(self.lines.readline())
        assert message["type"] == kind, message
        return message

    def say(self, **message):
        self.stream.sendall(json.dumps(message).encode() + b"\n")

    def be_adopted(self):
        """Goes along with a `tether launch` that has an owner."""
        self.welcome("ready")
        self.adopt()

    def adopt(self):
        for kind in ("adopt", "status"):
            self.say(id=self.hear(kind)["id"], ok=True, type=kind, **self.state("ready"))
        assert self.lines.readline() == ""  # whoever hangs up first is taken for gone, and asked again

    def fill(self):
        """Takes all the room for those who wait."""
        while True:
            one = socket.socket(socket.AF_UNIX)
            one.setblocking(False)
            try:
                one.connect(self.held.listener.getsockname())
            except BlockingIOError:
                one.close()
                return
            self.waiting.append(one)

    def make_room(self):
        """Comes to those who wait since `fill`, and they go."""
        while self.waiting:
            self.held.accept(LIMIT).close()
            self.waiting.pop().close()

    def hang_up(self):
        if self.stream:
            self.lines.close()
            self.stream.close()
            self.stream = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.hang_up()
        while self.waiting:
            self.waiting.pop().close()
        self.held.close()
