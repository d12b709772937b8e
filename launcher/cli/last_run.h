/* The run before, when nothing runs: from the records that it left. */
#ifndef TETHER_CLI_LAST_RUN_H
#define TETHER_CLI_LAST_RUN_H

#include <jansson.h>

#include "buffer.h"
#include "options/options.h"

/* {"ended": seconds since 1970, or null if it was killed, "cause": "stop requested", "failure",
 * "reason", "last_exit", "command", "restarts": as in the state, "log": a path}. NULL if there was
 * none, something runs, or what is recorded makes no sense. A new reference. */
json_t *last_run(const struct options *options);

/* Adds "ended 3 min ago: the server crashed too often: …". */
void last_run_text(struct buffer *out, const json_t *last, int spaces);

/* Adds "59 s", "3 min", "2 h 5 min", "4 days". */
void duration_add(struct buffer *out, int64_t ms);

#endif
