/* Forking without exec, for the guard: what POSIX leaves out and each platform does its own way.
 *
 * Meant for a process with one thread. The child shares the parent's memory copy-on-write; no fork
 * handlers run in it, so it must use neither the heap nor stdio (nor abort(), which in some C
 * libraries would name the parent's thread). */
#ifndef TETHER_OS_LINUX_FORK_H
#define TETHER_OS_LINUX_FORK_H

#include "os/os.h"

/* A plain fork: 0 in the child, its pid in the parent, -errno on failure. */
int os_fork(void);

/* The same, but the child's death continues the parent if that is stopped. Such a child is waited
 * for with os_wait only. */
int os_fork_waking(void);

/* Waits for this child, whatever its kind, and blocks until it is dead. Returns 0 or -errno;
 * status is as from waitpid() and may be NULL. */
int os_wait(int pid, int *status);

/* From now on only who may trace everybody may trace this process: the server, which is of the same
 * user, could hold its guard still for ever. Ends with exec. */
void os_refuse_tracers(void);

#endif
