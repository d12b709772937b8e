/* Who may open a WebSocket as an editor: each rule of the server's side, broken one at a time. */
#include "serve/relay/upgrade.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/http/http_check.h"
#include "unit.h"

static const char token[] = "c0ffee";

#define GET     "GET /editor HTTP/1.1\r\n"
#define HOST    "Host: 127.0.0.1:9500\r\n"
#define UPGRADE "Upgrade: websocket\r\nConnection: Upgrade\r\n"
#define VERSION "Sec-WebSocket-Version: 13\r\n"
#define KEY     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define BEARER  "Authorization: Bearer c0ffee\r\n"
#define REST    UPGRADE VERSION KEY BEARER "\r\n"

static int check(const char *head, char accept[WEBSOCKET_ACCEPT_SIZE]) {
    const char *why = NULL;
    size_t length = strlen(head);
    char *copy = malloc(length); /* of just this size: reading beyond it shows */
    int status;
    assert_non_null(copy);
    memcpy(copy, head, length);
    status = editor_request_check(copy, length, 9500, token, accept, &why);
    assert_true((status == 101) == (why == NULL));
    assert_true(strlen(http_reason(status)) > 2);
    free(copy);
    return status;
}

static void expect(int status, const char *const *heads, size_t count) {
    char accept[WEBSOCKET_ACCEPT_SIZE];
    for (size_t i = 0; i < count; i++) {
        int found = check(heads[i], accept);
        if (found != status)
            fail_msg("%d for:\n%s", found, heads[i]);
    }
}

#define EXPECT(status, ...)                                                                        \
    do {                                                                                           \
        const char *const heads[] = {__VA_ARGS__};                                                 \
        expect(status, heads, sizeof heads / sizeof *heads);                                       \
    } while (0)

static void test_good(void **state) {
    char accept[WEBSOCKET_ACCEPT_SIZE];
    (void)state;
    assert_int_equal(check(GET HOST REST, accept), 101);
    assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    EXPECT(
        101, GET "Host: localhost:9500\r\n" REST, GET "Host: LOCALHOST\r\n" REST,
        GET "Host: [::1]:9500\r\n" REST, GET "Host: 127.255.0.3\r\n" REST,
        GET HOST
        "Upgrade: h2c, WebSocket\r\nConnection: keep-alive\r\nConnection: upgrade\r\n" VERSION KEY
            BEARER "\r\n",
        GET HOST UPGRADE VERSION KEY "authorization: bearer   c0ffee  \r\n\r\n",
        GET HOST "Content-Length: 0\r\nCookie: a=b\r\n"
                 "Sec-WebSocket-Extensions: permessage-deflate\r\n" REST);
}

static void test_no_http(void **state) {
    (void)state;
    EXPECT(400, "GET /editor HTTP/1.0\r\n" HOST REST, "GET /editor HTTP/2.0\r\n" HOST REST,
           "GET /editor\r\n\r\n", "hello\r\n\r\n", "GET  /editor HTTP/1.1\r\n" HOST REST,
           "GET /editor  HTTP/1.1\r\n" HOST REST, "\r\n" GET HOST REST, "\r\n\r\n",
           GET HOST " folded\r\n" REST, GET HOST "A: b\r\n\tc\r\n" REST, GET HOST "A b: c\r\n" REST,
           GET HOST "A: \x01\r\n" REST,
           GET HOST "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n" REST);
}

static void test_hosts(void **state) {
    (void)state;
    EXPECT(400, GET REST, GET HOST HOST REST);
    EXPECT(403, GET "Host: example.com:9500\r\n" REST, GET "Host: 127.0.0.1.example.com\r\n" REST,
           GET "Host: localhost.example.com\r\n" REST, GET "Host: 127.0.0.256\r\n" REST,
           GET "Host: 127.0.0\r\n" REST, GET "Host: 127.0.0.1:9501\r\n" REST,
           GET "Host: 127.0.0.1:\r\n" REST, GET "Host: 127.0.0.1:9500x\r\n" REST,
           GET "Host: 0.0.0.0:9500\r\n" REST, GET "Host: \r\n" REST,
           GET "Host: 128.0.0.1\r\n" REST);
}

