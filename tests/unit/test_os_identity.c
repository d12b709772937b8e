/* Identity and liveness: numbers as text, zombies, recycled pids, what the system hides. */
#include "os/linux/pidfd.h"
#include "os/linux/proc.h"
#include "os/posix/posix.h"
#include "os_unit.h"

#include <pthread.h>
#include <sys/prctl.h>

static struct os_identity identity_of(pid_t pid) {
    struct os_identity identity = {0};
    assert_int_equal(os_identity_of(pid, &identity), 0);
    assert_int_equal(identity.pid, pid);
    assert_true(identity.start > 0);
    return identity;
}

/* A3 */
static void test_pid_text_is_strict(void **state) {
    static const char *const bad[] = {"",    "0",    "-1",  "+1",   " 1",   "1 ",  "1\n",
                                      "01",  "0x1",  "1.0", "1e3",  "abc",  "12a", "--owner-pid",
                                      "1,2", "\t12", "00",  "0000", "1\x01"};
    static const char *const large[] = {"2147483648", "4294967297", "9223372036854775808",
                                        "18446744073709551617",
                                        "99999999999999999999999999999999999999999999"};
    int64_t pid = -7;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(os_pid_parse(bad[i], &pid), -EINVAL);
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        assert_int_equal(os_pid_parse(large[i], &pid), -ERANGE);
    assert_int_equal(os_pid_parse(NULL, &pid), -EINVAL);
    assert_int_equal(pid, -7);
    assert_int_equal(os_pid_parse("1", &pid), 0);
    assert_int_equal(pid, 1);
    assert_int_equal(os_pid_parse("2147483647", &pid), 0);
    assert_int_equal(pid, INT32_MAX);
}

static void test_start_text_round_trips(void **state) {
    static const uint64_t values[] = {1, 10, 4711, UINT64_C(9223372036854775808), UINT64_MAX};
    char text[OS_NUMBER_MAX];
    uint64_t start = 5;
    int64_t pid;
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        os_start_format(text, values[i]);
        assert_int_equal(os_start_parse(text, &start), 0);
        assert_true(start == values[i]);
    }
    assert_int_equal(os_start_parse("18446744073709551616", &start), -ERANGE);
    assert_int_equal(os_start_parse("184467440737095516150", &start), -ERANGE);
    assert_int_equal(os_start_parse("18446744073709551616x", &start), -EINVAL);
    assert_int_equal(os_start_parse("0", &start), -EINVAL);
    assert_true(start == UINT64_MAX);
    os_pid_format(text, INT32_MAX);
    assert_int_equal(os_pid_parse(text, &pid), 0);
    assert_int_equal(pid, INT32_MAX);
}

static void test_stat_with_hostile_names(void **state) {
    static const char tail[] = " S 7 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 424242 1000 1 1";
    static const char *const names[] = {"cat", "a b", "a) Z 1 (b", ") R 1 1", "(((", ")))", ""};
    struct proc_stat stat;
    char text[256];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(text, sizeof text, "4711 (%s)%s\n", names[i], tail);
        assert_int_equal(proc_stat_parse(text, &stat), 0);
        assert_int_equal(stat.state, 'S');
        assert_int_equal(stat.parent, 7);
        assert_int_equal(stat.threads, 3);
        assert_true(stat.start == 424242);
    }
    assert_int_equal(proc_stat_parse("", &stat), -EINVAL);
    assert_int_equal(proc_stat_parse("4711 (cat", &stat), -EINVAL);
    assert_int_equal(proc_stat_parse("4711 (cat)", &stat), -EINVAL);
    assert_int_equal(proc_stat_parse("4711 (cat) ", &stat), -EINVAL);
    assert_int_equal(proc_stat_parse("4711 (cat) S", &stat), -EINVAL);
    assert_int_equal(proc_stat_parse("4711 (cat) S 7 1 1 0 -1 4194560 1", &stat), -EINVAL);
}

static int body_renamed(const struct unit_line *line, void *arg) {
    prctl(PR_SET_NAME, "x) Z 1 (y");
    return unit_body_wait(line, arg);
}

static void test_process_with_hostile_name_is_alive(void **state) {
    struct unit_child child;
    char text[8];
    (void)state;
    unit_child_start(&child, body_renamed, NULL);
    unit_hear(&child, text, sizeof text);
    struct os_identity identity = identity_of(child.pid);
    assert_int_equal(os_liveness(&identity), OS_ALIVE);
    assert_int_equal(unit_child_finish(&child), 0);
}

