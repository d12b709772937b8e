/* The opening handshake, as the client writes and reads it, and its arithmetic. */
#include "protocol/websocket_handshake.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sha.h"
#include "unit.h"

/* The example of the standard. */
static const char key[] = "dGhlIHNhbXBsZSBub25jZQ==";
static const char accept_text[] = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

static void expect_hash(const char *text, size_t length, const char *hex) {
    unsigned char hash[SHA1_SIZE];
    char found[2 * SHA1_SIZE + 1];
    struct sha sha;
    sha1_init(&sha);
    sha_add(&sha, text, length);
    sha_end(&sha, hash, sizeof hash);
    for (size_t i = 0; i < SHA1_SIZE; i++)
        snprintf(found + 2 * i, 3, "%02x", (unsigned)hash[i]);
    assert_string_equal(found, hex);
}

static void test_sha1(void **state) {
    const char *two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    char *million = malloc(1000000);
    (void)state;
    assert_non_null(million);
    memset(million, 'a', 1000000);
    expect_hash("", 0, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    expect_hash("abc", 3, "a9993e364706816aba3e25717850c26c9cd0d89d");
    expect_hash(two_blocks, strlen(two_blocks), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    expect_hash(million, 1000000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    /* around the place where the length no longer fits into the block */
    expect_hash(million, 55, "c1c8bbdc22796e28c0e15163d20899b65621d65a");
    expect_hash(million, 56, "c2db330f6083854c99d4b5bfb6e8f29f201be699");
    expect_hash(million, 64, "0098ba824b5c16427bd7a1122a5a442a25ec644d");
    free(million);
}

static void test_accept(void **state) {
    char out[WEBSOCKET_ACCEPT_SIZE];
    (void)state;
    websocket_accept(key, out);
    assert_string_equal(out, accept_text);
}

static void test_key(void **state) {
    char out[WEBSOCKET_KEY_SIZE];
    (void)state;
    websocket_key((const unsigned char *)"the sample nonce", out);
    assert_string_equal(out, key);
}

static void test_head_length(void **state) {
    const char *head = "GET / HTTP/1.1\r\nA: b\r\n\r\nrest";
    const char *tricky = "\r\r\n\r\r\n\r\n";
    (void)state;
    for (size_t count = 0; count < 24; count++)
        assert_int_equal(http_head_length(head, count), 0);
    assert_int_equal(http_head_length(head, 24), 24);
    assert_int_equal(http_head_length(head, 28), 24);
    assert_int_equal(http_head_length(tricky, strlen(tricky)), strlen(tricky));
    assert_int_equal(http_head_length("a\n\nb\n\n", 6), 0);
}

static void test_request(void **state) {
    char out[512];
    (void)state;
    size_t length = websocket_request(out, sizeof out, 9500, "/editor", "secret", key);
    assert_int_equal(length, strlen(out));
    assert_string_equal(out, "GET /editor HTTP/1.1\r\n"
                             "Host: 127.0.0.1:9500\r\n"
                             "Upgrade: websocket\r\n"
                             "Connection: Upgrade\r\n"
                             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                             "Sec-WebSocket-Version: 13\r\n"
                             "Authorization: Bearer secret\r\n"
                             "\r\n");
    assert_true(websocket_request(out, sizeof out, 1, "/", "", key) > 0);
    assert_null(strstr(out, "Authorization"));
    assert_true(websocket_request(out, sizeof out, 1, "/", NULL, key) > 0);
    assert_null(strstr(out, "Authorization"));
}

/* Nothing that would end a header and begin another. */
static void test_request_that_cannot_be(void **state) {
    char out[512];
    (void)state;
    assert_int_equal(websocket_request(out, 64, 9500, "/editor", "secret", key), 0);
    assert_int_equal(websocket_request(out, sizeof out, 1, "editor", NULL, key), 0);
    assert_int_equal(websocket_request(out, sizeof out, 1, "/a b", NULL, key), 0);
    assert_int_equal(websocket_request(out, sizeof out, 1, "/", "a\r\nB: c", key), 0);
    assert_int_equal(websocket_request(out, sizeof out, 1, "/", "\xe2\x82\xac", key), 0);
}

static int respond(const char *head, struct error *err) {
    assert_int_equal(http_head_length(head, strlen(head)), strlen(head));
    err->message[0] = 0;
    int rc = websocket_response(head, strlen(head), key, err);
    assert_true(rc == 0 || err->message[0]);
    return rc;
}

#define STATUS  "HTTP/1.1 101 Switching Protocols\r\n"
#define UPGRADE "Upgrade: websocket\r\nConnection: Upgrade\r\n"
#define ACCEPT  "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"

static void test_responses(void **state) {
    const char *good[] = {
        STATUS UPGRADE ACCEPT "\r\n",
        "HTTP/1.1 101\r\n" UPGRADE ACCEPT "\r\n",
        STATUS
        "connection:keep-alive , UPGRADE\t\r\nUPGRADE:WebSocket\r\n"
        "sec-websocket-accept:\t s3pPLMBiTxaQ9kYGzzhZRbK+xOo= \r\nServer: any: thing\r\n\r\n",
    };
    struct error err;
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(respond(good[i], &err), 0);
}

static void test_bad_responses(void **state) {
    const char *bad[] = {
        "HTTP/1.0 101 Switching Protocols\r\n" UPGRADE ACCEPT "\r\n",
        "HTTP/1.1 1010\r\n" UPGRADE ACCEPT "\r\n",
        "HTTP/1.1 10\r\n" UPGRADE ACCEPT "\r\n",
        "hello\r\n\r\n",
        "\r\n\r\n",
        STATUS ACCEPT "Connection: Upgrade\r\n\r\n",
        STATUS ACCEPT "Upgrade: websocket\r\n\r\n",
        STATUS UPGRADE "\r\n",
        STATUS UPGRADE ACCEPT ACCEPT "\r\n",
        STATUS UPGRADE ACCEPT "Upgrade: websocket\r\n\r\n",
        STATUS UPGRADE ACCEPT "Upgrade: h2c\r\n\r\n",
        STATUS UPGRADE "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xoo=\r\n\r\n",
        STATUS UPGRADE "Sec-WebSocket-Accept: \r\n\r\n",
        STATUS UPGRADE ACCEPT "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
        STATUS UPGRADE ACCEPT "Sec-WebSocket-Protocol: chat\r\n\r\n",
        STATUS UPGRADE ACCEPT "no colon\r\n\r\n",
        STATUS UPGRADE ACCEPT " continued: line\r\n\r\n",
        STATUS UPGRADE ACCEPT ": no name\r\n\r\n",
        STATUS UPGRADE ACCEPT "Name : x\r\n\r\n",
        STATUS UPGRADE ACCEPT "A: b\nB: c\r\n\r\n",
        STATUS UPGRADE ACCEPT "A: b\rB: c\r\n\r\n",
        STATUS UPGRADE ACCEPT "A: \x01\r\n\r\n",
    };
    struct error err;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(respond(bad[i], &err), -EPROTO);
}

static void test_refusals(void **state) {
    struct error err;
    (void)state;
    assert_int_equal(respond("HTTP/1.1 401 Unauthorized\r\nA: b\r\n\r\n", &err), -EACCES);
    assert_non_null(strstr(err.message, "401 Unauthorized"));
    assert_int_equal(respond("HTTP/1.1 403 Forbidden\r\n\r\n", &err), -EACCES);
    assert_int_equal(respond("HTTP/1.1 404 \r\n\r\n", &err), -ECONNREFUSED);
    assert_int_equal(respond("HTTP/1.1 200 OK\r\n\r\n", &err), -ECONNREFUSED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_sha1),      UNIT_TEST(test_accept),
        UNIT_TEST(test_key),       UNIT_TEST(test_head_length),
        UNIT_TEST(test_request),   UNIT_TEST(test_request_that_cannot_be),
        UNIT_TEST(test_responses), UNIT_TEST(test_bad_responses),
        UNIT_TEST(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
