"""Starts labs of AI clients (client_lab.py), each in namespaces of its own, two at a time."""
import json
import os
import sys

from clients import in_namespace
from harness import LIMIT, Process, descendants_of, end_strays
from real_clients import CLIENTS

LAB = os.path.join(os.path.dirname(__file__), "client_lab.py")
LANES = (("gemini", "claude", "codex"), ("opencode", "qwen", "copilot"))  # about equally long
SESSION_LIMIT = 10 * LIMIT  # seconds for a lane, on a machine that has much else to do


def why_not():
    """Why no client can be tried here, or None."""
    if in_namespace("-n", "-m") is None:
        return "needs network and mount namespaces of its own (unshare -n -m), which are not permitted here"
    return None


def hold_sessions(folder, *options, lanes=LANES):
    """Lets all clients that there are go through their sessions; returns {client: what came of it} and [(client, why not)]."""
    missing = [(name, CLIENTS[name].missing()) for lane in lanes for name in lane if CLIENTS[name].missing()]
    away = dict(missing)
    labs, found, bystanders = [], {}, descendants_of(os.getpid())
    for number, lane in enumerate(lanes):
        there = [name for name in lane if name not in away]
        to = os.path.join(folder, "lane-%d.json" % number)
        if there:
            labs.append((to, Process([*in_namespace("-n", "-m"), sys.executable, LAB, "--to", to, *options, *there])))
    try:
        for to, lab in labs:
            status = lab.wait(SESSION_LIMIT)
            assert status == 0, lab.output[-4000:]
            with open(to) as file:
                found.update(json.load(file))
    finally:
        for _, lab in labs:
            lab.stop()
        left = end_strays(bystanders)
    assert not left, left
    return found, missing
