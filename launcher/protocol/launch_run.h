/* A run of `tether launch`, as the editor and `tether mcp` start it, and what it says. */
#ifndef TETHER_PROTOCOL_LAUNCH_RUN_H
#define TETHER_PROTOCOL_LAUNCH_RUN_H

#include <jansson.h>
#include <uv.h>

#include "os/os_spawn.h"

struct launch_run;

/* Called, perhaps several times, while the server is on its way: a daemon of it listens there. Must
 * not end the run. */
typedef void (*launch_listening_fn)(void *context, const char *control);

/* Called once: the result that launch printed (borrowed), or NULL and what went wrong. The run is
 * over then. */
typedef void (*launch_done_fn)(void *context, const json_t *result, const char *why);

/* Starts it as the spec tells, with its output to us; 0, or a negative code and nothing was
 * started. `listening` may be NULL. */
int launch_run_start(struct launch_run **run, uv_loop_t *loop, const struct os_spawn_spec *spec,
                     launch_listening_fn listening, launch_done_fn done, void *context);

/* Ends it without a word: kills launch (never the daemon, which its owner's death ends). Also
 * accepts NULL. */
void launch_run_abort(struct launch_run *run);

#endif
