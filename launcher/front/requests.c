#include "requests.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "front.h"
#include "os/os.h"
#include "request_head.h"

enum {
    ATTEMPTS_MOST = 3,
    RESUMES_MOST = 20, /* of one answer that comes in parts, without anything new */
    RESUME_MS = 1000,
    BROKEN_BODY_SHOWN = 200,
    NEWS_MS = 100,       /* a connection may tell of a death before the daemon has heard of it */
    PATIENCE_MS = 10000, /* for the server to come back, beyond its own time to start */
    PATIENCE_UNLIMITED_MS = 60000, /* if that is without limit */
};

/* What a message is, as far as that makes a difference here. */
enum errand {
    ERRAND_OTHER,
    ERRAND_INITIALIZE,
    ERRAND_INITIALIZED,
    ERRAND_TOOLS,
    ERRAND_REMEMBERED, /* a level or a subscription */
    ERRAND_LISTEN,
    ERRAND_CANCEL
};

/* One message of the client. */
struct flight {
    struct flight *next, **link;
    struct front *front;
    struct blob *line;
    enum errand errand;
    bool repeatable; /* it does not matter if the server gets it twice */
    bool flying;     /* it is under way; else it waits */
    bool lost, cancelled, answered, acknowledged;
    bool relayed; /* the client has been told something about it */
    unsigned attempts, resumes, epoch;
    uint64_t generation; /* of the server that it was sent to */
    int64_t deadline;    /* while it waits for the server */
    int64_t not_before;  /* 0: at once */
    char *last_event;    /* the answer goes on behind this event; NULL: from the start */
    struct exchange exchange;
};

/* ---- what a message is ---- */

/* Each of these is repeatable: it only asks, or says what holds until it is said otherwise. */
static const struct {
    const char *method;
    enum errand errand;
} methods[] = {
    {"initialize", ERRAND_INITIALIZE},
    {"notifications/initialized", ERRAND_INITIALIZED},
    {"tools/list", ERRAND_TOOLS},
    {"logging/setLevel", ERRAND_REMEMBERED},
    {"resources/subscribe", ERRAND_REMEMBERED},
    {"resources/unsubscribe", ERRAND_REMEMBERED},
    {"subscriptions/listen", ERRAND_LISTEN},
    {"notifications/cancelled", ERRAND_CANCEL},
    {"ping", ERRAND_OTHER},
    {"server/discover", ERRAND_OTHER},
    {"resources/list", ERRAND_OTHER},
    {"resources/templates/list", ERRAND_OTHER},
    {"resources/read", ERRAND_OTHER},
    {"prompts/list", ERRAND_OTHER},
    {"prompts/get", ERRAND_OTHER},
    {"completion/complete", ERRAND_OTHER},
    {"tasks/get", ERRAND_OTHER},
    {"tasks/list", ERRAND_OTHER},
    {"tasks/result", ERRAND_OTHER},
};

static const struct scan_span *span_of(const struct flight *flight, enum scan_place place) {
    return &flight->line->scan.spans[place];
}

static void classify(struct flight *flight) {
    const struct scan_span *method = span_of(flight, SCAN_METHOD);
    char name[SCAN_TEXT_MAX];
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (scan_is(method, methods[i].method)) {
            flight->errand = methods[i].errand;
            flight->repeatable = true;
        }
    }
    if (scan_is(method, "tools/call") && scan_decode(span_of(flight, SCAN_NAME), name, sizeof name))
        flight->repeatable = hints_repeatable(&flight->front->hints, name);
}

static bool has_id(const struct flight *flight, const struct scan_span *id) {
    return scan_same_id(id, span_of(flight, SCAN_ID));
}

static bool is_request(const struct flight *flight) {
    return scan_kind(&flight->line->scan) == SCAN_REQUEST;
}

static bool is_modern(const struct flight *flight) {
    return head_is_modern(&flight->line->scan);
}

/* Nothing that comes after it overtakes it. */
static bool is_barrier(const struct flight *flight) {
    return !flight->answered &&
           (flight->errand == ERRAND_INITIALIZE || flight->errand == ERRAND_INITIALIZED);
}

/* ---- the list ---- */

/* How long a flight waits for the server at most. */
static int64_t patience(const struct front *front) {
    uint32_t start = front->options->config.ready_timeout_ms;
    return start ? (int64_t)start + PATIENCE_MS : PATIENCE_UNLIMITED_MS;
}

