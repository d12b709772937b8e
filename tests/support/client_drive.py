"""The extension's session with the launcher, driven by lines as an editor's frames would."""
import os
import subprocess

from harness import LIMIT, TETHER, Process, system, wait_gone
from scene import find_daemon
from tether import SERVER

DRIVE = os.environ.get("TETHER_CLIENT_DRIVE") or system.CLIENT_DRIVE


class Drive(Process):
    def __init__(self, instance, *options, command=(SERVER,), program=TETHER, env=None):
        words = instance.ports + ["--grace-ms", "50", "--stop-grace-ms", "1000"] + list(options)
        super().__init__([DRIVE, program] + words + (["--"] + list(command) if command else []),
                         dict(instance.env, **(env or {})), stdin=subprocess.PIPE)
        self.seen = 0
        self.instance = instance

    def tell(self, *lines):
        self.popen.stdin.write("".join(line + "\n" for line in lines).encode())
        self.popen.stdin.flush()

    def next(self, pattern, limit=LIMIT):
        """Waits for a line that matches, after those that were waited for before."""
        match = self.expect(r"\A(?s:.{%d})(?s:.*?)(?:^%s$)" % (self.seen, pattern), limit)
        self.seen = match.end()
        return match

    def state(self, *names):
        """Waits for the next of these states and returns its name."""
        return self.next(r"state (%s) .*" % "|".join(names)).group(1)

    def files(self):
        self.tell("files")
        return int(self.next(r"files (\d+)").group(1))

    def files_at_rest(self):
        """What is open without a client; the library for loops keeps something from the first time on."""
        self.tell("new", "hurry -")
        self.destroy()
        return self.files()

    def destroy(self):
        """Waits for the client's end and returns how long it took."""
        self.tell("destroy")
        return int(self.next(r"destroyed (\d+)").group(1))

    def end(self):
        self.popen.stdin.close()
        assert self.wait() == 0, self.output[-2000:]

    def stop(self):
        if not self.popen.stdin.closed:
            try:
                self.popen.stdin.close()
            except BrokenPipeError:
                pass
        super().stop()
        while pid := find_daemon(self.instance):  # if its launch was ended it goes by itself, for its owner is dead
            wait_gone(pid)
