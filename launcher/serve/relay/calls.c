#include "calls.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"
#include "serve/mcp/caller.h"
#include "serve/mcp/sessions.h"
#include "serve/stdio/stdio_server.h"

/* ---- the table ---- */

static struct call *call_by_number(const struct serve *serve, int64_t number) {
    for (struct call *call = serve->calls; call; call = call->next)
        if (call->number == number)
            return call;
    return NULL;
}

static struct call *call_of(const struct editor *editor, int64_t number) {
    struct call *call = call_by_number(editor->serve, number % CALL_ROUND);
    return call && call->editor == editor ? call : NULL;
}

struct call *call_named(const struct editor *editor, const json_t *params) {
    const json_t *number = json_object_get(params, "call");
    return json_is_integer(number) ? call_of(editor, json_integer_value(number)) : NULL;
}

struct call *call_find(const struct serve *serve, const struct mcp_session *session,
                       const json_t *id) {
    for (struct call *call = serve->calls; call; call = call->next)
        if (call->session == session && json_equal(call->id, id))
            return call;
    return NULL;
}

static void let_go(struct call *call) {
    buffer_finish(&call->events.kept);
    buffer_finish(&call->message);
    json_decref(call->said);
    json_decref(call->id);
    json_decref(call->progress_token);
    json_decref(call->params);
    json_decref(call->gathered);
    json_decref(call->state);
    free(call);
}

/* Nothing goes on in it any more. */
static void close_call(struct call *call) {
    struct call **at = &call->serve->calls;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    call->serve->call_count--;
    if (call->session) {
        call->session->calls--;
        call->session->used_at = os_clock_ms();
    }
    deadline_stop(&call->due);
    deadline_stop(&call->silent);
    deadline_stop(&call->alive);
    inputs_finish(call);
    if (call->editor && call->editor->program)
        stdio_call_over(call);
}

static void release(struct call *call) {
    close_call(call);
    let_go(call);
}

/* ---- calls that are over, and whose answer may be asked for again ---- */

static struct call *call_due(struct deadline *deadline) {
    return deadline_owner(deadline, struct call, due);
}

static void drop_over(struct deadline *deadline) {
    struct call *call = call_due(deadline);
    struct serve *serve = call->serve;
    serve->over_count--;
    serve->over_bytes -= call->events.kept.length;
    deadline_stop(deadline);
    let_go(call);
}

/* The list of their deadlines is that of these calls, oldest first. */
static void keep_over(struct call *call) {
    struct serve *serve = call->serve;
    close_call(call);
    serve->over_count++;
    serve->over_bytes += call->events.kept.length;
    deadline_start(&call->due, &serve->over_time);
    while (serve->over_bytes > RESUME_ANSWERS_MOST || serve->over_count > RESUME_CALLS_MOST)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): who was dropped is no deadline of it */
        drop_over(serve->over_time.first);
}

/* ---- answers ---- */

/* The call is over before its answer is sent: sending may find that the client has gone. The answer
 * is consumed. */
static void send_and_release(struct call *call, int status, struct buffer *answer) {
    struct serve *serve = call->serve;
    struct http_connection *connection = call->connection;
    bool json_fine = call->json_fine, has_events = call->events.last > 0 && !answer->failed;
    char event[RESUME_ID_MAX];
    if (connection)
        http_hold(connection, NULL, NULL);
    if (has_events) {
        resume_id(serve, call->number,
                  resume_add(&call->events, answer->data, answer->length, RESUME_ANSWERS_MOST),
                  event);
        keep_over(call);
    } else {
        release(call);
    }
    if (connection)
        mcp_send(connection, json_fine, status, has_events ? event : NULL, answer);
    buffer_finish(answer);
}

static bool is_cacheable(const struct call *call) {
    return strcmp(call->method, "resources/read") == 0;
}

static void call_answer(struct call *call, json_t *result) {
    struct buffer out = {0};
    if (call->modern)
        mcp_dress_result(result, is_cacheable(call));
    rpc_add_result(&out, call->id, result);
    send_and_release(call, 200, &out);
}

