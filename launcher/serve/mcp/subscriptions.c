#include "subscriptions.h"

#include <stdlib.h>
#include <string.h>

#include "caller.h"
#include "serve/relay/editors.h"
#include "serve/relay/expect.h"
#include "serve/stdio/stdio_server.h"
#include "sessions.h"

struct listener {
    struct listener *next;
    struct serve *serve;
    struct http_connection *connection;
    json_t *id;
    bool lists[LIST_COUNT];
    json_t *uris; /* uri → true */
    json_t *said; /* in its URL, or NULL */
    uint64_t seen[LIST_COUNT];
};

/* ---- subscriptions/listen ---- */

static void release(void *user) {
    struct listener *listener = user, **at = &listener->serve->listeners;
    while (*at != listener)
        at = &(*at)->next;
    *at = listener->next;
    expect_streams(listener->serve);
    watch_update(listener->serve);
    json_decref(listener->said);
    json_decref(listener->uris);
    json_decref(listener->id);
    free(listener);
}

/* The params are consumed. */
static void tell_listener(struct listener *listener, const char *method, json_t *params) {
    struct buffer out = {0};
    json_object_set_new(params, "_meta", json_pack("{s:O}", META_SUBSCRIPTION, listener->id));
    rpc_add_notification(&out, method, params);
    if (!out.failed)
        http_stream_event(listener->connection, NULL, out.data, out.length);
    buffer_finish(&out);
}

/* What nobody offers is not agreed to. */
static void read_filter(struct listener *listener, const json_t *wanted) {
    unsigned missing = ~listener->serve->offers;
    const json_t *uri;
    size_t i;
    for (int kind = 0; kind < LIST_COUNT; kind++)
        listener->lists[kind] = list_terms[kind].filter && !(list_terms[kind].offer & missing) &&
                                json_is_true(json_object_get(wanted, list_terms[kind].filter));
    if (missing & OFFER_SUBSCRIBE)
        return;
    json_array_foreach(json_object_get(wanted, "resourceSubscriptions"), i, uri) {
        const char *text = json_string_value(uri);
        if (!text || strlen(text) > SERVE_URI_MOST ||
            json_object_size(listener->uris) >= SERVE_SUBSCRIPTIONS_MOST ||
            json_object_get(listener->uris, text))
            continue;
        json_object_set_new(listener->uris, text, json_true());
    }
}

static json_t *agreed_filter(const struct listener *listener) {
    json_t *out = json_object(), *uris = json_array(), *value;
    const char *uri;
    for (int kind = 0; kind < LIST_COUNT; kind++)
        if (listener->lists[kind])
            json_object_set_new(out, list_terms[kind].filter, json_true());
    json_object_foreach(listener->uris, uri, value) {
        json_array_append_new(uris, json_string(uri));
    }
    if (json_array_size(uris) > 0)
        json_object_set(out, "resourceSubscriptions", uris);
    json_decref(uris);
    return out;
}

static void tell_changes(struct listener *listener) {
    struct serve *serve = listener->serve;
    const struct offer *offer = caller_offer(serve, NULL, listener->said);
    uint64_t seen[LIST_COUNT];
    memcpy(seen, listener->seen, sizeof seen);
    memcpy(listener->seen, offer->marks, sizeof listener->seen);
    for (int kind = 0; kind < LIST_COUNT; kind++)
        if (listener->lists[kind] && list_has_changed(offer, seen, (enum list_kind)kind))
            tell_listener(listener, list_terms[kind].changed, json_object());
}

void listen_start(struct mcp_request *request) {
    const json_t *wanted = json_object_get(request->message.params, "notifications");
    struct listener *listener;
    if (!json_is_object(wanted)) {
        mcp_reply_error(request, RPC_INVALID_PARAMS, "params must have \"notifications\"", NULL);
        return;
    }
    listener = calloc(1, sizeof *listener);
    if (!listener) {
        mcp_reply_error(request, RPC_INTERNAL_ERROR, "out of memory", NULL);
        return;
    }
    listener->serve = request->serve;
    listener->connection = request->connection;
    listener->id = json_incref(request->message.id);
    listener->uris = json_object();
    listener->said = json_incref(request->said);
    memcpy(listener->seen,
           kept_at_start(request->serve, caller_path(request->serve, NULL, request->said)),
           sizeof listener->seen);
    listener->next = request->serve->listeners;
    request->serve->listeners = listener;
    read_filter(listener, wanted);
    watch_update(request->serve);
    http_hold(request->connection, release, listener);
    http_stream_begin(request->connection);
    tell_listener(listener, "notifications/subscriptions/acknowledged",
                  json_pack("{s:o}", "notifications", agreed_filter(listener)));
    expect_streams(request->serve);
    tell_changes(listener); /* since the last server: it may have listened to that one */
}

void listen_finish(struct serve *serve) {
    struct listener *listener;
    while ((listener = serve->listeners) != NULL) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): release has taken the last one out */
        struct http_connection *connection = listener->connection;
        release(listener);
        http_stream_end(connection);
    }
}

/* ---- lists ---- */

void listen_lists_changed(struct serve *serve) {
    for (struct mcp_session *session = serve->sessions; session; session = session->next)
        session_tell_changes(session);
    for (struct listener *listener = serve->listeners; listener; listener = listener->next)
        tell_changes(listener);
}

/* ---- resources ---- */

static void tell_editor(struct serve *serve, const char *method, const char *uri) {
    if (serve->active && (serve->active->offer->offers & OFFER_SUBSCRIBE))
        editor_tell(serve->active, ++serve->last_call, method, json_pack("{s:s}", "uri", uri));
}

void watch_update(struct serve *serve) {
    json_t *before = serve->watched, *now = json_object(), *value;
    const char *uri;
    for (const struct mcp_session *session = serve->sessions; session; session = session->next)
        json_object_update(now, session->subscriptions);
    for (const struct listener *listener = serve->listeners; listener; listener = listener->next)
        json_object_update(now, listener->uris);
    serve->watched = now;
    if (!json_equal(before, now) && !stdio_watch(serve)) {
        json_object_foreach(now, uri, value) {
            if (!json_object_get(before, uri))
                tell_editor(serve, "resources/subscribe", uri);
        }
        json_object_foreach(before, uri, value) {
            if (!json_object_get(now, uri))
                tell_editor(serve, "resources/unsubscribe", uri);
        }
    }
    json_decref(before);
}

void watch_moved(struct serve *serve) {
    json_object_clear(serve->watched);
    watch_update(serve);
}

void watch_updated(struct serve *serve, const char *uri) {
    static const char method[] = "notifications/resources/updated";
    struct buffer out = {0};
    if (!json_object_get(serve->watched, uri))
        return;
    rpc_add_notification(&out, method, json_pack("{s:s}", "uri", uri));
    for (struct mcp_session *session = serve->sessions; session; session = session->next)
        if (json_object_get(session->subscriptions, uri))
            session_tell(session, &out);
    buffer_finish(&out);
    for (struct listener *listener = serve->listeners; listener; listener = listener->next)
        if (json_object_get(listener->uris, uri))
            tell_listener(listener, method, json_pack("{s:s}", "uri", uri));
}
