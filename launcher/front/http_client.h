/* Requests over HTTP to the server on 127.0.0.1, each on a connection of its own from a pool.
 *
 * Nothing is said to a server before the system has told that it is one of our own user's. A
 * connection that was used carries the next request if it has rested only for a moment: a server
 * that closes what rests must not be able to make a request ambiguous. */
#ifndef TETHER_FRONT_HTTP_CLIENT_H
#define TETHER_FRONT_HTTP_CLIENT_H

#include <uv.h>

#include "blob.h"
#include "buffer.h"
#include "http_response.h"

struct connection;
struct exchange;

/* Zeroed memory, but for the loop. */
struct pool {
    uv_loop_t *loop;
    struct connection *connections;
    size_t resting;     /* of them */
    bool paused;        /* nothing is read, because nobody takes it */
    char buffer[65536]; /* lent to one connection after the other */
};

struct exchange_events {
    void (*message)(struct exchange *exchange, const struct http_response *answer, const char *data,
                    size_t length);
    /* The end, called once and never from within exchange_start; then the exchange is over and may
     * be started again or freed. 0: the answer is complete. Else what went wrong; UV_EPERM: it is
     * another user's server, which has not been told anything. The answer is valid until this
     * returns. */
    void (*done)(struct exchange *exchange, struct http_response *answer, int code);
};

/* One request and its answer; embedded in whatever asks. Zeroed memory is none. */
struct exchange {
    const struct exchange_events *events;
    void *context;
    struct connection *connection; /* NULL: none is under way */
    bool sent;                     /* something of it may have reached the server */
};

/* What to say about UV_EPERM. */
extern const char exchange_stranger[];

/* Closes all connections; nobody is told. */
void pool_finish(struct pool *pool);

/* Stops reading, or goes on. */
void pool_pause(struct pool *pool, bool paused);

/* Sends. Takes the bytes of the head; holds the body, which may be NULL. Returns 0 or a negative
 * code, and then `done` is not called. */
int exchange_start(struct exchange *exchange, struct pool *pool, uint16_t port, struct buffer *head,
                   struct blob *body);

/* Ends it by closing its connection; `done` is not called. */
void exchange_cancel(struct exchange *exchange);

#endif
