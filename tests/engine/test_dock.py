"""The dock in a real editor: what it shows of each state and what its buttons do. The states come
from a stand-in for TetherServer; test_dock_real.py has the same dock with real servers."""
import json
import os
import re
import shutil

import pytest

import plugin_scene
from editor import ROOT, with_texts

SETTINGS = ["command", "http_port", "ws_port", "ports", "autostart", "keep_on_exit", "environment",
            "owner_aliases", "ready", "ready_timeout_ms", "restart", "grace_ms", "stop_grace_ms",
            "idle_limit_ms", "linger_ms", "transport"]
MAKE = '''
if driver.kept.has("dock"):
	driver.kept["dock"].remove_from(driver)
	driver.kept["control"].queue_free()
	await driver.get_tree().process_frame
driver.kept["fake"] = load("res://fake_server.gd").new()
driver.kept["control"] = load("res://addons/tether/control.gd").new(driver.kept["fake"])
driver.add_child(driver.kept["control"])
driver.kept["dock"] = load("res://addons/tether/dock/dock.gd").new(driver.kept["control"])
driver.kept["dock"].add_to(driver)
driver.kept["dock"].get_parent().make_visible()
while driver.kept["dock"].get_child_count() == 0:
	await driver.get_tree().process_frame
driver.kept["told"] = []
driver.kept["control"].needs_user.connect(func(message, _severity, _tooltip): driver.kept["told"].append(message))
'''
NAMES = '''var fake = driver.kept["fake"]
var dock = driver.kept["dock"]
var control = driver.kept["control"]
var view = load("res://dock_view.gd")
'''
FAILED = {"state": "failed", "restarts": 4, "daemon_version": "0.1.0",
          "server": {"state": "failed", "pid": 0, "failure": "crashes",
                     "last_exit": {"code": 3, "signal": None, "text": "exited with code 3"},
                     "reason": "the server crashed too often: it exited with code 3; its last lines:\n"
                               "reading\nno module named level_index"}}
BLOCKED = {"message": "port 8000 is held by process 4711 (python3)", "next_ports": [8001, 9501],
           "holder": {"pid": 4711, "executable": "/usr/bin/python3.11", "port": 8000,
                      "command": "python3 -m http.server 8000"}}


class Dock:
    """The dock in the editor, and the stand-in that it shows."""

    def __init__(self, scene):
        self.scene = scene
        scene.run(MAKE)

    def run(self, code):
        return self.scene.run(NAMES + code)

    def be(self, state, status=None):
        self.run("fake.be(%s, %s)" % (json.dumps(state), json.dumps(status or {})))

    def be_ready(self, sessions=()):
        self.run('var status = fake.healthy(OS.get_process_id())\nstatus["sessions"].append_array(%s)\n'
                 'fake.be("ready", status)' % json.dumps(list(sessions)))

    def texts(self):
        return self.run("return view.texts(dock)")

    def enabled(self):
        return self.run("return view.enabled(dock)")

    def press(self, words):
        assert self.run("return view.press(dock, %s)" % json.dumps(words)), words

    def calls(self):
        return self.run("return fake.calls")

    def told(self):
        return self.run('return driver.kept["told"]')


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("dock"))
    project = plugin_scene.make_project(os.path.join(folder, "p"), ("tether", "driver"))
    for name in ("fake_server.gd", "dock_view.gd"):
        shutil.copy(os.path.join(ROOT, "tests/support", name), project)
    yield from plugin_scene.shared_scene(folder, plugins=("tether", "driver"),
                                         env={"TETHER_AUTOSTART": "off"}, command=with_texts)


@pytest.fixture
def dock(scene):
    found = Dock(scene)
    yield found
    scene.run('for name in ["http_port", "ws_port", "command"]:\n'
              '\tvar path = "tether/server/" + name\n'
              '\tProjectSettings.set_setting(path, ProjectSettings.property_get_revert(path))\n'
              'ProjectSettings.save()\nfor name in ["TETHER_HTTP_PORT", "TETHER_WS_PORT"]:\n'
              '\tOS.unset_environment(name)')


# ---- states --------------------------------------------------------------------------------------

