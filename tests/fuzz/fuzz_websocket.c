/* A WebSocket read in pieces of any size gives the same as a slow reading of the whole, written
 * again from the standard; and what is written is read back.
 *
 * The first byte of the input chooses the peer, the limit, and where to stop. In the rest, 0x1e c n
 * stands for n × 512 times c, so that short inputs reach the limits. */
#include "fuzz.h"
#include "protocol/websocket.h"
#include "utf8.h"

#include <errno.h>
#include <string.h>

/* A long stream is not cut into the smallest pieces: that would take most of the time. */
enum { STREAM_MAX = 1 << 17, HEARD_MAX = 2 * STREAM_MAX, PIECES_MOST = 512, CHANGING = 350 };

const char *const fuzz_words[] = {"\x81\x05hello",
                                  "\x01\x02\xe2\x82",
                                  "\x80\x01\xac",
                                  "\x80\x01x",
                                  "\x89\x01x",
                                  "\x8a\x02yz",
                                  "\x88\x02\x03\xe8",
                                  "\x88\x05\x0f\xa0"
                                  "bye",
                                  "\x88\x01x",
                                  "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58",
                                  "\x01\x81zzzz\x1b",
                                  "\x80\x81zzzz\x1b",
                                  "\x89\x81zzzz\x1b",
                                  "\x88\x82zzzz\x79\x92",
                                  "\x81\x7e\x01\x2c",
                                  "\x81\xfe\x01\x2czzzz",
                                  "\x1ex\x01",
                                  "\x1e\xe2\x01",
                                  "\x1ex\x40",
                                  "\x1ex\xff",
                                  "\x81\x7f\x1e",
                                  "\x81\x7e\x02\x01\x1ex\x01"
                                  "x",
                                  "\x01\x7e\x02\x01\x1ex\x01"
                                  "x",
                                  "\x81\x7e\x7e\x01\x1ex\x3f"
                                  "x",
                                  "\xf0\x9f\x98\x80",
                                  "\xed\xa0",
                                  NULL};

struct heard {
    char *text;
    size_t length, count, stop_after, limit;
    const struct websocket_reader *reader;
    int rc;
    unsigned code;
};

static bool note(struct heard *heard, unsigned opcode, unsigned code, const char *payload,
                 size_t length) {
    size_t used =
        (size_t)snprintf(heard->text + heard->length, 64, "%u %u %zu:", opcode, code, length);
    FUZZ_CHECK(heard->length + length + 64 < HEARD_MAX);
    heard->length += used;
    memcpy(heard->text + heard->length, payload, length);
    heard->length += length;
    return ++heard->count != heard->stop_after;
}

/* How much of it is text: all, or up to where it is none. */
static size_t text_length(const char *bytes, size_t count) {
    size_t at = 0, length = 1;
    while (at < count && length > 0) {
        uint64_t eight = 0;
        if (count - at >= sizeof eight)
            memcpy(&eight, bytes + at, sizeof eight);
        length = count - at >= sizeof eight && !(eight & UINT64_C(0x8080808080808080))
                     ? sizeof eight
                     : utf8_sequence(bytes + at, count - at);
        at += length;
    }
    return at;
}

static bool is_text(const char *bytes, size_t count) {
    return text_length(bytes, count) == count;
}

static bool hear(void *context, enum websocket_opcode opcode, char *payload, size_t length) {
    struct heard *heard = context;
    bool go_on;
    FUZZ_CHECK(payload[length] == 0);
    FUZZ_CHECK(length <= (opcode == WEBSOCKET_TEXT ? heard->limit : WEBSOCKET_CONTROL_MAX));
    FUZZ_CHECK(opcode == WEBSOCKET_PING || opcode == WEBSOCKET_PONG || is_text(payload, length));
    go_on =
        note(heard, opcode, opcode == WEBSOCKET_CLOSE ? heard->reader->code : 0, payload, length);
    memset(payload, 0xff, length); /* it is ours to change */
    return go_on;
}

static size_t expand(const uint8_t *data, size_t size, char *out, size_t most) {
    size_t used = 0;
    for (size_t i = 0; i < size && used < most; i++) {
        size_t times = 1;
        char byte = (char)data[i];
        if (data[i] == 0x1e && i + 2 < size) {
            byte = (char)data[i + 1];
            times = (size_t)data[i + 2] * 512;
            i += 2;
        }
        times = times < most - used ? times : most - used;
        memset(out + used, byte, times);
        used += times;
    }
    return used;
}

