#include "daemon_client.h"

#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "memory.h"
#include "os/os_loop.h"
#include "version.h"

enum { CONNECT_MOST_MS = 10000, CONNECT_AGAIN_MS = 5 };

struct daemon_client {
    const struct daemon_client_events *events; /* NULL: closed */
    void *context;
    struct line_stream stream;
    uv_timer_t again;
    unsigned open_handles;
    void (*flushed)(void *context); /* NULL: nobody waits for that */
    json_t *hello;                  /* until it has been said */
    int64_t until;                  /* for so long it is tried to connect */
    char endpoint[OS_ENDPOINT_MAX];
    char buffer[16384];
};

static uv_stream_t *stream_of(struct daemon_client *client) {
    return (uv_stream_t *)&client->stream.pipe;
}

/* ---- what comes ---- */

static bool on_line(const char *line, size_t length, void *context) {
    struct daemon_client *client = context;
    json_t *message = message_parse(line, length, NULL);
    enum message_kind kind = message_kind(message);
    if (kind == MESSAGE_PING)
        daemon_client_say(client, json_pack("{s:s}", "type", "pong"));
    else if (kind != MESSAGE_OTHER)
        client->events->heard(client->context, kind, message);
    json_decref(message);
    return client->events != NULL;
}

static void on_end(void *context, int why) {
    struct daemon_client *client = context;
    (void)why;
    if (client->events)
        client->events->lost(client->context, UV_EOF);
}

/* ---- connecting ---- */

static void begin(struct daemon_client *client) {
    uv_buf_t buffer = uv_buf_init(client->buffer, sizeof client->buffer);
    int rc = line_stream_read(&client->stream, buffer, on_line, on_end);
    if (rc < 0) {
        client->events->lost(client->context, rc);
        return;
    }
    daemon_client_say(client, client->hello);
    client->hello = NULL;
    if (client->events->opened)
        client->events->opened(client->context);
}

/* Nothing tells when there is room again for one more who waits. */
static void try_connect(uv_timer_t *timer) {
    struct daemon_client *client = timer->data;
    int rc = os_control_connect(&client->stream.pipe, client->endpoint);
    if (rc == UV_EAGAIN && os_clock_ms() < client->until)
        uv_timer_start(timer, try_connect, CONNECT_AGAIN_MS, 0);
    else if (rc < 0)
        client->events->lost(client->context, rc);
    else
        begin(client);
}

struct daemon_client *daemon_client_open(uv_loop_t *loop, const char *endpoint, struct hello hello,
                                         const struct daemon_client_events *events, void *context) {
    struct daemon_client *client = memory_zeroed(sizeof *client);
    struct os_identity self = {0};
    if (!client)
        return NULL;
    os_identity_self(&self);
    hello.protocol = TETHER_PROTOCOL;
    hello.version = tether_version;
    hello.pid = self.pid;
    hello.start = self.start;
    client->hello = hello_message(&hello);
    client->events = events;
    client->context = context;
    snprintf(client->endpoint, sizeof client->endpoint, "%s", endpoint);
    uv_timer_init(loop, &client->again);
    uv_pipe_init(loop, &client->stream.pipe, 0);
    client->again.data = client->stream.pipe.data = client;
    client->open_handles = 2;
    client->until = os_clock_ms() + CONNECT_MOST_MS;
    uv_timer_start(&client->again, try_connect, 0, 0);
    return client;
}

/* ---- what is said ---- */

static void on_said(uv_stream_t *stream, int status) {
    struct daemon_client *client = stream->data;
    void (*flushed)(void *context) = client->flushed;
    (void)status; /* what cannot be said any more is no longer on its way, either */
    if (!client->events || !flushed || uv_stream_get_write_queue_size(stream) > 0)
        return;
    client->flushed = NULL;
    flushed(client->context);
}

void daemon_client_say(struct daemon_client *client, json_t *message) {
    size_t length = 0;
    char *line = message_line(message, &length);
    if (line)
        line_send(stream_of(client), line, length, on_said);
    free(line);
}

void daemon_client_leave(struct daemon_client *client, const char *reason) {
    daemon_client_say(client, json_pack("{s:s, s:s}", "type", "leave", "reason", reason));
}

int daemon_client_peer(const struct daemon_client *client, struct os_peer *peer) {
    return os_control_peer(&client->stream.pipe, peer);
}

/* Not by uv_shutdown: on Windows a thread of the system's does that, which is in our code for a
 * moment after it has told of the end, and an editor that reloads us has taken that code away by
 * then. */
bool daemon_client_flush(struct daemon_client *client, void (*done)(void *context)) {
    client->flushed = done;
    return uv_stream_get_write_queue_size(stream_of(client)) > 0;
}

/* ---- the end ---- */

static void on_closed(uv_handle_t *handle) {
    struct daemon_client *client = handle->data;
    if (--client->open_handles > 0)
        return;
    buffer_finish(&client->stream.lines);
    json_decref(client->hello);
    free(client);
}

void daemon_client_close(struct daemon_client *client) {
    if (!client)
        return;
    client->events = NULL;
    uv_close((uv_handle_t *)&client->stream.pipe, on_closed);
    uv_close((uv_handle_t *)&client->again, on_closed);
}