@pytest.mark.parametrize("state, headline, enabled", [
    ("off", "Off", ["Start"]),
    ("launching", "Launching…", ["Stop"]),
    ("starting", "Starting…", ["Stop", "Restart"]),
    ("ready", "Running", ["Stop", "Restart"]),
    ("backoff", "Restarting…", ["Stop", "Restart"]),
    ("stopping", "Stopping…", []),
    ("stopped", "Stopped", ["Start"]),
    ("failed", "Failed", ["Start"]),
    ("blocked", "Port taken", ["Start"]),
    ("lost", "Connection lost", ["Stop"]),
    ("of a later version", "Of A Later Version", []),
])
def test_each_state_has_its_words_and_its_buttons(dock, state, headline, enabled):
    dock.be(state)
    assert headline in dock.texts()
    assert dock.enabled() == enabled


def test_F3_running_server_is_shown_with_why_it_lives_for_whom_and_since_when(dock, scene):
    dock.be_ready()
    texts = dock.texts()
    for text in ("Running", "Stays up for this editor and 1 AI client.",
                 "http://127.0.0.1:8000/mcp", "built in (4714)", "8000, 9500",
                 "this editor (%d)" % scene.pid, "My Game (this editor)\nAI client (4800)",
                 "1 min 21 s, no restarts"):
        assert text in texts, texts
    assert not {"Last exit", "Apply"} & set(texts)
    dock.press("Copy the address")
    dock.press("Restart the server")
    dock.press("Stop the server")
    assert dock.calls() == ["restart", "stop"]


def test_F3_why_it_stays_up_is_told_in_a_persons_words(dock, scene):
    dock.be_ready([{"session": "3", "role": "editor", "pid": 99, "project": "Dungeon"},
                   {"session": "4", "role": "editor", "pid": 98, "project": "Gone", "counts": False},
                   {"session": "5", "role": "front", "pid": 97, "project": ""}])
    assert "Stays up for this editor, Dungeon and 2 AI clients." in dock.texts()
    dock.be("ready", {"ownership": "unarmed", "why": "no owner was given; `tether stop` ends it"})
    assert "Stays up until it is stopped, also without an editor." in dock.texts()
    dock.be("ready", {"why": "an editor is restarting; its place is kept for 12 s"})
    assert "Stays up: an editor is restarting; its place is kept for 12 s" in dock.texts()


def test_the_keyboard_stays_where_start_and_stop_take_turns(dock):
    dock.be_ready()
    dock.run('view.button(dock, "Stop the server").grab_focus()')
    dock.be("stopped")
    assert dock.run('return view.button(dock, "Start the server").has_focus()')


def test_advice_for_the_command_line_is_left_out_where_there_is_a_button(dock):
    dock.be("blocked", {"message": "port 8000 is held by a process of user 1001; end it, or use --http-port 8001",
                        "next_ports": [8001, 9501]})
    assert "Port 8000 is held by a process of user 1001" in dock.texts()


def test_a_server_that_was_found_is_shown_by_what_it_was_started_with(dock):
    """Not by what this editor would have started."""
    for server, shown in (({"builtin": False, "command": ["/opt/other", "--port", "8000"]}, "other --port 8000 (7)"),
                          ({"builtin": True, "command": ["/opt/tether", "serve"]}, "built in (7)"),
                          ({}, "built in (7)"), ({"command": []}, "built in (7)"), ({"command": [{}, 7]}, "  (7)")):
        dock.be("ready", {"server": dict(server, pid=7)})
        assert shown in dock.texts(), (server, dock.texts())


def test_whatever_a_daemon_of_another_version_says_is_shown_or_left_out(dock):
    for odd in (None, [], 7, "words", {"pid": []}, [1, None, {"pid": "x"}]):
        dock.be("ready", {key: odd for key in ("server", "owner", "sessions", "why", "uptime_ms",
                                               "restarts", "daemon_version", "holder", "next_ports")})
        assert "Running" in dock.texts()
        dock.be("blocked", {"holder": odd, "next_ports": odd})
        assert dock.enabled() == ["Start"]


def test_F4_stranger_on_the_port_is_named_and_the_next_pair_is_one_press_away(dock, scene):
    dock.be("blocked", BLOCKED)
    texts = dock.texts()
    assert "Port 8000 taken" in texts and "python3 -m http.server 8000" in texts
    assert any("process 4711, /usr/bin/python3.11" in text for text in texts)
    assert "http://127.0.0.1:8000/mcp" not in texts  # that would lead to the stranger
    dock.press("Use 8001 / 9501")
    assert dock.calls() == ["start"]
    assert dock.run("return [fake.http_port, fake.ws_port]") == [8001, 9501]
    with open(os.path.join(scene.folder, "project.godot")) as file:
        saved = file.read()
    assert "server/http_port=8001" in saved and "server/ws_port=9501" in saved


