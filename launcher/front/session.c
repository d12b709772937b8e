#include "session.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "../os/os.h"
#include "flight.h"
#include "front.h"
#include "headers.h"

enum {
    STREAM_FIRST_MS = 1000, /* before the stream is opened again, if the server does not say */
    STREAM_MOST_MS = 30000,
    SUBSCRIPTIONS_MOST = 1000,
};

struct subscription {
    struct subscription *next;
    struct blob *line;
    size_t length;
    char uri[]; /* as it was written */
};

/* ---- what is remembered ---- */

static struct subscription **find_subscription(struct session *session,
                                               const struct scan_text *uri) {
    struct subscription **at = &session->subscriptions;
    while (*at && ((*at)->length != uri->length || memcmp((*at)->uri, uri->raw, uri->length) != 0))
        at = &(*at)->next;
    return at;
}

static void unsubscribe(struct session *session, const struct scan_text *uri) {
    struct subscription **at = find_subscription(session, uri), *found = *at;
    if (!found)
        return;
    if (session->next == found)
        session->next = found->next;
    *at = found->next;
    blob_release(found->line);
    free(found);
}

static void subscribe(struct session *session, const struct scan_text *uri, struct blob *line) {
    struct subscription *made = uri->scalar ? malloc(sizeof *made + uri->length) : NULL;
    unsubscribe(session, uri);
    if (!made)
        return;
    made->line = blob_hold(line);
    made->length = uri->length;
    memcpy(made->uri, uri->raw, uri->length);
    made->next = session->subscriptions;
    session->subscriptions = made;
}

static void keep_blob(struct blob **place, struct blob *line) {
    blob_hold(line);
    blob_release(*place);
    *place = line;
}

void session_remember(struct front *front, const struct scan *scan, struct blob *line) {
    struct session *session = &front->session;
    const struct scan_text *method = &scan->texts[SCAN_METHOD];
    if (session->state == SESSION_NONE)
        return;
    if (scan_is(method, "logging/setLevel"))
        keep_blob(&session->level, line);
    else if (scan_is(method, "resources/subscribe"))
        subscribe(session, &scan->texts[SCAN_URI], line);
    else
        unsubscribe(session, &scan->texts[SCAN_URI]);
}

static void forget_all(struct session *session) {
    blob_release(session->initialize);
    blob_release(session->level);
    session->initialize = session->level = NULL;
    while (session->subscriptions) {
        struct subscription *first = session->subscriptions;
        session->subscriptions = first->next;
        blob_release(first->line);
        free(first);
    }
    session->next = NULL;
}

/* ---- beginning ---- */

static bool tells_changes(const json_t *capabilities, const char *of) {
    return json_is_true(json_object_get(json_object_get(capabilities, of), "listChanged"));
}

/* Reads what the answer to initialize settles. False if it is none. */
static bool read_terms(struct session *session, const struct answer *answer, const char *message,
                       size_t length) {
    json_t *root = json_loadb(message, length, 0, NULL);
    const json_t *result = json_object_get(root, "result");
    const json_t *capabilities = json_object_get(result, "capabilities");
    const char *version = json_string_value(json_object_get(result, "protocolVersion"));
    if (version) {
        snprintf(session->version, sizeof session->version, "%s", version);
        snprintf(session->id, sizeof session->id, "%s", answer->session);
        session->tools = tells_changes(capabilities, "tools");
        session->prompts = tells_changes(capabilities, "prompts");
        session->resources = tells_changes(capabilities, "resources");
        session->stream_refused = false;
        session->stream_last[0] = 0;
        session->epoch++;
    }
    json_decref(root);
    return version != NULL;
}

void session_began(struct front *front, struct blob *initialize, const struct answer *answer,
                   const char *result, size_t length) {
    struct session *session = &front->session;
    blob_hold(initialize);
    session_lost(front);
    forget_all(session);
    session->initialize = initialize;
    session->initialized = false;
    session->state = SESSION_NONE;
    if (!read_terms(session, answer, result, length))
        return;
    session->state = SESSION_OPEN;
    session->generation = front->link.generation;
}

void session_initialized(struct front *front) {
    struct session *session = &front->session;
    session->initialized = true;
    session->stream_at = os_clock_ms();
    session->stream_delay = 0;
}

