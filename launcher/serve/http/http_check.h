/* What is checked about a request before anybody looks at what it wants. Pure functions. */
#ifndef TETHER_SERVE_HTTP_CHECK_H
#define TETHER_SERVE_HTTP_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Headers that are kept, the most frequent first; all others are passed over. */
enum http_header {
    HTTP_HOST,
    HTTP_ACCEPT,
    HTTP_CONTENT_TYPE,
    HTTP_SESSION_ID,
    HTTP_PROTOCOL_VERSION,
    HTTP_MCP_METHOD,
    HTTP_MCP_NAME,
    HTTP_ORIGIN,
    HTTP_AUTHORIZATION,
    HTTP_EXPECT,
    HTTP_TRANSFER_ENCODING,
    HTTP_LAST_EVENT_ID,
    HTTP_CONTENT_LENGTH,
    HTTP_CONNECTION,
    HTTP_UPGRADE,
    HTTP_WEBSOCKET_VERSION,
    HTTP_WEBSOCKET_KEY,
    HTTP_HEADER_COUNT
};

/* Which one this is, in any case; HTTP_HEADER_COUNT: none of them. */
enum http_header http_header_of(const char *name, size_t length);

/* Whether a Host names this machine's loopback, and no other port than ours. That is what stops a
 * web page whose name was made to resolve to 127.0.0.1: its requests carry its own name. */
bool http_host_is_ours(const char *host, uint16_t port);

/* Whether an Origin is this server itself, under the name by which it was asked (a Host that is
 * ours). Pages from other ports of this machine are strangers, too: who knows what a development
 * server or a notebook shows. And so are those from other addresses of the loopback, where anybody
 * on this machine may have the same port. */
bool http_origin_is_ours(const char *origin, const char *host, uint16_t port);

/* Whether the list of an Accept header (NULL: there is none) includes a type such as
 * "application/json". */
bool http_accepts(const char *accept, const char *type);

/* Whether a Content-Type is application/json, with or without parameters. */
bool http_is_json(const char *content_type);

/* Whether "Bearer TOKEN" was given. Takes the same time whatever is wrong. */
bool http_token_matches(const char *authorization, const char *token);

/* The words that go with a status that we answer with. */
const char *http_reason(int status);

#endif