static void begin_waiting(struct flight *flight) {
    flight->flying = false;
    flight->deadline = os_clock_ms() + patience(flight->front);
}

/* Whether it counts among the requests that are under way. */
static bool counts(const struct flight *flight) {
    return flight->flying && is_request(flight) && flight->errand != ERRAND_LISTEN &&
           !flight->answered && !flight->cancelled;
}

size_t flights_waiting(const struct front *front, size_t *bytes) {
    size_t count = 0;
    *bytes = 0;
    for (const struct flight *flight = front->flights; flight; flight = flight->next) {
        if (flight->flying)
            continue;
        *bytes += flight->line->length;
        count++;
    }
    return count;
}

/* A flight at the end of the list. NULL without memory. */
static struct flight *create(struct front *front, const char *line, size_t length) {
    struct flight *flight = calloc(1, sizeof *flight), **end = &front->flights;
    if (flight)
        flight->line = blob_create(line, length, &front->scan);
    if (!flight || !flight->line) {
        free(flight);
        return NULL;
    }
    flight->front = front;
    classify(flight);
    while (*end)
        end = &(*end)->next;
    *end = flight;
    flight->link = end;
    begin_waiting(flight);
    return flight;
}

/* Takes it out of the list, closes its connection, frees it. */
static void remove_flight(struct flight *flight) {
    *flight->link = flight->next;
    if (flight->next)
        flight->next->link = flight->link;
    exchange_cancel(&flight->exchange);
    blob_release(flight->line);
    free(flight->last_event);
    free(flight);
}

static struct flight *find_request(struct front *front, const struct scan_span *id) {
    struct flight *flight = front->flights;
    while (flight && !(is_request(flight) && !flight->answered && has_id(flight, id)))
        flight = flight->next;
    return flight;
}

/* ---- answers from here ---- */

/* Ends the flight with an error, if it is a request that still expects an answer. */
static void land_error(struct flight *flight, const char *message) {
    if (is_request(flight) && !flight->answered && !flight->cancelled)
        front_answer_error(flight->front, span_of(flight, SCAN_ID), FRONT_ERROR, message);
    remove_flight(flight);
}

/* How the connection came to its end, in words. */
static void tell_loss(const struct flight *flight, char *out, size_t size) {
    const struct daemon_session *daemon = &flight->front->daemon;
    if (!daemon->ready)
        snprintf(out, size, "%s", daemon->reason);
    else if (daemon->generation == flight->generation)
        snprintf(out, size, "the server lives, but closed it");
    else if (daemon->last_exit[0])
        snprintf(out, size, "the server %s", daemon->last_exit);
    else
        snprintf(out, size, "the server and its daemon have ended");
}

static void land_lost(struct flight *flight) {
    char text[768], how[512];
    tell_loss(flight, how, sizeof how);
    snprintf(text, sizeof text,
             "The connection to the server was lost while it worked on this: %.400s. It may or may "
             "not have taken effect: look before you ask again.%s",
             how, flight->front->daemon.ready ? " The server is up." : "");
    land_error(flight, text);
}

static void land_unavailable(struct flight *flight, const char *why) {
    char text[768];
    snprintf(text, sizeof text,
             "The server cannot be reached: %s. `tether status` and `tether doctor` tell more; ask "
             "again when it is up.",
             why);
    land_error(flight, text);
}

/* ---- back to waiting ---- */

/* Whether it may go out once more though the server may have seen it. */
static bool may_repeat(const struct flight *flight) {
    if (flight->errand == ERRAND_LISTEN)
        return true;
    return flight->repeatable && !flight->relayed && flight->attempts < ATTEMPTS_MOST;
}

/* The connection is gone and there was no answer. */
static void on_lost(struct flight *flight) {
    bool open = !flight->answered && !flight->cancelled;
    front_doubt(flight->front);
    if (open && (!flight->exchange.sent || may_repeat(flight))) {
        begin_waiting(flight);
    } else if (open && is_request(flight)) {
        flight->lost = true; /* answered when the daemon has told how the server is */
        flight->not_before = os_clock_ms() + NEWS_MS;
        begin_waiting(flight);
    } else {
        remove_flight(flight);
    }
}

