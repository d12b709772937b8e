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

    bool running; /* something of the current run may be left */
    struct os_tree *tree;
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

/* The steps of ending it. Each does nothing if there is nothing to do it to. */
void supervisor_close_stdin(struct supervisor *supervisor);
void supervisor_terminate(struct supervisor *supervisor);
void supervisor_kill(struct supervisor *supervisor);

/* Passes OS_WISH_USER1 or 2 on to the server's first process. */
void supervisor_forward(struct supervisor *supervisor, enum os_wish wish);

/* Who ends the server if we cannot; pid 0: there is none. */
struct os_identity supervisor_keeper(const struct supervisor *supervisor);

/* Closes what belongs to the loop. */
void supervisor_finish(struct supervisor *supervisor);

#endif
