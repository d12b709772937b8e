/* The legacy era: sessions that begin with initialize; POST, GET and DELETE. */
#include <stdlib.h>
#include <string.h>

#include "caller.h"
#include "protocol/version.h"
#include "serve/relay/calls.h"
#include "serve/relay/expect.h"
#include "serve/stdio/stdio_server.h"
#include "sessions.h"
#include "subscriptions.h"

static void empty(struct mcp_request *request) {
    mcp_reply_members(request, false, "", 0);
}

/* ---- initialize ---- */

static void write_initialized(struct buffer *out, const struct mcp_request *request,
                              const struct mcp_session *session) {
    rpc_add_result_begin(out, request->message.id);
    buffer_format(out, "{\"protocolVersion\":\"%s\",", session_versions[session->version]);
    mcp_add_capabilities(out, request, session->promised);
    buffer_add_literal(out, ",\"serverInfo\":");
    if (session->serve->presented)
        rpc_add_json(out, session->serve->presented);
    else
        buffer_format(out, "{\"name\":\"tether\",\"title\":\"Tether\",\"version\":\"%s\"}",
                      tether_version);
    buffer_add_literal(out, "}}");
}

static void initialize(struct mcp_request *request) {
    struct serve *serve = request->serve;
    const char *wanted = rpc_text(request->message.params, "protocolVersion");
    char header[32 + SESSION_ID_TEXT];
    struct buffer out = {0};
    int version = wanted ? session_version_index(wanted) : 0;
    struct mcp_session *session;
    if (!wanted) {
        mcp_reply_missing(request, "protocolVersion");
    } else if (!(session = session_create(serve, version < 0 ? 0 : (unsigned)version,
                                          request->message.params))) {
        mcp_reply_error(request, RPC_INTERNAL_ERROR, "no session can be had now", NULL);
    } else {
        session_note(session, request->said);
        session_see(session);
        write_initialized(&out, request, session);
        snprintf(header, sizeof header, "Mcp-Session-Id: %s\r\n", session->id);
        http_reply(request->connection, 200, header, "application/json", out.data, out.length);
        buffer_finish(&out);
    }
}

/* ---- roots ---- */

#define ROOTS_ID "tether-roots"

/* Asks a client that has roots where it works, on its stream, unless its URL has said so. Clients
 * of the other era are not asked: they have no session in which the answer could be kept. */
static void ask_roots(struct mcp_session *session) {
    struct buffer out = {0};
    if (!session->stream || !(session->capabilities & MCP_ROOTS) ||
        session->serve->options->stdio || json_object_get(session->said, "project") ||
        json_object_get(session->said, "near"))
        return;
    buffer_add_literal(&out,
                       "{\"jsonrpc\":\"2.0\",\"id\":\"" ROOTS_ID "\",\"method\":\"roots/list\"}");
    session_tell(session, &out);
    buffer_finish(&out);
}

/* Its editor may be another one now, and with that its lists. */
static void take_roots(struct mcp_session *session, const struct rpc_message *message) {
    const char *id = json_string_value(message->id);
    if (!message->result || !id || strcmp(id, ROOTS_ID) != 0)
        return;
    json_decref(session->roots);
    session->roots = caller_roots(message->result);
    session_tell_changes(session);
}

/* ---- requests ---- */

static void set_level(struct mcp_request *request) {
    int level = mcp_log_level(rpc_text(request->message.params, "level"));
    if (level < 0) {
        mcp_reply_error(request, RPC_INVALID_PARAMS,
                        "params must have \"level\", one of RFC 5424's", NULL);
    } else {
        request->session->log_level = level;
        request->session->level_set = true;
        stdio_set_level(request->serve);
        empty(request);
    }
}

static void subscribe(struct mcp_request *request) {
    const char *uri = rpc_text(request->message.params, "uri");
    struct mcp_session *session = request->session;
    if (!uri) {
        mcp_reply_missing(request, "uri");
    } else if (strlen(uri) > SERVE_URI_MOST) {
        mcp_reply_error(request, RPC_INVALID_PARAMS, "this uri is too long", NULL);
    } else if (json_object_size(session->subscriptions) >= SERVE_SUBSCRIPTIONS_MOST) {
        mcp_reply_error(request, RPC_INVALID_PARAMS, "too many subscriptions", NULL);
    } else {
        if (!session->subscriptions)
            session->subscriptions = json_object();
        json_object_set_new(session->subscriptions, uri, json_true());
        watch_update(request->serve);
        empty(request);
    }
}

