"""Writes down what an editor offers that has nothing but Tether's addon in it, as ./dev offer does."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))

from editor import START_LIMIT, editor, make_project  # noqa: E402
from harness import become_subreaper, end_strays, free_ports, system  # noqa: E402
from scene import wait_until  # noqa: E402

PLACE = os.path.join(os.path.dirname(__file__), "../../launcher/serve/relay/shipped_offer.json")
KEPT = ("instructions", "profiles", "capabilities", "tools", "resources", "resourceTemplates", "prompts")


def offered(state_dir, ports):
    """What the server has kept of its last editor, or None; but not whose it was."""
    try:
        with open(os.path.join(state_dir, "%d-%d" % tuple(ports), "offer.json")) as file:
            offer = json.load(file)
    except OSError:
        return None
    return {key: offer[key] for key in KEPT if key in offer}


def written(offer):
    """As it lies in the repository: an entry a line, so that changes can be read."""
    lines = []
    for key, value in offer.items():
        if isinstance(value, list) and value:
            entries = ",\n".join("    " + json.dumps(entry, ensure_ascii=False) for entry in value)
            lines.append('  "%s": [\n%s\n  ]' % (key, entries))
        else:
            lines.append('  "%s": %s' % (key, json.dumps(value, ensure_ascii=False)))
    return "{\n%s\n}\n" % ",\n".join(lines)


def made(folder):
    """What an editor offers on a project of its own in this folder."""
    ports = free_ports()
    state_dir = os.path.join(folder, "state")
    os.mkdir(state_dir, 0o700)
    project = make_project(os.path.join(folder, "project"))
    with editor(project, env={"TETHER_STATE_DIR": state_dir, "TETHER_HEADLESS": "1",
                              "TETHER_HTTP_PORT": str(ports[0]), "TETHER_WS_PORT": str(ports[1])}):
        # The addon offers nothing before it has registered all, and the server's file comes whole.
        return wait_until(lambda: offered(state_dir, ports), "the editor has offered something", START_LIMIT)


def main():
    become_subreaper()
    system.prepare()
    with tempfile.TemporaryDirectory() as folder:
        offer = made(folder)
        end_strays()
    with open(PLACE, "w") as file:
        file.write(written(offer))
    print("%s: %d tools" % (os.path.relpath(PLACE), len(offer["tools"])))


if __name__ == "__main__":
    main()
