#include "mcp_session.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <uv.h>

#include "front.h"
#include "os/os.h"
#include "request_head.h"
#include "requests.h"

enum {
    STREAM_FIRST_MS = 1000, /* before the stream is opened again, if the server does not say */
    STREAM_MOST_MS = 30000,
};

static const char *const lists[DIALOG_LISTS] = {"tools", "prompts", "resources"};

/* ---- what is remembered ---- */

/* Whether the one makes the other superfluous: both are about the same resource, or, without one,
 * the same thing. */
static bool is_same_matter(const struct scan *a, const struct scan *b) {
    const struct scan_span *uri = &a->spans[SCAN_URI], *other = &b->spans[SCAN_URI];
    if (uri->at || other->at)
        return scan_same_id(uri, other);
    return scan_same_id(&a->spans[SCAN_METHOD], &b->spans[SCAN_METHOD]);
}

static void forget(struct dialog *dialog, struct blob **place) {
    struct blob *gone = *place;
    if (dialog->next == gone)
        dialog->next = gone->next;
    *place = gone->next;
    blob_release(gone);
}

void dialog_remember(struct dialog *dialog, struct blob *line) {
    bool ends = scan_is(&line->scan.spans[SCAN_METHOD], "resources/unsubscribe");
    struct blob **at = &dialog->said;
    while (*at) {
        if (is_same_matter(&(*at)->scan, &line->scan))
            forget(dialog, at);
        else
            at = &(*at)->next;
    }
    if (ends)
        return;
    line->next = NULL;
    *at = blob_hold(line);
}

void dialog_finish(struct dialog *dialog) {
    while (dialog->said)
        forget(dialog, &dialog->said);
}

/* ---- beginning ---- */

/* Reads what the answer to initialize settles. False if it is none. */
static bool read_terms(struct dialog *dialog, const struct http_response *answer,
                       const char *message, size_t length) {
    json_t *root = json_loadb(message, length, 0, NULL);
    const json_t *result = json_object_get(root, "result");
    const json_t *capabilities = json_object_get(result, "capabilities");
    const char *version = json_string_value(json_object_get(result, "protocolVersion"));
    if (version) {
        snprintf(dialog->version, sizeof dialog->version, "%s", version);
        snprintf(dialog->id, sizeof dialog->id, "%s", answer->session);
        for (int i = 0; i < DIALOG_LISTS; i++)
            dialog->changes[i] = json_is_true(
                json_object_get(json_object_get(capabilities, lists[i]), "listChanged"));
        dialog->stream_refused = false;
        dialog->stream_last[0] = 0;
        dialog->epoch++;
    }
    json_decref(root);
    return version != NULL;
}

static void dialog_lost(struct front *front);

void dialog_began(struct front *front, struct blob *initialize, const struct http_response *answer,
                  const char *result, size_t length) {
    struct dialog *dialog = &front->dialog;
    dialog_lost(front);
    dialog_finish(dialog);
    dialog_remember(dialog, initialize);
    dialog->initialized = false;
    dialog->state = DIALOG_NONE;
    if (!read_terms(dialog, answer, result, length))
        return;
    dialog->state = DIALOG_OPEN;
    dialog->generation = front->daemon.generation;
}

void dialog_initialized(struct dialog *dialog, struct blob *line) {
    dialog_remember(dialog, line);
    dialog->initialized = true;
    dialog->stream_at = os_clock_ms();
    dialog->stream_delay = 0;
}

int dialog_send(struct front *front, struct exchange *exchange, struct head *head,
                struct blob *body) {
    const struct dialog *dialog = &front->dialog;
    const struct scan *scan = body ? &body->scan : NULL;
    bool begins = scan && scan_is(&scan->spans[SCAN_METHOD], "initialize") && !head_is_modern(scan);
    bool open = dialog->state != DIALOG_NONE && !begins;
    struct buffer text = {0};
    head->port = front->daemon.port;
    head->token = front->token;
    head->target = front->target.data;
    head->session = open ? dialog->id : "";
    head->version = open ? dialog->version : begins ? "" : front->modern;
    head->scan = scan;
    head->body = body ? body->length : 0;
    head_write(&text, head);
    return exchange_start(exchange, &front->pool, front->daemon.port, &text, body);
}

