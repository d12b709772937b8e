/* What the stdio front picks out of messages, and the head it makes of it. */
#include "json_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "front/request_head.h"
#include "unit.h"

static int scan_text(struct scan *scan, const char *text) {
    return scan_message(scan, text, strlen(text));
}

/* ---- what is JSON ---- */

static void test_valid(void **state) {
    static const char *const texts[] = {
        "{}",
        "[]",
        " [ ] ",
        "0",
        "-0",
        "10",
        "1.5",
        "1e9",
        "-1.25E-07",
        "\"\"",
        "true",
        "false",
        "null",
        "[1,2]",
        "{\"a\":[{\"b\":{}},[],\"\\u00e9\\n\\/\"]}",
        "\t{\r\n\"a\" : 1 , \"b\":2}\n",
        "[0]",
        "[-1,1.0]",
        "{\"a\":1e+1}",
        "\"\\ud83d\"",
        "\"\xc3\xa9\"",
        "[[[[[[[[[]]]]]]]]]",
    };
    struct scan scan;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (scan_text(&scan, texts[i]) != 0)
            fail_msg("is valid: %s", texts[i]);
}

static void test_invalid(void **state) {
    static const char *const texts[] = {
        "",
        " ",
        "{",
        "}",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "1e+",
        "+1",
        "tru",
        "truee",
        "nul",
        "\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\t\"",
        "{}{}",
        "[] 1",
        "{1:2}",
        "[1 2]",
        "{\"a\" 1}",
        "'a'",
        "\x01",
        "[}",
        "{]",
        "1 2",
        "{\"a\":1 \"b\":2}",
        "nan",
        "{\"a\":01}",
    };
    struct scan scan;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (scan_text(&scan, texts[i]) == 0)
            fail_msg("is not valid: %s", texts[i]);
}

static void test_depth(void **state) {
    char text[2 * SCAN_DEPTH_MAX + 4];
    struct scan scan;
    (void)state;
    memset(text, '[', SCAN_DEPTH_MAX);
    memset(text + SCAN_DEPTH_MAX, ']', SCAN_DEPTH_MAX);
    assert_int_equal(scan_message(&scan, text, 2 * (size_t)SCAN_DEPTH_MAX), 0);
    memset(text, '[', SCAN_DEPTH_MAX + 1);
    memset(text + SCAN_DEPTH_MAX + 1, ']', SCAN_DEPTH_MAX + 1);
    assert_int_equal(scan_message(&scan, text, 2 * (size_t)SCAN_DEPTH_MAX + 2), UV_EINVAL);
}

/* ---- what is picked out ---- */

static const char request[] =
    "{ \"method\" : \"tools/call\", \"params\":{\"x\":{\"name\":\"no\",\"id\":8},\"name\":"
    "\"r\\u00e9ad\",\"list\":[{\"name\":\"no\"}],\"arguments\":{\"uri\":\"no\",\"_meta\":{}},"
    "\"_meta\":{\"progressToken\":1,\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}},"
    "\"jsonrpc\":\"2.0\",\"extra\":{\"id\":9,\"result\":{}},\"id\":\"a\\\"b\"}";

static void check_request(const struct scan *scan) {
    char text[64];
    assert_int_equal(scan_kind(scan), SCAN_REQUEST);
    assert_true(scan_is(&scan->spans[SCAN_METHOD], "tools/call"));
    assert_true(scan_decode(&scan->spans[SCAN_NAME], text, sizeof text));
    assert_string_equal(text, "r\xc3\xa9"
                              "ad");
    assert_true(scan_decode(&scan->spans[SCAN_ID], text, sizeof text));
    assert_string_equal(text, "a\"b");
    assert_null(scan->spans[SCAN_URI].at);
    assert_true(head_is_modern(scan));
    assert_null(scan->spans[SCAN_RESULT].at);
}

static void test_what_is_found_in_a_request(void **state) {
    struct scan scan;
    (void)state;
    assert_int_equal(scan_text(&scan, request), 0);
    check_request(&scan);
}

/* E5: a line that ends too early is never taken for a whole one. */
static void test_a_request_that_is_cut_is_no_json(void **state) {
    struct scan scan;
    (void)state;
    for (size_t length = 0; length < sizeof request - 1; length++)
        assert_int_equal(scan_message(&scan, request, length), UV_EINVAL);
}