void session_head(const struct front *front, struct bytes *head, const char *method,
                  const struct scan *scan, size_t body, const char *last_event) {
    const struct session *session = &front->session;
    bool begins = scan && scan_is(&scan->texts[SCAN_METHOD], "initialize") && !head_is_modern(scan);
    bool open = session->state != SESSION_NONE && !begins;
    struct head parts = {
        .method = method,
        .port = front->link.port,
        .session = open ? session->id : "",
        .version = open     ? session->version
                   : begins ? ""
                            : front->modern,
        .last_event = last_event,
        .scan = scan,
        .body = body,
    };
    head_write(head, &parts);
}

/* ---- beginning anew ---- */

static void next_step(struct front *front);

static void replay_ends(struct front *front) {
    struct session *session = &front->session;
    static const char *const lists[] = {"tools", "prompts", "resources"};
    const bool told[] = {session->tools, session->prompts, session->resources};
    char line[96];
    session->state = SESSION_OPEN;
    session->stream_at = session->initialized ? os_clock_ms() : 0;
    session->stream_delay = 0;
    for (size_t i = 0; session->initialized && i < 3; i++) {
        snprintf(line, sizeof line,
                 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/%s/list_changed\"}", lists[i]);
        if (told[i]) /* it is another server now: what it offers may be something else */
            output_line(&front->output, line, strlen(line));
    }
    front_say("the session goes on with the new server");
}

/* The session stays as it was, and is begun anew when somebody needs it. */
static void replay_fails(struct front *front, const char *why) {
    front->session.state = SESSION_OPEN;
    front->session.generation = 0;
    flights_fail_waiting(front, why);
}

static bool take_replay_message(struct front *front, const struct answer *answer, const char *data,
                                size_t length) {
    struct session *session = &front->session;
    struct scan *scan = &front->scan;
    if (scan_all(scan, data, length) < 0)
        return true;
    if (scan_kind(scan) != SCAN_RESPONSE)
        front_relay(front, data, length, scan);
    else if (session->step == 0 && scan->result.to && read_terms(session, answer, data, length))
        session->step = 1;
    return true;
}

static bool on_replay_message(struct exchange *exchange, const struct answer *answer,
                              const char *data, size_t length) {
    return take_replay_message(exchange->context, answer, data, length);
}

static void on_replay_done(struct exchange *exchange, struct answer *answer, int code) {
    struct front *front = exchange->context;
    struct session *session = &front->session;
    unsigned before = session->step;
    if (code < 0) {
        session->state = SESSION_OPEN;
        session->generation = 0;
        front_doubt(front);
    } else {
        if (!answer->is_stream && answer->body.length > 0)
            take_replay_message(front, answer, answer->body.data, answer->body.length);
        if (session->step == 0)
            replay_fails(front, "it is up again, but refuses to begin the session anew");
        else
            session->step += before > 0 && before < 3;
        if (session->state == SESSION_REPLAY)
            next_step(front);
    }
    front_settle(front);
}

static const struct exchange_events replay_events = {NULL, on_replay_message, on_replay_done};

static void say(struct front *front, struct blob *line) {
    struct session *session = &front->session;
    struct bytes head = {0};
    scan_all(&front->scan, line->data, line->length);
    session_head(front, &head, "POST", &front->scan, line->length, NULL);
    session->replay.events = &replay_events;
    session->replay.context = front;
    if (exchange_start(&session->replay, &front->pool, front->link.port, &head, line) < 0) {
        session->state = SESSION_OPEN;
        session->generation = 0;
        front_doubt(front);
    }
}

