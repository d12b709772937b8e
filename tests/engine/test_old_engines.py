"""H5: what the extension and the addon's scripts ask of the engine is in 4.5, the oldest that they are for.

No editor is started. The interface tells of each function since when it is there. Of the scripts each name that
the engine in use knows must be in api_4.5.txt: whoever uses another one looks it up in the class reference of 4.5
(is it there, and not deprecated in the newest?) and adds it."""
import glob
import json
import os
import re

from editor import ROOT
from harness import BUILD

OLDEST = (4, 5)
LISTED = os.path.join(ROOT, "tests/engine/api_4.5.txt")
# Words that are not code: comments, and texts of several words.
LEFT_OUT = re.compile(r'#[^\n]*|&?"((?:\\.|[^"\\])*)"|\'((?:\\.|[^\'\\])*)\'')


def interface():
    """The functions of the interface: since when they are there, and whether they are deprecated."""
    with open(os.path.join(BUILD, "engine/gdextension_interface.h")) as file:
        comments = re.findall(r"/\*\*(.*?)\*/", file.read(), re.DOTALL)
    found = {}
    for comment in comments:
        name, since = re.search(r"@name (\w+)", comment), re.search(r"@since (\d+)\.(\d+)", comment)
        if name and since:
            found[name[1]] = (tuple(map(int, since.groups())), "@deprecated" in comment)
    return found


def functions_in_use():
    text = ""
    for path in glob.glob(ROOT + "/gdextension/**/*.[ch]", recursive=True):
        with open(path) as file:
            text += file.read()
    table = re.search(r"#define ENGINE_FUNCTIONS\(X\)(.*?)\n\n", text, re.DOTALL)[1]
    return re.findall(r"X\((\w+),", table) + re.findall(r'find_function\(find,\s*"(\w+)"', text)


def test_H5_every_function_of_the_interface_is_in_the_oldest_engine():
    there, used = interface(), functions_in_use()
    assert len(used) > 30 and "get_godot_version2" in used
    assert [name for name in used if name not in there] == []
    assert [name for name in used if there[name][0] > OLDEST] == []
    assert [name for name in used if there[name][1]] == [], "deprecated"


def test_H5_the_extension_says_what_it_is_for():
    with open(ROOT + "/addons/tether/tether.gdextension") as file:
        assert 'compatibility_minimum = "%d.%d"\n' % OLDEST in file.read()
    with open(ROOT + "/gdextension/engine/engine.c") as file:
        assert "version->major == %d && version->minor >= %d" % OLDEST in file.read()


def names_of_the_engine():
    """All names in the engine in use, and all that stand behind the name of a class."""
    with open(os.path.join(BUILD, "engine/extension_api.json")) as file:
        api = json.load(file)
    plain, classes = set(), set()
    for group in ("global_constants", "utility_functions", "singletons"):
        plain.update(entry["name"] for entry in api[group])
    holders = api["classes"] + api["builtin_classes"]
    for enum in api["global_enums"] + [enum for holder in holders for enum in holder.get("enums", [])]:
        plain.add(enum["name"].split(".")[-1])
        plain.update(value["name"] for value in enum["values"])
    for holder in holders:
        classes.add(holder["name"])
        for group in ("methods", "properties", "members", "signals", "constants"):
            plain.update(entry["name"] for entry in holder.get(group, []))
        for entry in holder.get("properties", []):
            plain.update(entry.get(key, "") for key in ("getter", "setter"))
    return plain | classes, classes


def words_of(path):
    """The identifiers of a script, also where they stand as a text, and those behind the name of a class."""
    with open(path) as file:
        code = LEFT_OUT.sub(lambda found: " %s " % (found[1] or found[2] or "")
                            if re.fullmatch(r"\w*", found[1] or found[2] or "") else " ", file.read())
    return set(re.findall(r"[A-Za-z_]\w*", code)), set(re.findall(r"(?<![\w.])([A-Z]\w*)\.([A-Za-z_]\w*)", code))


def listed():
    """What the list has: names of 4.5, and those for which a script looks first whether they are there."""
    plain, guarded = set(), {}
    with open(LISTED) as file:
        for line in file:
            words = line.split("#")[0].split()
            if words and words[0].endswith(":"):
                guarded.update(dict.fromkeys(words[1:], words[0][:-1]))
            else:
                plain.update(words)
    return plain, guarded


def scripts():
    return glob.glob(ROOT + "/addons/tether/**/*.gd", recursive=True)


def test_H5_every_name_of_the_engine_in_the_scripts_is_in_the_oldest_engine():
    engine, classes = names_of_the_engine()
    plain, guarded = listed()
    unknown, used = {}, set()
    for path in scripts():
        words, members = words_of(path)
        asked = (words & engine) | {"%s.%s" % pair for pair in members if pair[0] in classes}
        used |= asked
        with open(path) as file:
            text = file.read()
        for word in asked - plain:
            if 'ClassDB.class_exists(&"%s")' % guarded.get(word, "") not in text:
                unknown.setdefault(os.path.relpath(path, ROOT), []).append(word)
    assert unknown == {}
    assert sorted((plain | set(guarded)) - used) == [], "no longer used: take it off the list"
