#include "line_stream.h"

static struct line_stream *stream_of(void *pipe) {
    return pipe;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    (void)suggested;
    *buf = stream_of(handle)->buffer;
}

static void on_read(uv_stream_t *pipe, ssize_t count, const uv_buf_t *buf) {
    struct line_stream *stream = stream_of(pipe);
    int rc = count < 0 ? (int)count : 0;
    if (count > 0)
        rc = lines_feed(&stream->lines, buf->base, (size_t)count, stream->line, pipe->data);
    if (rc == 0)
        return;
    uv_read_stop(pipe);
    if (rc != UV_ECANCELED)
        stream->end(pipe->data, rc);
}

int line_stream_read(struct line_stream *stream, uv_buf_t buffer, lines_fn line,
                     void (*end)(void *context, int why)) {
    stream->buffer = buffer;
    stream->line = line;
    stream->end = end;
    return uv_read_start((uv_stream_t *)&stream->pipe, on_alloc, on_read);
}
