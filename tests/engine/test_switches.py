"""I5: what the user switches off, and what is told of what was done, in a real headless editor."""
import pytest

from tools_probe import ToolsEditor, make_tools_project, shared_tools

READ_ONLY = "tether/tools/read_only"
SWITCHED_OFF = "tether/tools/switched_off"
ASK_FIRST = "tether/tools/ask_first"
ASK_LIMIT = "tether/tools/ask_limit_ms"
PROFILE = "tether/tools/profile"


@pytest.fixture(scope="module")
def editor(tmp_path_factory):
    yield from shared_tools(str(tmp_path_factory.mktemp("switches")))


@pytest.fixture
def tools(editor):
    """With an empty scene, and everything switched on."""
    editor.begin()
    yield editor
    editor.request(op="setting", name=READ_ONLY, value=False)
    editor.request(op="setting", name=SWITCHED_OFF, value=[])
    editor.request(op="setting", name=ASK_FIRST, value=[])
    editor.request(op="setting", name=PROFILE, value="all")


def switch(tools, name, value):
    tools.request(op="setting", name=name, value=value)
    tools.request(op="frame")
    return tools.request(op="list")["answer"]


def told(tools):
    return tools.request(op="journal")["answer"]


def test_I5_read_only_leaves_what_only_reads(tools):
    everything = tools.request(op="list")["answer"]
    left = switch(tools, READ_ONLY, True)
    assert left and all(tool["annotations"].get("readOnlyHint") for tool in left.values())
    assert set(left) == {name for name, tool in everything.items() if tool["annotations"].get("readOnlyHint")}
    assert "lets AI clients only read" in tools.request(op="direct", tool="node_add", arguments={"type": "Node"})["answer"]["error"]
    assert tools.call("scene_tree")["nodes"] == [". (Node2D)"]
    assert set(switch(tools, READ_ONLY, False)) == set(everything)


def test_I5_families_and_single_tools_are_switched_off(tools):
    left = switch(tools, SWITCHED_OFF, ["game", "node_remove"])
    assert "node_remove" not in left and "node_add" in left and not any(name.startswith("game_") for name in left)
    tools.call("node_add", type="Node2D", name="Hero")
    assert "switched off by the user" in tools.request(op="direct", tool="node_remove", arguments={"path": "Hero"})["answer"]["error"]
    # Nor is it done by another tool that can do the same.
    assert "switched off by the user" in tools.refusal("scene_edit", edits=[{"tool": "node_remove", "path": "Hero"}])
    assert len(tools.call("scene_tree")["nodes"]) == 2


def test_I5_no_tool_changes_the_switches(tools):
    switch(tools, SWITCHED_OFF, ["game"])
    for name in (READ_ONLY, SWITCHED_OFF, ASK_FIRST, ASK_LIMIT, PROFILE):
        assert tools.refusal("project_settings_set", settings={name: None})


def test_I5_switches_hold_over_a_restart(tmp_path):
    project = make_tools_project(str(tmp_path / "p"), '\n[tether]\n\ntools/read_only=true\n')
    with ToolsEditor(project) as editor:
        listed = editor.request(op="list")["answer"]
        assert "scene_tree" in listed and "node_add" not in listed
        assert editor.quit() == []


def test_I5_what_was_done_is_told_and_taken_back(tools):
    before = len(told(tools))
    for tool, arguments in (("node_add", {"type": "Node2D", "name": "Hero"}), ("scene_tree", {}), ("node_add", {"type": "Nod"}),
                            ("node_set", {"path": "Hero", "properties": {"position": [3, 4]}})):
        tools.request(op="serve", tool=tool, arguments=arguments)
    added, looked, failed, moved = told(tools)[before:]
    assert added["tool"] == "node_add" and "Hero" in added["arguments"] and added["made"] and not added["failed"]
    assert looked["reads"] and not looked["made"] and failed["failed"] and "'Nod'" in failed["result"] and moved["made"]
    assert tools.request(op="undo", index=before)["answer"] == ""
    assert tools.call("scene_tree")["nodes"] == [". (Node2D)"]
    assert tools.request(op="undo", index=before)["answer"] == "There is nothing to take back."
    assert len(told(tools)[before]["arguments"]) < 210