static int body_parent(const struct unit_line *line, void *arg) {
    const struct os_identity *self = arg;
    struct os_identity parent;
    (void)line;
    CHILD_CHECK(os_identity_parent(&parent) == 0);
    CHILD_CHECK(parent.pid == self->pid && parent.start == self->start);
    return 0;
}

/* Who started the test may be process 1, as in a container, and that is nobody's parent. */
static void test_self_and_parent(void **state) {
    struct os_identity self;
    (void)state;
    assert_int_equal(os_identity_self(&self), 0);
    assert_int_equal(self.pid, getpid());
    assert_true(self.start > 0);
    assert_int_equal(os_liveness(&self), OS_ALIVE);
    unit_run_child(body_parent, &self);
}

/* A8: from alive through zombie to gone. */
static void test_liveness_of_a_child(void **state) {
    struct unit_child child;
    char text[8];
    (void)state;
    unit_child_start(&child, unit_body_wait, NULL);
    unit_hear(&child, text, sizeof text);
    struct os_identity identity = identity_of(child.pid);
    struct os_identity unknown_start = {.pid = child.pid};
    struct os_identity other_start = {.pid = child.pid, .start = identity.start + 1};
    assert_int_equal(os_liveness(&identity), OS_ALIVE);
    assert_int_equal(os_liveness(&unknown_start), OS_ALIVE);
    assert_int_equal(os_liveness(&other_start), OS_DEAD);
    kill(child.pid, SIGSTOP);
    assert_int_equal(os_liveness(&identity), OS_ALIVE);
    kill(child.pid, SIGKILL);
    unit_child_await_zombie(&child);
    assert_int_equal(os_liveness(&identity), OS_DEAD);
    assert_int_equal(os_liveness(&unknown_start), OS_DEAD);
    assert_int_equal(unit_child_collect(&child), -SIGKILL);
    assert_int_equal(os_liveness(&identity), OS_DEAD);
    assert_int_equal(os_liveness(&unknown_start), OS_DEAD);
    assert_int_equal(os_identity_of(identity.pid, &identity), -ESRCH);
}

static void *wait_in_thread(void *arg) {
    unit_wait_for_test(arg);
    kill(getpid(), SIGKILL);
    return NULL;
}

static int body_first_thread_ends(const struct unit_line *line, void *arg) {
    static struct unit_line copy;
    pthread_t thread;
    (void)arg;
    copy = *line;
    CHILD_CHECK(pthread_create(&thread, NULL, wait_in_thread, &copy) == 0);
    unit_tell(line, "ready");
    pthread_exit(NULL);
}

/* A8: the first thread is a zombie, the process is not. */
static void test_process_without_first_thread_is_alive(void **state) {
    struct unit_child child;
    struct proc_stat stat;
    char text[8];
    (void)state;
    unit_child_start(&child, body_first_thread_ends, NULL);
    unit_hear(&child, text, sizeof text);
    struct os_identity identity = identity_of(child.pid);
    do
        assert_int_equal(proc_stat_of(child.pid, &stat), 0);
    while (stat.state != 'Z');
    assert_int_equal(os_liveness(&identity), OS_ALIVE);
    assert_int_equal(unit_child_finish(&child), -SIGKILL);
    assert_int_equal(os_liveness(&identity), OS_DEAD);
}

/* A8, C1 */
static void test_impossible_pids_are_unknown(void **state) {
    static const int64_t pids[] = {0, -1, -4711, INT64_MIN, INT64_C(2147483648), INT64_MAX};
    struct os_process process;
    (void)state;
    for (size_t i = 0; i < sizeof pids / sizeof *pids; i++) {
        struct os_identity identity = {.pid = pids[i], .start = 1};
        assert_int_equal(os_liveness(&identity), OS_UNKNOWN);
        assert_int_equal(os_process_open(&process, &identity), -EINVAL);
        assert_int_equal(os_identity_of(pids[i], &identity), -EINVAL);
    }
}

/* A8: signalling pid 1 is not permitted to most, but that says nothing about its life. */
static int body_look_at_init(const struct unit_line *line, void *arg) {
    struct os_identity init = {.pid = 1};
    (void)line, (void)arg;
    if (geteuid() == 0)
        CHILD_CHECK(setgid(UNIT_NOBODY) == 0 && setuid(UNIT_NOBODY) == 0);
    CHILD_CHECK(kill(1, 0) < 0 && errno == EPERM);
    CHILD_CHECK(os_liveness(&init) == OS_ALIVE);
    return 0;
}

