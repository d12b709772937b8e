/* Reading /proc; not for use outside os/linux/. Without the heap, and of stdio with nothing but
 * what formats and reads text, so that a process which was cloned and never called exec may use it.
 *
 * /proc may hide processes (hidepid), may be missing, or may belong to another pid namespace. So
 * that an entry is absent never means by itself that the process is: -ESRCH is only returned once
 * the kernel has said so; everything else that cannot be read is -EACCES.
 *
 * Every answer describes one moment that is already over. Who acts on one must pin the process
 * first; tree_kill.c shows how. Functions return 0 or -errno. */
#ifndef TETHER_OS_LINUX_PROC_H
#define TETHER_OS_LINUX_PROC_H

#include "os/os.h"

#include <sys/types.h>

struct proc_stat {
    char state;     /* R, S, D, T, t, Z, X … */
    int64_t parent; /* a process, even where a thread of it did the fork */
    int64_t group;
    int64_t threads;
    uint64_t start; /* clock ticks since boot: what makes a pid unique */
};

/* Room for as much of /proc/PID/stat as is of interest: a name and 21 numbers of up to 20 digits,
 * or for all of our own. */
enum { PROC_STAT_SIZE = 1024 };

/* Parses the text of /proc/PID/stat. The name in it may contain anything, parentheses included. */
int proc_stat_parse(const char *text, struct proc_stat *stat);

/* Whether the /proc we see numbers processes as we do. */
bool proc_is_ours(void);

int proc_stat_of(int64_t pid, struct proc_stat *stat);

/* The same for who knows that this /proc is ours, with whatever code reading it gives. */
int proc_read_stat(int pid, struct proc_stat *stat);

/* Whether the process has ended and merely waits to be collected. */
bool proc_stat_is_dead(const struct proc_stat *stat);

/* Opens /proc/PID. The descriptor stays with this process: once it is gone, reading through it
 * fails, whoever has the pid then. Checks the start if it is known. Returns it or -errno. */
int proc_open(const struct os_identity *identity);

/* Opens a file below a descriptor of proc_open, or below AT_FDCWD one by its path, for reading.
 * Returns it or -errno. */
int proc_open_file(int process, const char *name);

/* Reads at most size - 1 bytes of such a file and terminates them. Returns the count or -errno. */
ssize_t proc_read(int process, const char *name, char *out, size_t size);

/* The effective user of a process opened by proc_open. */
int proc_user(int process, uint32_t *user);

typedef void proc_visit(void *context, int number);

/* Calls visit for every process. */
int proc_each(proc_visit *visit, void *context);

/* Calls visit for every entry of a directory whose name is a number. */
int proc_each_number(const char *path, proc_visit *visit, void *context);

/* Calls visit for every child of the process, whichever of its threads forked it.
 *
 * Complete for the caller itself as long as nobody reaps meanwhile: new children only ever join at
 * the end of the kernel's list. For another process that runs, entries can be missed. A kernel
 * without CONFIG_PROC_CHILDREN costs a scan of all processes. */
int proc_each_child(int pid, proc_visit *visit, void *context);

/* Where our own arguments are: from the first up to the end of the last. NULL: not told. */
char *proc_arguments(size_t *size);

#endif
