"""What is asked for on the command line and by variables, right and wrong. Rows A3, A7."""
import os
import re

import pytest

from clients import dead_identity
from harness import TETHER, run
from scene import command_of, environment_of
from tether import SERVER, Instance, can_bind, http_get, identity, start_owner

INTERVALS = {"grace-ms": 500, "stop-grace-ms": 5000, "ready-timeout-ms": 30000, "sweep-ms": 30000,
             "idle-limit-ms": 0, "linger-ms": 0, "silence-limit-ms": 1800000, "poll-ms": 1000,
             "parent-poll-ms": 2000}
COMMANDS = ["run", "launch", "status", "stop", "restart", "logs", "doctor", "sweep"]


def variable(flag):
    return "TETHER_" + flag.upper().replace("-", "_")


# ---- A7: intervals ----

def told_to_the_daemon(instance, flag):
    """A daemon looks at no variables: every interval is handed to it as a flag."""
    words = command_of(instance.result["daemon_pid"])
    return words[words.index("--" + flag) + 1]


@pytest.mark.parametrize("value", ["", "x", "-1", "1.5", "10s", " 5", "0x10", "+5", "5 ",
                                   "99999999999", "99999999999999999999999", "١"])
def test_A7_a_malformed_variable_is_told_and_leaves_the_default(state_dir, value):
    """The server starts all the same."""
    with Instance(state_dir) as instance:
        assert instance.launch(env={variable(flag): value for flag in INTERVALS})["code"] == 0
        for flag, default in INTERVALS.items():
            assert "warning: %s: '%s' is not valid here; the default is taken" % (
                variable(flag), value) in instance.warnings
            assert told_to_the_daemon(instance, flag) == str(default)


@pytest.mark.parametrize("form, variables, expected", [
    (None, None, None), (None, "1234", "1234"), ("--%s=4321", "1234", "4321"), ("--%s 4321", "x", "4321")])
def test_A7_a_proper_variable_is_taken_silently_and_the_flag_wins(state_dir, form, variables, expected):
    with Instance(state_dir) as instance:
        instance.launch(*[word for flag in INTERVALS if form for word in (form % flag).split()],
                        env={variable(flag): variables for flag in INTERVALS if variables})
        for flag, default in INTERVALS.items():
            assert told_to_the_daemon(instance, flag) == (expected or str(default))
            assert ("warning: " + variable(flag) in instance.warnings) == (variables == "x")


def test_A7_a_wrong_interval_on_the_command_line_is_a_warning_too(state_dir):
    with Instance(state_dir) as instance:
        instance.launch("--grace-ms", "soon", "--sweep-ms=0")
        assert "warning: --grace-ms: 'soon' is not valid here" in instance.warnings
        assert "'0' is not valid here; the default is taken" in instance.warnings
        assert instance.result["result"] == "started"


def test_A7_the_grace_of_the_variable_is_the_one_that_is_given(state_dir):
    """With the default the daemon would still be there: what is set is what happens."""
    with Instance(state_dir) as instance, start_owner() as owner:
        instance.launch("--owner-pid", owner.pid, env={"TETHER_GRACE_MS": "86400000"})
        with instance.control() as control:
            control.hello(role="cli")
            owner.kill()
            state = control.receive("state")
            while state["ownership"] != "orphan?":
                state = control.receive("state")
            with pytest.raises(TimeoutError):
                control.wait_state("stopping", limit=1)


@pytest.mark.parametrize("name,value", [
    ("TETHER_PORTS", "any"), ("TETHER_RESTART", "always"), ("TETHER_READY", "soon"),
    ("TETHER_READY", "http:path"), ("TETHER_OWNER_ENV", "1BAD"), ("TETHER_OWNER_ENV", "A=B"),
    ("TETHER_READY", "http:/a b")])
def test_A7_other_malformed_variables_leave_the_default_too(state_dir, name, value):
    with Instance(state_dir) as instance:
        result = instance.launch(env={name: value}, command=[SERVER, "--http-status", "500"])
        assert result["code"] == 0, result
        assert "warning: %s: '%s' is not valid here" % (name, value) in instance.warnings


