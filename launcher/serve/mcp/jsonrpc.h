/* JSON-RPC 2.0 as MCP uses it: strict about what comes in. Pure functions. */
#ifndef TETHER_SERVE_MCP_JSONRPC_H
#define TETHER_SERVE_MCP_JSONRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "buffer.h"
#include "json_scan.h"

enum {
    RPC_DEPTH_MOST = 128,
    /* A value takes up to 280 bytes of memory, and two of text: a message is not read if it has
     * more of them. Clients are strangers to each other; editors are ours, and say much. */
    RPC_VALUES_MOST = 128 * 1024,
    RPC_VALUES_MOST_EDITOR = 1024 * 1024,
    RPC_ID_MOST = 256, /* bytes of an id that is text */

    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
};

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

struct rpc_message {
    json_t *root; /* owned; all below are parts of it */
    enum rpc_kind kind;
    const char *method;       /* not of responses */
    json_t *id;               /* NULL for notifications */
    json_t *params;           /* an object, or NULL */
    json_t *result;           /* of responses: this */
    json_t *error;            /* or that */
    struct scan_span written; /* the params as they stand in the text; at NULL: there are none, or
                                 their key is written with escapes */
    int code;                 /* what is wrong, as JSON-RPC numbers it */
    bool is_too_large;
    const char *complaint; /* and in words */
};

/* Reads one message of at most so many values. False: code and complaint say why not, and id, if it
 * could be told, for whom. Call rpc_finish in both cases. */
bool rpc_parse(struct rpc_message *message, const char *text, size_t length, size_t values_most);
void rpc_finish(struct rpc_message *message);

/* Whether it is a number or a text that is not too long. */
bool rpc_is_id(const json_t *id);

/* ---- writing ---- */

void rpc_add_json(struct buffer *out, const json_t *value);

/* The same; NULL is written as null. */
void rpc_add_value(struct buffer *out, const json_t *value);

/* {"jsonrpc":"2.0","id":…,"error":{…}}; data: NULL for none. */
void rpc_add_error(struct buffer *out, const json_t *id, int code, const char *text,
                   const json_t *data);

/* {"jsonrpc":"2.0","id":…,"result": — to be closed by a brace. */
void rpc_add_result_begin(struct buffer *out, const json_t *id);

/* A whole result; consumed. */
void rpc_add_result(struct buffer *out, const json_t *id, json_t *result);

/* {"jsonrpc":"2.0","id":…,"method":"…","params": — to be closed by a brace. number 0: without id.
 */
void rpc_add_request_begin(struct buffer *out, int64_t number, const char *method);

/* A whole notification; the params are consumed. */
void rpc_add_notification(struct buffer *out, const char *method, json_t *params);

/* The text of a string value, or NULL. Text with a NUL inside, which JSON allows in what is passed
 * on, is no name of anything: NULL, too. */
const char *rpc_text(const json_t *object, const char *key);

#endif
