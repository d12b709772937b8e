#include "stdio_server.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "protocol/version.h"
#include "readable.h"
#include "serve/mcp/sessions.h"
#include "serve/mcp/subscriptions.h"
#include "serve/relay/editors.h"
#include "stdio_greeting.h"
#include "stdio_server_inside.h"
#include "utf8.h"

enum { TRIES_MOST = 3 };

/* ---- what it is sent ---- */

bool stdio_send(struct stdio_server *server, struct buffer *message) {
    bool sent;
    buffer_add_char(message, '\n');
    sent = stdio_program_send(&server->program, message);
    buffer_finish(message);
    return sent;
}

/* Of 2026-07-28 a server is told with each call from which level on its log is wanted. */
static void add_level(json_t *meta, const struct call *call) {
    const struct mcp_session *session = call->session;
    int level = session && session->level_set ? session->log_level : call->log_level;
    if (level >= 0)
        json_object_set_new(meta, META_LOG_LEVEL, json_string(mcp_log_levels[level]));
}

/* In place of what its client said of itself, if anything. */
static json_t *call_meta(const struct stdio_server *server, const struct call *call,
                         const json_t *given) {
    json_t *meta = given ? json_copy((json_t *)(uintptr_t)given) : json_object();
    json_object_del(meta, META_VERSION);
    json_object_del(meta, META_CLIENT);
    json_object_del(meta, META_CAPABILITIES);
    json_object_del(meta, META_LOG_LEVEL);
    json_object_del(meta, "progressToken");
    if (call->progress_token)
        json_object_set_new(meta, "progressToken", json_integer(call->number));
    if (server->modern) {
        greeting_add_self(meta);
        add_level(meta, call);
    }
    return meta;
}

/* Writes what is sent in place of what came; the params are consumed. */
static void write_changed(struct buffer *out, const struct stdio_server *server,
                          const struct call *call, json_t *params) {
    json_t *meta = call_meta(server, call, json_object_get(params, "_meta"));
    json_object_del(params, "_meta");
    if (json_object_size(meta) > 0)
        json_object_set(params, "_meta", meta);
    rpc_add_json(out, params);
    json_decref(meta);
    json_decref(params);
}

/* As it was sent, if nothing has to be changed. */
static void write_params(struct buffer *out, const struct stdio_server *server,
                         const struct call *call, const struct mcp_request *request) {
    const struct scan_span *written = &request->message.written;
    const json_t *params = request->message.params;
    if (!request->meta && !server->modern && written->at &&
        !memchr(written->at, '\n', written->length) &&
        !memchr(written->at, '\r', written->length)) {
        buffer_add(out, written->at, written->length);
        return;
    }
    write_changed(out, server, call,
                  params ? json_copy((json_t *)(uintptr_t)params) : json_object());
}

/* To one that turns out to hear no more it is not sent, and waits for the next one. */
static bool send_call(struct call *call) {
    struct stdio_server *server = call->editor->program;
    if (!stdio_program_send(&server->program, &call->line))
        return !stdio_program_hears(&server->program) && !call->line.failed;
    call->sent = true;
    call->tries++;
    if (!call->repeatable)
        buffer_finish(&call->line);
    return true;
}

/* Whether doing it twice is as good as doing it once. */
static bool is_repeatable(const struct call *call, const struct mcp_request *request) {
    const json_t *hints;
    if (strcmp(call->method, "tools/call") != 0)
        return true;
    hints = json_object_get(list_find(call->editor->offer->lists[LIST_TOOLS], LIST_TOOLS,
                                      rpc_text(request->message.params, "name")),
                            "annotations");
    return json_is_true(json_object_get(hints, "readOnlyHint")) ||
           json_is_true(json_object_get(hints, "idempotentHint"));
}

bool stdio_call(struct call *call, const struct mcp_request *request) {
    struct stdio_server *server = call->editor->program;
    call->repeatable = is_repeatable(call, request);
    if (server->modern && !call->params)
        call->params = json_incref(request->message.params);
    rpc_add_request_begin(&call->line, call->number, call->method);
    write_params(&call->line, server, call, request);
    buffer_add_literal(&call->line, "}\n");
    if (call->line.failed)
        return false;
    return server->state != STDIO_SERVES || !stdio_program_hears(&server->program) ||
           send_call(call);
}

void stdio_call_again(struct call *call) {
    struct stdio_server *server = call->editor->program;
    json_t *params = call->params ? json_copy(call->params) : json_object();
    json_object_set(params, "inputResponses", call->gathered);
    if (call->state)
        json_object_set(params, "requestState", call->state);
    buffer_finish(&call->line);
    call->repeatable = false;
    call->number_there += CALL_ROUND;
    rpc_add_request_begin(&call->line, call->number_there, call->method);
    write_changed(&call->line, server, call, params);
    buffer_add_literal(&call->line, "}\n");
    if (!send_call(call))
        call_fail(call, 0, "The server does not take this request now; try again.", NULL);
}

