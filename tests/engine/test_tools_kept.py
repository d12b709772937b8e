"""J4: what the user has not saved, has in another encoding, or may want back stays when files are moved and deleted;
and calls that come at the same time do not spoil each other's work. In a real headless editor."""
import json
import os

import pytest

from tools_probe import shared_tools

SCENE = '[gd_scene format=3]\n\n[node name="%s" type="Node2D"]\n'
WANTED_ERRORS = ("is left as it is", "could not be moved", "is not loaded anew")


@pytest.fixture(scope="module")
def editor(tmp_path_factory):
    yield from shared_tools(str(tmp_path_factory.mktemp("kept")), expected=WANTED_ERRORS)


@pytest.fixture
def tools(editor):
    """With a folder for the test."""
    editor.begin()
    editor.close_scenes()
    editor.folder = os.path.dirname(editor.scene)
    return editor


def write(tools, name, content):
    path = "%s/%s" % (tools.folder, name)
    place = os.path.join(tools.project, path.removeprefix("res://"))
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(place, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return path


def scan(tools):
    tools.run_code("EditorInterface.get_resource_filesystem().scan()")
    tools.settle()
    tools.request(op="frame")


def read(tools, path):
    with open(os.path.join(tools.project, path.removeprefix("res://")), "rb") as file:
        return file.read()


def there(tools, path):
    return os.path.exists(os.path.join(tools.project, path.removeprefix("res://")))


def take_back(tools, how="editor_undo"):
    answer = tools.call(how)
    for _ in range(3):
        tools.request(op="frame")
    tools.settle()
    tools.request(op="frame")
    return answer


def together(tools, *calls):
    """The answers of calls that come in the same moment."""
    lines = [json.dumps({"op": "direct", "tool": tool, "arguments": arguments, "id": number})
             for number, (tool, arguments) in enumerate(calls)]
    tools.connection.sendall(("\n".join(lines) + "\n").encode())
    replies = {reply["id"]: reply["answer"] for reply in (tools.receive() for _ in calls)}
    return [replies[number] for number in range(len(calls))]


# ---- at the same time ----------------------------------------------------------------------------

def test_J4_two_moves_at_once_are_both_told_to_who_names_them(tools):
    for name in ("one", "two"):
        write(tools, name + ".gd", "extends Node\n")
    write(tools, "user.gd", 'extends Node\n\nconst ONE = preload("one.gd")\nconst TWO = preload("%s/two.gd")\n' % tools.folder)
    scan(tools)
    answers = together(tools, *(("file_move", {"path": "%s/%s.gd" % (tools.folder, name), "to": "%s/deep/%s.gd" % (tools.folder, name)})
                                for name in ("one", "two")))
    assert all(answer["changed"] == [tools.folder + "/user.gd"] for answer in answers), answers
    user = read(tools, tools.folder + "/user.gd").decode()
    assert 'preload("%s/deep/one.gd")' % tools.folder in user and 'preload("%s/deep/two.gd")' % tools.folder in user


def test_J4_what_changed_meanwhile_is_not_said_to_be_changed(tools):
    write(tools, "one.gd", "extends Node\n")
    user = write(tools, "user.gd", 'extends Node\n\nconst ONE = preload("one.gd")\n')
    scan(tools)
    moved, edited = together(tools, ("file_move", {"path": tools.folder + "/one.gd", "to": tools.folder + "/other.gd"}),
                             ("script_edit", {"path": user, "old": "extends Node\n", "new": "extends Node2D\n"}))
    with open(os.path.join(tools.project, user.removeprefix("res://"))) as file:
        text = file.read()
    assert edited["written"] == user and "extends Node2D\n" in text
    # Either may have been the first to write.
    assert (moved["changed"], moved.get("left", [])) == (([user], []) if "other.gd" in text else ([], [user])), (moved, text)


def test_J4_scripts_made_at_once_in_new_folders_are_known(tools):
    calls = [("script_create", {"path": "%s/%s/made.gd" % (tools.folder, name), "text": "class_name Made%s%d\nextends Node\n" % (name, tools.begun)})
             for name in ("A", "B", "C")]
    while calls:
        answers = together(tools, *calls)
        assert all("written" in answer or "Try again" in answer["error"] for answer in answers), answers
        calls = [call for call, answer in zip(calls, answers) if "written" not in answer]
        tools.settle()
    known = 'return ["A", "B", "C"].map(func(n): return EditorInterface.get_resource_filesystem().get_filesystem_path("%s/" + n) != null)' % tools.folder
    for _ in range(5):
        tools.request(op="frame")
    tools.settle()
    assert tools.run_code(known) == [True, True, True]


# ---- not saved yet -------------------------------------------------------------------------------

def test_J4_of_two_scenes_with_one_name_the_changed_one_is_not_moved(tools):
    for folder in ("a", "b"):
        write(tools, folder + "/level.tscn", SCENE % folder.upper())
    scan(tools)
    for folder in ("a", "b"):
        tools.call("scene_open", path="%s/%s/level.tscn" % (tools.folder, folder))
    tools.call("node_add", type="Node2D", name="Hero")
    path = tools.folder + "/b/level.tscn"
    for tool, arguments in (("file_move", {"path": path, "to": tools.folder + "/b/other.tscn"}), ("file_delete", {"path": path}),
                            ("file_move", {"path": tools.folder + "/b", "to": tools.folder + "/c"})):
        assert "unsaved changes" in tools.refusal(tool, **arguments)
    assert "Hero (Node2D)" in tools.call("scene_tree")["nodes"]
    tools.call("scene_open", path=tools.folder + "/a/level.tscn")
    assert tools.call("file_move", path=tools.folder + "/a/level.tscn", to=tools.folder + "/a/first.tscn")["moved"]


def test_J4_a_scene_that_was_changed_after_its_move_is_as_it_was_when_that_is_taken_back(tools):
    write(tools, "a.tscn", SCENE % "A")
    write(tools, "b.tscn", SCENE % "B")
    scan(tools)
    tools.call("scene_open", path=tools.folder + "/a.tscn")
    tools.call("scene_open", path=tools.folder + "/b.tscn")
    tools.call("file_move", path=tools.folder + "/b.tscn", to=tools.folder + "/c.tscn")
    tools.until("editor_state", lambda state: tools.folder + "/c.tscn" in state["open_scenes"])
    tools.call("scene_open", path=tools.folder + "/c.tscn")
    tools.call("node_add", type="Node2D", name="Hero")
    tools.call("scene_open", path=tools.folder + "/a.tscn")
    for how, name in (("editor_undo", "b"), ("editor_redo", "c"), ("editor_undo", "b")):
        take_back(tools, how)
        path = "%s/%s.tscn" % (tools.folder, name)
        assert there(tools, path)
        state = tools.call("editor_state")
        assert sorted(state["open_scenes"]) == [tools.folder + "/a.tscn", path] and state["edited_scene"]["path"] == tools.folder + "/a.tscn"
    tools.call("scene_open", path=path)
    assert "Hero (Node2D)" in tools.call("scene_tree")["nodes"]
    assert tools.call("scene_save") == {"saved": path} and b"Hero" in read(tools, path) and not there(tools, tools.folder + "/c.tscn")


def test_J4_the_edited_scene_is_loaded_anew_also_if_what_moved_was_open(tools):
    write(tools, "coin.tscn", SCENE % "Coin")
    write(tools, "main.tscn", '[gd_scene format=3]\n\n[ext_resource type="PackedScene" path="%s/coin.tscn" id="1"]\n\n[node name="Main" type="Node2D"]\n\n'
          '[node name="Coin" parent="." instance=ExtResource("1")]\n' % tools.folder)
    scan(tools)
    for name in ("coin", "main"):
        tools.call("scene_open", path="%s/%s.tscn" % (tools.folder, name))
    root = 'return EditorInterface.get_edited_scene_root().get_instance_id()'
    before = tools.run_code(root)
    tools.call("file_move", path=tools.folder + "/coin.tscn", to=tools.folder + "/gold.tscn")
    state = tools.call("editor_state")
    assert state["edited_scene"]["path"] == tools.folder + "/main.tscn" and sorted(state["open_scenes"]) == [tools.folder + "/gold.tscn", tools.folder + "/main.tscn"]
    assert tools.run_code(root) != before
    assert "Coin (Node2D) instance=%s/gold.tscn" % tools.folder in tools.call("scene_tree")["nodes"]


def test_J4_a_script_with_changes_in_the_script_editor_is_neither_deleted_nor_moved(tools):
    path = write(tools, "written.gd", "extends Node\n")
    scan(tools)
    change = ('EditorInterface.edit_script(load("%s"))\nawait EditorInterface.get_base_control().get_tree().process_frame\n'
              'EditorInterface.get_script_editor().get_current_editor().get_base_editor().text += "%%s"' % path)
    tools.run_code(change % "# mine\\n")
    for tool, arguments in (("file_delete", {"path": path}), ("file_move", {"path": path, "to": tools.folder + "/moved.gd"}), ("file_delete", {"path": tools.folder})):
        assert "unsaved changes of '%s' in the script editor" % path in tools.refusal(tool, **arguments)
    assert there(tools, path)
    tools.run_code(change.replace('text += "%s"', 'text = "extends Node\\n"'))
    tools.call("file_delete", path=path)
    take_back(tools)
    tools.run_code(change % "# mine\\n")
    take_back(tools, "editor_redo")  # nor is it by the user's own Ctrl+Y
    assert there(tools, path)
    tools.run_code(change.replace('text += "%s"', 'text = "extends Node\\n"'))


# ---- whole, or not at all ------------------------------------------------------------------------

def test_J4_a_move_of_which_a_part_fails_leaves_all_where_it_was(tools):
    path = write(tools, "alone.gd", "extends Node\n")
    user = write(tools, "user.gd", 'extends Node\n\nconst ALONE = preload("alone.gd")\n')
    scan(tools)
    assert there(tools, path + ".uid")
    write(tools, "other.gd.uid/in_the_way.txt", "x")
    before = read(tools, user)
    assert "could not be moved" in tools.refusal("file_move", path=path, to=tools.folder + "/other.gd")
    assert there(tools, path) and there(tools, path + ".uid") and not there(tools, tools.folder + "/other.gd") and read(tools, user) == before


def test_J4_a_file_that_is_not_utf8_is_shown_and_never_written(tools):
    latin = ("name;\"%s/cup.tres\"\nCaf\xe9\n" % tools.folder).encode("latin-1")
    path = write(tools, "list.txt", latin)
    write(tools, "cup.tres", '[gd_resource type="Gradient" format=3]\n\n[resource]\n')
    plain = write(tools, "plain.txt", "Caf\u00e9 \u2603 \U0001F600\n")
    scan(tools)
    shown = tools.call("file_read", path=path)
    assert "Caf\xe9" in shown["text"] and "not UTF-8" in shown["encoding"]
    assert tools.call("file_search", text="Caf\xe9", folder=tools.folder)["hits"] == [path + ":2: Caf\xe9", plain + ":1: Caf\u00e9 \u2603 \U0001F600"]
    assert "not UTF-8" in tools.refusal("script_edit", path=path, old="name", new="title")
    moved = tools.call("file_move", path=tools.folder + "/cup.tres", to=tools.folder + "/mug.tres")
    assert moved["left"] == [path + ":1 (not UTF-8)"] and read(tools, path) == latin
    assert tools.call("script_edit", path=plain, old="Caf", new="caf")["written"] == plain
    assert read(tools, plain) == "caf\u00e9 \u2603 \U0001F600\n".encode()


def test_J4_what_was_deleted_comes_back_also_when_the_plugin_was_enabled_anew(tools):
    paths = [write(tools, name, name) for name in ("first.txt", "second.txt", "third.txt")]
    scan(tools)
    write(tools, "../.godot/tether_deleted/1/today.txt", "of another editor")
    write(tools, "../.godot/tether_deleted/2/old.txt", "of an editor long ago")
    place = os.path.join(tools.project, ".godot/tether_deleted/2")
    os.utime(place, (1e9, 1e9))
    tools.call("file_delete", path=paths[0])
    tools.request(op="detach")
    tools.attach()
    for path in paths[1:]:
        tools.call("file_delete", path=path)
    assert os.path.exists(os.path.join(tools.project, ".godot/tether_deleted/1/today.txt")) and not os.path.exists(place)
    for path in reversed(paths):
        assert not there(tools, path)
        tools.call("editor_undo", any=True)
        for _ in range(3):
            tools.request(op="frame")
        tools.settle()
        assert read(tools, path).decode() == os.path.basename(path)


# ---- all that there is ---------------------------------------------------------------------------

def test_G1_long_lines_are_not_cut_without_a_word(tools):
    path = write(tools, "long.txt", "\n".join("%d %s" % (number, "x" * 60000) for number in range(3)) + "\n")
    first = tools.call("file_read", path=path)
    assert first["text"].startswith("0 ") and len(first["text"]) == 60002 and first["next"] == 2 and "cut" not in first
    assert tools.call("file_read", path=path, **{"from": 2})["text"].startswith("1 ")
    wide = write(tools, "wide.txt", "y" * 150000 + "\nend\n")
    first = tools.call("file_read", path=wide)
    assert len(first["text"]) == 100000 and "150000 letters" in first["cut"] and first["next"] == 2
    assert tools.call("file_read", path=wide, **{"from": 2})["text"] == "end\n"


def test_G1_what_is_not_searched_is_said(tools):
    path = write(tools, "huge.json", '"needle"\n' + " " * (1 << 20))
    assert tools.call("file_search", text="needle", folder=tools.folder) == {"hits": [], "not_searched": "Too large: %s." % path}


def test_J4_a_file_that_names_another_ten_thousand_times_does_not_hold_up_the_editor(tools):
    path = write(tools, "tile.txt", "x")
    write(tools, "many.json", "[\n%s]\n" % ('"%s", "and more"\n' % path * 20000))
    assert tools.call("file_uses", path=path, limit=2)["total"] == 20000
    assert tools.last_usec < 5000000


def test_G1_what_fits_are_whole_lines_from_either_end(tools):
    fitting = 'return Array(load("res://addons/tether/tools/words.gd").fitting(PackedStringArray(["aaa", "bbb", "cc"]), %s))'
    assert [tools.run_code(fitting % rest) for rest in ("8", "7, true", "1", "1, true", "11")] == [
        ["aaa", "bbb"], ["bbb", "cc"], ["aaa"], ["cc"], ["aaa", "bbb", "cc"]]


# ---- undone in full ------------------------------------------------------------------------------

def test_J4_a_node_that_is_moved_and_renamed_has_the_name_it_is_given_and_its_own_again(tools):
    tools.begin()
    for name, parent in (("A", "."), ("B", "."), ("P", "."), ("A", "P")):
        tools.call("node_add", type="Node2D", name=name, parent=parent)
    assert tools.call("node_move", path="A", parent="P", name="B")["path"] == "P/B"
    for _ in range(2):
        tools.call("editor_undo")
        assert sorted(tools.call("scene_tree")["nodes"]) == [". (Node2D)", "A (Node2D)", "B (Node2D)", "P (Node2D)", "P/A (Node2D)"]
        tools.call("editor_redo")
        assert sorted(tools.call("scene_tree")["nodes"]) == [". (Node2D)", "B (Node2D)", "P (Node2D)", "P/A (Node2D)", "P/B (Node2D)"]


def test_J4_what_a_script_s_variables_are_comes_back_with_the_script(tools):
    tools.begin()
    for name, more in (("first", "@export var friend: Node\n"), ("other", "@export var own: int = 5\n")):
        write(tools, name + ".gd", "extends Node2D\n\n@export var speed: float = 1.0\n" + more)
    scan(tools)
    tools.call("script_attach", node=".", path=tools.folder + "/first.gd")
    tools.call("node_add", type="Node2D", name="Hero")
    tools.call("node_set", path=".", properties={"speed": 7, "friend": "Hero"})
    for path in (tools.folder + "/other.gd", ""):
        tools.call("script_attach", node=".", path=path)
        if path:
            assert tools.call("node_get", path=".", properties=["speed", "own"])["properties"] == {"speed": 7, "own": 5}
        tools.call("editor_undo")
        assert tools.call("node_get", path=".", properties=["speed", "friend"])["properties"] == {"speed": 7, "friend": {"Node": "Hero"}}


def test_J4_a_connection_comes_back_with_its_arguments(tools):
    scene = write(tools, "connected.tscn", SCENE % "Main" + '\n[node name="Timer" type="Timer" parent="."]\n\n'
                  '[connection signal="timeout" from="Timer" to="." method="set_rotation" flags=3 binds= [0.5]]\n')
    scan(tools)
    tools.call("scene_open", path=scene)
    tools.call("node_signals", action="disconnect", path="Timer", signal="timeout", target=".", method="set_rotation")
    tools.call("scene_save")
    assert b"[connection" not in read(tools, scene)
    tools.call("editor_undo")
    tools.call("scene_save")
    assert b'method="set_rotation" flags=3 binds= [0.5]]' in read(tools, scene)
