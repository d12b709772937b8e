/* Sending a message over a stream of libuv's, without waiting. */
#ifndef TETHER_PROTOCOL_SEND_H
#define TETHER_PROTOCOL_SEND_H

#include <jansson.h>
#include <uv.h>

/* Sends the message as a line, what does not go out at once later, and takes its reference. What is
 * on its way counts in uv_stream_get_write_queue_size. Returns 0 or a negative code. */
int message_send(uv_stream_t *stream, json_t *message);

#endif
