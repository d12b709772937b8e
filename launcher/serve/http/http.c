#include "http_connection.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "os/os_loop.h"
#include "protocol/own_user.h"

enum {
    BACKLOG = 511,
    FRESH_MS = 1000,          /* while draining: for the first request of a connection */
    BETWEEN_MS = 50,          /* and for a further one */
    WRITTEN_MOST = 64 * 1024, /* what the system keeps of it; it takes twice that */
    LINGER_MOST = 1024 * 1024,
};

static void feed(struct http_connection *connection, const char *data, size_t length);

/* ---- the end of a connection ---- */

static void on_closed(uv_handle_t *handle) {
    struct http_connection *connection = handle->data;
    buffer_finish(&connection->head);
    buffer_finish(&connection->body);
    buffer_finish(&connection->ahead);
    buffer_finish(&connection->pending);
    buffer_finish(&connection->out);
    free(connection);
}

static void tell_drained(struct http_server *server) {
    if (server->draining && !server->listening && server->count == 0 && server->on_drained)
        server->on_drained(server->context);
}

void http_close(struct http_connection *connection) {
    struct http_server *server = connection->server;
    void (*on_gone)(void *user) = connection->on_gone;
    if (connection->closed)
        return;
    connection->closed = true;
    connection->on_gone = NULL;
    if (server->writer == connection) {
        server->writer = NULL;
        server->scratch.length = 0;
    }
    deadline_stop(&connection->deadline);
    deadline_stop(&connection->write_deadline);
    server->bodies -= connection->body_counted; /* the body itself may be being read right now */
    connection->body_counted = 0;
    *connection->link = connection->next;
    if (connection->next)
        connection->next->link = connection->link;
    server->count--;
    uv_close((uv_handle_t *)&connection->tcp, on_closed);
    if (on_gone)
        on_gone(connection->user);
    tell_drained(server);
}

static void on_shutdown(uv_shutdown_t *shutdown, int status) {
    struct http_connection *connection = shutdown->data;
    if (status < 0)
        http_close(connection);
}

/* Bytes that the client has sent and we have not read would make the system drop the answer, if the
 * socket were closed now. */
static void http_linger(struct http_connection *connection) {
    connection->state = HTTP_CLOSING;
    deadline_start(&connection->deadline, &connection->server->linger_time);
    buffer_clear(&connection->ahead, 0);
    connection->body_length = 0;
    if (connection->shut)
        return;
    connection->shut = true;
    connection->shutdown.data = connection;
    if (uv_shutdown(&connection->shutdown, (uv_stream_t *)&connection->tcp, on_shutdown) < 0)
        http_close(connection);
}

/* ---- deadlines ---- */

static void on_overdue(struct deadline *deadline) {
    struct http_connection *connection = deadline_owner(deadline, struct http_connection, deadline);
    http_refuse(connection, 408, "the request takes too long");
    http_flush(connection);
}

static void on_idle(struct deadline *deadline) {
    http_close(deadline_owner(deadline, struct http_connection, deadline));
}

static void on_write_stalled(struct deadline *deadline) {
    http_close(deadline_owner(deadline, struct http_connection, write_deadline));
}

static void on_quiet(struct deadline *deadline) {
    /* a comment, which tells that the stream is alive */
    http_stream_text(deadline_owner(deadline, struct http_connection, deadline), ":\n\n");
}

/* Sets the deadline for what the connection waits for now. One that has been set for the same
 * request stays: bytes that trickle in do not extend it. */
static void set_deadline(struct http_connection *connection) {
    struct http_server *server = connection->server;
    struct deadline_class *class = NULL;
    if (connection->closed || connection->resuming || connection->state == HTTP_CLOSING ||
        connection->state == HTTP_STREAMING)
        return;
    if (connection->state == HTTP_READING)
        class = !connection->begun ? server->draining && !connection->served ? &server->fresh_time
                                                                             : &server->idle_time
                : connection->headers_done ? &server->body_time
                                           : &server->header_time;
    if (!class) {
        deadline_stop(&connection->deadline);
    } else if (connection->deadline.class != class ||
               connection->deadline_for != connection->served) {
        connection->deadline_for = connection->served;
        deadline_start(&connection->deadline, class);
    }
}

/* ---- requests ---- */

