/* What a modern request must have, besides what it wants. Pure functions. */
#ifndef TETHER_SERVE_MCP_STATELESS_CHECK_H
#define TETHER_SERVE_MCP_STATELESS_CHECK_H

#include "jsonrpc.h"
#include "serve/http/http.h"

/* The headers that repeat what the body says; NULL: not there. */
struct modern_headers {
    const char *version, *method, *name;
};

/* 0, or the code of the error with its text. */
int modern_check(const struct modern_headers *headers, const struct rpc_message *message,
                 const json_t *meta, char *text, size_t size);

/* The same for the arguments of a tool that its inputSchema wants repeated in headers
 * (x-mcp-header). */
int modern_check_parameters(const struct http_parameter *given, size_t count, const json_t *schema,
                            const json_t *arguments, char *text, size_t size);

/* Whether a header value stands for this text: as it is, or in the form =?base64?…?=. */
bool modern_value_matches(const char *header, const char *text);

#endif
