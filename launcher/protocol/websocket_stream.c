#include "websocket_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "os/os.h"

enum {
    SILENCES_MOST = 3,
    SAID_MOST = 16384, /* bytes that wait for the end of a turn */
};

static void on_timer(uv_timer_t *timer);
static void send_pong(struct websocket_stream *stream);
static void flush_said(struct websocket_stream *stream);

/* ---- the end ---- */

static void on_handle_closed(uv_handle_t *handle) {
    struct websocket_stream *stream = handle->data;
    if (--stream->open_handles > 0)
        return;
    websocket_reader_finish(&stream->reader);
    buffer_finish(&stream->said);
    stream->events->on_gone(stream->context);
}

/* The reason has been given. */
static void end(struct websocket_stream *stream) {
    if (stream->state == WEBSOCKET_STREAM_ENDED)
        return;
    stream->state = WEBSOCKET_STREAM_ENDED;
    flush_said(stream);
    uv_close((uv_handle_t *)&stream->tcp, on_handle_closed);
    uv_close((uv_handle_t *)&stream->timer, on_handle_closed);
    uv_close((uv_handle_t *)&stream->flusher, on_handle_closed);
    if (stream->events->on_end)
        stream->events->on_end(stream->context);
}

/* Out of the loop, or of websocket_stream_abort. */
static void end_because(struct websocket_stream *stream, int code, const char *why) {
    if (stream->state < WEBSOCKET_STREAM_CLOSING)
        error_set(&stream->how, code, "%s", why);
    end(stream);
}

void websocket_stream_fail(struct websocket_stream *stream, int code, const char *why) {
    if (stream->state >= WEBSOCKET_STREAM_BROKEN)
        return;
    if (stream->state < WEBSOCKET_STREAM_CLOSING)
        error_set(&stream->how, code, "%s", why);
    stream->state = WEBSOCKET_STREAM_BROKEN;
    uv_timer_start(&stream->timer, on_timer, 0, 0);
}

static void on_shut_down(uv_shutdown_t *request, int status) {
    (void)request;
    (void)status; /* if it failed, reading shows it */
}

/* Nothing more is sent. */
static void drain(struct websocket_stream *stream) {
    if (stream->state >= WEBSOCKET_STREAM_BROKEN)
        return;
    flush_said(stream);
    if (stream->state >= WEBSOCKET_STREAM_BROKEN)
        return;
    stream->state = WEBSOCKET_STREAM_DRAINING;
    uv_timer_start(&stream->timer, on_timer, stream->limits.close_ms, 0);
    if (uv_shutdown(&stream->shutdown, (uv_stream_t *)&stream->tcp, on_shut_down) < 0)
        websocket_stream_fail(stream, UV_ECONNRESET, "");
}

/* ---- sending ---- */

/* What the system did not take at once. */
struct outgoing {
    uv_write_t write;
    struct websocket_stream *stream;
    struct buffer bytes;
};

static void on_sent(uv_write_t *write, int status) {
    struct outgoing *outgoing = write->data;
    struct websocket_stream *stream = outgoing->stream;
    stream->queued -= outgoing->bytes.length;
    buffer_finish(&outgoing->bytes);
    free(outgoing);
    if (stream->state == WEBSOCKET_STREAM_ENDED)
        return;
    if (status < 0)
        end_because(stream, UV_ECONNRESET, "the connection broke");
    else if (stream->pong_waits && stream->state == WEBSOCKET_STREAM_OPEN)
        send_pong(stream);
}

/* Queues what was said, from `gone` on. */
static int queue_rest(struct websocket_stream *stream, size_t gone) {
    struct outgoing *outgoing = malloc(sizeof *outgoing);
    uv_buf_t buf = uv_buf_init(stream->said.data + gone, (unsigned)(stream->said.length - gone));
    int rc;
    if (!outgoing)
        return UV_ENOMEM;
    *outgoing = (struct outgoing){.stream = stream, .bytes = stream->said, .write.data = outgoing};
    rc = uv_write(&outgoing->write, (uv_stream_t *)&stream->tcp, &buf, 1, on_sent);
    if (rc < 0) {
        free(outgoing);
        return rc;
    }
    stream->queued += stream->said.length;
    stream->said = (struct buffer){0};
    return 0;
}

