"""What others say of themselves reaches a terminal without control characters, line breaks and turned
text. Row L4: where it enters, and again where it leaves."""
import json
import os
import re
import threading

import pytest

from harness import LIMIT, TETHER, own_pid, run, system
from tether import SERVER, Instance

EVIL = "a\x1b[2J\x1b]0;title\x07b\r\nserver    ready\x9b31m\u202ec\u2028d\u2066\u200f\u061c\u200b\ufeff\xad\U000e0041e\x7ff\x08"
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")


def printed(instance, *words):
    """What a command prints, whose every line is one that Tether has made."""
    output = instance.cli(*words).output
    assert not HARMFUL.search(output), (words, output)
    assert not re.search("^server    ready.*31m", output, re.MULTILINE), (words, output)
    return output


def test_L4_names_are_made_printable_where_they_enter(state_dir):
    with Instance(state_dir) as it:
        it.launch()
        with it.control() as control:
            welcome = control.hello(project=EVIL, godot=EVIL, version=EVIL)
            assert not HARMFUL.search(json.dumps(welcome, ensure_ascii=False)), welcome
            shown = welcome["sessions"][0]["project"]
            assert shown.startswith("ab") and shown.endswith("f\\x08"), shown
            for words in (["status"], ["status", "--json"], ["doctor"], ["stop"], ["logs", "-n", "100"]):
                output = printed(it, *words)
                assert words != ["status"] or "session   editor, process %d, connected, ab" % own_pid() in output
            for name in ("state.json", "launcher.log", "sessions/%d.json" % own_pid()):
                assert not HARMFUL.search(it.log(name)), name


def test_L4_what_is_found_in_files_is_made_printable_where_it_leaves(state_dir):
    with Instance(state_dir) as it:
        assert it.launch()["code"] == 0 and it.cli("stop").status == 0
        path = os.path.join(it.directory, "last.json")
        with open(path) as file:
            last = json.load(file)
        last["cause"] = EVIL
        last["server"]["last_exit"] = {"text": EVIL}
        for reason in (None, EVIL):
            last["server"]["reason"] = reason
            with open(path, "w") as file:
                json.dump(last, file)
            assert "ab" in printed(it, "status") and "ab" in printed(it, "doctor")
        with open(os.path.join(it.directory, "server.log"), "a") as file:
            file.write("2026 stdout %s\n" % EVIL.replace("\n", ""))
        assert "2026 stdout ab" in printed(it, "logs")


@pytest.mark.parametrize("words", [[EVIL], ["help", EVIL], ["version", EVIL], ["status", EVIL], ["launch", EVIL], ["launch", "--" + EVIL],
                                   ["launch", "--ready", EVIL], ["serve", EVIL], ["mcp", EVIL], ["launch", "--", "/no/such/" + EVIL], ["status"]])
def test_L4_what_is_typed_is_told_harmlessly(state_dir, words):
    """Those who type are scripts, too, which put names of files and projects there."""
    output = run([TETHER, *words], {"TETHER_STATE_DIR": state_dir, "TETHER_HTTP_PORT": EVIL}).output
    assert not HARMFUL.search(output) and not re.search("^server    ready", output, re.MULTILINE), output


def answer(held, state, over):
    """A daemon that passes on what it is told, as releases before this one did."""
    while True:
        stream = held.accept(LIMIT * 10)
        if over:
            stream.close()
            return
        with stream, stream.makefile("r") as lines:
            for line in lines:
                message = json.loads(line)
                if message["type"] == "hello":
                    stream.sendall(json.dumps(dict(state, type="welcome")).encode() + b"\n")
                elif message["type"] == "logs":
                    reply = {"id": message["id"], "ok": True, "lines": [EVIL]}
                    log = {"type": "log", "stream": EVIL, "line": EVIL, "seq": 1}
                    stream.sendall((json.dumps(reply) + "\n" + json.dumps(log) + "\n").encode())
                    break
                else:
                    stream.sendall(json.dumps({"id": message["id"], "ok": False, "code": EVIL,
                                               "message": EVIL}).encode() + b"\n")


def test_L4_what_an_older_daemon_says_is_made_printable_where_it_leaves(state_dir):
    it = Instance(state_dir)
    os.mkdir(it.directory, 0o700)
    state = {"version": EVIL, "instance": it.name, "state": "ready", "why": EVIL, "daemon": {"pid": 1, "start": "1"},
             "server": {"state": EVIL, "pid": 1, "reason": EVIL, "command": [SERVER, EVIL]},
             "sessions": [{"role": EVIL, "pid": 1, "link": EVIL, "project": EVIL}]}
    held, over = system.Daemon(it.directory, 8), []
    thread = threading.Thread(target=answer, args=(held, state, over))
    thread.start()
    try:
        for words in (["status"], ["doctor"], ["stop"], ["restart"], ["logs", "-f"]):
            assert re.search("a.*b", printed(it, *words)), words
    finally:
        over.append(True)
        system.connect(it.endpoint, LIMIT).close()
        thread.join()
        held.close()
