"""Runs as the first process of a pid namespace of its own, where numbers can be given out again on
purpose: recycled.py CASE STATE_DIR. Prints one line of JSON with what it saw."""
import contextlib
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))

from harness import wait_gone  # noqa: E402
from scene import is_alive, stays, wait_until  # noqa: E402
from tether import Instance, identity  # noqa: E402


def sleeper():
    return subprocess.Popen(["sleep", "1000"])


def end(process):
    process.kill()
    process.wait()


def recycle(former):
    """Another process with the number of one that is gone, and with another start."""
    for _ in range(1000):
        with open("/proc/sys/kernel/ns_last_pid", "w") as file:
            file.write(str(former["pid"] - 1))
        process = sleeper()
        if process.pid == former["pid"] and identity(process.pid)["start"] != former["start"]:
            return process
        end(process)
    raise RuntimeError("cannot have pid %d again" % former["pid"])


def before_the_launch(it):
    """The launcher is told of a process whose number somebody else has by now."""
    owner = sleeper()
    former = identity(owner.pid)
    end(owner)
    stranger = recycle(former)
    result = it.launch("--owner-pid", former["pid"], "--owner-start", former["start"])
    return {"result": result, "stranger": stranger.pid, "stranger_lives": is_alive(stranger.pid)}


def rightful_holder(it):
    """The one who has the number now is named with its own start: it is an owner like any other."""
    owner = sleeper()
    former = identity(owner.pid)
    end(owner)
    owner = recycle(former)
    code = it.launch("--owner-pid", owner.pid, "--owner-start", identity(owner.pid)["start"])["code"]
    kept = stays(it.result["daemon_pid"], 0.6)
    end(owner)
    it.wait_end()
    return {"code": code, "kept": kept, "log": it.log()}


def behind_the_daemons_back(it):
    """The daemon is stopped while its owner ends and the number goes to somebody else."""
    owner = sleeper()
    former = identity(owner.pid)
    code = it.launch("--owner-pid", owner.pid)["code"]
    os.kill(it.result["daemon_pid"], signal.SIGSTOP)
    end(owner)
    stranger = recycle(former)
    os.kill(it.result["daemon_pid"], signal.SIGCONT)
    it.wait_end()
    return {"code": code, "stranger_lives": is_alive(stranger.pid), "log": it.log()}


def server_of_a_crashed_daemon(it):
    """The records name a server whose number a stranger has by now: the stranger is not touched."""
    it.launch()
    server = {"pid": it.result["server_pid"]}
    server = identity(server["pid"])
    guard = it.status()["guard_pid"]
    os.kill(guard, signal.SIGSTOP)
    os.kill(it.result["daemon_pid"], signal.SIGKILL)
    os.kill(guard, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):  # the guard woke up, and was quicker
        os.kill(server["pid"], signal.SIGKILL)
    wait_gone(server["pid"])
    wait_until(lambda: reaped(server["pid"]), "the number is free")
    stranger = recycle(server)
    code = it.launch()["code"]
    lives = is_alive(stranger.pid)
    it.cli("stop", "--force")
    return {"code": code, "stranger_lives": lives, "log": it.log()}


def reaped(pid):
    """All orphans come to us: we are the namespace's first process."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        pass
    return not os.path.exists("/proc/%d" % pid)


case, state_dir = sys.argv[1:]
with Instance(state_dir, "--grace-ms", "300") as instance:
    outcome = globals()[case](instance)
print(json.dumps(outcome), flush=True)
os._exit(0)
