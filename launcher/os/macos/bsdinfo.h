/* What the kernel tells everybody about a process. */
#ifndef TETHER_OS_MACOS_BSDINFO_H
#define TETHER_OS_MACOS_BSDINFO_H

#include "os/os.h"

#include <libproc.h>
#include <sys/proc_info.h>

/* Zombies included. -ESRCH: nobody has this pid; -EACCES: the system does not show who. */
int bsdinfo_of(int64_t pid, struct proc_bsdinfo *info);

/* The same for the process of this identity; -ESRCH, too, if the pid is another's now. */
int bsdinfo_of_identity(const struct os_identity *identity, struct proc_bsdinfo *info);

/* Microseconds since the epoch. */
uint64_t bsdinfo_start(const struct proc_bsdinfo *info);

/* Calls fn for each process that the system shows, until it returns false. */
int bsdinfo_each(bool (*fn)(int64_t pid, void *arg), void *arg);

#endif
