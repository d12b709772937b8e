"""The tests that are not run against the programs of Windows, each with the reason: the one list of them.

A name is that of a folder, a file, a test in a file, or one of its variants. What Windows does in another
form is tested by tests/wine."""

SOCKET_OUTPUT = "programs of Windows get pipes, not sockets, as their standard output"

NOT_HERE = {
    "process/test_cli.py::test_what_follows_ends_with_its_reader[command0-socket]": SOCKET_OUTPUT,
    "process/test_cli.py::test_what_follows_ends_with_its_reader[command1-socket]": SOCKET_OUTPUT,
    "process/test_cli.py::test_what_follows_ends_with_its_reader[command2-socket]": SOCKET_OUTPUT,
}

# Nobody has tried these there so far. Nothing is said of them.
NOT_YET = [
    "engine",
    "mcp",
    "process/test_last_run.py",
    "process/test_endings.py",
    "process/test_control.py",
    "process/test_sessions.py",
    "process/test_owner_environment.py",
    "process/test_announce.py",
    "process/test_adopt.py",
    "process/test_owner.py",
    "process/test_command.py",
    "process/test_control_client.py",
    "process/test_doctor.py",
    "process/test_drained.py",
    "process/test_front_ends.py",
    "process/test_front_own.py",
    "process/test_front_relay.py",
    "process/test_front_stranger.py",
    "process/test_front_survival.py",
    "process/test_full_endpoint.py",
    "process/test_guard_hindered.py",
    "process/test_hygiene.py",
    "process/test_kill_table.py",
    "process/test_lost_place.py",
    "process/test_many_sessions.py",
    "process/test_memory.py",
    "process/test_owner_liveness.py",
    "process/test_printable.py",
    "process/test_replace.py",
    "process/test_sandbox.py",
    "process/test_serve_http.py",
    "process/test_serve_input.py",
    "process/test_serve_limits.py",
    "process/test_serve_mcp.py",
    "process/test_serve_memory.py",
    "process/test_serve_resume.py",
    "process/test_serve_start.py",
    "process/test_service.py",
    "process/test_shortage.py",
    "process/test_soak.py",
    "process/test_sockets.py",
    "process/test_supervise.py",
    "process/test_sweep_kill.py",
    "process/test_tree.py",
    "process/test_watch.py",
    "process/test_watchdog.py",
]


def is_among(nodeid, names):
    """Whether a test is one of those that these names mean."""
    whole = nodeid.split("[")[0]
    return any(name in names for name in (nodeid, whole, whole.split("::")[0], whole.split("/")[0]))


if __name__ == "__main__":
    for name, why in NOT_HERE.items():
        print("not on Windows: %s: %s" % (name, why))
