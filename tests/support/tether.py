"""One instance of tether in a private place, seen as a user and as a program would see it."""
import json
import os
import select
import socket
import time

from harness import LIMIT, TETHER, Process, free_ports, run, system, wait_gone

PROGRAMS, SERVER = system.PROGRAMS, system.SERVER
identity = system.identity


def can_bind(port):
    end = time.monotonic() + system.PORT_OUTLIVES
    while True:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                probe.listen()
                return True
            except OSError:
                if time.monotonic() >= end:
                    return False
        select.select([], [], [], 0.02)  # nothing tells


def http_get(port, path="/", limit=LIMIT):
    """One request on a connection of its own; returns the status and everything behind it."""
    with socket.create_connection(("127.0.0.1", port), timeout=limit) as stream:
        stream.sendall(("GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n" % path).encode())
        data = b""
        while True:
            more = stream.recv(65536)
            if not more:
                break
            data += more
    return int(data.split()[1]), data


class Control:
    """A connection to the control socket that speaks lines of JSON."""

    def __init__(self, path):
        self.socket = system.connect(path, LIMIT)
        self.data = b""
        self.last_id = 0

    def send(self, **message):
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def send_bytes(self, data):
        self.socket.sendall(data)

    def hello(self, role="editor", **more):
        """Says hello and returns the welcome, or the error."""
        message = {"type": "hello", "protocol": 1, "role": role, "version": "0.0.1"}
        message.update(identity(system.own_pid()))
        message.update(more)
        self.send(**{key: value for key, value in message.items() if value is not None})
        return self.receive("welcome", "error")

    def receive(self, *types, limit=LIMIT):
        """The next message, or the next of these types. EOFError when the connection has ended."""
        end = time.monotonic() + limit
        while True:
            while b"\n" in self.data:
                line, self.data = self.data.split(b"\n", 1)
                message = json.loads(line)
                if not types or message.get("type") in types:
                    return message
            if not select.select([self.socket], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("no message of %s within %g s" % (types or "any type", limit))
            more = self.socket.recv(65536)
            if not more:
                raise EOFError
            self.data += more

    def wait_state(self, *states, limit=LIMIT):
        """The next state message in which the server is in one of these states."""
        end = time.monotonic() + limit
        while True:
            message = self.receive("state", "welcome", limit=max(0, end - time.monotonic()))
            if message["state"] in states:
                return message

    def request(self, kind, **more):
        """Sends a request and returns its reply."""
        self.last_id += 1
        self.send(type=kind, id=self.last_id, **more)
        end = time.monotonic() + LIMIT
        while True:
            message = self.receive(limit=max(0, end - time.monotonic()))
            if message.get("id") == self.last_id:
                return message

    def wait_closed(self, limit=LIMIT):
        try:
            while True:
                self.receive(limit=limit)
        except (EOFError, ConnectionResetError):
            pass

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Instance:
    """An instance on ports of its own. Ended, if it still runs, when the `with` block is left."""

    def __init__(self, state_dir, *options, program=TETHER, ports=None):
        self.state_dir = state_dir
        self.options = list(options)
        self.program = program
        self.http, self.ws = ports or free_ports()
        self.env = {"TETHER_STATE_DIR": state_dir}
        self.result = {}

    @property
    def name(self):
        return "%d-%d" % (self.http, self.ws)

    @property
    def directory(self):
        return os.path.join(self.state_dir, self.name)

    @property
    def endpoint(self):
        return system.endpoint(self.directory)

    @property
    def ports(self):
        return ["--http-port", str(self.http), "--ws-port", str(self.ws)]

    def argv(self, command, *arguments):
        return [self.program, command] + self.ports + [str(a) for a in arguments]

    def cli(self, command, *arguments, env=None, **options):
        """Runs a command to its end; .status and .output tell the rest."""
        return run(self.argv(command, *arguments), dict(self.env, **(env or {})), **options)

    def launch(self, *options, command=(SERVER,), env=None, **more):
        """Launches and returns the one line of JSON, as a dictionary."""
        done = self.cli("launch", *self.options, *options, "--", *system.command(command), env=env, **more)
        self.result = json.loads(done.output.splitlines()[-1])
        assert self.result["code"] == done.status, done.output
        if done.status:
            print("launch: " + done.output)  # shown if the test fails
        self.warnings = "\n".join(done.output.splitlines()[:-1])
        return self.result

    def run(self, *options, command=(SERVER,), env=None, **more):
        """Starts `tether run` and returns its process."""
        return Process(self.argv("run", *self.options, *options, "--", *system.command(command)),
                       dict(self.env, **(env or {})), **more)

    def status(self):
        return json.loads(self.cli("status", "--json").output)

    def control(self):
        return Control(self.endpoint)

    def log(self, name="launcher.log"):
        with open(os.path.join(self.directory, name), errors="replace") as file:
            return file.read()

    def wait_end(self, limit=LIMIT):
        """Waits until the daemon that was launched has ended."""
        wait_gone(self.result["daemon_pid"], limit)

    def ports_are_free(self):
        return can_bind(self.http) and can_bind(self.ws)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cli("stop", "--force")


def start_owner():
    """A process that does nothing and can be killed, for being an owner."""
    return Process(system.IDLE)
