#include "control_link.h"

#include <stdlib.h>

#include "protocol/lines.h"
#include "protocol/message.h"
#include "protocol/send.h"

struct control_link {
    const struct control_link_events *events; /* NULL: closed */
    void *context;
    uv_pipe_t pipe;
    uv_connect_t connect;
    uv_shutdown_t shutdown;
    void (*flushed)(void *context);
    struct lines lines;
    char buffer[16384];
};

static void on_closed(uv_handle_t *handle) {
    struct control_link *link = handle->data;
    lines_finish(&link->lines);
    free(link);
}

void control_link_close(struct control_link *link) {
    if (!link)
        return;
    link->events = NULL;
    uv_close((uv_handle_t *)&link->pipe, on_closed);
}

static bool on_line(const char *line, size_t length, void *context) {
    struct control_link *link = context;
    json_t *message = message_parse(line, length, NULL);
    link->events->on_message(link->context, message);
    json_decref(message);
    return link->events != NULL;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct control_link *link = handle->data;
    (void)suggested;
    *buf = uv_buf_init(link->buffer, sizeof link->buffer);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    struct control_link *link = stream->data;
    int rc = 0;
    if (count > 0)
        rc = lines_feed(&link->lines, buf->base, (size_t)count, on_line, link);
    if ((count < 0 || rc < 0) && link->events)
        link->events->on_lost(link->context, "the daemon closed the connection");
}

static void on_connected(uv_connect_t *connect, int status) {
    struct control_link *link = connect->handle->data;
    if (!link->events)
        return;
    if (status == 0)
        status = uv_read_start((uv_stream_t *)&link->pipe, on_alloc, on_read);
    if (status == 0)
        link->events->on_open(link->context);
    else
        link->events->on_lost(link->context, uv_strerror(status));
}

struct control_link *control_link_open(uv_loop_t *loop, const char *path,
                                       const struct control_link_events *events, void *context) {
    struct control_link *link = calloc(1, sizeof *link);
    if (!link)
        return NULL;
    link->events = events;
    link->context = context;
    link->pipe.data = link;
    uv_pipe_init(loop, &link->pipe, 0);
    uv_pipe_connect(&link->connect, &link->pipe, path, on_connected);
    return link;
}

void control_link_say(struct control_link *link, json_t *message) {
    message_send((uv_stream_t *)&link->pipe, message);
}

static void on_flushed(uv_shutdown_t *request, int status) {
    struct control_link *link = request->handle->data;
    (void)status;
    if (link->events)
        link->flushed(link->context);
}

bool control_link_flush(struct control_link *link, void (*done)(void *context)) {
    link->flushed = done;
    return uv_shutdown(&link->shutdown, (uv_stream_t *)&link->pipe, on_flushed) == 0;
}