def test_I5_what_somebody_else_did_is_not_taken_back_with_a_call(tools):
    """As the user does while a tool is at work, or in its place after the tool's action was undone."""
    tools.request(op="serve", tool="node_add", arguments={"type": "Node2D", "name": "Hero"})
    index = len(told(tools)) - 1
    tools.call("editor_undo")
    own = ('undo.create_action("By hand", UndoRedo.MERGE_DISABLE, scene)\nundo.add_do_property(scene, "position", Vector2(1, 2))\n'
           'undo.add_undo_property(scene, "position", Vector2.ZERO)\nundo.commit_action()')
    tools.run_code(own)
    assert "taken back already" in tools.request(op="undo", index=index)["answer"]
    position = "return scene.position == Vector2(1, 2)"
    assert tools.run_code(position) is True and not told(tools)[index]["made"]
    asked = Asked(tools)
    search = asked.begin("docs_search", text="sprite")  # which lets the editor draw in between
    add = asked.begin("node_add", type="Node2D", name="Twin")
    assert asked.answer_of(search) and asked.answer_of(add)
    made = {entry["tool"]: entry["made"] for entry in told(tools)[-2:]}
    assert not made["docs_search"] and made["node_add"]


# ---- asked first ---------------------------------------------------------------------------------

CLAUDE = {"id": 7, "client": {"name": "Claude Code", "version": "2.1"}, "session": "a1", "capabilities": {}, "era": "legacy"}
OTHER = {**CLAUDE, "session": "b2"}  # another one of the same name
ELICITING = {**CLAUDE, "capabilities": {"elicitation": {}}}


class Asked:
    """Calls that may wait for the user, each with an id of its own."""

    def __init__(self, tools):
        self.tools = tools
        self.replies = {}
        self.last = 0

    def begin(self, tool, client=CLAUDE, op="serve", **arguments):
        """Begins a call; the number by which its answer is found."""
        self.last += 1
        self.tools.request(op="client", call=client)
        self.tools.send(op=op, tool=tool, arguments=arguments, id=self.last)
        return self.last

    def _take(self, number):
        while number not in self.replies:
            reply = self.tools.receive()
            self.replies[reply["id"]] = reply["answer"]
        return self.replies.pop(number)

    def answer_of(self, number):
        return self._take(number)

    def do(self, op, **message):
        self.last += 1
        self.tools.send(op=op, id=self.last, **message)
        return self._take(self.last)

    def is_over(self, number):
        self.do("frame")
        return number in self.replies

    def questions(self):
        return self.do("questions")

    def say(self, word, index=0):
        self.do("answer", index=index, word=word)

    def nodes(self):
        return len(self.do("direct", tool="scene_tree", arguments={})["nodes"])


@pytest.fixture
def asked(tools):
    """With a window, and of node_add the user is asked."""
    switch(tools, ASK_FIRST, ["node_add"])
    tools.request(op="window", there=True)
    tools.request(op="told")
    yield Asked(tools)
    tools.request(op="window", there=False)
    tools.request(op="client", call={})


HERO = {"type": "Node2D", "name": "Hero"}


def forget_allowed(tools):
    tools.request(op="detach")
    tools.attach()
    tools.request(op="window", there=True)


def test_I5_the_user_is_asked_before_the_tool_runs_and_allows_it_once(asked):
    call = asked.begin("node_add", **HERO)
    assert asked.questions() == [{"call": 7, "client": "Claude Code 2.1", "about": ["node_add"], "title": "Node Add",
                                  "arguments": "type: Node2D\nname: Hero"}]
    assert not asked.is_over(call) and asked.nodes() == 1
    progress, by_client = asked.do("told")
    assert progress[0][0] == 7 and "Waiting for the user" in progress[0][3] and by_client == []
    entry = asked.do("journal")[-1]
    assert entry["asked"] == "waits for you" and "result" not in entry
    asked.say("allowed once")
    assert asked.answer_of(call)["added"] and asked.questions() == [] and asked.nodes() == 2
    entry = asked.do("journal")[-1]
    assert entry["asked"] == "allowed once" and entry["made"] and not entry["failed"]
    again = asked.begin("node_add", **HERO)
    assert len(asked.questions()) == 1
    asked.say("denied")
    asked.answer_of(again)


def test_I5_what_the_user_denies_is_not_done_and_the_client_is_told(asked):
    call = asked.begin("node_add", **HERO)
    asked.say("denied")
    assert "The user was asked and does not allow 'node_add'. Nothing was done." in asked.answer_of(call)["error"]
    entry = asked.do("journal")[-1]
    assert entry["asked"] == "denied" and entry["failed"] and not entry["made"] and asked.nodes() == 1


