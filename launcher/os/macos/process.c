/* Holding on to a process: a kqueue of its own that waits for its end, and so polls readable from
 * then on. Signals go by pid, right after a look whose it is. */
#include "bsdinfo.h"

#include <errno.h>
#include <signal.h>
#include <sys/event.h>
#include <sys/proc.h>
#include <unistd.h>

#include "os/posix/posix.h"

static int watch_end(int queue, int64_t pid) {
    struct kevent event;
    EV_SET(&event, (uintptr_t)pid, EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, NULL);
    return kevent(queue, &event, 1, NULL, 0, NULL) < 0 ? -errno : 0;
}

/* The queue was told to wait for whoever has the pid; if that is the process meant now, it was
 * then. */
static int verify(struct os_process *process) {
    struct proc_bsdinfo info;
    int rc = bsdinfo_of_identity(&process->identity, &info);
    if (rc < 0)
        return rc == -EACCES && process->identity.start == 0 ? 0 : rc;
    if (info.pbi_status == SZOMB)
        return -ESRCH;
    process->identity.start = bsdinfo_start(&info);
    return 0;
}

int os_process_open(struct os_process *process, const struct os_identity *identity) {
    process->identity = *identity;
    process->handle = OS_NO_HANDLE;
    if (identity->pid <= 0 || identity->pid > INT32_MAX)
        return -EINVAL;
    int queue = kqueue();
    if (queue < 0)
        return -errno;
    process->handle = queue;
    int rc = posix_cloexec(queue);
    if (rc == 0)
        rc = watch_end(queue, identity->pid);
    if (rc == 0)
        rc = verify(process);
    if (rc < 0)
        os_process_close(process);
    return rc == -EPERM ? -ENOSYS : rc;
}

int process_signal(const struct os_process *process, int signal_number) {
    struct proc_bsdinfo info;
    if (process->handle == OS_NO_HANDLE)
        return -EINVAL;
    int rc = bsdinfo_of_identity(&process->identity, &info);
    if (rc < 0)
        return rc;
    return kill((pid_t)process->identity.pid, signal_number) < 0 ? -errno : 0;
}

/* Whatever is forked there becomes another program at once. */
void os_keep_from_forks(void *memory, size_t size) {
    (void)memory;
    (void)size;
}
