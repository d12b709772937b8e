/* Answers over HTTP, and events in them, out of pieces of any size. */
#include "front/http_response.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front/tool_hints.h"
#include "unit.h"

struct heard {
    struct http_response answer;
    char messages[4096]; /* each with a '|' behind it */
    size_t stop_after, count;
};

static bool on_message(const char *data, size_t length, void *context) {
    struct heard *heard = context;
    size_t used = strlen(heard->messages);
    snprintf(heard->messages + used, sizeof heard->messages - used, "%.*s|", (int)length, data);
    return ++heard->count != heard->stop_after;
}

static void begin(struct heard *heard) {
    memset(heard, 0, sizeof *heard);
    http_response_init(&heard->answer, on_message, heard);
}

static void feed(struct heard *heard, const char *text, size_t count, size_t piece) {
    for (size_t at = 0; at < count; at += piece)
        http_response_feed(&heard->answer, text + at, count - at < piece ? count - at : piece);
}

#define STREAM_HEAD                                                                                \
    "HTTP/1.1 200 OK\r\ncontent-TYPE: Text/Event-Stream; charset=utf-8\r\nMcp-Session-Id: abc\r\n"

/* E5 */
static void test_streams_in_pieces(void **state) {
    static const char body[] = "\xef\xbb\xbf"
                               "data: one\n\n"
                               ": comment\r\n\r\n"
                               "event: message\rid: 7\rdata: two\rdata:lines\r\r"
                               "event: ping\ndata: no\n\n"
                               "id: 8\nretry: 250\ndata\n\n"
                               "data: \xe2\x82\xac\xf0\x9f\x98\x80\nunknown: x\nid: no\0pe\n\n"
                               "data: unfinished\n";
    char text[1024];
    size_t head = strlen(STREAM_HEAD "\r\n"), length = head + sizeof body - 1;
    struct heard *heard = malloc(sizeof *heard);
    (void)state;
    assert_non_null(heard);
    memcpy(text, STREAM_HEAD "\r\n", head);
    memcpy(text + head, body, sizeof body - 1);
    for (size_t piece = 1; piece <= length; piece++) {
        begin(heard);
        feed(heard, text, length, piece);
        assert_false(heard->answer.is_complete);
        http_response_end(&heard->answer);
        assert_true(heard->answer.is_complete && heard->answer.is_stream);
        assert_string_equal(heard->messages, "one|two\nlines|\xe2\x82\xac\xf0\x9f\x98\x80|");
        assert_string_equal(heard->answer.session, "abc");
        assert_string_equal(heard->answer.sse.id, "8");
        assert_int_equal(heard->answer.sse.retry_ms, 250);
        http_response_finish(&heard->answer);
    }
    free(heard);
}

/* However long a server wants to be left alone: its client does not wait for ever. */
static void test_retry_has_limits(void **state) {
    static const struct {
        const char *text;
        int64_t wanted;
    } retries[] = {{"0", 0},           {"1", 1},
                   {"30000", 30000},   {"30001", SSE_RETRY_MOST_MS},
                   {"3600000", 30000}, {"99999999999999999999999999", 30000},
                   {"-1", 0},          {"", 0},
                   {"1x", 0},          {"1000000000000x", 0}};
    struct heard *heard = malloc(sizeof *heard);
    (void)state;
    assert_non_null(heard);
    for (size_t i = 0; i < sizeof retries / sizeof retries[0]; i++) {
        char text[256];
        size_t length = (size_t)snprintf(text, sizeof text,
                                         STREAM_HEAD "\r\nretry: %s\ndata: x\n\n", retries[i].text);
        begin(heard);
        feed(heard, text, length, length);
        assert_int_equal(heard->answer.sse.retry_ms, retries[i].wanted);
        http_response_finish(&heard->answer);
    }
    free(heard);
}

struct row {
    const char *text, *body;
    int status, code; /* code: after the connection has ended */
    bool complete, keeps;
};

static const struct row rows[] = {
    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "{}", 200, 0, true, true},
    {"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", "", 202, 0, true, true},
    {"HTTP/1.1 204 No\r\n\r\n", "", 204, 0, true, true},
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "{}", 200, 0,
     true, true},
    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", "{}", 200, 0, true,
     false},
    {"HTTP/1.0 200 OK\r\n\r\n{}", "{}", 200, 0, true, false},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", "{}",
     200, 0, true, true},
    {"HTTP/1.1 404 No\r\nContent-Type: text/event-stream\r\nContent-Length: 9\r\n\r\ndata: x\n\n",
     "data: x\n\n", 404, 0, true, true},
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}", "{}", 200, -ECONNRESET, false, false},
    {"HTTP/1.1 200 OK\r\nContent-Le", "", 0, -ECONNRESET, false, false},
    {"SSH-2.0-x\r\n", "", 0, -EPROTO, false, false},
    {"HTTP/1.1 0 O\r\nContent-Length: 2\r\n\r\n{}", "", 0, -EPROTO, false, false},
    {"HTTP/1.1 101 Up\r\n\r\n{}", "", 0, -EPROTO, false, false},
    {"HTTP/1.1 103 Hints\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
     "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ndata: x\n\n",
     "data: x\n\n", 200, 0, true, true},
    {"", "", 0, -ECONNRESET, false, false},
};

