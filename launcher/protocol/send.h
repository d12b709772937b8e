/* Sending over a stream of libuv's, without waiting. */
#ifndef TETHER_PROTOCOL_SEND_H
#define TETHER_PROTOCOL_SEND_H

#include <jansson.h>
#include <uv.h>

/* Sends a line, with its newline: what does not go out at once is copied and goes later. What is on
 * its way counts in uv_stream_get_write_queue_size. `then`, if any, is called when what was queued
 * has gone, or never will: with a negative code. Not if all of it went at once, or if this fails.
 * Returns 0 or a negative code. */
int line_send(uv_stream_t *stream, const char *line, size_t length,
              void (*then)(uv_stream_t *stream, int status));

/* Sends a message, whose reference it takes, as a line. */
int message_send(uv_stream_t *stream, json_t *message);

#endif
