/* Who wants to hear of changes: sessions with a stream, and modern clients that listen. */
#ifndef TETHER_SERVE_MCP_SUBSCRIPTIONS_H
#define TETHER_SERVE_MCP_SUBSCRIPTIONS_H

#include "mcp.h"

/* subscriptions/listen. */
void listen_start(struct mcp_request *request);

/* We end: every stream is closed in order. */
void listen_finish(struct serve *serve);

void listen_list_changed(struct serve *serve, enum list_kind kind);

/* ---- resources that somebody watches ---- */

void watch_add(struct serve *serve, const char *uri);
void watch_remove(struct serve *serve, const char *uri);

/* The same for all in an object with uris as keys; consumed, NULL for none. */
void watch_remove_all(struct serve *serve, json_t *uris);

/* An editor tells that a resource has changed. */
void watch_updated(struct serve *serve, const char *uri);

/* Another editor is active: it has to watch now. */
void watch_moved(struct serve *serve);

#endif
