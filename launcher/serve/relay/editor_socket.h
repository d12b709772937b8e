/* The WebSocket endpoint for editors: /editor on the second port.
 *
 * Who gets in: a process of our own user on this machine that knows the token, speaks version 13,
 * names a loopback host and no origin (a web page always names one). Everybody else gets an HTTP
 * answer that says why. What comes through is whole text messages; their content is not looked at.
 *
 * All events come out of the loop, never out of a call of one of these functions, with one
 * exception: editor_socket_server_finish. In an event any of these functions may be called, for any
 * socket. */
#ifndef TETHER_SERVE_RELAY_EDITOR_SOCKET_H
#define TETHER_SERVE_RELAY_EDITOR_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include <uv.h>

#include "error.h"
#include "os/os.h"
#include "protocol/websocket_stream.h"

struct editor_socket;
struct editor_socket_server;

/* on_open comes first and on_close last, each exactly once for a connection that got in; those that
 * do not are never heard of. */
struct editor_socket_events {
    void (*on_open)(void *context, struct editor_socket *socket);

    /* One whole message: UTF-8, terminated, at most 32 MiB. It may be changed, and is gone when the
     * call returns. */
    void (*on_message)(void *context, struct editor_socket *socket, char *text, size_t length);

    /* The reason is for people and is gone when the call returns, and so is the socket. */
    void (*on_close)(void *context, struct editor_socket *socket, const char *why);
};

/* Messages go out by websocket_stream_send, and websocket_stream_close says goodbye: no message
 * comes from it any more then, and on_close follows. */
struct editor_socket {
    struct websocket_stream stream;
    void *data; /* the caller's; NULL at first */

    struct editor_socket_server *server; /* NULL: the server has finished */
    struct editor_socket *next;
    bool is_open; /* it got in, and the owner knows it */
};

struct editor_socket_server {
    uv_tcp_t listener;
    bool listening;
    const struct editor_socket_events *events;
    void *context;
    struct websocket_stream_limits limits; /* may be set before listen; zeroed: the defaults */
    unsigned connections_most;             /* the same; 0: 32 */
    struct editor_socket *sockets;         /* newest first; those not yet let in too */
    char token[256];
};

/* Starts to serve on a listening socket, which it takes over also when it fails. The memory of the
 * server must be zeroed before, except for what may be set, and must stay until the loop has let go
 * of it after finish. The events must stay as long; the token is copied. UV_EINVAL: no token, or
 * too long.
 */
int editor_socket_listen(struct editor_socket_server *server, uv_loop_t *loop, os_handle listener,
                         const char *token, const struct editor_socket_events *events,
                         void *context, struct error *err);

/* Stops to listen and closes every connection with 1001, each with its on_close, at once.
 * Everything is gone when the loop has run out. Also for a server that does not listen. */
void editor_socket_server_finish(struct editor_socket_server *server);

#endif
