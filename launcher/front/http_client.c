#include "http_client.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "os/os.h"
#include "protocol/own_user.h"

enum {
    REST_MOST_MS = 1000, /* a connection that has rested longer is not used again */
    RESTING_MOST = 16,
};

struct connection {
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_write_t write;
    struct pool *pool;
    struct connection *next, **link;
    struct exchange *exchange;
    struct http_response answer;
    struct buffer head;
    struct blob *body;
    uint16_t port;
    bool connected, writing, reading, closed;
    int64_t resting_since; /* 0: it does not */
};

const char exchange_stranger[] =
    "a program of another user listens on its port, so nothing was sent there";

/* ---- the end of a connection ---- */

static void on_closed(uv_handle_t *handle) {
    struct connection *connection = handle->data;
    http_response_finish(&connection->answer);
    buffer_finish(&connection->head);
    blob_release(connection->body);
    free(connection);
}

static void wake(struct connection *connection) {
    connection->pool->resting -= connection->resting_since != 0;
    connection->resting_since = 0;
}

static void connection_close(struct connection *connection) {
    if (connection->closed)
        return;
    connection->closed = true;
    if (connection->exchange)
        connection->exchange->connection = NULL;
    connection->exchange = NULL;
    *connection->link = connection->next;
    if (connection->next)
        connection->next->link = connection->link;
    wake(connection);
    uv_close((uv_handle_t *)&connection->tcp, on_closed);
}

/* ---- reading ---- */

static bool on_answer_message(const char *data, size_t length, void *context) {
    struct connection *connection = context;
    struct exchange *exchange = connection->exchange;
    if (exchange)
        exchange->events->message(exchange, &connection->answer, data, length);
    return exchange && !connection->closed;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct connection *connection = handle->data;
    (void)suggested;
    *buf = uv_buf_init(connection->pool->buffer, sizeof connection->pool->buffer);
}

static void tell_done(struct connection *connection, int code);

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    struct connection *connection = stream->data;
    struct http_response *answer = &connection->answer;
    int code;
    if (connection->resting_since) { /* nobody asked: it ends, or says what nobody understands */
        if (count != 0)
            connection_close(connection);
        return;
    }
    if (count < 0)
        http_response_end(answer);
    else
        http_response_feed(answer, buf->base, (size_t)count);
    code = count < 0 && count != UV_EOF && !answer->is_complete ? (int)count : answer->code;
    if (!connection->closed && (code < 0 || answer->is_complete))
        tell_done(connection, code);
}

static void set_reading(struct connection *connection) {
    bool wanted = !connection->pool->paused || connection->resting_since;
    if (connection->closed || !connection->connected || wanted == connection->reading)
        return;
    connection->reading = wanted;
    if (wanted)
        uv_read_start((uv_stream_t *)&connection->tcp, on_alloc, on_read);
    else
        uv_read_stop((uv_stream_t *)&connection->tcp);
}

/* Ends the exchange and tells its owner, who may start it anew at once. */
static void tell_done(struct connection *connection, int code) {
    struct exchange *exchange = connection->exchange;
    bool fit = code == 0 && connection->answer.keeps && !connection->writing &&
               connection->pool->resting < RESTING_MOST;
    connection->exchange = NULL;
    if (exchange) {
        exchange->connection = NULL;
        exchange->events->done(exchange, &connection->answer, code);
    }
    if (connection->closed)
        return;
    if (!fit) {
        connection_close(connection);
        return;
    }
    connection->resting_since = os_clock_ms();
    connection->pool->resting++;
    set_reading(connection);
}

void pool_pause(struct pool *pool, bool paused) {
    if (pool->paused == paused)
        return;
    pool->paused = paused;
    for (struct connection *c = pool->connections; c; c = c->next)
        set_reading(c);
}

/* ---- writing ---- */

/* A server may answer, or refuse, before it has read all: what it says counts, not this. */
static void on_written(uv_write_t *write, int status) {
    struct connection *connection = write->data;
    (void)status;
    connection->writing = false;
    blob_release(connection->body);
    connection->body = NULL;
    buffer_clear(&connection->head, BUFFER_KEPT);
}

static int send_all(struct connection *connection) {
    struct blob *body = connection->body;
    uv_buf_t bufs[2] = {uv_buf_init(connection->head.data, (unsigned)connection->head.length)};
    int rc;
    if (body)
        bufs[1] = uv_buf_init(body->data, (unsigned)body->length);
    connection->exchange->sent = true;
    connection->write.data = connection;
    rc = uv_write(&connection->write, (uv_stream_t *)&connection->tcp, bufs, body ? 2 : 1,
                  on_written);
    connection->writing = rc == 0;
    if (rc == 0)
        set_reading(connection);
    return rc;
}

static void on_connected(uv_connect_t *connect, int status) {
    struct connection *connection = connect->data;
    if (connection->closed)
        return;
    if (status == 0)
        status = own_server_check(&connection->tcp);
    connection->connected = status == 0;
    if (status == 0)
        status = send_all(connection);
    if (status < 0)
        tell_done(connection, status);
}

/* ---- beginning ---- */

static struct connection *connection_create(struct pool *pool, uint16_t port) {
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection)
        return NULL;
    connection->pool = pool;
    connection->port = port;
    uv_tcp_init(pool->loop, &connection->tcp);
    uv_tcp_nodelay(&connection->tcp, 1);
    connection->tcp.data = connection;
    connection->connect.data = connection;
    connection->next = pool->connections;
    connection->link = &pool->connections;
    if (connection->next)
        connection->next->link = &connection->next;
    pool->connections = connection;
    return connection;
}

/* One that has rested so briefly that its server cannot have lost patience. */
static struct connection *take_resting(struct pool *pool, uint16_t port) {
    int64_t now = os_clock_ms();
    for (struct connection *connection = pool->connections, *next; connection; connection = next) {
        next = connection->next;
        if (!connection->resting_since)
            continue;
        if (connection->port == port && now - connection->resting_since < REST_MOST_MS) {
            wake(connection);
            http_response_finish(&connection->answer);
            return connection;
        }
        connection_close(connection);
    }
    return NULL;
}

int exchange_start(struct exchange *exchange, struct pool *pool, uint16_t port, struct buffer *head,
                   struct blob *body) {
    struct connection *connection = take_resting(pool, port);
    bool used = connection != NULL;
    struct sockaddr_in address;
    int rc;
    exchange->sent = false;
    if (!used)
        connection = connection_create(pool, port);
    if (!connection || head->failed) {
        buffer_finish(head);
        return UV_ENOMEM;
    }
    buffer_finish(&connection->head);
    connection->head = *head;
    *head = (struct buffer){0};
    connection->body = body ? blob_hold(body) : NULL;
    http_response_init(&connection->answer, on_answer_message, connection);
    connection->exchange = exchange;
    exchange->connection = connection;
    uv_ip4_addr("127.0.0.1", port, &address);
    rc = used ? send_all(connection)
              : uv_tcp_connect(&connection->connect, &connection->tcp,
                               (const struct sockaddr *)&address, on_connected);
    if (rc < 0)
        connection_close(connection);
    return rc;
}

void exchange_cancel(struct exchange *exchange) {
    if (exchange->connection)
        connection_close(exchange->connection);
}

void pool_finish(struct pool *pool) {
    while (pool->connections)
        connection_close(pool->connections);
}
