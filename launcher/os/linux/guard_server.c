/* The child that becomes the server. It shares the daemon's memory until exec and has one thread:
 * no heap, no stdio, nothing but system calls. */
#include "guard_plan.h"

#include "fork.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_NOT_STARTED = 127 };

static int move_up(int fd, int lowest) {
    return fd >= lowest ? fd : fcntl(fd, F_DUPFD_CLOEXEC, lowest);
}

/* Puts plan->fds[i] at i, whatever the numbers were before, and the pipe behind them; closes the
 * rest. First everything moves out of the way, so that nothing is overwritten unread. */
static int place_descriptors(struct guard_plan *plan, int *failure_pipe) {
    int count = plan->fd_count;
    int moved = move_up(*failure_pipe, count + 1);

    if (moved < 0)
        return -1;
    *failure_pipe = moved;
    for (int i = 0; i < count; i++) {
        if (plan->fds[i] < 0)
            plan->fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
        plan->fds[i] = move_up(plan->fds[i], count + 1);
        if (plan->fds[i] < 0)
            return -1;
    }
    for (int i = 0; i < count; i++) {
        if (dup2(plan->fds[i], i) < 0)
            return -1;
    }
    if (dup3(*failure_pipe, count, O_CLOEXEC) < 0)
        return -1;
    *failure_pipe = count;
    os_close_from(count + 1);
    return 0;
}

/* What is ignored stays ignored across exec, and what is blocked stays blocked. */
static void reset_signals(void) {
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        sigaction(number, &standard, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void write_listen_pid(char *at) {
    char digits[GUARD_PID_DIGITS];
    size_t used = sizeof digits;
    unsigned rest = (unsigned)getpid();

    do {
        digits[--used] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    memcpy(at, digits + used, sizeof digits - used);
}

static noreturn void fail(int failure_pipe, enum guard_step step) {
    struct guard_failure failure = {step, errno};
    ssize_t written;

    /* Short of a dead guard this cannot fail: the pipe is empty. Without it, the guard reports a
     * server that exited with this code. */
    do {
        written = write(failure_pipe, &failure, sizeof failure);
    } while (written < 0 && errno == EINTR);
    _exit(EXIT_NOT_STARTED);
}

/* "dir/name"; false if that is longer than any path may be. */
static bool join(char out[PATH_MAX], const char *dir, size_t dir_length, const char *name) {
    size_t length = strlen(name);

    if (dir_length + length + 2 > PATH_MAX)
        return false;
    memcpy(out, dir, dir_length);
    out[dir_length] = '/';
    memcpy(out + dir_length + 1, name, length + 1);
    return true;
}

static const char *find_variable(char *const *environment, const char *name) {
    size_t length = strlen(name);

    for (; *environment; environment++) {
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    }
    return NULL;
}

/* What execvpe() does, with the server's own PATH, but for one thing: a file that is no program is
 * an error, and is not given to a shell. Returns with errno set; that a file is there but may not
 * be run tells more than that the next folder has none. */
static void execute(const struct guard_plan *plan) {
    const char *path = find_variable(plan->envp, "PATH");
    char file[PATH_MAX];
    bool denied = false;

    if (strchr(plan->argv[0], '/') || plan->argv[0][0] == '\0') {
        execve(plan->argv[0], plan->argv, plan->envp);
        return;
    }
    for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; path;) {
        size_t length = strcspn(path, ":");
        if (join(file, length ? path : ".", length ? length : 1, plan->argv[0]))
            execve(file, plan->argv, plan->envp);
        else
            errno = ENOENT;
        if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
            return;
        denied |= errno == EACCES;
        path = path[length] ? path + length + 1 : NULL;
    }
    if (denied)
        errno = EACCES;
}

noreturn void guard_become_server(struct guard_plan *plan, int failure_pipe) {
    setsid();
    if (place_descriptors(plan, &failure_pipe) < 0)
        fail(failure_pipe, GUARD_STEP_DESCRIPTORS);
    reset_signals();
    if (plan->listen_pid)
        write_listen_pid(plan->listen_pid);
    if (plan->spec->cwd && chdir(plan->spec->cwd) < 0)
        fail(failure_pipe, GUARD_STEP_CHDIR);
    execute(plan);
    fail(failure_pipe, GUARD_STEP_EXEC);
}
