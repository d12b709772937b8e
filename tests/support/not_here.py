"""The tests that are not run against the programs of Windows, each with the reason: the one list of them.

A name is that of a folder, a file, a test in a file, or one of its variants. What Windows does in another
form is tested by tests/wine."""

SOCKET_OUTPUT = "programs of Windows get pipes, not sockets, as their standard output"
LAUNCHER_SCRIPT = "what stands in for the launcher is a script of a Unix shell, which Windows does not start"

NOT_HERE = {
    "engine/test_lives.py::test_A10_end_of_the_editor_waits_for_no_launcher_and_leaves_what_is_not_its_own":
        LAUNCHER_SCRIPT,
    "engine/test_lives.py::test_F8_launcher_that_hangs_holds_up_no_frame_and_no_other_server": LAUNCHER_SCRIPT,
    "engine/test_owner_environment.py::test_A2_extension_never_changes_the_environment_of_the_editor":
        "a library in front of the C library watches who changes the environment, as Linux knows it",
    "engine/test_reload.py::test_A1_plugin_that_is_on_again_and_slow_to_launch_has_not_left_for_good": LAUNCHER_SCRIPT,
    "engine/test_server.py::test_A12_F4_stranger_on_the_port_is_named_and_left_alone":
        "Wine does not tell whose process has a port",
    "engine/test_server.py::test_D4_twenty_cycles_leave_nothing_behind": "it counts open files and threads in /proc",
    "engine/test_server.py::test_F5_sockets_that_the_launcher_holds_refuse_nobody":
        "the test server takes sockets as systemd hands them down; that of Tether is tried by tests/wine (G6)",
    "engine/test_server.py::test_F8_launcher_gets_its_execute_permission_back": "Windows has no such permission",
    "engine/test_server.py::test_F8_launcher_that_says_what_no_launcher_says_is_a_failure": LAUNCHER_SCRIPT,
    "engine/test_server.py::test_F8_properties_become_the_flags_of_the_launcher": LAUNCHER_SCRIPT,
    "process/test_cli.py::test_what_follows_ends_with_its_reader[command0-socket]": SOCKET_OUTPUT,
    "process/test_cli.py::test_what_follows_ends_with_its_reader[command1-socket]": SOCKET_OUTPUT,
    "process/test_cli.py::test_what_follows_ends_with_its_reader[command2-socket]": SOCKET_OUTPUT,
}

# Nobody has tried these there so far. Nothing is said of them.
NOT_YET = [
    "engine/test_addon.py",
    "engine/test_clients.py",
    "engine/test_dock.py",
    "engine/test_dock_real.py",
    "engine/test_end_to_end.py",
    "engine/test_example_addon.py",
    "engine/test_extension.py",
    "engine/test_moments.py",
    "engine/test_not_started.py",
    "engine/test_odd_arguments.py",
    "engine/test_server_edges.py",
    "engine/test_tools_project.py",
    "engine/test_tools_scene.py",
    "engine/test_tools_screen.py",
    "engine/test_tools_trust.py",
    "engine/test_tools_values.py",
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
