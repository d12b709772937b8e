#include "replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "serve/relay/calls.h"
#include "sessions.h"

/* A call that is over. */
struct resume_call {
    struct resume_call *next; /* older */
    struct serve *serve;
    const struct mcp_session *session;
    int64_t number;
    struct resume_events events; /* the answer is the last of them */
    struct deadline time;
};

struct record {
    uint32_t number, length;
};

/* ---- events ---- */

static struct record record_at(const struct buffer *kept, size_t at) {
    struct record record;
    memcpy(&record, kept->data + at, sizeof record);
    return record;
}

static void drop_oldest(struct buffer *kept, size_t room) {
    size_t gone = 0;
    while (gone < kept->length && kept->length - gone > room)
        gone += sizeof(struct record) + record_at(kept, gone).length;
    if (gone > 0)
        memmove(kept->data, kept->data + gone, kept->length - gone);
    kept->length -= gone;
}

static void append(struct resume_events *events, const char *text, size_t length) {
    struct buffer *kept = &events->kept;
    const struct record record = {++events->last, (uint32_t)length};
    if (!buffer_reserve(kept, sizeof record + length)) {
        buffer_finish(kept);
        return;
    }
    buffer_add(kept, &record, sizeof record);
    buffer_add(kept, text, length);
}

uint32_t resume_add(struct resume_events *events, const char *text, size_t length) {
    size_t size = sizeof(struct record) + length;
    drop_oldest(&events->kept, size < RESUME_EVENTS_MOST ? RESUME_EVENTS_MOST - size : 0);
    if (size <= RESUME_EVENTS_MOST)
        append(events, text, length);
    else
        events->last++;
    return events->last;
}

void resume_replay(const struct serve *serve, const struct resume_events *events, int64_t call,
                   uint32_t after, struct http_connection *connection) {
    const struct buffer *kept = &events->kept;
    bool there = true;
    for (size_t at = 0; there && at < kept->length;) {
        const struct record record = record_at(kept, at);
        char id[RESUME_ID_MAX];
        at += sizeof record;
        resume_id(serve, call, record.number, id);
        if (record.number > after)
            there = http_stream_event(connection, id, kept->data + at, record.length);
        at += record.length;
    }
}

/* ---- ids ---- */

void resume_id(const struct serve *serve, int64_t call, uint32_t event, char out[RESUME_ID_MAX]) {
    snprintf(out, RESUME_ID_MAX, "t%" PRIx64 "-%" PRIx64 "-%" PRIx32, (uint64_t)serve->started_at,
             (uint64_t)call, event);
}

static bool take_hex(const char **at, char end, uint64_t *out) {
    size_t digits = strspn(*at, "0123456789abcdef");
    if (digits == 0 || digits > 15 || (*at)[digits] != end)
        return false;
    *out = strtoull(*at, NULL, 16);
    *at += digits + (end != 0);
    return true;
}

bool resume_read_id(const struct serve *serve, const char *id, int64_t *call, uint32_t *event) {
    uint64_t started, number, which;
    if (*id++ != 't' || !take_hex(&id, '-', &started) || !take_hex(&id, '-', &number) ||
        !take_hex(&id, 0, &which) || which > UINT32_MAX)
        return false;
    *call = started == (uint64_t)serve->started_at ? (int64_t)number : 0;
    *event = (uint32_t)which;
    return true;
}

/* ---- calls that are over ---- */

static void drop(struct resume_call *over) {
    struct serve *serve = over->serve;
    struct resume_call **at = &serve->over;
    while (*at != over)
        at = &(*at)->next;
    *at = over->next;
    serve->over_count--;
    serve->over_bytes -= over->events.kept.length;
    deadline_stop(&over->time);
    buffer_finish(&over->events.kept);
    free(over);
}

static void on_time(struct deadline *deadline) {
    drop(deadline_owner(deadline, struct resume_call, time));
}

/* The oldest is the first whose time will be over. */
static void make_room(struct serve *serve) {
    while (serve->over_bytes > RESUME_ANSWERS_MOST || serve->over_count > RESUME_CALLS_MOST)
        drop(deadline_owner(serve->over_time.first, struct resume_call, time));
}

uint32_t resume_keep(struct call *call, const struct buffer *answer) {
    struct serve *serve = call->serve;
    uint32_t number = call->events.last + 1;
    struct resume_call *over =
        answer->length <= RESUME_ANSWERS_MOST ? calloc(1, sizeof *over) : NULL;
    if (!over)
        return number;
    over->serve = serve;
    over->session = call->session;
    over->number = call->number;
    over->events = call->events;
    call->events = (struct resume_events){0};
    append(&over->events, answer->data, answer->length);
    over->next = serve->over;
    serve->over = over;
    serve->over_count++;
    serve->over_bytes += over->events.kept.length;
    deadline_start(&over->time, &serve->over_time);
    make_room(serve);
    return number;
}

bool resume_over(const struct mcp_session *session, struct http_connection *connection,
                 int64_t call, uint32_t after) {
    struct serve *serve = session->serve;
    for (const struct resume_call *over = serve->over; over; over = over->next) {
        if (over->number != call || over->session != session || over->events.kept.length == 0)
            continue;
        http_stream_begin(connection);
        resume_replay(serve, &over->events, call, after, connection);
        http_stream_end(connection);
        return true;
    }
    return false;
}

void resume_forget(const struct mcp_session *session) {
    for (struct resume_call *over = session->serve->over, *next; over; over = next) {
        next = over->next;
        if (over->session == session)
            drop(over);
    }
}

void resume_init(struct serve *serve) {
    deadlines_add(&serve->deadlines, &serve->over_time, RESUME_MS, on_time);
}
