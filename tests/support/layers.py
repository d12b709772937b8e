"""Who may include whom: a file sees its own room and the layers below it, never above or beside.

Run with the repository as the current directory; prints each include that goes the wrong way."""
import os
import re
import sys

# From the ground up. Rooms of one layer do not see each other; a room holds the rooms below it in
# the tree unless they are named themselves.
LAUNCHER = [["launcher"], ["launcher/os"], ["launcher/protocol"], ["launcher/lifecycle"], ["launcher/options"],
            ["launcher/daemon", "launcher/serve/http", "launcher/front", "launcher/clients"], ["launcher/serve"], ["launcher/cli"],
            ["launcher/main.c"]]
EXTENSION = [["gdextension/session", "gdextension/engine"], ["gdextension/class", "gdextension/frame", "gdextension"]]
# What the extension shares with the launcher.
SHARED = ["launcher", "launcher/os", "launcher/protocol"]
# Exceptions that make a rule stricter: the lifecycle is pure and sees no system, no protocol.
ONLY = {"launcher/lifecycle": ["launcher", "launcher/lifecycle"]}
BESIDE = {("launcher/serve", "launcher/front"), ("launcher/serve", "launcher/daemon")}


def room_of(path):
    """The most particular room that a file is in."""
    rooms = {room for layer in LAUNCHER + EXTENSION for room in layer}
    while path not in rooms:
        path = os.path.dirname(path)
    return path


def level(room):
    return next(i for layers in (LAUNCHER, EXTENSION) for i, layer in enumerate(layers) if room in layer)


def may_see(source, target):
    if source == target:
        return True
    if source in ONLY:
        return target in ONLY[source]
    if source.startswith("gdextension") != target.startswith("gdextension"):
        return source.startswith("gdextension") and target in SHARED
    same_level = level(target) == level(source)
    if source.startswith("gdextension") and same_level:
        return level(source) == 1
    return not same_level and level(target) < level(source) and (source, target) not in BESIDE


def resolve(path, name):
    for folder in (os.path.dirname(path), "launcher", "gdextension"):
        found = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(found):
            return found
    return None  # made by the build


def main():
    wrong = 0
    for top in ("launcher", "gdextension"):
        for folder, _, names in os.walk(top):
            for path in sorted(os.path.join(folder, name) for name in names if name[-2:] in (".c", ".h")):
                with open(path, encoding="utf-8") as file:
                    for number, line in enumerate(file, 1):
                        include = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
                        target = include and resolve(path, include.group(1))
                        if target and not may_see(room_of(path), room_of(target)):
                            print("%s:%d: %s must not see %s" % (path, number, room_of(path), target))
                            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
