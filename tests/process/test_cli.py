"""The built program, started as a user would."""
import json
import os

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
