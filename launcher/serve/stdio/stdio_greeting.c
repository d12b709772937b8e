/* A server up to 2025-11-25 is asked to initialize. One that refuses may be of 2026-07-28, which
 * has no such thing, and is asked to be discovered. Then its lists are fetched, page by page. */
#include "stdio_greeting.h"

#include <string.h>

#include "protocol/version.h"
#include "serve/relay/editors.h"

#define OURS "tether:"

enum { PAGES_MOST = 100, ENTRIES_MOST = 10000 };

/* ---- asking ---- */

void greeting_add_self(json_t *meta) {
    json_object_set_new(meta, META_VERSION, json_string(MCP_MODERN));
    json_object_set_new(meta, META_CLIENT,
                        json_pack("{s:s, s:s}", "name", "tether", "version", tether_version));
    json_object_set_new(meta, META_CAPABILITIES,
                        json_pack("{s:{}, s:{}, s:{}}", "sampling", "elicitation", "roots"));
}

void greeting_ask(struct stdio_server *server, const char *name, const char *method,
                  json_t *params) {
    struct buffer out = {0};
    json_t *meta;
    if (server->modern) {
        meta = json_object();
        greeting_add_self(meta);
        json_object_set_new(params, "_meta", meta);
    }
    buffer_format(&out,
                  "{\"jsonrpc\":\"2.0\",\"id\":\"" OURS "%s\",\"method\":\"%s\",\"params\":", name,
                  method);
    rpc_add_json(&out, params);
    buffer_add_char(&out, '}');
    json_decref(params);
    stdio_send(server, &out);
}

static void discover(struct stdio_server *server) {
    server->modern = true;
    greeting_ask(server, "discover", "server/discover", json_object());
}

/* What it once was it is again: calls for it have been written. */
void greeting_begin(struct stdio_server *server) {
    if (server->modern) {
        discover(server);
        return;
    }
    greeting_ask(server, "initialize", "initialize",
                 json_pack("{s:s, s:{s:{}, s:{}, s:{}}, s:{s:s, s:s, s:s}}", "protocolVersion",
                           MCP_NEWEST, "capabilities", "sampling", "elicitation", "roots",
                           "clientInfo", "name", "tether", "title", "Tether", "version",
                           tether_version));
}

/* ---- the lists ---- */

static void fetch(struct stdio_server *server, enum list_kind kind, const char *cursor) {
    json_t *params = json_object();
    if (cursor)
        json_object_set_new(params, "cursor", json_string(cursor));
    greeting_ask(server, list_terms[kind].name, list_terms[kind].method, params);
}

static void fetch_first(struct stdio_server *server, enum list_kind kind) {
    if (server->fetching & (1U << kind)) {
        server->doubted |= 1U << kind;
        return;
    }
    server->fetching |= 1U << kind;
    server->page_counts[kind] = 0;
    server->pages[kind] = json_array();
    fetch(server, kind, NULL);
}

static bool is_offered(const struct stdio_server *server, enum list_kind kind) {
    static const char *const keys[LIST_COUNT] = {[LIST_TOOLS] = "tools",
                                                 [LIST_RESOURCES] = "resources",
                                                 [LIST_TEMPLATES] = "resources",
                                                 [LIST_PROMPTS] = "prompts"};
    return json_is_object(json_object_get(server->capabilities, keys[kind]));
}

/* Everything has been told, or what changed has. */
static void settle(struct stdio_server *server) {
    json_t *offers;
    if (server->fetching)
        return;
    offers = json_pack("{s:O*, s:O*}", "capabilities", server->capabilities, "instructions",
                       server->instructions);
    for (int kind = 0; kind < LIST_COUNT; kind++) {
        if (server->pages[kind])
            json_object_set_new(offers, list_terms[kind].name, server->pages[kind]);
        server->pages[kind] = NULL;
    }
    editor_register(server->editor, offers);
    json_decref(offers);
    if (server->state == STDIO_STARTS && stdio_program_hears(&server->program))
        stdio_serves(server);
}

static void fetch_all(struct stdio_server *server) {
    for (int kind = 0; kind < LIST_COUNT; kind++)
        if (is_offered(server, (enum list_kind)kind))
            fetch_first(server, (enum list_kind)kind);
    settle(server);
}

