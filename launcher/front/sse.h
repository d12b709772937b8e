/* Server-sent events out of a stream that comes in pieces of any size. */
#ifndef TETHER_FRONT_SSE_H
#define TETHER_FRONT_SSE_H

#include <stdint.h>

#include "blob.h"
#include "buffer.h"

enum { SSE_ID_MAX = 1024, SSE_RETRY_MOST_MS = 30 * 1000 };

/* Zeroed memory is one at the start of a stream. */
struct sse {
    struct buffer line, data;
    bool has_data;
    bool after_cr;    /* a newline that comes now belongs to the end of the line before */
    bool started;     /* the place where a byte order mark may stand is past */
    bool other;       /* the event is of a type that carries no message */
    int64_t retry_ms; /* as the server wants it, within reason; 0: it has not said */
    size_t id_length;
    char id[SSE_ID_MAX]; /* of the last event that had one; terminated */
};

/* Takes the data of one event, which may have newlines in it. Returns false to stop. */
typedef bool (*sse_fn)(const char *data, size_t length, void *context);

/* Calls `fn` for each event that carries a message. Returns 0, UV_EMSGSIZE for an event beyond
 * `limit`, UV_ENOMEM, or UV_ECANCELED when `fn` said so. */
int sse_feed(struct sse *sse, const char *bytes, size_t count, size_t limit, sse_fn fn,
             void *context);

void sse_finish(struct sse *sse);

#endif