def test_I5_allowed_for_the_session_is_for_that_client_and_that_tool(asked, tools):
    forget_allowed(tools)
    asked.do("setting", name=ASK_FIRST, value=["node_add", "node_remove"])
    first, second = asked.begin("node_add", **HERO), asked.begin("node_add", **HERO)
    other = asked.begin("node_add", client=OTHER, **HERO)
    assert len(asked.questions()) == 3
    asked.say("allowed for this session")
    assert asked.answer_of(first)["added"] and asked.answer_of(second)["added"]  # it waited for the same
    assert not asked.is_over(other) and len(asked.questions()) == 1
    asked.say("denied")
    assert "error" in asked.answer_of(other)
    assert asked.answer_of(asked.begin("node_add", **HERO))["added"]
    assert asked.do("journal")[-1]["asked"] == "allowed for this session"
    removed = asked.begin("node_remove", path="Hero")
    assert asked.questions()[0]["about"] == ["node_remove"]
    asked.say("denied")
    asked.answer_of(removed)
    forget_allowed(tools)
    call = asked.begin("node_add", **HERO)
    assert len(asked.questions()) == 1  # the session is over with the plugin
    asked.say("denied")
    asked.answer_of(call)


def test_I5_without_an_answer_nothing_is_done(asked):
    asked.do("setting", name=ASK_LIMIT, value=1000)
    call = asked.begin("node_add", client=OTHER, **HERO)
    assert "did not answer within 1 s. Nothing was done." in asked.answer_of(call)["error"]
    assert asked.questions() == [] and asked.nodes() == 1 and asked.do("journal")[-1]["asked"] == "not answered"
    asked.do("setting", name=ASK_LIMIT, value=55000)


def test_I5_a_client_that_cancels_takes_the_question_away(asked):
    call = asked.begin("node_add", client=OTHER, **HERO)
    asked.do("cancel", call=8)  # another one
    assert len(asked.questions()) == 1
    asked.do("cancel", call=7)
    assert asked.questions() == [] and "cancelled" in asked.answer_of(call)["error"] and asked.nodes() == 1
    assert asked.do("journal")[-1]["asked"] == "withdrawn"


def test_I5_who_disables_the_plugin_has_allowed_nothing(asked, tools):
    call = asked.begin("node_add", client=OTHER, **HERO)
    assert len(asked.questions()) == 1
    asked.do("detach")
    assert "error" in asked.answer_of(call)
    tools.attach()
    assert asked.nodes() == 1


def test_I5_families_are_asked_about_and_what_is_off_or_wrong_is_not(asked):
    asked.do("setting", name=ASK_FIRST, value=["scene"])
    asked.do("setting", name=SWITCHED_OFF, value=["node_add"])
    assert "switched off" in asked.answer_of(asked.begin("node_add", op="direct", client=OTHER, **HERO))["error"]
    assert "'path' is missing" in asked.answer_of(asked.begin("node_remove", client=OTHER))["error"]
    assert asked.questions() == []
    call = asked.begin("node_remove", client=OTHER, path="Hero")
    assert asked.questions()[0]["about"] == ["node_remove"]
    asked.say("allowed once")
    assert "no node 'Hero'" in asked.answer_of(call)["error"]


@pytest.mark.parametrize("edits", [[{"tool": "node_add", **HERO}], '[{"tool": "node_add", "type": "Node2D"}]'])
def test_I5_another_tool_that_can_do_the_same_is_asked_about(asked, edits):
    call = asked.begin("scene_edit", client=OTHER, edits=edits)
    assert asked.questions()[0]["about"] == ["node_add"] and "node_add" in asked.questions()[0]["arguments"]
    asked.say("denied")
    assert "does not allow 'node_add'" in asked.answer_of(call)["error"] and asked.nodes() == 1


def test_I5_a_resource_is_asked_about_as_the_tool_that_reads_it(asked):
    asked.do("setting", name=ASK_FIRST, value=["scene_tree"])
    call = asked.begin("scene_tree", op="direct", client=OTHER)  # the way of resources and prompts
    assert asked.questions()[0]["about"] == ["scene_tree"]
    asked.say("denied")
    assert "does not allow" in asked.answer_of(call)["error"]


def test_L4_what_the_user_is_asked_is_harmless_to_look_at(asked):
    call = asked.begin("node_add", client=OTHER, type="Node2D", name="a\u202eb\x1b[31m\nc" + "x" * 5000)
    shown = asked.questions()[0]["arguments"]
    assert "a\\u202eb\nc" in shown and "letters more" in shown and len(shown) < 4100
    asked.say("denied")
    asked.answer_of(call)