/* Sends what was said since the last time, in one piece. */
static void flush_said(struct websocket_stream *stream) {
    struct buffer *said = &stream->said;
    uv_buf_t buf = uv_buf_init(said->data, (unsigned)said->length);
    int rc = said->failed ? UV_ENOMEM : 0;
    uv_prepare_stop(&stream->flusher);
    if (rc == 0 && said->length > 0)
        rc = uv_try_write((uv_stream_t *)&stream->tcp, &buf, 1);
    rc = rc == UV_EAGAIN ? 0 : rc;
    if (rc >= 0 && (size_t)rc < said->length)
        rc = queue_rest(stream, (size_t)rc);
    if (rc < 0)
        websocket_stream_fail(stream, rc == UV_ENOMEM ? UV_ENOMEM : UV_ECONNRESET,
                              rc == UV_ENOMEM ? "out of memory" : "the connection broke");
    buffer_clear(said, SAID_MOST);
}

static void on_turn_over(uv_prepare_t *flusher) {
    flush_said(flusher->data);
}

/* Bytes of the same turn of the loop go out together, before it sleeps: many short messages cost
 * one system call. */
static void flush_soon(struct websocket_stream *stream) {
    if (stream->said.length >= SAID_MOST || stream->said.failed)
        flush_said(stream);
    else
        uv_prepare_start(&stream->flusher, on_turn_over);
}

static int write_frame(struct websocket_stream *stream, enum websocket_opcode opcode,
                       const char *payload, size_t length) {
    unsigned char mask[WEBSOCKET_MASK_SIZE], header[WEBSOCKET_HEADER_MAX];
    struct buffer *said = &stream->said;
    size_t used;
    if (stream->masks && os_random(mask, sizeof mask) < 0)
        return UV_EIO;
    used = websocket_header(header, opcode, length, stream->masks ? mask : NULL);
    if (!buffer_reserve(said, used + length)) {
        websocket_stream_fail(stream, UV_ENOMEM, "out of memory");
        return UV_ENOMEM;
    }
    buffer_add(said, header, used);
    buffer_add(said, payload, length);
    if (stream->masks)
        websocket_mask(said->data + said->length - length, length, mask, 0);
    flush_soon(stream);
    return stream->state == WEBSOCKET_STREAM_BROKEN ? UV_EPIPE : 0;
}

/* Of pings that come while others wait to be answered, only the last is answered, as the standard
 * allows: a peer that asks and does not read costs nothing. */
static void send_pong(struct websocket_stream *stream) {
    stream->pong_waits = stream->queued > 0;
    if (!stream->pong_waits)
        write_frame(stream, WEBSOCKET_PONG, stream->pong, stream->pong_length);
}

static void send_close(struct websocket_stream *stream, unsigned code, const char *reason) {
    char payload[WEBSOCKET_CONTROL_MAX];
    write_frame(stream, WEBSOCKET_CLOSE, payload, websocket_close_payload(payload, code, reason));
}

void websocket_stream_write(struct websocket_stream *stream, const char *bytes, size_t length) {
    buffer_add(&stream->said, bytes, length);
    flush_soon(stream);
}

int websocket_stream_send(struct websocket_stream *stream, const char *text, size_t length) {
    if (stream->state != WEBSOCKET_STREAM_OPEN)
        return stream->state == WEBSOCKET_STREAM_HEAD ? UV_ENOTCONN : UV_EPIPE;
    if (length > stream->limits.message)
        return UV_EMSGSIZE;
    if (stream->queued > 0 &&
        (stream->queued > stream->limits.queue || length > stream->limits.queue - stream->queued)) {
        websocket_stream_close(stream, WEBSOCKET_POLICY, "does not read what it is sent");
        return UV_ENOBUFS;
    }
    return write_frame(stream, WEBSOCKET_TEXT, text, length);
}

/* ---- receiving ---- */

