/* The tie to the instance: launches or adopts it, holds a session of role "front" with its daemon,
 * and knows from there whether the server is up and whether it is still the same one.
 *
 * Everything comes as an event from the daemon. If the daemon goes without having said that it
 * ends, it is looked for or started again at once; if it was stopped in order, when somebody asks.
 */
#ifndef TETHER_FRONT_DAEMON_SESSION_H
#define TETHER_FRONT_DAEMON_SESSION_H

#include <jansson.h>
#include <uv.h>

#include "options/options.h"

enum link_state {
    LINK_DOWN,      /* nothing is under way; `reason` says why */
    LINK_LAUNCHING, /* `tether launch` is at work */
    LINK_JOINING,   /* connecting to the daemon, until its welcome */
    LINK_JOINED
};

struct link_events {
    void (*changed)(void *context);
    /* The server cannot be had for now, and it says why: who waits for it waits in vain. */
    void (*failed)(void *context, const char *why);
};

struct link_wire;
struct link_launch;

struct link {
    const struct link_events *events;
    void *context;
    uv_loop_t *loop;
    const struct options *options;

    enum link_state state;
    struct link_launch *launch;
    struct link_wire *wire;
    int64_t joined_at, failed_at;
    unsigned tries; /* in a row that led to nothing lasting */
    bool leaving, left;

    bool ready;          /* the server is up */
    bool in_doubt;       /* the daemon has been asked whether it is */
    bool going;          /* the daemon has said that it ends */
    uint64_t generation; /* changes with every start of the server */
    int64_t daemon_pid, server_pid, restarts;
    uint16_t port;
    char session[16];
    char reason[512];    /* why the server is not up */
    char last_exit[128]; /* how it ended last, as far as this daemon knows; or "" */
};

void link_init(struct link *link, uv_loop_t *loop, const struct options *options,
               const struct link_events *events, void *context);

/* Somebody needs the server: if nothing is under way towards it, begins. */
void link_wake(struct link *link);

/* A connection to the server was lost: asks the daemon, `changed` comes with its answer. */
void link_doubt(struct link *link);

/* Leaves the instance; `changed` comes when the daemon has let go, and `left` is true then. */
void link_leave(struct link *link);

/* Closes whatever is open, without a word. */
void link_finish(struct link *link);

#endif
