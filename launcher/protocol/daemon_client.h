/* The client of a daemon: connects to its endpoint, says hello, hears what it says.
 *
 * Many may connect at once, more than wait there for the daemon to come to them; it is then tried
 * again, for some seconds. Pings are answered; what is of no known kind is passed over. */
#ifndef TETHER_PROTOCOL_DAEMON_CLIENT_H
#define TETHER_PROTOCOL_DAEMON_CLIENT_H

#include <jansson.h>
#include <uv.h>

#include "message.h"
#include "os/os.h"

struct daemon_client;

/* All come from the loop, none once the client has been closed, which each of them may do. */
struct daemon_client_events {
    /* The daemon can be talked to; hello has been said. NULL: that is of no interest. */
    void (*opened)(void *context);
    void (*heard)(void *context, enum message_kind kind, json_t *message); /* lent */
    /* Once, and the client is still to be closed. UV_EOF: the daemon has closed the connection, or
     * said what is none of this protocol; any other code: it was not to be reached. */
    void (*lost)(void *context, int why);
};

/* Connects. Of the hello, role, project, godot and resume are the caller's; the rest is known here.
 * NULL without memory; all else that goes wrong is told by `lost`. */
struct daemon_client *daemon_client_open(uv_loop_t *loop, const char *endpoint, struct hello hello,
                                         const struct daemon_client_events *events, void *context);

/* Takes the reference. Only when it is opened. */
void daemon_client_say(struct daemon_client *client, json_t *message);
void daemon_client_leave(struct daemon_client *client, const char *reason);

/* Who is at the other end, by the kernel; as os_control_peer. */
int daemon_client_peer(const struct daemon_client *client, struct os_peer *peer);

/* Calls `done` when all that was said has gone out, or never will; false: nothing is on its way. */
bool daemon_client_flush(struct daemon_client *client, void (*done)(void *context));

/* Ends it; the loop frees it in its own time. Also accepts NULL. */
void daemon_client_close(struct daemon_client *client);

#endif
