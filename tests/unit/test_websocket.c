/* WebSocket frames: what is taken, what is refused and with which code, and how they are written.
 *
 * Every stream is fed in one piece, byte by byte and in pieces of three: the result must be the
 * same. */
#include "protocol/websocket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

enum { LIMIT = 70000 };

/* ---- what was heard, as text: "text:hello ping:x close:1000:bye" ---- */

struct heard {
    char text[LIMIT + 256];
    size_t length;
    const struct websocket_reader *reader;
};

static bool hear(void *context, enum websocket_opcode opcode, char *payload, size_t length) {
    struct heard *heard = context;
    const char *names[] = {[WEBSOCKET_TEXT] = "text",
                           [WEBSOCKET_CLOSE] = "close",
                           [WEBSOCKET_PING] = "ping",
                           [WEBSOCKET_PONG] = "pong"};
    char code[16] = "";
    assert_int_equal(payload[length], 0);
    assert_true(heard->length + length + 32 < sizeof heard->text);
    if (opcode == WEBSOCKET_CLOSE)
        snprintf(code, sizeof code, "%d:", (int)heard->reader->code);
    heard->length += (size_t)snprintf(heard->text + heard->length, 32, "%s%s:%s",
                                      heard->length ? " " : "", names[opcode], code);
    memcpy(heard->text + heard->length, payload, length);
    memset(payload, '#', length); /* it is ours to change */
    heard->length += length;
    heard->text[heard->length] = 0;
    return strstr(heard->text, "stop") == NULL;
}

struct result {
    int rc;
    enum websocket_code code;
    struct heard heard;
};

static void feed_pieces(struct result *result, enum websocket_peer peer, const char *bytes,
                        size_t count, size_t piece) {
    struct websocket_reader reader;
    websocket_reader_init(&reader, peer, LIMIT);
    memset(result, 0, sizeof *result);
    result->heard.reader = &reader;
    for (size_t at = 0; at < count && result->rc == 0; at += piece) {
        size_t length = piece < count - at ? piece : count - at;
        char *copy = malloc(length); /* of just this size: reading beyond it shows */
        assert_non_null(copy);
        memcpy(copy, bytes + at, length);
        result->rc = websocket_feed(&reader, copy, length, hear, &result->heard);
        free(copy);
        assert_true(reader.capacity <= LIMIT + 1);
    }
    result->code = reader.code;
    assert_true(result->rc != -EPROTO || reader.why);
    websocket_reader_finish(&reader);
}

/* One of static memory each: they are large. */
static const struct result *feed(enum websocket_peer peer, const char *bytes, size_t count) {
    static struct result whole, cut;
    const size_t pieces[] = {1, 3, 4099};
    feed_pieces(&whole, peer, bytes, count, count ? count : 1);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        feed_pieces(&cut, peer, bytes, count, pieces[i]);
        assert_int_equal(cut.rc, whole.rc);
        assert_int_equal(cut.code, whole.code);
        assert_int_equal(cut.heard.length, whole.heard.length);
        assert_memory_equal(cut.heard.text, whole.heard.text, whole.heard.length);
    }
    return &whole;
}

/* ---- streams, put together ---- */

struct stream {
    char *bytes;
    size_t length;
};

static void put(struct stream *stream, const void *bytes, size_t count) {
    stream->bytes = realloc(stream->bytes, stream->length + count + 1);
    assert_non_null(stream->bytes);
    memcpy(stream->bytes + stream->length, bytes, count);
    stream->length += count;
}

/* A frame as a server sends it: the first byte as it is, the shortest length. */
static void put_frame(struct stream *stream, unsigned first, const char *payload, size_t length) {
    unsigned char header[WEBSOCKET_HEADER_MAX];
    size_t used = websocket_header(header, WEBSOCKET_TEXT, length, NULL);
    header[0] = (unsigned char)first;
    put(stream, header, used);
    put(stream, payload, length);
}

static void put_text(struct stream *stream, unsigned first, const char *payload) {
    put_frame(stream, first, payload, strlen(payload));
}

static void expect(struct stream *stream, int rc, enum websocket_code code, const char *heard) {
    const struct result *result = feed(WEBSOCKET_PEER_SERVER, stream->bytes, stream->length);
    assert_int_equal(result->rc, rc);
    assert_string_equal(result->heard.text, heard);
    assert_int_equal(result->code, code);
    free(stream->bytes);
    *stream = (struct stream){0};
}

