/* The legacy era: sessions that begin with initialize; POST, GET and DELETE. */
#include <stdlib.h>
#include <string.h>

#include "protocol/version.h"
#include "serve/relay/calls.h"
#include "sessions.h"
#include "subscriptions.h"

static void fail(struct mcp_request *request, int status, const char *text) {
    mcp_reply_status(request, status, RPC_INVALID_REQUEST, text, NULL);
}

static void empty(struct mcp_request *request) {
    mcp_reply_members(request, false, "", 0);
}

/* ---- initialize ---- */

static void write_initialized(struct buffer *out, const struct mcp_session *session,
                              const json_t *id) {
    const struct editor *editor = session->serve->active;
    const char *instructions = editor ? editor->instructions : NULL;
    rpc_add_result_begin(out, id);
    buffer_add_literal(out, "{\"protocolVersion\":\"");
    buffer_add_text(out, session_versions[session->version]);
    buffer_add_literal(out, "\",");
    mcp_add_capabilities(out, session->promised);
    buffer_add_literal(out,
                       ",\"serverInfo\":{\"name\":\"tether\",\"title\":\"Tether\",\"version\":\"");
    buffer_add_text(out, tether_version);
    buffer_add_literal(out, "\"}");
    if (instructions) {
        json_t *text = json_string(instructions);
        buffer_add_literal(out, ",\"instructions\":");
        rpc_add_json(out, text);
        json_decref(text);
    }
    buffer_add_char(out, '}');
    rpc_add_result_end(out);
}

static void initialize(struct mcp_request *request) {
    struct serve *serve = request->serve;
    const char *wanted = rpc_text(request->message.params, "protocolVersion");
    char header[32 + SESSION_ID_TEXT];
    struct buffer out = {0};
    struct mcp_session *session;
    int version;
    if (!wanted) {
        mcp_reply_error(request, RPC_INVALID_PARAMS, "params must have \"protocolVersion\"", NULL);
        return;
    }
    version = session_version_index(wanted);
    session = session_create(serve, version < 0 ? 0 : (unsigned)version, request->message.params);
    if (!session) {
        mcp_reply_error(request, RPC_INTERNAL_ERROR, "no session can be had now", NULL);
        return;
    }
    write_initialized(&out, session, request->message.id);
    snprintf(header, sizeof header, "Mcp-Session-Id: %s\r\n", session->id);
    http_reply(request->connection, 200, header, "application/json", out.data, out.length);
    buffer_finish(&out);
}

/* ---- requests ---- */

static void set_level(struct mcp_request *request) {
    int level = mcp_log_level(rpc_text(request->message.params, "level"));
    if (level < 0) {
        mcp_reply_error(request, RPC_INVALID_PARAMS,
                        "params must have \"level\", one of RFC 5424's", NULL);
        return;
    }
    request->session->log_level = level;
    empty(request);
}

static void subscribe(struct mcp_request *request) {
    const char *uri = rpc_text(request->message.params, "uri");
    struct mcp_session *session = request->session;
    if (!uri || strlen(uri) > SERVE_URI_MOST) {
        mcp_reply_error(request, RPC_INVALID_PARAMS,
                        uri ? "this uri is too long" : "params must have \"uri\"", NULL);
        return;
    }
    if (!session->subscriptions)
        session->subscriptions = json_object();
    if (json_object_size(session->subscriptions) >= SERVE_SUBSCRIPTIONS_MOST) {
        mcp_reply_error(request, RPC_INVALID_PARAMS, "too many subscriptions", NULL);
        return;
    }
    if (!json_object_get(session->subscriptions, uri)) {
        json_object_set_new(session->subscriptions, uri, json_true());
        watch_add(request->serve, uri);
    }
    empty(request);
}

static void unsubscribe(struct mcp_request *request) {
    const char *uri = rpc_text(request->message.params, "uri");
    if (!uri) {
        mcp_reply_error(request, RPC_INVALID_PARAMS, "params must have \"uri\"", NULL);
        return;
    }
    if (json_object_get(request->session->subscriptions, uri)) {
        watch_remove(request->serve, uri);
        json_object_del(request->session->subscriptions, uri);
    }
    empty(request);
}