/* What is inside the braces of an object, as it was written. Nothing, if it is not on one line, as
 * an event of a stream must be. */
static struct scan_span members_of(const struct scan_span *object) {
    struct scan_span inside = {0};
    if (!object->at || object->at[0] != '{' || memchr(object->at, '\n', object->length) ||
        memchr(object->at, '\r', object->length))
        return inside;
    inside.at = object->at + 1;
    inside.length = object->length - 2;
    while (inside.length > 0 && (inside.at[0] == ' ' || inside.at[0] == '\t')) {
        inside.at++;
        inside.length--;
    }
    return inside;
}

bool call_pass_on(struct editor *editor, const struct scan *scan) {
    const struct scan_span *id = &scan->spans[SCAN_ID];
    struct scan_span members = members_of(&scan->spans[SCAN_RESULT]);
    struct buffer out = {0};
    struct call *call;
    char *end;
    if (!members.at || scan->spans[SCAN_ERROR].at || scan->spans[SCAN_RESULT_TYPE].at ||
        scan->depth > RPC_DEPTH_MOST || scan->values > RPC_VALUES_MOST_EDITOR ||
        !scan_is(&scan->spans[SCAN_JSONRPC], "2.0") || !scan_is_scalar(id))
        return false;
    call = call_of(editor, strtoll(id->at, &end, 10));
    if (end != id->at + id->length || !call ||
        (call->modern && (scan->spans[SCAN_RESULT_META].at || is_cacheable(call))))
        return false;
    mcp_add_members(&out, call->id, call->modern, false, &members);
    send_and_release(call, 200, &out);
    return true;
}

static void answer_error(struct call *call, int code, const char *text, const json_t *data) {
    struct buffer out = {0};
    rpc_add_error(&out, call->id, code, text, data);
    send_and_release(call, mcp_status_of(call->modern, code), &out);
}

void call_fail(struct call *call, int code, const char *text, json_t *data) {
    if (code == 0 && strcmp(call->method, "tools/call") == 0)
        call_answer(call, tool_failure("%s", text));
    else
        answer_error(call, code ? code : RPC_INTERNAL_ERROR, text, data);
    json_decref(data);
}

static void hang_up(struct http_connection *connection) {
    http_hold(connection, NULL, NULL);
    if (!http_is_streaming(connection))
        http_stream_begin(connection);
    http_stream_end(connection);
}

/* Ends it without a word to anybody. */
static void call_drop(struct call *call) {
    struct http_connection *connection = call->connection;
    release(call);
    if (connection)
        hang_up(connection);
}

static void tell_cancelled(struct call *call, const char *reason) {
    if (!call->editor)
        return;
    if (call->editor->program)
        stdio_cancel(call, reason);
    else
        editor_tell(call->editor, 0, "notifications/cancelled",
                    json_pack("{s:I, s:s*}", "call", (json_int_t)call->number, "reason", reason));
}

void call_cancel(struct call *call, const char *reason) {
    tell_cancelled(call, reason);
    call_drop(call);
}

/* ---- streams ---- */

/* From 2025-11-25 on clients know what an event without data is: the place to go on from. */
static void prime(struct call *call) {
    char id[RESUME_ID_MAX];
    if (!call->session || call->session->version != 0)
        return;
    resume_id(call->serve, call->number, ++call->events.last, id);
    http_stream_prime(call->connection, id, RESUME_RETRY_MS);
}

/* Makes sure that the answer is a stream; false: the client takes none, or is not there. */
static bool call_stream(struct call *call) {
    if (!call->connection || !call->stream_fine)
        return false;
    if (!http_is_streaming(call->connection)) {
        deadline_stop(&call->silent);
        http_stream_begin(call->connection);
        prime(call);
    }
    return true;
}

void call_detach(struct call *call) {
    http_hold(call->connection, NULL, NULL);
    call->connection = NULL;
    deadline_stop(&call->silent);
    deadline_stop(&call->alive);
}