static bool can_go_on(const struct http_connection *connection) {
    return !connection->closed && !connection->broken && connection->state == HTTP_READING &&
           !connection->writing && !connection->resuming;
}

/* Keeps what came ahead of an answer. */
static void keep_ahead(struct http_connection *connection, const char *data, size_t length) {
    buffer_add(&connection->ahead, data, length);
    if (connection->ahead.failed) {
        http_close(connection);
    } else if (connection->ahead.length >= HTTP_AHEAD_MOST) {
        uv_read_stop((uv_stream_t *)&connection->tcp);
        connection->reading = false;
    }
}

static void feed(struct http_connection *connection, const char *data, size_t length) {
    struct http_server *server = connection->server;
    while (length > 0 && can_go_on(connection)) {
        size_t used = http_parse(connection, data, length);
        if (connection->closed)
            return;
        data += used;
        length -= used;
        if (connection->reject) {
            http_refuse(connection, connection->reject, connection->reject_text);
            return;
        }
        if (connection->whole) {
            connection->whole = false;
            connection->state = HTTP_WAITING;
            server->on_request(server->context, connection, &connection->request);
            http_forget_body(connection);
            if (server->writer == connection && server->scratch.length > HTTP_READ_SIZE)
                http_flush(connection);
        }
    }
    if (length > 0 && !connection->closed && connection->state != HTTP_CLOSING)
        keep_ahead(connection, data, length);
}

/* ---- reading ---- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct http_connection *connection = handle->data;
    (void)suggested;
    *buf = uv_buf_init(connection->server->read_buffer, HTTP_READ_SIZE);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    struct http_connection *connection = stream->data;
    if (count == 0)
        return;
    if (count < 0) {
        http_close(connection);
        return;
    }
    if (connection->state == HTTP_CLOSING) {
        connection->body_length += (size_t)count;
        if (connection->body_length > LINGER_MOST)
            http_close(connection);
        return;
    }
    feed(connection, buf->base, (size_t)count);
    if (connection->closed)
        return;
    http_flush(connection);
    set_deadline(connection);
}

static bool start_reading(struct http_connection *connection) {
    if (!connection->reading &&
        uv_read_start((uv_stream_t *)&connection->tcp, on_alloc, on_read) < 0)
        http_close(connection);
    connection->reading = true;
    return !connection->closed;
}

void http_go_on(struct http_connection *connection) {
    struct buffer ahead = connection->ahead;
    if (!can_go_on(connection))
        return;
    connection->ahead = (struct buffer){0};
    if (ahead.length > 0)
        feed(connection, ahead.data, ahead.length);
    buffer_finish(&ahead);
    if (connection->closed)
        return;
    if (connection->ahead.length < HTTP_AHEAD_MOST && !start_reading(connection))
        return;
    http_flush(connection);
    set_deadline(connection);
}

static void on_resume(struct deadline *deadline) {
    struct http_connection *connection = deadline_owner(deadline, struct http_connection, deadline);
    connection->resuming = false;
    http_go_on(connection);
}

/* The next request is not handled out of the answer to the last: whoever answers is in the middle
 * of something that it could change. */
static void resume(struct http_connection *connection) {
    if (connection->closed)
        return;
    if (connection->ahead.length == 0) {
        http_go_on(connection);
        return;
    }
    connection->resuming = true;
    deadline_start(&connection->deadline, &connection->server->resume_time);
}

/* An answer that was given at once is followed by the next request in feed; one that was given
 * later has nobody to do that. */
void http_answered(struct http_connection *connection) {
    bool held = connection->held;
    connection->held = false;
    connection->on_gone = NULL;
    connection->served++;
    if (!connection->keep_alive) {
        http_flush(connection);
        if (!connection->closed)
            http_linger(connection);
        return;
    }
    deadline_stop(&connection->deadline);
    connection->state = HTTP_READING;
    if (held) {
        http_flush(connection);
        resume(connection);
    }
}

void http_hold(struct http_connection *connection, void (*on_gone)(void *user), void *user) {
    connection->held = true;
    connection->on_gone = on_gone;
    connection->user = user;
}

/* ---- accepting ---- */

/* Room for a newcomer is made by who does least: the oldest that has had its last answer (strangers
 * are among these, and push out nobody but each other), then the oldest with an unfinished request,
 * be it without all of its headers or of its body, then the oldest with none. */