static void take_page(struct stdio_server *server, enum list_kind kind, const json_t *result) {
    json_t *list = server->pages[kind];
    const char *cursor = rpc_text(result, "nextCursor");
    unsigned bit = 1U << kind;
    if (!(server->fetching & bit))
        return;
    if (!result && server->editor->greeted) { /* then what it has told before stays */
        json_decref(list);
        list = server->pages[kind] = NULL;
    }
    json_array_extend(list, json_object_get(result, list_terms[kind].name));
    if (cursor && ++server->page_counts[kind] < PAGES_MOST &&
        json_array_size(list) < ENTRIES_MOST) {
        fetch(server, kind, cursor);
        return;
    }
    if (cursor)
        fprintf(stderr, "tether serve: the server %s has no end of %s; what came so far is taken\n",
                server->editor->name, list_terms[kind].name);
    server->fetching &= ~bit;
    if (server->doubted & bit) {
        server->doubted &= ~bit;
        json_decref(list);
        server->pages[kind] = NULL;
        fetch_first(server, kind);
        return;
    }
    settle(server);
}

void greeting_list_changed(struct stdio_server *server, enum list_kind kind) {
    fetch_first(server, kind);
    if (kind == LIST_RESOURCES)
        fetch_first(server, LIST_TEMPLATES);
}

/* ---- answers ---- */

static void learn(struct stdio_server *server, const json_t *result) {
    json_t *info = json_object_get(result, "serverInfo");
    if (!info)
        info = json_object_get(json_object_get(result, "_meta"), META_SERVER);
    json_decref(server->capabilities);
    json_decref(server->instructions);
    server->capabilities = json_incref(json_object_get(result, "capabilities"));
    server->instructions = json_incref(json_object_get(result, "instructions"));
    if (!json_is_object(info) || !rpc_text(info, "name") || !rpc_text(info, "version"))
        return;
    json_decref(server->serve->presented);
    server->serve->presented = json_incref(info);
}

static void initialized(struct stdio_server *server, const struct rpc_message *message) {
    struct buffer out = {0};
    if (message->error) {
        discover(server);
        return;
    }
    learn(server, message->result);
    rpc_add_notification(&out, "notifications/initialized", NULL);
    stdio_send(server, &out);
    fetch_all(server);
}

static json_t *wanted_notes(const struct stdio_server *server) {
    json_t *filter = json_object(), *uris = json_array(), *value;
    const char *uri;
    for (int kind = 0; kind < LIST_COUNT; kind++)
        if (list_terms[kind].filter && is_offered(server, (enum list_kind)kind))
            json_object_set_new(filter, list_terms[kind].filter, json_true());
    if (server->editor == server->serve->active)
        json_object_foreach(server->serve->watched, uri, value) {
            json_array_append_new(uris, json_string(uri));
        }
    if (json_array_size(uris) > 0)
        json_object_set(filter, "resourceSubscriptions", uris);
    json_decref(uris);
    return filter;
}

/* What is listened to cannot be changed: it is listened anew, and then no more as before. */
void greeting_listen(struct stdio_server *server) {
    json_t *filter = wanted_notes(server);
    unsigned before = server->listens;
    struct buffer out = {0};
    char name[32];
    if (before > 0 || json_object_size(filter) > 0) {
        snprintf(name, sizeof name, "listen-%u", ++server->listens);
        greeting_ask(server, name, "subscriptions/listen",
                     json_pack("{s:O}", "notifications", filter));
    }
    json_decref(filter);
    if (before == 0)
        return;
    snprintf(name, sizeof name, OURS "listen-%u", before);
    rpc_add_notification(&out, "notifications/cancelled", json_pack("{s:s}", "requestId", name));
    stdio_send(server, &out);
}

/* What it has to say later it says to who listens. */
static void discovered(struct stdio_server *server, const struct rpc_message *message) {
    if (message->error) {
        const char *why = rpc_text(message->error, "message");
        fprintf(stderr,
                "tether serve: the server %s neither initializes nor is discovered (%.200s), so it "
                "is no MCP server that can be served\n",
                server->editor->name, why ? why : "without a reason");
        stdio_give_up(server);
        return;
    }
    learn(server, message->result);
    server->listens = 0;
    greeting_listen(server);
    fetch_all(server);
}

void greeting_answer(struct stdio_server *server, const struct rpc_message *message) {
    const char *id = json_string_value(message->id);
    if (!id || strncmp(id, OURS, strlen(OURS)) != 0)
        return;
    id += strlen(OURS);
    if (strcmp(id, "initialize") == 0 && server->state == STDIO_STARTS && !server->modern)
        initialized(server, message);
    else if (strcmp(id, "discover") == 0 && server->state == STDIO_STARTS)
        discovered(server, message);
    for (int kind = 0; kind < LIST_COUNT; kind++)
        if (strcmp(id, list_terms[kind].name) == 0)
            take_page(server, (enum list_kind)kind, message->result);
}

void greeting_finish(struct stdio_server *server) {
    for (int kind = 0; kind < LIST_COUNT; kind++) {
        json_decref(server->pages[kind]);
        server->pages[kind] = NULL;
    }
    json_decref(server->capabilities);
    json_decref(server->instructions);
    server->capabilities = server->instructions = NULL;
    server->fetching = server->doubted = 0;
}
