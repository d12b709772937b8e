#include "editor_socket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "os/os_loop.h"
#include "protocol/own_user.h"
#include "serve/http/http_check.h"
#include "upgrade.h"

enum { BACKLOG = 64, PENDING_MOST = 16, CONNECTIONS_MOST = 32 };

/* ---- answers ---- */

static void answer(struct editor_socket *socket, int status, const char *why) {
    char text[512];
    const char *extra = status == 401   ? "WWW-Authenticate: Bearer\r\n"
                        : status == 405 ? "Allow: GET\r\n"
                        : status == 426 ? "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                        : "";
    int length = snprintf(text, sizeof text,
                          "HTTP/1.1 %d %s\r\n%sConnection: close%s\r\n"
                          "Content-Type: text/plain\r\nContent-Length: %u\r\n"
                          "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\r\n%s\n",
                          status, http_reason(status), extra, status == 426 ? ", Upgrade" : "",
                          (unsigned)strlen(why) + 1, why);
    if (length > 0 && (size_t)length < sizeof text)
        websocket_stream_write(&socket->stream, text, (size_t)length);
    websocket_stream_refuse(&socket->stream, UV_EACCES, why);
}

static void welcome(struct editor_socket *socket, const char *accept) {
    struct editor_socket_server *server = socket->server;
    char text[256];
    int length = snprintf(text, sizeof text,
                          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                          "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
                          accept);
    websocket_stream_write(&socket->stream, text, (size_t)length);
    websocket_stream_open(&socket->stream);
    if (socket->stream.state != WEBSOCKET_STREAM_OPEN)
        return; /* it broke; its end follows */
    socket->is_open = true;
    server->events->on_open(server->context, socket);
}

/* ---- pending connections ---- */

/* An honest handshake takes no time: when too many wait, the oldest has lost. But first those that
 * have been refused, so that strangers, however many they are, push out nobody but each other. */
static void make_room(struct editor_socket_server *server) {
    struct editor_socket *oldest = NULL, *refused = NULL;
    unsigned pending = 0;
    for (struct editor_socket *socket = server->sockets; socket; socket = socket->next) {
        if (socket->is_open)
            continue;
        pending++;
        oldest = socket;
        if (socket->stream.state != WEBSOCKET_STREAM_HEAD)
            refused = socket;
    }
    if (pending >= PENDING_MOST)
        websocket_stream_abort(refused ? &refused->stream : &oldest->stream, UV_ETIMEDOUT,
                               "too many wait to be let in");
}

static unsigned count_open(const struct editor_socket_server *server) {
    unsigned count = 0;
    for (const struct editor_socket *socket = server->sockets; socket; socket = socket->next)
        count += socket->is_open;
    return count;
}

static void on_head(void *context, const char *head, size_t length) {
    struct editor_socket *socket = context;
    struct editor_socket_server *server = socket->server;
    char accept[WEBSOCKET_ACCEPT_SIZE];
    const char *why = "the head of the request is too large";
    uint16_t port = 0;
    uv_os_fd_t handle;
    int status = 431;
    if (uv_fileno((uv_handle_t *)&socket->stream.tcp, &handle) == 0)
        os_socket_port((os_handle)handle, &port);
    if (head)
        status = editor_request_check(head, length, port, server->token, accept, &why);
    if (status == 101 && count_open(server) >= server->connections_most) {
        status = 503;
        why = "too many editors are connected";
    }
    if (status == 101)
        welcome(socket, accept);
    else
        answer(socket, status, why);
}

/* ---- the life of a connection ---- */

static void on_text(void *context, char *text, size_t length) {
    struct editor_socket *socket = context;
    struct editor_socket_server *server = socket->server;
    server->events->on_message(server->context, socket, text, length);
}

static void on_end(void *context) {
    struct editor_socket *socket = context;
    struct editor_socket_server *server = socket->server;
    struct editor_socket **link = &server->sockets;
    while (*link != socket)
        link = &(*link)->next;
    *link = socket->next;
    socket->server = NULL;
    if (!socket->is_open)
        return;
    server->events->on_close(server->context, socket, socket->stream.how.message);
}

static const struct websocket_stream_events stream_events = {
    .on_head = on_head, .on_message = on_text, .on_end = on_end, .on_gone = free};

static struct editor_socket *add_socket(struct editor_socket_server *server) {
    struct editor_socket *socket = malloc(sizeof *socket);
    if (!socket)
        return NULL;
    socket->server = server;
    socket->is_open = false;
    socket->data = NULL;
    socket->next = server->sockets;
    server->sockets = socket;
    websocket_stream_init(&socket->stream, server->listener.loop, WEBSOCKET_PEER_CLIENT,
                          &server->limits, &stream_events, socket);
    return socket;
}

static void on_connection(uv_stream_t *listener, int status) {
    struct editor_socket_server *server = listener->data;
    struct editor_socket *socket;
    if (status < 0)
        return;
    make_room(server);
    socket = add_socket(server);
    if (!socket)
        return;
    if (uv_accept(listener, (uv_stream_t *)&socket->stream.tcp) < 0) {
        websocket_stream_abort(&socket->stream, UV_ECONNRESET, "gone before it was there");
        return;
    }
    websocket_stream_start(&socket->stream);
    if (own_client_check(&socket->stream.tcp) < 0)
        answer(socket, 403, "this server belongs to another user");
}

/* ---- the owner's side ---- */

int editor_socket_listen(struct editor_socket_server *server, uv_loop_t *loop, os_handle listener,
                         const char *token, const struct editor_socket_events *events,
                         void *context, struct error *err) {
    size_t length = token ? strlen(token) : 0;
    int rc;
    if (length == 0 || length >= sizeof server->token) {
        os_handle_close(&listener);
        return error_set(err, UV_EINVAL, "the editors' port needs a token of 1 to %u characters",
                         (unsigned)sizeof server->token - 1);
    }
    memcpy(server->token, token, length + 1);
    server->events = events;
    server->context = context;
    if (server->connections_most == 0)
        server->connections_most = CONNECTIONS_MOST;
    uv_tcp_init(loop, &server->listener);
    server->listener.data = server;
    server->listening = true;
    rc = os_listener_start(&server->listener, listener, BACKLOG, on_connection);
    if (rc < 0) {
        editor_socket_server_finish(server);
        return error_set(err, rc, "cannot serve on the editors' port: %s", uv_strerror(rc));
    }
    return 0;
}

void editor_socket_server_finish(struct editor_socket_server *server) {
    if (!server->listening)
        return;
    server->listening = false;
    os_listener_rest(&server->listener); /* editors come again by themselves */
    uv_close((uv_handle_t *)&server->listener, NULL);
    while (server->sockets)
        websocket_stream_abort(&server->sockets->stream, WEBSOCKET_GOING_AWAY,
                               "the server is going away");
}
