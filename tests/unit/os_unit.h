/* What unit tests with real processes share: children that end with the test, private directories,
 * and a check after every test that no descriptor and no child is left. */
#ifndef TETHER_TESTS_OS_UNIT_H
#define TETHER_TESTS_OS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit_skip.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define UNIT_NOBODY 65534

/* A test that takes longer than this hangs. */
#define UNIT_SECONDS 60

/* ---- Nothing may be left over ---- */

static inline int unit_open_descriptors(void) {
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (!dir)
        return -1;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static inline int unit_setup(void **state) {
    alarm(UNIT_SECONDS);
    *state = (void *)(intptr_t)unit_open_descriptors();
    return 0;
}

static inline int unit_teardown(void **state) {
    int before = (int)(intptr_t)*state;
    int after = unit_open_descriptors();
    alarm(0);
    if (after != before) {
        print_error("%d descriptors before the test, %d after it\n", before, after);
        return -1;
    }
    if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD) {
        print_error("the test left a child\n");
        return -1;
    }
    return 0;
}

#define UNIT_TEST(f) cmocka_unit_test_setup_teardown(f, unit_setup, unit_teardown)

/* ---- What we may ---- */

/* Whether the programs of other users can be looked into: root can, but not in most containers. */
static inline bool unit_may_look_into_others(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, data) < 0)
        return false;
    return (data[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective & CAP_TO_MASK(CAP_SYS_PTRACE)) != 0;
}

/* ---- Private directories ---- */

struct unit_dir {
    char path[64];
};

static inline void unit_dir_init(struct unit_dir *dir) {
    snprintf(dir->path, sizeof dir->path, "/tmp/tether-unit-XXXXXX");
    assert_non_null(mkdtemp(dir->path));
}

static inline int unit_remove_entry(const char *path, const struct stat *st, int type,
                                    struct FTW *where) {
    (void)st, (void)type, (void)where;
    return remove(path);
}

