"""J4: the project's own tests, scripts and exports, run beside a real editor with the whole addon.

The test frameworks are stand-ins that take the documented command lines of GUT and gdUnit4 and write JUnit files as
they do: they run each function test_… of the scripts that they are given."""
import os

import pytest

from harness import system, wait_gone
from scene import kill, wait_until
from whole import Whole

RUNNER = '''extends SceneTree

var failed: String = ""


func _initialize() -> void:
\tvar files: Array[String] = []
\tvar out: String = ""
\tvar name: String = ""
\tvar given: PackedStringArray = OS.get_cmdline_args()
%s
\tvar xml: String = ""
\tfor path: String in files:
\t\txml += '<testsuite name="%%s" package="%%s">' %% [path.trim_prefix("res://"), path]
\t\tvar made: Object = load(path).new()
\t\tfor info: Dictionary in made.get_method_list():
\t\t\tvar test: String = info["name"]
\t\t\tif test.begins_with("test_") and (name.is_empty() or test.contains(name)):
\t\t\t\tprint("runs ", test)
\t\t\t\tvar said: String = made.call(test)
\t\t\t\txml += '<testcase name="%%s" classname="%%s" time="0.125">%%s</testcase>' %% [test, path.trim_prefix("res://"), said]
\t\txml += "</testsuite>"
\t\tmade.free()
\tvar file: FileAccess = FileAccess.open(out, FileAccess.WRITE)
\tfile.store_string('<?xml version="1.0"?><testsuites>%%s</testsuites>' %% xml)
\tfile.close()
\tquit(1 if xml.contains("<failure") else 0)


func _all(folder: String, files: Array[String]) -> void:
\tfor each: String in DirAccess.get_files_at(folder):
\t\tif each.get_extension() == "gd":
\t\t\tfiles.append(folder.path_join(each))
'''
GUT = RUNNER % '''
\tfor word: String in given:
\t\tif word.begins_with("-gdir="):
\t\t\t_all(word.trim_prefix("-gdir="), files)
\t\telif word.begins_with("-gtest="):
\t\t\tfiles.append(word.trim_prefix("-gtest="))
\t\telif word.begins_with("-gjunit_xml_file="):
\t\t\tout = word.trim_prefix("-gjunit_xml_file=")
\t\telif word.begins_with("-gunit_test_name="):
\t\t\tname = word.trim_prefix("-gunit_test_name=")
\tassert("-gexit" in given)'''
GDUNIT = RUNNER % '''
\tfor index: int in given.size():
\t\tif given[index] == "-a":
\t\t\tvar place: String = given[index + 1]
\t\t\tif place.ends_with(".gd"):
\t\t\t\tfiles.append(place)
\t\t\telse:
\t\t\t\t_all(place, files)
\t\telif given[index] == "-rd":
\t\t\tout = given[index + 1] + "/report_1/results.xml"
\tDirAccess.make_dir_recursive_absolute(out.get_base_dir())
\tassert("--ignoreHeadlessMode" in given)'''
TESTS = '''extends Node


func test_sum() -> String:
\treturn ""


func test_wrong() -> String:
\treturn '%s'


func test_later() -> String:
\treturn '<skipped message="pending"><![CDATA[not yet]]></skipped>'
'''
GUT_WRONG = '<failure message="failed"><![CDATA[[2] expected to equal [3]: sums & more\\n      at line 9]]></failure>'
GDUNIT_WRONG = '<failure message="FAILED: res://tests/more.gd:9" type="FAILURE">Expecting: 3</failure>'
PRESET = """[preset.0]

name="Linux"
platform="Linux"
runnable=true
dedicated_server=false
custom_features=""
export_filter="all_resources"
include_filter=""
exclude_filter=""
export_path=""
patches=PackedStringArray()
encryption_include_filters=""
encryption_exclude_filters=""
seed=0
encrypt_pck=false
encrypt_directory=false
script_export_mode=2

[preset.0.options]

custom_template/debug=""
custom_template/release=""
"""
SCRIPT = "extends SceneTree\n\n\nfunc _initialize() -> void:\n\tprint(\"says \", 6 * 7)\n\tquit(5)\n"
ENDLESS = "extends SceneTree\n\n\nfunc _initialize() -> void:\n\tprint(\"goes on\")\n"


def write(project, files):
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(project, path)), exist_ok=True)
        with open(os.path.join(project, path), "w") as file:
            file.write(text)


def fill(project):
    write(project, {"export_presets.cfg": PRESET, "plain.gd": SCRIPT, "endless.gd": ENDLESS})


@pytest.fixture
def whole(tmp_path):
    with Whole(str(tmp_path), fill=fill) as made:
        yield made


@pytest.fixture
def client(whole):
    made = whole.client()
    yield made
    made.close()


