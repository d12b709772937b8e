#include "subscriptions.h"

#include <stdlib.h>
#include <string.h>

#include "serve/relay/editors.h"
#include "sessions.h"

struct listener {
    struct listener *next;
    struct serve *serve;
    struct http_connection *connection;
    json_t *id;
    bool lists[LIST_COUNT];
    json_t *uris; /* uri → true */
};

static const char *const changed_methods[LIST_COUNT] = {
    [LIST_TOOLS] = "notifications/tools/list_changed",
    [LIST_RESOURCES] = "notifications/resources/list_changed",
    [LIST_PROMPTS] = "notifications/prompts/list_changed",
};

static const char *const filters[LIST_COUNT] = {
    [LIST_TOOLS] = "toolsListChanged",
    [LIST_RESOURCES] = "resourcesListChanged",
    [LIST_PROMPTS] = "promptsListChanged",
};

/* ---- subscriptions/listen ---- */

static void release(struct listener *listener) {
    struct listener **at = &listener->serve->listeners;
    while (*at != listener)
        at = &(*at)->next;
    *at = listener->next;
    watch_remove_all(listener->serve, listener->uris);
    json_decref(listener->id);
    free(listener);
}

static void gone(void *user) {
    release(user);
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

static bool is_offered(const struct serve *serve, unsigned offer) {
    return (serve->offers & offer) == offer;
}

/* What nobody offers is not agreed to. */
static void read_filter(struct listener *listener, const json_t *wanted) {
    const json_t *uri;
    size_t i;
    for (int kind = 0; kind < LIST_COUNT; kind++)
        listener->lists[kind] = filters[kind] && is_offered(listener->serve, list_offer(kind)) &&
                                json_is_true(json_object_get(wanted, filters[kind]));
    if (!is_offered(listener->serve, OFFER_SUBSCRIBE))
        return;
    json_array_foreach(json_object_get(wanted, "resourceSubscriptions"), i, uri) {
        const char *text = json_string_value(uri);
        if (!text || strlen(text) > SERVE_URI_MOST ||
            json_object_size(listener->uris) >= SERVE_SUBSCRIPTIONS_MOST ||
            json_object_get(listener->uris, text))
            continue;
        json_object_set_new(listener->uris, text, json_true());
        watch_add(listener->serve, text);
    }
}

static json_t *agreed_filter(const struct listener *listener) {
    json_t *out = json_object(), *uris = json_array(), *value;
    const char *uri;
    for (int kind = 0; kind < LIST_COUNT; kind++)
        if (listener->lists[kind])
            json_object_set_new(out, filters[kind], json_true());
    json_object_foreach(listener->uris, uri, value) {
        json_array_append_new(uris, json_string(uri));
    }
    if (json_array_size(uris) > 0)
        json_object_set(out, "resourceSubscriptions", uris);
    json_decref(uris);
    return out;
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
    listener->next = request->serve->listeners;
    request->serve->listeners = listener;
    read_filter(listener, wanted);
    http_hold(request->connection, gone, listener);
    http_stream_begin(request->connection);
    tell_listener(listener, "notifications/subscriptions/acknowledged",
                  json_pack("{s:o}", "notifications", agreed_filter(listener)));
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

void listen_list_changed(struct serve *serve, enum list_kind kind) {
    unsigned offer = list_offer(kind);
    struct buffer out = {0};
    rpc_add_notification(&out, changed_methods[kind], NULL);
    for (struct mcp_session *session = serve->sessions; session; session = session->next)
        if ((session->promised & offer) == offer)
            session_tell(session, &out);
    buffer_finish(&out);
    for (struct listener *listener = serve->listeners; listener; listener = listener->next)
        if (listener->lists[kind])
            tell_listener(listener, changed_methods[kind], json_object());
}

/* ---- resources ---- */

static void tell_editor(struct serve *serve, const char *method, const char *uri) {
    if (serve->active && (serve->active->offers & OFFER_SUBSCRIBE))
        editor_tell(serve->active, ++serve->last_call, method, json_pack("{s:s}", "uri", uri));
}

static json_int_t watchers(const struct serve *serve, const char *uri) {
    return json_integer_value(json_object_get(serve->watched, uri));
}

void watch_add(struct serve *serve, const char *uri) {
    json_int_t count = watchers(serve, uri) + 1;
    if (!serve->watched)
        serve->watched = json_object();
    json_object_set_new(serve->watched, uri, json_integer(count));
    if (count == 1)
        tell_editor(serve, "resources/subscribe", uri);
}

void watch_remove(struct serve *serve, const char *uri) {
    json_int_t count = watchers(serve, uri) - 1;
    if (count > 0) {
        json_object_set_new(serve->watched, uri, json_integer(count));
        return;
    }
    tell_editor(serve, "resources/unsubscribe", uri);
    json_object_del(serve->watched, uri);
}

void watch_remove_all(struct serve *serve, json_t *uris) {
    const char *uri;
    json_t *value;
    json_object_foreach(uris, uri, value) {
        watch_remove(serve, uri);
    }
    json_decref(uris);
}

void watch_moved(struct serve *serve) {
    const char *uri;
    json_t *value;
    json_object_foreach(serve->watched, uri, value) {
        tell_editor(serve, "resources/subscribe", uri);
    }
}

void watch_updated(struct serve *serve, const char *uri) {
    static const char method[] = "notifications/resources/updated";
    struct buffer out = {0};
    if (!uri || watchers(serve, uri) == 0)
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