/* How it ends is known: that the last words may not arrive changes nothing. */
static void say_last(struct websocket_stream *stream, const char *reason) {
    stream->state = WEBSOCKET_STREAM_CLOSING;
    send_close(stream, stream->reader.code, reason);
}

/* The peer has said goodbye; it is answered with its own code. */
static void hear_close(struct websocket_stream *stream, const char *reason) {
    int code = (int)stream->reader.code;
    if (stream->state == WEBSOCKET_STREAM_OPEN) {
        error_set(&stream->how, code, "closed by the other side: %d%s%s", code,
                  reason[0] ? ", " : "", reason);
        say_last(stream, NULL);
    }
    drain(stream);
}

static bool on_frame(void *context, enum websocket_opcode opcode, char *payload, size_t length) {
    struct websocket_stream *stream = context;
    if (opcode == WEBSOCKET_CLOSE) {
        hear_close(stream, payload);
    } else if (opcode == WEBSOCKET_PING && stream->state == WEBSOCKET_STREAM_OPEN) {
        memcpy(stream->pong, payload, length);
        stream->pong_length = length;
        send_pong(stream);
    } else if (opcode == WEBSOCKET_TEXT && stream->state == WEBSOCKET_STREAM_OPEN) {
        stream->events->on_message(stream->context, payload, length);
    }
    return stream->state <= WEBSOCKET_STREAM_CLOSING;
}

static void feed(struct websocket_stream *stream, char *bytes, size_t count) {
    int rc;
    stream->heard_at = uv_now(stream->timer.loop);
    stream->silences = 0;
    rc = websocket_feed(&stream->reader, bytes, count, on_frame, stream);
    if ((rc == UV_EPROTO || rc == UV_ENOMEM) && stream->state <= WEBSOCKET_STREAM_CLOSING) {
        if (stream->state == WEBSOCKET_STREAM_OPEN) {
            error_set(&stream->how, (int)stream->reader.code, "%s", stream->reader.why);
            say_last(stream, stream->reader.why);
        }
        drain(stream);
    }
}

static void feed_head(struct websocket_stream *stream, size_t count) {
    size_t from = stream->head_length > 3 ? stream->head_length - 3 : 0;
    size_t length;
    stream->head_length += count;
    length = http_head_length(stream->buffer + from, stream->head_length - from);
    if (length == 0 && stream->head_length < WEBSOCKET_HEAD_MAX)
        return;
    length += length ? from : 0;
    stream->events->on_head(stream->context, length ? stream->buffer : NULL, length);
    if (stream->state == WEBSOCKET_STREAM_OPEN && stream->head_length > length)
        feed(stream, stream->buffer + length, stream->head_length - length);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct websocket_stream *stream = handle->data;
    size_t from = stream->state == WEBSOCKET_STREAM_HEAD ? stream->head_length : 0;
    size_t most =
        stream->state == WEBSOCKET_STREAM_HEAD ? WEBSOCKET_HEAD_MAX : sizeof stream->buffer;
    (void)suggested;
    *buf = uv_buf_init(stream->buffer + from, (unsigned)(most - from));
}

static void on_read(uv_stream_t *handle, ssize_t count, const uv_buf_t *buf) {
    struct websocket_stream *stream = handle->data;
    if (count < 0)
        end_because(stream, UV_ECONNRESET,
                    count == UV_EOF ? "the other side went away without a goodbye"
                                    : "the connection broke");
    else if (count > 0 && stream->state == WEBSOCKET_STREAM_HEAD)
        feed_head(stream, (size_t)count);
    else if (count > 0 && stream->state <= WEBSOCKET_STREAM_CLOSING)
        feed(stream, buf->base, (size_t)count);
}

/* ---- time ---- */

/* A tick comes a ping's time after the last that was heard. Ticks are counted, not time: after a
 * stop of this process nobody is taken for silent before the loop has read what came meanwhile. */