def processes_of(whole, word):
    """The processes that have a word, and the project, in their command line."""
    found = []
    for pid in system.running():
        try:
            line = " ".join(system.command_of(pid)).replace("\\", "/")
        except OSError:
            continue  # it is gone meanwhile
        if word in line and whole.project in line:
            found.append(pid)
    return found


def test_J4_the_projects_tests_are_run_with_a_result_for_each(whole, client):
    assert "AssetLib" in client.refusal("project_test")
    write(whole.project, {"addons/gut/gut_cmdln.gd": GUT, "tests/more.gd": TESTS % GUT_WRONG})
    told = client.call("project_test")
    assert (told["framework"], told["exit_code"], told["passed"], told["failed"], told["skipped"]) == ("GUT", 1, 1, 1, 1)
    wrong, later, passed = told["tests"]
    assert wrong == {"name": "test_wrong", "suite": "res://tests/more.gd", "status": "failed", "seconds": 0.125,
                     "message": "[2] expected to equal [3]: sums & more\n      at line 9", "at": "res://tests/more.gd:9"}
    assert later["status"] == "skipped" and later["message"] == "not yet" and passed == "passed res://tests/more.gd test_sum (0.125 s)"
    assert client.call("project_test", path="res://tests/more.gd", name="sum")["tests"] == [passed]
    assert "No test was run; GUT said" in client.refusal("project_test", name="nothing")
    # The other framework, by its own command line.
    os.remove(whole.path("res://addons/gut/gut_cmdln.gd"))
    write(whole.project, {"addons/gdUnit4/bin/GdUnitCmdTool.gd": GDUNIT, "tests/more.gd": TESTS % GDUNIT_WRONG})
    told = client.call("project_test", path="res://tests")
    assert (told["framework"], told["passed"], told["failed"], told["skipped"]) == ("gdUnit4", 1, 1, 1)
    assert told["tests"][0]["at"] == "res://tests/more.gd:9" and told["tests"][0]["message"] == "FAILED: res://tests/more.gd:9\nExpecting: 3"
    assert client.call("project_test", path="res://tests/more.gd", name="test_sum")["passed"] == 1
    assert whole.close() == []


def test_J4_a_script_is_run_and_one_without_end_is_cancelled_or_ended(whole, client):
    told = client.call("project_test", path="res://plain.gd")
    assert told["exit_code"] == 5 and "says 42" in told["output"]
    running = client.call("project_test", path="res://endless.gd", wait=0)
    assert running["running"] is True
    wait_until(lambda: "goes on" in client.call("project_test", wait=1)["output"], "it says so")
    assert "runs already" in client.refusal("project_test", path="res://plain.gd")
    # Meanwhile the editor works on.
    assert client.call("editor_state")["playing"] is None
    ended = client.call("project_test", cancel=True)
    assert ended["stopped"] == "It was cancelled." and "goes on" in ended["output"]
    assert client.call("project_test", path="res://endless.gd", limit=1)["stopped"] == "It was ended after 1 seconds, its limit."
    wait_until(lambda: not processes_of(whole, "res://endless.gd"), "nothing is left")
    # The limit holds although nobody waits any more.
    client.call("project_test", path="res://endless.gd", wait=0, limit=3)
    wait_until(lambda: processes_of(whole, "res://endless.gd"), "it runs")
    wait_until(lambda: not processes_of(whole, "res://endless.gd"), "it is ended")
    assert client.call("project_test")["stopped"] == "It was ended after 3 seconds, its limit."
    assert whole.close() == []


def test_J4_what_runs_ends_with_a_killed_editor(whole, client):
    client.call("project_test", path="res://endless.gd", wait=0)
    running = wait_until(lambda: processes_of(whole, "res://endless.gd"), "it runs")
    kill(whole.scene.pid)
    for pid in running:
        wait_gone(pid)


def test_J4_an_export_is_run_with_its_log(whole, client):
    made = client.call("project_export", preset="Linux", path="res://build/game.pck", wait=80)
    assert made["exported"] == "res://build/game.pck" and made["bytes"] == os.path.getsize(whole.path("res://build/game.pck")) > 1000
    with open(whole.path("res://build/game.pck"), "rb") as file:
        assert file.read(4) == b"GDPC"
    missing = client.refusal("project_export", preset="Linux", path="res://build/game.x86_64", mode="release")
    assert "Manage Export Templates" in missing and '"mode": "pack" works without' in missing
    assert "Did you mean 'Linux'" in client.refusal("project_export", preset="Linus")
    for path, words in (("/tmp/game.pck", "begin with 'res://'"), ("res://../game.pck", "leaves the project"), ("res://export_presets.cfg", "run or obey"),
                        ("res://plain.gd", "not what an export makes"), ("res://.git/game.pck", "dot")):
        assert words in client.refusal("project_export", preset="Linux", path=path), path
    assert whole.close() == []