@pytest.mark.parametrize("value", ["", "x", "0", "-1", "65536", "8000 ", "8000.0"])
def test_A7_a_malformed_port_variable_leaves_the_default(state_dir, value):
    done = run([TETHER, "status"], {"TETHER_STATE_DIR": state_dir, "TETHER_HTTP_PORT": value})
    assert done.status == 5 and "no tether runs for ports 8000 and 9500" in done.output
    assert "warning: TETHER_HTTP_PORT: '%s'" % value in done.output


def test_the_port_variables_stand_in_for_the_flags_and_flags_win(state_dir):
    with Instance(state_dir) as instance:
        instance.launch()
        env = {"TETHER_STATE_DIR": state_dir, "TETHER_HTTP_PORT": str(instance.http),
               "TETHER_WS_PORT": str(instance.ws)}
        done = run([TETHER, "status"], env)
        assert done.status == 0 and "warning" not in done.output
        env.update(TETHER_HTTP_PORT="1", TETHER_WS_PORT="2")
        assert run([TETHER, "status"] + instance.ports, env).status == 0


@pytest.mark.parametrize("value", ["0", "off", "false"])
def test_hold_ports_can_be_said_no_to(state_dir, value):
    with Instance(state_dir) as instance:
        result = instance.launch("--ready-timeout-ms", "5000", "--restart", "never",
                                 env={"TETHER_HOLD_PORTS": value})
        assert result["code"] == 0, result["message"]


# ---- wrong words ----

@pytest.mark.parametrize("words,named", [
    (["--http-port", "0"], ["--http-port", "'0'"]),
    (["--http-port", "65536"], ["--http-port", "'65536'"]),
    (["--http-port", "http"], ["--http-port", "'http'"]),
    (["--http-port", "-1"], ["--http-port", "'-1'"]),
    (["--http-port", ""], ["--http-port", "''"]),
    (["--ws-port=1e3"], ["--ws-port", "'1e3'"]),
    (["--http-port", "7000", "--ws-port", "7000"], ["7000", "different"]),
    (["--ports", "any"], ["--ports", "'any'", "fixed|auto"]),
    (["--ready", "maybe"], ["--ready", "'maybe'"]),
    (["--ready", "http:"], ["--ready", "'http:'"]),
    (["--ready", "http:/a b"], ["--ready", "'http:/a b'"]),
    (["--ready", "http:/" + "x" * 600], ["--ready"]),
    (["--restart", "always"], ["--restart", "'always'", "it takes on-failure or never"]),
    (["--http-prot", "1"], ["unknown option '--http-prot'; is --http-port meant?"]),
    (["--grcae-ms=1"], ["unknown option '--grcae-ms=1'; is --grace-ms meant?"]),
    (["--http-port", "65536"], ["it takes a number from 1 to 65535"]),
    (["--owner-env", "A-B"], ["--owner-env", "'A-B'"]),
    (["--owner-env", ""], ["--owner-env", "''"]),
    (["--owner-env=X%d" % i for i in range(9)], ["--owner-env"]),
    (["--hold-ports", "--ready", "ports"], ["--ready ports", "--hold-ports"]),
    (["--hold-ports=yes"], ["--hold-ports takes no value"]),
    (["--http-port"], ["--http-port needs a value"]),
    (["--grace-ms"], ["--grace-ms needs a value", "milliseconds"]),
    (["--colour"], ["unknown option '--colour'"]), (["-x"], ["unknown option '-x'"]),
    (["--json"], ["unknown option '--json'"]), (["--force"], ["unknown option '--force'"]),
    (["--lock-handle", "3"], ["unknown option '--lock-handle'"]),
    (["--http"], ["unknown option '--http'\n"]),
    (["server"], ["unexpected argument 'server'", "\"--\""]),
    (["-"], ["'-'"]), ([""], ["''"]),
    (["--"], ["which server?", "\"--\"", "built-in"]),
], ids=lambda value: " ".join(value)[:40])
@pytest.mark.parametrize("command", ["run", "launch"])
def test_wrong_words_are_named_with_what_is_wrong(state_dir, command, words, named):
    server = [] if not words or words[-1] in ("--", "--http-port", "--grace-ms") else ["--", SERVER]
    done = run([TETHER, command] + words + server, {"TETHER_STATE_DIR": state_dir})
    assert done.status == 2, done.output
    for name in named + ["tether %s: " % command, "See `tether help %s`" % command]:
        assert name in done.output, done.output
    assert os.listdir(state_dir) == []