/* The server ended its stream before the answer, and said how to get the rest. */
static bool resume(struct flight *flight, const struct http_response *answer) {
    const struct sse *sse = &answer->sse;
    char *copy;
    if (!is_request(flight) || is_modern(flight) || sse->id_length == 0 ||
        ++flight->resumes > RESUMES_MOST)
        return false;
    copy = malloc(sse->id_length + 1);
    if (!copy)
        return false;
    memcpy(copy, sse->id, sse->id_length + 1);
    free(flight->last_event);
    flight->last_event = copy;
    flight->not_before = os_clock_ms() + (sse->retry_ms ? sse->retry_ms : RESUME_MS);
    begin_waiting(flight);
    return true;
}

/* ---- answers of the server ---- */

static void after_result(struct flight *flight, const struct http_response *answer,
                         const char *data, size_t length) {
    struct front *front = flight->front;
    if (flight->errand == ERRAND_INITIALIZE) {
        dialog_began(front, flight->line, answer, data, length);
    } else if (flight->errand == ERRAND_TOOLS) {
        hints_learn(&front->hints, data, length);
    } else if (flight->errand == ERRAND_REMEMBERED) {
        dialog_remember(&front->dialog, flight->line);
    }
}

static void take_response(struct flight *flight, const struct http_response *answer,
                          const char *data, size_t length) {
    bool is_result = flight->front->scan.spans[SCAN_RESULT].at != NULL;
    flight->answered = true;
    if (flight->cancelled)
        return;
    front_output(flight->front, data, length);
    if (is_result)
        after_result(flight, answer, data, length);
}

/* An error that the server could not or did not assign: its words, with the id that it belongs to.
 */
static void take_foreign_error(struct flight *flight, const struct scan_span *error) {
    if (!flight->cancelled)
        front_answer(flight->front, span_of(flight, SCAN_ID), error->at, error->length);
    flight->answered = true;
}

/* What is under an id of some other request does not go on: that one has an answer of its own. */
static void take_any_response(struct flight *flight, const struct http_response *answer,
                              const char *data, size_t length) {
    const struct scan *scan = &flight->front->scan;
    if (has_id(flight, &scan->spans[SCAN_ID]))
        take_response(flight, answer, data, length);
    else if (scan->spans[SCAN_ERROR].at && !scan_is_scalar(&scan->spans[SCAN_ID]))
        take_foreign_error(flight, &scan->spans[SCAN_ERROR]);
    else
        front_say("the server answered one request under the id of another; left out");
}

/* A message out of the stream that answers a flight. */
static void on_message(struct exchange *exchange, const struct http_response *answer,
                       const char *data, size_t length) {
    struct flight *flight = exchange->context;
    struct front *front = flight->front;
    struct scan *scan = &front->scan;
    if (scan_message(scan, data, length) < 0 || scan_kind(scan) == SCAN_INVALID) {
        front_say("the server sent what is no message of JSON-RPC; left out");
        return;
    }
    if (scan_kind(scan) == SCAN_RESPONSE) {
        if (!flight->answered)
            take_any_response(flight, answer, data, length);
        return;
    }
    if (scan_is(&scan->spans[SCAN_METHOD], "notifications/subscriptions/acknowledged")) {
        flight->attempts = 0;
        if (flight->acknowledged)
            return; /* the client knows */
        flight->acknowledged = true;
    }
    flight->relayed = true;
    flight->resumes = 0;
    front_relay(front, data, length, scan);
}

static void answer_status(struct flight *flight, const struct http_response *answer) {
    char text[768], shown[BROKEN_BODY_SHOWN + 1];
    snprintf(shown, sizeof shown, "%.*s", (int)answer->body.length,
             answer->body.data ? answer->body.data : "");
    if (answer->status == 401 || answer->status == 403)
        snprintf(text, sizeof text, "The server refused this (HTTP %d): %s", answer->status, shown);
    else
        snprintf(text, sizeof text,
                 "The server did not answer this in the way of MCP (HTTP %d): %s", answer->status,
                 shown[0] ? shown : "nothing");
    land_error(flight, text);
}

/* The server knows that nobody waits for the answer any more. */
static void drop_cancelled(const struct flight *note) {
    struct flight *flight = find_request(note->front, span_of(note, SCAN_REQUEST_ID));
    if (flight && flight->cancelled)
        remove_flight(flight);
}

