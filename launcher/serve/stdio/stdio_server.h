/* An MCP server that speaks over standard input and output, served to the clients of ours.
 *
 * For the rest of this server it is an editor: it offers tools, resources and prompts, calls go to
 * it, and it may ask the client of a call for something. What it lacks of one it gets here: it is
 * greeted as its protocol wants it, its lists are fetched, and what editors are told by "call" it
 * is told by ids and progress tokens. Either era's client gets either era's server.
 *
 * One process serves all clients; or, with --per-client, each session has one, and each stateless
 * request. Then the first one serves nobody: it is where the lists come from. */
#ifndef TETHER_SERVE_STDIO_SERVER_H
#define TETHER_SERVE_STDIO_SERVER_H

#include "serve/mcp/mcp.h"
#include "serve/relay/calls.h"
#include "serve/serve.h"

struct stdio_server;

/* Starts the first one. `ready` is called when it has told what it offers, `failed` if it never
 * does, or has ended too often. */
void stdio_begin(struct serve *serve, void (*ready)(struct serve *serve),
                 void (*failed)(struct serve *serve));

/* Ends all of them, in order. `over` is called when none is left, at once if there is none. */
void stdio_end(struct serve *serve, void (*over)(struct serve *serve));

/* Relays the request to the process that it is for. Answers it, sooner or later. */
void stdio_relay(struct mcp_request *request);

/* A call for it, with the request that began it. False: it cannot be taken. */
bool stdio_call(struct call *call, const struct mcp_request *request);

/* Asks it once more, with what its client has given of what it wanted. */
void stdio_call_again(struct call *call);

void stdio_cancel(struct call *call, const char *reason);
void stdio_call_over(struct call *call);

/* A message of another kind; consumed. */
bool stdio_send(struct stdio_server *server, struct buffer *message);

/* From which level on the clients want to hear its log. */
void stdio_set_level(struct serve *serve);

/* Other resources are watched. False: it wants to be told of each. */
bool stdio_watch(struct serve *serve);

void stdio_session_gone(struct mcp_session *session);

/* The state for GET /status. */
json_t *stdio_json(const struct serve *serve);

#endif