static void expect_refused(struct stream *stream, enum websocket_code code) {
    expect(stream, -EPROTO, code, "");
}

/* ---- what is taken ---- */

static void test_messages(void **state) {
    struct stream stream = {0};
    (void)state;
    put_text(&stream, 0x81, "hello");
    put_text(&stream, 0x81, "");
    put_text(&stream, 0x81, "\xe2\x82\xac");
    expect(&stream, 0, 0, "text:hello text: text:\xe2\x82\xac");
}

/* A message may have a NUL; the length tells. */
static void test_nul(void **state) {
    struct stream stream = {0};
    const struct result *result;
    (void)state;
    put_frame(&stream, 0x81, "a\0b", 3);
    result = feed(WEBSOCKET_PEER_SERVER, stream.bytes, stream.length);
    assert_int_equal(result->rc, 0);
    assert_int_equal(result->heard.length, 8);
    assert_memory_equal(result->heard.text, "text:a\0b", 8);
    free(stream.bytes);
}

static void test_fragments(void **state) {
    struct stream stream = {0};
    (void)state;
    put_text(&stream, 0x01, "one ");
    put_text(&stream, 0x00, "");
    put_text(&stream, 0x89, "now"); /* control frames come between */
    put_text(&stream, 0x00, "two ");
    put_text(&stream, 0x8a, "");
    put_text(&stream, 0x80, "three");
    put_text(&stream, 0x01, "");
    put_text(&stream, 0x80, "");
    expect(&stream, 0, 0, "ping:now pong: text:one two three text:");
}

/* E5: a character may be cut anywhere by frames. */
static void test_character_in_fragments(void **state) {
    const char *text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
    (void)state;
    for (size_t cut = 0; cut <= strlen(text); cut++) {
        struct stream stream = {0};
        char expected[64];
        put_frame(&stream, 0x01, text, cut);
        put_text(&stream, 0x89, "\xff"); /* the payload of a ping is anything */
        put_text(&stream, 0x80, text + cut);
        snprintf(expected, sizeof expected, "ping:\xff text:%s", text);
        expect(&stream, 0, 0, expected);
    }
}

static void test_lengths(void **state) {
    const size_t lengths[] = {1, 125, 126, 127, 65535, 65536, LIMIT};
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct stream stream = {0};
        char *text = malloc(lengths[i]);
        const struct result *result;
        assert_non_null(text);
        memset(text, 'x', lengths[i]);
        put_frame(&stream, 0x81, text, lengths[i]);
        result = feed(WEBSOCKET_PEER_SERVER, stream.bytes, stream.length);
        assert_int_equal(result->rc, 0);
        assert_int_equal(result->heard.length, lengths[i] + 5);
        assert_memory_equal(result->heard.text + 5, text, lengths[i]);
        free(stream.bytes);
        free(text);
    }
}

/* The example of the standard: "Hello" with a mask. */
static void test_mask(void **state) {
    const unsigned char frame[] = {0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d,
                                   0x7f, 0x9f, 0x4d, 0x51, 0x58};
    const struct result *result = feed(WEBSOCKET_PEER_CLIENT, (const char *)frame, sizeof frame);
    (void)state;
    assert_int_equal(result->rc, 0);
    assert_string_equal(result->heard.text, "text:Hello");
}

static void test_mask_at_any_place(void **state) {
    const unsigned char mask[] = {1, 2, 4, 8};
    char whole[100], cut[100];
    (void)state;
    for (size_t i = 0; i < sizeof whole; i++)
        whole[i] = cut[i] = (char)i;
    websocket_mask(whole, sizeof whole, mask, 0);
    for (size_t i = 0; i < sizeof whole; i++)
        assert_int_equal(whole[i], (char)(i ^ mask[i % 4]));
    for (size_t at = 0, piece = 0; at < sizeof cut; at += piece) {
        piece = piece % 23 + 1 < sizeof cut - at ? piece % 23 + 1 : sizeof cut - at;
        websocket_mask(cut + at, piece, mask, at);
    }
    assert_memory_equal(cut, whole, sizeof whole);
}

static void test_stop(void **state) {
    struct stream stream = {0};
    (void)state;
    put_text(&stream, 0x81, "stop");
    put_text(&stream, 0x81, "more");
    expect(&stream, -ECANCELED, 0, "text:stop");
}