/* The whole body, when it was no stream. */
static void take_body(struct flight *flight, const struct http_response *answer) {
    struct scan *scan = &flight->front->scan;
    const char *data = answer->body.data;
    size_t length = answer->body.length;
    bool response =
        length > 0 && scan_message(scan, data, length) == 0 && scan_kind(scan) == SCAN_RESPONSE;
    if (!is_request(flight)) {
        if (answer->status >= 400)
            front_say("the server did not take a message (HTTP %d)", answer->status);
        if (flight->errand == ERRAND_INITIALIZED)
            dialog_initialized(&flight->front->dialog, flight->line);
        if (flight->errand == ERRAND_CANCEL)
            drop_cancelled(flight);
        remove_flight(flight);
        return;
    }
    if (response && has_id(flight, &scan->spans[SCAN_ID]))
        take_response(flight, answer, data, length);
    else if (response && scan->spans[SCAN_ERROR].at)
        take_foreign_error(flight, &scan->spans[SCAN_ERROR]);
    if (flight->answered || flight->cancelled)
        remove_flight(flight);
    else
        answer_status(flight, answer);
}

static bool is_forgotten(const struct flight *flight, const struct http_response *answer) {
    const struct dialog *dialog = &flight->front->dialog;
    return answer->status == 404 && !is_modern(flight) && flight->errand != ERRAND_INITIALIZE &&
           dialog->state != DIALOG_NONE && dialog->id[0] && flight->attempts < ATTEMPTS_MOST;
}

static void on_stream_end(struct flight *flight, const struct http_response *answer) {
    if (flight->answered || flight->cancelled) {
        remove_flight(flight);
    } else if (flight->errand == ERRAND_LISTEN) {
        flight->not_before = os_clock_ms() + RESUME_MS;
        begin_waiting(flight);
    } else if (!resume(flight, answer)) {
        on_lost(flight);
    }
}

/* ---- what the exchange tells ---- */

static void on_answer(struct flight *flight, struct http_response *answer) {
    struct front *front = flight->front;
    front->misses = 0;
    if (answer->is_stream) {
        on_stream_end(flight, answer);
    } else if (is_forgotten(flight, answer)) {
        if (flight->epoch == front->dialog.epoch)
            dialog_forgotten(front);
        begin_waiting(flight); /* the server did not act on it */
    } else {
        take_body(flight, answer);
    }
}

static void on_done(struct exchange *exchange, struct http_response *answer, int code) {
    struct flight *flight = exchange->context;
    struct front *front = flight->front;
    if (code == 0)
        on_answer(flight, answer);
    else if (code == UV_EMSGSIZE)
        land_error(flight, "The server's answer is longer than 64 MiB; ask for less.");
    else if (code == UV_EPERM)
        land_unavailable(flight, exchange_stranger);
    else if (code == UV_EPROTO || code == UV_ENOMEM)
        land_error(flight, "What listens on the server's port does not speak HTTP as it should.");
    else
        on_lost(flight);
    front_settle(front);
}

static const struct exchange_events events = {on_message, on_done};

/* ---- sending ---- */

static bool is_sessional(const struct flight *flight) {
    return !is_modern(flight) && flight->errand != ERRAND_INITIALIZE;
}

static bool may_go(struct front *front, const struct flight *flight, int64_t now) {
    if (!front->daemon.ready || front->daemon.in_doubt || now < front->hold_until ||
        now < flight->not_before)
        return false;
    return !is_sessional(flight) || dialog_fit(front);
}

/* What is resumed belongs to a server that knows it; another one does not. */
static void forget_events(struct flight *flight) {
    if (!flight->last_event || flight->generation == flight->front->daemon.generation)
        return;
    free(flight->last_event);
    flight->last_event = NULL;
    if (!may_repeat(flight))
        flight->lost = true;
}

static void send_out(struct flight *flight) {
    struct front *front = flight->front;
    bool resumes = flight->last_event != NULL;
    struct buffer more = {0};
    struct head head = {.method = resumes ? "GET" : "POST", .last_event = flight->last_event};
    const struct scan *scan = &flight->line->scan;
    int rc;
    if (!resumes && is_modern(flight) && scan_is(&scan->spans[SCAN_METHOD], "tools/call"))
        hints_repeat(&front->hints, scan, &more);
    head.more = &more;
    flight->exchange.events = &events;
    flight->exchange.context = flight;
    rc = dialog_send(front, &flight->exchange, &head, resumes ? NULL : flight->line);
    buffer_finish(&more);
    if (rc < 0) {
        front_doubt(front);
        return;
    }
    flight->flying = true;
    flight->not_before = 0;
    flight->attempts += !resumes;
    flight->generation = front->daemon.generation;
    flight->epoch = front->dialog.epoch;
}

