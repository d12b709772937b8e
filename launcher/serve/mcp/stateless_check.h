/* What a modern request must have, besides what it wants. Pure functions. */
#ifndef TETHER_SERVE_MCP_STATELESS_CHECK_H
#define TETHER_SERVE_MCP_STATELESS_CHECK_H

#include "error.h"
#include "jsonrpc.h"
#include "serve/http/http.h"

/* Whether the headers repeat what the body says. 0, or the code of the error. */
int modern_check(const struct http_request *http, const struct rpc_message *message,
                 const json_t *meta, struct error *err);

/* The same for the arguments of a tool that its inputSchema wants repeated in headers
 * (x-mcp-header). */
int modern_check_parameters(const struct http_request *http, const json_t *schema,
                            const json_t *arguments, struct error *err);

#endif