/* ---- the slow reading ---- */

struct slow {
    const unsigned char *at;
    size_t left;
    bool masked;
    bool in_message;
    char *message;
    size_t length, text; /* so much of it is text for certain */
};

static void fail(struct heard *heard, unsigned code) {
    heard->rc = -EPROTO;
    heard->code = code;
}

/* What is missing may still make it valid, if the message is not whole. */
static bool may_be_text(struct slow *slow, bool whole) {
    const char *rest;
    size_t count;
    slow->text += text_length(slow->message + slow->text, slow->length - slow->text);
    rest = slow->message + slow->text;
    count = slow->length - slow->text;
    return count == 0 || (!whole && utf8_unfinished(rest, count) == count);
}

static unsigned close_code(const unsigned char *payload, size_t length, bool *bad) {
    unsigned code = length >= 2 ? (unsigned)payload[0] << 8 | payload[1] : 1005;
    bool known = code >= 1000 && code < 1015 && code != 1004 && code != 1005 && code != 1006;
    bool own = code >= 3000 && code < 5000;
    *bad = length == 1 || (length >= 2 && !known && !own);
    return code;
}

/* A whole control frame. Returns whether to go on. */
static bool slow_control(struct heard *heard, unsigned opcode, const unsigned char *payload,
                         size_t length) {
    bool bad = false;
    unsigned code = opcode == 8 ? close_code(payload, length, &bad) : 0;
    size_t skipped = opcode == 8 && length ? 2 : 0;
    if (bad)
        fail(heard, 1002);
    else if (opcode == 8 && !is_text((const char *)payload + skipped, length - skipped))
        fail(heard, 1007);
    else if (!note(heard, opcode, code, (const char *)payload + skipped, length - skipped))
        heard->rc = -ECANCELED;
    if (opcode == 8 && heard->rc != -EPROTO)
        heard->code = code;
    return heard->rc == 0 && opcode != 8;
}

/* What came of the payload of a data frame. */
static bool slow_data(struct slow *slow, struct heard *heard, bool final,
                      const unsigned char *payload, size_t length, bool whole) {
    memcpy(slow->message + slow->length, payload, length);
    slow->length += length;
    slow->in_message = true;
    if (!may_be_text(slow, whole && final)) {
        fail(heard, 1007);
        return false;
    }
    if (!whole || !final)
        return whole;
    if (!note(heard, 1, 0, slow->message, slow->length))
        heard->rc = -ECANCELED;
    slow->in_message = false;
    slow->length = slow->text = 0;
    return heard->rc == 0;
}

static unsigned check_start(const struct slow *slow) {
    unsigned opcode = slow->at[0] & 15, length = slow->at[1] & 127;
    bool final = slow->at[0] & 128, control = opcode >= 8, masked = slow->at[1] & 128;
    if ((slow->at[0] & 0x70) || (opcode > 2 && opcode < 8) || opcode > 10 || masked != slow->masked)
        return 1002;
    if (control && (!final || length > 125))
        return 1002;
    if (!control && (opcode == 0) != slow->in_message)
        return 1002;
    return opcode == 2 ? 1003 : 0;
}

/* One frame. Returns whether to go on. */
static bool slow_frame(struct slow *slow, struct heard *heard) {
    static unsigned char payload[STREAM_MAX];
    unsigned opcode, code = slow->left >= 2 ? check_start(slow) : 0;
    size_t extra, header, here;
    uint64_t length;
    if (code)
        fail(heard, code);
    if (slow->left < 2 || code)
        return false;
    opcode = slow->at[0] & 15;
    length = slow->at[1] & 127;
    extra = length == 126 ? 2 : length == 127 ? 8 : 0;
    header = 2 + extra + (slow->masked ? 4 : 0);
    if (slow->left < header)
        return false;
    if (extra)
        length = 0;
    for (size_t i = 0; i < extra; i++)
        length = length * 256 + slow->at[2 + i];
    if ((extra == 2 && length < 126) || (extra == 8 && (length < 65536 || length >> 63)))
        code = 1002;
    else if (opcode < 8 && (length > heard->limit || slow->length + length > heard->limit))
        code = 1009;
    if (code)
        fail(heard, code);
    if (code)
        return false;
    here = length < slow->left - header ? (size_t)length : slow->left - header;
    for (size_t i = 0; i < here; i++)
        payload[i] = slow->at[header + i] ^ (slow->masked ? slow->at[header - 4 + i % 4] : 0);
    slow->at += header + here;
    slow->left -= header + here;
    if (opcode >= 8)
        return here == length && slow_control(heard, opcode, payload, here);
    return slow_data(slow, heard, opcode < 8 && (slow->at[-(ptrdiff_t)(header + here)] & 128),
                     payload, here, here == length);
}