def test_D7_failed_server_is_shown_with_how_it_ended_and_its_last_lines(dock):
    dock.be("failed", FAILED)
    texts = dock.texts()
    for text in ("The server crashed too often: it exited with code 3; its last lines:",
                 "reading\nno module named level_index", "exited with code 3"):
        assert text in texts, texts
    dock.press("Start the server")
    assert dock.calls() == ["start"]


def test_failed_launch_is_simply_tried_again(dock):
    dock.be("failed", {"message": "cannot start 'nowhere': No such file or directory"})
    assert "Cannot start 'nowhere': No such file or directory" in dock.texts()
    dock.press("Start the server")
    assert dock.calls() == ["start"]


def test_A5_other_editors_are_asked_for_before_their_server_is_stopped(dock):
    dock.be_ready([{"session": "3", "role": "editor", "pid": 99, "project": "Dungeon", "link": "away"}])
    dock.press("Stop the server")
    assert dock.calls() == []
    question = 'dock.find_children("*", "ConfirmationDialog", true, false)[0]'
    assert "Dungeon (99), away" in dock.run("return %s.dialog_text" % question)
    dock.run('%s.confirmed.emit()\n%s.hide()' % (question, question))
    assert dock.calls() == ["stop force"]
    dock.press("Restart the server")  # as it is: nothing is taken from them
    assert dock.calls()[1:] == ["restart"]
    dock.run("control.start()")
    dock.be("launching")
    dock.be_ready([{"session": "3", "role": "editor", "pid": 99, "project": "Dungeon", "link": "away"}])
    dock.run('ProjectSettings.set_setting("tether/server/command", PackedStringArray(["mine"]))\n'
             'await ProjectSettings.settings_changed\nawait driver.get_tree().process_frame')
    dock.press("Apply")  # with another command it would be
    assert dock.calls()[2:] == ["start"] and "Dungeon (99), away" in dock.run("return %s.dialog_text" % question)
    dock.run('%s.confirmed.emit()\n%s.hide()' % (question, question))
    assert dock.calls()[3:] == ["restart force"]


@pytest.mark.parametrize("theirs, more, words", [
    ("0.2.0", {}, "newer than this addon"), ("0.0.9", {}, "Other editors use it"),
    ("0.0.9", {"ownership": "unarmed"}, "started by hand"),
    ("0.2.0", {"newer_daemon_refused": True}, "Update the addon"), ("0.10.0", {}, "newer than this addon")])
def test_F6_another_version_of_the_daemon_is_explained(dock, theirs, more, words):
    dock.be_ready()
    assert not any("Tether" in text for text in dock.texts())
    dock.be("ready", dict(more, daemon_version=theirs))
    assert any(words in text and theirs in text for text in dock.texts())


def test_toast_only_for_what_needs_the_user_and_once(dock):
    for state in ("launching", "starting", "ready", "backoff", "starting", "ready", "lost", "ready",
                  "stopping", "stopped"):
        dock.be(state)
    assert dock.told() == []
    dock.be("blocked", BLOCKED)
    dock.be("blocked", BLOCKED)
    assert dock.told() == ["Tether: Port 8000 taken by python3.11"]
    dock.be("launching")
    dock.be("failed", FAILED)
    assert dock.told()[1:] == ["Tether: the server crashed too often: it exited with code 3"]
    dock.be("ready")
    dock.run('fake.failed.emit(1, "in use by editor 99 (Dungeon)")')
    assert dock.told()[2:] == ["Tether: in use by editor 99 (Dungeon)"]


def test_E6_lost_for_long_is_told(dock):
    dock.run('control.get_child(0).wait_time = 0.05')
    dock.be("ready")
    dock.run('fake.be("lost", {})\nawait control.needs_user')  # at once: it may come before another line does
    assert "has been gone for" in dock.told()[0]


# ---- the log -------------------------------------------------------------------------------------