/* ---- what is refused ---- */

struct start {
    unsigned char bytes[2];
    enum websocket_code code;
};

/* The first two bytes are enough to refuse a frame: nobody waits for the rest. */
static void test_bad_starts(void **state) {
    const struct start starts[] = {
        {{0xc1, 0x00}, WEBSOCKET_PROTOCOL_ERROR}, /* reserved bits */
        {{0xa1, 0x00}, WEBSOCKET_PROTOCOL_ERROR},
        {{0x91, 0x00}, WEBSOCKET_PROTOCOL_ERROR},
        {{0x83, 0x00}, WEBSOCKET_PROTOCOL_ERROR}, /* unknown opcodes */
        {{0x84, 0x00}, WEBSOCKET_PROTOCOL_ERROR},
        {{0x85, 0x00}, WEBSOCKET_PROTOCOL_ERROR},
        {{0x86, 0x00}, WEBSOCKET_PROTOCOL_ERROR},
        {{0x87, 0x00}, WEBSOCKET_PROTOCOL_ERROR},
        {{0x8b, 0x00}, WEBSOCKET_PROTOCOL_ERROR},
        {{0x8c, 0x00}, WEBSOCKET_PROTOCOL_ERROR},
        {{0x8d, 0x00}, WEBSOCKET_PROTOCOL_ERROR},
        {{0x8e, 0x00}, WEBSOCKET_PROTOCOL_ERROR},
        {{0x8f, 0x00}, WEBSOCKET_PROTOCOL_ERROR},
        {{0x81, 0x80}, WEBSOCKET_PROTOCOL_ERROR}, /* a server that masks */
        {{0x08, 0x00}, WEBSOCKET_PROTOCOL_ERROR}, /* control frames in fragments */
        {{0x09, 0x00}, WEBSOCKET_PROTOCOL_ERROR},
        {{0x0a, 0x00}, WEBSOCKET_PROTOCOL_ERROR},
        {{0x88, 0x7e}, WEBSOCKET_PROTOCOL_ERROR}, /* … and too long */
        {{0x89, 0x7e}, WEBSOCKET_PROTOCOL_ERROR},
        {{0x8a, 0x7f}, WEBSOCKET_PROTOCOL_ERROR},
        {{0x80, 0x00}, WEBSOCKET_PROTOCOL_ERROR}, /* continuations of nothing */
        {{0x00, 0x00}, WEBSOCKET_PROTOCOL_ERROR},
        {{0x82, 0x00}, WEBSOCKET_UNACCEPTABLE}, /* binary */
        {{0x02, 0x00}, WEBSOCKET_UNACCEPTABLE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        struct stream stream = {0};
        put(&stream, starts[i].bytes, sizeof starts[i].bytes);
        expect_refused(&stream, starts[i].code);
    }
}

static void test_client_without_mask(void **state) {
    const struct result *result = feed(WEBSOCKET_PEER_CLIENT, "\x81\x01", 2);
    (void)state;
    assert_int_equal(result->rc, -EPROTO);
    assert_int_equal(result->code, WEBSOCKET_PROTOCOL_ERROR);
}

static void test_fragments_out_of_order(void **state) {
    struct stream stream = {0};
    (void)state;
    put_text(&stream, 0x01, "one");
    put_text(&stream, 0x81, "two");
    expect_refused(&stream, WEBSOCKET_PROTOCOL_ERROR);
    put_text(&stream, 0x01, "one");
    put_text(&stream, 0x80, "two");
    put_text(&stream, 0x80, "three");
    expect(&stream, -EPROTO, WEBSOCKET_PROTOCOL_ERROR, "text:onetwo");
    put_text(&stream, 0x01, "one");
    put_text(&stream, 0x02, "two");
    expect_refused(&stream, WEBSOCKET_PROTOCOL_ERROR);
}

static void test_lengths_in_a_longer_form(void **state) {
    struct stream stream = {0};
    (void)state;
    put(&stream, "\x81\x7e\x00\x7d", 4);
    expect_refused(&stream, WEBSOCKET_PROTOCOL_ERROR);
    put(&stream, "\x81\x7f\0\0\0\0\0\0\xff\xff", 10);
    expect_refused(&stream, WEBSOCKET_PROTOCOL_ERROR);
    put(&stream, "\x81\x7f\x80\0\0\0\0\0\0\0", 10);
    expect_refused(&stream, WEBSOCKET_PROTOCOL_ERROR);
}

static void test_too_big(void **state) {
    struct stream stream = {0};
    unsigned char header[WEBSOCKET_HEADER_MAX];
    char *text = calloc(1, LIMIT);
    (void)state;
    assert_non_null(text);
    put(&stream, header, websocket_header(header, WEBSOCKET_TEXT, LIMIT + 1, NULL));
    expect_refused(&stream, WEBSOCKET_TOO_BIG);
    put(&stream, "\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", 10);
    expect_refused(&stream, WEBSOCKET_TOO_BIG);
    memset(text, 'x', LIMIT);
    put_frame(&stream, 0x01, text, LIMIT); /* the limit is that of the message, not of the frame */
    put_text(&stream, 0x00, "x");
    expect_refused(&stream, WEBSOCKET_TOO_BIG);
    free(text);
}

/* What a header promises is not bought: memory grows with what comes. */
static void test_promise_costs_nothing(void **state) {
    struct websocket_reader reader;
    char frame[] = "\x81\x7f\0\0\0\0\x01\0\0\0some";
    (void)state;
    websocket_reader_init(&reader, WEBSOCKET_PEER_SERVER, 32 * 1024 * 1024);
    assert_int_equal(websocket_feed(&reader, frame, sizeof frame - 1, hear, NULL), 0);
    assert_true(reader.capacity <= 1024);
    websocket_reader_finish(&reader);
}

/* A connection that said something long once does not keep that memory. */
static void test_idle_memory(void **state) {
    struct websocket_reader reader;
    static struct heard heard;
    struct stream stream = {0};
    char *text = malloc(60000);
    (void)state;
    assert_non_null(text);
    memset(text, 'x', 60000);
    put_frame(&stream, 0x81, text, 60000);
    websocket_reader_init(&reader, WEBSOCKET_PEER_SERVER, LIMIT);
    assert_int_equal(websocket_feed(&reader, stream.bytes, stream.length, hear, &heard), 0);
    assert_true(reader.capacity <= 4096);
    websocket_reader_finish(&reader);
    free(stream.bytes);
    free(text);
}

static void test_text_that_is_none(void **state) {
    const char *texts[] = {"\xff",
                           "\xc0\xaf",
                           "\xe0\x80\xaf",
                           "\xed\xa0\x80",
                           "\xf4\x90\x80\x80",
                           "\x80",
                           "a\xe2\x82",
                           "\xe2\x82\x41",
                           ("12345678\xe2\x82\xac"
                            "1234567\xf8")};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct stream stream = {0};
        put_text(&stream, 0x81, texts[i]);
        expect_refused(&stream, WEBSOCKET_NOT_UTF8);
        put_text(&stream, 0x01, texts[i]);
        put_text(&stream, 0x80, "");
        expect_refused(&stream, WEBSOCKET_NOT_UTF8);
    }
}

