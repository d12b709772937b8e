/* What a command ends with. The codes are part of the contract with other people's scripts. */
#ifndef TETHER_EXIT_CODE_H
#define TETHER_EXIT_CODE_H

#include "error.h"

enum exit_code {
    EXIT_FINE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_PORT_HELD = 3,
    EXIT_NOT_READY = 4,
    EXIT_NOT_RUNNING = 5,
};

/* Prints "WHO: WHAT" for a person. What is in it may come from others: a project's name, a
 * program's last words. */
void exit_tell(const char *who, const char *what);

/* The same for "tether: …"; returns the code. */
int exit_failing(int exit_code, const struct error *err);

#endif
