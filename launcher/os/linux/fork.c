#include "fork.h"

#include "os/posix/posix.h"
#include "procfs.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* clone() with nothing but an exit signal is fork(). It is called directly for two reasons: only
 * so can the exit signal be chosen, and only so do no fork handlers run (libuv has one that closes
 * the descriptors of its signal pipe by number, which in a process that has moved its descriptors
 * are somebody else's). The leading arguments are in this order on x86, ARM and RISC-V. */
static int fork_with(int exit_signal) {
    long pid = syscall(SYS_clone, exit_signal, NULL, NULL, NULL, NULL);
    return pid < 0 ? -errno : (int)pid;
}

int os_fork(void) {
    return fork_with(SIGCHLD);
}

int os_fork_waking(void) {
    return fork_with(SIGCONT);
}

void os_keep_from_forks(void *memory, size_t size) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t)memory + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)memory + size) / page * page;
    if (end > first) /* where that is refused, it costs memory, and no more */
        madvise((char *)memory + (first - (uintptr_t)memory), end - first, MADV_DONTFORK);
}

int os_wait(int pid, int *status) {
    pid_t done;
    do {
        done = waitpid(pid, status, __WALL);
    } while (done < 0 && errno == EINTR);
    return done < 0 ? -errno : 0;
}

struct closing {
    int first;
    int closed;
};

static void close_from_first(void *context, int fd) {
    struct closing *closing = context;
    if (fd >= closing->first) {
        close(fd);
        closing->closed++;
    }
}

void posix_close_from(int first) {
    struct closing closing = {.first = first};

    if (syscall(SYS_close_range, first, ~0U, 0) == 0)
        return;
    /* Before Linux 5.9, or forbidden by a sandbox. The walk may close the descriptor it reads the
     * directory with, which cuts it short; it is repeated until that one is all there was to close.
     */
    do {
        closing.closed = 0;
        if (procfs_each_number("/proc/self/fd", close_from_first, &closing) < 0) {
            posix_close_numbers(first);
            return;
        }
    } while (closing.closed > 1);
}

void os_refuse_tracers(void) {
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