/* Whether it is known, or will not be known, what became of the server. */
static bool is_explained(const struct flight *flight, int64_t now) {
    const struct daemon_session *daemon = &flight->front->daemon;
    if (daemon->ready && daemon->generation == flight->generation)
        return !daemon->in_doubt && now >= flight->not_before;
    return !daemon->in_doubt;
}

/* Whether it is the server that the flight waits for, and not its turn. */
static bool waits_for_server(const struct front *front, const struct flight *flight) {
    return !front->daemon.ready || front->daemon.in_doubt || front->hold_until ||
           (is_sessional(flight) && front->dialog.state == DIALOG_REPLAY);
}

/* True if it has waited too long, and has been answered. */
static bool expire(struct flight *flight, int64_t now) {
    const struct front *front = flight->front;
    if (now < flight->deadline)
        return false;
    if (!waits_for_server(front, flight)) {
        flight->deadline = now + patience(front);
        return false;
    }
    land_unavailable(flight, front->daemon.reason[0] ? front->daemon.reason : "it is not there");
    return true;
}

void flights_pump(struct front *front) {
    int64_t now = os_clock_ms();
    bool held = false; /* by one that nothing overtakes */
    size_t under_way = 0;
    struct flight *next;
    for (const struct flight *flight = front->flights; flight; flight = flight->next) {
        held = held || (flight->flying && is_barrier(flight));
        under_way += counts(flight);
    }
    for (struct flight *flight = front->flights; flight; flight = next) {
        bool barrier = is_barrier(flight);
        next = flight->next;
        if (flight->flying)
            continue;
        forget_events(flight);
        if (flight->lost) {
            if (is_explained(flight, now) || now >= flight->deadline)
                land_lost(flight);
        } else if (!expire(flight, now) && !held && may_go(front, flight, now) &&
                   !(is_request(flight) && under_way >= FRONT_REQUESTS_MOST)) {
            send_out(flight);
            under_way += counts(flight);
        }
        held = held || barrier;
    }
}

/* ---- the client's messages ---- */

/* True if that is all there is to do. In the stateless era closing the connection is how to cancel;
 * in the others the server is told, if it knows of the request at all. */
static bool cancel(struct front *front, const struct scan_span *id) {
    struct flight *flight = find_request(front, id);
    if (!flight)
        return front->dialog.state == DIALOG_NONE;
    if (is_modern(flight) || !flight->flying) {
        remove_flight(flight);
        return true;
    }
    flight->cancelled = true;
    return false;
}

void flights_add(struct front *front, const char *line, size_t length) {
    const struct scan *scan = &front->scan;
    if (scan_is(&scan->spans[SCAN_METHOD], "notifications/cancelled") &&
        cancel(front, &scan->spans[SCAN_REQUEST_ID]))
        return;
    if (!create(front, line, length) && scan_kind(scan) == SCAN_REQUEST)
        front_answer_error(front, &scan->spans[SCAN_ID], FRONT_ERROR, "out of memory");
}

/* ---- time and ends ---- */

int64_t flights_due(const struct front *front) {
    int64_t now = os_clock_ms(), due = 0;
    for (const struct flight *flight = front->flights; flight; flight = flight->next) {
        int64_t next = flight->not_before > now ? flight->not_before : flight->deadline;
        if (!flight->flying && (due == 0 || next < due))
            due = next;
    }
    return due;
}

void flights_fail_waiting(struct front *front, const char *why) {
    struct flight *next;
    for (struct flight *flight = front->flights; flight; flight = next) {
        next = flight->next;
        if (flight->lost)
            land_lost(flight);
        else if (!flight->flying)
            land_unavailable(flight, why);
    }
}

void flights_finish(struct front *front, const char *why) {
    struct flight *next;
    for (struct flight *flight = front->flights; flight; flight = next) {
        next = flight->next;
        land_error(flight, why);
    }
}

bool flights_open(const struct front *front) {
    for (const struct flight *flight = front->flights; flight; flight = flight->next)
        if (!flight->answered && !flight->cancelled && flight->errand != ERRAND_LISTEN)
            return true;
    return false;
}
