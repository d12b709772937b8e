#include "websocket.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "utf8.h"

enum {
    BIT_FIN = 0x80,
    BITS_RESERVED = 0x70,
    BIT_MASKED = 0x80,
    LENGTH_16 = 126,      /* the length is in the next 2 bytes */
    LENGTH_64 = 127,      /* … in the next 8 */
    KEPT_CAPACITY = 4096, /* what an idle connection may hold on to */
};

void websocket_reader_init(struct websocket_reader *reader, enum websocket_peer peer,
                           size_t limit) {
    *reader = (struct websocket_reader){.peer = peer, .limit = limit};
}

void websocket_reader_finish(struct websocket_reader *reader) {
    free(reader->data);
    reader->data = NULL;
    reader->length = reader->capacity = reader->checked = 0;
}

static int refuse(struct websocket_reader *reader, enum websocket_code code, const char *why) {
    reader->code = code;
    reader->why = why;
    return UV_EPROTO;
}

/* ---- the header ---- */

static enum websocket_opcode opcode_of(const struct websocket_reader *reader) {
    return (enum websocket_opcode)(reader->header[0] & 0x0f);
}

static bool is_final(const struct websocket_reader *reader) {
    return reader->header[0] & BIT_FIN;
}

static bool is_control(enum websocket_opcode opcode) {
    return opcode & 8;
}

static size_t mask_size(const struct websocket_reader *reader) {
    return reader->peer == WEBSOCKET_PEER_CLIENT ? WEBSOCKET_MASK_SIZE : 0;
}

/* How long the header is, as far as its first two bytes tell. */
static size_t header_needed(const struct websocket_reader *reader) {
    unsigned length = reader->header[1] & 0x7f;
    if (reader->header_length < 2)
        return 2;
    return 2 + (length == LENGTH_16 ? 2 : length == LENGTH_64 ? 8 : 0) + mask_size(reader);
}

/* What the first two bytes alone forbid, so that nobody waits for the rest of it. */
static int check_start(struct websocket_reader *reader) {
    enum websocket_opcode opcode = opcode_of(reader);
    bool masked = reader->header[1] & BIT_MASKED;
    if (reader->header[0] & BITS_RESERVED)
        return refuse(reader, WEBSOCKET_PROTOCOL_ERROR, "reserved bits are set");
    if (opcode > WEBSOCKET_PONG || (opcode > WEBSOCKET_BINARY && opcode < WEBSOCKET_CLOSE))
        return refuse(reader, WEBSOCKET_PROTOCOL_ERROR, "unknown opcode");
    if (masked != (reader->peer == WEBSOCKET_PEER_CLIENT))
        return refuse(reader, WEBSOCKET_PROTOCOL_ERROR,
                      masked ? "a server must not mask" : "a client must mask");
    if (is_control(opcode) && !is_final(reader))
        return refuse(reader, WEBSOCKET_PROTOCOL_ERROR, "a control frame in fragments");
    if (is_control(opcode) && (reader->header[1] & 0x7f) > WEBSOCKET_CONTROL_MAX)
        return refuse(reader, WEBSOCKET_PROTOCOL_ERROR, "a control frame that is too long");
    if (opcode == WEBSOCKET_CONTINUATION && !reader->in_message)
        return refuse(reader, WEBSOCKET_PROTOCOL_ERROR, "a continuation of nothing");
    if (!is_control(opcode) && opcode != WEBSOCKET_CONTINUATION && reader->in_message)
        return refuse(reader, WEBSOCKET_PROTOCOL_ERROR, "a message within another");
    if (opcode == WEBSOCKET_BINARY)
        return refuse(reader, WEBSOCKET_UNACCEPTABLE, "binary messages are not understood here");
    return 0;
}

static uint64_t read_length(const unsigned char *bytes, size_t count) {
    uint64_t length = 0;
    for (size_t i = 0; i < count; i++)
        length = length << 8 | bytes[i];
    return length;
}

/* The header is complete. */
static int begin_payload(struct websocket_reader *reader) {
    uint64_t length = reader->header[1] & 0x7f;
    if (length == LENGTH_16) {
        length = read_length(reader->header + 2, 2);
        if (length < LENGTH_16)
            return refuse(reader, WEBSOCKET_PROTOCOL_ERROR, "a length longer than it must be");
    } else if (length == LENGTH_64) {
        length = read_length(reader->header + 2, 8);
        if (length <= UINT16_MAX || length > INT64_MAX)
            return refuse(reader, WEBSOCKET_PROTOCOL_ERROR,
                          length > INT64_MAX ? "a length beyond the largest"
                                             : "a length longer than it must be");
    }
    if (!is_control(opcode_of(reader))) {
        if (length > reader->limit - reader->length)
            return refuse(reader, WEBSOCKET_TOO_BIG, "the message is too long");
        reader->in_message = true;
    }
    reader->left = length;
    reader->taken = 0;
    reader->in_payload = true;
    return 0;
}

