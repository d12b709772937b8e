#include "request_queue.h"

#include <stdlib.h>
#include <string.h>

#include "front.h"
#include "os/os.h"
#include "request_head.h"
#include "requests.h"

enum {
    PATIENCE_MS = 10000,           /* for the server to come back, beyond its own time to start */
    PATIENCE_UNLIMITED_MS = 60000, /* if that is without limit */
};

/* ---- what a message is ---- */

static const struct {
    const char *method;
    enum errand errand;
    bool repeatable;
} methods[] = {
    {"initialize", ERRAND_INITIALIZE, true},
    {"notifications/initialized", ERRAND_INITIALIZED, true},
    {"tools/list", ERRAND_TOOLS, true},
    {"logging/setLevel", ERRAND_REMEMBERED, true},
    {"resources/subscribe", ERRAND_REMEMBERED, true},
    {"resources/unsubscribe", ERRAND_REMEMBERED, true},
    {"subscriptions/listen", ERRAND_LISTEN, true},
    {"notifications/cancelled", ERRAND_CANCEL, true},
    {"ping", ERRAND_OTHER, true},
    {"server/discover", ERRAND_OTHER, true},
    {"resources/list", ERRAND_OTHER, true},
    {"resources/templates/list", ERRAND_OTHER, true},
    {"resources/read", ERRAND_OTHER, true},
    {"prompts/list", ERRAND_OTHER, true},
    {"prompts/get", ERRAND_OTHER, true},
    {"completion/complete", ERRAND_OTHER, true},
    {"tasks/get", ERRAND_OTHER, true},
    {"tasks/list", ERRAND_OTHER, true},
    {"tasks/result", ERRAND_OTHER, true},
};

static void classify(struct flight *flight, const struct scan *scan) {
    char name[SCAN_TEXT_MAX];
    const struct scan_span *method = &scan->spans[SCAN_METHOD];
    flight->kind = scan_kind(scan);
    flight->modern = head_is_modern(scan);
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (scan_is(method, methods[i].method)) {
            flight->errand = methods[i].errand;
            flight->repeatable = methods[i].repeatable;
        }
    }
    flight->calls_tool = scan_is(method, "tools/call");
    if (flight->calls_tool && scan_decode(&scan->spans[SCAN_NAME], name, sizeof name))
        flight->repeatable = hints_repeatable(&flight->front->hints, name);
}

bool flight_has_id(const struct flight *flight, const struct scan_span *id) {
    struct scan_span own = {flight->id, flight->id_length};
    return scan_same_id(id, &own);
}

bool flight_is_request(const struct flight *flight) {
    return flight->kind == SCAN_REQUEST;
}

bool flight_is_barrier(const struct flight *flight) {
    return !flight->answered &&
           (flight->errand == ERRAND_INITIALIZE || flight->errand == ERRAND_INITIALIZED);
}

/* ---- the list ---- */

int64_t flight_patience(const struct front *front) {
    uint32_t start = front->options->config.ready_timeout_ms;
    return start ? (int64_t)start + PATIENCE_MS : PATIENCE_UNLIMITED_MS;
}

static void list_remove(struct flight *flight) {
    *flight->link = flight->next;
    if (flight->next)
        flight->next->link = flight->link;
    else
        flight->list->end = flight->link;
}

/* Puts it where `link` points to. */
static void list_insert(struct flight_list *list, struct flight *flight, struct flight **link) {
    flight->list = list;
    flight->link = link;
    flight->next = *link;
    if (flight->next)
        flight->next->link = &flight->next;
    else
        list->end = &flight->next;
    *link = flight;
}

void flights_note_due(struct flights *flights, int64_t due) {
    if (due && (flights->due == 0 || due < flights->due))
        flights->due = due;
}

/* At the end of the queue, or, for one that has been away, at its start. */
static void begin_waiting(struct flight *flight, struct flight **link) {
    struct flights *flights = &flight->front->flights;
    list_insert(&flights->waiting, flight, link);
    flight->deadline = os_clock_ms() + flight_patience(flight->front);
    flight->under_way = false;
    flights->count++;
    flights->bytes += flight->line->length;
    flights->others += !flight_is_request(flight);
    flights->lost += flight->lost;
    flights_note_due(flights, flight->deadline);
    flights_note_due(flights, flight->not_before);
}

static void end_waiting(struct flight *flight) {
    struct flights *flights = &flight->front->flights;
    list_remove(flight);
    flights->count--;
    flights->bytes -= flight->line->length;
    flights->others -= !flight_is_request(flight);
    flights->lost -= flight->lost;
    if (flights->count == 0)
        flights->due = 0;
}

void flight_begin_flying(struct flight *flight) {
    struct flight_list *flying = &flight->front->flights.flying;
    end_waiting(flight);
    list_insert(flying, flight, flying->end);
    flight->under_way = true;
}

void flight_set_lost(struct flight *flight) {
    flight->front->flights.lost += !flight->lost && !flight->under_way;
    flight->lost = true;
}

void flight_uncount(struct flight *flight) {
    if (flight->counted)
        flight->front->flights.requests--;
    flight->counted = false;
}

struct flight *flight_create(struct front *front, const char *line, size_t length,
                             const struct scan *scan) {
    const struct scan_span *id = &scan->spans[SCAN_ID];
    size_t id_length = scan_is_scalar(id) ? id->length : 0;
    struct flight *flight = calloc(1, sizeof *flight + id_length + 1);
    if (flight)
        flight->line = blob_create(line, length);
    if (!flight || !flight->line) {
        free(flight);
        return NULL;
    }
    flight->front = front;
    flight->id_length = id_length;
    if (id_length > 0)
        memcpy(flight->id, id->at, id_length);
    classify(flight, scan);
    begin_waiting(flight, front->flights.waiting.end);
    return flight;
}

void flight_remove(struct flight *flight) {
    if (flight->under_way)
        list_remove(flight);
    else
        end_waiting(flight);
    flight_uncount(flight);
    exchange_cancel(&flight->exchange);
    blob_release(flight->line);
    free(flight->last_event);
    free(flight);
}

void flight_requeue(struct flight *flight) {
    flight_uncount(flight);
    list_remove(flight);
    begin_waiting(flight, &flight->front->flights.waiting.first);
}

struct flight *flights_find_request(struct front *front, const struct scan_span *id) {
    struct flight *starts[] = {front->flights.flying.first, front->flights.waiting.first};
    for (size_t i = 0; i < 2; i++)
        for (struct flight *flight = starts[i]; flight; flight = flight->next)
            if (flight_is_request(flight) && !flight->answered && flight_has_id(flight, id))
                return flight;
    return NULL;
}
