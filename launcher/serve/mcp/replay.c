#include "replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

static uint32_t append(struct resume_events *events, const char *text, size_t length) {
    struct buffer *kept = &events->kept;
    const struct record record = {++events->last, (uint32_t)length};
    if (buffer_reserve(kept, sizeof record + length)) {
        buffer_add(kept, &record, sizeof record);
        buffer_add(kept, text, length);
    } else {
        buffer_finish(kept);
    }
    return record.number;
}

uint32_t resume_add(struct resume_events *events, const char *text, size_t length) {
    size_t size = sizeof(struct record) + length;
    drop_oldest(&events->kept, size < RESUME_EVENTS_MOST ? RESUME_EVENTS_MOST - size : 0);
    return size <= RESUME_EVENTS_MOST ? append(events, text, length) : ++events->last;
}

uint32_t resume_add_answer(struct resume_events *events, const struct buffer *answer) {
    if (answer->length <= RESUME_ANSWERS_MOST)
        return append(events, answer->data, answer->length);
    buffer_finish(&events->kept);
    return ++events->last;
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
