"""A start where there is little of what the system has to give."""
import json
import os
import resource
import signal

from harness import run, wait_gone
from tether import Instance

# From too few for the daemon itself to enough for everything.
LIMITS = range(12, 48)


def launch_with(it, files):
    """A launch whose daemon, guard and server may open so many files each."""
    done = run(it.argv("launch", "--ready", "none", "--", "sleep", "1000"), it.env, limit=10,
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)))
    return json.loads(done.output.splitlines()[-1])


def test_D6_F1_with_few_files_a_start_works_in_full_or_says_why_not(state_dir):
    """Wherever between daemon, guard and server the files run out. A guard that is short of them can
    still end its tree, and lets go of the daemon's lock: else the next launch would wait for ever."""
    codes = set()
    for files in LIMITS:
        with Instance(state_dir) as it:
            result = launch_with(it, files)
            codes.add(result["code"])
            if result["code"] == 0:
                os.kill(result["daemon_pid"], signal.SIGKILL)
                wait_gone(result["server_pid"])
            else:
                assert "oo many open files" in result["message"], (files, result)
    assert codes == {0, 1}