@pytest.mark.parametrize("command,words", [
    ("status", ["--force"]), ("status", ["--", "server"]), ("stop", ["--json"]), ("stop", ["now"]),
    ("restart", ["--force"]), ("logs", ["-n"]), ("logs", ["-n", "x"]), ("logs", ["-n", "-1"]),
    ("logs", ["-n", "100001"]), ("logs", ["--lines=1.5"]), ("doctor", ["--fix"]), ("sweep", ["all"]),
    ("status", ["--grace-ms", "5"]), ("daemon", []), ("daemon", ["--", SERVER])])
def test_commands_take_only_what_is_theirs(state_dir, command, words):
    done = run([TETHER, command] + words, {"TETHER_STATE_DIR": state_dir})
    assert done.status == 2 and done.output.startswith("tether %s: " % command)


def test_what_stands_behind_the_dashes_is_the_servers_alone(state_dir, tmp_path):
    record = tmp_path / "words"
    words = ["--http-port", "0", "--", "-x", "", "a b", "*", "é", "--help"]
    instance = Instance(state_dir, "--ready", "none", "--restart", "never")
    with instance.run(command=["sh", "-c", 'printf "%s\\n" "$@" > "$0"', str(record)] + words) as ran:
        assert ran.wait() == 0
    assert record.read_text() == "".join(word + "\n" for word in words)


# ---- A3: the owner ----

@pytest.mark.parametrize("value", ["0", "1", "-1", "2147483648", "9223372036854775808",
                                   "18446744073709551617", "me", "12x", " 12", "1e3", "007"])
@pytest.mark.parametrize("way", ["flag", "variable"])
def test_A3_what_is_no_owner_is_told_and_arms_nothing(state_dir, way, value):
    with Instance(state_dir) as instance:
        if way == "flag":
            instance.launch("--owner-pid=" + value)
        else:
            instance.launch(env={"TETHER_OWNER_PID": value})
        assert "'%s' is not valid here; no owner is watched" % value in instance.warnings
        state = instance.status()
        assert state["ownership"] == "unarmed" and state["owner"] is None
        assert state["why"].startswith("no owner was given")


@pytest.mark.parametrize("options,env", [
    (["--owner-start", "soon"], {}), ([], {"TETHER_OWNER_START": "-1"}),
    (["--owner-pid", "nobody"], {})])
def test_A3_a_wrong_start_or_flag_beside_a_right_variable_arms_nothing(state_dir, options, env):
    """The flag wins, also where it is wrong: half an identity could be somebody else's."""
    with Instance(state_dir) as instance, start_owner() as owner:
        instance.launch(*options, env={"TETHER_OWNER_PID": str(owner.pid), **env})
        assert "no owner is watched" in instance.warnings
        assert instance.status()["ownership"] == "unarmed"


def test_A3_the_flag_wins_over_the_variable(state_dir):
    with Instance(state_dir) as instance, start_owner() as right, start_owner() as wrong:
        wrong_identity = identity(wrong.pid)
        instance.launch("--owner-pid", right.pid, env={
            "TETHER_OWNER_PID": str(wrong.pid), "TETHER_OWNER_START": wrong_identity["start"]})
        assert instance.warnings == ""
        owner = instance.status()["owner"]
        assert owner == {**identity(right.pid), "alive": True}


@pytest.mark.parametrize("env", [{}, {"TETHER_OWNER_PID": ""},
                                 {"TETHER_OWNER_PID": "", "TETHER_OWNER_START": ""}])