void stdio_cancel(struct call *call, const char *reason) {
    struct buffer out = {0};
    if (!call->sent)
        return;
    rpc_add_notification(
        &out, "notifications/cancelled",
        json_pack("{s:I, s:s*}", "requestId", (json_int_t)call->number_there, "reason", reason));
    stdio_send(call->editor->program, &out);
}

/* ---- its state ---- */

/* The call of this server with the lowest number above `after`. */
static struct call *next_call(const struct stdio_server *server, int64_t after) {
    struct call *next = NULL;
    for (struct call *call = server->serve->calls; call; call = call->next)
        if (call->editor == server->editor && call->number > after &&
            (!next || call->number < next->number))
            next = call;
    return next;
}

/* Of a session's own process, what that wants; else what anybody wants. */
static void set_level(struct stdio_server *server) {
    const struct mcp_session *session = server->serve->sessions;
    int lowest = -1;
    for (; session; session = session->next)
        if (session->level_set && (!server->session || server->session == session) &&
            (lowest < 0 || session->log_level < lowest))
            lowest = session->log_level;
    if (lowest < 0 || lowest == server->level || server->state != STDIO_SERVES || server->modern ||
        !(server->editor->offer->offers & OFFER_LOGGING))
        return;
    server->level = lowest;
    greeting_ask(server, "level", "logging/setLevel",
                 json_pack("{s:s}", "level", mcp_log_levels[lowest]));
}

void stdio_set_level(struct serve *serve) {
    for (struct stdio_server *server = serve->programs; server; server = server->next)
        set_level(server);
}

bool stdio_watch(struct serve *serve) {
    struct stdio_server *server = serve->programs;
    if (!server || !server->modern)
        return false;
    if (server->state == STDIO_SERVES)
        greeting_listen(server);
    return true;
}

void stdio_serves(struct stdio_server *server) {
    struct serve *serve = server->serve;
    bool first = !server->editor->greeted;
    int64_t number = 0;
    server->state = STDIO_SERVES;
    stdio_program_ready(&server->program);
    server->editor->greeted = true;
    if (server == serve->programs) {
        editor_activate(server->editor);
        if (!first)
            watch_moved(serve);
    }
    server->level = -1;
    set_level(server);
    for (struct call *call; (call = next_call(server, number)) != NULL;) {
        number = call->number;
        if (!call->sent && !send_call(call))
            call_fail(call, 0, "The server does not take this request now; try again.", NULL);
    }
    if (first && server == serve->programs)
        serve->on_stdio_ready(serve);
}

static bool is_worth_another_try(const struct call *call) {
    return call->repeatable && call->tries < TRIES_MOST && call->events.last == 0 &&
           !call->inputs && !(call->connection && http_is_streaming(call->connection));
}

static void fail_calls(struct stdio_server *server, const char *how, bool all) {
    struct serve *serve = server->serve;
    char text[512];
    snprintf(
        text, sizeof text,
        "The server %s was lost while it worked on this: %s. What was asked for may or may not "
        "have taken effect.%s",
        server->editor->name, how, all ? "" : " It is started again; try again in a moment.");
    for (struct call *call = serve->calls, *next; call; call = next) {
        next = call->next;
        if (call->editor != server->editor || (!all && !call->sent))
            continue;
        if (!all && is_worth_another_try(call))
            call->sent = false;
        else
            call_fail(call, 0, text, NULL);
    }
}

void stdio_give_up(struct stdio_server *server) {
    if (server == server->serve->programs)
        server->serve->on_stdio_failed(server->serve);
    else
        stdio_server_end(server);
}

static void on_lost(void *context, const char *how, bool final) {
    struct stdio_server *server = context;
    fprintf(stderr, "tether serve: the server %s was lost: %s%s\n", server->editor->name, how,
            final ? "; it is not started again" : "; it is started again");
    server->state = STDIO_STARTS;
    greeting_finish(server);
    fail_calls(server, how, final || server->serve->ending);
    if (final)
        stdio_give_up(server);
}

static void on_started(void *context) {
    greeting_begin(context);
}

static void on_over(void *context) {
    struct stdio_server *server = context;
    struct serve *serve = server->serve;
    struct stdio_server **at = &serve->programs;
    if (!serve->stopped)
        fprintf(stderr, "tether serve: the server of a client has ended\n");
    while (*at != server)
        at = &(*at)->next;
    *at = server->next;
    editor_remove(server->editor);
    greeting_finish(server);
    free(server);
    if (!serve->programs && serve->on_stdio_over)
        serve->on_stdio_over(serve);
}

void stdio_server_end(struct stdio_server *server) {
    if (server->state == STDIO_ENDS)
        return;
    server->state = STDIO_ENDS;
    server->session = NULL;
    fail_calls(server, "it is being ended", true);
    stdio_program_end(&server->program);
}

/* ---- which one ---- */

/* What it is called in messages: its command, as far as a line holds it. */
static void name_server(struct stdio_server *server) {
    struct buffer words = {0};
    char shown[80 * READABLE_GROWTH + 1];
    for (char **word = server->serve->options->command; *word; word++) {
        if (words.length > 0)
            buffer_add_char(&words, ' ');
        buffer_add_text(&words, *word);
    }
    if (!words.failed) {
        readable_text(shown, words.data, utf8_cut(words.data, 80));
        snprintf(server->editor->name, sizeof server->editor->name, "\"%.*s\"",
                 (int)utf8_cut(shown, 80), shown);
    }
    buffer_finish(&words);
}

