"""What needs no instance."""
import json

from harness import run
from wine import TETHER_EXE, WINE


def test_G1_version_runs(wine):
    result = run([WINE, TETHER_EXE, "version", "--json"], wine.env)
    assert result.status == 0, result.output
    assert json.loads(result.output.splitlines()[-1])["protocol"] == 1


def test_G1_wrong_usage_has_its_exit_code(wine):
    assert run([WINE, TETHER_EXE, "frobnicate"], wine.env).status == 2
