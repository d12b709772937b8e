/* What the server is given, what the guard keeps, and what is told of the server's end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guard_checks.h"
#include "unit_skip.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static struct harness_record exit_of(const char *what, const char *argument) {
    struct harness_record spawned;
    struct harness_record record;
    struct harness harness;

    check_start_probe(&harness, what, argument);
    check_await(&harness, GUARD_SPAWNED, &spawned);
    assert_true(spawned.event.start > 0);
    assert_true(harness_next(&harness, &record));
    assert_int_equal(record.type, GUARD_ROOT_EXITED);
    assert_int_equal(record.event.pid, spawned.event.pid);
    check_done(&harness, true);
    check_finish(&harness);
    return record;
}

/* D7 */
static void test_exit_code_and_signal_are_told_apart(void **state) {
    struct harness_record record;

    (void)state;
    record = exit_of("exit", "0");
    assert_false(record.event.exit.by_signal);
    assert_int_equal(record.event.exit.value, 0);
    record = exit_of("exit", "137");
    assert_false(record.event.exit.by_signal);
    assert_int_equal(record.event.exit.value, 137);
    record = exit_of("raise", "9");
    assert_true(record.event.exit.by_signal);
    assert_int_equal(record.event.exit.value, SIGKILL);
}

static void assert_exec_fails(const char *command, int error, const char *word) {
    const char *const words[] = {command, NULL};
    struct harness_options options = {.words = words};
    struct harness_record record;
    struct harness harness;
    struct error err;

    harness_start(&harness, &options);
    assert_true(harness_next(&harness, &record));
    assert_int_equal(record.type, HARNESS_STARTED);
    assert_true(harness_next(&harness, &record));
    assert_int_equal(record.type, GUARD_EXEC_FAILED);
    assert_int_equal(record.event.failure.step, PROGRAM_STEP_EXEC);
    assert_int_equal(record.event.failure.error, error);
    assert_int_equal(program_explain(&record.event.failure, command, &err), -error);
    assert_non_null(strstr(err.message, command));
    assert_non_null(strstr(err.message, strerror(error)));
    assert_non_null(strstr(err.message, word));
    assert_true(harness_next(&harness, &record));
    assert_int_equal(record.type, GUARD_TREE_EMPTY);
    check_done(&harness, true);
    check_finish(&harness);
}

/* D6 */
static void test_exec_failure_is_told(void **state) {
    (void)state;
    assert_exec_fails("/nonexistent/server", ENOENT, "PATH");
    assert_exec_fails("no-such-server-anywhere", ENOENT, "PATH");
    assert_exec_fails("/etc/passwd", EACCES, "permission");
}

/* What the daemon itself has must not show in the server. */
static void be_untidy(void) {
    sigset_t blocked;

    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    if (dup2(STDERR_FILENO, 42) < 0 || dup2(STDERR_FILENO, 99) < 0)
        _exit(3);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static int listen_on_loopback(void) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

static int port_of(int fd) {
    struct sockaddr_in address = {0};
    socklen_t size = sizeof address;

    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    return ntohs(address.sin_port);
}

static void report_start(struct harness *harness, struct harness_options options, int *pid) {
    struct harness_record record;

    options.prepare = be_untidy;
    check_start(harness, "probe", "report", NULL, options);
    check_await(harness, GUARD_SPAWNED, &record);
    *pid = record.event.pid;
    check_finish(harness);
    check_says(harness, "end");
}

/* D5, and what a server may expect of whoever starts it. */
static void test_server_inherits_nothing_else(void **state) {
    const char *const variables[] = {"PROBE=1 2", "LISTEN_FDS=7", "LISTEN_PID=1", NULL};
    struct harness harness;
    char here[512], line[640];
    int pid;

    (void)state;
    report_start(&harness, (struct harness_options){.environment = variables}, &pid);
    check_says(&harness, "fds 0 1 2");
    snprintf(line, sizeof line, "pid %d group %d session %d", pid, pid, pid);
    check_says(&harness, line);
    snprintf(line, sizeof line, "nice %d", getpriority(PRIO_PROCESS, 0));
    check_says(&harness, line);
    snprintf(line, sizeof line, "cwd %s", getcwd(here, sizeof here));
    check_says(&harness, line);
    check_says(&harness, "SigBlk:\t0000000000000000");
    check_says(&harness, "SigIgn:\t0000000000000000");
    check_says(&harness, "PROBE=1 2");
    check_says(&harness, "LISTEN_PID=-");
    check_says(&harness, "LISTEN_FDS=-");
}

/* F5 */
static void test_sockets_are_handed_down(void **state) {
    const char *const variables[] = {"LISTEN_FDS=7", "LISTEN_PID=1", "PROBE=x", "LISTEN_FDNAMES=z",
                                     NULL};
    os_handle fds[2] = {listen_on_loopback(), listen_on_loopback()};
    struct harness_options options = {
        .environment = variables, .listeners = fds, .listener_count = 2};
    struct harness harness;
    char line[64];
    int pid;

    (void)state;
    options.listener_names = "http:ws";
    report_start(&harness, options, &pid);
    check_says(&harness, "fds 0 1 2 3 4");
    snprintf(line, sizeof line, "LISTEN_PID=%d", pid);
    check_says(&harness, line);
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line, "listener %d %d", 3 + i, port_of((int)fds[i]));
        check_says(&harness, line);
    }
    check_says(&harness, "LISTEN_FDS=2");
    check_says(&harness, "LISTEN_FDNAMES=http:ws");
    check_says(&harness, "PROBE=x");
    close((int)fds[0]);
    close((int)fds[1]);
}

