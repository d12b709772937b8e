#include "control_send.h"

#include <stdlib.h>

#include "control_socket.h"
#include "daemon.h"
#include "protocol/lines.h"
#include "state_json.h"

enum {
    QUEUE_MOST = 4 * 1024 * 1024, /* a peer that does not read loses its connection */
    STATE_QUEUE_MOST = 32 * 1024, /* one that is behind gets only the newest state, later */
    LOG_QUEUE_MOST = 256 * 1024,  /* one that follows the log loses lines before that */
    BEHIND_MS = 60000,            /* to catch up, before it loses its connection */
};

static size_t queue_size(const struct control_session *session) {
    return uv_stream_get_write_queue_size((const uv_stream_t *)&session->stream.pipe);
}

static void on_out_of_time(uv_timer_t *timer) {
    control_disconnect(timer->data);
}

/* Ends the connection, but not while somebody walks through the sessions. */
static void give_up(struct control_session *session) {
    session->overflowed = true;
    uv_timer_start(&session->patience, on_out_of_time, 0, 0);
}

/* There is no memory for a message, and a peer that waits for it would do so for ever. It comes
 * again when its connection is gone. */
static void leave_out(struct control_session *session) {
    if (session->connected && !session->overflowed)
        give_up(session);
}

/* A queued line has gone: if it was the last one, a peer that was behind is so no more. */
static void on_sent(uv_stream_t *stream, int status) {
    struct control_session *session = stream->data;
    size_t length = 0;
    char *line;
    (void)status;
    if (!session->connected || !session->behind || session->overflowed || queue_size(session) > 0)
        return;
    session->behind = false;
    uv_timer_stop(&session->patience);
    line = message_line(status_json(session->control->daemon, "state"), &length);
    if (line)
        session_send_state(session, line, length);
    else
        leave_out(session);
    free(line);
}

static void send_line(struct control_session *session, const char *line, size_t length) {
    int rc;
    if (!session->connected || session->overflowed)
        return;
    rc = line_send((uv_stream_t *)&session->stream.pipe, line, length, on_sent);
    if (rc < 0 || queue_size(session) > QUEUE_MOST)
        give_up(session);
}

void session_send(struct control_session *session, json_t *message) {
    size_t length = 0;
    char *line = message_line(message, &length);
    if (line)
        send_line(session, line, length);
    else
        leave_out(session);
    free(line);
}

void session_send_error(struct control_session *session, enum refusal why, const char *message) {
    session_send(session, json_pack("{s:s, s:s, s:s}", "type", "error", "code", refusal_code(why),
                                    "message", message));
}

void session_send_reply(struct control_session *session, const json_t *id, enum refusal refusal,
                        const char *message) {
    session_send(session,
                 json_pack("{s:O, s:b, s:s*, s:s*}", "id", id, "ok", refusal == REFUSED_NOT, "code",
                           refusal_code(refusal), "message", message));
}

void session_send_state(struct control_session *session, const char *line, size_t length) {
    if (session->behind)
        return;
    send_line(session, line, length);
    if (session->connected && !session->overflowed && queue_size(session) > STATE_QUEUE_MOST) {
        session->behind = true;
        uv_timer_start(&session->patience, on_out_of_time, BEHIND_MS, 0);
    }
}

void session_send_log(struct control_session *session, enum log_stream stream, const char *text,
                      uint64_t number) {
    if (!session->connected || queue_size(session) > LOG_QUEUE_MOST)
        return;
    session_send(session,
                 json_pack("{s:s, s:s, s:s, s:I}", "type", "log", "stream", log_stream_name(stream),
                           "line", text, "seq", (json_int_t)number));
}
