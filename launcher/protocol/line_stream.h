/* A pipe of libuv's whose bytes come as lines. */
#ifndef TETHER_PROTOCOL_LINE_STREAM_H
#define TETHER_PROTOCOL_LINE_STREAM_H

#include <uv.h>

#include "lines.h"

/* The pipe is initialised and closed by its owner, and its `data` is what the functions get. */
struct line_stream {
    uv_pipe_t pipe; /* first, for a pointer to it to be one to all of this */
    struct lines lines;
    lines_fn line;
    void (*end)(void *context, int why);
    uv_buf_t buffer;
};

/* Begins to read. `end` is called once, when no more lines come: UV_EOF, UV_EMSGSIZE for one that
 * is too long, or what else went wrong; not if it was `line` that said so. The buffer may be lent
 * to any number of streams of one loop. */
int line_stream_read(struct line_stream *stream, uv_buf_t buffer, lines_fn line,
                     void (*end)(void *context, int why));

#endif
