/* Streams of the legacy era that go on after their connection broke.
 *
 * Each event of a call's stream has an id, which says of which call it is and its number there. A
 * client that lost its connection asks by GET with the last id that it has seen (Last-Event-ID): it
 * gets what came after that, and the stream goes on there. For this the newest events of a call are
 * kept as long as it is under way, and its answer for a moment longer. */
#ifndef TETHER_SERVE_MCP_REPLAY_H
#define TETHER_SERVE_MCP_REPLAY_H

#include "serve/serve.h"

enum {
    RESUME_ID_MAX = 48,
    RESUME_RETRY_MS = 1000,                /* what clients are told to wait */
    RESUME_EVENTS_MOST = 64 * 1024,        /* bytes of a call's events; the oldest go first */
    RESUME_ANSWERS_MOST = 8 * 1024 * 1024, /* bytes of all calls that are over; the same */
    RESUME_CALLS_MOST = 256,
    RESUME_MS = 2 * 60 * 1000,
};

/* Zeroed memory is a stream without events. */
struct resume_events {
    uint32_t last;      /* the number of the newest; 0: none, so no client can ask for more */
    struct buffer kept; /* the newest, each a line, up to that one */
};

/* Keeps one more event, and of those before it what fits into so many bytes with it; returns its
 * number. One that is too large itself leaves nothing to go on with. */
uint32_t resume_add(struct resume_events *events, const char *text, size_t length, size_t most);

void resume_id(const struct serve *serve, int64_t call, uint32_t event, char out[RESUME_ID_MAX]);

/* Takes an id apart. False: it is none of ours, of whatever server of this instance. Of another
 * server than this one: no call has the number. */
bool resume_read_id(const struct serve *serve, const char *id, int64_t *call, uint32_t *event);

/* Sends what came after that event. */
void resume_replay(const struct serve *serve, const struct resume_events *events, int64_t call,
                   uint32_t after, struct http_connection *connection);

#endif