def settled(dock, code):
    """Runs code, waits until the log shows all that it wants to show, and returns its lines."""
    return dock.run(code + '''
var panel = view.log_panel(dock)
while not panel.is_settled():
	await driver.get_tree().process_frame
return panel.get_shown_text().split("\\n")''')


def test_log_is_filtered_paused_copied_and_cleared(dock):
    assert settled(dock, 'fake.say("stdout", "one")\nfake.say("stderr", "two [b]not bold[/b]")\n'
                         'fake.say("launcher", "three")') == ["one", "two [b]not bold[/b]", "three"]
    filter_ = 'var field = view.log_panel(dock).find_children("*", "LineEdit", true, false)[0]\n'
    assert settled(dock, filter_ + 'field.text = "TWO"\nfield.text_changed.emit("TWO")') == ["two [b]not bold[/b]"]
    assert settled(dock, filter_ + 'field.text = ""\nfield.text_changed.emit("")')[0] == "one"
    dock.press("Pause")
    assert settled(dock, 'fake.say("stdout", "four")')[-1] == "three"
    assert "Paused: 1 new line" in dock.texts()
    dock.press("Pause")
    assert settled(dock, "")[-1] == "four"
    dock.press("Clear the log")
    assert settled(dock, "") == [""]
    assert settled(dock, 'fake.say("stdout", "five")') == ["five"]


# Markup, a line end, what turns the direction of writing, and what only terminals understand.
ODD = "[b]bold[/b]\u202e\u2066\u2028\u0085\x1b[31mred\x1b]0;title\x07\x9b\nforged\u200b\ufeff"
SHOWN = "[b]bold[/b]\\u202e\\u2066\\u2028\\x85red\\x9b\\x0aforged\\u200b\\ufeff"
PROGRAM = "run\u202e[i]\n"


def test_L4_names_of_others_are_harmless_to_look_at(dock):
    dock.be_ready([{"role": "editor", "pid": 99, "project": ODD, "link": "connected"}, {"role": "front", "pid": 98, "project": ODD, "link": "away\u202e"}])
    dock.run('var status = control.get_status().duplicate(true)\nstatus["owner"] = {"pid": 99, "alive": true}\n'
             'status["server"]["command"] = [%s]\nstatus["server"]["builtin"] = false\nfake.be("ready", status)' % json.dumps(PROGRAM))
    texts = "\n".join(dock.texts())
    assert SHOWN + " (99)" in texts and "AI client in " + SHOWN + " (98), away\\u202e" in texts and "run\\u202e[i]\\x0a" in texts
    assert "Stays up for this editor, %s and 2 AI clients." % SHOWN in texts
    shown = texts + dock.run('return "".join(dock.find_children("*", "Control", true, false).map(func(each): return each.tooltip_text))')
    assert not [letter for letter in shown if letter in ODD and not letter.isprintable() and letter != "\n"]
    dock.press("Stop the server")
    asked = dock.run('return dock.find_children("*", "ConfirmationDialog", true, false)[0].dialog_text')
    assert SHOWN in asked and "\u202e" not in asked
    dock.run('dock.find_children("*", "ConfirmationDialog", true, false)[0].hide()')


def test_L4_troubles_of_others_are_harmless_to_look_at(dock):
    dock.be("failed", {**FAILED, "server": {**FAILED["server"], "reason": "it said:\n" + ODD}})
    assert dock.texts()[1:3] == ["It said:", SHOWN.replace("\\x0a", "\n")]
    dock.be("blocked", {**BLOCKED, "holder": {**BLOCKED["holder"], "executable": "/bin/" + ODD, "command": ODD}})
    assert "It is held by process 4711, /bin/%s. Tether does not touch it." % SHOWN in dock.texts() and SHOWN in dock.texts()
    dock.be("off", {"message": ODD})
    assert "Not started: " + SHOWN in dock.texts()
    dock.be("ready")
    dock.run('fake.failed.emit(3, %s)\nawait driver.get_tree().process_frame' % json.dumps(ODD))
    assert "\u202e" not in "".join(dock.told()) and dock.told()[-1] == "Tether: " + SHOWN.split("\\x0a")[0]


def test_L4_lines_of_the_log_are_harmless_to_look_at(dock):
    assert settled(dock, 'fake.say("stdout", %s)\nfake.say("stderr", "a\tb")' % json.dumps(ODD)) == [SHOWN, "a\tb"]