static void test_kinds(void **state) {
    static const struct {
        const char *text;
        enum scan_kind kind;
    } rows[] = {
        {"{\"method\":\"a\",\"id\":1}", SCAN_REQUEST},
        {"{\"method\":\"a\",\"id\":-1.5e3}", SCAN_REQUEST},
        {"{\"method\":\"a\"}", SCAN_NOTIFICATION},
        {"{\"method\":\"a\",\"id\":null}", SCAN_INVALID},
        {"{\"method\":\"a\",\"id\":[1]}", SCAN_INVALID},
        {"{\"method\":1}", SCAN_INVALID},
        {"{\"id\":1,\"result\":[{}]}", SCAN_RESPONSE},
        {"{\"id\":1,\"result\":null}", SCAN_RESPONSE},
        {"{\"id\":null,\"error\":{}}", SCAN_RESPONSE},
        {"{\"id\":1}", SCAN_INVALID},
        {"{}", SCAN_INVALID},
        {"[{\"method\":\"a\",\"id\":1}]", SCAN_INVALID},
        {"\"method\"", SCAN_INVALID},
    };
    struct scan scan;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(scan_text(&scan, rows[i].text), 0);
        if (scan_kind(&scan) != rows[i].kind)
            fail_msg("%s", rows[i].text);
    }
}

static void expect_span(const struct scan *scan, enum scan_place place, const char *text) {
    assert_non_null(scan->spans[place].at);
    assert_int_equal(scan->spans[place].length, strlen(text));
    assert_memory_equal(scan->spans[place].at, text, strlen(text));
}

static void test_spans(void **state) {
    struct scan scan;
    (void)state;
    assert_int_equal(
        scan_text(&scan, " {\"id\":null, \"error\" : {\"code\":[1,{}]} , \"result\":12} "), 0);
    expect_span(&scan, SCAN_ERROR, "{\"code\":[1,{}]}");
    expect_span(&scan, SCAN_RESULT, "12");
    expect_span(&scan, SCAN_ID, "null");
    assert_int_equal(scan_text(&scan, request), 0);
    expect_span(&scan, SCAN_ARGUMENTS, "{\"uri\":\"no\",\"_meta\":{}}");
    expect_span(&scan, SCAN_VERSION, "\"2026-07-28\"");
    expect_span(&scan, SCAN_MESSAGE, request);
}

static void test_the_last_of_two_keys_counts(void **state) {
    struct scan scan;
    (void)state;
    assert_int_equal(scan_text(&scan, "{\"id\":1,\"id\":\"two\",\"method\":\"m\"}"), 0);
    assert_true(scan_is(&scan.spans[SCAN_ID], "two"));
    assert_int_equal(scan_text(&scan, "{\"params\":{\"name\":\"a\",\"_meta\":{"
                                      "\"io.modelcontextprotocol/protocolVersion\":\"x\"}},"
                                      "\"params\":{\"arguments\":[{\"name\":\"b\"}]}}"),
                     0);
    assert_null(scan.spans[SCAN_NAME].at);
    assert_null(scan.spans[SCAN_META].at);
    assert_null(scan.spans[SCAN_VERSION].at);
    expect_span(&scan, SCAN_ARGUMENTS, "[{\"name\":\"b\"}]");
}

static void test_a_text_without_room_is_not_decoded(void **state) {
    struct scan scan;
    char out[4];
    (void)state;
    assert_int_equal(scan_text(&scan, "{\"method\":\"abcd\"}"), 0);
    assert_false(scan_decode(&scan.spans[SCAN_METHOD], out, sizeof out));
    assert_int_equal(scan_text(&scan, "{\"method\":\"abc\"}"), 0);
    assert_true(scan_decode(&scan.spans[SCAN_METHOD], out, sizeof out));
}

static void test_ids_may_be_written_in_two_ways(void **state) {
    static const struct {
        const char *id, *other;
        bool same;
    } rows[] = {
        {"1", "1", true},
        {"1", "1.0", true},
        {"100", "1.0e2", true},
        {"1", "2", false},
        {"1", "\"1\"", false},
        {"\"a\"", "\"a\"", true},
        {"\"\\u00e9\"", "\"\xc3\xa9\"", true},
        {"\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\"", true},
        {"\"\\/\"", "\"/\"", true},
        {"\"a\"", "\"ab\"", false},
        {"\"ab\"", "\"a\"", false},
        {"\"\"", "\"\"", true},
        {"12345678901234567890123", "12345678901234567890123", true},
    };
    struct scan scan;
    char text[128];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(text, sizeof text, "{\"id\":%s}", rows[i].id);
        assert_int_equal(scan_text(&scan, text), 0);
        if (scan_same_id(&scan.spans[SCAN_ID],
                         &(struct scan_span){rows[i].other, strlen(rows[i].other)}) != rows[i].same)
            fail_msg("%s and %s", rows[i].id, rows[i].other);
    }
}

