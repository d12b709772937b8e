/* What the daemon prepares before it forks the guard, and what the two say to each other. */
#ifndef TETHER_OS_LINUX_GUARD_PLAN_H
#define TETHER_OS_LINUX_GUARD_PLAN_H

#include "guard.h"

struct guard_plan {
    struct program_plan program;
    int channel; /* the guard's end */
    int daemon;  /* its pid */
};

/* One packet each way on a SOCK_SEQPACKET pair: it arrives whole or not at all, and both ends are
 * the same program, so the struct itself is the format. */
enum guard_command { GUARD_COMMAND_TERMINATE = 1, GUARD_COMMAND_KILL };

/* The guard's part: never returns to the daemon's code. All signals are blocked on entry. */
_Noreturn void guard_run(struct guard_plan *plan);

#endif
