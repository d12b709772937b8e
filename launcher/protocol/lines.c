#include "lines.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "memory.h"

enum { KEPT_CAPACITY = 1024 }; /* what an idle connection may hold on to */

static int append(struct buffer *lines, const char *bytes, size_t count) {
    if (lines->length + count > LINES_MAX + 1) /* one more for a CR that may go */
        return UV_EMSGSIZE;
    buffer_add(lines, bytes, count);
    return lines->failed ? UV_ENOMEM : 0;
}

static int hand_out(struct buffer *lines, lines_fn fn, void *context) {
    size_t length = lines->length;
    lines->length = 0;
    if (length > 0 && lines->data[length - 1] == '\r')
        lines->data[--length] = 0;
    if (length > LINES_MAX)
        return UV_EMSGSIZE;
    return fn(lines->data, length, context) ? 0 : UV_ECANCELED;
}

int lines_feed(struct buffer *lines, const char *bytes, size_t count, lines_fn fn, void *context) {
    while (count > 0) {
        const char *newline = memchr(bytes, '\n', count);
        size_t taken = newline ? (size_t)(newline - bytes) : count;
        int rc = append(lines, bytes, taken);
        if (rc == 0 && newline)
            rc = hand_out(lines, fn, context);
        if (rc < 0)
            return rc;
        taken += newline ? 1 : 0;
        bytes += taken;
        count -= taken;
    }
    if (lines->length == 0)
        buffer_clear(lines, KEPT_CAPACITY);
    return 0;
}

/* ---- of a pipe ---- */

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

/* ---- out ---- */

struct outgoing {
    uv_write_t write;
    void (*then)(uv_stream_t *stream, int status); /* or NULL */
    char bytes[];
};

static void on_sent(uv_write_t *write, int status) {
    struct outgoing *outgoing = write->data;
    if (outgoing->then)
        outgoing->then(write->handle, status);
    free(outgoing);
}

static int send_later(uv_stream_t *stream, const char *bytes, size_t count,
                      void (*then)(uv_stream_t *stream, int status)) {
    struct outgoing *outgoing = memory_resize(NULL, sizeof *outgoing + count);
    uv_buf_t buf;
    int rc;
    if (!outgoing)
        return UV_ENOMEM;
    memcpy(outgoing->bytes, bytes, count);
    outgoing->then = then;
    outgoing->write.data = outgoing;
    buf = uv_buf_init(outgoing->bytes, (unsigned)count);
    rc = uv_write(&outgoing->write, stream, &buf, 1, on_sent);
    if (rc < 0)
        free(outgoing);
    return rc;
}

int line_send(uv_stream_t *stream, const char *line, size_t length,
              void (*then)(uv_stream_t *stream, int status)) {
    /* libuv does not write to these bytes; its buffers only lack the const. */
    uv_buf_t buf = uv_buf_init((char *)(uintptr_t)line, (unsigned)length);
    int sent = uv_try_write(stream, &buf, 1);
    size_t gone = sent > 0 ? (size_t)sent : 0;
    return gone == length ? 0 : send_later(stream, line + gone, length - gone, then);
}