/* Sends a request of the session's own. */
static int send_own(struct front *front, struct exchange *exchange,
                    const struct exchange_events *events, struct head *head, struct blob *body) {
    exchange->events = events;
    exchange->context = front;
    return dialog_send(front, exchange, head, body);
}

/* ---- beginning anew ---- */

static void say_next(struct front *front);

static void replay_ends(struct front *front) {
    struct dialog *dialog = &front->dialog;
    char line[96];
    dialog->state = DIALOG_OPEN;
    dialog->stream_at = dialog->initialized ? os_clock_ms() : 0;
    dialog->stream_delay = 0;
    for (int i = 0; dialog->initialized && i < DIALOG_LISTS; i++) {
        snprintf(line, sizeof line,
                 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/%s/list_changed\"}", lists[i]);
        if (dialog->changes[i]) /* it is another server now: what it offers may be something else */
            output_line(&front->output, line, strlen(line));
    }
    front_say("the session goes on with the new server");
}

/* The session stays as it was, and is begun anew when somebody needs it. */
static void replay_stops(struct dialog *dialog) {
    dialog->state = DIALOG_OPEN;
    dialog->generation = 0;
}

static void replay_fails(struct front *front, const char *why) {
    replay_stops(&front->dialog);
    flights_fail_waiting(front, why);
}

/* The connection came to nothing: it is begun once more, when the daemon has said how the server
 * is. */
static void replay_breaks(struct front *front) {
    replay_stops(&front->dialog);
    front_doubt(front);
}

static void on_replay_message(struct exchange *exchange, const struct http_response *answer,
                              const char *data, size_t length) {
    struct front *front = exchange->context;
    struct dialog *dialog = &front->dialog;
    struct scan *scan = &front->scan;
    if (scan_message(scan, data, length) < 0)
        return;
    if (scan_kind(scan) != SCAN_RESPONSE)
        front_relay(front, data, length, scan);
    else if (!dialog->begun && scan->spans[SCAN_RESULT].at)
        dialog->begun = read_terms(dialog, answer, data, length);
}

static void on_replay_done(struct exchange *exchange, struct http_response *answer, int code) {
    struct front *front = exchange->context;
    struct dialog *dialog = &front->dialog;
    if (code == UV_EPERM) {
        replay_fails(front, exchange_stranger);
    } else if (code < 0) {
        replay_breaks(front);
    } else {
        if (!answer->is_stream && answer->body.length > 0)
            on_replay_message(exchange, answer, answer->body.data, answer->body.length);
        if (dialog->begun)
            say_next(front);
        else
            replay_fails(front, "it is up again, but refuses to begin the session anew");
    }
    front_settle(front);
}

static const struct exchange_events replay_events = {on_replay_message, on_replay_done};

static void say_next(struct front *front) {
    struct dialog *dialog = &front->dialog;
    struct blob *now = dialog->next;
    struct head head = {.method = "POST"};
    if (!now) {
        replay_ends(front);
        return;
    }
    dialog->next = now->next;
    if (send_own(front, &dialog->replay, &replay_events, &head, now) < 0)
        replay_breaks(front);
}

static void replay(struct front *front) {
    struct dialog *dialog = &front->dialog;
    dialog_lost(front);
    dialog->state = DIALOG_REPLAY;
    dialog->generation = front->daemon.generation;
    dialog->begun = false;
    dialog->next = dialog->said;
    say_next(front);
}

bool dialog_fit(struct front *front) {
    struct dialog *dialog = &front->dialog;
    if (dialog->state == DIALOG_NONE)
        return true;
    if (dialog->state == DIALOG_OPEN && dialog->generation == front->daemon.generation)
        return true;
    if (dialog->state == DIALOG_OPEN && front->daemon.ready && !front->daemon.in_doubt)
        replay(front);
    return false;
}