static void test_no_permission_is_not_dead(void **state) {
    (void)state;
    unit_run_child(body_look_at_init, NULL);
}

/* A8: as another user, below a /proc that hides what is not theirs. */
static int body_hidden(const struct unit_line *line, void *arg) {
    const char *option = arg;
    struct os_identity init, parent = {.pid = getppid(), .start = 1}, self;
    struct os_process process;
    uint32_t user;
    char text[16];
    pid_t gone;
    if (!unit_has_pidfd())
        return unit_child_skip(line, "pidfds");
    if (!unit_private_mounts())
        return unit_child_skip(line, "a mount of its own");
    if (mount("proc", "/proc", "proc", 0, option) < 0)
        return unit_child_skip(line, option);
    CHILD_CHECK(setgid(UNIT_NOBODY) == 0 && setuid(UNIT_NOBODY) == 0);
    CHILD_CHECK(os_identity_of(1, &init) == -EACCES);
    init = (struct os_identity){.pid = 1};
    CHILD_CHECK(os_liveness(&init) == OS_UNKNOWN);
    CHILD_CHECK(os_liveness(&parent) == OS_UNKNOWN);
    CHILD_CHECK(os_process_command(&parent, text, sizeof text) == -EACCES);
    CHILD_CHECK(os_process_user(&init, &user) == -EACCES);
    CHILD_CHECK(os_same_namespace(1) == OS_MAYBE);
    /* It can be held on to, as long as nothing is claimed about its start. */
    CHILD_CHECK(os_process_open(&process, &init) == 0 && process.identity.start == 0);
    os_process_close(&process);
    CHILD_CHECK(os_process_open(&process, &parent) == -EACCES && process.handle == OS_NO_HANDLE);
    CHILD_CHECK(os_identity_self(&self) == 0 && os_liveness(&self) == OS_ALIVE);
    gone = fork();
    if (gone == 0)
        _exit(0);
    CHILD_CHECK(waitpid(gone, NULL, 0) == gone);
    CHILD_CHECK(os_liveness(&(struct os_identity){.pid = gone}) == OS_DEAD);
    return 0;
}

static void test_hidden_is_unknown(void **state) {
    static char option[] = "hidepid=2";
    (void)state;
    unit_run_child(body_hidden, option);
}

static void test_forbidden_is_unknown(void **state) {
    static char option[] = "hidepid=1";
    (void)state;
    unit_run_child(body_hidden, option);
}

static int body_no_proc(const struct unit_line *line, void *arg) {
    struct os_identity init = {.pid = 1, .start = 1};
    (void)arg;
    if (!unit_private_mounts())
        return unit_child_skip(line, "a mount of its own");
    CHILD_CHECK(mount("none", "/proc", "tmpfs", 0, "") == 0);
    CHILD_CHECK(os_liveness(&init) == OS_UNKNOWN);
    pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    CHILD_CHECK(waitpid(gone, NULL, 0) == gone);
    init.pid = gone;
    CHILD_CHECK(os_liveness(&init) == OS_DEAD);
    return 0;
}

/* A8 */
static void test_without_proc_only_the_gone_are_dead(void **state) {
    (void)state;
    unit_run_child(body_no_proc, NULL);
}

/* ---- Recycled pids, as pid 1 of a namespace ---- */

/* Forks a child that waits to be killed. */
static pid_t fork_waiting(void) {
    pid_t pid = fork();
    if (pid == 0) {
        pause();
        _exit(0);
    }
    return pid;
}

static void end_waiting(pid_t pid) {
    kill(pid, SIGKILL);
    CHILD_CHECK(waitpid(pid, NULL, 0) == pid);
}

/* Lets the clock that start times are counted in go on by two ticks. */
static void let_ticks_pass(void) {
    struct timespec two_ticks = {.tv_nsec = 2000000000L / sysconf(_SC_CLK_TCK)};
    nanosleep(&two_ticks, NULL);
}

static bool recycle(pid_t pid, pid_t *successor) {
    char text[16];
    snprintf(text, sizeof text, "%d", (int)pid - 1);
    let_ticks_pass();
    if (!unit_write_text("/proc/sys/kernel/ns_last_pid", text))
        return false;
    *successor = fork_waiting();
    return *successor == pid;
}

