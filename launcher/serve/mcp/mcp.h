/* MCP on one endpoint, /mcp: what both eras share.
 *
 * A request is modern if it says so itself (in _meta, or in its version header), else legacy. The
 * era decides how a request is checked, how an answer is dressed, and what closing means; what the
 * methods do is the same. */
#ifndef TETHER_SERVE_MCP_H
#define TETHER_SERVE_MCP_H

#include "serve/serve.h"

#define MCP_MODERN        "2026-07-28"
#define MCP_NEWEST        "2025-11-25" /* of the legacy era */
#define META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_CLIENT       "io.modelcontextprotocol/clientInfo"
#define META_LOG_LEVEL    "io.modelcontextprotocol/logLevel"
#define META_SERVER       "io.modelcontextprotocol/serverInfo"
#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

enum {
    MCP_HEADER_MISMATCH = -32020,
    MCP_MISSING_CAPABILITY = -32021,
    MCP_UNSUPPORTED_VERSION = -32022,
    MCP_RESOURCE_NOT_FOUND = -32002, /* legacy only */
};

/* What a client can be asked for: sampling, elicitation, roots; each is a bit. */
enum { MCP_CAPABILITY_BITS = 3, MCP_ROOTS = 1 << 2 };
extern const char *const mcp_capability_names[MCP_CAPABILITY_BITS];

/* A request that is being answered; lives as long as its handling takes. */
struct mcp_request {
    struct serve *serve;
    struct http_connection *connection;
    const struct http_request *http;
    struct rpc_message message;
    bool modern;
    struct mcp_session *session; /* legacy, once there is one */
    json_t *meta;                /* _meta of params, or NULL */
    json_t *said;                /* in the URL, or NULL; owned */
    struct editor *editor;       /* whom it is for, or NULL */
    struct call *parked;         /* what it continues, or NULL */
};

/* The handler of the HTTP server. */
void mcp_on_request(void *context, struct http_connection *connection,
                    const struct http_request *request);

/* A method, and what an editor must have offered for it to be there; 0: nothing. */
struct mcp_method {
    const char *name;
    void (*run)(struct mcp_request *request);
    unsigned offer;
};

/* Runs the method of this name, if it is there. False: none of these has the name. */
bool mcp_run(struct mcp_request *request, const struct mcp_method *methods, size_t count);

/* The same with those that both eras have; answers if there is none of this name. */
void mcp_run_shared(struct mcp_request *request);

/* ---- mcp_reply.c: answers ---- */

/* A result from its members as text ("a":1,"b":2); dressed as the era wants it. */
void mcp_reply_members(struct mcp_request *request, bool cacheable, const char *members,
                       size_t length);

/* A result as JSON; consumed. */
void mcp_reply_result(struct mcp_request *request, json_t *result);

/* An error; the data is consumed, NULL for none. */
void mcp_reply_error(struct mcp_request *request, int code, const char *text, json_t *data);

/* The same with a status of one's own. */
void mcp_reply_status(struct mcp_request *request, int status, int code, const char *text,
                      json_t *data);

/* The params lack a text. */
void mcp_reply_missing(struct mcp_request *request, const char *what);

/* What was sent is no request that can be answered otherwise. */
void mcp_reply_refusal(struct mcp_request *request, int status, const char *text);

/* Something went wrong while it was done: a failed result for tools, an error for the rest. */
void mcp_reply_failure(struct mcp_request *request, const char *text);

/* A notification or response was taken. */
void mcp_accepted(struct mcp_request *request);

/* Writes an answer from its result's members as text, with what the modern era wants in it. */
void mcp_add_members(struct buffer *out, const json_t *id, bool modern, bool cacheable,
                     const struct scan_span *members);

/* Adds to a result what the modern era wants in it. */
void mcp_dress_result(json_t *result, bool cacheable);

/* The HTTP status that goes with an error. */
int mcp_status_of(bool modern, int code);

/* Sends a whole message as the answer: as the last event of the stream that there is, of this id
 * (NULL: none), or else as JSON or, if the client takes nothing else, as a stream. */
void mcp_send(struct http_connection *connection, bool json_fine, int status, const char *event,
              const struct buffer *message);

/* ---- the eras ---- */

/* What is wrong with a message, if anything, is in code and complaint. */
void legacy_post(struct mcp_request *request);
void legacy_get(struct mcp_request *request);
void legacy_delete(struct mcp_request *request);
void modern_post(struct mcp_request *request);

/* Whether the request belongs to the modern era. */
bool modern_is_meant(const char *version_header, const json_t *meta);

/* "capabilities":{…} for a client that is promised these offers, and the "instructions" of whom it
 * is for, if there are some. */
void mcp_add_capabilities(struct buffer *out, const struct mcp_request *request, unsigned offers);

/* What the client is shown. */
const struct offer *mcp_offer(const struct mcp_request *request);

/* What a client that declares these capabilities can be asked for. */
unsigned mcp_capabilities_of(const json_t *capabilities);

/* By their rank. */
enum { MCP_LOG_LEVELS = 8 };
extern const char *const mcp_log_levels[MCP_LOG_LEVELS];

/* A log level's rank, 0 (debug) to 7 (emergency); -1: it is none. */
int mcp_log_level(const char *name);

#endif
