/* A forked child that becomes another program, where more is asked than posix_spawn can do: a
 * session of its own, sockets handed down with the pid of who gets them, and the reason why not.
 *
 * The child shares its parent's memory until exec. Whatever needs the heap is therefore done before
 * the fork; the child only reads it, or writes into room made for that. */
#ifndef TETHER_OS_POSIX_PROGRAM_H
#define TETHER_OS_POSIX_PROGRAM_H

#include "os/os_tree.h"
#include "text_list.h"

enum {
    PROGRAM_STDIO_COUNT = 3,
    PROGRAM_LISTEN_MAX = 64, /* sockets handed down */
};

struct program_plan {
    const struct os_tree_spec *spec;
    struct text_list environment; /* with LISTEN_… of our own */
    char *listen_pid; /* room in it for the digits of the program's pid; NULL without sockets */
    int fds[PROGRAM_STDIO_COUNT + PROGRAM_LISTEN_MAX]; /* what becomes fds 0, 1, 2, 3 … */
    int fd_count;
};

enum program_step { PROGRAM_STEP_FORK = 1, PROGRAM_STEP_DESCRIPTORS, PROGRAM_STEP_EXEC };

/* What the child writes into the CLOEXEC pipe when it fails; nothing when it does not. */
struct program_failure {
    enum program_step step;
    int error; /* a positive errno */
};

/* Checks the spec and prepares. program_plan_finish is for both outcomes. */
int program_plan_make(struct program_plan *plan, const struct os_tree_spec *spec,
                      struct error *err);
void program_plan_finish(struct program_plan *plan);

/* The child's part: becomes the program, or writes to the pipe why not. The pipe may be any fd. */
_Noreturn void program_become(struct program_plan *plan, int failure_pipe);

/* An error that names the command, the reason and what to do. Returns its code. */
int program_explain(const struct program_failure *failure, const char *command, struct error *err);

#endif
