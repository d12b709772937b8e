/* The child that becomes the server. It shares the daemon's memory until exec and has one thread:
 * no heap, no stdio, nothing but system calls. */
#include "guard_plan.h"

#include "../os/os_fork.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

noreturn void guard_become_server(struct guard_plan *plan, int failure_pipe) {
    setsid();
    if (place_descriptors(plan, &failure_pipe) < 0)
        fail(failure_pipe, GUARD_STEP_DESCRIPTORS);
    reset_signals();
    if (plan->listen_pid)
        write_listen_pid(plan->listen_pid);
    if (plan->spec->cwd && chdir(plan->spec->cwd) < 0)
        fail(failure_pipe, GUARD_STEP_CHDIR);
    /* execvp() reads PATH from here, so it is the server's PATH that counts. */
    environ = plan->envp;
    execvp(plan->argv[0], plan->argv);
    fail(failure_pipe, GUARD_STEP_EXEC);
}
