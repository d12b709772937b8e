/* Starting another tether: `launch` by the editor and by `tether mcp`, the daemon by `launch`.
 *
 * The caller may live in somebody else's process, as the extension does in the editor: its signal
 * handlers, its environment and its other children are not touched. */
#ifndef TETHER_OS_SPAWN_H
#define TETHER_OS_SPAWN_H

#include "os.h"

/* What is started; all of it is borrowed. Standard input is empty, and signals are as for a new
 * program. */
struct os_spawn_spec {
    const char *path; /* of a program; no search */
    char *const *words;
    char *const *environment; /* complete */
    os_handle output;         /* becomes its standard output; OS_NO_HANDLE: it has none */
    const os_handle *handed;  /* further handles, which it has under the same values as we */
    size_t handed_count;
    bool detached; /* outlives us and our terminal, and writes no errors to ours */
};

struct os_child {
    int64_t pid;
    os_handle handle; /* of the process, where it is by such a one that its end is awaited */
};

/* Starts it. A program of ours that lost its execute permission, as files from a zip do, gets it
 * back; where that cannot be, as in a place that is read-only, a copy in memory is started. A child
 * that is not detached is to be finished; for a detached one `child` may be NULL. */
int os_spawn(struct os_child *child, const struct os_spawn_spec *spec);

/* The path of the program that this process runs, or of what an update has put in its place. Good
 * for os_spawn, and for a server's command. */
int os_own_program(char *out, size_t size);

/* Collects a child whose output has ended, or that should end now: it is then killed first. Also
 * accepts one that was never started. */
void os_child_finish(struct os_child *child, bool kill_first);

/* Asks another tether of ours to end, which it does in order where the system has a way to ask. The
 * process is a child that nobody else waits for. */
void os_program_ask(int64_t pid);

/* For a program started so: closes what else it has inherited, all but the standard streams and
 * these. Only while it has one thread. */
void os_handles_keep(const os_handle *kept, size_t count);

#endif