bool call_event(struct call *call, const struct buffer *message) {
    bool there = call_stream(call);
    char id[RESUME_ID_MAX];
    uint32_t event;
    if (message->failed)
        return false;
    if (!call->session || (!there && call->events.last == 0))
        return there && http_stream_event(call->connection, NULL, message->data, message->length);
    event = resume_add(&call->events, message->data, message->length, RESUME_EVENTS_MOST);
    resume_id(call->serve, call->number, event, id);
    return there && http_stream_event(call->connection, id, message->data, message->length);
}

/* ---- deadlines ---- */

static void on_limit(struct deadline *deadline) {
    struct call *call = call_due(deadline);
    char text[512], name[160] = "";
    tell_cancelled(call, "it took too long");
    if (call->editor)
        snprintf(name, sizeof name, " %s", call->editor->name);
    snprintf(text, sizeof text,
             "The %s%s has not answered within %" PRIu64 " s, and the call was cancelled.%s",
             editor_kind(call->editor), name, call->serve->call_time.length_ms / 1000,
             call->editor && call->editor->program
                 ? ""
                 : " The editor may be busy or stopped in the debugger: look at it, then try "
                   "again.");
    call_fail(call, 0, text, NULL);
}

/* Progress of our own, which is less than any that the editor may tell next. */
static void say_alive(struct call *call, const char *text) {
    struct buffer out = {0};
    json_t *params;
    call->progress = call->progress > -HUGE_VAL ? call->progress + 1e-4 : 0;
    params = json_pack("{s:O, s:f, s:s}", "progressToken", call->progress_token, "progress",
                       call->progress, "message", text);
    rpc_add_notification(&out, "notifications/progress", params);
    call_event(call, &out);
    buffer_finish(&out);
}

static void on_alive(struct deadline *deadline) {
    struct call *call = deadline_owner(deadline, struct call, alive);
    char text[64];
    snprintf(text, sizeof text, "Still at work, for %" PRId64 " s.",
             (os_clock_ms() - call->began) / 1000);
    if (call->connection && call->progress_token)
        say_alive(call, text);
    deadline_start(&call->alive, &call->serve->alive_time);
}

static void on_silent(struct deadline *deadline) {
    call_stream(deadline_owner(deadline, struct call, silent));
}

static void on_park(struct deadline *deadline) {
    call_cancel(call_due(deadline), "the client did not come back");
}

/* In the legacy era a client that goes has not cancelled: the editor goes on. */
static void client_gone(void *user) {
    struct call *call = user;
    call->connection = NULL;
    deadline_stop(&call->silent);
    if (call->modern)
        call_cancel(call, "the client has gone");
}

/* ---- starting ---- */

/* What the editor is told of the client. */
static void add_context(struct buffer *out, const struct mcp_request *request) {
    if (request->session) {
        const struct buffer *known = &request->session->context;
        buffer_add(out, known->data, known->length);
        out->failed |= known->failed;
        return;
    }
    buffer_add_literal(out, "{\"era\":\"modern\",\"client\":");
    rpc_add_value(out, json_object_get(request->meta, META_CLIENT));
    buffer_add_literal(out, ",\"capabilities\":");
    rpc_add_value(out, json_object_get(request->meta, META_CAPABILITIES));
    if (json_object_get(request->said, "client")) {
        buffer_add_literal(out, ",\"session\":");
        rpc_add_value(out, json_object_get(request->said, "client"));
    }
    buffer_add_char(out, '}');
}

/* What the client sent, as it sent it, behind what the server says of the client. */
static void write_message(struct call *call, const struct mcp_request *request) {
    const struct rpc_message *message = &request->message;
    struct scan_span members = members_of(&message->written);
    struct buffer *out = &call->message, anew = {0};
    if (!members.at || json_object_get(message->params, "context")) {
        json_object_del(message->params, "context");
        rpc_add_json(&anew, message->params);
        if (!anew.failed)
            members = (struct scan_span){anew.data + 1, anew.length - 2};
    }
    rpc_add_request_begin(out, call->number, call->method);
    buffer_add_literal(out, "{\"context\":");
    add_context(out, request);
    if (members.length > 0) {
        buffer_add_char(out, ',');
        buffer_add(out, members.at, members.length);
    }
    buffer_add_literal(out, "}}");
    out->failed |= anew.failed;
    buffer_finish(&anew);
}

