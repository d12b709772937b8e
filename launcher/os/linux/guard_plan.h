/* What the daemon prepares before it forks the guard, and what the two say to each other.
 *
 * The guard and the server's child see the plan in memory shared copy-on-write. Whatever needs the
 * heap is therefore done by the daemon; they only read it, or write into room made for that. */
#ifndef TETHER_OS_LINUX_GUARD_PLAN_H
#define TETHER_OS_LINUX_GUARD_PLAN_H

#include "guard.h"

#include <stdnoreturn.h>

enum {
    GUARD_STDIO_COUNT = 3,
    GUARD_LISTEN_MAX = 64, /* sockets handed down */
    GUARD_PID_DIGITS = 10
};

struct guard_plan {
    const struct guard_spec *spec;
    char **argv;       /* a copy of the pointers: exec wants them without const */
    char **envp;       /* the same, and with LISTEN_… */
    char *environment; /* the text of our own entries */
    char *listen_pid;  /* room in it for the digits of the server's pid; NULL without sockets */
    int fds[GUARD_STDIO_COUNT + GUARD_LISTEN_MAX]; /* what becomes fds 0, 1, 2, 3 … */
    int fd_count;
    int channel; /* the guard's end */
    int daemon;  /* its pid */
};

/* One packet each way on a SOCK_SEQPACKET pair: it arrives whole or not at all, and both ends are
 * the same program, so the struct itself is the format. */
enum guard_command { GUARD_COMMAND_TERMINATE = 1, GUARD_COMMAND_KILL };

/* What the server's child writes into the CLOEXEC pipe when it fails; nothing when it does not. */
struct guard_failure {
    enum guard_step step;
    int error;
};

/* The child's part: becomes the server, or writes to the pipe why not. The pipe may be any fd. */
noreturn void guard_become_server(struct guard_plan *plan, int failure_pipe);

/* The guard's part: never returns to the daemon's code. All signals are blocked on entry. */
noreturn void guard_run(struct guard_plan *plan);

#endif