def test_log_of_before_is_there_and_a_new_start_begins_a_new_one(dock):
    dock.run('fake.lines = PackedStringArray(["of before"])\n'
             'dock.get_parent().remove_child(dock)\ncontrol.get_parent().add_child(dock)')
    assert settled(dock, "") == ["of before"]
    dock.run("control.start()")
    dock.be("launching")
    assert settled(dock, 'fake.say("stdout", "new")') == ["new"]
    dock.run('driver.remove_child(dock)\ndock.get("_frame").add_child(dock)')


# How long the editor's main thread has computed, in µs: that does not depend on what else runs. On Windows,
# nothing: what it takes under Wine is not what it takes there.
BUSY = '''
var busy = func() -> int:
	if OS.has_feature("windows"):
		return 0
	return FileAccess.open("/proc/self/schedstat", FileAccess.READ).get_line().get_slice(" ", 0).to_int() / 1000
'''
# Runs through frames while a condition holds; `gaps` are the times computed between them.
FRAMES = '''
var gaps = []
var last = busy.call()
while %s:
	await driver.get_tree().process_frame
	gaps.append(busy.call() - last)
	last = busy.call()
	%s
gaps.sort()
'''


def are_quick(gaps):
    """Whether the editor stays at hand; single late frames tell nothing."""
    return gaps[int(len(gaps) * 0.9)] < 50000