static void test_decoding(void **state) {
    static const char *const rows[][2] = {
        {"\"\\b\\f\\n\\r\\t\\\"\\\\\\/\"", "\b\f\n\r\t\"\\/"},
        {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
        {"\"\\ud83dx\"", "\xef\xbf\xbdx"},
        {"\"\\ude00\\ud83d\"", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\"a\\u0000b\"", "a\xef\xbf\xbd"
                          "b"},
        {"\"\"", ""},
    };
    struct scan scan;
    char text[128], out[64];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(text, sizeof text, "{\"method\":%s}", rows[i][0]);
        assert_int_equal(scan_text(&scan, text), 0);
        assert_true(scan_decode(&scan.spans[SCAN_METHOD], out, sizeof out));
        assert_string_equal(out, rows[i][1]);
    }
    assert_false(scan_decode(&scan.spans[SCAN_METHOD], out, 0));
}

/* ---- heads ---- */

static void expect_head(const char *message, struct head head, const char *expected) {
    struct buffer out = {0};
    struct scan scan;
    if (message) {
        assert_int_equal(scan_text(&scan, message), 0);
        head.scan = &scan;
        head.body = strlen(message);
    }
    head.port = 8000;
    head_write(&out, &head);
    assert_false(out.failed);
    assert_string_equal(out.data, expected);
    buffer_finish(&out);
}

static void test_heads(void **state) {
    struct buffer more = {0};
    (void)state;
    buffer_add_text(&more, "Mcp-Param-X: 1\r\n");
    expect_head("{\"id\":1,\"method\":\"ping\"}",
                (struct head){.method = "POST", .session = "s1", .version = "2025-11-25"},
                "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nMCP-Protocol-Version: 2025-11-25\r\n"
                "Mcp-Session-Id: s1\r\nContent-Type: application/json\r\nContent-Length: 24\r\n"
                "Accept: application/json, text/event-stream\r\n\r\n");
    expect_head("{\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"_meta\":{\"io."
                "modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}",
                (struct head){.method = "POST",
                              .session = "s1",
                              .version = "2025-11-25",
                              .token = "secret",
                              .more = &more},
                "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nMCP-Protocol-Version: 2026-07-28\r\n"
                "Mcp-Method: tools/call\r\nMcp-Name: t\r\nAuthorization: Bearer secret\r\n"
                "Mcp-Param-X: 1\r\nContent-Type: application/json\r\nContent-Length: 110\r\n"
                "Accept: application/json, text/event-stream\r\n\r\n");
    expect_head(NULL,
                (struct head){
                    .method = "GET", .session = "s1", .version = "2025-11-25", .last_event = "e7"},
                "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nMCP-Protocol-Version: 2025-11-25\r\n"
                "Mcp-Session-Id: s1\r\nLast-Event-ID: e7\r\nAccept: text/event-stream\r\n\r\n");
    buffer_finish(&more);
}

static void test_values(void **state) {
    static const char *const rows[][2] = {
        {"plain text", "plain text"},
        {"", ""},
        {" a", "=?base64?IGE=?="},
        {"a ", "=?base64?YSA=?="},
        {"\xc3\xa9", "=?base64?w6k=?="},
        {"a\r\nX: 1", "=?base64?YQ0KWDogMQ==?="},
        {"=?base64?aGk=?=", "=?base64?PT9iYXNlNjQ/YUdrPT89?="},
        {"\x7f", "=?base64?fw==?="},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buffer out = {0};
        head_add_value(&out, rows[i][0]);
        assert_string_equal(out.data ? out.data : "", rows[i][1]);
        buffer_finish(&out);
    }
}

static void test_text_in_json(void **state) {
    struct buffer out = {0};
    (void)state;
    buffer_add_json(&out, "a\"\\\n\x01\xc3\xa9\xff");
    assert_string_equal(out.data, "\"a\\\"\\\\\\u000a\\u0001\xc3\xa9?\"");
    buffer_finish(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_valid),
        UNIT_TEST(test_invalid),
        UNIT_TEST(test_depth),
        UNIT_TEST(test_what_is_found_in_a_request),
        UNIT_TEST(test_a_request_that_is_cut_is_no_json),
        UNIT_TEST(test_kinds),
        UNIT_TEST(test_spans),
        UNIT_TEST(test_the_last_of_two_keys_counts),
        UNIT_TEST(test_a_text_without_room_is_not_decoded),
        UNIT_TEST(test_ids_may_be_written_in_two_ways),
        UNIT_TEST(test_decoding),
        UNIT_TEST(test_heads),
        UNIT_TEST(test_values),
        UNIT_TEST(test_text_in_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
