/* Processes held by pidfd; not for use outside os/linux/. */
#ifndef TETHER_OS_LINUX_PIDFD_H
#define TETHER_OS_LINUX_PIDFD_H

#include "os/os.h"

/* A pidfd of whoever has the pid now, or -errno. -ENOSYS where there are none: before Linux 5.3, or
 * in a sandbox that forbids the call, which says so with EPERM. */
int pidfd_open_pid(int pid);

/* Given a pidfd in process->handle and a pid, perhaps with a start, in process->identity: checks
 * that both mean the same living process and fills in the start. A start that is hidden from us is
 * an error (-EACCES) only if there is one to compare. Does not close the handle on failure. */
int pidfd_verify(struct os_process *process);

#endif