static struct http_connection *find_spare(const struct http_server *server) {
    const struct deadline_class *const by_use[] = {&server->linger_time, &server->header_time,
                                                   &server->body_time, &server->idle_time};
    for (size_t i = 0; i < sizeof by_use / sizeof by_use[0]; i++)
        if (by_use[i]->first)
            return deadline_owner(by_use[i]->first, struct http_connection, deadline);
    return NULL;
}

/* Whose connection it is, is asked once. Nobody's any more is refused, too: who writes and closes
 * at once would get in otherwise. Where the system does not tell, the rest has to do. */
static void begin_connection(struct http_connection *connection) {
    http_parse_init(connection);
    if (own_client_check(&connection->tcp) < 0)
        http_refuse(connection, 403, "this server belongs to another user");
    else if (connection->server->count > HTTP_CONNECTIONS_MOST)
        http_refuse(connection, 503, "too many connections");
    if (!connection->closed && start_reading(connection))
        set_deadline(connection);
}

static void close_listener(struct http_server *server) {
    uv_close((uv_handle_t *)&server->listener, NULL);
    server->listening = false;
    tell_drained(server);
}

static void on_connection(uv_stream_t *listener, int status) {
    int room = WRITTEN_MOST;
    struct http_server *server = listener->data;
    struct http_connection *connection, *spare;
    if (status < 0) {
        if (server->draining)
            close_listener(server);
        return;
    }
    connection = calloc(1, sizeof *connection);
    if (!connection || uv_tcp_init(server->loop, &connection->tcp) < 0) {
        free(connection);
        return;
    }
    connection->server = server;
    connection->tcp.data = connection;
    connection->keep_alive = true;
    spare = server->count >= HTTP_CONNECTIONS_MOST ? find_spare(server) : NULL;
    if (spare)
        http_close(spare);
    connection->next = server->connections;
    connection->link = &server->connections;
    if (connection->next)
        connection->next->link = &connection->next;
    server->connections = connection;
    server->count++;
    if (uv_accept(listener, (uv_stream_t *)&connection->tcp) < 0) {
        http_close(connection);
        return;
    }
    uv_tcp_nodelay(&connection->tcp, 1);
    uv_send_buffer_size((uv_handle_t *)&connection->tcp, &room);
    begin_connection(connection);
}

int http_server_init(struct http_server *server, uv_loop_t *loop, struct deadlines *deadlines,
                     os_handle listener) {
    int rc = uv_tcp_init(loop, &server->listener);
    server->loop = loop;
    server->listener.data = server;
    deadlines_add(deadlines, &server->header_time, HTTP_HEADER_MS, on_overdue);
    deadlines_add(deadlines, &server->body_time, HTTP_BODY_MS, on_overdue);
    deadlines_add(deadlines, &server->idle_time, HTTP_IDLE_MS, on_idle);
    deadlines_add(deadlines, &server->linger_time, HTTP_LINGER_MS, on_idle);
    deadlines_add(deadlines, &server->write_time, HTTP_WRITE_MS, on_write_stalled);
    deadlines_add(deadlines, &server->broken_time, 0, on_write_stalled);
    deadlines_add(deadlines, &server->quiet_time, HTTP_QUIET_MS, on_quiet);
    deadlines_add(deadlines, &server->fresh_time, FRESH_MS, on_idle);
    deadlines_add(deadlines, &server->resume_time, 0, on_resume);
    if (rc == 0)
        rc = os_listener_start(&server->listener, listener, BACKLOG, on_connection);
    server->listening = rc == 0;
    return rc;
}

/* ---- the end ---- */

void http_server_drain(struct http_server *server) {
    struct http_connection *next;
    if (server->draining)
        return;
    server->draining = true;
    server->idle_time.length_ms = BETWEEN_MS;
    for (struct http_connection *connection = server->connections; connection; connection = next) {
        next = connection->next;
        connection->keep_alive = false;
        if (connection->state == HTTP_READING && !connection->begun && !connection->resuming) {
            deadline_stop(&connection->deadline);
            set_deadline(connection);
        }
    }
    if (server->listening && os_listener_rest(&server->listener))
        close_listener(server);
}

void http_server_finish(struct http_server *server) {
    server->on_drained = NULL;
    if (server->listening)
        close_listener(server);
    while (server->connections)
        http_close(server->connections);
    buffer_finish(&server->scratch);
}