static void tell_editor(struct call *call, struct editor *editor) {
    call->editor = editor;
    if (!editor_send(editor, &call->message))
        call_fail(call, 0, "The Godot editor does not take this request now; try again.", NULL);
}

/* There is none yet. */
static void wait_for_editor(struct call *call) {
    if (call->progress_token)
        say_alive(call, "Waiting for the Godot editor, which is on its way.");
    deadline_start(&call->due, &call->serve->wait_time);
    expect_waiting(call->serve);
}

/* Whether the editor can be asked for anything by now. */
static bool is_ready(const struct editor *editor) {
    return editor && !editor->closing && editor->offer->is_known;
}

void calls_go_on(struct serve *serve) {
    for (struct call *call = serve->calls, *next; call; call = next) {
        struct editor *editor;
        next = call->next;
        if (call->editor)
            continue;
        editor = caller_editor(serve, call->session, call->said);
        if (!is_ready(editor))
            continue;
        deadline_start(&call->due, &serve->call_time);
        tell_editor(call, editor);
    }
}

bool calls_wait(const struct serve *serve) {
    for (const struct call *call = serve->calls; call; call = call->next)
        if (!call->editor)
            return true;
    return false;
}

static void give_up(struct call *call) {
    char words[CALLER_WORDS_MAX];
    caller_explain(call->serve, call->session, call->said, words);
    call_fail(call, 0, words, NULL);
}

void call_waited(struct deadline *deadline) {
    give_up(call_due(deadline));
}

void calls_give_up(struct serve *serve) {
    for (struct call *call = serve->calls, *next; call; call = next) {
        next = call->next;
        if (!call->editor)
            give_up(call);
    }
}

static void attach(struct call *call, struct mcp_request *request) {
    const char *accept = request->http->headers[HTTP_ACCEPT];
    json_t *token = json_object_get(request->meta, "progressToken");
    json_decref(call->id);
    json_decref(call->progress_token);
    call->id = json_incref(request->message.id);
    call->progress_token = rpc_is_id(token) && !json_is_real(token) ? json_incref(token) : NULL;
    call->progress = -HUGE_VAL;
    call->log_level = mcp_log_level(rpc_text(request->meta, META_LOG_LEVEL));
    call->json_fine = http_accepts(accept, "application/json");
    call->stream_fine = http_accepts(accept, "text/event-stream");
    call->connection = request->connection;
    http_hold(request->connection, client_gone, call);
    deadline_start(&call->due, &call->serve->call_time);
    deadline_start(&call->silent, &call->serve->silent_time);
    deadline_start(&call->alive, &call->serve->alive_time);
}

static struct call *create(struct mcp_request *request) {
    struct serve *serve = request->serve;
    struct call *call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    call->serve = serve;
    call->number = call->number_there = ++serve->last_call;
    call->began = os_clock_ms();
    call->said = json_incref(request->said);
    call->modern = request->modern;
    call->session = request->session;
    snprintf(call->method, sizeof call->method, "%s", request->message.method);
    if (request->modern) {
        call->params = json_incref(request->message.params);
        call->capabilities = mcp_capabilities_of(json_object_get(request->meta, META_CAPABILITIES));
    } else {
        call->capabilities = request->session->capabilities;
        request->session->calls++;
    }
    call->next = serve->calls;
    serve->calls = call;
    serve->call_count++;
    return call;
}

/* Beyond the limit the oldest call that nobody waits for at the moment, parked or with a client
 * that has gone, is cancelled. False: there is none. */
static bool make_room(struct serve *serve) {
    struct call *oldest = NULL;
    if (serve->call_count < SERVE_CALLS_MOST)
        return true;
    for (struct call *call = serve->calls; call; call = call->next)
        if (!call->connection)
            oldest = call;
    if (oldest)
        call_cancel(oldest, "nobody waits for it, and others need the room");
    return oldest != NULL;
}

