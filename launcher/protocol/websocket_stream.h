/* A WebSocket over a TCP connection of libuv's: what its server and its client have in common.
 *
 * First comes the head of the other side's HTTP message, collected here and judged by the owner,
 * who opens the stream or refuses. Open, it hands out whole messages, answers pings, sends its own
 * into a silence, and knows the closing handshake: after its last words it goes on reading until
 * the peer has closed, too, so that no reset takes those words away; but not for ever.
 *
 * Events come out of the loop only, never out of a call of the owner's, except on_end out of
 * websocket_stream_abort. */
#ifndef TETHER_PROTOCOL_WEBSOCKET_STREAM_H
#define TETHER_PROTOCOL_WEBSOCKET_STREAM_H

#include <uv.h>

#include "buffer.h"
#include "error.h"
#include "websocket.h"
#include "websocket_handshake.h"

#define WEBSOCKET_HEAD_MAX 8192

struct websocket_stream_events {
    /* The head has come, through its empty line; NULL: it is longer than WEBSOCKET_HEAD_MAX. The
     * owner opens, refuses or aborts the stream now. */
    void (*on_head)(void *context, const char *head, size_t length);

    /* A whole text message, terminated; may be changed; gone when the call returns. Not after the
     * owner has closed the stream. */
    void (*on_message)(void *context, char *text, size_t length);

    /* Nothing more comes or goes: stream->how says how it ended. Once. NULL: that
     * is of no interest. */
    void (*on_end)(void *context);

    /* The loop has let go of the memory. Last, once. */
    void (*on_gone)(void *context);
};

/* 0: the default. */
struct websocket_stream_limits {
    size_t message; /* bytes; 32 MiB */
    size_t queue;   /* bytes that may wait for the peer to read, with what they cost; 64 MiB */
    unsigned handshake_ms; /* from init until it is open; 5000 */
    unsigned ping_ms;  /* of silence, until the peer is asked; 15000. Three times that: the end */
    unsigned close_ms; /* for the peer's part of the end; 2000 */
};

struct websocket_stream {
    uv_tcp_t tcp;
    uv_timer_t timer;
    uv_prepare_t flusher; /* runs while something waits for the end of the turn */
    uv_shutdown_t shutdown;
    const struct websocket_stream_events *events;
    void *context;
    struct websocket_stream_limits limits;
    bool masks; /* what it sends: it is the client */
    enum {
        WEBSOCKET_STREAM_HEAD,
        WEBSOCKET_STREAM_OPEN,
        WEBSOCKET_STREAM_CLOSING,  /* we said goodbye and wait for the peer's */
        WEBSOCKET_STREAM_DRAINING, /* all is said; we wait for the peer's end */
        WEBSOCKET_STREAM_BROKEN,   /* ends in the next turn of the loop */
        WEBSOCKET_STREAM_ENDED,
    } state;
    int open_handles;
    struct buffer said; /* in this turn of the loop */
    size_t queued;
    uint64_t heard_at; /* the loop's time */
    unsigned silences; /* ticks since then */
    bool pong_waits;
    size_t pong_length;
    char pong[WEBSOCKET_CONTROL_MAX];
    struct websocket_reader reader;
    size_t head_length; /* what has come of it, at the start of the buffer */
    struct error how;   /* it ended: a close code, or a negative code */
    char buffer[16384];
};

/* Makes the handles and arms the timer of the handshake. Whoever has called this waits for on_gone.
 */
void websocket_stream_init(struct websocket_stream *stream, uv_loop_t *loop,
                           enum websocket_peer peer, const struct websocket_stream_limits *limits,
                           const struct websocket_stream_events *events, void *context);

/* Begins to read, when the connection is there. */
void websocket_stream_start(struct websocket_stream *stream);

/* Sends bytes of the handshake. */
void websocket_stream_write(struct websocket_stream *stream, const char *bytes, size_t length);

/* The handshake is done. */
void websocket_stream_open(struct websocket_stream *stream);

/* Ends a stream that is not open in order, when what was written has gone. */
void websocket_stream_refuse(struct websocket_stream *stream, int code, const char *why);

/* Sends a text message without waiting. UV_ENOTCONN: not open yet. UV_EPIPE: not open any more.
 * UV_EMSGSIZE: too long. UV_ENOBUFS: the peer does not read; the stream closes now. UV_ENOMEM. */
int websocket_stream_send(struct websocket_stream *stream, const char *text, size_t length);

/* Says goodbye; does nothing if that has been done. Before the stream is open it just ends, by
 * UV_ECANCELED. */
void websocket_stream_close(struct websocket_stream *stream, unsigned code, const char *reason);

/* Ends it at once, with a close frame if that goes out without waiting (code 0: without). */
void websocket_stream_abort(struct websocket_stream *stream, int code, const char *why);

/* Ends it in the next turn of the loop. */
void websocket_stream_fail(struct websocket_stream *stream, int code, const char *why);

#endif