/* Takes bytes of the header and tells how many. */
static int feed_header(struct websocket_reader *reader, const char *bytes, size_t count,
                       size_t *used) {
    int rc = 0;
    *used = 0;
    while (rc == 0 && *used < count && !reader->in_payload) {
        reader->header[reader->header_length++] = (unsigned char)bytes[(*used)++];
        if (reader->header_length == 2)
            rc = check_start(reader);
        if (rc == 0 && reader->header_length == header_needed(reader))
            rc = begin_payload(reader);
    }
    return rc;
}

/* ---- the payload ---- */

void websocket_mask(char *bytes, size_t count, const unsigned char mask[WEBSOCKET_MASK_SIZE],
                    uint64_t at) {
    unsigned char turned[8];
    uint64_t word, key;
    size_t i = 0;
    for (size_t k = 0; k < sizeof turned; k++)
        turned[k] = mask[(at + k) % WEBSOCKET_MASK_SIZE];
    memcpy(&key, turned, sizeof key);
    for (; count - i >= sizeof word; i += sizeof word) {
        memcpy(&word, bytes + i, sizeof word);
        word ^= key;
        memcpy(bytes + i, &word, sizeof word);
    }
    for (size_t k = 0; i < count; i++, k++)
        bytes[i] = (char)((unsigned char)bytes[i] ^ turned[k]);
}

/* Makes room for so many bytes more and the terminator. The sum is within the limit. */
static int reserve(struct websocket_reader *reader, size_t count) {
    size_t needed = reader->length + count + 1;
    size_t capacity = reader->capacity ? reader->capacity : 256;
    char *data;
    if (needed <= reader->capacity)
        return 0;
    while (capacity < needed)
        capacity *= 2;
    if (capacity > reader->limit + 1)
        capacity = reader->limit + 1;
    data = realloc(reader->data, capacity);
    if (!data) {
        refuse(reader, WEBSOCKET_INTERNAL, "out of memory");
        return UV_ENOMEM;
    }
    reader->data = data;
    reader->capacity = capacity;
    return 0;
}

/* Passes over bytes without their highest bit, the most frequent ones. */
static size_t skip_ascii(const char *bytes, size_t count) {
    size_t i = 0;
    for (uint64_t word; count - i >= sizeof word; i += sizeof word) {
        memcpy(&word, bytes + i, sizeof word);
        if (word & UINT64_C(0x8080808080808080))
            break;
    }
    while (i < count && !((unsigned char)bytes[i] & 0x80))
        i++;
    return i;
}

/* Goes on checking where it stopped. A sequence may end in a later frame, but in no later message.
 */
static int check_text(struct websocket_reader *reader, bool is_end) {
    for (;;) {
        const char *rest = reader->data + reader->checked;
        size_t left = reader->length - reader->checked;
        size_t passed = skip_ascii(rest, left);
        reader->checked += passed;
        left -= passed;
        passed = utf8_sequence(rest + passed, left);
        if (left == 0)
            return 0;
        if (passed == 0 && !is_end && utf8_unfinished(reader->data + reader->checked, left) == left)
            return 0;
        if (passed == 0)
            return refuse(reader, WEBSOCKET_NOT_UTF8, "the text is not UTF-8");
        reader->checked += passed;
    }
}

static int append(struct websocket_reader *reader, const char *bytes, size_t count) {
    int rc = reserve(reader, count);
    if (rc < 0)
        return rc;
    memcpy(reader->data + reader->length, bytes, count);
    reader->length += count;
    return check_text(reader, false);
}

/* Takes bytes of the payload and tells how many. */
static int feed_payload(struct websocket_reader *reader, char *bytes, size_t count, size_t *used) {
    bool control = is_control(opcode_of(reader));
    size_t taken = reader->left < count ? (size_t)reader->left : count;
    int rc = 0;
    if (mask_size(reader))
        websocket_mask(bytes, taken, reader->header + reader->header_length - WEBSOCKET_MASK_SIZE,
                       reader->taken);
    if (control)
        memcpy(reader->control + reader->taken, bytes, taken);
    else
        rc = append(reader, bytes, taken);
    reader->taken += taken;
    reader->left -= taken;
    *used = taken;
    return rc;
}

