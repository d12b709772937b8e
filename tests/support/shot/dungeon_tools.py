"""A companion server that does not come up, for the picture of a crash: what it needs is missing."""
import sys

print("dungeon_tools 2.1: reading the levels of the project", file=sys.stderr)
print("dungeon_tools 2.1: 14 levels, 3 tilesets", file=sys.stderr)
sys.tracebacklimit = 0

import level_index  # noqa: E402,F401
