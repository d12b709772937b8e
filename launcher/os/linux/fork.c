#include "guard.h"

#include "os/posix/posix.h"
#include "proc.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* clone() with nothing but an exit signal is fork(). It is called directly for two reasons: only
 * so can the exit signal be chosen, and only so do no fork handlers run (libuv has one that closes
 * the descriptors of its signal pipe by number, which in a process that has moved its descriptors
 * are somebody else's). The leading arguments are in this order on x86, ARM and RISC-V. */
int guard_fork(int exit_signal) {
    long pid = syscall(SYS_clone, exit_signal, NULL, NULL, NULL, NULL);
    return pid < 0 ? -errno : (int)pid;
}

void os_keep_from_forks(void *memory, size_t size) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t)memory + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)memory + size) / page * page;
    if (end > first) /* where that is refused, it costs memory, and no more */
        madvise((char *)memory + (first - (uintptr_t)memory), end - first, MADV_DONTFORK);
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
        if (proc_each_number("/proc/self/fd", close_from_first, &closing) < 0) {
            posix_close_numbers(first);
            return;
        }
    } while (closing.closed > 1);
}
