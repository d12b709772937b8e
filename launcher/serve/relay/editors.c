#include "editors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "expect.h"
#include "json_scan.h"
#include "protocol/version.h"
#include "readable.h"
#include "serve/mcp/subscriptions.h"
#include "serve/stdio/stdio_server.h"
#include "utf8.h"

/* ---- sending ---- */

const char *editor_kind(const struct editor *editor) {
    return editor && editor->program ? "server" : "Godot editor";
}

bool editor_send(struct editor *editor, struct buffer *message) {
    if (editor->program)
        return stdio_send(editor->program, message);
    bool sent = !editor->closing && !message->failed &&
                websocket_stream_send(&editor->socket->stream, message->data, message->length) == 0;
    buffer_finish(message);
    return sent;
}

bool editor_tell(struct editor *editor, int64_t number, const char *method, json_t *params) {
    struct buffer out = {0};
    rpc_add_request_begin(&out, number, method);
    rpc_add_json(&out, params);
    buffer_add_char(&out, '}');
    json_decref(params);
    return editor_send(editor, &out);
}

void editor_answer(struct editor *editor, const json_t *id, json_t *result) {
    struct buffer out = {0};
    rpc_add_result(&out, id, result);
    editor_send(editor, &out);
}

void editor_refuse(struct editor *editor, const json_t *id, int code, const char *text,
                   json_t *data) {
    struct buffer out = {0};
    rpc_add_error(&out, id, code, text, data);
    json_decref(data);
    editor_send(editor, &out);
}

/* ---- who is active ---- */

static void update_active(struct serve *serve) {
    struct editor *best = NULL;
    for (struct editor *editor = serve->editors; editor; editor = editor->next)
        if (editor->greeted && !editor->closing && (!best || editor->activated > best->activated))
            best = editor;
    if (best == serve->active)
        return;
    serve->active = best;
    if (best && best->offer->is_known)
        kept_set(serve, best->offer);
    listen_lists_changed(serve);
    watch_moved(serve);
}

void editor_activate(struct editor *editor) {
    editor->activated = ++editor->serve->activations;
    update_active(editor->serve);
}

static struct editor *find_id(const struct serve *serve, const char *id) {
    for (struct editor *editor = serve->editors; editor; editor = editor->next)
        if (editor->greeted && strcmp(editor->id, id) == 0)
            return editor;
    return NULL;
}

struct editor *editor_find(const struct serve *serve, const char *which, bool *several) {
    static const char *const keys[] = {"path", "project"};
    struct editor *found = find_id(serve, which);
    *several = false;
    for (size_t i = 0; !found && i < sizeof keys / sizeof keys[0]; i++)
        for (struct editor *editor = serve->editors; editor; editor = editor->next) {
            const char *text = editor->greeted ? rpc_text(editor->hello, keys[i]) : NULL;
            if (!text || strcmp(text, which) != 0)
                continue;
            *several |= found != NULL;
            found = editor;
        }
    return *several ? NULL : found;
}

void editor_mark(const struct editor *editor, char out[EDITOR_MARK_MAX]) {
    json_int_t pid = json_integer_value(json_object_get(editor->hello, "pid"));
    const char *start = rpc_text(editor->hello, "start");
    uint64_t known;
    if (pid > 0 && start && os_start_parse(start, &known) == 0)
        snprintf(out, EDITOR_MARK_MAX, "%lld %s", (long long)pid, start);
    else
        snprintf(out, EDITOR_MARK_MAX, "%" PRId64 " #%" PRIu64, editor->serve->started_at,
                 editor->number);
}

struct editor *editor_marked(const struct serve *serve, const char *mark) {
    struct editor *newest = NULL; /* of the same process: one before it may be dead already */
    char own[EDITOR_MARK_MAX];
    for (struct editor *editor = serve->editors; editor; editor = editor->next) {
        if (!editor->greeted || editor->closing)
            continue;
        editor_mark(editor, own);
        if (strcmp(own, mark) == 0)
            newest = editor;
    }
    return newest;
}