/* ---- whole frames ---- */

bool websocket_code_is_valid(unsigned code) {
    if (code >= 3000 && code <= 4999)
        return true;
    return code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006;
}

static bool is_text(const char *bytes, size_t count) {
    while (count > 0) {
        size_t length = utf8_sequence(bytes, count);
        if (length == 0)
            return false;
        bytes += length;
        count -= length;
    }
    return true;
}

/* Returns what a function for one whole frame does: 0 or a negative code. */
static int end_control(struct websocket_reader *reader, websocket_fn fn, void *context) {
    enum websocket_opcode opcode = opcode_of(reader);
    char *payload = (char *)reader->control;
    size_t length = (size_t)reader->taken;
    payload[length] = 0;
    if (opcode == WEBSOCKET_CLOSE) {
        unsigned code = length >= 2 ? (unsigned)read_length(reader->control, 2) : WEBSOCKET_NO_CODE;
        if (length == 1 || (length >= 2 && !websocket_code_is_valid(code)))
            return refuse(reader, WEBSOCKET_PROTOCOL_ERROR, "a close frame without a proper code");
        payload += length ? 2 : 0;
        length -= length ? 2 : 0;
        if (!is_text(payload, length))
            return refuse(reader, WEBSOCKET_NOT_UTF8, "the reason to close is not UTF-8");
        reader->code = (enum websocket_code)code;
        reader->closed = true;
    }
    return fn(context, opcode, payload, length) ? 0 : UV_ECANCELED;
}

static int end_message(struct websocket_reader *reader, websocket_fn fn, void *context) {
    int rc = reserve(reader, 0);
    if (rc == 0)
        rc = check_text(reader, true);
    if (rc < 0)
        return rc;
    reader->data[reader->length] = 0;
    rc = fn(context, WEBSOCKET_TEXT, reader->data, reader->length) ? 0 : UV_ECANCELED;
    reader->in_message = false;
    reader->length = reader->checked = 0;
    if (reader->capacity > KEPT_CAPACITY)
        websocket_reader_finish(reader);
    return rc;
}

static int end_frame(struct websocket_reader *reader, websocket_fn fn, void *context) {
    bool control = is_control(opcode_of(reader)), final = is_final(reader);
    reader->in_payload = false;
    reader->header_length = 0;
    if (control)
        return end_control(reader, fn, context);
    return final ? end_message(reader, fn, context) : 0;
}

int websocket_feed(struct websocket_reader *reader, char *bytes, size_t count, websocket_fn fn,
                   void *context) {
    while (count > 0 && !reader->closed) {
        size_t used = 0;
        int rc = reader->in_payload ? feed_payload(reader, bytes, count, &used)
                                    : feed_header(reader, bytes, count, &used);
        if (rc == 0 && reader->in_payload && reader->left == 0)
            rc = end_frame(reader, fn, context);
        if (rc < 0)
            return rc;
        bytes += used;
        count -= used;
    }
    return 0;
}

/* ---- writing ---- */

size_t websocket_header(unsigned char out[WEBSOCKET_HEADER_MAX], enum websocket_opcode opcode,
                        uint64_t length, const unsigned char mask[WEBSOCKET_MASK_SIZE]) {
    size_t used = 2, bytes = length < LENGTH_16 ? 0 : length <= UINT16_MAX ? 2 : 8;
    out[0] = (unsigned char)(BIT_FIN | opcode);
    out[1] = (unsigned char)(bytes == 0 ? length : bytes == 2 ? LENGTH_16 : LENGTH_64);
    for (size_t i = 0; i < bytes; i++)
        out[used++] = (unsigned char)(length >> 8 * (bytes - 1 - i));
    if (mask) {
        out[1] |= BIT_MASKED;
        memcpy(out + used, mask, WEBSOCKET_MASK_SIZE);
        used += WEBSOCKET_MASK_SIZE;
    }
    return used;
}

size_t websocket_close_payload(char out[WEBSOCKET_CONTROL_MAX], unsigned code, const char *reason) {
    size_t length = reason ? utf8_cut(reason, WEBSOCKET_REASON_MAX) : 0;
    if (code == WEBSOCKET_NO_CODE)
        return 0;
    out[0] = (char)(code >> 8);
    out[1] = (char)(code & 0xff);
    if (length)
        memcpy(out + 2, reason, length);
    return 2 + length;
}
