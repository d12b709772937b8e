#include "send.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "memory.h"
#include "message.h"

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

int message_send(uv_stream_t *stream, json_t *message) {
    size_t length = 0;
    char *line = message_line(message, &length);
    int rc = line ? line_send(stream, line, length, NULL) : UV_ENOMEM;
    free(line);
    return rc;
}
