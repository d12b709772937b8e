/* A pipe of libuv's whose bytes come as lines. */
#ifndef TETHER_PROTOCOL_LINE_STREAM_H
#define TETHER_PROTOCOL_LINE_STREAM_H

#include <uv.h>

#include "lines.h"

/* Once, when no more lines come: UV_EOF, UV_EMSGSIZE for one that is too long, or what else went
 * wrong. Not called when the taker of lines has stopped. */
typedef void (*line_end_fn)(void *context, int why);

/* The pipe is initialised and closed by its owner; its `data` is this, from line_stream_read on. */
struct line_stream {
    uv_pipe_t pipe;
    struct lines lines;
    lines_fn line;
    line_end_fn end;
    void *context;
    uv_buf_t buffer;
};

/* Begins to read. The buffer may be lent to any number of streams of one loop. */
int line_stream_read(struct line_stream *stream, uv_buf_t buffer, lines_fn line, line_end_fn end,
                     void *context);

#endif
