"""Runs as a user to whom /proc shows nobody else's processes: hidden.py STATE_DIR PID START|-.
Launches with an owner that it cannot look at, prints the status and then "ended"."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))

from tether import Instance  # noqa: E402

state_dir, pid, start = sys.argv[1:]
options = ["--owner-pid", pid] + (["--owner-start", start] if start != "-" else [])
with Instance(state_dir, "--grace-ms", "0", "--poll-ms", "50") as it:
    it.launch(*options)
    print(json.dumps({"shown": os.path.exists("/proc/" + pid), "code": it.result["code"], "status": it.status(),
                      "daemon": it.result["daemon_pid"]}), flush=True)
    it.wait_end(8)
    print("ended\n" + it.log(), flush=True)