static struct stdio_server *add(struct serve *serve) {
    static const struct stdio_program_events events = {on_started, stdio_take_line,
                                                       stdio_take_overlong, on_lost, on_over};
    struct stdio_server *server = memory_zeroed(sizeof *server), **at = &serve->programs;
    if (!server)
        return NULL;
    server->editor = editor_add(serve);
    if (!server->editor) {
        free(server);
        return NULL;
    }
    server->serve = serve;
    server->editor->program = server;
    server->program.loop = &serve->loop;
    server->program.options = serve->options;
    server->program.events = &events;
    server->program.context = server;
    name_server(server);
    while (*at)
        at = &(*at)->next;
    *at = server;
    stdio_program_start(&server->program);
    return server;
}

void stdio_begin(struct serve *serve, void (*ready)(struct serve *serve),
                 void (*failed)(struct serve *serve)) {
    serve->on_stdio_ready = ready;
    serve->on_stdio_failed = failed;
    add(serve); /* memory must not lack yet */
}

void stdio_end(struct serve *serve, void (*over)(struct serve *serve)) {
    serve->on_stdio_over = over;
    if (!serve->programs)
        over(serve);
    for (struct stdio_server *server = serve->programs; server; server = server->next)
        stdio_server_end(server);
}

/* Until it has told what it offers, that is what the first one does. */
static struct stdio_server *add_for_client(struct serve *serve) {
    struct stdio_server *first = serve->programs, *server = add(serve);
    json_t *known;
    if (!server || !first)
        return server;
    known = offer_json(first->editor->offer);
    offer_register(server->editor->offer, known, server->editor->name);
    json_decref(known);
    server->modern = first->modern;
    return server;
}

static int64_t count_clients(const struct serve *serve) {
    int64_t count = -1; /* the first is nobody's */
    for (const struct stdio_server *server = serve->programs; server; server = server->next)
        count++;
    return count;
}

/* A client that has died has said nothing of that. Of those that have no stream, and have asked
 * nothing for long, the one that was there longest ago has to begin anew if it comes back. */
static bool end_idle(struct serve *serve) {
    int64_t before =
        os_clock_ms() - (int64_t)serve_interval("TETHER_CLIENT_IDLE_MS", SERVE_CLIENT_IDLE_MS);
    struct mcp_session *idle = NULL;
    for (const struct stdio_server *server = serve->programs; server; server = server->next) {
        struct mcp_session *session = server->session;
        if (session && !session->stream && session->calls == 0 && session->used_at <= before &&
            (!idle || session->used_at < idle->used_at))
            idle = session;
    }
    if (idle)
        session_end(idle);
    return idle != NULL;
}

/* The process of a session; a stateless request gets a new one. */
static struct stdio_server *of_client(struct mcp_request *request) {
    struct serve *serve = request->serve;
    struct stdio_server *server = request->session ? serve->programs : NULL;
    char text[160];
    while (server && (server->session != request->session))
        server = server->next;
    if (server)
        return server;
    if (count_clients(serve) >= serve->options->clients_most && !end_idle(serve)) {
        snprintf(
            text, sizeof text,
            "All %lld processes of this server are in use by other clients; try again when one "
            "of them has gone.",
            (long long)serve->options->clients_most);
        mcp_reply_failure(request, text);
        return NULL;
    }
    server = add_for_client(serve);
    if (!server) {
        mcp_reply_failure(request, "out of memory");
        return NULL;
    }
    server->session = request->session;
    server->for_one_call = !request->session;
    return server;
}

void stdio_relay(struct mcp_request *request) {
    struct serve *serve = request->serve;
    struct stdio_server *server = serve->options->per_client ? of_client(request) : serve->programs;
    if (!server)
        return;
    call_start(request, server->editor);
    if (server->for_one_call && !next_call(server, 0)) /* it could not be begun */
        stdio_server_end(server);
}

void stdio_call_over(struct call *call) {
    struct stdio_server *server = call->editor->program;
    buffer_finish(&call->line);
    if (server->for_one_call)
        stdio_server_end(server);
}

void stdio_session_gone(struct mcp_session *session) {
    for (struct stdio_server *server = session->serve->programs; server; server = server->next)
        if (server->session == session)
            stdio_server_end(server);
}

json_t *stdio_json(const struct serve *serve) {
    json_t *list = json_array();
    for (const struct stdio_server *server = serve->programs; server; server = server->next)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:I, s:i, s:b}", "command", server->editor->name, "state",
                            server->state == STDIO_SERVES   ? "serves"
                            : server->state == STDIO_STARTS ? "starts"
                                                            : "ends",
                            "pid", (json_int_t)stdio_program_pid(&server->program), "restarts",
                            (int)server->program.starts - 1, "modern", (int)server->modern));
    return list;
}
