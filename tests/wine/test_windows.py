"""The Windows build, run under Wine."""
import json
import os

import pytest

from harness import BUILD, descendants_of, run, wait_gone

WINE = "/usr/lib/wine/wine64"
WINESERVER = "/usr/lib/wine/wineserver64"


@pytest.fixture(scope="session")
def wine():
    """Runs a Windows program in a prefix of our own; the server of that prefix is ended after it."""
    env = {"WINEPREFIX": os.path.join(BUILD, "wine"), "WINEDEBUG": "-all", "DISPLAY": "",
           "WINEDLLOVERRIDES": "mscoree,mshtml="}
    os.makedirs(env["WINEPREFIX"], exist_ok=True)
    run([WINE, "wineboot", "--init"], env, limit=120)

    def run_in_wine(*arguments):
        result = run([WINE] + list(arguments), env, limit=120)
        run([WINESERVER, "-k"], env)
        run([WINESERVER, "-w"], env)
        for pid in descendants_of(os.getpid()):
            wait_gone(pid)  # the server has let go of them, the kernel perhaps not yet
        return result

    return run_in_wine


def test_version_runs(wine):
    result = wine(os.path.join(BUILD, "windows.x86_64", "tether.exe"), "version", "--json")
    assert result.status == 0, result.output
    assert json.loads(result.output.splitlines()[-1])["protocol"] == 1


def test_wrong_usage_has_its_exit_code(wine):
    assert wine(os.path.join(BUILD, "windows.x86_64", "tether.exe"), "frobnicate").status == 2