static int run_as_init(const struct unit_line *line) {
    struct os_identity old, new;
    struct os_process held, process;
    char text[64];
    int64_t parent;
    /* Until /proc is ours it shows other processes under our numbers. */
    pid_t first = fork_waiting();
    CHILD_CHECK(first > 0);
    CHILD_CHECK(os_identity_of(first, &old) == -EACCES);
    CHILD_CHECK(os_liveness(&(struct os_identity){first, 1}) == OS_UNKNOWN);
    CHILD_CHECK(os_same_namespace(first) == OS_MAYBE);
    if (mount("proc", "/proc", "proc", 0, "") < 0)
        return unit_child_skip(line, "mount of /proc in the namespace");
    CHILD_CHECK(os_identity_of(first, &old) == 0);
    CHILD_CHECK(os_process_open(&held, &old) == 0);
    end_waiting(first);
    pid_t second;
    if (!recycle(first, &second))
        return unit_child_skip(line, "ns_last_pid");

    CHILD_CHECK(os_liveness(&old) == OS_DEAD);
    CHILD_CHECK(os_liveness(&(struct os_identity){.pid = second}) == OS_ALIVE);
    CHILD_CHECK(os_identity_of(second, &new) == 0 && new.start != old.start);
    CHILD_CHECK(os_liveness(&new) == OS_ALIVE);
    CHILD_CHECK(os_process_open(&process, &old) == -ESRCH);
    CHILD_CHECK(os_process_command(&old, text, sizeof text) == -ESRCH);
    CHILD_CHECK(os_process_parent(&old, &parent) == -ESRCH);
    CHILD_CHECK(os_process_command(&new, text, sizeof text) == 0);
    CHILD_CHECK(os_process_parent(&new, &parent) == 0 && parent == 1);
    /* What was held on to is the dead one, not its successor. */
    CHILD_CHECK(os_process_wait(&held, 0) == 0);
    CHILD_CHECK(process_signal(&held, SIGKILL) == -ESRCH);
    struct os_process mixed = {.identity.pid = second, .handle = held.handle};
    CHILD_CHECK(pidfd_verify(&mixed) == -ESRCH);
    CHILD_CHECK(os_process_open(&process, &new) == 0);
    CHILD_CHECK(os_process_wait(&process, 0) == -ETIMEDOUT);
    CHILD_CHECK(process_signal(&process, SIGKILL) == 0);
    CHILD_CHECK(os_process_wait(&process, -1) == 0);
    CHILD_CHECK(waitpid(second, NULL, 0) == second);
    os_process_close(&process);
    os_process_close(&held);
    return 0;
}

