/* Reading /proc; not for use outside os/linux/.
 *
 * /proc may hide processes (hidepid), may be missing, or may belong to another pid namespace. So
 * that an entry is absent never means by itself that the process is: -ESRCH is only returned once
 * the kernel has said so; everything else that cannot be read is -EACCES. */
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

/* Parses the text of /proc/PID/stat. The name in it may contain anything, parentheses included.
 * Uses no heap. */
int proc_stat_parse(const char *text, struct proc_stat *stat);

/* Whether the /proc we see numbers processes as we do. */
bool proc_is_ours(void);

int proc_stat_of(int64_t pid, struct proc_stat *stat);

/* Whether the process has ended and merely waits to be collected. */
bool proc_stat_is_dead(const struct proc_stat *stat);

/* Opens /proc/PID. The descriptor stays with this process: once it is gone, reading through it
 * fails, whoever has the pid then. Checks the start if it is known. Returns it or -errno. */
int proc_open(const struct os_identity *identity);

/* Opens a file below a descriptor of proc_open, or below AT_FDCWD one by its path, for reading.
 * Returns it or -errno. Uses no heap, as proc_read does not. */
int proc_open_file(int process, const char *name);

/* Reads at most size - 1 bytes of such a file and terminates them. Returns the count or -errno. */
ssize_t proc_read(int process, const char *name, char *out, size_t size);

/* The effective user of a process opened by proc_open. */
int proc_user(int process, uint32_t *user);

/* Calls fn with each pid in /proc until it returns false. */
typedef bool (*proc_pid_fn)(int64_t pid, void *arg);
int proc_each(proc_pid_fn fn, void *arg);

#endif
