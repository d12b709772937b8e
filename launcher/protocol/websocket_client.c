#include "websocket_client.h"

#include <string.h>

#include <uv.h>

#include "os/os.h"
#include "own_user.h"

static void on_connected(uv_connect_t *request, int status) {
    struct websocket_client *client = request->data;
    struct websocket_stream *stream = &client->stream;
    struct error err;
    if (status == UV_ECANCELED || stream->state != WEBSOCKET_STREAM_HEAD)
        return;
    if (status < 0) {
        error_set(&err, status, "cannot connect: %s", uv_strerror(status));
        websocket_stream_fail(stream, status, err.message);
        return;
    }
    status = own_server_check(&stream->tcp);
    if (status < 0) {
        websocket_stream_fail(stream, status,
                              status == UV_EPERM ? "a program of another user listens on the port"
                                                 : "the server closed the connection at once");
        return;
    }
    websocket_stream_start(stream);
    websocket_stream_write(stream, client->request, client->request_length);
}

static void on_head(void *context, const char *head, size_t length) {
    struct websocket_client *client = context;
    struct error err;
    int rc = head ? websocket_response(head, length, client->key, &err)
                  : error_set(&err, UV_EPROTO, "the server's answer is too long");
    if (rc < 0) {
        websocket_stream_abort(&client->stream, rc, err.message);
        return;
    }
    websocket_stream_open(&client->stream);
    client->events->on_open(client->context, client);
}

static void on_text(void *context, char *text, size_t length) {
    struct websocket_client *client = context;
    client->events->on_message(client->context, client, text, length);
}

static void on_gone(void *context) {
    struct websocket_client *client = context;
    client->events->on_close(client->context, client, client->stream.how.code,
                             client->stream.how.message);
}

static const struct websocket_stream_events stream_events = {
    .on_head = on_head, .on_message = on_text, .on_gone = on_gone};

static int begin(struct websocket_client *client, const struct websocket_client_options *options,
                 struct error *err) {
    unsigned char nonce[WEBSOCKET_NONCE_SIZE];
    struct sockaddr_in address;
    int rc = os_random(nonce, sizeof nonce);
    if (rc < 0)
        return error_set(err, rc, "the system gives no random numbers");
    websocket_key(nonce, client->key);
    client->request_length =
        websocket_request(client->request, sizeof client->request, options->port,
                          options->path ? options->path : "/editor", options->token, client->key);
    if (client->request_length == 0)
        return error_set(err, UV_EINVAL, "the path or the token is nothing that can be sent");
    uv_ip4_addr("127.0.0.1", options->port, &address);
    client->connect.data = client;
    rc = uv_tcp_connect(&client->connect, &client->stream.tcp, (const struct sockaddr *)&address,
                        on_connected);
    return rc < 0 ? error_set(err, rc, "cannot connect: %s", uv_strerror(rc)) : 0;
}

void websocket_client_open(struct websocket_client *client, uv_loop_t *loop,
                           const struct websocket_client_options *options,
                           const struct websocket_client_events *events, void *context) {
    struct error err;
    client->events = events;
    client->context = context;
    websocket_stream_init(&client->stream, loop, WEBSOCKET_PEER_SERVER, &options->limits,
                          &stream_events, client);
    if (begin(client, options, &err) < 0)
        websocket_stream_fail(&client->stream, err.code, err.message);
}

void websocket_client_abort(struct websocket_client *client, unsigned code, const char *reason) {
    if (client->stream.state == WEBSOCKET_STREAM_HEAD)
        websocket_stream_close(&client->stream, code, reason);
    else
        websocket_stream_abort(&client->stream, (int)code, reason ? reason : "closed by us");
}
