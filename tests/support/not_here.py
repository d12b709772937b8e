"""The tests that are not run against the programs of Windows, each with the reason: the one list of them.

A name is that of a file, a test in a file, or one of its variants, where * stands for anything. What
Windows does in another form is tested by tests/wine and tests/windows."""
import re

SOCKET_OUTPUT = "programs of Windows get pipes, not sockets, as their standard output"
LAUNCHER_SCRIPT = "a script of a Unix shell stands in for the launcher, and becomes it, which is no program there"
SIGNALS = "a signal ends no program of Windows: each end is an exit code"
NAMES = "names are UTF-16 there: none is without a meaning as text"
SHELL_NAMES = "stars, backslashes and quotes are in no name there, and no shell of Unix finds the folder"
SCRIPTS = "scripts have no interpreters, and files no bit for being executed; what counts is the name's ending"
EXEC = "a program of Windows does not replace itself by another"
HANDLES = "open files of others are not shown; what is handed down is tested by tests/wine/os_process.c"
LINKS = "Wine follows links of Linux by itself; on Windows what is none is told by a flag (tests/wine/os_files.c)"
USERS = "a test cannot become another user there; who may come in is tested by tests/wine/os_calls.c (G5)"
BACKLOG = "clients of a pipe wait for an instance of it, in no queue that could be full (tests/wine/os_control.c)"
ZOMBIES = "nobody has to wait for a process of Windows: there are no zombies, and no orphans to be collected"
TERMINALS = "a program of Windows has a console, not a terminal of Linux, and nobody sees what stands there"
GUARD = "there is no guard on Windows: the kernel ends the tree with the daemon (tests/windows/test_tree.py)"
PRELOAD = "what makes allocations fail, one by one, is loaded by LD_PRELOAD"
KERNEL = "it is about what an older kernel of Linux lacks or a sandbox forbids"
NAMESPACES = "it needs pid and mount namespaces; numbers used again are told by the start (tests/wine/os_process.c)"
HOLDERS = "Wine does not tell who holds a port; that it is named is tested by tests/wine/os_peer.c"
PROCESS_1 = "there is no process 1 that orphans are given to"
HANGUP = "only a person closes the console of another program"
COSTS = "what a process has and takes under Wine at all is not what it has on Windows; that it does not grow is looked at"

PYTHON = "its server is a program in Python, of which there is none for Windows here"

LACKS = "the editor that Debian's sources make here has no %s"
ORDER = "of two pipes it is not told there which was written to first"
UNHEARD = "nobody types at a daemon's console, which is hidden: an interrupt there is its server's alone"

OPEN_FOLDER = "a folder with an open file in it, as the lock is, can be neither removed nor renamed on Windows"
NO_SOCKET = "the control endpoint is a pipe, and no file that could be removed or be in the way"
CLEANER = "there are no locks of a folder that a cleaner would honour, and no such cleaner"
TIME_SPACE = "there are no time namespaces on Windows"
READ_AHEAD = "what comes for a test that does not read is read by the host in its stead"
JOB = "what a killed daemon would leave is ended there by the kernel, with its job (tests/wine/os_tree.c)"
SYSTEMD = "sockets and readiness are not passed as systemd does it there, but by handles (tests/wine/os_tree.c)"
MOUNTS = "a full disk or a read-only folder is a mount for one program and those below it, and under Wine another one opens files"
MODES = "there are no modes and owners by number; who may enter a folder is tested by tests/wine/os_files.c"
SHELL = "what stands in for the editor is a script of a Unix shell"
LIMITS = "there are no limits of open files and of the size of a file there"
CONTAINER = "containers are made of pid namespaces of Linux"
SERVICE = "service managers that listen at a socket are those of Linux"
USER_SIGNALS = "there are no signals for users"
SUSPENDED = "who is suspended is not continued in order to end there, but ended after the grace"

PACE = "256 clients in the 2 s that one who was refused is kept: Wine takes 20 ms to tell whose each of them is"

STUB_NUMBER = "the server that it asks tells its number, which is one of Linux"
STUB_STREAMS = "what a program of Linux does to its streams, one of Windows that stands in for it does not do to its own"
STUB_CHILD = "what a program of Linux starts in the place of one of Windows is in no job (tests/windows: G2)"

