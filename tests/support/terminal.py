"""A terminal, for what behaves in its own way on one."""
import pty

import pytest


def open_terminal():
    """Both ends of a new one; without, as where /dev/pts is not mounted, the test is skipped."""
    try:
        return pty.openpty()
    except OSError as error:
        pytest.skip("no terminal to be had: %s" % error)
