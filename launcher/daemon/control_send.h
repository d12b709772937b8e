/* What the daemon tells a session. Nothing here waits: what the peer does not read at once is
 * queued, and a peer that does not read for long loses its connection.
 *
 * A peer that has much to read already gets no further states, and the newest one as soon as it has
 * read the rest: the end of its queue is an event, so it costs nothing until then. */
#ifndef TETHER_DAEMON_CONTROL_SEND_H
#define TETHER_DAEMON_CONTROL_SEND_H

#include <jansson.h>
#include <stddef.h>

#include "log.h"
#include "protocol/message.h"

struct control_session;

/* Each does nothing without a connection. None closes it at once, so that the list of sessions may
 * be walked meanwhile; each takes the reference of its message. */
void session_send(struct control_session *session, json_t *message);
void session_send_error(struct control_session *session, enum refusal why, const char *message);

/* The answer to the request of this id; the message may be NULL. */
void session_send_reply(struct control_session *session, const json_t *id, enum refusal refusal,
                        const char *message);

/* The newest state, as a line with its newline: now or, if the peer is behind, later. */
void session_send_state(struct control_session *session, const char *line, size_t length);

/* A line of the log, unless the peer is too slow for it: the numbers have a gap then. */
void session_send_log(struct control_session *session, enum log_stream stream, const char *text,
                      uint64_t number);

#endif
