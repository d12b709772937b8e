/* A connection from within; shared by the parts of the HTTP server. */
#ifndef TETHER_SERVE_HTTP_CONNECTION_H
#define TETHER_SERVE_HTTP_CONNECTION_H

#include "http.h"

enum http_state {
    HTTP_READING, /* between requests, or in the middle of one */
    HTTP_WAITING, /* a request is whole and has no answer yet */
    HTTP_STREAMING,
    HTTP_CLOSING, /* the last answer is on its way; nothing is read any more */
};

struct http_connection {
    uv_tcp_t tcp;
    uv_write_t write;
    uv_shutdown_t shutdown;
    struct http_server *server;
    struct http_connection *next, **link;
    struct deadline deadline, write_deadline;
    enum http_state state;
    uint64_t served;
    uint64_t deadline_for; /* the number of the request that the deadline is about */
    bool closed, shut, reading, writing;
    bool broken;   /* it cannot be written to, and ends */
    bool resuming; /* what came ahead is dealt with as soon as nothing else is being done */
    bool held;     /* it is answered later */
    void (*on_gone)(void *user);
    void *user;

    /* the request */
    llhttp_t parser;
    const char *input_end; /* of what the parser is fed with */
    int chunk_end;         /* bytes of a line's end that are due behind a chunk */
    bool begun, headers_done, whole, keep_alive;
    int reject; /* HTTP status; 0: nothing is wrong */
    const char *reject_text;
    struct buffer head; /* what came of it, for a start; then its values, each terminated */
    struct http_request request; /* what is in it; points there */
    const char *body_at;         /* the body, if it came in one piece */
    size_t body_length;
    struct buffer body;  /* else */
    size_t body_counted; /* of it, in the server's sum */
    struct buffer ahead; /* what came behind the request */

    /* the answer */
    struct buffer pending; /* behind what is being written */
    struct buffer out;     /* what is being written */
};

/* http_parse.c */
void http_parse_init(struct http_connection *connection);

/* Feeds the parser up to the end of a request, and returns how many bytes that took. Sets whole and
 * the request, or reject. */
size_t http_parse(struct http_connection *connection, const char *data, size_t length);

/* Gives back the memory of a body that nobody needs any more. */
void http_forget_body(struct http_connection *connection);

/* http_write.c */

/* Where output for this connection goes; http_flush sends it. */
struct buffer *http_output(struct http_connection *connection);
void http_flush(struct http_connection *connection);

/* Answers with an error and closes. */
void http_refuse(struct http_connection *connection, int status, const char *text);

/* Puts a text on the stream as it is. */
void http_stream_text(struct http_connection *connection, const char *text);

/* http.c */
void http_close(struct http_connection *connection);

/* The answer is whole: closes, or goes on with the next request. */
void http_answered(struct http_connection *connection);

/* What the client sent ahead is next, if nothing is in its way. */
void http_go_on(struct http_connection *connection);

#endif
