/* Reading /proc without the heap, and of stdio with nothing but snprintf, so that a process which
 * was cloned and never called exec may use it.
 *
 * Every answer describes one moment that is already over. Who acts on one must pin the process
 * first; tree_kill.c shows how. Functions return 0 or -errno. */
#ifndef TETHER_OS_LINUX_PROCFS_H
#define TETHER_OS_LINUX_PROCFS_H

#include "proc.h"

typedef void procfs_visit(void *context, int number);

int procfs_read_stat(int pid, struct proc_stat *out);

/* Calls visit for every entry of a directory whose name is a number. */
int procfs_each_number(const char *path, procfs_visit *visit, void *context);

/* Calls visit for every child of the process, whichever of its threads forked it.
 *
 * Complete for the caller itself as long as nobody reaps meanwhile: new children only ever join at
 * the end of the kernel's list. For another process that runs, entries can be missed. A kernel
 * without CONFIG_PROC_CHILDREN costs a scan of all processes. */
int procfs_each_child(int pid, procfs_visit *visit, void *context);

/* Where our own arguments are: from the first up to the end of the last. NULL: not told. */
char *procfs_arguments(size_t *size);

#endif
