"""Checks around each test: no process and no open file may be left behind."""
import os
import signal
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "support"))

import harness  # noqa: E402
import not_here  # noqa: E402

OUTCOMES = {"passed": 0, "failed": 0, "skipped": 0}
SKIPS = []
NOT_HERE = []  # the reason for each test that is not run on Windows


def pytest_configure(config):
    # Prefixes of Wine stay, for to make one takes seconds; each lane has its own.
    lane = os.path.basename(str(config.option.basetemp or "alone"))
    os.environ.setdefault("TETHER_WINEPREFIX", os.path.join(harness.BUILD, "windows." + lane))


def pytest_collection_modifyitems(items):
    if harness.IS_WINDOWS:
        reasons = {item.nodeid: not_here.reason(item.nodeid) for item in items}
        NOT_HERE.extend(filter(None, reasons.values()))
        items[:] = [item for item in items if not reasons[item.nodeid]]


def pytest_sessionstart():
    # Who starts us with nohup has it ignored, and so had all that we start.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    harness.become_subreaper()


def pytest_collection_finish(session):
    if session.items:
        harness.system.prepare()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    report = outcome.get_result()
    if harness.IS_WINDOWS:
        said = harness.system.said()
        if said and report.failed:
            report.sections.append(("Wine has said", said))
    if report.when == "call" or report.outcome != "passed":
        OUTCOMES[report.outcome] += 1
        if report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            SKIPS.append("%s: %s" % (report.nodeid, reason.removeprefix("Skipped: ")))
        # A test that failed twice, in itself and in the checks after it, is one failed test.
        if report.when == "teardown" and getattr(item, "tether_failed", False):
            OUTCOMES[report.outcome] -= 1
        elif report.when == "teardown":
            OUTCOMES["passed"] -= 1
        item.tether_failed = report.failed


def pytest_sessionfinish():
    path = os.environ.get("TETHER_TEST_COUNTS")
    if path:
        with open(path, "w") as file:
            file.write("%(passed)d %(failed)d %(skipped)d\n" % OUTCOMES)
        with open(path + ".not-here", "w") as file:
            file.writelines(why + "\n" for why in NOT_HERE)
    path = os.environ.get("TETHER_TEST_SKIPS")
    if path:
        with open(path, "a") as file:
            file.writelines(line + "\n" for line in SKIPS)


@pytest.fixture
def bystanders():
    """Processes that a test may leave behind: those that were there."""
    return harness.descendants_of(os.getpid())


@pytest.fixture(autouse=True)
def nothing_left(request, bystanders):
    claimed = len(harness.claims)
    before = harness.open_fds()
    allowed = bystanders
    yield
    for process in list(harness.Process.running):
        process.stop()
    if getattr(request.node, "tether_failed", False):
        for clean in harness.Process.at_failure:
            clean()
        harness.end_strays(allowed, limit=0)  # left behind by its failure, which says enough
        harness.release_ports(claimed)
        return
    strays = harness.end_strays(allowed)
    harness.release_ports(claimed)  # a daemon on its way out tries its ports once more
    harness.system.settle()
    leaked = {fd: name for fd, name in harness.open_fds().items() if fd not in before}
    assert not strays, "processes left behind: %s" % strays
    assert not leaked, "files left open: %s" % leaked


@pytest.fixture
def state_dir(tmp_path):
    """A private state directory: no test sees the instance of another, or of the user."""
    path = tmp_path / "state"
    path.mkdir(mode=0o700)
    return str(path)