static void on_tick(struct websocket_stream *stream) {
    uint64_t quiet = uv_now(stream->timer.loop) - stream->heard_at;
    uint64_t next = stream->limits.ping_ms;
    if (stream->silences == 0 && quiet < next) {
        next -= quiet;
    } else if (++stream->silences >= SILENCES_MOST) {
        end_because(stream, UV_ETIMEDOUT, "the other side is silent");
        return;
    } else {
        write_frame(stream, WEBSOCKET_PING, NULL, 0);
    }
    if (stream->state == WEBSOCKET_STREAM_OPEN)
        uv_timer_start(&stream->timer, on_timer, next, 0);
}

static void on_timer(uv_timer_t *timer) {
    struct websocket_stream *stream = timer->data;
    if (stream->state == WEBSOCKET_STREAM_OPEN)
        on_tick(stream);
    else
        end_because(stream, UV_ETIMEDOUT, "no handshake in time");
}

/* ---- the owner's side ---- */

static struct websocket_stream_limits with_defaults(const struct websocket_stream_limits *given) {
    const size_t mebibyte = (size_t)1024 * 1024;
    return (struct websocket_stream_limits){
        .message = given->message ? given->message : 32 * mebibyte,
        .queue = given->queue ? given->queue : 64 * mebibyte,
        .handshake_ms = given->handshake_ms ? given->handshake_ms : 5000,
        .ping_ms = given->ping_ms ? given->ping_ms : 15000,
        .close_ms = given->close_ms ? given->close_ms : 2000,
    };
}

void websocket_stream_init(struct websocket_stream *stream, uv_loop_t *loop,
                           enum websocket_peer peer, const struct websocket_stream_limits *limits,
                           const struct websocket_stream_events *events, void *context) {
    memset(stream, 0, offsetof(struct websocket_stream, buffer));
    stream->events = events;
    stream->context = context;
    stream->limits = with_defaults(limits);
    stream->masks = peer == WEBSOCKET_PEER_SERVER;
    websocket_reader_init(&stream->reader, peer, stream->limits.message);
    uv_tcp_init(loop, &stream->tcp); /* none of these can fail: nothing is opened yet */
    uv_timer_init(loop, &stream->timer);
    uv_prepare_init(loop, &stream->flusher);
    stream->tcp.data = stream->timer.data = stream->flusher.data = stream;
    stream->open_handles = 3;
    uv_timer_start(&stream->timer, on_timer, stream->limits.handshake_ms, 0);
}

void websocket_stream_start(struct websocket_stream *stream) {
    uv_tcp_nodelay(&stream->tcp, 1);
    if (uv_read_start((uv_stream_t *)&stream->tcp, on_alloc, on_read) < 0)
        websocket_stream_fail(stream, UV_ECONNRESET, "the connection broke");
}

void websocket_stream_open(struct websocket_stream *stream) {
    if (stream->state != WEBSOCKET_STREAM_HEAD)
        return; /* the answer could not be written */
    stream->state = WEBSOCKET_STREAM_OPEN;
    stream->heard_at = uv_now(stream->timer.loop);
    uv_timer_start(&stream->timer, on_timer, stream->limits.ping_ms, 0);
}

void websocket_stream_refuse(struct websocket_stream *stream, int code, const char *why) {
    if (stream->state != WEBSOCKET_STREAM_HEAD)
        return;
    error_set(&stream->how, code, "%s", why);
    drain(stream);
}

void websocket_stream_close(struct websocket_stream *stream, unsigned code, const char *reason) {
    if (stream->state == WEBSOCKET_STREAM_HEAD)
        websocket_stream_fail(stream, UV_ECANCELED, "closed before it was open");
    if (stream->state != WEBSOCKET_STREAM_OPEN)
        return;
    error_set(&stream->how, (int)code, "closed by us: %u%s%s", code, reason ? ", " : "",
              reason ? reason : "");
    send_close(stream, code, reason);
    if (stream->state != WEBSOCKET_STREAM_OPEN)
        return; /* it broke */
    stream->state = WEBSOCKET_STREAM_CLOSING;
    uv_timer_start(&stream->timer, on_timer, stream->limits.close_ms, 0);
}

void websocket_stream_abort(struct websocket_stream *stream, int code, const char *why) {
    if (stream->state == WEBSOCKET_STREAM_OPEN && code > 0)
        send_close(stream, (unsigned)code, why);
    end_because(stream, code, why);
}
