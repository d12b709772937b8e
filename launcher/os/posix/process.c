/* Waiting for the end of a process that is held on to, what it ended with, and what a thread within
 * another's process needs. */
#include "posix.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

int os_process_wait(const struct os_process *process, int timeout_ms) {
    struct pollfd item = {.fd = (int)process->handle, .events = POLLIN};
    int64_t deadline = os_clock_ms() + timeout_ms;
    if (process->handle == OS_NO_HANDLE)
        return -EINVAL;
    for (;;) {
        int n = poll(&item, 1, timeout_ms);
        if (n > 0)
            return item.revents & POLLNVAL ? -EBADF : 0;
        if (n == 0)
            return -ETIMEDOUT;
        if (errno != EINTR)
            return -errno;
        if (timeout_ms > 0) {
            int64_t left = deadline - os_clock_ms();
            timeout_ms = left > 0 ? (int)left : 0;
        }
    }
}

void os_process_close(struct os_process *process) {
    os_handle_close(&process->handle);
}

int os_process_session(const struct os_identity *identity, int64_t *session) {
    pid_t found = getsid((pid_t)identity->pid);
    if (found < 0)
        return -errno;
    if (os_liveness(identity) != OS_ALIVE) /* another has that pid now */
        return -ESRCH;
    *session = found;
    return 0;
}

struct os_exit posix_exit_of(int status) {
    bool by_signal = WIFSIGNALED(status);
    return (struct os_exit){
        .by_signal = by_signal,
        .dumped_core = by_signal && WCOREDUMP(status),
        .value = by_signal ? WTERMSIG(status) : WEXITSTATUS(status),
    };
}

void os_thread_block_signals(void) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    sigset_t others;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&others, faults[i]); /* for the host's crash handler, whosever the fault is */
    pthread_sigmask(SIG_BLOCK, &others, NULL);
}

void os_library_begin(void) {
}