static const os_handle crossed[3] = {10, 5, 3};

static void open_crossed(void) {
    const char *const paths[3] = {"/dev/full", "/dev/null", "/dev/zero"};

    for (int i = 0; i < 3; i++) {
        int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
        if (fd < 0 || (fd != crossed[i] && dup3(fd, (int)crossed[i], O_CLOEXEC) < 0))
            _exit(3);
    }
}

/* F5: whatever numbers they had, each arrives at its place. */
static void test_descriptors_may_overlap(void **state) {
    const char *const words[] = {"sh", "-c",
                                 "readlink /proc/self/fd/3 /proc/self/fd/4 /proc/self/fd/5", NULL};
    struct harness_options options = {.words = words,
                                      .listeners = crossed,
                                      .listener_names = "a:b:c",
                                      .listener_count = 3,
                                      .prepare = open_crossed};
    struct harness harness;

    (void)state;
    harness_start(&harness, &options);
    check_finish(&harness);
    check_says(&harness, "/dev/full\n/dev/null\n/dev/zero");
}

static void test_old_kernel_closes_descriptors(void **state) {
    struct harness harness;

    (void)state;
    check_start(&harness, "probe", "report", NULL,
                (struct harness_options){.prepare = check_be_old_kernel});
    check_finish(&harness);
    check_says(&harness, "fds 0 1 2");
}

static void read_text(int pid, const char *file, char *text, size_t size) {
    char path[64];
    FILE *stream;

    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    stream = fopen(path, "re");
    assert_non_null(stream);
    text[fread(text, 1, size - 1, stream)] = '\0';
    fclose(stream);
}

/* A search for the daemon's command line must not find the guard, while the daemon keeps its own,
 * and the server may be given words out of that very command line. */
static void test_guard_has_its_own_name(void **state) {
    char before[4096], text[4096], name[64];
    struct harness_record record;
    struct harness harness;

    (void)state;
    read_text(getpid(), "cmdline", before, sizeof before);
    check_start(&harness, "probe", "obey", NULL, (struct harness_options){.grace_ms = 0});
    check_await(&harness, GUARD_SPAWNED, &record);
    assert_true(harness_lines(&harness, 1));
    check_state(harness.guard, 'S');
    read_text(harness.guard, "comm", name, sizeof name);
    assert_string_equal(name, "server-guard\n");
    read_text(harness.guard, "cmdline", name, sizeof name);
    assert_string_equal(name, "server guard");
    read_text(harness.daemon, "cmdline", text, sizeof text);
    assert_string_equal(text, before);
    kill(harness.daemon, SIGKILL);
    check_finish(&harness);
}

/* What the process has open by this number, "" if nothing. It refuses tracers, so who has no right
 * to trace in spite of that sees nothing. */
static bool show_open(int pid, int fd, char *target, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    ssize_t length = readlink(path, target, size - 1);
    target[length > 0 ? length : 0] = '\0';
    return length > 0 || errno == ENOENT;
}

/* The guard keeps neither the server's output (its end would not show) nor the sockets. */
static void test_guard_holds_only_its_own(void **state) {
    os_handle fds[1] = {listen_on_loopback()};
    struct harness_record record;
    struct harness harness;
    char targets[256][128];
    bool shown = true;
    int open_fds = 0;

    (void)state;
    check_start(
        &harness, "probe", "obey", NULL,
        (struct harness_options){.listeners = fds, .listener_names = "http", .listener_count = 1});
    check_await(&harness, GUARD_SPAWNED, &record);
    check_state(harness.guard, 'S');
    for (int fd = 0; fd < 256; fd++) {
        shown = show_open(harness.guard, fd, targets[fd], sizeof targets[fd]) && shown;
        open_fds += targets[fd][0] != '\0';
    }
    kill(harness.daemon, SIGKILL);
    check_finish(&harness);
    close((int)fds[0]);
    if (!shown)
        unit_skip("needs the right to trace, to see what the guard holds");
    for (int fd = 0; fd < 3; fd++)
        assert_string_equal(targets[fd], "/dev/null");
    assert_int_equal(open_fds, 4); /* exec is through: 0-2 and the channel */
}

static int refused(const struct os_tree_spec *spec) {
    struct guard guard;
    struct error err = {0};
    int rc;

    assert_int_equal(guard_open(&guard, NULL), 0);
    rc = guard_start(&guard, spec, &err);
    assert_int_equal(err.code, rc);
    assert_int_equal(guard_tell(&guard, GUARD_KILL), -ESRCH);
    guard_reap(&guard);
    assert_int_equal(guard.fd, -1);
    return rc;
}

static void test_bad_specs_are_refused(void **state) {
    const char *const empty[] = {NULL};
    const char *const words[] = {"server", NULL};
    const os_handle fds[] = {0};
    struct os_tree_spec spec = {.words = empty, .environment = empty};

    (void)state;
    assert_int_equal(refused(&spec), -EINVAL);
    spec.words = words;
    spec.listeners = fds;
    spec.listener_names = "many";
    spec.listener_count = 100000;
    assert_int_equal(refused(&spec), -EINVAL);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        guard_test(test_exit_code_and_signal_are_told_apart),
        guard_test(test_exec_failure_is_told),
        guard_test(test_server_inherits_nothing_else),
        guard_test(test_sockets_are_handed_down),
        guard_test(test_descriptors_may_overlap),
        guard_test(test_old_kernel_closes_descriptors),
        guard_test(test_guard_has_its_own_name),
        guard_test(test_guard_holds_only_its_own),
        guard_test(test_bad_specs_are_refused),
    };

    /* An argument names the tests to run, with * and ?. */
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
