/* Ending a tree with real processes: whoever is killed, and when, nothing of it is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guard_checks.h"
#include "unit_skip.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FIVE = 5, REPEATS = 20 };

static const char *const five_names[FIVE] = {"same", "group", "session", "double", "root"};

struct five {
    struct harness harness;
    int pidfds[FIVE];
    int pids[FIVE];
};

/* Starts the escape program and pins its five processes once all have said who they are. */
static void five_start_with(struct five *five, struct harness_options options) {
    struct harness_record record;

    check_start(&five->harness, "escape", NULL, NULL, options);
    check_await(&five->harness, GUARD_SPAWNED, &record);
    assert_true(harness_lines(&five->harness, FIVE));
    for (int i = 0; i < FIVE; i++) {
        five->pids[i] = harness_pid(&five->harness, five_names[i]);
        five->pidfds[i] = harness_pidfd(five->pids[i]);
        assert_true(five->pids[i] > 0 && five->pidfds[i] >= 0);
    }
    assert_int_equal(record.event.pid, five->pids[4]);
}

static void five_start(struct five *five) {
    five_start_with(five, (struct harness_options){.grace_ms = 0});
}

/* Nobody of the five lives, and nothing at all has come to the test as an orphan. */
static void five_finish(struct five *five) {
    assert_int_equal(harness_survivors(five->pidfds, FIVE, HARNESS_DEADLINE_MS), 0);
    assert_int_equal(harness_finish(&five->harness), 0);
    for (int i = 0; i < FIVE; i++)
        close(five->pidfds[i]);
}

/* F1 */
static void test_stop_leaves_nobody(void **state) {
    struct harness_record record;
    struct five five;

    (void)state;
    five_start(&five);
    harness_command(&five.harness, 't');
    harness_command(&five.harness, 't');
    harness_command(&five.harness, 'k');
    harness_command(&five.harness, 'k');
    check_await(&five.harness, GUARD_ROOT_EXITED, &record);
    assert_true(record.event.exit.by_signal);
    assert_int_equal(record.event.exit.value, SIGKILL);
    check_await(&five.harness, GUARD_TREE_EMPTY, &record);
    check_done(&five.harness, true);
    five_finish(&five);
}

/* F1 */
static void test_daemon_killed_leaves_nobody(void **state) {
    struct five five;

    (void)state;
    five_start(&five);
    kill(five.harness.daemon, SIGKILL);
    five_finish(&five);
}

/* F1 */
static void test_daemon_exiting_leaves_nobody(void **state) {
    struct five five;

    (void)state;
    five_start(&five);
    harness_command(&five.harness, 'q');
    five_finish(&five);
}

/* F1 */
static void test_guard_killed_leaves_nobody(void **state) {
    struct five five;

    (void)state;
    five_start(&five);
    kill(five.harness.guard, SIGKILL);
    check_done(&five.harness, false);
    five_finish(&five);
}

/* F1 */
static void test_guard_stopped_daemon_killed_leaves_nobody(void **state) {
    struct five five;

    (void)state;
    five_start(&five);
    kill(five.harness.guard, SIGSTOP);
    check_state(five.harness.guard, 'T');
    kill(five.harness.daemon, SIGKILL);
    five_finish(&five);
}

/* F1 */
static void test_daemon_stopped_guard_killed_leaves_nobody(void **state) {
    struct five five;

    (void)state;
    five_start(&five);
    kill(five.harness.daemon, SIGSTOP);
    check_stopped(five.harness.daemon);
    kill(five.harness.guard, SIGKILL);
    check_done(&five.harness, false);
    five_finish(&five);
}

/* F1: the guard has a session of its own, so a kill of the daemon's group is not both at once. */
static void lead_group(void) {
    setsid();
}

static void test_group_of_daemon_killed_leaves_nobody(void **state) {
    struct five five;

    (void)state;
    five_start_with(&five, (struct harness_options){.prepare = lead_group});
    kill(-five.harness.daemon, SIGKILL);
    five_finish(&five);
}

static void test_stopped_guard_obeys(void **state) {
    struct five five;

    (void)state;
    five_start(&five);
    kill(five.harness.guard, SIGSTOP);
    check_state(five.harness.guard, 'T');
    harness_command(&five.harness, 'k');
    check_done(&five.harness, true);
    five_finish(&five);
}

static void test_abandoned_guard_leaves_nobody(void **state) {
    struct five five;

    (void)state;
    five_start(&five);
    harness_command(&five.harness, 'a');
    check_done(&five.harness, false);
    five_finish(&five);
}