void call_start(struct mcp_request *request, struct editor *editor) {
    struct call *call;
    if (!request->modern && call_find(request->serve, request->session, request->message.id)) {
        mcp_reply_error(request, RPC_INVALID_REQUEST, "a request with this id is under way", NULL);
    } else if (!make_room(request->serve)) {
        mcp_reply_error(request, RPC_INTERNAL_ERROR, "too many requests are under way", NULL);
    } else if (!(call = create(request))) {
        mcp_reply_error(request, RPC_INTERNAL_ERROR, "out of memory", NULL);
    } else {
        attach(call, request);
        if (editor && editor->program) {
            call->editor = editor;
            if (!stdio_call(call, request))
                call_fail(call, 0, "The server does not take this request now; try again.", NULL);
            return;
        }
        write_message(call, request);
        if (is_ready(editor))
            tell_editor(call, editor);
        else
            wait_for_editor(call);
    }
}

static bool replay_over(const struct mcp_session *session, struct http_connection *connection,
                        int64_t number, uint32_t after) {
    struct deadline *at = session->serve->over_time.first;
    const struct call *call;
    while (at && call_due(at)->number != number)
        at = at->next;
    call = at ? call_due(at) : NULL;
    if (!call || call->session != session || call->events.kept.length == 0)
        return false;
    http_stream_begin(connection);
    resume_replay(session->serve, &call->events, number, after, connection);
    http_stream_end(connection);
    return true;
}

bool call_reconnect(struct mcp_session *session, struct http_connection *connection, int64_t number,
                    uint32_t after) {
    struct call *call = call_by_number(session->serve, number);
    if (!call)
        return replay_over(session, connection, number, after);
    if (call->session != session)
        return false;
    if (call->connection) /* its end has not been noticed yet */
        hang_up(call->connection);
    call->connection = connection;
    call->stream_fine = true;
    deadline_stop(&call->silent);
    http_hold(connection, client_gone, call);
    deadline_start(&call->alive, &call->serve->alive_time);
    http_stream_begin(connection);
    resume_replay(call->serve, &call->events, number, after, connection);
    return true;
}

void call_resume(struct mcp_request *request) {
    struct call *call = request->parked;
    attach(call, request);
    inputs_answer(call, json_object_get(request->message.params, "inputResponses"));
}

/* ---- what editors say ---- */

/* Progress is for those who asked for it, and only ever goes up. */
static void progress(struct call *call, json_t *params) {
    const json_t *given = json_object_get(params, "progress");
    struct buffer out = {0};
    if (!call->progress_token || !json_is_number(given) ||
        json_number_value(given) <= call->progress)
        return;
    call->progress = json_number_value(given);
    json_object_del(params, "call");
    json_object_set(params, "progressToken", call->progress_token);
    rpc_add_notification(&out, "notifications/progress", json_incref(params));
    call_event(call, &out);
    buffer_finish(&out);
}

static bool wants_log(const struct call *call, int level) {
    return call->modern ? call->log_level >= 0 && level >= call->log_level
                        : session_wants_log(call->session, level);
}

static void log_to_sessions(const struct serve *serve, int level, const struct buffer *message) {
    for (struct mcp_session *session = serve->sessions; session; session = session->next)
        if (session_wants_log(session, level))
            session_tell(session, message);
}

static void log_message(struct editor *editor, json_t *params) {
    struct buffer out = {0};
    struct call *call = call_named(editor, params);
    bool about_call = json_object_get(params, "call") != NULL;
    int level = mcp_log_level(rpc_text(params, "level"));
    if (!(editor->offer->offers & OFFER_LOGGING) || level < 0 || !json_object_get(params, "data") ||
        (about_call && !call))
        return;
    json_object_del(params, "call");
    rpc_add_notification(&out, "notifications/message", json_incref(params));
    if (call && wants_log(call, level))
        call_event(call, &out);
    else if (!about_call && editor == editor->serve->active)
        log_to_sessions(editor->serve, level, &out);
    buffer_finish(&out);
}

