/* The way from the built-in server into this editor: a WebSocket over which tools are offered and
 * called. Lives on the thread of a control client; docs/mcp-server.md describes the messages.
 *
 * A call that the editor does not take up in time, because an import or a dialog keeps it from
 * running frames, is answered here with an honest "busy". */
#ifndef TETHER_SESSION_BRIDGE_H
#define TETHER_SESSION_BRIDGE_H

#include <jansson.h>

#include "mailbox.h"

struct bridge;

/* All on the loop's thread. What comes is put into the mailbox: calls, for bridge_answer, those
 * that are cancelled, and whether it is connected. Of the setup the names are copied. */
struct bridge *bridge_create(uv_loop_t *loop, struct mailbox *mailbox,
                             const struct launch_setup *setup);

/* Connects, and again whenever the connection is lost, until told otherwise. */
void bridge_connect(struct bridge *bridge, uint16_t port, const char *token);
void bridge_disconnect(struct bridge *bridge);

/* What this editor offers: takes the reference. Told now, and after each connect. */
void bridge_offer(struct bridge *bridge, json_t *registration);

/* The user works in this editor now. */
void bridge_activate(struct bridge *bridge);

/* Answers a call with its result, or a bridge_error: takes the reference. */
void bridge_answer(struct bridge *bridge, int64_t call, json_t *result);

/* Ends the connection and the bridge, which is freed once the loop has let go of it. Also accepts
 * NULL. */
void bridge_destroy(struct bridge *bridge);

/* Says a notification or a request, whose answer comes as CONTROL_ANSWERED: takes the reference. */
void bridge_say(struct bridge *bridge, json_t *message);

/* A result of a tool that says what went wrong, and the error that any other call is answered with.
 */
json_t *bridge_failure(const char *text);
json_t *bridge_error(const char *text);

#endif