static void read_slowly(struct heard *heard, const char *stream, size_t count, bool masked) {
    static char message[STREAM_MAX];
    struct slow slow = {
        .at = (const unsigned char *)stream, .left = count, .masked = masked, .message = message};
    while (slow_frame(&slow, heard))
        continue;
}

/* ---- the readings of the code ---- */

/* Pieces of `piece` bytes; CHANGING: of changing sizes. */
static void read_pieces(struct heard *heard, const char *stream, size_t count, bool masked,
                        size_t piece) {
    struct websocket_reader reader;
    unsigned changing = 7;
    websocket_reader_init(&reader, masked ? WEBSOCKET_PEER_CLIENT : WEBSOCKET_PEER_SERVER,
                          heard->limit);
    heard->reader = &reader;
    for (size_t at = 0; at < count && heard->rc == 0;) {
        static char copy[STREAM_MAX];
        size_t size = piece;
        changing = changing * 1103515245 + 12345;
        if (piece == CHANGING)
            size = (changing >> 16) % 700;
        size = size < count - at ? size : count - at;
        memcpy(copy, stream + at, size);
        heard->rc = websocket_feed(&reader, copy, size, hear, heard);
        at += size;
        FUZZ_CHECK(reader.capacity <= heard->limit + 1);
        FUZZ_CHECK(reader.length < reader.capacity || reader.length == 0);
        FUZZ_CHECK(reader.in_message || reader.capacity <= 4096);
        FUZZ_CHECK(heard->rc != -EPROTO || (reader.why && websocket_code_is_valid(reader.code)));
    }
    heard->code = reader.code;
    websocket_reader_finish(&reader);
}

static void compare(const struct heard *a, const struct heard *b) {
    FUZZ_CHECK(a->rc == b->rc);
    FUZZ_CHECK(a->code == b->code);
    FUZZ_CHECK(a->count == b->count);
    FUZZ_CHECK(a->length == b->length);
    FUZZ_CHECK(memcmp(a->text, b->text, a->length) == 0);
}

/* The bytes as a message: what was written is read back, or is no text. */
static void check_round_trip(const char *bytes, size_t count, bool masked, size_t limit) {
    static char stream[STREAM_MAX + WEBSOCKET_HEADER_MAX], text[HEARD_MAX], wanted[HEARD_MAX];
    unsigned char mask[] = {0x80, (unsigned char)count, 0, 0x5a};
    size_t header =
        websocket_header((unsigned char *)stream, WEBSOCKET_TEXT, count, masked ? mask : NULL);
    struct heard heard = {.text = text, .limit = limit},
                 expected = {.text = wanted, .limit = limit};
    memcpy(stream + header, bytes, count);
    if (masked)
        websocket_mask(stream + header, count, mask, 0);
    if (count > limit)
        fail(&expected, 1009);
    else if (!is_text(bytes, count))
        fail(&expected, 1007);
    else
        note(&expected, 1, 0, bytes, count);
    read_pieces(&heard, stream, header + count, masked, 4096);
    compare(&expected, &heard);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char stream[STREAM_MAX], text[HEARD_MAX], wanted[HEARD_MAX];
    static const size_t pieces[] = {STREAM_MAX, CHANGING, 4096, 17, 1},
                        limits[] = {10, 300, 5000, 70000};
    uint8_t choice = size > 0 ? data[0] : 0;
    bool masked = choice & 1;
    size_t limit = limits[choice >> 1 & 3], stop_after = choice & 8 ? 1 + (choice >> 4) : 0;
    size_t most = 2 * limit + 4096 < STREAM_MAX ? 2 * limit + 4096 : STREAM_MAX;
    size_t count = expand(data + (size > 0), size > 0 ? size - 1 : 0, stream, most);
    struct heard expected = {.text = wanted, .limit = limit, .stop_after = stop_after};
    read_slowly(&expected, stream, count, masked);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        struct heard heard = {.text = text, .limit = limit, .stop_after = stop_after};
        if (count > pieces[i] * PIECES_MOST)
            continue;
        read_pieces(&heard, stream, count, masked, pieces[i]);
        compare(&expected, &heard);
    }
    check_round_trip(stream, count, masked, limit);
    return 0;
}
