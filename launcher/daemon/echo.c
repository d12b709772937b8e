#include "echo.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <uv.h>

enum { PATIENCE_MS = 200, LINE_MOST = 32 * 1024 };

static void write_text(struct echo_stream *stream, const char *text, size_t length) {
    while (length > 0 && !stream->is_stuck) {
        int64_t count = os_write_now(stream->handle, text, length);
        if (count > 0) {
            text += count;
            length -= (size_t)count;
        } else if (count == UV_EAGAIN) {
            stream->is_stuck = !os_wait_writable(stream->handle, PATIENCE_MS);
        } else {
            return; /* nobody will ever read it */
        }
    }
}

/* Goes on if somebody reads again, and tells what is missing. */
static void resume(struct echo_stream *stream) {
    char text[128];
    if (!os_wait_writable(stream->handle, 0))
        return;
    stream->is_stuck = false;
    snprintf(text, sizeof text,
             "\ntether: nobody read this, so %" PRIu64 " lines are left out; `tether logs` has "
             "them\n",
             stream->skipped);
    stream->skipped = 0;
    write_text(stream, text, strlen(text));
}

void echo_line(struct echo *echo, bool is_error, const char *prefix, const char *text,
               size_t length) {
    struct echo_stream *stream = &echo->streams[is_error];
    char line[LINE_MOST];
    int count = snprintf(line, sizeof line, "%s%.*s\n", prefix, (int)length, text);
    if (stream->is_stuck)
        resume(stream);
    write_text(stream, line, count < LINE_MOST ? (size_t)count : LINE_MOST - 1);
    stream->skipped += stream->is_stuck;
}

void echo_init(struct echo *echo) {
    for (int i = 0; i < 2; i++)
        echo->streams[i] = (struct echo_stream){.handle = os_stdio_unblocked(i + 1)};
}

void echo_finish(struct echo *echo) {
    for (int i = 0; i < 2; i++)
        os_stdio_release(&echo->streams[i].handle, i + 1);
}