static void test_bodies_in_pieces(void **state) {
    struct heard *heard = malloc(sizeof *heard);
    (void)state;
    assert_non_null(heard);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t length = strlen(rows[i].text);
        for (size_t piece = 1; piece <= length + 1; piece++) {
            begin(heard);
            feed(heard, rows[i].text, length, piece);
            assert_int_equal(heard->answer.keeps, rows[i].keeps);
            http_response_end(&heard->answer);
            assert_int_equal(heard->answer.is_complete, rows[i].complete);
            assert_int_equal(heard->answer.code, rows[i].code);
            assert_int_equal(heard->answer.status, rows[i].status);
            assert_string_equal(heard->answer.body.data ? heard->answer.body.data : "",
                                rows[i].body);
            http_response_finish(&heard->answer);
        }
    }
    free(heard);
}

static void test_bytes_behind_the_end_spoil_the_connection(void **state) {
    struct heard *heard = malloc(sizeof *heard);
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1";
    (void)state;
    assert_non_null(heard);
    begin(heard);
    assert_int_equal(http_response_feed(&heard->answer, text, sizeof text - 1), 0);
    assert_true(heard->answer.is_complete);
    assert_false(heard->answer.keeps);
    http_response_finish(&heard->answer);
    free(heard);
}

static void test_the_reader_stops_it(void **state) {
    struct heard *heard = malloc(sizeof *heard);
    static const char text[] = STREAM_HEAD "\r\ndata: 1\n\ndata: 2\n\ndata: 3\n\n";
    (void)state;
    assert_non_null(heard);
    begin(heard);
    heard->stop_after = 2;
    assert_int_equal(http_response_feed(&heard->answer, text, sizeof text - 1), -ECANCELED);
    assert_string_equal(heard->messages, "1|2|");
    assert_int_equal(http_response_feed(&heard->answer, "data: 4\n\n", 9), -ECANCELED);
    assert_string_equal(heard->messages, "1|2|");
    http_response_finish(&heard->answer);
    free(heard);
}

static bool count_events(const char *data, size_t length, void *context) {
    (void)data;
    *(size_t *)context += length;
    return true;
}

static void test_limits(void **state) {
    struct sse sse = {0};
    size_t seen = 0;
    (void)state;
    assert_int_equal(sse_feed(&sse, "data: 123456\n\n", 14, 16, count_events, &seen), 0);
    assert_int_equal(seen, 6);
    assert_int_equal(sse_feed(&sse, "data: 1234567890123456", 22, 16, count_events, &seen),
                     -EMSGSIZE);
    sse_finish(&sse);
    sse = (struct sse){0};
    assert_int_equal(sse_feed(&sse, "data: 12345\n", 12, 16, count_events, &seen), 0);
    assert_int_equal(sse_feed(&sse, "data: 1234567\n", 14, 16, count_events, &seen), -EMSGSIZE);
    sse_finish(&sse);
}

static void test_too_many_headers(void **state) {
    struct heard *heard = malloc(sizeof *heard);
    static const char line[] = "X-Long: 0123456789012345678901234567890123456789\r\n";
    int rc = 0;
    (void)state;
    assert_non_null(heard);
    begin(heard);
    http_response_feed(&heard->answer, "HTTP/1.1 200 OK\r\n", 17);
    for (int i = 0; i < 10000 && rc == 0; i++)
        rc = http_response_feed(&heard->answer, line, sizeof line - 1);
    assert_int_equal(rc, -EMSGSIZE);
    http_response_finish(&heard->answer);
    free(heard);
}

/* E6: what may be repeated is what the list said last. */
static void test_hints(void **state) {
    static const char list[] =
        "{\"id\":1,\"result\":{\"tools\":[{\"name\":\"read\",\"annotations\":{\"readOnlyHint\":"
        "true}},"
        "{\"name\":\"set\",\"annotations\":{\"idempotentHint\":true,\"readOnlyHint\":false}},"
        "{\"name\":\"act\",\"annotations\":{\"readOnlyHint\":\"true\"}},{\"name\":\"bare\"},7,"
        "{\"name\":\"head\",\"inputSchema\":{\"properties\":{\"a\":{\"x-mcp-header\":\"Region\"},"
        "\"b\":{\"properties\":{\"c\":{\"x-mcp-header\":\"Deep\"}}},"
        "\"d\":{\"x-mcp-header\":\"bad name\"}}}}]}}";
    static const char call[] = "{\"params\":{\"name\":\"head\",\"arguments\":{\"a\":\"\\u00e9\","
                               "\"b\":{\"c\":42},\"d\":true}}}";
    static const char again[] = "{\"result\":{\"tools\":[{\"name\":\"read\"}]}}";
    struct hints hints = {0};
    struct buffer out = {0};
    struct scan scan;
    (void)state;
    hints_learn(&hints, list, sizeof list - 1);
    assert_true(hints_repeatable(&hints, "read") && hints_repeatable(&hints, "set"));
    assert_false(hints_repeatable(&hints, "act") || hints_repeatable(&hints, "bare") ||
                 hints_repeatable(&hints, "unknown"));
    assert_int_equal(scan_message(&scan, call, sizeof call - 1), 0);
    hints_repeat(&hints, &scan, &out);
    assert_string_equal(out.data, "Mcp-Param-Region: =?base64?w6k=?=\r\nMcp-Param-Deep: 42\r\n");
    buffer_finish(&out);
    hints_learn(&hints, again, sizeof again - 1);
    assert_false(hints_repeatable(&hints, "read"));
    hints_doubt(&hints);
    assert_false(hints_repeatable(&hints, "set"));
    hints_finish(&hints);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_streams_in_pieces),
        UNIT_TEST(test_retry_has_limits),
        UNIT_TEST(test_bodies_in_pieces),
        UNIT_TEST(test_bytes_behind_the_end_spoil_the_connection),
        UNIT_TEST(test_the_reader_stops_it),
        UNIT_TEST(test_limits),
        UNIT_TEST(test_too_many_headers),
        UNIT_TEST(test_hints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
