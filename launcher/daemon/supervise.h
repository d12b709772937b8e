/* One server at a time: its tree of processes, its pipes, and what becomes of it.
 *
 * Carries out what the lifecycle decides and tells what happened; decides nothing itself. The
 * server's output is read all the time, so that a server never waits for us. */
#ifndef TETHER_DAEMON_SUPERVISE_H
#define TETHER_DAEMON_SUPERVISE_H

#include <uv.h>

#include "environment.h"
#include "log.h"
#include "os/os_tree.h"

/* What the daemon is told. A run begins with `started` or `unstarted`; after `unstarted` nothing of
 * it is left, after `started` come `exited` and then `emptied`. */
struct supervisor_events {
    void (*started)(void *context);
    void (*unstarted)(void *context, const struct error *why);
    void (*exited)(void *context, const struct os_exit *how);
    void (*drained)(void *context); /* perhaps: see os_tree_events */
    void (*emptied)(void *context);
};

struct supervisor {
    uv_loop_t *loop;
    struct log *log;
    const struct supervisor_events *events;
    void *context;

    struct os_tree *tree; /* to be asked to end, to be killed, to be passed wishes */
    struct supervisor_stream *streams[2]; /* stdout and stderr */
    os_handle stdin_handle;
    struct os_identity server; /* pid 0: its end has been seen, or it was never started */
    char buffer[65536];
};

/* The loop, the log and the events are borrowed. */
int supervisor_init(struct supervisor *supervisor, uv_loop_t *loop, struct log *log,
                    const struct supervisor_events *events, void *context);

/* Starts the server; the events tell the rest, that it cannot be started at once. Nothing of an
 * earlier run may be left. */
void supervisor_start(struct supervisor *supervisor, const struct server_start *start,
                      const os_handle *listeners, size_t listener_count);

/* The first step of ending it; for the others there is the tree. */
void supervisor_close_stdin(struct supervisor *supervisor);

/* Closes what belongs to the loop. */
void supervisor_finish(struct supervisor *supervisor);

#endif