/* Kills both and then what they left. False: that was not at once. Whoever dies first wakes the
 * other, and that one was quicker than our next line. */
static bool kill_both_at_once(void) {
    struct five five;
    int survivors, zombies;

    five_start(&five);
    kill(five.harness.daemon, SIGSTOP);
    kill(five.harness.guard, SIGSTOP);
    check_stopped(five.harness.daemon);
    check_state(five.harness.guard, 'T');
    kill(five.harness.guard, SIGKILL);
    kill(five.harness.daemon, SIGKILL);
    assert_int_equal(waitpid(five.harness.daemon, NULL, 0), five.harness.daemon);
    survivors = harness_survivors(five.pidfds, FIVE, 50);
    for (int i = 0; i < FIVE; i++)
        syscall(SYS_pidfd_send_signal, five.pidfds[i], SIGKILL, NULL, 0);
    assert_int_equal(harness_survivors(five.pidfds, FIVE, HARNESS_DEADLINE_MS), 0);
    zombies = harness_finish(&five.harness);
    for (int i = 0; i < FIVE; i++)
        close(five.pidfds[i]);
    /* The test is their reaper now: it finds exactly the five. */
    return survivors == FIVE && zombies == FIVE;
}

/* The one open case: with both gone at once nobody is left to act. The next start is. */
static void test_both_killed_is_the_open_case(void **state) {
    int tries = 1;

    (void)state;
    while (!kill_both_at_once() && tries < 50)
        tries++;
    assert_true(tries < 50);
}

/* A moment somewhere in the start: the records come within it or after it. */
static void pass_moment(unsigned *seed) {
    struct timespec moment = {.tv_nsec = (long)(rand_r(seed) % 2500) * 1000};
    ppoll(NULL, 0, &moment, NULL);
}

/* F1, F9 */
static void test_kills_in_mid_start_leave_nobody(void **state) {
    unsigned seed = (unsigned)getpid();

    (void)state;
    print_message("seed %u\n", seed);
    for (int i = 0; i < 2 * REPEATS; i++) {
        struct harness_record record;
        struct harness harness;

        check_start(&harness, "escape", NULL, NULL, (struct harness_options){0});
        if (i % 2 == 0) {
            check_await(&harness, HARNESS_STARTED, &record);
            pass_moment(&seed);
            kill(harness.guard, SIGKILL);
            check_done(&harness, false);
        } else {
            pass_moment(&seed);
            kill(harness.daemon, SIGKILL);
            /* Tells the guard's number if it came that far. */
            harness_await(&harness, HARNESS_DONE, &record);
        }
        check_finish(&harness);
    }
}

static void bomb_start(struct harness *harness, struct harness_options options) {
    check_start(harness, "probe", "bomb", "300", options);
    assert_true(harness_lines(harness, 1));
}

/* F1: at most 300 alive at once, each of them replacing the dead. */
static void test_fork_bomb_ends_with_daemon(void **state) {
    struct harness_record record;
    struct harness harness;

    (void)state;
    bomb_start(&harness, (struct harness_options){0});
    check_await(&harness, GUARD_SPAWNED, &record);
    kill(harness.daemon, SIGKILL);
    check_finish(&harness);
}

/* F1 */
static void test_fork_bomb_ends_on_kill_and_with_guard(void **state) {
    struct harness harness;

    (void)state;
    bomb_start(&harness, (struct harness_options){0});
    harness_command(&harness, 'k');
    check_done(&harness, true);
    check_finish(&harness);
    bomb_start(&harness, (struct harness_options){0});
    harness_command(&harness, 'a');
    check_done(&harness, false);
    check_finish(&harness);
}

/* F1: the same without the right to raise one's priority. */
static void test_fork_bomb_ends_unprivileged(void **state) {
    struct harness harness;

    (void)state;
    if (geteuid() != 0)
        unit_skip("needs root for a process of another user");
    if (getenv("TETHER_EMULATED"))
        unit_skip("the guard is one of 301 processes there, and gets its turn too rarely for a "
                  "limit of 8 s");
    check_start_as_nobody(&harness, "probe", "bomb", "300");
    assert_true(harness_lines(&harness, 1));
    kill(harness.daemon, SIGKILL);
    check_finish(&harness);
}

