"""The built program, started as a user would."""
import json
import os
import subprocess

import pytest

from harness import TETHER, run


def test_version_is_one_line():
    result = run([TETHER, "version"])
    assert result.status == 0
    assert result.output.startswith("tether ") and result.output.count("\n") == 1


def test_version_as_json_names_the_release():
    result = run([TETHER, "version", "--json"])
    with open(os.path.join(os.path.dirname(__file__), "../../VERSION")) as file:
        assert json.loads(result.output)["version"] == file.read().strip()


def test_help_lists_every_command_that_it_explains():
    overview = run([TETHER, "help"])
    assert overview.status == 0
    names = [line.split()[0] for line in overview.output.splitlines() if line.startswith("  ")]
    assert "version" in names
    for name in names:
        explained = run([TETHER, "help", name])
        assert explained.status == 0 and "usage: tether " + name in explained.output
        assert run([TETHER, name, "--help"]).output == explained.output


@pytest.mark.parametrize("arguments", [[], ["frobnicate"], ["help", "frobnicate"], ["version", "-x"]])
def test_wrong_usage_says_what_to_do(arguments):
    result = run([TETHER] + arguments)
    assert result.status == 2
    assert "help" in result.output or "takes" in result.output
    for word in arguments[-1:]:
        assert word in result.output


@pytest.mark.parametrize("typed, meant", [("statsu", "status"), ("lgos", "logs"), ("doctr", "doctor"),
                                          ("daemo", None), ("st", None), ("frobnicate", None)])
def test_a_mistyped_command_is_told_what_may_be_meant(typed, meant):
    for words in ([typed], ["help", typed]):
        result = run([TETHER] + words)
        assert result.status == 2
        assert ("is '%s' meant?" % meant in result.output) == (meant is not None), result.output
        assert meant or "meant" not in result.output


def test_status_as_json_is_json_also_where_nothing_runs(state_dir):
    result = subprocess.run([TETHER, "status", "--json"], capture_output=True, text=True,
                            env=dict(os.environ, TETHER_STATE_DIR=state_dir, TETHER_HTTP_PORT="8123"))
    state = json.loads(result.stdout)
    assert result.returncode == 5 and state["state"] is None and state["instance"] == "8123-9500"
    assert state["message"] in result.stderr


def test_a_failed_start_tells_its_reason_once(state_dir):
    result = run([TETHER, "run", "--ready", "none", "--", "/no/such/server"], {"TETHER_STATE_DIR": state_dir})
    assert result.status == 1 and result.output.count("/no/such/server") == 1, result.output
    assert "no owner" in result.output.splitlines()[0]
