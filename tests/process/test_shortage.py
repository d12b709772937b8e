"""A start where there is little of what the system has to give."""
import json
import os
import resource
import time

from fake_daemon import FakeDaemon
from harness import LIMIT, Process, kill, run, wait_gone
from scene import find_guard
from tether import SERVER, Instance

# From too few for the daemon itself to enough for everything.
LIMITS = range(12, 48)


def launch_with(it, files):
    """A launch whose daemon, guard and server may open so many files each."""
    done = run(it.argv("launch", "--ready", "none", "--", "sleep", "1000"), it.env,
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
                guard = find_guard(result["daemon_pid"])
                kill(result["daemon_pid"])
                wait_gone(result["server_pid"])
                wait_gone(guard)
            else:
                assert "oo many open files" in result["message"], (files, result)
    assert codes == {0, 1}


def test_D6_a_daemon_without_room_is_asked_again_in_peace(state_dir):
    """One that has no file left takes each connection and closes it. A launch comes again, but not as
    fast as the machine can; when that daemon is gone, it starts another."""
    with Instance(state_dir) as it:
        with FakeDaemon(it) as daemon:
            with Process(it.argv("status"), it.env) as status:
                daemon.held.accept(LIMIT).close()
                assert status.wait() == 5
                assert "hung up" in status.output
            launch = Process(it.argv("launch", "--", SERVER), it.env)
            times = []
            while len(times) < 10:
                daemon.held.accept(LIMIT).close()
                times.append(time.monotonic())
            assert times[-1] - times[0] > 0.1
        assert launch.wait() == 0, launch.output
        assert '"result":"started"' in launch.output


def test_L5_what_a_file_may_not_hold_is_lost_and_nothing_else(state_dir):
    """`ulimit -f`: writing beyond it is an error, not the end of the daemon."""
    most = 16 * 1024
    with Instance(state_dir) as it:
        result = it.launch(command=["sh", "-c", "head -c 200000 /dev/zero | tr '\\0' 'a\\n'; exec %s" % SERVER],
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
        assert result["code"] == 0, result
        assert os.path.getsize(os.path.join(it.directory, "server.log")) <= most
        assert it.cli("restart").status == 0 and it.status()["daemon"]["pid"] == result["daemon_pid"]