void dialog_forgotten(struct front *front) {
    dialog_lost(front);
    front->dialog.generation = 0;
}

/* The server has changed, or is gone: ends what was under way with it. */
static void dialog_lost(struct front *front) {
    struct dialog *dialog = &front->dialog;
    exchange_cancel(&dialog->replay);
    exchange_cancel(&dialog->stream);
    dialog->stream_at = 0;
    if (dialog->state == DIALOG_REPLAY)
        dialog->state = DIALOG_OPEN;
}

/* ---- the stream ---- */

static void on_stream_message(struct exchange *exchange, const struct http_response *answer,
                              const char *data, size_t length) {
    struct front *front = exchange->context;
    (void)answer;
    front->dialog.stream_delay = 0;
    enum scan_kind kind =
        scan_message(&front->scan, data, length) == 0 ? scan_kind(&front->scan) : SCAN_INVALID;
    if (kind == SCAN_REQUEST || kind == SCAN_NOTIFICATION) /* answers come where was asked */
        front_relay(front, data, length, &front->scan);
}

static void stream_later(struct dialog *dialog, const struct sse *sse) {
    int64_t first = sse->retry_ms ? sse->retry_ms : STREAM_FIRST_MS;
    dialog->stream_delay = dialog->stream_delay ? 2 * dialog->stream_delay : first;
    if (dialog->stream_delay > STREAM_MOST_MS)
        dialog->stream_delay = STREAM_MOST_MS;
    dialog->stream_at = os_clock_ms() + dialog->stream_delay;
}

static void on_stream_done(struct exchange *exchange, struct http_response *answer, int code) {
    struct front *front = exchange->context;
    struct dialog *dialog = &front->dialog;
    if (answer->sse.id_length > 0)
        memcpy(dialog->stream_last, answer->sse.id, answer->sse.id_length + 1);
    if (code == 0 && answer->status == 404 && dialog->id[0])
        dialog_forgotten(front);
    else if (code == 0 && !answer->is_stream)
        dialog->stream_refused = true;
    else
        stream_later(dialog, &answer->sse);
    if (code < 0)
        front_doubt(front);
    front_settle(front);
}

static const struct exchange_events stream_events = {on_stream_message, on_stream_done};

static void open_stream(struct front *front) {
    struct dialog *dialog = &front->dialog;
    struct head head = {.method = "GET", .last_event = dialog->stream_last};
    dialog->stream_at = 0;
    if (send_own(front, &dialog->stream, &stream_events, &head, NULL) < 0)
        front_doubt(front);
}

void dialog_settle(struct front *front) {
    struct dialog *dialog = &front->dialog;
    if (dialog->state == DIALOG_NONE || !front->daemon.ready || front->daemon.in_doubt ||
        os_clock_ms() < front->hold_until || !dialog_fit(front))
        return;
    if (dialog->stream_at && !dialog->stream_refused && !dialog->stream.connection &&
        os_clock_ms() >= dialog->stream_at)
        open_stream(front);
}

int64_t dialog_deadline(const struct front *front) {
    const struct dialog *dialog = &front->dialog;
    return dialog->stream_refused || !front->daemon.ready ? 0 : dialog->stream_at;
}

/* ---- the end ---- */

static void on_goodbye_done(struct exchange *exchange, struct http_response *answer, int code) {
    (void)answer;
    (void)code;
    front_settle(exchange->context);
}

static const struct exchange_events goodbye_events = {NULL, on_goodbye_done};

void dialog_end(struct front *front) {
    struct dialog *dialog = &front->dialog;
    bool alive = dialog->state == DIALOG_OPEN && dialog->id[0] && front->daemon.ready &&
                 dialog->generation == front->daemon.generation;
    struct head head = {.method = "DELETE"};
    dialog_lost(front);
    if (alive)
        send_own(front, &dialog->goodbye, &goodbye_events, &head, NULL);
}
