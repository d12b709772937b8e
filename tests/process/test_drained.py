"""The stop grace is for those who were asked to end."""
import time

from harness import wait_gone
from tether import SERVER, Instance

LONG_MS = 25000


def test_D2_helpers_that_no_sigterm_reached_are_not_waited_for(state_dir, tmp_path):
    """The root obeys at once; three helpers in sessions and groups of their own never hear of it."""
    pids = tmp_path / "pids"
    with Instance(state_dir, "--stop-grace-ms", LONG_MS) as one:
        one.launch(command=[SERVER, "--escape-obedient", str(pids)])
        began = time.monotonic()
        assert one.cli("stop").output == "stopped\n"
        assert time.monotonic() - began < LONG_MS / 2000
        for pid in pids.read_text().split():
            wait_gone(int(pid))
        assert one.ports_are_free()
