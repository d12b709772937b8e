"""The usual way to tie a server to its owner: look every few seconds whether the owner's pid exists.

This is what common editor plugins do, kept plain on purpose; the benchmark measures Tether against
it. Two looks in a row must miss the owner; then the server gets SIGTERM, and SIGKILL 5 s later.
The known faults are part of the picture: a pid that was given to another process counts as the
owner, a zombie counts as alive, and only the server's own process is ended.

usage: poll_reaper.py --owner-pid PID [--interval SECONDS] [--kill-after SECONDS] -- COMMAND..."""
import argparse
import os
import signal
import subprocess
import sys
import time

LOOKS = 2  # how many looks in a row must miss the owner


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def end(server, kill_after):
    server.terminate()
    try:
        server.wait(kill_after)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def watch(server, owner, interval):
    """Returns when the owner is gone; ends the program with the server's status if that ends."""
    missed = 0
    while missed < LOOKS:
        time.sleep(interval)
        missed = 0 if is_there(owner) else missed + 1
        if server.poll() is not None:
            sys.exit(server.returncode)


def main():
    parser = argparse.ArgumentParser(description="ends a server once its owner is gone")
    parser.add_argument("--owner-pid", type=int, required=True)
    parser.add_argument("--interval", type=float, default=5.0)
    parser.add_argument("--kill-after", type=float, default=5.0)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    server = subprocess.Popen(options.command, stdin=subprocess.DEVNULL)

    def stop(*_):
        end(server, options.kill_after)
        sys.exit(0)

    signal.signal(signal.SIGTERM, stop)
    watch(server, options.owner_pid, options.interval)
    end(server, options.kill_after)


if __name__ == "__main__":
    main()
