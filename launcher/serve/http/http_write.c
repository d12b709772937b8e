/* Answers. What is written in one go goes through one buffer of the server, straight into the
 * socket; only what the socket does not take is kept by the connection.
 *
 * Nothing here closes a connection at once: whoever answers is in the middle of something that the
 * end of it, or of another one, could change. */
#include "http_connection.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SCRATCH_KEPT = 256 * 1024, PENDING_KEPT = 4096 };

static void write_pending(struct http_connection *connection);

/* What is said to it from now on goes nowhere; it is closed in the next turn of the loop. */
static void give_up(struct http_connection *connection) {
    connection->broken = true;
    deadline_start(&connection->write_deadline, &connection->server->broken_time);
}

static void on_written(uv_write_t *write, int status) {
    struct http_connection *connection = write->data;
    connection->writing = false;
    deadline_stop(&connection->write_deadline);
    if (status < 0 || connection->broken)
        http_close(connection);
    if (connection->closed)
        return;
    buffer_clear(&connection->out, PENDING_KEPT);
    if (connection->pending.length > 0)
        write_pending(connection);
    else
        http_go_on(connection);
}

static void write_pending(struct http_connection *connection) {
    struct buffer full = connection->pending;
    uv_buf_t buf;
    connection->pending = connection->out;
    connection->pending.length = 0;
    connection->out = full;
    buf = uv_buf_init(full.data, (unsigned)full.length);
    connection->write.data = connection;
    connection->writing = true;
    deadline_start(&connection->write_deadline, &connection->server->write_time);
    if (uv_write(&connection->write, (uv_stream_t *)&connection->tcp, &buf, 1, on_written) < 0) {
        connection->writing = false;
        give_up(connection);
    }
}

struct buffer *http_output(struct http_connection *connection) {
    struct http_server *server = connection->server;
    if (server->writer && server->writer != connection)
        http_flush(server->writer);
    server->writer = connection;
    return &server->scratch;
}

/* How much of it the socket takes now; -1: it is broken. */
static long try_write(struct http_connection *connection, const struct buffer *from) {
    uv_buf_t buf = uv_buf_init(from->data, (unsigned)from->length);
    int count;
    if (connection->writing || connection->pending.length > 0)
        return 0;
    count = uv_try_write((uv_stream_t *)&connection->tcp, &buf, 1);
    return count == UV_EAGAIN ? 0 : count < 0 ? -1 : count;
}

void http_flush(struct http_connection *connection) {
    struct http_server *server = connection->server;
    struct buffer *from = &server->scratch;
    long done = 0;
    if (server->writer != connection)
        return;
    server->writer = NULL;
    if (!connection->broken && from->length > 0) {
        done = from->failed ? -1 : try_write(connection, from);
        if (done >= 0 && (size_t)done < from->length)
            buffer_add(&connection->pending, from->data + done, from->length - (size_t)done);
    }
    buffer_clear(from, SCRATCH_KEPT);
    if (connection->broken)
        return;
    if (done < 0 || connection->pending.failed)
        give_up(connection);
    else if (connection->pending.length > 0 && !connection->writing)
        write_pending(connection);
}

/* ---- replies ---- */

static void add_status(struct buffer *out, int status) {
    buffer_add_literal(out, "HTTP/1.1 ");
    buffer_add_number(out, status);
    buffer_add_char(out, ' ');
    buffer_add_text(out, http_reason(status));
    buffer_add_literal(out, "\r\n");
}

/* What a page of this machine needs to see in order to use the answer. */
static void add_origin(struct buffer *out, const struct http_connection *connection) {
    const char *origin = connection->request.headers[HTTP_ORIGIN];
    if (!origin || connection->reject != 0)
        return;
    buffer_add_literal(out, "Access-Control-Allow-Origin: ");
    buffer_add_text(out, origin);
    buffer_add_literal(out,
                       "\r\nVary: Origin\r\nAccess-Control-Expose-Headers: Mcp-Session-Id\r\n");
}

static void add_length(struct buffer *out, int status, size_t length) {
    if (status == 204 || status == 304)
        return;
    buffer_add_literal(out, "Content-Length: ");
    buffer_add_number(out, (long long)length);
    buffer_add_literal(out, "\r\n");
}

/* Answers are for whoever asked: nobody keeps them, takes them for anything but what they say they
 * are, or puts them into a page of another origin. */
#define PRIVATE_HEADERS                                                                            \
    "X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n"

