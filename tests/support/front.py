"""`tether mcp` as its client sees it, and the stub server as an observer does."""
import json
import os
import queue
import select
import socket
import subprocess
import sys
import threading
import time

from harness import IS_WINDOWS, LIMIT, Process, children_of, system, wait_gone
from tether import Instance

STUB = [sys.executable, os.path.join(os.path.dirname(__file__), "mcp_stub.py")]
LEGACY = "2025-11-25"
MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {}}}


class Observer:
    """Hears from every stub that is started what arrives there."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.events = queue.Queue()
        self.streams = {}  # by number: each with the beginning of a line
        self.lock = threading.Lock()
        self.poll = select.epoll()
        self.poll.register(self.listener, select.EPOLLIN)
        self.closing = False
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        while not self.closing:
            self.poll.poll()
            self._take()

    def _take(self):
        """Takes all that has arrived by now."""
        with self.lock:
            while ready := self.poll.poll(0):
                for number, _ in ready:
                    self._take_from(number)

    def _take_from(self, number):
        if number == self.listener.fileno():
            stream, _ = self.listener.accept()
            self.streams[stream.fileno()] = (stream, b"")
            self.poll.register(stream, select.EPOLLIN)
            return
        stream, begun = self.streams[number]
        try:
            data = stream.recv(1 << 20)
        except ConnectionResetError:
            data = b""
        *lines, begun = (begun + data).split(b"\n")
        for line in lines:
            self.events.put(json.loads(line))
        self.streams[number] = (stream, begun)
        if not data:
            self.poll.unregister(stream)
            self.streams.pop(number)[0].close()

    def expect(self, test=None, limit=LIMIT, **values):
        """The next event that has these values and passes the test; what comes before is dropped."""
        end = time.monotonic() + limit
        while True:
            event = self.events.get(timeout=max(0.01, end - time.monotonic()))
            if all(event.get(key) == value for key, value in values.items()) and (not test or test(event)):
                return event

    def expect_call(self, method, **values):
        """The next request of this method; `message` is its body, read."""
        def is_it(event):
            event["message"] = json.loads(event["body"]) if event["body"] else {}
            return event["message"].get("method") == method
        return self.expect(is_it, event="request", **values)

    def rest(self):
        """All that has come and was not looked at: what a stub says is there before its answer is."""
        self._take()
        found = []
        while not self.events.empty():
            found.append(self.events.get())
        return found

    def close(self):
        self.closing = True
        socket.create_connection(("127.0.0.1", self.port)).close()  # wakes the thread
        self.thread.join(LIMIT)
        self.poll.close()
        self.listener.close()
        for stream, _ in self.streams.values():
            stream.close()


class Front(Process):
    """A `tether mcp` with its client's ends of the pipes. Lines are read as they come, unless told
    otherwise; each must be one message."""

    def __init__(self, argv, env=None, reading=True, **options):
        self.messages = []
        self.raw = []
        self.last_id = 0
        self.errors = ""
        self.changed = threading.Condition()
        self.popen = system.popen(argv, env=dict(os.environ, **(env or {})), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.pid = self.popen.pid
        self.output = ""
        self.reader = threading.Thread(target=self._read_lines, daemon=True)
        self.listener = threading.Thread(target=self._read_errors, daemon=True)
        self.listener.start()
        if reading:
            self.reader.start()
        Process.running.append(self)

    def _read_lines(self):
        for line in self.popen.stdout:
            with self.changed:
                self.raw.append(line)
                self.messages.append(json.loads(line))
                self.changed.notify_all()
        with self.changed:
            self.messages.append(None)
            self.changed.notify_all()

    def _read_errors(self):
        for line in self.popen.stderr:
            with self.changed:
                self.errors += line.decode(errors="replace")
                self.changed.notify_all()

    def wait_for(self, test, limit=LIMIT):
        """The first message that passes; it is taken out, what stands before stays."""
        end = time.monotonic() + limit
        seen = 0
        with self.changed:
            while True:
                for at in range(seen, len(self.messages)):
                    if self.messages[at] is not None and test(self.messages[at]):
                        return self.messages.pop(at)
                seen = len(self.messages)
                if None in self.messages or not self.changed.wait(max(0, end - time.monotonic())):
                    raise AssertionError("no such message; there were: %s; it said: %s" %
                                         (self.messages[-20:], self.errors[-2000:]))

    def send_bytes(self, data):
        self.popen.stdin.write(data)
        self.popen.stdin.flush()

    def send(self, **message):
        self.send_bytes(json.dumps(dict({"jsonrpc": "2.0"}, **message), ensure_ascii=False).encode() + b"\n")

    def begin(self, method, params=None, **more):
        """Sends a request and returns its id."""
        self.last_id += 1
        self.send(id=self.last_id, method=method, params=params or {}, **more)
        return self.last_id

    def answer(self, request_id, limit=LIMIT):
        return self.wait_for(lambda m: m.get("id") == request_id and "method" not in m, limit)

    def ask(self, method, params=None, limit=LIMIT):
        return self.answer(self.begin(method, params), limit)

    def call(self, tool, limit=LIMIT, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments}, limit)

    def begin_call(self, tool, **arguments):
        return self.begin("tools/call", {"name": tool, "arguments": arguments})

    def notification(self, method, limit=LIMIT):
        return self.wait_for(lambda m: m.get("method") == method, limit)

    def initialize(self, version=LEGACY):
        result = self.ask("initialize", {"protocolVersion": version, "capabilities": {},
                                         "clientInfo": {"name": "test", "version": "1"}})
        self.send(method="notifications/initialized")
        assert "result" in result, result
        return result["result"]

    def end_input(self):
        self.popen.stdin.close()

    def end_reading(self):
        """Nothing: all lines are waited for."""

    def wait(self, limit=LIMIT):
        status = super().wait(limit)
        self.listener.join(limit)
        return status

    def stop(self):
        if self in Process.running:
            if not self.reader.is_alive() and not self.raw and self.reader.ident is None:
                self.reader.start()
            if not self.popen.stdin.closed:
                try:
                    self.popen.stdin.close()
                except BrokenPipeError:
                    pass
            if self.popen.poll() is None:
                self.kill(15)
                self.wait()
            self.wait()
            self.popen.stdout.close()
            self.popen.stderr.close()
            Process.running.remove(self)


class Scene:
    """An instance with the stub as its server, its observer, and a front."""

    def __init__(self, state_dir, *options, env=None, **more):
        self.observer = Observer()
        self.instance = Instance(state_dir, "--grace-ms", "50", *options)
        self.env = dict(self.instance.env, STUB_OBSERVER=str(self.observer.port), STUB_STRICT="1",
                        STUB_MARK=os.path.join(state_dir, "mark"),
                        STUB_DEAF=os.path.join(state_dir, "deaf"))
        self.env.update(env or {})
        self.more = more
        self.fronts = []

    def start(self, *options, command=STUB, **more):
        argv = self.instance.argv("mcp", *self.instance.options, *options, *(["--transport", "http", "--", *system.command(command)] if command else []))
        front = Front(argv, self.env, **dict(self.more, **more))
        self.fronts.append(front)
        return front

    def make_deaf(self):
        """From its next start on the server never listens."""
        with open(self.env["STUB_DEAF"], "w"):
            pass

    def status(self):
        return self.instance.status()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for front in self.fronts:
            front.stop()
        self.instance.cli("stop", "--force")
        running = {process.pid for process in Process.running}
        for pid in children_of(os.getpid()) if not IS_WINDOWS else []:
            if pid not in running:  # a daemon that was about to end when it was asked to
                wait_gone(pid)
        self.observer.close()


def text_of(answer):
    return answer["result"]["content"][0]["text"]
