"""What becomes of AI clients of others that work with a real editor, as a table: ./dev bench clients."""
import argparse
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))

from harness import become_subreaper  # noqa: E402
from real_clients import CLIENTS  # noqa: E402
from real_sessions import LANES, hold_sessions, why_not  # noqa: E402
from lifecycle import print_aligned  # noqa: E402

COLUMNS = ["client", "it says connected", "scripted run", "killed and back", "before the editor", "instructions",
           "protocol asked for"]


def both(found, show):
    """One cell for both transports, and once if they are the same."""
    cells = [show(found[transport]) for transport in ("http", "stdio")]
    return cells[0] if cells[0] == cells[1] else "HTTP: %s; stdio: %s" % tuple(cells)


def count(steps):
    return "%d/%d" % (sum(step["ok"] for step in steps), len(steps))


def split(steps):
    """The steps before the editor dies, and those after."""
    death = next(number for number, step in enumerate(steps) if step["away"])
    return steps[:death], steps[death:]


def whole(steps):
    """Whether all went well, and nothing was missing from what the model saw."""
    shown = {step["tools"] for step in steps}
    if not all(step["ok"] for step in steps):
        return count(steps)
    return "ok" if len(shown) == 1 and None not in shown else "fewer tools"


def row(kind, found):
    if found is None:
        return [kind.title, kind.missing() or "not tried"] + [""] * (len(COLUMNS) - 2)
    return ["%s %s" % (kind.title, found["version"]),
            both(found, lambda it: "yes" if it["check"]["ok"] else "no"),
            both(found, lambda it: count(split(it["work"]["steps"])[0])),
            both(found, lambda it: whole(split(it["work"]["steps"])[1])) + (" (HTTP: with linger_ms)" if kind.lingers else ""),
            both(found, lambda it: whole(it["first"]["steps"])),
            both(found, lambda it: "yes" if all(step["instructions"] for step in it["work"]["steps"]) else "no"),
            both(found, lambda it: it["protocol"])]


def is_full(found):
    return all(found[transport]["check"]["ok"] and whole(found[transport][part]["steps"]) == "ok"
               for transport in ("http", "stdio") for part in ("first", "work"))


def main():
    parser = argparse.ArgumentParser(description="lets AI clients of others work with a real editor")
    parser.add_argument("--json", metavar="FILE", help="write all that was seen there, too")
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help="one of: %s" % ", ".join(CLIENTS))
    options = parser.parse_args()
    unknown = set(options.clients) - set(CLIENTS)
    if unknown:
        parser.error("there is no client %s" % ", ".join(sorted(unknown)))
    why = why_not()
    if why:
        sys.exit("bench clients: it " + why)
    become_subreaper()
    lanes = [[name for name in lane if name in (options.clients or CLIENTS)] for lane in LANES]
    with tempfile.TemporaryDirectory(prefix="tb-") as folder:
        found, missing = hold_sessions(folder, "--protocol", lanes=lanes)
    names = [name for name in CLIENTS if name in found or name in dict(missing)]
    print_aligned([COLUMNS] + [row(CLIENTS[name], found.get(name)) for name in names])
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"clients": found, "missing": missing}, file, indent=1)
    return 0 if all(is_full(each) for each in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
