"""A real Godot editor on a project of its own, with the addon enabled."""
import fcntl
import os
import re
import shutil

from harness import IS_WINDOWS, Process, system

ENGINE = system.ENGINE
# Nobody sees a text of such an editor: to shape and to measure them is a third of what a start computes.
HEADLESS = ["--headless", "--text-driver", "Dummy"]
# One that draws without a graphics card has a lot to compute before it is there. Its end is noticed at once.
START_LIMIT = 240.0
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMPLAINT = re.compile(r"^(.*ERROR:|WARNING:|BUG|Leaked|.*leaked|Orphan|handle_crash|CrashHandler|\[\d+\] )")  # [n] is where
# Said by an untouched engine of this version too; the second if it is closed while it looks through
# the project's files for the first time, which takes long on a busy machine; the third with a window
# where there is no session of a desktop; the fourth where texts are not shaped.
ENGINE_NOISE = ("Orphan StringName: Node", "WARNING: Scan thread aborted",
                "ERROR: Error opening D-Bus connection",
                "WARNING: Some locales are not properly supported by selected Text Server") + system.ENGINE_NOISE
# What load_threaded_request and load_threaded_get alone leave behind in about one of thirty editors that
# end at once: the engine's own note of the load. An object of ours would have a script or a reference.
LOAD_NOTE = re.compile(r"Leaked instance: RefCounted:\d+ - Reference count: 0$")
LEAKED = "WARNING: ObjectDB instances leaked at exit (run with --verbose for details)."


def make_project(folder, addon=None):
    """Copies the test project to a folder and links the addon into it (or copies another one)."""
    shutil.copytree(os.path.join(ROOT, "tests/engine/project"), folder)
    os.mkdir(os.path.join(folder, "addons"))
    system.place_addon(addon or os.path.join(ROOT, "addons/tether"), os.path.join(folder, "addons/tether"))
    # As if it had been opened before: the extension is there from the start, and not only once the
    # files have been looked through. What a first start is like: test_first_runs.py.
    os.mkdir(os.path.join(folder, ".godot"))
    with open(os.path.join(folder, ".godot/extension_list.cfg"), "w") as file:
        file.write("res://addons/tether/tether.gdextension\n")
    return folder


def _make_help(folder):
    """As the first start of an editor does."""
    shutil.rmtree(folder + ".new", ignore_errors=True)
    os.makedirs(folder + ".new/project")
    with open(folder + ".new/project/project.godot", "w") as file:
        file.write("config_version=5\n")
    with Process([ENGINE, "--headless", "--editor", "--quit", "--path", system.native(folder + ".new/project")],
                 system.home(folder + ".new/home")) as first:
        first.wait(START_LIMIT)
    os.rename(os.path.join(folder + ".new/home", system.HELP), folder)


def home(project):
    """Where an editor of this project is to keep its settings and data: beside it, as variables. The text of its help
    is there already: to make it is an eighth of what a first start computes. Such starts: test_first_runs.py."""
    variables, folder = system.home(project + ".home"), os.path.join(project + ".home", system.HELP)
    made = os.path.join(os.environ["TETHER_BUILD"], "help.windows" if IS_WINDOWS else "help")
    with open(made + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(made):
            _make_help(made)
    if not os.path.exists(folder):
        shutil.copytree(made, folder)
        system.calm_editors(project + ".home")
    return variables


def editor(project, *arguments, env=None, headless=HEADLESS):
    """Starts a headless editor; its settings and data stay beside the project."""
    return Process([ENGINE, *headless, "--editor", "--path", system.native(project)] + list(arguments),
                   dict(home(project), **(env or {})))


def with_texts(project, arguments, env):
    """One in which a text that is shown can be read."""
    return editor(project, *arguments, env=env, headless=["--headless"])


def complaints(output):
    """The lines in which an engine's log tells of errors, warnings or leaks."""
    found = [line for line in output.splitlines()
             if COMPLAINT.match(line) and not line.startswith(ENGINE_NOISE)]
    rest = [line for line in found if not LOAD_NOTE.match(line)]
    if len(rest) < len(found) and not any(line.startswith("Leaked") for line in rest):
        rest.remove(LEAKED)
    return rest


def around(output, said):
    """What stands before and after each complaint: where in the engine it is from, and what was done then."""
    lines = output.splitlines()
    return [lines[max(0, at - 8):at + 8] for at, line in enumerate(lines) if line.strip() in said]
