/* Ending and reaping in one's own tree, without a guard. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guard_checks.h"

#include "os/linux/guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static int fork_pausing(void) {
    int pid = fork();
    if (pid == 0) {
        for (;;)
            pause();
    }
    assert_true(pid > 0);
    return pid;
}

/* Leaves a stray behind: a grandchild that has ended, now a zombie child of the caller. */
static void make_stray(void) {
    int ends[2];
    int child;
    char byte;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        if (fork() == 0) {
            close(ends[1]);
            _exit(read(ends[0], &byte, 1) != 0);
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
    close(ends[0]);
    close(ends[1]);
}

/* D3: strays go, and exit statuses that others wait for stay. */
static void test_strays_are_reaped_by_number(void **state) {
    siginfo_t info;
    int status;
    int child;

    (void)state;
    tree_adopt_orphans();
    child = fork();
    if (child == 0)
        _exit(7);
    make_stray();
    for (int zombies = 0; zombies < 1;) {
        /* The stray was adopted at its parent's death; its own end may be a moment away. */
        assert_int_equal(check_children(), 2);
        assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
        zombies = tree_reap_strays(child);
    }
    assert_int_equal(check_children(), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
}

static int ended_pids[8];

static void note_ended(void *context, int pid, struct os_exit how) {
    int *count = context;

    assert_true(how.by_signal);
    ended_pids[(*count)++] = pid;
}

/* The child that is spared stays, and so does what is below it. */
static void test_kill_all_spares_one(void **state) {
    int count = 0;
    int kept = fork_pausing();
    int ended = fork_pausing();
    struct tree_kill how = {.spared = kept, .reaped = note_ended};
    int pidfd = harness_pidfd(kept);

    (void)state;
    how.context = &count;
    assert_int_equal(tree_kill_all(&how), 0);
    assert_int_equal(count, 1);
    assert_int_equal(ended_pids[0], ended);
    assert_int_equal(harness_survivors(&pidfd, 1, 20), 1);
    how.spared = 0;
    assert_int_equal(tree_kill_all(&how), 0);
    assert_int_equal(count, 2);
    assert_int_equal(check_children(), 0);
    close(pidfd);
}

/* Attaches to the process and then takes no notice of anything. */
static int fork_pausing_tracer(int pid) {
    int ends[2];
    int tracer;
    char byte;

    assert_int_equal(pipe(ends), 0);
    tracer = fork();
    if (tracer == 0) {
        close(ends[0]);
        if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0 && write(ends[1], "", 1) == 1)
            close(ends[1]);
        for (;;)
            pause();
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return tracer;
}

static bool give_up_after_five(void *context) {
    int *times = context;
    return ++*times == 5;
}

/* A guard sends another signal than SIGCHLD when it ends, and is reaped all the same. */
static void test_kill_all_reaps_guards(void **state) {
    int times = 0;
    struct tree_kill how = {.give_up = give_up_after_five, .context = &times};
    int pid = guard_fork(SIGCONT);

    (void)state;
    if (pid == 0) {
        for (;;)
            pause();
    }
    assert_int_equal(tree_kill_all(&how), 0);
    assert_int_equal(check_children(), 0);
}

/* Nobody can end a process whose tracer holds on to it; the caller is asked, and may give up. */
static void test_kill_all_can_be_given_up(void **state) {
    int times = 0;
    struct tree_kill how = {.give_up = give_up_after_five, .context = &times};
    int kept = fork_pausing();
    int tracer = fork_pausing_tracer(kept);

    (void)state;
    how.spared = tracer;
    assert_int_equal(tree_kill_all(&how), -ECANCELED);
    assert_int_equal(times, 5);
    assert_int_equal(kill(tracer, SIGKILL), 0);
    how.spared = 0;
    times = 0;
    assert_int_equal(tree_kill_all(&how), 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        guard_test(test_strays_are_reaped_by_number),
        guard_test(test_kill_all_spares_one),
        guard_test(test_kill_all_reaps_guards),
        guard_test(test_kill_all_can_be_given_up),
    };

    /* An argument names the tests to run, with * and ?. */
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
