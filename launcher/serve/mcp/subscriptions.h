/* Who wants to hear of changes: sessions with a stream, and modern clients that listen. */
#ifndef TETHER_SERVE_MCP_SUBSCRIPTIONS_H
#define TETHER_SERVE_MCP_SUBSCRIPTIONS_H

#include "mcp.h"

/* subscriptions/listen. */
void listen_start(struct mcp_request *request);

/* We end: every stream is closed in order. */
void listen_finish(struct serve *serve);

/* Some client may be shown other lists than before: whoever wants to know of those is told. */
void listen_lists_changed(struct serve *serve);

/* ---- resources that somebody watches ---- */

/* Somebody has begun to watch, or does not any more: the active editor is told what that changes.
 */
void watch_update(struct serve *serve);

/* An editor tells that a resource has changed. */
void watch_updated(struct serve *serve, const char *uri);

/* Another editor is active: it has to watch now. */
void watch_moved(struct serve *serve);

#endif