static inline void unit_dir_finish(struct unit_dir *dir) {
    assert_int_equal(nftw(dir->path, unit_remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* ---- Children ---- */

/* A child that runs a function and exits with what it returns. It may tell the test one line of
 * text, and it ends when `hold` is closed if it waits for that. */
struct unit_child {
    pid_t pid;
    int told; /* read end: what the child tells */
    int hold; /* write end: closed to let the child go on */
};

struct unit_line {
    int tell; /* the child's ends */
    int hold;
};

typedef int (*unit_body)(const struct unit_line *line, void *arg);

static inline void unit_child_start(struct unit_child *child, unit_body body, void *arg) {
    int told[2], hold[2];
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
    fflush(NULL);
    pid_t test = getpid();
    child->pid = fork();
    assert_true(child->pid >= 0);
    if (child->pid == 0) {
        struct unit_line line = {told[1], hold[0]};
        /* Not even a test that is killed leaves its children. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != test)
            _exit(95);
        close(told[0]);
        close(hold[1]);
        _exit(body(&line, arg));
    }
    close(told[1]);
    close(hold[0]);
    child->told = told[0];
    child->hold = hold[1];
}

/* In the child: waits until the test lets go, or is gone itself. */
static inline void unit_wait_for_test(const struct unit_line *line) {
    char c;
    while (read(line->hold, &c, 1) < 0 && errno == EINTR)
        continue;
}

static inline void unit_tell(const struct unit_line *line, const char *text) {
    if (write(line->tell, text, strlen(text)) < 0)
        _exit(99);
}

/* In the test: waits for the child's next text, or for the end of its line: then it is empty. */
static inline void unit_hear(const struct unit_child *child, char *out, size_t size) {
    ssize_t n;
    do
        n = read(child->told, out, size - 1);
    while (n < 0 && errno == EINTR);
    assert_true(n >= 0);
    out[n] = '\0';
}

static inline void unit_child_close(struct unit_child *child) {
    if (child->told >= 0)
        close(child->told);
    if (child->hold >= 0)
        close(child->hold);
    child->told = child->hold = -1;
}

/* Collects the child. Returns the exit code, or minus the signal. */
static inline int unit_child_collect(struct unit_child *child) {
    int status;
    while (waitpid(child->pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    unit_child_close(child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* Lets the child go on to its end. */
static inline int unit_child_finish(struct unit_child *child) {
    close(child->hold);
    child->hold = -1;
    return unit_child_collect(child);
}

static inline void unit_child_kill(struct unit_child *child) {
    kill(child->pid, SIGKILL);
    assert_int_equal(unit_child_collect(child), -SIGKILL);
}

/* Waits until the child is a zombie, without collecting it. */
static inline void unit_child_await_zombie(const struct unit_child *child) {
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT), 0);
}

/* A body: waits for the test. */
static inline int unit_body_wait(const struct unit_line *line, void *arg) {
    (void)arg;
    unit_tell(line, "ready");
    unit_wait_for_test(line);
    return 0;
}

static inline int unit_body_exit(const struct unit_line *line, void *arg) {
    (void)line, (void)arg;
    return 0;
}

/* A body: becomes `cat`, which waits on the test's pipe, with the environment given, and tells what
 * it hears. */
static inline int unit_body_exec(const struct unit_line *line, void *arg) {
    char *argv[] = {(char *)(uintptr_t) "cat", (char *)(uintptr_t) "-", NULL};
    if (dup2(line->hold, 0) < 0 || dup2(line->tell, 1) < 0)
        return 98;
    execve("/bin/cat", argv, arg);
    return 97;
}

/* It has to be heard from: descriptors are closed before the new environment can be seen. */
static inline void unit_child_await_exec(struct unit_child *child) {
    char text[8];
    assert_int_equal(write(child->hold, "\n", 1), 1);
    unit_hear(child, text, sizeof text);
    assert_string_equal(text, "\n");
}

/* ---- Checks inside a child, where the test framework must not be used ---- */

#define CHILD_CHECK(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not true: %s (errno %d)\n", __FILE__, __LINE__, #condition,    \
                    errno);                                                                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

#define CHILD_SKIPPED 77

static inline int unit_child_skip(const struct unit_line *line, const char *what) {
    char text[128];
    snprintf(text, sizeof text, "%s: %s", what, strerror(errno));
    unit_tell(line, text);
    return CHILD_SKIPPED;
}

/* How a child judged. Taken over by unit_judge, after the test has cleaned up. */
struct unit_verdict {
    int code;
    char reason[160]; /* to skip */
};

static inline struct unit_verdict unit_try_child(unit_body body, void *arg) {
    struct unit_child child;
    struct unit_verdict verdict;
    unit_child_start(&child, body, arg);
    unit_hear(&child, verdict.reason, sizeof verdict.reason);
    verdict.code = unit_child_finish(&child);
    return verdict;
}

static inline void unit_judge(const struct unit_verdict *verdict) {
    if (verdict->code == CHILD_SKIPPED)
        unit_skip("%s", verdict->reason);
    assert_int_equal(verdict->code, 0);
}

static inline void unit_run_child(unit_body body, void *arg) {
    struct unit_verdict verdict = unit_try_child(body, arg);
    unit_judge(&verdict);
}

static inline bool unit_write_text(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return done;
}

/* In a child: mounts made from here on are seen by nobody else. */
static inline bool unit_private_mounts(void) {
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", "none", MS_REC | MS_PRIVATE, "") == 0;
}

/* Checkers that run programs do not know all system calls. */
static inline bool unit_has_pidfd(void) {
    return syscall(SYS_pidfd_send_signal, -1, 0, NULL, 0u) == 0 || errno != ENOSYS;
}

/* In a child: gives up root, and becomes root of a user namespace instead. */
static inline bool unit_enter_user_namespace(void) {
    char map[64];
    if (geteuid() == 0 && (setgid(UNIT_NOBODY) < 0 || setuid(UNIT_NOBODY) < 0))
        return false;
    unsigned uid = (unsigned)geteuid();
    /* A process that changed its user does not own its own /proc entry otherwise. */
    prctl(PR_SET_DUMPABLE, 1);
    if (unshare(CLONE_NEWUSER) < 0)
        return false;
    snprintf(map, sizeof map, "0 %u 1", uid);
    return unit_write_text("/proc/self/uid_map", map);
}

#endif