def test_D1_burst_of_100000_lines_does_not_stall_the_editor(dock):
    """Each frame shows some lines at most, and no more lines are kept than the user has set."""
    took, gaps, shown, last = dock.run(BUSY + '''
var begin = busy.call()
for number in 100000:
	fake.say("stderr" if number % 7 == 0 else "stdout", "line %d of a server that has a lot to say" % number)
var took = (busy.call() - begin) / 1000
var panel = view.log_panel(dock)
''' + FRAMES % ("not panel.is_settled()", "pass") + '''
var shown = panel.get_shown_text().split("\\n")
return [took, gaps, shown.size(), shown[-1]]''')
    print("taking 100000 lines: %d ms; then %d frames of %d µs (median)" % (took, len(gaps), gaps[len(gaps) // 2]))
    assert took < 2000 and are_quick(gaps)
    assert shown == 2000 and last == "line 99999 of a server that has a lot to say"


def test_D1_steady_flood_does_not_stall_the_editor(dock):
    """500 lines in each of 200 frames: more than can be shown; the log follows all the same."""
    gaps = dock.run(BUSY + FRAMES % ("gaps.size() < 200", """for number in 500:
		fake.say("stderr", "line %d.%d" % [gaps.size(), number])""") + "return gaps")
    print("frames in a flood: %d µs (median)" % gaps[100])
    assert are_quick(gaps)
    assert settled(dock, "")[-1] == "line 200.499"


def test_log_follows_its_end_until_somebody_scrolls_up(dock):
    settled(dock, 'for number in 300:\n\tfake.say("stdout", "line %d, long enough to be wrapped " % number + "x ".repeat(300))')
    place = 'var text = view.log_panel(dock).find_children("*", "TextEdit", true, false)[0]\n' \
            'await driver.get_tree().process_frame\n'
    at_end = place + 'return text.get_last_full_visible_line() >= text.get_line_count() - 2'
    assert dock.run(at_end)
    dock.run(place + 'text.scroll_vertical = 0\ntext.get_v_scroll_bar().scrolling.emit()')
    settled(dock, 'fake.say("stdout", "new")')
    assert dock.run(place + "return text.get_first_visible_line()") == 0
    dock.run(place + 'text.scroll_vertical = 1e9\ntext.get_v_scroll_bar().scrolling.emit()')
    settled(dock, 'for number in 20:\n\tfake.say("stdout", "newer")')
    assert dock.run(at_end)


def test_over_long_line_is_cut(dock):
    lines = settled(dock, 'fake.say("stdout", "x".repeat(60000))')
    assert len(lines) == 1 and len(lines[0]) == 2002 and lines[0].endswith(" …")


# ---- settings ------------------------------------------------------------------------------------

def read(dock, **environment):
    """What the settings are with these variables; the warnings are at "warnings"."""
    code = "".join("OS.set_environment(%s, %s)\n" % (json.dumps(key), json.dumps(value))
                   for key, value in environment.items())
    code += 'var warnings = PackedStringArray()\n' \
            'var values = load("res://addons/tether/settings.gd").read(warnings)\nvalues["warnings"] = warnings\n'
    code += "".join("OS.unset_environment(%s)\n" % json.dumps(key) for key in environment)
    return dock.run(code + "return values")


def test_every_setting_is_there_with_its_default_and_none_is_written(dock, scene):
    values = read(dock)
    assert sorted(values) == sorted(SETTINGS + ["warnings"]) and values["warnings"] == []
    assert values["http_port"] == 8000 and values["ws_port"] == 9500 and values["command"] == []
    assert values["ports"] == "fixed" and values["restart"] == "on-failure" and values["grace_ms"] == 500
    dock.run("ProjectSettings.save()")
    with open(os.path.join(scene.folder, "project.godot")) as file:
        assert "[tether]" not in file.read()


def test_the_page_of_settings_names_each_with_its_default_and_its_variable(dock):
    with open(os.path.join(ROOT, "docs/settings.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]*)\|", file.read(), re.MULTILINE)
    shown = {"all": "`all`", "fixed": "`fixed`", "http": "`http`", "on-failure": "`on-failure`", "": "empty", "[]": "empty", "{  }": "empty"}
    found = dock.run('var all = load("res://addons/tether/settings.gd")\nreturn (all.server_settings + all.Switches.settings).map(func(entry):\n'
                     '\treturn [entry["name"].get_file(), str(entry["default"]), entry.get("variable", ""),\n'
                     '\t\tentry.get("choices", [""])[0]])')
    assert {name for name, *_ in found} == {name for name, *_ in rows}
    for name, default, variable, choice in found:
        told = next(row for row in rows if row[0] == name)
        assert told[1] == choice or told[1] == {"false": "off"}.get(default, shown.get(default, default)), told
        assert ("`%s`" % variable in told[2]) == bool(variable), told


def test_editor_offers_only_what_makes_sense(dock):
    infos = dock.run('var found = {}\nfor info in ProjectSettings.get_property_list():\n'
                     '\tif info["name"].begins_with("tether/server/"):\n'
                     '\t\tfound[info["name"].get_file()] = [info["type"], info["hint"], info["hint_string"]]\n'
                     'return found')
    assert sorted(infos) == sorted(SETTINGS)
    assert infos["http_port"][2] == "1,65535,1" and infos["ws_port"][2] == "0,65535,1"
    assert infos["ports"][2] == "fixed,auto" and infos["grace_ms"][2].endswith("suffix:ms")
    assert infos["autostart"][2] == "With the Editor,On Demand"


def test_A7_variables_of_the_environment_win_over_the_settings(dock):
    values = read(dock, TETHER_HTTP_PORT="8123", TETHER_WS_PORT="0", TETHER_PORTS="auto",
                  TETHER_COMMAND='["my server", "--flag"]', TETHER_AUTOSTART="off", TETHER_GRACE_MS="0",
                  TETHER_KEEP_ON_EXIT="1", TETHER_READY="http:/health", TETHER_RESTART="never",
                  TETHER_OWNER_ENV="GODOT_AI_OWNER_PID OTHER_PID")
    assert values["warnings"] == []
    assert values["http_port"] == 8123 and values["ws_port"] == 0 and values["ports"] == "auto"
    assert values["command"] == ["my server", "--flag"] and values["autostart"] == 1
    assert values["grace_ms"] == 0 and values["keep_on_exit"] is True and values["restart"] == "never"
    assert values["ready"] == "http:/health"
    assert values["owner_aliases"] == ["GODOT_AI_OWNER_PID", "OTHER_PID"]
    assert read(dock, TETHER_COMMAND="my-server --flag")["command"] == ["my-server", "--flag"]


@pytest.mark.parametrize("variable, value, name, default", [
    ("TETHER_HTTP_PORT", "http", "http_port", 8000), ("TETHER_HTTP_PORT", "0", "http_port", 8000),
    ("TETHER_WS_PORT", "65536", "ws_port", 9500), ("TETHER_WS_PORT", "-1", "ws_port", 9500),
    ("TETHER_PORTS", "any", "ports", "fixed"), ("TETHER_AUTOSTART", "perhaps", "autostart", 0),
    ("TETHER_COMMAND", "[1]", "command", []), ("TETHER_KEEP_ON_EXIT", "maybe", "keep_on_exit", False),
    ("TETHER_READY", "http:no slash", "ready", ""), ("TETHER_OWNER_ENV", "A-B", "owner_aliases", []),
    ("TETHER_GRACE_MS", "1e3", "grace_ms", 500), ("TETHER_GRACE_MS", "9" * 30, "grace_ms", 500)])
def test_A7_malformed_variable_is_warned_of_and_the_default_taken(dock, variable, value, name, default):
    values = read(dock, **{variable: value})
    assert values[name] == default
    assert len(values["warnings"]) == 1 and variable in values["warnings"][0] and value[:60] in values["warnings"][0]


def test_A7_malformed_setting_is_warned_of_and_the_default_taken(dock):
    dock.run('ProjectSettings.set_setting("tether/server/http_port", "words")')
    values = read(dock)
    assert values["http_port"] == 8000 and "tether/server/http_port" in values["warnings"][0]
    dock.run('ProjectSettings.set_setting("tether/server/http_port", 9500)')
    values = read(dock)
    assert values["ws_port"] == 0 and "the same as http_port" in values["warnings"][0]


def test_changed_settings_are_applied_at_a_press(dock):
    dock.run("control.start()")
    dock.be("launching")
    dock.be_ready()
    assert "Apply" not in dock.texts()
    change = 'ProjectSettings.set_setting("tether/server/%s", %s)\n' \
             'await ProjectSettings.settings_changed\nawait driver.get_tree().process_frame'
    dock.run(change % ("command", 'PackedStringArray(["mine"])'))
    assert "Settings changed: restart to apply." in dock.texts()
    dock.press("Apply")
    assert dock.calls() == ["start", "restart"] and dock.run("return fake.command") == ["mine"]
    dock.run('fake.failed.emit(1, "in use by editor 99 (Dungeon)")')
    assert "Apply" in dock.texts()  # refused: the server runs with the former ones
    dock.press("Restart the server")
    assert dock.calls()[2:] == ["restart"]
    dock.be("launching")
    dock.be_ready()
    assert "Apply" not in dock.texts()
    dock.run(change % ("http_port", "8002"))
    dock.press("Apply")  # other ports: another server; the old one ends when its last editor has left
    assert dock.calls()[3:] == ["restart"] and dock.run("return fake.http_port") == 8002


# ---- its place -----------------------------------------------------------------------------------

def test_dock_is_as_good_at_the_side_as_at_the_bottom(dock):
    """Where it is narrow, the facts go to a tab, so that nothing is wider or higher than the place."""
    dock.be_ready()
    dock.run('''
var place = Control.new()
place.name = "Place"
EditorInterface.get_base_control().add_child(place)
dock.get_parent().remove_child(dock)
place.add_child(dock)
dock.size = Vector2(500, 400)
await driver.get_tree().process_frame
await driver.get_tree().process_frame
dock.size = Vector2(290, 400)''')
    tabs = 'dock.find_children("*", "TabContainer", true, false)[0]'
    assert dock.run("return %s.get_children().map(func(tab): return str(tab.name))" % tabs) == [
        "Info", "Log", "Connect", "Activity", "Tools"]
    assert "built in (4714)" in dock.texts()
    assert dock.run("return [dock.size.x, dock.get_combined_minimum_size().y < 100]") == [290, True]
    dock.run("dock.size = Vector2(1000, 300)\nawait driver.get_tree().process_frame\n"
             "await driver.get_tree().process_frame")
    assert dock.run("return %s.get_tab_count()" % tabs) == 4
    assert "built in (4714)" in dock.texts()
    dock.run('var place = dock.get_parent()\nplace.remove_child(dock)\ndock.get("_frame").add_child(dock)\n'
             'place.queue_free()')


def test_hidden_dock_costs_nothing_and_is_right_when_it_is_seen_again(dock):
    dock.run("dock.get_parent().hide()")
    dock.be("blocked", BLOCKED)
    dock.run('for number in 50:\n\tfake.say("stdout", "line")')
    running = dock.run('return dock.find_children("*", "", true, false).filter(func(node):\n'
                       '\treturn node.is_processing() or node is Timer and not node.is_stopped()).size()')
    assert running == 0
    dock.run("dock.get_parent().show()\nawait driver.get_tree().process_frame")
    assert "Use 8001 / 9501" in dock.texts()
    assert len(settled(dock, "")) == 50
