/* One server at a time: its tree of processes, its pipes, and what becomes of it.
 *
 * Carries out what the lifecycle decides and tells what happened; decides nothing itself. The
 * server's output is read all the time, so that a server never waits for us. */
#ifndef TETHER_DAEMON_SUPERVISE_H
#define TETHER_DAEMON_SUPERVISE_H

#include "environment.h"
#include "os/os_tree.h"

struct daemon;

struct supervisor {
    struct daemon *daemon;
    struct os_tree *tree; /* to be asked to end, to be killed, to be passed wishes */
    struct supervisor_stream *streams[2]; /* stdout and stderr */
    os_handle stdin_handle;               /* to close it is the first step of ending it */
    struct os_identity server; /* pid 0: its end has been seen, or it was never started */
    char buffer[65536];
};

int supervisor_init(struct supervisor *supervisor, struct daemon *daemon);

/* Starts the server; the daemon is told the rest, also that it cannot be started. Nothing of an
 * earlier run may be left. */
void supervisor_start(struct supervisor *supervisor, const struct server_start *start,
                      const os_handle *listeners, size_t listener_count);

/* Closes what belongs to the loop. */
void supervisor_finish(struct supervisor *supervisor);

#endif