static void test_old_kernel_leaves_nobody(void **state) {
    struct five five;

    (void)state;
    five_start_with(&five, (struct harness_options){.prepare = check_be_old_kernel});
    kill(five.harness.daemon, SIGKILL);
    five_finish(&five);
    five_start_with(&five, (struct harness_options){.prepare = check_be_old_kernel});
    kill(five.harness.guard, SIGKILL);
    check_done(&five.harness, false);
    five_finish(&five);
}

/* A6, D2: the daemon is gone, and the server still may end in order. */
static void test_daemon_killed_server_drains(void **state) {
    struct harness harness;

    (void)state;
    check_start(&harness, "probe", "drain", NULL, (struct harness_options){.grace_ms = 5000});
    assert_true(harness_lines(&harness, 1));
    kill(harness.daemon, SIGKILL);
    check_finish(&harness);
    assert_non_null(strstr(harness.text, "drained\n"));
}

/* A6, D2: a whole wrapper's group is granted the time, not only the wrapper. */
static void test_group_drains_after_its_leader(void **state) {
    struct harness_record record;
    struct harness harness;

    (void)state;
    check_start(&harness, "probe", "wrapper", NULL, (struct harness_options){.grace_ms = 5000});
    check_await(&harness, GUARD_SPAWNED, &record);
    assert_true(harness_lines(&harness, 2));
    kill(record.event.pid, SIGKILL);
    check_await(&harness, GUARD_ROOT_EXITED, &record);
    harness_command(&harness, 't');
    check_await(&harness, GUARD_TREE_EMPTY, &record);
    check_done(&harness, true);
    check_finish(&harness);
    assert_non_null(strstr(harness.text, "drained\n"));
}

/* A6, D2: SIGTERM is ignored; the end comes when the grace is over, neither sooner nor much later.
 */
static void test_grace_is_kept_and_ends(void **state) {
    int64_t began;
    struct five five;

    (void)state;
    five_start_with(&five, (struct harness_options){.grace_ms = 300});
    began = harness_now_us();
    kill(five.harness.daemon, SIGKILL);
    assert_int_equal(harness_survivors(five.pidfds, FIVE, 200), FIVE);
    five_finish(&five);
    assert_in_range(harness_now_us() - began, 300000, 1500000);
}

/* D2: a server that is stopped hears the SIGTERM, too. */
static void test_stopped_server_drains(void **state) {
    struct harness_record record;
    struct harness harness;

    (void)state;
    check_start_probe(&harness, "stopped", NULL);
    check_await(&harness, GUARD_SPAWNED, &record);
    assert_true(harness_lines(&harness, 1));
    check_state(record.event.pid, 'T');
    harness_command(&harness, 't');
    check_await(&harness, GUARD_ROOT_EXITED, &record);
    assert_false(record.event.exit.by_signal);
    assert_int_equal(record.event.exit.value, 0);
    check_done(&harness, true);
    check_finish(&harness);
    assert_non_null(strstr(harness.text, "drained\n"));
}

static void test_stopped_server_is_killed(void **state) {
    struct harness_record record;
    struct harness harness;

    (void)state;
    check_start_probe(&harness, "stopped", NULL);
    check_await(&harness, GUARD_SPAWNED, &record);
    check_state(record.event.pid, 'T');
    kill(harness.daemon, SIGKILL);
    check_finish(&harness);
}

/* D2, D3: what is left when all who heard SIGTERM are gone is told, and ended on command. */
static void test_leftovers_are_told_and_ended(void **state) {
    struct harness_record record;
    struct harness harness;

    (void)state;
    check_start_probe(&harness, "leave", NULL);
    assert_true(harness_lines(&harness, 2));
    harness_command(&harness, 't');
    check_await(&harness, GUARD_ROOT_EXITED, &record);
    assert_true(record.event.exit.by_signal);
    assert_int_equal(record.event.exit.value, SIGTERM);
    assert_true(harness_next(&harness, &record));
    assert_int_equal(record.type, GUARD_DRAINED);
    harness_command(&harness, 'k');
    assert_true(harness_next(&harness, &record));
    assert_int_equal(record.type, GUARD_TREE_EMPTY);
    check_done(&harness, true);
    check_finish(&harness);
}

