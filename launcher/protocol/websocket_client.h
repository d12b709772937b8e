/* The client's side of a WebSocket to a server on this machine, over libuv.
 *
 * All events come out of the loop, never out of a call. The memory of a client belongs to the loop
 * from websocket_client_open until on_close, which comes exactly once and last; then it may be used
 * for another connection or freed. */
#ifndef TETHER_PROTOCOL_WEBSOCKET_CLIENT_H
#define TETHER_PROTOCOL_WEBSOCKET_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "websocket_stream.h"

struct websocket_client;

struct websocket_client_events {
    /* The handshake is done: from now on messages can be sent. Not for a connection that fails. */
    void (*on_open)(void *context, struct websocket_client *client);

    /* A whole text message: UTF-8, terminated. It may be changed, and is gone when the call
     * returns. */
    void (*on_message)(void *context, struct websocket_client *client, char *text, size_t length);

    /* How it ended: a close code (1000 and up) if there was a closing handshake or we refused what
     * came, else a negative code. UV_ECONNREFUSED: nobody listens, or no such server; UV_EACCES:
     * the server does not want us, the token may be an old one; UV_EPERM: a program of another
     * user, which was told nothing; UV_ETIMEDOUT: no handshake in time, or silence; UV_ECONNRESET:
     * the connection was lost; UV_ECANCELED: closed before it was open; UV_EPROTO: what answers is
     * no WebSocket server. The reason is for people. */
    void (*on_close)(void *context, struct websocket_client *client, int code, const char *why);
};

struct websocket_client_options {
    uint16_t port;                         /* on 127.0.0.1 */
    const char *path;                      /* NULL: /editor */
    const char *token;                     /* NULL: none; copied */
    struct websocket_stream_limits limits; /* zeroed: the defaults */
};

/* Messages go out by websocket_stream_send, when it is open; websocket_stream_close says goodbye in
 * order, and on_close follows within close_ms. */
struct websocket_client {
    struct websocket_stream stream;
    uv_connect_t connect;
    const struct websocket_client_events *events;
    void *context;
    char key[WEBSOCKET_KEY_SIZE];
    size_t request_length;
    char request[1024];
};

/* Begins to connect. Everything that goes wrong is told by on_close, later. */
void websocket_client_open(struct websocket_client *client, uv_loop_t *loop,
                           const struct websocket_client_options *options,
                           const struct websocket_client_events *events, void *context);

/* Says goodbye and does not wait: on_close follows within a turn of the loop or two. For an end in
 * a hurry. */
void websocket_client_abort(struct websocket_client *client, unsigned code, const char *reason);

#endif