def test_A3_without_an_owner_nothing_is_armed_and_nothing_is_said(state_dir, env):
    with Instance(state_dir) as instance:
        instance.launch(env=env)
        assert instance.warnings == "" and instance.status()["ownership"] == "unarmed"


def test_A3_an_owner_that_is_dead_already_is_noticed(state_dir):
    """Not the same as none: nothing is started for it."""
    instance, dead = Instance(state_dir), dead_identity()
    result = instance.launch("--owner-pid", dead["pid"], "--owner-start", dead["start"])
    assert result["code"] == 1 and "process %d, does not live" % dead["pid"] in result["message"]


# ---- what is handed on ----

def test_words_in_braces_are_replaced_in_the_command(state_dir):
    words = ["{http_port}", "{ws_port}", "{owner_pid}", "{instance}", "a{http_port}b{ws_port}c",
             "{{http_port}}", "{http_port", "{HTTP_PORT}", "{unknown}", "$TETHER", "{}"]
    instance = Instance(state_dir, "--ready", "none", "--restart", "never")
    show = ["sh", "-c", 'for word; do echo "<$word>"; done', "sh"] + words
    with start_owner() as owner, \
            instance.run("--owner-pid", str(owner.pid), command=show) as ran:
        assert ran.wait() == 0
        shown = re.findall("^<(.*)>$", ran.output, re.MULTILINE)
    http, ws = str(instance.http), str(instance.ws)
    assert shown == [http, ws, str(owner.pid), http + "-" + ws, "a" + http + "b" + ws + "c",
                     "{" + http + "}", "{http_port", "{HTTP_PORT}", "{unknown}", "$TETHER", "{}"]
    with instance.run(command=show) as ran:  # without an owner there is nothing in its place
        assert ran.wait() == 0
        assert re.findall("^<(.*)>$", ran.output, re.MULTILINE)[2] == ""


@pytest.mark.parametrize("way", ["flag", "variable"])
def test_a_server_with_one_port_only(state_dir, way):
    with Instance(state_dir) as instance:
        second, instance.ws = instance.ws, 0
        if way == "flag":
            result = instance.launch(command=[SERVER])
        else:
            done = run([TETHER, "launch", "--http-port", str(instance.http), "--", SERVER],
                       {**instance.env, "TETHER_WS_PORT": "0"})
            assert done.status == 0, done.output
            result = {"ws_port": 0, "daemon_pid": instance.status()["daemon"]["pid"]}
        assert result["ws_port"] == 0 and instance.name == "%d-0" % instance.http
        state = instance.status()
        assert state["state"] == "ready" and state["instance"] == instance.name
        assert http_get(instance.http)[0] == 200 and can_bind(second)
        words = instance.cli("status").output
        assert "ports     %d\n" % instance.http in words
        ports = [line for line in instance.cli("doctor").output.splitlines() if " port " in line]
        assert len(ports) == 1
        assert environment_of(state["server"]["pid"])["TETHER_WS_PORT"] == "0"


# ---- help ----

@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_each_command_explains_its_flags(command):
    done = run([TETHER, "help", command])
    assert done.status == 0 and "usage: tether %s " % command in done.output
    for flag in ("--http-port N", "--ws-port N"):
        assert flag in done.output
    starts = command in ("run", "launch")
    for flag, default in INTERVALS.items():
        assert bool(re.search(r"--%s .*\(%d\)$" % (flag, default), done.output, re.MULTILINE)) == starts
    for flag in ("--ports fixed|auto", "--hold-ports", "--owner-pid PID", "--owner-start TOKEN",
                 "--owner-env NAME", "--ready HOW", "--restart WHEN", "--parent-watchdog on|off"):
        assert (flag in done.output) == starts
    assert ("--json" in done.output) == (command in ("status", "doctor"))
    assert ("--force" in done.output) == (command == "stop")
    assert ("--lines N" in done.output) == (command == "logs")
    assert "-handle" not in done.output
    for line in done.output.splitlines():
        assert len(line) <= 100, line