/* A server that crashes leaves its children to the daemon's decision, and the guard stays. */
static void test_leftovers_end_with_daemon(void **state) {
    struct harness_record record;
    struct harness harness;

    (void)state;
    check_start(&harness, "probe", "leave", NULL, (struct harness_options){.grace_ms = 60000});
    check_await(&harness, GUARD_SPAWNED, &record);
    assert_true(harness_lines(&harness, 2));
    kill(record.event.pid, SIGKILL);
    check_await(&harness, GUARD_ROOT_EXITED, &record);
    kill(harness.daemon, SIGKILL);
    check_finish(&harness);
}

static long switches_of(int pid) {
    char path[64];
    char line[128];
    long total = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/status", pid);
    file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        const char *switches = strstr(line, "ctxt_switches:");
        if (switches)
            total += strtol(switches + strlen("ctxt_switches:"), NULL, 10);
    }
    fclose(file);
    return total;
}

/* F2 */
static void test_idle_guard_does_not_wake(void **state) {
    struct harness_record record;
    struct harness harness;
    long before;

    (void)state;
    check_start_probe(&harness, "obey", NULL);
    check_await(&harness, GUARD_SPAWNED, &record);
    assert_true(harness_lines(&harness, 1));
    check_state(harness.guard, 'S');
    before = switches_of(harness.guard);
    assert_false(harness_survivors(&harness.records, 1, 500) == 0);
    assert_int_equal(switches_of(harness.guard), before);
    kill(harness.daemon, SIGKILL);
    check_finish(&harness);
}

static void copy_set_uid(const char *from, const char *to) {
    char buffer[65536];
    ssize_t got;
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);

    assert_true(in >= 0 && out >= 0);
    while ((got = read(in, buffer, sizeof buffer)) > 0)
        assert_int_equal(write(out, buffer, (size_t)got), got);
    assert_int_equal(fchmod(out, 04755), 0);
    close(in);
    close(out);
}

/* A set-uid server that has become root cannot be killed. That is told, and not tried for ever. */
static void test_refused_kill_is_told(void **state) {
    char directory[] = "/tmp/tether-guard-XXXXXX";
    char path[64];
    const char *const argv[] = {path, "owned", NULL};
    struct harness_options options = {.words = argv, .prepare = check_be_nobody};
    struct harness_record record;
    struct harness harness;
    int server;

    (void)state;
    if (geteuid() != 0)
        unit_skip("needs root for a process of another user");
    assert_non_null(mkdtemp(directory));
    assert_int_equal(chmod(directory, 0755), 0);
    snprintf(path, sizeof path, "%s/probe", directory);
    copy_set_uid(harness_program("probe"), path);
    harness_start(&harness, &options);
    check_await(&harness, GUARD_SPAWNED, &record);
    server = record.event.pid;
    assert_true(harness_lines(&harness, 1));
    harness_command(&harness, 'k');
    check_await(&harness, GUARD_KILL_REFUSED, &record);
    assert_int_equal(record.event.error, EPERM);
    check_state(harness.guard, 'S');
    kill(server, SIGKILL);
    check_await(&harness, GUARD_ROOT_EXITED, &record);
    check_done(&harness, true);
    check_finish(&harness);
    unlink(path);
    rmdir(directory);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        guard_test(test_stop_leaves_nobody),
        guard_test(test_daemon_killed_leaves_nobody),
        guard_test(test_daemon_exiting_leaves_nobody),
        guard_test(test_guard_killed_leaves_nobody),
        guard_test(test_guard_stopped_daemon_killed_leaves_nobody),
        guard_test(test_daemon_stopped_guard_killed_leaves_nobody),
        guard_test(test_group_of_daemon_killed_leaves_nobody),
        guard_test(test_stopped_guard_obeys),
        guard_test(test_abandoned_guard_leaves_nobody),
        guard_test(test_both_killed_is_the_open_case),
        guard_test(test_kills_in_mid_start_leave_nobody),
        guard_test(test_fork_bomb_ends_with_daemon),
        guard_test(test_fork_bomb_ends_on_kill_and_with_guard),
        guard_test(test_fork_bomb_ends_unprivileged),
        guard_test(test_old_kernel_leaves_nobody),
        guard_test(test_daemon_killed_server_drains),
        guard_test(test_group_drains_after_its_leader),
        guard_test(test_grace_is_kept_and_ends),
        guard_test(test_stopped_server_drains),
        guard_test(test_stopped_server_is_killed),
        guard_test(test_leftovers_are_told_and_ended),
        guard_test(test_leftovers_end_with_daemon),
        guard_test(test_idle_guard_does_not_wake),
        guard_test(test_refused_kill_is_told),
    };

    /* An argument names the tests to run, with * and ?. */
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
