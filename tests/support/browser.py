"""A real browser without a window, told what to do over a pipe (the DevTools protocol)."""
import base64
import http.server
import json
import os
import select
import shutil
import threading
import time

from harness import LIMIT, Process, descendants_of, reap_adopted, wait_gone

PROGRAM = shutil.which("chromium") or "chromium"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--mute-audio",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-default-apps", "--disable-extensions", "--disable-dev-shm-usage", "--remote-debugging-pipe"]


class Browser:
    """One browser with one page. Use as a context manager."""

    def __init__(self, profile, *flags):
        child_in, self.sending = os.pipe()
        self.receiving, child_out = os.pipe()

        def give_pipes():
            # The browser wants them as 3 and 4, which may be taken by one another.
            ends = os.dup(child_in), os.dup(child_out)
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = Process([PROGRAM, *FLAGS, "--user-data-dir=" + str(profile), *flags, "about:blank"],
                               {"HOME": str(profile)}, preexec_fn=give_pipes, close_fds=True, pass_fds=(3, 4))
        os.close(child_in)
        os.close(child_out)
        self.data = b""
        self.last_id = 0
        self.events = []
        self.page = None

    def receive(self, end):
        while b"\0" not in self.data:
            if not select.select([self.receiving], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser says nothing: " + self.process.output[-2000:])
            more = os.read(self.receiving, 1 << 16)
            if not more:
                raise EOFError("the browser has ended: " + self.process.output[-2000:])
            self.data += more
        message, self.data = self.data.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, handle=None, limit=LIMIT, **params):
        """Sends a command and returns its result; what happens meanwhile is kept, or handled."""
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if self.page:
            message["sessionId"] = self.page
        os.write(self.sending, json.dumps(message).encode() + b"\0")
        wanted, end = self.last_id, time.monotonic() + limit
        while True:
            got = self.receive(end)
            if got.get("id") == wanted:
                assert "error" not in got, got
                return got["result"]
            self.events.append(got)
            if handle:
                handle(got)

    def open_page(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.page = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime"):
            self.call(domain + ".enable")

    def wait_event(self, method, limit=LIMIT):
        end = time.monotonic() + limit
        while True:
            for event in self.events:
                if event.get("method") == method:
                    return event["params"]
            self.events.append(self.receive(end))

    def navigate(self, url):
        """Opens a page and waits until it is there."""
        self.events.clear()
        answer = self.call("Page.navigate", url=url)
        assert not answer.get("errorText"), answer
        self.wait_event("Page.loadEventFired")

    def serve_document(self, url, html):
        """Opens a page at `url` whose document we make up, as if it had come from there earlier."""
        def fulfil(event):
            if event.get("method") == "Fetch.requestPaused":
                self.call("Fetch.fulfillRequest", requestId=event["params"]["requestId"], responseCode=200,
                          responseHeaders=[{"name": "Content-Type", "value": "text/html"}],
                          body=base64.b64encode(html.encode()).decode())

        self.events.clear()
        self.call("Fetch.enable", patterns=[{"urlPattern": url}])
        self.call("Page.navigate", handle=fulfil, url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            event = self.receive(time.monotonic() + LIMIT)
            self.events.append(event)
            fulfil(event)
        self.call("Fetch.disable")

    def run(self, script):
        """Runs a script in the page, waits for its promise, and returns its value."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def __enter__(self):
        self.open_page()
        return self

    def __exit__(self, *_):
        helpers = descendants_of(self.process.pid)
        os.close(self.sending)  # it ends when nobody is left to tell it what to do
        try:
            self.process.wait()
        finally:
            os.close(self.receiving)
            self.process.stop()
        for pid in helpers:
            wait_gone(pid)
        reap_adopted()


class Site:
    """A web server of somebody else on this machine, with one page."""

    def __init__(self, page):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = page.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
