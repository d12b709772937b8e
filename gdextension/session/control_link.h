/* One connection to a daemon: messages both ways, on the loop of a control client. */
#ifndef TETHER_SESSION_CONTROL_LINK_H
#define TETHER_SESSION_CONTROL_LINK_H

#include <stdbool.h>

#include <jansson.h>
#include <uv.h>

struct control_link;

/* None is called once the link has been closed, which each of them may do. */
struct control_link_events {
    void (*on_open)(void *context);
    void (*on_message)(void *context, json_t *message); /* lent */
    /* The other side is gone, or was not to be reached. Still to be closed. */
    void (*on_lost)(void *context, const char *why);
};

/* Connects to a socket. NULL without memory; all else that goes wrong is told by on_lost. */
struct control_link *control_link_open(uv_loop_t *loop, const char *path,
                                       const struct control_link_events *events, void *context);

/* Takes the reference. */
void control_link_say(struct control_link *link, json_t *message);

/* Calls `done` when all that was said has gone out; false if that cannot be known. */
bool control_link_flush(struct control_link *link, void (*done)(void *context));

/* Ends it, and frees it once the loop has let go of it. Also accepts NULL. */
void control_link_close(struct control_link *link);
#endif