static void unsubscribe(struct mcp_request *request) {
    const char *uri = rpc_text(request->message.params, "uri");
    if (!uri) {
        mcp_reply_missing(request, "uri");
    } else {
        json_object_del(request->session->subscriptions, uri);
        watch_update(request->serve);
        empty(request);
    }
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
    if (strcmp(request->message.method, "notifications/roots/list_changed") == 0)
        ask_roots(request->session);
    mcp_accepted(request);
}

/* ---- the endpoint ---- */

/* False: it has been answered. */
static bool check_version(struct mcp_request *request) {
    const char *version = request->http->headers[HTTP_PROTOCOL_VERSION];
    bool known = !version || session_version_index(version) >= 0;
    if (!known)
        mcp_reply_refusal(request, 400,
                          "this protocol version is not supported; these are: 2026-07-28, "
                          "2025-11-25, 2025-06-18, 2025-03-26");
    return known;
}

/* False: it has been answered. */
static bool find_session(struct mcp_request *request) {
    const char *id = request->http->headers[HTTP_SESSION_ID];
    request->session = id ? session_find(request->serve, id) : NULL;
    if (!id)
        mcp_reply_refusal(request, 400,
                          "a session id is missing: begin with initialize, then send the header "
                          "Mcp-Session-Id");
    else if (!request->session)
        mcp_reply_refusal(request, 404,
                          "there is no such session (any more): begin with initialize");
    else
        session_note(request->session, request->said);
    return request->session != NULL;
}

void legacy_post(struct mcp_request *request) {
    struct rpc_message *message = &request->message;
    if (!check_version(request))
        return;
    if (message->kind == RPC_REQUEST && strcmp(message->method, "initialize") == 0) {
        initialize(request);
    } else if (!find_session(request)) {
        return;
    } else if (message->kind == RPC_REQUEST) {
        run(request);
    } else if (message->kind == RPC_NOTIFICATION) {
        notified(request);
    } else {
        if (!input_response(request->serve, request->session, message))
            take_roots(request->session, message);
        mcp_accepted(request);
    }
}

static void stream_gone(void *user) {
    struct mcp_session *session = user;
    session->stream = NULL;
    session->used_at = os_clock_ms();
    expect_streams(session->serve);
}

/* The stream of a call that the client has lost; false: the last event was none of a call's. */
static bool resume(struct mcp_request *request) {
    const char *last = request->http->headers[HTTP_LAST_EVENT_ID];
    int64_t number;
    uint32_t event;
    if (!last || !resume_read_id(request->serve, last, &number, &event))
        return false;
    if (!call_reconnect(request->session, request->connection, number, event))
        mcp_reply_refusal(request, 400,
                          "nothing is known any more of the stream that this event was in; what it "
                          "was about may or may not have taken effect");
    return true;
}

/* A session has one stream of its own; a client that opens another has lost the first. */
void legacy_get(struct mcp_request *request) {
    struct mcp_session *session;
    if (!http_accepts(request->http->headers[HTTP_ACCEPT], "text/event-stream")) {
        mcp_reply_refusal(request, 406, "a client must accept text/event-stream");
        return;
    }
    if (!check_version(request) || !find_session(request) || resume(request))
        return;
    session = request->session;
    if (session->stream)
        http_stream_end(session->stream);
    session->stream = request->connection;
    http_hold(request->connection, stream_gone, session);
    http_stream_begin(request->connection);
    expect_streams(request->serve);
    session_tell_changes(session);
    if (!session->roots)
        ask_roots(session);
}

void legacy_delete(struct mcp_request *request) {
    if (!find_session(request))
        return;
    session_end(request->session);
    http_reply(request->connection, 204, NULL, NULL, NULL, 0);
}
