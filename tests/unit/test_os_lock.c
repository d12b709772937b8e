/* The instance's lock: exclusive, kept by the kernel, handed on, asked about without side effect.
 */
#include "os/os.h"
#include "os_unit.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/ioctl.h>

struct place {
    struct unit_dir root;
    struct os_dir dir;
};

static void place_init(struct place *place) {
    char path[128];
    unit_dir_init(&place->root);
    snprintf(path, sizeof path, "%s/tether/lock", place->root.path);
    assert_int_equal(os_dir_open(&place->dir, path, true, NULL), 0);
}

static void place_finish(struct place *place) {
    os_dir_finish(&place->dir);
    unit_dir_finish(&place->root);
}

static void test_exclusive(void **state) {
    struct place place;
    os_handle first, second;
    struct error err = {0};
    struct stat st;
    (void)state;
    place_init(&place);
    assert_int_equal(os_lock_is_held(&place.dir, "lock"), 0);
    assert_int_equal(fstatat((int)place.dir.handle, "lock", &st, 0), -1);
    assert_int_equal(os_lock_take(&first, &place.dir, "lock", NULL), 0);
    assert_true(fcntl((int)first, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(fstatat((int)place.dir.handle, "lock", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(os_lock_is_held(&place.dir, "lock"), 1);
    assert_int_equal(os_lock_take(&second, &place.dir, "lock", &err), -EWOULDBLOCK);
    assert_int_equal(second, OS_NO_HANDLE);
    assert_non_null(strstr(err.message, place.dir.path));
    os_handle_close(&first);
    assert_int_equal(first, OS_NO_HANDLE);
    /* The file stays. */
    assert_int_equal(fstatat((int)place.dir.handle, "lock", &st, 0), 0);
    assert_int_equal(os_lock_is_held(&place.dir, "lock"), 0);
    assert_int_equal(os_lock_take(&second, &place.dir, "lock", NULL), 0);
    os_handle_close(&second);
    place_finish(&place);
}

static int body_hold(const struct unit_line *line, void *arg) {
    struct place *place = arg;
    os_handle lock;
    CHILD_CHECK(os_lock_take(&lock, &place->dir, "lock", NULL) == 0);
    unit_tell(line, "locked");
    unit_wait_for_test(line);
    return 0;
}

/* A11: whoever is killed holds nothing. */
static void test_freed_by_sigkill(void **state) {
    struct place place;
    struct unit_child child;
    os_handle lock;
    char text[8];
    (void)state;
    place_init(&place);
    unit_child_start(&child, body_hold, &place);
    unit_hear(&child, text, sizeof text);
    assert_string_equal(text, "locked");
    assert_int_equal(os_lock_is_held(&place.dir, "lock"), 1);
    assert_int_equal(os_lock_take(&lock, &place.dir, "lock", NULL), -EWOULDBLOCK);
    unit_child_kill(&child);
    assert_int_equal(os_lock_is_held(&place.dir, "lock"), 0);
    assert_int_equal(os_lock_take(&lock, &place.dir, "lock", NULL), 0);
    os_handle_close(&lock);
    place_finish(&place);
}

/* The child has the lock from before the fork, and goes on holding it after the parent let go. */
struct inherited {
    struct place *place;
    os_handle lock;
};

static int body_inherit(const struct unit_line *line, void *arg) {
    struct inherited *inherited = arg;
    unit_wait_for_test(line);
    CHILD_CHECK(os_lock_adopt(inherited->lock, &inherited->place->dir, "lock", NULL) == 0);
    CHILD_CHECK(os_lock_is_held(&inherited->place->dir, "lock") == 1);
    return 0;
}

static void test_passes_through_fork(void **state) {
    struct place place;
    struct unit_child child;
    struct inherited inherited = {.place = &place};
    os_handle lock;
    (void)state;
    place_init(&place);
    assert_int_equal(os_lock_take(&inherited.lock, &place.dir, "lock", NULL), 0);
    unit_child_start(&child, body_inherit, &inherited);
    os_handle_close(&inherited.lock);
    assert_int_equal(os_lock_is_held(&place.dir, "lock"), 1);
    assert_int_equal(os_lock_take(&lock, &place.dir, "lock", NULL), -EWOULDBLOCK);
    assert_int_equal(unit_child_finish(&child), 0);
    assert_int_equal(os_lock_is_held(&place.dir, "lock"), 0);
    place_finish(&place);
}

static int body_exec_with_lock(const struct unit_line *line, void *arg) {
    struct inherited *inherited = arg;
    char *environment[] = {NULL};
    if (dup2((int)inherited->lock, 42) < 0)
        return 96;
    return unit_body_exec(line, environment);
}

static void test_passes_through_exec(void **state) {
    struct place place;
    struct unit_child child;
    struct inherited inherited = {.place = &place};
    (void)state;
    place_init(&place);
    assert_int_equal(os_lock_take(&inherited.lock, &place.dir, "lock", NULL), 0);
    unit_child_start(&child, body_exec_with_lock, &inherited);
    unit_child_await_exec(&child);
    os_handle_close(&inherited.lock);
    assert_int_equal(os_lock_is_held(&place.dir, "lock"), 1);
    assert_int_equal(unit_child_finish(&child), 0);
    assert_int_equal(os_lock_is_held(&place.dir, "lock"), 0);
    place_finish(&place);
}

static void test_adopt_checks_what_it_got(void **state) {
    struct place place;
    os_handle lock, other;
    struct error err = {0};
    (void)state;
    place_init(&place);
    assert_int_equal(os_lock_take(&lock, &place.dir, "lock", NULL), 0);
    assert_int_equal(fcntl((int)lock, F_SETFD, 0), 0);
    assert_int_equal(os_lock_adopt(lock, &place.dir, "lock", NULL), 0);
    assert_true(fcntl((int)lock, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(os_lock_adopt(OS_NO_HANDLE, &place.dir, "lock", &err), -EBADF);
    /* Another file. */
    assert_int_equal(os_lock_take(&other, &place.dir, "other", NULL), 0);
    assert_int_equal(os_lock_adopt(other, &place.dir, "lock", &err), -ESTALE);
    assert_non_null(strstr(err.message, place.dir.path));
    os_handle_close(&other);
    /* The same file, but not the handle with the lock. */
    int fd = openat((int)place.dir.handle, "lock", O_RDWR | O_CLOEXEC);
    assert_int_equal(os_lock_adopt(fd, &place.dir, "lock", &err), -EWOULDBLOCK);
    close(fd);
    /* The lock on a file that is gone. */
    assert_int_equal(unlinkat((int)place.dir.handle, "lock", 0), 0);
    assert_int_equal(os_lock_adopt(lock, &place.dir, "lock", &err), -ESTALE);
    os_handle_close(&lock);
    place_finish(&place);
}

static void test_current_as_long_as_nobody_removes_it(void **state) {
    struct place place;
    os_handle lock, second;
    char moved[160], first_text[OS_LOCK_TEXT_MAX], second_text[OS_LOCK_TEXT_MAX];
    (void)state;
    place_init(&place);
    snprintf(moved, sizeof moved, "%.120s.moved", place.dir.path);
    assert_int_equal(os_lock_take(&lock, &place.dir, "lock", NULL), 0);
    assert_true(os_lock_is_current(lock, &place.dir, "lock"));
    assert_int_equal(rename(place.dir.path, moved), 0);
    assert_false(os_lock_is_current(lock, &place.dir, "lock"));
    assert_int_equal(rename(moved, place.dir.path), 0);
    assert_true(os_lock_is_current(lock, &place.dir, "lock"));
    assert_int_equal(unlinkat((int)place.dir.handle, "lock", 0), 0);
    assert_false(os_lock_is_current(lock, &place.dir, "lock"));
    assert_int_equal(os_lock_take(&second, &place.dir, "lock", NULL), 0);
    assert_false(os_lock_is_current(lock, &place.dir, "lock"));
    assert_true(os_lock_is_current(second, &place.dir, "lock"));
    os_lock_text(lock, first_text);
    os_lock_text(second, second_text);
    assert_string_not_equal(first_text, second_text);
    os_handle_close(&lock);
    os_handle_close(&second);
    place_finish(&place);
}

static void test_hostile_lock_files(void **state) {
    struct place place;
    os_handle lock;
    int at;
    (void)state;
    place_init(&place);
    at = (int)place.dir.handle;
    assert_int_equal(symlinkat("elsewhere", at, "lock"), 0);
    assert_int_equal(os_lock_take(&lock, &place.dir, "lock", NULL), -ELOOP);
    assert_int_equal(lock, OS_NO_HANDLE);
    assert_int_equal(os_lock_is_held(&place.dir, "lock"), -ELOOP);
    assert_int_equal(faccessat(at, "elsewhere", F_OK, 0), -1);
    assert_int_equal(unlinkat(at, "lock", 0), 0);
    assert_int_equal(mkfifoat(at, "lock", 0600), 0);
    assert_int_equal(os_lock_take(&lock, &place.dir, "lock", NULL), -EPERM);
    assert_int_equal(unlinkat(at, "lock", 0), 0);
    assert_int_equal(mkdirat(at, "lock", 0700), 0);
    assert_int_equal(os_lock_take(&lock, &place.dir, "lock", NULL), -EISDIR);
    assert_int_equal(unlinkat(at, "lock", AT_REMOVEDIR), 0);
    assert_int_equal(os_lock_take(&lock, &place.dir, "../lock", NULL), -EINVAL);
    assert_int_equal(os_lock_take(&lock, &place.dir, "", NULL), -EINVAL);
    assert_int_equal(os_lock_is_held(&place.dir, ".."), -EINVAL);
    if (geteuid() == 0) {
        int fd = openat(at, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        assert_int_equal(fchown(fd, UNIT_NOBODY, UNIT_NOBODY), 0);
        close(fd);
        assert_int_equal(os_lock_take(&lock, &place.dir, "lock", NULL), -EPERM);
    }
    place_finish(&place);
}

/* ---- The file is replaced between its opening and the lock ----
 *
 * The kernel holds the locking call of the child's first thread back and tells its second one,
 * which removes the file the first few times and then lets the call go on. */

struct replacer {
    struct place *place;
    int removals;
    int channel[2]; /* carries the number of the descriptor that tells */
    int seen;
};

static void *replace_before_lock(void *arg) {
    struct replacer *replacer = arg;
    struct seccomp_notif call;
    int told;
    if (read(replacer->channel[0], &told, sizeof told) != (ssize_t)sizeof told)
        return NULL;
    for (;;) {
        memset(&call, 0, sizeof call);
        if (ioctl(told, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
            return NULL;
        if (replacer->seen++ < replacer->removals)
            unlinkat((int)replacer->place->dir.handle, "lock", 0);
        struct seccomp_notif_resp go_on = {.id = call.id,
                                           .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        ioctl(told, SECCOMP_IOCTL_NOTIF_SEND, &go_on);
    }
}

static int hold_back_locking(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_OFD_SETLK, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        &program);
}

static int body_replaced(const struct unit_line *line, void *arg) {
    struct replacer *replacer = arg;
    struct place *place = replacer->place;
    struct stat mine, named;
    pthread_t thread;
    os_handle lock;
    CHILD_CHECK(pipe2(replacer->channel, O_CLOEXEC) == 0);
    CHILD_CHECK(pthread_create(&thread, NULL, replace_before_lock, replacer) == 0);
    int told = hold_back_locking();
    if (told < 0)
        return unit_child_skip(line, "seccomp notification");
    CHILD_CHECK(write(replacer->channel[1], &told, sizeof told) == (ssize_t)sizeof told);
    int rc = os_lock_take(&lock, &place->dir, "lock", NULL);
    if (replacer->removals > 10) {
        CHILD_CHECK(rc == -ESTALE && lock == OS_NO_HANDLE);
        return 0;
    }
    CHILD_CHECK(rc == 0 && replacer->seen == replacer->removals + 1);
    CHILD_CHECK(fstat((int)lock, &mine) == 0 && mine.st_nlink == 1);
    CHILD_CHECK(fstatat((int)place->dir.handle, "lock", &named, 0) == 0);
    CHILD_CHECK(mine.st_ino == named.st_ino);
    return 0;
}

static void replaced_often(int removals) {
    struct place place;
    struct replacer replacer = {.place = &place, .removals = removals};
    place_init(&place);
    struct unit_verdict verdict = unit_try_child(body_replaced, &replacer);
    place_finish(&place);
    unit_judge(&verdict);
}

/* A lock on a file that has lost its name would exclude nobody. */
static void test_replaced_meanwhile(void **state) {
    (void)state;
    replaced_often(1);
    replaced_often(3);
}

static void test_replaced_for_ever(void **state) {
    (void)state;
    replaced_often(INT32_MAX);
}

static int body_ask(const struct unit_line *line, void *arg) {
    struct place *place = arg;
    (void)line;
    for (int i = 0; i < 20000; i++)
        CHILD_CHECK(os_lock_is_held(&place->dir, "lock") >= 0);
    return 0;
}

/* Asking never gets in the way of taking. */
static void test_asking_takes_nothing(void **state) {
    struct place place;
    struct unit_child child;
    os_handle lock;
    int count = 0;
    (void)state;
    place_init(&place);
    unit_child_start(&child, body_ask, &place);
    while (waitpid(child.pid, NULL, WNOHANG) == 0) {
        assert_int_equal(os_lock_take(&lock, &place.dir, "lock", NULL), 0);
        os_handle_close(&lock);
        count++;
    }
    unit_child_close(&child);
    assert_true(count > 10);
    place_finish(&place);
}

#define STARTERS 100

struct race {
    struct place place;
    int gate[2]; /* opened for all at once by closing its writing end */
};

static int body_race(const struct unit_line *line, void *arg) {
    struct race *race = arg;
    os_handle lock;
    char c;
    close(race->gate[1]);
    CHILD_CHECK(read(race->gate[0], &c, 1) == 0);
    int rc = os_lock_take(&lock, &race->place.dir, "lock", NULL);
    CHILD_CHECK(rc == 0 || rc == -EWOULDBLOCK);
    unit_tell(line, rc == 0 ? "1" : "0");
    /* Until killed, so that the winner holds it while all others try. */
    pause();
    return 0;
}

/* C2: of a hundred that start at once, one wins. */
static void test_one_of_a_hundred(void **state) {
    static struct unit_child children[STARTERS];
    struct race race;
    char text[4];
    int winners = 0;
    (void)state;
    place_init(&race.place);
    assert_int_equal(pipe2(race.gate, O_CLOEXEC), 0);
    for (int i = 0; i < STARTERS; i++)
        unit_child_start(&children[i], body_race, &race);
    close(race.gate[0]);
    close(race.gate[1]);
    for (int i = 0; i < STARTERS; i++) {
        unit_hear(&children[i], text, sizeof text);
        assert_true(text[0] == '0' || text[0] == '1');
        winners += text[0] == '1';
    }
    for (int i = 0; i < STARTERS; i++)
        unit_child_kill(&children[i]);
    assert_int_equal(winners, 1);
    place_finish(&race.place);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_exclusive),
        UNIT_TEST(test_freed_by_sigkill),
        UNIT_TEST(test_passes_through_fork),
        UNIT_TEST(test_passes_through_exec),
        UNIT_TEST(test_adopt_checks_what_it_got),
        UNIT_TEST(test_current_as_long_as_nobody_removes_it),
        UNIT_TEST(test_hostile_lock_files),
        UNIT_TEST(test_replaced_meanwhile),
        UNIT_TEST(test_replaced_for_ever),
        UNIT_TEST(test_asking_takes_nothing),
        UNIT_TEST(test_one_of_a_hundred),
    };
    return cmocka_run_group_tests_name("os lock", tests, NULL, NULL);
}