static void run(struct mcp_request *request) {
    static const struct mcp_method methods[] = {
        {"ping", empty, 0},
        {"logging/setLevel", set_level, OFFER_LOGGING},
        {"resources/subscribe", subscribe, OFFER_SUBSCRIBE},
        {"resources/unsubscribe", unsubscribe, OFFER_SUBSCRIBE},
    };
    if (!mcp_run(request, methods, sizeof methods / sizeof methods[0]))
        mcp_run_shared(request);
}

static void notified(struct mcp_request *request) {
    json_t *id = json_object_get(request->message.params, "requestId");
    struct call *call;
    if (strcmp(request->message.method, "notifications/cancelled") == 0 && id) {
        call = call_find(request->serve, request->session, id);
        if (call)
            call_cancel(call, rpc_text(request->message.params, "reason"));
    }
    mcp_accepted(request);
}

/* ---- the endpoint ---- */

static struct mcp_session *find_session(struct serve *serve, const struct http_request *http,
                                        int *status) {
    const char *id = http->headers[HTTP_SESSION_ID];
    struct mcp_session *session = id ? session_find(serve, id) : NULL;
    *status = !id ? 400 : 404;
    return session;
}

static const char *session_complaint(int status) {
    return status == 400 ? "a session id is missing: begin with initialize, then send the header "
                           "Mcp-Session-Id"
                         : "there is no such session (any more): begin with initialize";
}

static bool version_is_fine(const struct http_request *http) {
    const char *version = http->headers[HTTP_PROTOCOL_VERSION];
    return !version || session_version_index(version) >= 0;
}

static const char wrong_version[] =
    "this protocol version is not supported; these are: 2026-07-28, 2025-11-25, 2025-06-18, "
    "2025-03-26";

void legacy_post(struct mcp_request *request) {
    struct rpc_message *message = &request->message;
    int status;
    if (!version_is_fine(request->http)) {
        fail(request, 400, wrong_version);
        return;
    }
    if (message->kind == RPC_REQUEST && strcmp(message->method, "initialize") == 0) {
        initialize(request);
        return;
    }
    request->session = find_session(request->serve, request->http, &status);
    if (!request->session) {
        fail(request, status, session_complaint(status));
    } else if (message->kind == RPC_REQUEST) {
        run(request);
    } else if (message->kind == RPC_NOTIFICATION) {
        notified(request);
    } else {
        input_response(request->serve, request->session, message);
        mcp_accepted(request);
    }
}

static void stream_gone(void *user) {
    struct mcp_session *session = user;
    session->stream = NULL;
}

static void refuse(struct http_connection *connection, int status, const char *text) {
    struct buffer out = {0};
    rpc_add_error(&out, NULL, RPC_INVALID_REQUEST, text, NULL);
    http_reply_json(connection, status, out.data, out.length);
    buffer_finish(&out);
}

/* The stream of a call that the client has lost; false: the last event was none of a call's. */
static bool resume(struct mcp_session *session, struct http_connection *connection,
                   const char *last) {
    int64_t number;
    uint32_t event;
    if (!last || !resume_read_id(session->serve, last, &number, &event))
        return false;
    if (!call_reconnect(session, connection, number, event))
        refuse(connection, 400,
               "nothing is known any more of the stream that this event was in; what it was about "
               "may or may not have taken effect");
    return true;
}

/* A session has one stream of its own; a client that opens another has lost the first. */
void legacy_get(struct serve *serve, struct http_connection *connection,
                const struct http_request *http) {
    struct mcp_session *session;
    int status;
    if (!http_accepts(http->headers[HTTP_ACCEPT], "text/event-stream")) {
        refuse(connection, 406, "a client must accept text/event-stream");
        return;
    }
    session = version_is_fine(http) ? find_session(serve, http, &status) : (status = 400, NULL);
    if (!session) {
        refuse(connection, status,
               version_is_fine(http) ? session_complaint(status) : wrong_version);
        return;
    }
    if (resume(session, connection, http->headers[HTTP_LAST_EVENT_ID]))
        return;
    if (session->stream)
        http_stream_end(session->stream);
    session->stream = connection;
    http_hold(connection, stream_gone, session);
    http_stream_begin(connection);
}

void legacy_delete(struct serve *serve, struct http_connection *connection,
                   const struct http_request *http) {
    int status;
    struct mcp_session *session = find_session(serve, http, &status);
    if (!session) {
        refuse(connection, status, session_complaint(status));
        return;
    }
    session_end(session);
    http_reply(connection, 204, NULL, NULL, NULL, 0);
}
