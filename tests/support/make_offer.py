"""Writes down what an editor offers that has nothing but Tether's addon in it, as ./dev offer does."""
import json
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))

from editor import START_LIMIT, editor, make_project  # noqa: E402
from harness import become_subreaper, end_strays, free_ports, system  # noqa: E402

PLACE = os.path.join(os.path.dirname(__file__), "../../launcher/serve/relay/shipped_offer.json")
KEPT = ("instructions", "profiles", "capabilities", "tools", "resources", "resourceTemplates", "prompts")
QUIET = 2.0  # seconds without a change: all is registered


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


def settled(state_dir, ports):
    end, last, since = time.monotonic() + START_LIMIT, None, 0.0
    while time.monotonic() < end:
        offer = offered(state_dir, ports)
        if offer != last:
            last, since = offer, time.monotonic()
        elif last and time.monotonic() - since > QUIET:
            return last
        time.sleep(0.1)
    raise TimeoutError("the editor has offered nothing")


def made(folder):
    """What an editor offers on a project of its own in this folder."""
    ports = free_ports()
    state_dir = os.path.join(folder, "state")
    os.mkdir(state_dir, 0o700)
    project = make_project(os.path.join(folder, "project"))
    with editor(project, env={"TETHER_STATE_DIR": state_dir, "TETHER_HEADLESS": "1",
                              "TETHER_HTTP_PORT": str(ports[0]), "TETHER_WS_PORT": str(ports[1])}):
        return settled(state_dir, ports)


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
