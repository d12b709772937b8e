/* An HTTP/1.1 server for one handler, on a socket that listens on the loopback.
 *
 * A connection has one request at a time: what a client sends ahead waits, and answers come in
 * order. The handler answers at once, or holds the request and answers later, once, with a reply
 * or with a stream of events. Everything a client can do wrong is dealt with here: the handler sees
 * whole requests from whom it may see them. */
#ifndef TETHER_SERVE_HTTP_H
#define TETHER_SERVE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <llhttp.h>
#include <uv.h>

#include "buffer.h"
#include "deadline.h"
#include "http_check.h"
#include "os/os.h"

enum {
    HTTP_HEADER_MOST = 16 * 1024, /* all of a request but its body */
    HTTP_BODY_MOST = 4 * 1024 * 1024,
    HTTP_CONNECTIONS_MOST = 256,         /* beyond: the one that does least makes room */
    HTTP_BODIES_MOST = 64 * 1024 * 1024, /* of all connections, while they come */
    HTTP_AHEAD_MOST = 64 * 1024,         /* what a client may send ahead of an answer */
    HTTP_BACKLOG_MOST = 8 * 1024 * 1024, /* events that a client does not fetch */
    HTTP_PARAMETERS_MOST = 16,           /* headers Mcp-Param-… */
    HTTP_READ_SIZE = 64 * 1024,
    HTTP_HEADER_MS = 10 * 1000, /* from the first byte of a request to the end of its headers */
    HTTP_BODY_MS = 30 * 1000,
    HTTP_IDLE_MS = 5 * 60 * 1000, /* between requests */
    HTTP_LINGER_MS = 2 * 1000,    /* for a client to close after us */
    HTTP_WRITE_MS = 30 * 1000,    /* for a client to fetch what was written */
    HTTP_QUIET_MS = 15 * 1000,    /* without an event: a comment tells that the stream is alive */
};

struct http_connection;

/* A header "Mcp-Param-NAME: value". */
struct http_parameter {
    const char *name, *value;
};

/* Valid until the handler returns. */
struct http_request {
    unsigned method; /* as llhttp numbers them */
    const char *path;
    const char *query;                      /* what is behind its '?'; NULL: nothing */
    const char *headers[HTTP_HEADER_COUNT]; /* NULL: not there */
    struct http_parameter parameters[HTTP_PARAMETERS_MOST];
    size_t parameter_count;
    size_t head_bytes; /* of the head, without the space in it that means nothing */
    const char *body;
    size_t length;
};

/* Reads the first so many bytes of a buffer, a whole head, into a request, whose texts are then in
 * the buffer; in what room that has left, lists are put together that came in parts. False: it is
 * not proper HTTP, lacks its Host, or says twice what may be said once. */
bool http_read_head(struct http_request *request, struct buffer *head, size_t length);

struct http_server {
    uv_loop_t *loop;
    uv_tcp_t listener;
    uint16_t port;
    const char *token; /* NULL: none is asked for */
    /* Must answer or hold. */
    void (*on_request)(void *context, struct http_connection *connection,
                       const struct http_request *request);
    void *context;
    void (*on_drained)(void *context);

    struct http_connection *connections;
    unsigned count;
    size_t bodies; /* bytes of bodies that are kept until the rest has come */
    struct deadline_class header_time, body_time, idle_time, linger_time, write_time, broken_time,
        quiet_time, fresh_time, resume_time;
    struct buffer scratch; /* what goes out next, to `writer` */
    struct http_connection *writer;
    bool listening, draining;
    char read_buffer[HTTP_READ_SIZE];
};

/* Starts to accept connections; takes the socket over. */
int http_server_init(struct http_server *server, uv_loop_t *loop, struct deadlines *deadlines,
                     os_handle listener);

/* Accepts no more. Connections that wait for their first request get a moment for it; those between
 * two requests are closed soon; those with a request are closed after its answer. on_drained is
 * called when none is left. */
void http_server_drain(struct http_server *server);

/* Closes everything now. */
void http_server_finish(struct http_server *server);

/* ---- answers, each exactly once per request ---- */

/* A reply: `extra` is NULL or whole header lines. No body: length 0 and type NULL. */
void http_reply(struct http_connection *connection, int status, const char *extra, const char *type,
                const char *body, size_t length);

/* The answer is a stream of events. */
void http_stream_begin(struct http_connection *connection);

/* id: NULL for none. False: the client is gone, or does not fetch its events and has been given up.
 * In both cases on_gone follows. */
bool http_stream_event(struct http_connection *connection, const char *id, const char *data,
                       size_t length);

/* An event without data: where to go on from, and how soon, when the connection breaks. */
void http_stream_prime(struct http_connection *connection, const char *id, unsigned retry_ms);
void http_stream_end(struct http_connection *connection);
bool http_is_streaming(const struct http_connection *connection);

/* ---- requests that are answered later ---- */

/* on_gone is called when the client leaves before the answer is whole; the connection must not be
 * used any more then. It comes out of the loop, never out of a call of these functions. */
void http_hold(struct http_connection *connection, void (*on_gone)(void *user), void *user);

#endif
