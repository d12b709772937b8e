/* Cuts a stream of bytes into lines.
 *
 * Bytes arrive in pieces of any size; a line is handed out when its newline has come, whole,
 * wherever the pieces were cut, also inside a UTF-8 sequence. A line longer than LINES_MAX ends the
 * stream: nothing that this protocol says is that long, so whoever sends it is not of this world.
 */
#ifndef TETHER_PROTOCOL_LINES_H
#define TETHER_PROTOCOL_LINES_H

#include <stdbool.h>
#include <stddef.h>

#define LINES_MAX 65536 /* without the newline */

/* Zeroed memory is an empty one. */
struct lines {
    char *data; /* the beginning of a line whose end has not come; owned */
    size_t length, capacity;
};

/* Takes one line, terminated and without its newline (or CR LF); returns false to stop. */
typedef bool (*lines_fn)(const char *line, size_t length, void *context);

/* Feeds bytes and calls `fn` for each line that they complete. Returns 0, UV_EMSGSIZE when a line
 * is too long, UV_ENOMEM, or UV_ECANCELED when `fn` said so; after any of these the stream is
 * useless. */
int lines_feed(struct lines *lines, const char *bytes, size_t count, lines_fn fn, void *context);

void lines_finish(struct lines *lines);

#endif