static json_t *editor_json(const struct editor *editor, bool active) {
    static const char *const keys[] = {"pid", "start", "project", "path", "godot", "version"};
    json_t *out = json_pack("{s:s, s:b}", "editor", editor->id, "active", active);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        json_t *value = json_object_get(editor->hello, keys[i]);
        if (value)
            json_object_set(out, keys[i], value);
    }
    json_object_set_new(
        out, "tools", json_integer((json_int_t)json_array_size(editor->offer->lists[LIST_TOOLS])));
    return out;
}

json_t *editors_json(const struct serve *serve, const struct editor *own) {
    json_t *list = json_array();
    for (const struct editor *editor = serve->editors; editor; editor = editor->next)
        if (editor->greeted && !editor->closing && !editor->program)
            json_array_append_new(list, editor_json(editor, editor == own));
    return list;
}

/* ---- what editors say ---- */

/* The pid is what people know an editor by; a second one of the same process gets a number. */
static void give_id(struct editor *editor, json_int_t pid) {
    char base[24];
    unsigned number = 1;
    if (pid > 0)
        snprintf(base, sizeof base, "%lld", (long long)pid);
    else
        snprintf(base, sizeof base, "editor");
    snprintf(editor->id, sizeof editor->id, "%s", base);
    while (find_id(editor->serve, editor->id))
        snprintf(editor->id, sizeof editor->id, "%s-%u", base, ++number);
}

/* For results and for the log, where what a project calls itself must not look like a line. */
static void give_name(struct editor *editor, const char *project) {
    char shown[80 * READABLE_GROWTH + 1];
    if (!project || !project[0])
        project = "unnamed project";
    readable_text(shown, project, utf8_cut(project, 80));
    snprintf(editor->name, sizeof editor->name, "\"%.*s\" (%s)", (int)utf8_cut(shown, 80), shown,
             editor->id);
}

static void hello(struct editor *editor, const struct rpc_message *message) {
    json_t *params = message->params;
    json_t *protocol = json_object_get(params, "protocol");
    if (editor->greeted) {
        editor_refuse(editor, message->id, RPC_INVALID_REQUEST,
                      "this editor has said hello already", NULL);
    } else if (editor->serve->options->stdio) {
        editor_refuse(editor, message->id, RPC_INVALID_REQUEST,
                      "this server serves a command (--stdio), and no editors", NULL);
    } else if (json_integer_value(protocol) != 1) {
        editor_refuse(editor, message->id, RPC_INVALID_PARAMS, "this server speaks protocol 1",
                      NULL);
    } else {
        give_id(editor, json_integer_value(json_object_get(params, "pid")));
        editor->hello = json_incref(params);
        editor->greeted = true;
        give_name(editor, rpc_text(params, "project"));
        editor->offer->hello = json_incref(params);
        expect_arrived(editor->serve);
        update_active(editor->serve);
        editor_answer(editor, message->id,
                      json_pack("{s:s, s:{s:s, s:s}, s:b}", "editor", editor->id, "server", "name",
                                "tether", "version", tether_version, "active",
                                editor == editor->serve->active));
    }
}

static void on_request(struct editor *editor, const struct rpc_message *message) {
    if (strcmp(message->method, "editor/hello") == 0)
        hello(editor, message);
    else if (!editor->greeted)
        editor_refuse(editor, message->id, RPC_INVALID_REQUEST, "editor/hello comes first", NULL);
    else if (!input_ask(editor, message))
        editor_refuse(editor, message->id, RPC_METHOD_NOT_FOUND, "this server knows no such method",
                      NULL);
}

void editor_register(struct editor *editor, const json_t *params) {
    char whose[160];
    snprintf(whose, sizeof whose, "%s %s", editor->program ? "server" : "editor", editor->name);
    offer_register(editor->offer, params, whose);
    editor->serve->offers |= editor->offer->offers;
    if (!editor->offer->is_known)
        return;
    if (editor == editor->serve->active)
        kept_set(editor->serve, editor->offer);
    kept_note(editor->serve, editor->offer);
    listen_lists_changed(editor->serve);
    calls_go_on(editor->serve);
}