void call_editor_notification(struct editor *editor, const struct rpc_message *message) {
    struct call *call;
    if (strcmp(message->method, "notifications/progress") == 0) {
        call = call_named(editor, message->params);
        if (call)
            progress(call, message->params);
    } else if (strcmp(message->method, "notifications/message") == 0) {
        log_message(editor, message->params);
    }
}

/* "Not found" has another number in each era. */
static int era_code(const struct call *call, int code, const json_t *data) {
    if (strcmp(call->method, "resources/read") != 0)
        return code;
    if (call->modern)
        return code == MCP_RESOURCE_NOT_FOUND ? RPC_INVALID_PARAMS : code;
    return code == RPC_INVALID_PARAMS && json_object_get(data, "uri") ? (int)MCP_RESOURCE_NOT_FOUND
                                                                      : code;
}

static void on_error(struct call *call, const json_t *error) {
    const char *text = rpc_text(error, "message");
    const json_t *data = json_object_get(error, "data");
    json_int_t code = json_integer_value(json_object_get(error, "code"));
    if (code < INT32_MIN || code > INT32_MAX || code == 0)
        code = RPC_INTERNAL_ERROR;
    answer_error(call, era_code(call, (int)code, data), text ? text : "no reason was given", data);
}

void call_editor_response(struct editor *editor, struct rpc_message *message) {
    struct call *call = call_of(editor, json_integer_value(message->id));
    const char *type = rpc_text(message->result, "resultType");
    if (!call)
        return;
    if (message->error)
        on_error(call, message->error);
    else if (!json_is_object(message->result))
        call_editor_unread(editor, call->number, "it is no result");
    else if (!type || strcmp(type, "input_required") != 0 ||
             input_seal_result(call, message->result))
        call_answer(call, json_incref(message->result));
}

void call_editor_unread(struct editor *editor, int64_t number, const char *complaint) {
    struct call *call = call_of(editor, number);
    char text[512];
    if (!call)
        return;
    snprintf(text, sizeof text, "The %s %s has answered, but its answer cannot be passed on: %s.",
             editor_kind(editor), editor->name, complaint);
    call_fail(call, 0, text, NULL);
}

void call_editor_gone(struct editor *editor) {
    char text[512];
    snprintf(text, sizeof text,
             "The Godot editor %s went away while it worked on this. It may have crashed or been "
             "closed; what it did until then is not undone. Open the project in Godot again, look "
             "at its state, then try again.",
             editor->name);
    for (struct call *call = editor->serve->calls, *next; call; call = next) {
        next = call->next;
        if (call->editor == editor)
            call_fail(call, 0, text, NULL);
    }
}

void calls_session_gone(struct mcp_session *session) {
    for (struct call *call = session->serve->calls, *next; call; call = next) {
        next = call->next;
        if (call->session == session)
            call_cancel(call, "the session has ended");
    }
    for (struct deadline *at = session->serve->over_time.first, *next; at; at = next) {
        next = at->next;
        if (call_due(at)->session == session)
            drop_over(at);
    }
}

void calls_end(struct serve *serve) {
    struct call *call;
    while ((call = serve->calls) != NULL) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): call_fail has taken the last one out */
        tell_cancelled(call, "the server is stopping");
        call_fail(
            call, 0,
            "Tether's server was stopped or restarted before this was answered. Try again in a "
            "moment.",
            NULL);
    }
}

void calls_init(struct serve *serve) {
    deadlines_add(&serve->deadlines, &serve->call_time,
                  serve_interval("TETHER_CALL_LIMIT_MS", SERVE_CALL_MS), on_limit);
    deadlines_add(&serve->deadlines, &serve->silent_time, SERVE_SILENT_MS, on_silent);
    deadlines_add(&serve->deadlines, &serve->alive_time,
                  serve_interval("TETHER_PROGRESS_MS", SERVE_ALIVE_MS), on_alive);
    deadlines_add(&serve->deadlines, &serve->parked_time, SERVE_PARKED_MS, on_park);
    deadlines_add(&serve->deadlines, &serve->over_time, RESUME_MS, drop_over);
}