NOT_HERE = {
    "package/installed/test_installed.py::test_H4_the_editors_own_installer_puts_it_into_its_place":
        "its window gave no list in the editor that is made here, which has no TLS; why, is not known yet",
    "package/installed/test_installed.py::test_H4_in_a_place_that_is_read_only_it_runs_all_the_same": MOUNTS,
    "package/installed/test_installed.py::test_H4_what_one_user_has_installed_another_one_runs": USERS,
    "mcp/test_real_clients.py": "npm brings them as programs of Linux, which are tried there",
    "process/test_client_files.py::test_I8_mode_and_links": LINKS,
    "process/test_client_files.py::test_I8_what_cannot_be_looked_at_is_not_taken_for_nothing": LINKS,
    "process/test_client_files.py::test_I8_a_file_keeps_its_owner_or_stays": USERS,
    "process/test_client_files.py::test_I8_a_folder_may_be_called_anything": SHELL_NAMES,
    "process/test_client_files.py::test_I8_a_backslash_is_part_of_a_name": SHELL_NAMES,
    "process/test_client_files.py::test_I8_a_name_that_is_no_text_is_refused": NAMES,
    "process/test_client_files.py::test_I8_folders_that_cannot_be_written": MODES,
    "process/test_stdio_watch.py::test_K3_whoever_is_killed_nothing_is_left[guard]": GUARD,
    "process/test_stdio_watch.py::test_K3_what_the_server_closes_is_closed":
        "the host of a console of Wine inherits the streams of whom it is for (tests/wine/os_process.c)",
    "process/test_stdio_server.py::test_K1_a_server_can_open_its_streams_by_their_names": "streams have no names there",
    "process/test_stdio_server.py::test_K1_the_end_is_in_order": STUB_CHILD,
    "process/test_stdio_server.py::test_K2_calls_wait_for_a_server_on_its_way": STUB_NUMBER,
    "process/test_stdio_server.py::test_K2_one_that_hears_or_says_no_more_is_lost": STUB_STREAMS,
    "process/test_stdio_server.py::test_K2_whoever_is_killed_nothing_is_left_or_all_comes_back[its guard]": GUARD,
    "process/test_serve_http.py::test_F7_those_that_are_refused_push_nobody_out": PACE,
    "process/test_command.py::test_a_long_command_leaves_the_state_a_short_line":
        "a command line has 32 767 characters at most there",
    "process/test_drained.py::test_D2_helpers_that_no_sigterm_reached_are_not_waited_for":
        "who shares the console and hears no Ctrl-C is asked by Break, which Wine does not know",
    "process/test_drained.py::test_D2_a_process_whose_first_thread_has_ended_is_asked_too": ZOMBIES,
    "process/test_drained.py::test_D2_stop_tells_processes_that_the_system_does_not_end": KERNEL,
    "mcp/test_websocket_client.py::test_F7_goodbye_of_a_server_that_is_gone_when_it_is_heard":
        "a reset takes away there what has come and was not read",
    "process/test_blocked_ports.py::test_A11_a_start_waits_for_who_is_just_being_ended": HOLDERS,
    "process/test_blocked_ports.py::test_A11_who_is_hidden_is_told_then": HOLDERS,
    "process/test_drained.py::test_D3_stop_tells_a_port_that_is_not_free": HOLDERS,
    "process/test_machine.py::test_B1_*": TERMINALS,
    "process/test_uncertain.py": "no process gets out of a job there; its launcher is one for Linux that believes otherwise",
    "process/test_machine.py::test_L5_*":
        "what lies to a program about dates, watches and memory is loaded or set up by Linux",
    "process/test_lost_place.py::test_L3_who_comes_after_files_were_removed_ends_nobody[*-control.sock]": NO_SOCKET,
    "process/test_lost_place.py::test_L3_a_daemon_that_cannot_be_found_loses_neither_server_nor_place": NO_SOCKET,
    "process/test_lost_place.py::test_L3_what_is_removed_again_as_soon_as_it_is_back_comes_back": OPEN_FOLDER,
    "process/test_lost_place.py::test_L3_a_directory_that_is_gone_is_made_again": OPEN_FOLDER,
    "process/test_lost_place.py::test_L3_who_ends_removes_only_what_is_its_own": OPEN_FOLDER,
    "process/test_lost_place.py::test_L3_a_cleaner_that_honours_locks_leaves_a_running_instance_alone": CLEANER,
    "process/test_lost_place.py::test_L3_where_time_began_elsewhere_nobody_is_taken_for_dead": TIME_SPACE,
    "process/test_hygiene.py::test_C1_a_link_is_not_followed": LINKS,
    "process/test_hygiene.py::test_C1_files_of_another_user_stay": USERS,
    "process/test_hygiene.py::test_C1_a_sessions_directory_that_is_not_ours_is_not_touched[symlink]": LINKS,
    "process/test_hygiene.py::test_C1_a_sessions_directory_that_is_not_ours_is_not_touched[open to others]": MODES,
    "process/test_hygiene.py::test_C1_where_a_killed_daemon_was_told_that_its_server_is_ready": NO_SOCKET,
    "process/test_hygiene.py::test_C3_the_next_start_ends_orphans_in_the_way_and_says_so": JOB,
    "process/test_hygiene.py::test_C3_orphans_on_the_ports_are_named": HOLDERS,
    "process/test_hygiene.py::test_L3_a_copy_of_a_servers_environment_is_no_orphan": JOB,
    "process/test_hygiene.py::test_L3_whoever_asks_for_a_start_is_not_ended_by_it": SHELL,
    "process/test_hygiene.py::test_L5_a_disk_that_fills_while_it_runs_costs_lines_and_nothing_else": MOUNTS,
    "process/test_hygiene.py::test_a_directory_that_others_may_rename_is_refused": MODES,
    "process/test_hygiene.py::test_a_hostile_directory_is_refused_with_advice[mode*]": MODES,
    "process/test_hygiene.py::test_a_hostile_directory_is_refused_with_advice[owner*]": USERS,
    "process/test_hygiene.py::test_a_hostile_directory_is_refused_with_advice[symlink*]": LINKS,
    "process/test_hygiene.py::test_a_read_only_or_full_place_is_refused_with_advice": MOUNTS,
    "process/test_hygiene.py::test_a_start_that_fails_early_leaves_no_socket": NO_SOCKET,
    "process/test_hygiene.py::test_on_a_full_disk_nothing_is_started_and_nothing_is_left": MOUNTS,
    "process/test_hygiene.py::test_what_is_in_the_way_of_the_socket_is_not_removed": NO_SOCKET,
    "process/test_many_sessions.py::test_F2_a_peer_that_reads_again_gets_the_newest_state_and_not_all_of_them":
        READ_AHEAD,
    "process/test_replace.py::test_A12_server_of_a_crashed_daemon_and_guard_is_replaced": JOB,
    "process/test_replace.py::test_A12_whole_tree_of_a_crashed_daemon_and_guard_is_replaced": JOB,
    "process/test_replace.py::test_A12_grandchild_that_holds_the_ports_is_replaced": JOB,
    "process/test_replace.py::test_A12_left_over_of_an_older_release": JOB,
    "process/test_replace.py::test_A12_launch_while_the_guard_still_ends_the_old_server": GUARD,
    "process/test_front_stranger.py": USERS,
    "process/test_service.py::*_process_1_*": CONTAINER,
    "process/test_service.py::*_of_a_container_*": CONTAINER,
    "process/test_service.py::test_F11_exit_code_of_a_server_that_gives_up_is_passed_on": CONTAINER,
    "process/test_service.py::*_service_manager*_*": SERVICE,
    "process/test_service.py::test_F11_service_that_cannot_start_is_told_by_its_exit_code": SERVICE,
    "process/test_service.py::*_terminal*": HANGUP,
    "process/test_service.py::test_F11_control_c_stops_in_order": TERMINALS,
    "process/test_service.py::test_F11_second_control_c_stops_at_once": TERMINALS,
    "process/test_service.py::test_F11_user_signal*": USER_SIGNALS,
    "process/test_control_client.py::test_E6_a_stop_while_the_daemon_is_looked_for_is_the_end": LAUNCHER_SCRIPT,
    "process/test_front_survival.py::test_E6_a_stranger_on_the_port_is_named": HOLDERS,
    "process/test_serve_limits.py::test_F7_other_users_*": USERS,
    "process/test_serve_start.py::test_B3_end_of_input_is_enough": EXEC,
    "process/test_serve_start.py::test_F4_a_busy_port_is_told_with_its_holder": HOLDERS,
    "process/test_serve_start.py::test_F5_takes_sockets_that_are_handed_down": SYSTEMD,
    "process/test_serve_start.py::test_F7_private_memory": COSTS,
    "process/test_many_sessions.py::test_two_hundred_sessions_that_read_nothing_cost_little_memory": COSTS,
    "process/test_serve_start.py::test_F7_started_by_hand_it_serves_without_input[closed]":
        "a program of Windows is started with some standard input",
    "process/test_serve_start.py::test_F7_starts_quickly": COSTS,
    "process/test_soak.py": "its blows are signals to guards, groups and whoever /proc names (there: test_sweep_kill.py)",
    "mcp/test_websocket.py::test_F7_another_user_is_refused": USERS,
    "mcp/test_websocket_client.py::test_F7_a_server_of_another_user_is_told_nothing": USERS,
    "process/test_shortage.py::test_D6_F1_with_few_files_a_start_works_in_full_or_says_why_not": LIMITS,
    "process/test_shortage.py::test_L5_what_a_file_may_not_hold_is_lost_and_nothing_else": LIMITS,
    "process/test_watch.py": TERMINALS,
    "process/test_sockets.py::test_*[*guard*]": GUARD,
    "process/test_sockets.py::test_L3_nobody_else_can_have_the_other_loopback_address_of_held_ports[1]":
        "the test's own sockets are of Linux, which knows no exclusive ones (tests/wine/os_port.c)",
    "process/test_sockets.py::test_F5_handed_down_as_systemd_does": SYSTEMD,
    "process/test_sockets.py::test_F5_without_holding_nothing_is_handed_down": SYSTEMD,
    "process/test_sockets.py::test_F5_only_a_notification_of_this_run_counts": SYSTEMD,
    "process/test_sockets.py::test_L5_nobody_outside_of_the_tree_says_that_it_is_ready": SYSTEMD,
    "process/test_sweep_kill.py::test_F9_kill[*-guard]": GUARD,
    "process/test_tree.py::test_*[*guard*]": GUARD,
    "process/test_tree.py::test_F1_guard_is_killed_while_the_server_starts": GUARD,
    "process/test_tree.py::test_*[terminate_daemon]": UNHEARD,
    "process/test_tree.py::test_F1_stopped_server": SUSPENDED,
    "engine/test_example_addon.py::test_F8_example_addon_has_a_server_beside_the_main_one": PYTHON,
    "engine/test_example_addon.py::test_F8_what_the_page_says_works": PYTHON,
    "engine/test_tools_trust.py::test_L2_what_is_not_for_everybody_is_not_read[linked.txt]": LINKS,
    "engine/test_tools_project.py::test_F8_an_imported_scene_is_added_and_not_opened": LACKS % "glTF",
    "mcp/test_browser.py::test_browser_attack_works_where_nothing_stops_it": "it tries the browser alone",
    "process/test_watchdog.py::test_B4_under_a_parent_that_is_process_1_it_does_not_end_itself": PROCESS_1,
    "process/test_watchdog.py::test_B4_as_process_1_it_does_not_end_itself_and_obeys_sigterm": PROCESS_1,
    "process/test_front_ends.py::test_B4_under_a_parent_that_is_process_1_it_does_not_end_itself": PROCESS_1,
    "process/test_front_ends.py::test_B4_as_process_1_it_does_not_end_itself_and_obeys_sigterm": PROCESS_1,
    "process/test_front_ends.py::test_B3_a_signal_answers_what_is_in_flight_and_leaves[1]": HANGUP,
    "process/test_serve_http.py::test_F7_other_users_are_refused": USERS,
    "engine/test_lives.py::test_A10_end_of_the_editor_waits_for_no_launcher_and_leaves_what_is_not_its_own":
        "the launcher that hangs tells its number, which is one of Linux",
    "engine/test_lives.py::test_F8_launcher_that_hangs_holds_up_no_frame_and_no_other_server": LAUNCHER_SCRIPT,
    "engine/test_owner_environment.py::test_A2_extension_never_changes_the_environment_of_the_editor":
        "a library in front of the C library watches who changes the environment, as Linux knows it",
    "engine/test_reload.py::test_A1_plugin_that_is_on_again_and_slow_to_launch_has_not_left_for_good": LAUNCHER_SCRIPT,
    "engine/test_server.py::test_A12_F4_stranger_on_the_port_is_named_and_left_alone":
        "Wine does not tell whose process has a port",
    "engine/test_server.py::test_D4_twenty_cycles_leave_nothing_behind": "it counts open files and threads in /proc",
    "engine/test_server.py::test_F5_sockets_that_the_launcher_holds_refuse_nobody":
        "the test server takes sockets as systemd hands them down; that of Tether is tried by tests/windows (G6)",
    "engine/test_server.py::test_F8_launcher_gets_its_execute_permission_back": "Windows has no such permission",
    "engine/test_server.py::test_F8_launcher_that_may_not_be_executed_is_told_of_with_what_to_do":
        "Windows has no such permission",
    "engine/test_server.py::test_F8_launcher_that_says_what_no_launcher_says_is_a_failure[closed output]":
        "what stands in for a launcher has its output as long as it lives",
    "engine/test_server.py::test_F8_properties_become_the_flags_of_the_launcher": LAUNCHER_SCRIPT,
    "process/test_guard_hindered.py": GUARD,
    "process/test_memory.py": PRELOAD,
    "process/test_sandbox.py": KERNEL,
    "process/test_owner_liveness.py": NAMESPACES,
    "process/test_two_users.py": USERS,
    "process/test_doctor.py::test_another_tether_on_our_port_is_not_to_be_ended_but_stopped": HOLDERS,
    "process/test_doctor.py::test_another_tether_in_the_usual_place_is_named_too": HOLDERS,
    "process/test_doctor.py::test_a_server_of_no_tether_is_a_stranger_also_if_it_is_ours": HOLDERS,
    "process/test_doctor.py::test_one_of_another_instance_in_the_same_place_is_a_stranger": HOLDERS,
    "process/test_supervise.py::test_D1_run_does_not_wait_for_who_does_not_read[socket]": SOCKET_OUTPUT,
    "process/test_supervise.py::test_D1_run_does_not_wait_for_who_does_not_read[terminal]": TERMINALS,
    "process/test_supervise.py::test_D3_orphans_of_the_server_are_collected_while_it_runs": ZOMBIES,
    "process/test_supervise.py::test_D3_no_zombie_stays_after_crashes_and_restarts": ZOMBIES,
    "process/test_control.py::test_a_daemon_that_is_busy_for_a_moment_is_waited_for": BACKLOG,
    "process/test_sessions.py::test_E1_another_user_is_refused": USERS,
    "process/test_full_endpoint.py": BACKLOG,
    "process/test_last_run.py::test_records_that_make_no_sense_are_ignored[last.json-link]": LINKS,
    "process/test_last_run.py::test_records_that_make_no_sense_are_ignored[state.json-link]": LINKS,
    "process/test_adopt.py::test_what_an_editor_left_open_does_not_live_on_in_the_daemon": HANDLES,
    "process/test_cli.py::test_what_follows_ends_with_its_reader[command0-socket]": SOCKET_OUTPUT,
    "process/test_cli.py::test_what_follows_ends_with_its_reader[command1-socket]": SOCKET_OUTPUT,
    "process/test_cli.py::test_what_follows_ends_with_its_reader[command2-socket]": SOCKET_OUTPUT,
    "process/test_endings.py::test_D6_a_command_that_is_no_utf8_is_named_too": NAMES,
    "process/test_endings.py::test_D6_what_cannot_be_executed_is_named_at_once[bad interpreter]": SCRIPTS,
    "process/test_endings.py::test_D6_what_cannot_be_executed_is_named_at_once[not executable]": SCRIPTS,
    "process/test_endings.py::test_D7_exit_status_and_signal_are_told_apart[--signal-9-was ended by signal 9 (Killed)]":
        SIGNALS,
    "process/test_endings.py::test_D7_exit_status_and_signal_are_told_apart"
    "[--signal-11-was ended by signal 11 (Segmentation fault)]": SIGNALS,
    "process/test_endings.py::test_D7_the_result_of_a_crash_before_ready_has_the_last_lines": ORDER,
    "process/test_owner.py::test_A6_stubborn_server_is_killed_after_the_stop_grace[signal]": UNHEARD,
    "process/test_owner.py::test_A8_owner_whose_program_is_replaced_is_the_same": EXEC,
}

def reason(nodeid):
    """Why a test is not run there; None if it is."""
    whole = nodeid.split("[")[0]
    for name in (nodeid, whole, whole.split("::")[0]):
        if name in NOT_HERE:
            return NOT_HERE[name]
    return next((why for name, why in NOT_HERE.items()
                 if "*" in name and re.fullmatch(re.escape(name).replace(r"\*", ".*"), nodeid)), None)