/* It is found as soon as it comes, not at the end of a message that may be long. */
static void test_bad_text_is_found_at_once(void **state) {
    struct stream stream = {0};
    (void)state;
    put(&stream, "\x01\x7e\x10\x00\xc3\x28", 6);
    expect_refused(&stream, WEBSOCKET_NOT_UTF8);
    put_text(&stream, 0x01, "\xe2");
    put_text(&stream, 0x89, "x");
    put_text(&stream, 0x00, "\x82");
    put_text(&stream, 0x00, "\x82\x82");
    expect(&stream, -EPROTO, WEBSOCKET_NOT_UTF8, "ping:x");
}

/* ---- closing ---- */

static void test_close(void **state) {
    struct stream stream = {0};
    (void)state;
    put_text(&stream, 0x81, "x");
    put_text(&stream, 0x88,
             "\x03\xe8"
             "bye \xe2\x82\xac");
    put(&stream, "\xff\xff\xff\xff", 4); /* nothing counts after it */
    expect(&stream, 0, WEBSOCKET_NORMAL, "text:x close:1000:bye \xe2\x82\xac");
    put_text(&stream, 0x88, "");
    expect(&stream, 0, WEBSOCKET_NO_CODE, "close:1005:");
}

static void test_close_in_fragments_of_a_message(void **state) {
    struct stream stream = {0};
    (void)state;
    put_text(&stream, 0x01, "x");
    put_text(&stream, 0x88, "\x0f\xa0");
    expect(&stream, 0, (enum websocket_code)4000, "close:4000:");
}

