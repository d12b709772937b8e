#include "replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- events ---- */

/* The length of the line at this place, with its end. */
static size_t line_length(const struct buffer *kept, size_t at) {
    const char *from = kept->data + at, *end = memchr(from, '\n', kept->length - at);
    return (size_t)(end - from) + 1;
}

static void drop_oldest(struct buffer *kept, size_t room) {
    size_t gone = 0;
    while (gone < kept->length && kept->length - gone > room)
        gone += line_length(kept, gone);
    if (gone > 0)
        memmove(kept->data, kept->data + gone, kept->length - gone);
    kept->length -= gone;
}

uint32_t resume_add(struct resume_events *events, const char *text, size_t length, size_t most) {
    struct buffer *kept = &events->kept;
    drop_oldest(kept, length < most ? most - length - 1 : 0);
    if (length < most && buffer_reserve(kept, length + 1)) {
        buffer_add(kept, text, length);
        buffer_add_char(kept, '\n');
    } else {
        buffer_finish(kept);
    }
    return ++events->last;
}

void resume_replay(const struct serve *serve, const struct resume_events *events, int64_t call,
                   uint32_t after, struct http_connection *connection) {
    const struct buffer *kept = &events->kept;
    uint32_t number = events->last;
    bool there = true;
    for (size_t at = 0; at < kept->length; at += line_length(kept, at))
        number--;
    for (size_t at = 0, length; there && at < kept->length; at += length) {
        char id[RESUME_ID_MAX];
        length = line_length(kept, at);
        resume_id(serve, call, ++number, id);
        if (number > after)
            there = http_stream_event(connection, id, kept->data + at, length - 1);
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
