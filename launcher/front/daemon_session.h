/* The front's session with the daemon: launches or adopts the instance, holds a session of role
 * "front", and knows from there whether the server is up and whether it is still the same one.
 *
 * Everything comes as an event from the daemon. If the daemon goes without having said that it
 * ends, it is looked for or started again at once; if it was stopped in order, when somebody asks.
 */
#ifndef TETHER_FRONT_DAEMON_SESSION_H
#define TETHER_FRONT_DAEMON_SESSION_H

#include <uv.h>

#include "options/options.h"
#include "protocol/daemon_client.h"
#include "protocol/launch_run.h"

enum daemon_session_phase {
    SESSION_DOWN,      /* nothing is under way; `reason` says why */
    SESSION_LAUNCHING, /* `tether launch` is at work */
    SESSION_JOINING,   /* connecting to the daemon, until its welcome */
    SESSION_JOINED
};

struct daemon_session_events {
    void (*changed)(void *context);
    /* The server cannot be had for now, and it says why: who waits for it waits in vain. */
    void (*failed)(void *context, const char *why);
};

struct daemon_session {
    const struct daemon_session_events *events;
    void *context;
    uv_loop_t *loop;
    const struct options *options;

    enum daemon_session_phase phase;
    struct launch_run *launch;    /* LAUNCHING */
    struct daemon_client *client; /* JOINING, JOINED */
    enum server_state server;     /* JOINED: as the daemon told it last */
    int64_t joined_at, failed_at;
    unsigned tries; /* in a row that led to nothing lasting */
    bool leaving, left;

    bool ready;          /* the server is up */
    bool in_doubt;       /* the daemon has been asked whether it is */
    uint64_t generation; /* changes with every start of the server */
    int64_t daemon_pid, server_pid, restarts;
    uint16_t port;
    char session[16];    /* to be resumed */
    char reason[512];    /* why the server is not up, for people */
    char last_exit[128]; /* how it ended last, as far as this daemon knows; or "" */
};

void daemon_session_init(struct daemon_session *session, uv_loop_t *loop,
                         const struct options *options, const struct daemon_session_events *events,
                         void *context);

/* Somebody needs the server: if nothing is under way towards it, begins. */
void daemon_session_wake(struct daemon_session *session);

/* A connection to the server was lost: asks the daemon, `changed` comes with its answer. */
void daemon_session_doubt(struct daemon_session *session);

/* Leaves the instance; `changed` comes when the daemon has let go, and `left` is true then. */
void daemon_session_leave(struct daemon_session *session);

/* Closes whatever is open, without a word. */
void daemon_session_finish(struct daemon_session *session);

#endif