void http_reply(struct http_connection *connection, int status, const char *extra, const char *type,
                const char *body, size_t length) {
    struct buffer *out = http_output(connection);
    add_status(out, status);
    if (type) {
        buffer_add_literal(out, "Content-Type: ");
        buffer_add_text(out, type);
        buffer_add_literal(out, "\r\n");
    }
    add_length(out, status, length);
    buffer_add_literal(out, "Cache-Control: no-store\r\n" PRIVATE_HEADERS);
    if (extra)
        buffer_add_text(out, extra);
    add_origin(out, connection);
    if (!connection->keep_alive)
        buffer_add_literal(out, "Connection: close\r\n");
    buffer_add_literal(out, "\r\n");
    if (connection->parser.method != HTTP_HEAD || connection->reject)
        buffer_add(out, body, length);
    http_answered(connection);
}

void http_refuse(struct http_connection *connection, int status, const char *text) {
    char body[256];
    int length = snprintf(body, sizeof body,
                          "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,"
                          "\"message\":\"%.160s\"}}",
                          text);
    connection->reject = status;
    connection->keep_alive = false;
    connection->state = HTTP_WAITING;
    http_forget_body(connection);
    http_reply(connection, status, status == 401 ? "WWW-Authenticate: Bearer\r\n" : NULL,
               "application/json", body, (size_t)length);
}

/* ---- streams ---- */

/* Clients of HTTP/1.0 know no chunks: for them the stream ends with the connection. */
static bool is_chunked(const struct http_connection *connection) {
    return connection->parser.http_minor > 0;
}

void http_stream_begin(struct http_connection *connection) {
    struct buffer *out = http_output(connection);
    connection->state = HTTP_STREAMING;
    if (!is_chunked(connection))
        connection->keep_alive = false;
    buffer_add_literal(
        out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
             "Cache-Control: no-store, no-transform\r\nX-Accel-Buffering: no\r\n" PRIVATE_HEADERS);
    if (is_chunked(connection))
        buffer_add_literal(out, "Transfer-Encoding: chunked\r\n");
    add_origin(out, connection);
    if (!connection->keep_alive)
        buffer_add_literal(out, "Connection: close\r\n");
    buffer_add_literal(out, "\r\n");
    deadline_start(&connection->deadline, &connection->server->quiet_time);
    http_flush(connection);
}

static void begin_chunk(const struct http_connection *connection, struct buffer *out, size_t size) {
    if (is_chunked(connection))
        buffer_format(out, "%" PRIx64 "\r\n", (uint64_t)size);
}

/* Sends it, and puts off the comment that tells that the stream is alive. */
static void end_chunk(struct http_connection *connection, struct buffer *out) {
    if (is_chunked(connection))
        buffer_add_literal(out, "\r\n");
    deadline_start(&connection->deadline, &connection->server->quiet_time);
    http_flush(connection);
}

/* Whether it is no use to tell it anything. */
static bool is_lost(struct http_connection *connection) {
    if (!connection->broken && connection->pending.length > HTTP_BACKLOG_MOST)
        give_up(connection);
    return connection->broken;
}

bool http_stream_event(struct http_connection *connection, const char *id, const char *data,
                       size_t length) {
    char head[128];
    struct buffer *out;
    int before = snprintf(head, sizeof head, "event: message\n%s%s%sdata: ", id ? "id: " : "",
                          id ? id : "", id ? "\n" : "");
    if (is_lost(connection))
        return false;
    out = http_output(connection);
    begin_chunk(connection, out, (size_t)before + length + 2);
    buffer_add(out, head, (size_t)before);
    buffer_add(out, data, length);
    buffer_add_literal(out, "\n\n");
    end_chunk(connection, out);
    return !connection->broken;
}

void http_stream_text(struct http_connection *connection, const char *text) {
    struct buffer *out = http_output(connection);
    begin_chunk(connection, out, strlen(text));
    buffer_add_text(out, text);
    end_chunk(connection, out);
}

void http_stream_prime(struct http_connection *connection, const char *id, unsigned retry_ms) {
    char text[128];
    snprintf(text, sizeof text, "id: %s\nretry: %u\ndata: \n\n", id, retry_ms);
    http_stream_text(connection, text);
}

void http_stream_end(struct http_connection *connection) {
    struct buffer *out = http_output(connection);
    if (is_chunked(connection))
        buffer_add_literal(out, "0\r\n\r\n");
    http_answered(connection);
}

bool http_is_streaming(const struct http_connection *connection) {
    return connection->state == HTTP_STREAMING;
}
