/* Answers, dressed as the era of their request wants them. */
#include "mcp.h"

#include <stdio.h>
#include <string.h>

#include "protocol/version.h"
#include "serve/relay/editors.h"

int mcp_status_of(bool modern, int code) {
    switch (code) {
    case RPC_PARSE_ERROR:
    case RPC_INVALID_REQUEST:
        return 400;
    case RPC_METHOD_NOT_FOUND:
        return modern ? 404 : 200;
    case MCP_HEADER_MISMATCH:
    case MCP_MISSING_CAPABILITY:
    case MCP_UNSUPPORTED_VERSION:
        return modern ? 400 : 200;
    default:
        return 200;
    }
}

void mcp_send(struct http_connection *connection, bool json_fine, int status, const char *event,
              const struct buffer *message) {
    bool is_streaming = http_is_streaming(connection);
    if (message->failed && !is_streaming) {
        http_reply(connection, 500, NULL, NULL, NULL, 0);
    } else if ((json_fine || status != 200) && !is_streaming) {
        http_reply(connection, status, NULL, "application/json", message->data, message->length);
    } else {
        if (!is_streaming)
            http_stream_begin(connection);
        if (http_stream_event(connection, event, message->data, message->length))
            http_stream_end(connection);
    }
}

/* The message is consumed. */
static void send_text(struct mcp_request *request, int status, struct buffer *message) {
    bool json_fine = http_accepts(request->http->headers[HTTP_ACCEPT], "application/json");
    mcp_send(request->connection, json_fine, status, NULL, message);
    buffer_finish(message);
}

void mcp_add_members(struct buffer *out, const json_t *id, bool modern, bool cacheable,
                     const struct scan_span *members) {
    buffer_reserve(out, members->length + 512);
    rpc_add_result_begin(out, id);
    buffer_add_char(out, '{');
    if (modern)
        buffer_add_literal(out, "\"resultType\":\"complete\",");
    if (modern && cacheable)
        buffer_add_literal(out, "\"ttlMs\":0,\"cacheScope\":\"private\",");
    buffer_add(out, members->at, members->length);
    if (modern) {
        if (members->length > 0)
            buffer_add_char(out, ',');
        buffer_add_literal(out,
                           "\"_meta\":{\"" META_SERVER "\":{\"name\":\"tether\",\"version\":\"");
        buffer_add_text(out, tether_version);
        buffer_add_literal(out, "\"}}");
    }
    buffer_add_literal(out, "}}");
}

void mcp_reply_members(struct mcp_request *request, bool cacheable, const char *members,
                       size_t length) {
    const struct scan_span all = {members, length};
    struct buffer out = {0};
    mcp_add_members(&out, request->message.id, request->modern, cacheable, &all);
    send_text(request, 200, &out);
}

void mcp_dress_result(json_t *result, bool cacheable) {
    json_t *meta = json_object_get(result, "_meta");
    if (!json_object_get(result, "resultType"))
        json_object_set_new(result, "resultType", json_string("complete"));
    if (!json_is_object(meta)) {
        meta = json_object();
        json_object_set_new(result, "_meta", meta);
    }
    json_object_set_new(meta, META_SERVER,
                        json_pack("{s:s, s:s}", "name", "tether", "version", tether_version));
    if (!cacheable)
        return;
    if (!json_is_integer(json_object_get(result, "ttlMs")))
        json_object_set_new(result, "ttlMs", json_integer(0));
    if (!json_is_string(json_object_get(result, "cacheScope")))
        json_object_set_new(result, "cacheScope", json_string("private"));
}

void mcp_reply_result(struct mcp_request *request, json_t *result) {
    struct buffer out = {0};
    if (request->modern)
        mcp_dress_result(result, false);
    rpc_add_result(&out, request->message.id, result);
    send_text(request, 200, &out);
}

void mcp_reply_status(struct mcp_request *request, int status, int code, const char *text,
                      json_t *data) {
    struct buffer out = {0};
    rpc_add_error(&out, request->message.id, code, text, data);
    json_decref(data);
    send_text(request, status, &out);
}

void mcp_reply_error(struct mcp_request *request, int code, const char *text, json_t *data) {
    mcp_reply_status(request, mcp_status_of(request->modern, code), code, text, data);
}

void mcp_reply_missing(struct mcp_request *request, const char *what) {
    char text[128];
    snprintf(text, sizeof text, "params must have \"%s\", as text", what);
    mcp_reply_error(request, RPC_INVALID_PARAMS, text, NULL);
}

void mcp_reply_refusal(struct mcp_request *request, int status, const char *text) {
    mcp_reply_status(request, status, RPC_INVALID_REQUEST, text, NULL);
}

void mcp_reply_failure(struct mcp_request *request, const char *text) {
    if (strcmp(request->message.method, "tools/call") == 0)
        mcp_reply_result(request, tool_failure("%s", text));
    else
        mcp_reply_error(request, RPC_INTERNAL_ERROR, text, NULL);
}

void mcp_accepted(struct mcp_request *request) {
    http_reply(request->connection, 202, NULL, NULL, NULL, 0);
}