static void test_close_codes(void **state) {
    const unsigned bad[] = {0,    1,    999,  1004, 1005, 1006,  1015,
                            1016, 1100, 2000, 2999, 5000, 32768, 65535};
    const unsigned good[] = {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010,
                             1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999};
    struct stream stream = {0};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char payload[2] = {(char)(bad[i] >> 8), (char)bad[i]};
        put_frame(&stream, 0x88, payload, 2);
        expect_refused(&stream, WEBSOCKET_PROTOCOL_ERROR);
        assert_false(websocket_code_is_valid(bad[i]));
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char payload[2] = {(char)(good[i] >> 8), (char)good[i]}, expected[16];
        snprintf(expected, sizeof expected, "close:%u:", good[i]);
        put_frame(&stream, 0x88, payload, 2);
        expect(&stream, 0, (enum websocket_code)good[i], expected);
    }
}

static void test_close_payloads(void **state) {
    struct stream stream = {0};
    (void)state;
    put_text(&stream, 0x88, "\x03");
    expect_refused(&stream, WEBSOCKET_PROTOCOL_ERROR);
    put_text(&stream, 0x88, "\x03\xe8\xc3");
    expect_refused(&stream, WEBSOCKET_NOT_UTF8);
}

/* ---- writing ---- */

static void test_headers(void **state) {
    const unsigned char mask[] = {9, 8, 7, 6};
    unsigned char out[WEBSOCKET_HEADER_MAX];
    (void)state;
    assert_int_equal(websocket_header(out, WEBSOCKET_PING, 0, NULL), 2);
    assert_memory_equal(out, "\x89\x00", 2);
    assert_int_equal(websocket_header(out, WEBSOCKET_TEXT, 125, mask), 6);
    assert_memory_equal(out, "\x81\xfd\x09\x08\x07\x06", 6);
    assert_int_equal(websocket_header(out, WEBSOCKET_TEXT, 126, NULL), 4);
    assert_memory_equal(out, "\x81\x7e\x00\x7e", 4);
    assert_int_equal(websocket_header(out, WEBSOCKET_TEXT, 65535, mask), 8);
    assert_memory_equal(out, "\x81\xfe\xff\xff\x09\x08\x07\x06", 8);
    assert_int_equal(websocket_header(out, WEBSOCKET_TEXT, 65536, mask), 14);
    assert_memory_equal(out, "\x81\xff\0\0\0\0\0\x01\0\0\x09\x08\x07\x06", 14);
}

static void test_close_payload(void **state) {
    char out[WEBSOCKET_CONTROL_MAX], reason[200];
    (void)state;
    assert_int_equal(websocket_close_payload(out, 1000, NULL), 2);
    assert_memory_equal(out, "\x03\xe8", 2);
    assert_int_equal(websocket_close_payload(out, 4001, "bye"), 5);
    assert_memory_equal(out,
                        "\x0f\xa1"
                        "bye",
                        5);
    assert_int_equal(websocket_close_payload(out, WEBSOCKET_NO_CODE, "bye"), 0);
    memset(reason, 'x', sizeof reason);
    memcpy(reason + 122, "\xe2\x82\xac", 4); /* ends at 125: the character does not fit */
    assert_int_equal(websocket_close_payload(out, 1000, reason), 124);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_messages),
        UNIT_TEST(test_nul),
        UNIT_TEST(test_fragments),
        UNIT_TEST(test_character_in_fragments),
        UNIT_TEST(test_lengths),
        UNIT_TEST(test_mask),
        UNIT_TEST(test_mask_at_any_place),
        UNIT_TEST(test_stop),
        UNIT_TEST(test_bad_starts),
        UNIT_TEST(test_client_without_mask),
        UNIT_TEST(test_fragments_out_of_order),
        UNIT_TEST(test_lengths_in_a_longer_form),
        UNIT_TEST(test_too_big),
        UNIT_TEST(test_promise_costs_nothing),
        UNIT_TEST(test_idle_memory),
        UNIT_TEST(test_text_that_is_none),
        UNIT_TEST(test_bad_text_is_found_at_once),
        UNIT_TEST(test_close),
        UNIT_TEST(test_close_in_fragments_of_a_message),
        UNIT_TEST(test_close_codes),
        UNIT_TEST(test_close_payloads),
        UNIT_TEST(test_headers),
        UNIT_TEST(test_close_payload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
