/* The owner that a command line names, looked at before anything is started for it. */
#ifndef TETHER_OPTIONS_OWNER_CHECK_H
#define TETHER_OPTIONS_OWNER_CHECK_H

#include "error.h"
#include "options.h"

/* UV_ESRCH, with the error: the owner is certainly dead, and a server for it would end at once. 0:
 * it lives, cannot be looked at, or there is none. */
int owner_check(const struct options *options, struct error *err);

#endif