def test_I5_without_a_window_the_client_asks_its_user(asked):
    asked.do("window", there=False)
    asked.do("setting", name=ASK_FIRST, value=["node_add"])
    for chosen, word, done in (({"action": "accept", "content": {"answer": "Allow once"}}, "allowed once", True),
                               ({"action": "accept", "content": {"answer": "Deny"}}, "denied", False),
                               ({"action": "accept", "content": {"answer": "Whatever"}}, "denied", False),
                               ({"action": "accept"}, "denied", False),
                               ({"action": "decline", "content": {"answer": "Allow once"}}, "denied", False),
                               ({"action": "cancel"}, "denied", False),
                               ({"error": "it cannot"}, "could not be asked", False)):
        before = asked.nodes()
        call = asked.begin("node_add", client=ELICITING, **HERO)
        progress, ((number, message, schema),) = asked.do("told")
        assert number == 7 and "Claude Code 2.1 wants to use node_add" in message and "name: Hero" in message
        assert schema["properties"]["answer"]["enum"] == ["Allow once", "Allow this session", "Deny"]
        asked.do("reply", reply=chosen)
        answer = asked.answer_of(call)
        assert ("added" in answer) == done and asked.nodes() == before + done, chosen
        assert asked.do("journal")[-1]["asked"] == word
    assert "no window for that, and this client cannot ask" in asked.answer_of(asked.begin("node_add", client=CLAUDE, **HERO))["error"]
    assert asked.questions() == []


def test_I5_in_a_window_the_client_does_not_answer_for_its_user(asked):
    call = asked.begin("node_add", client={**ELICITING, "session": "c3"}, **HERO)
    assert len(asked.questions()) == 1 and asked.do("told")[1] == []
    asked.say("denied")
    asked.answer_of(call)


@pytest.mark.parametrize("profile, there, gone", [
    ("core", "script_edit", "file_move"), ("read", "file_read", "script_edit"), ("docs", "docs_class", "file_read"),
    ("game", "project_run", "node_add"), ("coer", None, "editor_state")])
def test_I5_the_user_chooses_a_set_of_tools(tools, profile, there, gone):
    everything = set(tools.request(op="list")["answer"])
    left = set(switch(tools, PROFILE, profile))
    assert gone not in left and (there in left or not left and there is None)
    assert "not among the tools that the user has chosen, '%s'" % profile in \
        tools.request(op="direct", tool=gone, arguments={})["answer"]["error"]
    assert set(switch(tools, PROFILE, "all")) == everything


MODES = """var switches := load("res://addons/tether/tools/switches.gd")
var tools := ["node_add", "node_remove", "scene_open", "file_read", "script_edit"]
for step: Array in %s:
	var lists: Array = switches.with_mode(step[0], step[1], tools)
	ProjectSettings.set_setting("tether/tools/switched_off", lists[0])
	ProjectSettings.set_setting("tether/tools/ask_first", lists[1])
var found := {}
for tool: String in tools:
	found[tool] = switches.mode_of(tool)
return [found, Array(ProjectSettings.get_setting("tether/tools/switched_off")), Array(ProjectSettings.get_setting("tether/tools/ask_first"))]"""
ON, ASK, OFF = 0, 1, 2


@pytest.mark.parametrize("steps, asked_first, off", [
    ([["node_add", OFF]], [], ["node_add"]), ([["scene", OFF]], [], ["scene"]),
    ([["scene", OFF], ["node_add", ASK]], ["node_add"], ["node_remove", "scene_open"]),
    ([["scene", ASK], ["node_add", ON]], ["node_remove", "scene_open"], []),
    ([["node_add", OFF], ["scene", ASK]], ["scene"], []), ([["scene", ASK], ["scene", ON]], [], []),
    ([["file", OFF], ["file_read", OFF]], [], ["script_edit", "file_read"]), ([["node_add", ASK], ["node_add", ASK]], ["node_add"], [])])
def test_I5_a_tool_out_of_a_family_is_switched_alone(tools, steps, asked_first, off):
    found, off_now, ask_now = tools.run_code(MODES % steps)
    assert ask_now == asked_first and off_now == off
    assert found[steps[-1][0] if "_" in steps[-1][0] else "node_add"] == steps[-1][1]
