/* Small files, replaced and read whole; and what else is asked of the system. */
#include "os/os.h"
#include "os/posix/posix.h"
#include "os_unit.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

struct place {
    struct unit_dir root;
    struct os_dir dir;
};

static void place_init(struct place *place) {
    char path[128];
    unit_dir_init(&place->root);
    snprintf(path, sizeof path, "%s/tether/files", place->root.path);
    assert_int_equal(os_dir_open(&place->dir, path, true, NULL), 0);
}

static void place_finish(struct place *place) {
    os_dir_finish(&place->dir);
    unit_dir_finish(&place->root);
}

static bool count_name(const char *name, void *arg) {
    (void)name;
    (*(int *)arg)++;
    return true;
}

static int count_names(const struct os_dir *dir) {
    int count = 0;
    return os_dir_each(dir, count_name, &count) < 0 ? -1 : count;
}

static void test_write_and_read(void **state) {
    struct place place;
    struct stat st;
    char text[16];
    size_t length = 99;
    (void)state;
    place_init(&place);
    assert_int_equal(os_file_read(&place.dir, "state.json", text, sizeof text, NULL), -ENOENT);
    mode_t mask = umask(0);
    assert_int_equal(os_file_write(&place.dir, "state.json", "first", 5, NULL), 0);
    umask(mask);
    assert_int_equal(fstatat((int)place.dir.handle, "state.json", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(os_file_read(&place.dir, "state.json", text, sizeof text, &length), 0);
    assert_int_equal(length, 5);
    assert_string_equal(text, "first");
    assert_int_equal(os_file_write(&place.dir, "state.json", "2nd", 3, NULL), 0);
    assert_int_equal(os_file_read(&place.dir, "state.json", text, sizeof text, NULL), 0);
    assert_string_equal(text, "2nd");
    assert_int_equal(os_file_write(&place.dir, "state.json", "", 0, NULL), 0);
    assert_int_equal(os_file_read(&place.dir, "state.json", text, sizeof text, &length), 0);
    assert_int_equal(length, 0);
    assert_int_equal(count_names(&place.dir), 1);
    assert_int_equal(os_file_remove(&place.dir, "state.json"), 0);
    assert_int_equal(os_file_remove(&place.dir, "state.json"), 0);
    assert_int_equal(count_names(&place.dir), 0);
    place_finish(&place);
}

static void test_read_is_capped(void **state) {
    struct place place;
    char text[8];
    (void)state;
    place_init(&place);
    assert_int_equal(os_file_write(&place.dir, "f", "1234567", 7, NULL), 0);
    assert_int_equal(os_file_read(&place.dir, "f", text, 8, NULL), 0);
    assert_string_equal(text, "1234567");
    assert_int_equal(os_file_read(&place.dir, "f", text, 7, NULL), -EFBIG);
    assert_string_equal(text, "");
    assert_int_equal(os_file_read(&place.dir, "f", text, 0, NULL), -EINVAL);
    place_finish(&place);
}

static void test_names_cannot_lead_out(void **state) {
    static const char *const bad[] = {"", ".", "..", "a/b", "../f", "/etc/passwd"};
    struct place place;
    char text[8];
    (void)state;
    place_init(&place);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(os_file_write(&place.dir, bad[i], "x", 1, NULL), -EINVAL);
        assert_int_equal(os_file_read(&place.dir, bad[i], text, sizeof text, NULL), -EINVAL);
        assert_int_equal(os_file_remove(&place.dir, bad[i]), -EINVAL);
    }
    assert_int_equal(os_file_write(&place.dir, NULL, "x", 1, NULL), -EINVAL);
    place_finish(&place);
}

static void test_hostile_files(void **state) {
    struct place place;
    char text[8];
    int at;
    (void)state;
    place_init(&place);
    at = (int)place.dir.handle;
    assert_int_equal(os_file_write(&place.dir, "target", "keep", 4, NULL), 0);
    assert_int_equal(symlinkat("target", at, "link"), 0);
    assert_int_equal(mkfifoat(at, "fifo", 0600), 0);
    assert_int_equal(mkdirat(at, "dir", 0700), 0);
    assert_int_equal(os_file_read(&place.dir, "link", text, sizeof text, NULL), -ELOOP);
    assert_int_equal(os_file_read(&place.dir, "fifo", text, sizeof text, NULL), -EPERM);
    assert_int_equal(os_file_read(&place.dir, "dir", text, sizeof text, NULL), -EPERM);
    /* Writing replaces a link, never what it points to; removing likewise. */
    assert_int_equal(os_file_write(&place.dir, "link", "mine", 4, NULL), 0);
    assert_int_equal(os_file_read(&place.dir, "target", text, sizeof text, NULL), 0);
    assert_string_equal(text, "keep");
    assert_int_equal(unlinkat(at, "link", 0), 0);
    assert_int_equal(symlinkat("target", at, "link"), 0);
    assert_int_equal(os_file_remove(&place.dir, "link"), 0);
    assert_int_equal(os_file_read(&place.dir, "target", text, sizeof text, NULL), 0);
    assert_int_equal(os_file_remove(&place.dir, "dir"), -EISDIR);
    if (geteuid() == 0) {
        assert_int_equal(fchownat(at, "target", UNIT_NOBODY, UNIT_NOBODY, 0), 0);
        assert_int_equal(os_file_read(&place.dir, "target", text, sizeof text, NULL), -EPERM);
    }
    place_finish(&place);
}

static void test_failed_write_leaves_nothing(void **state) {
    struct place place;
    struct error err = {0};
    char name[256];
    (void)state;
    place_init(&place);
    /* The last step fails: a directory has the name. */
    assert_int_equal(mkdirat((int)place.dir.handle, "state.json", 0700), 0);
    assert_int_equal(os_file_write(&place.dir, "state.json", "x", 1, &err), -EISDIR);
    assert_non_null(strstr(err.message, place.dir.path));
    assert_int_equal(count_names(&place.dir), 1);
    memset(name, 'n', 255);
    name[255] = '\0';
    assert_int_equal(os_file_write(&place.dir, name, "x", 1, &err), -ENAMETOOLONG);
    assert_int_equal(count_names(&place.dir), 1);
    place_finish(&place);
}

static int body_disk_full(const struct unit_line *line, void *arg) {
    const struct place *place = arg;
    static char large[256 * 1024], text[64];
    char path[160];
    struct os_dir dir;
    struct error err = {0};
    if (!unit_private_mounts() ||
        mount("none", place->root.path, "tmpfs", 0, "size=64k,mode=700") < 0)
        return unit_child_skip(line, "a mount of its own");
    snprintf(path, sizeof path, "%s/tether/full", place->root.path);
    CHILD_CHECK(os_dir_open(&dir, path, true, NULL) == 0);
    CHILD_CHECK(os_file_write(&dir, "state.json", "old", 3, NULL) == 0);
    CHILD_CHECK(os_file_write(&dir, "state.json", large, sizeof large, &err) == -ENOSPC);
    CHILD_CHECK(strstr(err.message, "No space left") && strstr(err.message, path));
    CHILD_CHECK(count_names(&dir) == 1);
    CHILD_CHECK(os_file_read(&dir, "state.json", text, sizeof text, NULL) == 0);
    CHILD_CHECK(strcmp(text, "old") == 0);
    CHILD_CHECK(os_file_write(&dir, "state.json", "new", 3, NULL) == 0);
    os_dir_finish(&dir);
    return 0;
}

static void test_disk_full(void **state) {
    struct place place;
    (void)state;
    place_init(&place);
    struct unit_verdict verdict = unit_try_child(body_disk_full, &place);
    place_finish(&place);
    unit_judge(&verdict);
}

#define CONTENT 60000

static int body_rewrite(const struct unit_line *line, void *arg) {
    static char content[CONTENT];
    struct place *place = arg;
    (void)line;
    for (int i = 0; i < 300; i++) {
        memset(content, 'a' + i % 26, sizeof content);
        CHILD_CHECK(os_file_write(&place->dir, "f", content, sizeof content, NULL) == 0);
    }
    return 0;
}

/* C2: two writers and a reader, who never sees a part or a mixture. */
static void test_replacement_is_atomic(void **state) {
    static char text[CONTENT + 1];
    struct place place;
    struct unit_child a, b;
    size_t length;
    int count = 0;
    (void)state;
    place_init(&place);
    assert_int_equal(os_file_write(&place.dir, "f", memset(text, 'z', CONTENT), CONTENT, NULL), 0);
    unit_child_start(&a, body_rewrite, &place);
    unit_child_start(&b, body_rewrite, &place);
    while (waitid(P_PID, (id_t)a.pid, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) == 0) {
        siginfo_t info = {0};
        waitid(P_PID, (id_t)a.pid, &info, WEXITED | WNOHANG | WNOWAIT);
        if (info.si_pid == a.pid)
            break;
        assert_int_equal(os_file_read(&place.dir, "f", text, sizeof text, &length), 0);
        assert_int_equal(length, CONTENT);
        for (size_t i = 1; i < CONTENT; i++) {
            if (text[i] != text[0])
                fail_msg("a mixture of %c and %c", text[0], text[i]);
        }
        count++;
    }
    assert_int_equal(unit_child_finish(&a), 0);
    assert_int_equal(unit_child_finish(&b), 0);
    assert_true(count > 5);
    assert_int_equal(count_names(&place.dir), 1);
    place_finish(&place);
}

static bool note_temporary(const char *name, void *arg) {
    *(bool *)arg |= os_file_is_temporary(name);
    return true;
}

static int body_rewrite_for_ever(const struct unit_line *line, void *arg) {
    while (body_rewrite(line, arg) == 0)
        continue;
    return 1;
}

/* A writer that is killed leaves at most a file that can be told by its name. */
static void test_temporary_names(void **state) {
    static const char *const others[] = {"",
                                         "state.json",
                                         ".state.json",
                                         ".01234567.tmp",
                                         "state.json.01234567.tmp",
                                         ".state.json.0123456.tmp",
                                         ".state.json.0123456g.tmp",
                                         ".state.json.01234567.tmpx",
                                         ".state.json.01234567"};
    struct place place;
    struct unit_child child;
    bool seen = false;
    (void)state;
    assert_true(os_file_is_temporary(".state.json.01234567.tmp"));
    assert_true(os_file_is_temporary(".s.deadbeef.tmp"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(os_file_is_temporary(others[i]));
    place_init(&place);
    unit_child_start(&child, body_rewrite_for_ever, &place);
    while (!seen && waitpid(child.pid, NULL, WNOHANG) == 0)
        assert_int_equal(os_dir_each(&place.dir, note_temporary, &seen), 0);
    kill(child.pid, SIGKILL);
    if (seen)
        unit_child_collect(&child);
    else
        unit_child_close(&child);
    assert_true(seen);
    place_finish(&place);
}

/* ---- The rest ---- */

static void test_error_text(void **state) {
    char same[96];
    (void)state;
    snprintf(same, sizeof same, "%s", os_error_text(EACCES).text);
    assert_string_equal(same, "Permission denied");
    assert_string_equal(os_error_text(-EACCES).text, same);
    assert_true(strlen(os_error_text(123456).text) > 0);
    assert_true(strlen(os_error_text(INT32_MIN).text) > 0);
    errno = 7;
    (void)os_error_text(123456);
    assert_int_equal(errno, 7);
}

static void test_clock_and_random(void **state) {
    unsigned char a[300] = {0}, b[300] = {0};
    struct timespec now;
    int zeros = 0;
    (void)state;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    int64_t before = os_clock_ms();
    assert_true(before >= (int64_t)now.tv_sec * 1000);
    while (os_clock_ms() < before + 3)
        continue;
    assert_true(os_clock_ms() - before < 10000);
    assert_int_equal(os_random(a, sizeof a), 0);
    assert_int_equal(os_random(b, sizeof b), 0);
    assert_memory_not_equal(a, b, sizeof a);
    for (size_t i = 0; i < sizeof a; i++)
        zeros += a[i] == 0;
    assert_true(zeros < 30);
    assert_int_equal(os_random(a, 0), 0);
}

static int body_without_stdio(const struct unit_line *line, void *arg) {
    const int *closed = arg;
    struct stat null, st;
    (void)line;
    CHILD_CHECK(stat("/dev/null", &null) == 0);
    for (int fd = 0; fd <= 2; fd++) {
        if (closed[fd])
            close(fd);
    }
    if (os_stdio_ensure() < 0)
        return 1;
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) != 0) /* open, and inherited */
            return 10 + fd;
        if (closed[fd] && (fstat(fd, &st) < 0 || st.st_rdev != null.st_rdev))
            return 20 + fd;
        if (closed[fd] && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR)
            return 30 + fd;
    }
    /* The next file does not become stdio. */
    int next = open("/", O_RDONLY | O_CLOEXEC);
    return next > 2 ? 0 : 3;
}

