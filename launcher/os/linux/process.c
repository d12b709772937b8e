/* Holding on to a process by pidfd. */
#include "os/posix/posix.h"
#include "pidfd.h"
#include "proc.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

int process_signal(const struct os_process *process, int signal_number) {
    if (process->handle == OS_NO_HANDLE)
        return -EINVAL;
    long rc = syscall(SYS_pidfd_send_signal, (int)process->handle, signal_number, NULL, 0u);
    return rc < 0 ? -errno : 0;
}

int pidfd_open_pid(int pid) {
    long fd = syscall(SYS_pidfd_open, (pid_t)pid, 0u);
    if (fd < 0)
        return errno == EPERM ? -ENOSYS : -errno;
    return (int)fd;
}

int pidfd_verify(struct os_process *process) {
    struct proc_stat stat;
    uint64_t expected = process->identity.start;
    int rc = proc_stat_of(process->identity.pid, &stat);
    /* The descriptor was there before the entry was read. If what it refers to has not been
     * collected even now, it had the pid all the time, and the entry is about it. */
    if (process_signal(process, 0) == -ESRCH)
        return -ESRCH;
    if (rc < 0)
        return rc == -EACCES && expected == 0 ? 0 : rc;
    if (proc_stat_is_dead(&stat) || (expected != 0 && expected != stat.start))
        return -ESRCH;
    process->identity.start = stat.start;
    return 0;
}

int os_process_open(struct os_process *process, const struct os_identity *identity) {
    process->identity = *identity;
    process->handle = OS_NO_HANDLE;
    if (identity->pid <= 0 || identity->pid > INT32_MAX)
        return -EINVAL;
    int rc = pidfd_open_pid((int)identity->pid);
    /* A thread that is not the first of its process has a number of the same kind. */
    if (rc < 0)
        return rc == -EINVAL || rc == -ENOENT ? -ESRCH : rc;
    process->handle = rc;
    rc = pidfd_verify(process);
    if (rc < 0)
        os_process_close(process);
    return rc;
}