static int body_recycle(const struct unit_line *line, void *arg) {
    bool unprivileged = arg != NULL;
    int status;
    if (!unit_has_pidfd())
        return unit_child_skip(line, "pidfds");
    if (unprivileged && !unit_enter_user_namespace())
        return unit_child_skip(line, "user namespace");
    if (!unit_private_mounts() || unshare(CLONE_NEWPID) < 0)
        return unit_child_skip(line, "pid namespace");
    pid_t init = fork();
    if (init == 0)
        _exit(run_as_init(line));
    CHILD_CHECK(waitpid(init, &status, 0) == init);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* A8 */
static void test_recycled_pid_as_root(void **state) {
    (void)state;
    unit_run_child(body_recycle, NULL);
}

/* A8 */
static void test_recycled_pid_in_user_namespace(void **state) {
    static int unprivileged;
    (void)state;
    unit_run_child(body_recycle, &unprivileged);
}

/* ---- Holding on to processes ---- */

static void test_process_handle(void **state) {
    struct unit_child child;
    struct os_process process;
    char text[8];
    (void)state;
    if (!unit_has_pidfd())
        unit_skip("no pidfds here");
    unit_child_start(&child, unit_body_wait, NULL);
    unit_hear(&child, text, sizeof text);
    struct os_identity identity = identity_of(child.pid);
    assert_int_equal(os_process_open(&process, &identity), 0);
    assert_true(fcntl((int)process.handle, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(os_process_wait(&process, 0), -ETIMEDOUT);
    assert_int_equal(os_process_wait(&process, 20), -ETIMEDOUT);
    assert_int_equal(process_signal(&process, 0), 0);
    assert_int_equal(process_signal(&process, SIGTERM), 0);
    struct pollfd item = {.fd = (int)process.handle, .events = POLLIN};
    assert_int_equal(poll(&item, 1, 10000), 1);
    assert_int_equal(item.revents, POLLIN);
    assert_int_equal(os_process_wait(&process, -1), 0);
    assert_int_equal(unit_child_collect(&child), -SIGTERM);
    assert_int_equal(process_signal(&process, SIGTERM), -ESRCH);
    assert_int_equal(os_process_wait(&process, 0), 0);
    os_process_close(&process);
    assert_int_equal(process.handle, OS_NO_HANDLE);
    os_process_close(&process);
    assert_int_equal(process_signal(&process, SIGTERM), -EINVAL);
    assert_int_equal(os_process_wait(&process, 0), -EINVAL);
}

static void test_open_refuses_the_wrong_process(void **state) {
    struct unit_child child;
    struct os_process process;
    char text[8];
    (void)state;
    if (!unit_has_pidfd())
        unit_skip("no pidfds here");
    unit_child_start(&child, unit_body_wait, NULL);
    unit_hear(&child, text, sizeof text);
    struct os_identity identity = identity_of(child.pid);
    struct os_identity other = {.pid = identity.pid, .start = identity.start + 1};
    struct os_identity unknown = {.pid = identity.pid};
    assert_int_equal(os_process_open(&process, &other), -ESRCH);
    assert_int_equal(process.handle, OS_NO_HANDLE);
    assert_int_equal(os_process_open(&process, &unknown), 0);
    assert_true(process.identity.start == identity.start);
    os_process_close(&process);
    kill(child.pid, SIGKILL);
    unit_child_await_zombie(&child);
    assert_int_equal(os_process_open(&process, &identity), -ESRCH);
    assert_int_equal(os_process_open(&process, &unknown), -ESRCH);
    assert_int_equal(unit_child_collect(&child), -SIGKILL);
    assert_int_equal(os_process_open(&process, &identity), -ESRCH);
}

static void *own_number(void *arg) {
    struct os_process process;
    struct os_identity identity = {.pid = gettid()};
    *(int *)arg = os_process_open(&process, &identity);
    return NULL;
}

static void test_thread_is_no_process(void **state) {
    pthread_t thread;
    int rc = 0;
    (void)state;
    if (!unit_has_pidfd())
        unit_skip("no pidfds here");
    assert_int_equal(pthread_create(&thread, NULL, own_number, &rc), 0);
    pthread_join(thread, NULL);
    assert_int_equal(rc, -ESRCH);
}

/* Row L3: what another start of the machine recorded means nobody any more; of the same start under
 * another pid namespace nothing is known. */
static void test_L3_places(void **state) {
    char place[OS_PLACE_MAX], other[OS_PLACE_MAX];
    (void)state;
    os_place(place);
    assert_true(strlen(place) > 36 && place[36] == '/');
    assert_int_equal(os_place_is_ours(place), OS_YES);
    memcpy(other, place, sizeof other);
    other[0] = other[0] == '0' ? '1' : '0';
    assert_int_equal(os_place_is_ours(other), OS_NO);
    snprintf(other, sizeof other, "%.36s/17", place);
    assert_int_equal(os_place_is_ours(other), OS_MAYBE);
    snprintf(other, sizeof other, "%.36s/0", place);
    assert_int_equal(os_place_is_ours(other), OS_MAYBE);
    snprintf(other, sizeof other, "%.36s", place);
    assert_int_equal(os_place_is_ours(other), OS_MAYBE);
    assert_int_equal(os_place_is_ours(""), OS_MAYBE);
    assert_int_equal(os_place_is_ours("/17"), OS_MAYBE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_pid_text_is_strict),
        UNIT_TEST(test_start_text_round_trips),
        UNIT_TEST(test_stat_with_hostile_names),
        UNIT_TEST(test_process_with_hostile_name_is_alive),
        UNIT_TEST(test_self_and_parent),
        UNIT_TEST(test_liveness_of_a_child),
        UNIT_TEST(test_process_without_first_thread_is_alive),
        UNIT_TEST(test_impossible_pids_are_unknown),
        UNIT_TEST(test_no_permission_is_not_dead),
        UNIT_TEST(test_hidden_is_unknown),
        UNIT_TEST(test_forbidden_is_unknown),
        UNIT_TEST(test_without_proc_only_the_gone_are_dead),
        UNIT_TEST(test_recycled_pid_as_root),
        UNIT_TEST(test_recycled_pid_in_user_namespace),
        UNIT_TEST(test_process_handle),
        UNIT_TEST(test_open_refuses_the_wrong_process),
        UNIT_TEST(test_thread_is_no_process),
        UNIT_TEST(test_L3_places),
    };
    return cmocka_run_group_tests_name("os identity", tests, NULL, NULL);
}
