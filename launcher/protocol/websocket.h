/* WebSocket frames (RFC 6455), for both sides: bytes in, messages out. No I/O and no clock.
 *
 * The reader takes bytes in pieces of any size and hands out whole messages and control frames. It
 * keeps one buffer, for the message under way, which never grows beyond the limit, however much a
 * header announces. Everything that the standard forbids ends the stream, with the code to close
 * with: reserved bits, unknown opcodes, lengths not in their shortest form, a mask where there must
 * be none and the other way round, control frames in fragments or too long, fragments out of
 * order, close frames with a bad payload (1002); text that is not UTF-8, found as soon as it comes
 * (1007); messages too long (1009). Binary messages are not for us (1003). */
#ifndef TETHER_PROTOCOL_WEBSOCKET_H
#define TETHER_PROTOCOL_WEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEBSOCKET_HEADER_MAX  14
#define WEBSOCKET_CONTROL_MAX 125 /* the payload of a control frame */
#define WEBSOCKET_REASON_MAX  123 /* of that, the text in a close frame */
#define WEBSOCKET_MASK_SIZE   4

enum websocket_opcode {
    WEBSOCKET_CONTINUATION = 0,
    WEBSOCKET_TEXT = 1,
    WEBSOCKET_BINARY = 2,
    WEBSOCKET_CLOSE = 8,
    WEBSOCKET_PING = 9,
    WEBSOCKET_PONG = 10,
};

enum websocket_code {
    WEBSOCKET_NORMAL = 1000,
    WEBSOCKET_GOING_AWAY = 1001,
    WEBSOCKET_PROTOCOL_ERROR = 1002,
    WEBSOCKET_UNACCEPTABLE = 1003,
    WEBSOCKET_NO_CODE = 1005, /* never sent: the peer gave none */
    WEBSOCKET_NOT_UTF8 = 1007,
    WEBSOCKET_POLICY = 1008,
    WEBSOCKET_TOO_BIG = 1009,
    WEBSOCKET_INTERNAL = 1011,
};

/* Whose frames are read: a client masks all of its own, a server none. */
enum websocket_peer { WEBSOCKET_PEER_CLIENT, WEBSOCKET_PEER_SERVER };

struct websocket_reader {
    enum websocket_peer peer;
    size_t limit; /* bytes of a message */

    /* The frame under way. */
    unsigned char header[WEBSOCKET_HEADER_MAX];
    size_t header_length;
    bool in_payload;
    uint64_t left, taken; /* bytes of the payload to come, and those that came */
    unsigned char control[WEBSOCKET_CONTROL_MAX + 1];

    /* The message under way; owned. */
    bool in_message;
    char *data;
    size_t length, capacity;
    size_t checked; /* bytes that are known to be UTF-8 */

    bool closed; /* the peer has said its last */
    enum websocket_code code;
    const char *why; /* static */
};

/* Takes a text message, a ping, a pong or a close frame. The payload is terminated, may be changed,
 * and is gone after the call. That of a close frame is the reason alone, UTF-8; the code is in
 * reader->code, WEBSOCKET_NO_CODE if the peer gave none. Returns false to stop. */
typedef bool (*websocket_fn)(void *context, enum websocket_opcode opcode, char *payload,
                             size_t length);

/* limit: below SIZE_MAX / 2. */
void websocket_reader_init(struct websocket_reader *reader, enum websocket_peer peer, size_t limit);
void websocket_reader_finish(struct websocket_reader *reader);

/* Feeds bytes, which it changes (masks are taken off in place). 0: all were taken; what comes after
 * a close frame is ignored. UV_EPROTO: the peer broke the rules, code and why say how.
 * UV_ECANCELED: `fn` said stop. UV_ENOMEM: code and why are set, too. After any of these the stream
 * is useless. */
int websocket_feed(struct websocket_reader *reader, char *bytes, size_t count, websocket_fn fn,
                   void *context);

/* Writes the header of a frame that is a whole message, with the mask if there is one, and returns
 * its length. */
size_t websocket_header(unsigned char out[WEBSOCKET_HEADER_MAX], enum websocket_opcode opcode,
                        uint64_t length, const unsigned char mask[WEBSOCKET_MASK_SIZE]);

/* Puts a mask on bytes of a payload, or takes it off; `at` is where in the payload they are. */
void websocket_mask(char *bytes, size_t count, const unsigned char mask[WEBSOCKET_MASK_SIZE],
                    uint64_t at);

/* Writes the payload of a close frame and returns its length. The reason may be NULL; one that is
 * too long is cut between characters. WEBSOCKET_NO_CODE makes an empty one. */
size_t websocket_close_payload(char out[WEBSOCKET_CONTROL_MAX], unsigned code, const char *reason);

/* Whether a close frame may carry the code. */
bool websocket_code_is_valid(unsigned code);

#endif