static void test_origins(void **state) {
    (void)state;
    EXPECT(403, GET HOST "Origin: http://localhost:9500\r\n" REST,
           GET HOST "Origin: https://example.com\r\n" REST, GET HOST "origin: null\r\n" REST,
           GET HOST "Origin:\r\n" REST);
}

static void test_targets_and_methods(void **state) {
    (void)state;
    EXPECT(404, "GET / HTTP/1.1\r\n" HOST REST, "GET /editor/ HTTP/1.1\r\n" HOST REST,
           "GET /editor?token=c0ffee HTTP/1.1\r\n" HOST REST, "GET /mcp HTTP/1.1\r\n" HOST REST,
           "GET //editor HTTP/1.1\r\n" HOST REST);
    EXPECT(405, "POST /editor HTTP/1.1\r\n" HOST REST, "HEAD /editor HTTP/1.1\r\n" HOST REST);
    EXPECT(400, GET HOST "Content-Length: 1\r\n" REST,
           GET HOST "Transfer-Encoding: chunked\r\n" REST);
}

static void test_upgrades(void **state) {
    (void)state;
    EXPECT(426, GET HOST "Connection: Upgrade\r\n" VERSION KEY BEARER "\r\n",
           GET HOST "Upgrade: h2c\r\nConnection: Upgrade\r\n" VERSION KEY BEARER "\r\n",
           GET HOST "Upgrade: websockets\r\nConnection: Upgrade\r\n" VERSION KEY BEARER "\r\n",
           GET HOST UPGRADE "Sec-WebSocket-Version: 8\r\n" KEY BEARER "\r\n");
    EXPECT(400, GET HOST "Upgrade: websocket\r\n" VERSION KEY BEARER "\r\n",
           GET HOST "Upgrade: websocket\r\nConnection: close\r\n" VERSION KEY BEARER "\r\n",
           GET HOST UPGRADE KEY BEARER "\r\n", GET HOST UPGRADE VERSION VERSION KEY BEARER "\r\n",
           GET HOST UPGRADE VERSION BEARER "\r\n", GET HOST UPGRADE VERSION KEY KEY BEARER "\r\n",
           GET HOST UPGRADE VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=\r\n" BEARER "\r\n",
           GET HOST UPGRADE VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZR==\r\n" BEARER "\r\n",
           GET HOST UPGRADE VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j!Q==\r\n" BEARER
                                    "\r\n");
}

static void test_tokens(void **state) {
    (void)state;
    EXPECT(401, GET HOST UPGRADE VERSION KEY "\r\n",
           GET HOST UPGRADE VERSION KEY "Authorization: Bearer c0ffef\r\n\r\n",
           GET HOST UPGRADE VERSION KEY "Authorization: Bearer c0ffe\r\n\r\n",
           GET HOST UPGRADE VERSION KEY "Authorization: Bearer c0ffeee\r\n\r\n",
           GET HOST UPGRADE VERSION KEY "Authorization: Bearer C0FFEE\r\n\r\n",
           GET HOST UPGRADE VERSION KEY "Authorization: Bearer \r\n\r\n",
           GET HOST UPGRADE VERSION KEY "Authorization: Basic c0ffee\r\n\r\n",
           GET HOST UPGRADE VERSION KEY "Authorization: c0ffee\r\n\r\n");
    EXPECT(400, GET HOST UPGRADE VERSION KEY BEARER BEARER "\r\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_good),     UNIT_TEST(test_no_http), UNIT_TEST(test_hosts),
        UNIT_TEST(test_origins),  UNIT_TEST(test_tokens),  UNIT_TEST(test_targets_and_methods),
        UNIT_TEST(test_upgrades),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
