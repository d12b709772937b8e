/* An answer over HTTP: its head, and the messages in it, be it JSON or a stream of events.
 *
 * Bytes go in as they come from the socket; each message comes out whole. Nothing here knows about
 * sockets or about JSON. */
#ifndef TETHER_FRONT_HTTP_RESPONSE_H
#define TETHER_FRONT_HTTP_RESPONSE_H

#include <llhttp.h>

#include "sse.h"

enum {
    ANSWER_MESSAGE_MAX = 64 * 1024 * 1024,
    ANSWER_HEADER_MAX = 256,
    ANSWER_HEADERS_MAX = 256 * 1024, /* all of them together */
};

struct http_response {
    sse_fn message; /* takes the events of a stream */
    void *context;
    llhttp_t parser;
    int status;                      /* 0: the head has not come */
    bool is_stream;                  /* text/event-stream */
    bool is_complete;                /* to its last byte */
    bool keeps;                      /* the connection may carry another request */
    int code;                        /* negative: why it stopped in the middle */
    char session[ANSWER_HEADER_MAX]; /* Mcp-Session-Id, or "" */
    struct buffer body;              /* if it is no stream */
    struct sse sse;

    struct buffer name, value; /* of the header that is being read */
    size_t header_bytes;       /* of all */
};

void http_response_init(struct http_response *answer, sse_fn message, void *context);

/* Returns 0, or a negative code after which the connection is useless: UV_EPROTO for what is no
 * HTTP and for bytes behind the end, UV_EMSGSIZE, UV_ENOMEM, UV_ECANCELED when the reader stopped
 * it. */
int http_response_feed(struct http_response *answer, const char *bytes, size_t count);

/* The connection has ended: some answers end like that. */
void http_response_end(struct http_response *answer);

void http_response_finish(struct http_response *answer);

#endif
