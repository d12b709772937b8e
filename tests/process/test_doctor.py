"""What the doctor shows: text of several lines, and another tether on our ports."""
import json
import os
import shlex

import pytest

from harness import TETHER, Process, wait_gone
from scene import wait_until
from tether import SERVER, Instance, can_bind


def test_text_of_several_lines_stands_in_its_column(state_dir):
    one = Instance(state_dir)
    wait_gone(one.launch(command=("sh", "-c", "echo it hurts; echo a lot; exit 3"))["daemon_pid"])
    lines = one.cli("doctor").output.splitlines()
    first = [i for i, line in enumerate(lines) if line.startswith("!!   last run ")][0]
    assert lines[first].index("ended") == 16
    advice = [i for i, line in enumerate(lines) if line.startswith(" " * 16 + "→")][0]
    assert advice > first + 2 and any("it hurts" in line for line in lines[first:advice])
    assert all(line.startswith(" " * 16) and line[16] != " " for line in lines[first + 1:advice])


def finding_of(instance, port, env=None):
    findings = json.loads(instance.cli("doctor", "--json", env=env).output)["findings"]
    return [f for f in findings if f["what"] == "port %d" % port][0]


def advised(finding):
    """The command between the backticks."""
    return shlex.split(finding["advice"].split("`")[1])


@pytest.mark.parametrize("builtin", [False, True])
def test_another_tether_on_our_port_is_not_to_be_ended_but_stopped(state_dir, tmp_path, builtin):
    """By its server's cookie, or, where its daemon listens, by its program."""
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir(0o700)
    with Instance(str(elsewhere)) as other:
        result = json.loads(other.cli("launch").output) if builtin else other.launch()
        assert result["result"] == "started"
        one = Instance(state_dir, ports=(other.http, other.ws))
        found = finding_of(one, one.http)
        assert not found["ok"] and "another tether, which keeps its state in %s" % elsewhere in found["text"]
        assert "end it" not in found["advice"]
        words = advised(found)
        assert words[:4] == ["env", "TETHER_STATE_DIR=%s" % elsewhere, "tether", "stop"]
        if builtin:
            assert "its --http-port" in found["advice"]
        else:
            assert words[4:] == other.ports
        assert finding_of(other, other.http)["ok"]  # itself it is no other
        done = other.cli("stop", env=dict([words[1].split("=", 1)]))
        assert done.status == 0 and finding_of(one, one.http)["ok"]


def outside(instance, *argv, **env):
    """A process that listens on the instance's ports and was started without TETHER_STATE_DIR."""
    process = Process(["env", "-i", "TETHER_HTTP_PORT=%d" % instance.http, "TETHER_WS_PORT=%d" % instance.ws,
                       *["%s=%s" % pair for pair in env.items()], *argv])
    wait_until(lambda: not can_bind(instance.http), "it listens")
    return process


def test_another_tether_in_the_usual_place_is_named_too(state_dir):
    one = Instance(state_dir)
    with outside(one, SERVER, TETHER_INSTANCE=one.name):
        found = finding_of(one, one.http)
        assert "in the usual place" in found["text"]
        assert advised(found) == ["env", "-u", "TETHER_STATE_DIR", "tether", "stop"] + one.ports


@pytest.mark.parametrize("argv", [[SERVER], [TETHER, "serve"]])
def test_a_server_of_no_tether_is_a_stranger_also_if_it_is_ours(state_dir, argv):
    one = Instance(state_dir)
    with outside(one, *argv):
        found = finding_of(one, one.http)
        assert not found["ok"] and found["advice"].startswith("end it") and "another tether" not in found["text"]


def test_one_of_another_instance_in_the_same_place_is_a_stranger(state_dir):
    with Instance(state_dir) as other:
        other.launch()
        one = Instance(state_dir, ports=(other.http, other.ws + 1))
        assert finding_of(one, one.http)["advice"].startswith("end it")