static void test_stdio_is_ensured(void **state) {
    (void)state;
    for (int mask = 0; mask < 8; mask++) {
        int closed[3] = {mask & 1, mask & 2, mask & 4};
        unit_run_child(body_without_stdio, closed);
    }
}

/* Makes close_range fail as if the kernel did not have it. */
static bool forbid_close_range(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum { CLOSE_RANGE, CLOSE_LISTED, CLOSE_POSSIBLE };

static int body_close_from(const struct unit_line *line, void *arg) {
    int way = *(const int *)arg;
    struct rlimit limit = {4096, 4096};
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        return unit_child_skip(line, "limit of descriptors");
    if (way == CLOSE_POSSIBLE &&
        (!unit_private_mounts() || mount("none", "/proc", "tmpfs", 0, "") < 0))
        return unit_child_skip(line, "a mount over /proc");
    if (way != CLOSE_RANGE && !forbid_close_range())
        return unit_child_skip(line, "seccomp filter");
    for (int fd = 40; fd < 300; fd++)
        CHILD_CHECK(dup2(2, fd) == fd);
    CHILD_CHECK(dup2(2, 4000) == 4000);
    posix_close_from(50);
    for (int fd = 40; fd < 50; fd++)
        CHILD_CHECK(fcntl(fd, F_GETFD) >= 0);
    for (int fd = 50; fd < 4096; fd++)
        CHILD_CHECK(fcntl(fd, F_GETFD) < 0 && errno == EBADF);
    return 0;
}

static void test_close_from(void **state) {
    int way = CLOSE_RANGE;
    (void)state;
    unit_run_child(body_close_from, &way);
}

static void test_close_from_by_listing(void **state) {
    int way = CLOSE_LISTED;
    (void)state;
    unit_run_child(body_close_from, &way);
}

static void test_close_from_without_proc(void **state) {
    int way = CLOSE_POSSIBLE;
    (void)state;
    unit_run_child(body_close_from, &way);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_write_and_read),
        UNIT_TEST(test_read_is_capped),
        UNIT_TEST(test_names_cannot_lead_out),
        UNIT_TEST(test_hostile_files),
        UNIT_TEST(test_failed_write_leaves_nothing),
        UNIT_TEST(test_disk_full),
        UNIT_TEST(test_replacement_is_atomic),
        UNIT_TEST(test_temporary_names),
        UNIT_TEST(test_error_text),
        UNIT_TEST(test_clock_and_random),
        UNIT_TEST(test_stdio_is_ensured),
        UNIT_TEST(test_close_from),
        UNIT_TEST(test_close_from_by_listing),
        UNIT_TEST(test_close_from_without_proc),
    };
    return cmocka_run_group_tests_name("os file", tests, NULL, NULL);
}
