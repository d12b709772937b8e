/* Lines, out of a stream of bytes and into one.
 *
 * Bytes arrive in pieces of any size; a line is handed out when its newline has come, whole,
 * wherever the pieces were cut, also inside a UTF-8 sequence. A line longer than LINES_MAX ends the
 * stream: nothing that this protocol says is that long, so whoever sends it is not of this world.
 */
#ifndef TETHER_PROTOCOL_LINES_H
#define TETHER_PROTOCOL_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include <uv.h>

#include "buffer.h"

#define LINES_MAX 65536 /* without the newline */

/* Takes one line, terminated and without its newline (or CR LF); returns false to stop. */
typedef bool (*lines_fn)(const char *line, size_t length, void *context);

/* Feeds bytes and calls `fn` for each line that they complete; the buffer has the beginning of one
 * whose end has not come. Returns 0, UV_EMSGSIZE when a line is too long, UV_ENOMEM, or
 * UV_ECANCELED when `fn` said so; after any of these the stream is useless. */
int lines_feed(struct buffer *lines, const char *bytes, size_t count, lines_fn fn, void *context);

/* A pipe of libuv's whose bytes come as lines. The pipe is initialised and closed by its owner, and
 * its `data` is what the functions get. */
struct line_stream {
    uv_pipe_t pipe; /* first, for a pointer to it to be one to all of this */
    struct buffer lines;
    lines_fn line;
    void (*end)(void *context, int why);
    uv_buf_t buffer;
};

/* Begins to read. `end` is called once, when no more lines come: UV_EOF, UV_EMSGSIZE for one that
 * is too long, or what else went wrong; not if it was `line` that said so. The buffer may be lent
 * to any number of streams of one loop. */
int line_stream_read(struct line_stream *stream, uv_buf_t buffer, lines_fn line,
                     void (*end)(void *context, int why));

/* Sends a line, with its newline: what does not go out at once is copied and goes later. What is on
 * its way counts in uv_stream_get_write_queue_size. `then`, if any, is called when what was queued
 * has gone, or never will: with a negative code. Not if all of it went at once, or if this fails.
 * Returns 0 or a negative code. */
int line_send(uv_stream_t *stream, const char *line, size_t length,
              void (*then)(uv_stream_t *stream, int status));

#endif