static void say_initialized(struct front *front) {
    static const char text[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";
    struct blob *line = blob_create(text, sizeof text - 1);
    if (line)
        say(front, line);
    else
        replay_fails(front, "out of memory");
    blob_release(line);
}

/* 0: initialize; 1: initialized; 2: the level; 3: one subscription after the other. */
static void next_step(struct front *front) {
    struct session *session = &front->session;
    if (session->step == 0) {
        say(front, session->initialize);
        return;
    }
    if (session->step == 1 && session->initialized) {
        session->next = session->subscriptions;
        say_initialized(front);
        return;
    }
    if (session->step == 1)
        session->step = 3;
    if (session->step == 2 && session->level) {
        say(front, session->level);
        return;
    }
    session->step = 3;
    if (session->next) {
        const struct subscription *now = session->next;
        session->next = now->next;
        say(front, now->line);
        return;
    }
    replay_ends(front);
}

static void replay(struct front *front) {
    struct session *session = &front->session;
    session_lost(front);
    session->state = SESSION_REPLAY;
    session->generation = front->link.generation;
    session->step = 0;
    session->next = NULL;
    next_step(front);
}

bool session_fit(struct front *front) {
    struct session *session = &front->session;
    if (session->state == SESSION_NONE)
        return true;
    if (session->state == SESSION_OPEN && session->generation == front->link.generation)
        return true;
    if (session->state == SESSION_OPEN && front->link.ready && !front->link.in_doubt)
        replay(front);
    return false;
}

void session_forgotten(struct front *front) {
    session_lost(front);
    front->session.generation = 0;
}

void session_lost(struct front *front) {
    struct session *session = &front->session;
    exchange_cancel(&session->replay);
    exchange_cancel(&session->stream);
    session->stream_at = 0;
    if (session->state == SESSION_REPLAY)
        session->state = SESSION_OPEN;
}

/* ---- the stream ---- */

static bool on_stream_message(struct exchange *exchange, const struct answer *answer,
                              const char *data, size_t length) {
    struct front *front = exchange->context;
    (void)answer;
    front->session.stream_delay = 0;
    if (scan_all(&front->scan, data, length) == 0 && scan_kind(&front->scan) != SCAN_INVALID)
        front_relay(front, data, length, &front->scan);
    return true;
}

static void stream_later(struct session *session, const struct sse *sse) {
    int64_t first = sse->retry_ms ? sse->retry_ms : STREAM_FIRST_MS;
    session->stream_delay = session->stream_delay ? 2 * session->stream_delay : first;
    if (session->stream_delay > STREAM_MOST_MS)
        session->stream_delay = STREAM_MOST_MS;
    session->stream_at = os_clock_ms() + session->stream_delay;
}

static void on_stream_done(struct exchange *exchange, struct answer *answer, int code) {
    struct front *front = exchange->context;
    struct session *session = &front->session;
    if (answer->sse.id_length > 0)
        memcpy(session->stream_last, answer->sse.id, answer->sse.id_length + 1);
    if (code == 0 && answer->status == 404 && session->id[0])
        session_forgotten(front);
    else if (code == 0 && !answer->is_stream)
        session->stream_refused = true;
    else
        stream_later(session, &answer->sse);
    if (code < 0)
        front_doubt(front);
    front_settle(front);
}

static const struct exchange_events stream_events = {NULL, on_stream_message, on_stream_done};

static void open_stream(struct front *front) {
    struct session *session = &front->session;
    struct bytes head = {0};
    session->stream_at = 0;
    session->stream.events = &stream_events;
    session->stream.context = front;
    session_head(front, &head, "GET", NULL, 0, session->stream_last);
    if (exchange_start(&session->stream, &front->pool, front->link.port, &head, NULL) < 0)
        front_doubt(front);
}

void session_settle(struct front *front) {
    struct session *session = &front->session;
    if (session->state == SESSION_NONE || !front->link.ready || front->link.in_doubt ||
        os_clock_ms() < front->hold_until || !session_fit(front))
        return;
    if (session->stream_at && !session->stream_refused && !session->stream.connection &&
        os_clock_ms() >= session->stream_at)
        open_stream(front);
}

int64_t session_deadline(const struct front *front) {
    const struct session *session = &front->session;
    return session->stream_refused || !front->link.ready ? 0 : session->stream_at;
}

/* ---- the end ---- */

static void on_goodbye_done(struct exchange *exchange, struct answer *answer, int code) {
    (void)answer;
    (void)code;
    front_settle(exchange->context);
}

static const struct exchange_events goodbye_events = {NULL, NULL, on_goodbye_done};

bool front_session_end(struct front *front) {
    struct session *session = &front->session;
    bool alive = session->state == SESSION_OPEN && session->id[0] && front->link.ready &&
                 session->generation == front->link.generation;
    struct bytes head = {0};
    session_lost(front);
    if (!alive)
        return false;
    session->goodbye.events = &goodbye_events;
    session->goodbye.context = front;
    session_head(front, &head, "DELETE", NULL, 0, NULL);
    return exchange_start(&session->goodbye, &front->pool, front->link.port, &head, NULL) == 0;
}

void session_finish(struct session *session) {
    forget_all(session);
}