static void on_notification(struct editor *editor, const struct rpc_message *message) {
    const char *method = message->method;
    if (!editor->greeted)
        return;
    if (strcmp(method, "editor/register") == 0) {
        editor_register(editor, message->params);
    } else if (strcmp(method, "editor/active") == 0) {
        editor_activate(editor);
    } else if (strcmp(method, "notifications/resources/updated") == 0) {
        if (editor == editor->serve->active)
            watch_updated(editor->serve, rpc_text(message->params, "uri"));
    } else {
        call_editor_notification(editor, message);
    }
}

struct editor *editor_add(struct serve *serve) {
    struct editor **last = &serve->editors, *editor = calloc(1, sizeof *editor);
    if (editor)
        editor->offer = offer_create();
    if (!editor || !editor->offer) {
        free(editor);
        return NULL;
    }
    editor->offer->is_foreign = serve->options->stdio;
    editor->serve = serve;
    editor->number = ++serve->editor_count;
    while (*last)
        last = &(*last)->next;
    *last = editor;
    return editor;
}

static void on_open(void *context, struct editor_socket *socket) {
    struct editor *editor = editor_add(context);
    if (!editor) {
        websocket_stream_close(&socket->stream, 1011, "out of memory");
        return;
    }
    editor->socket = socket;
    socket->data = editor;
}

/* An answer that cannot be read still ends its call, if it can be told which. */
static bool fail_unread(struct editor *editor, const struct scan *scan, const char *complaint) {
    const struct scan_span *id = &scan->spans[SCAN_ID];
    if (scan_kind(scan) != SCAN_RESPONSE || !scan_is_scalar(id))
        return false;
    call_editor_unread(editor, strtoll(id->at, NULL, 10), complaint);
    return true;
}

static void on_message(void *context, struct editor_socket *socket, char *text, size_t length) {
    struct editor *editor = socket->data;
    struct rpc_message message;
    struct scan scan;
    bool is_json;
    (void)context;
    if (!editor)
        return;
    is_json = scan_message(&scan, text, length) == 0;
    if (is_json && scan_kind(&scan) == SCAN_RESPONSE && call_pass_on(editor, &scan))
        return;
    if (!rpc_parse(&message, text, length, RPC_VALUES_MOST_EDITOR)) {
        fprintf(stderr, "tether serve: editor %s sent what is no message: %s\n", editor->id,
                message.complaint);
        if (!is_json || !fail_unread(editor, &scan, message.complaint))
            editor_refuse(editor, message.id, message.code, message.complaint, NULL);
    } else if (message.kind == RPC_REQUEST) {
        on_request(editor, &message);
    } else if (message.kind == RPC_NOTIFICATION) {
        on_notification(editor, &message);
    } else if (json_is_integer(message.id)) {
        call_editor_response(editor, &message);
    }
    rpc_finish(&message);
}

static void forget(struct editor *editor) {
    struct editor **at = &editor->serve->editors;
    while (*at != editor)
        at = &(*at)->next;
    *at = editor->next;
    offer_forget_values(editor->offer); /* it may be kept, as text */
    offer_drop(editor->offer);
    json_decref(editor->hello);
    free(editor);
}

void editor_remove(struct editor *editor) {
    editor->closing = true;
    if (editor->greeted && !editor->program)
        expect_back(editor);
    update_active(editor->serve);
    call_editor_gone(editor);
    forget(editor);
}

static void on_close(void *context, struct editor_socket *socket, const char *why) {
    struct editor *editor = socket->data;
    (void)context;
    if (!editor)
        return;
    if (editor->greeted) {
        char shown[256 * READABLE_GROWTH + 1];
        readable_text(shown, why, utf8_cut(why, 256));
        fprintf(stderr, "tether serve: editor %s is gone: %s\n", editor->name, shown);
    }
    editor_remove(editor);
}

const struct editor_socket_events editor_events = {
    .on_open = on_open, .on_message = on_message, .on_close = on_close};

void editors_finish(struct serve *serve) {
    while (serve->editors)
        forget(serve->editors); /* NOLINT(clang-analyzer-unix.Malloc): it has taken that one out */
}
