/* JSON-RPC as it comes in, and as it goes out (F7). */
#include "serve/mcp/jsonrpc.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static struct rpc_message parsed(const char *text) {
    struct rpc_message message;
    if (!rpc_parse(&message, text, strlen(text), RPC_VALUES_MOST))
        fail_msg("%s: %s", text, message.complaint);
    return message;
}

static void refused(const char *text, size_t length, int code) {
    struct rpc_message message;
    if (rpc_parse(&message, text, length, RPC_VALUES_MOST))
        fail_msg("taken for a message: %.80s", text);
    if (message.code != code)
        fail_msg("%.80s: %d (%s) instead of %d", text, message.code, message.complaint, code);
    assert_non_null(message.complaint);
    rpc_finish(&message);
}

static void test_kinds_are_told_apart(void **state) {
    static const struct {
        const char *text;
        enum rpc_kind kind;
    } rows[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", RPC_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\",\"params\":{}}", RPC_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}", RPC_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"id\":-1.5,\"method\":\"ping\"}", RPC_REQUEST},
        {" {\"method\":\"x\",\"jsonrpc\":\"2.0\"}\n", RPC_NOTIFICATION},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}", RPC_RESPONSE},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"m\"}}", RPC_RESPONSE},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rpc_message message = parsed(rows[i].text);
        assert_int_equal(message.kind, rows[i].kind);
        assert_true((message.id != NULL) == (message.kind != RPC_NOTIFICATION));
        rpc_finish(&message);
    }
}

static void test_what_is_no_json(void **state) {
    static const char *const texts[] = {
        "",
        " ",
        "{",
        "}",
        "nul",
        "{\"jsonrpc\":\"2.0\",}",
        "{'a':1}",
        "{\"a\":1} {}",
        "{\"a\":\"\xff\"}",
        "{\"a\":\"\xed\xa0\x80\"}",
        "{\"a\":\"\xc0\xaf\"}",
        "\xef\xbb\xbf{}",
        "{\"a\":01}",
        "{\"a\":1e999}",
        "{\"id\":1,\"id\":2}",
        "{\"a\":\"\t\"}",
        "[1,2",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        refused(texts[i], strlen(texts[i]), RPC_PARSE_ERROR);
    refused("{\"a\":\"\0\"}", 9, RPC_PARSE_ERROR);
}

static void test_what_is_no_message(void **state) {
    static const char *const texts[] = {
        "1",
        "null",
        "\"text\"",
        "[]",
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", /* no batches */
        "{}",
        "{\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",
        "{\"jsonrpc\":\"2.0\",\"id\":1}",
        "{\"jsonrpc\":\"2.0\",\"result\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":{\"code\":1}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"no\"}",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        refused(texts[i], strlen(texts[i]), RPC_INVALID_REQUEST);
    refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[1]}", 50,
            RPC_INVALID_PARAMS);
}

/* Whoever sent something wrong can still be told for which request. */
static void test_id_of_a_wrong_request(void **state) {
    static const char text[] = "{\"jsonrpc\":\"2.0\",\"id\":41,\"method\":7}";
    struct rpc_message message;
    (void)state;
    assert_false(rpc_parse(&message, text, sizeof text - 1, RPC_VALUES_MOST));
    assert_int_equal(json_integer_value(message.id), 41);
    rpc_finish(&message);
}

static void test_long_ids_are_refused(void **state) {
    char text[RPC_ID_MOST + 128];
    (void)state;
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":\"%0*d\"}",
             RPC_ID_MOST + 1, 1);
    refused(text, strlen(text), RPC_INVALID_REQUEST);
}

static void test_depth_has_a_limit(void **state) {
    static char text[4 * RPC_DEPTH_MOST + 100];
    struct rpc_message message;
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "{\"jsonrpc\":\"2.0\",\"method\":\"[[[[\",\"params\":{\"a\":");
    (void)state;
    memset(text + used, '[', RPC_DEPTH_MOST - 2);
    memset(text + used + RPC_DEPTH_MOST - 2, ']', RPC_DEPTH_MOST - 2);
    used += 2 * (RPC_DEPTH_MOST - 2);
    memcpy(text + used, "}}", 3);
    message = parsed(text);
    rpc_finish(&message);
    memset(text, '[', sizeof text - 1);
    memset(text + RPC_DEPTH_MOST + 1, ']', RPC_DEPTH_MOST + 1);
    refused(text, 2 * ((size_t)RPC_DEPTH_MOST + 1), RPC_PARSE_ERROR);
}

/* As many as there may be are read, one more is not; commas in text are no values. */
static void test_values_have_a_limit(void **state) {
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"method\":\",,{[\",\"params\":{\"a\":[0";
    char text[256];
    struct rpc_message message;
    (void)state;
    for (size_t more = 0; more < 40; more++) {
        size_t used = (size_t)snprintf(text, sizeof text, "%s", head);
        for (size_t i = 0; i < more; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, i % 2 ? ",1" : ",{}");
        used += (size_t)snprintf(text + used, sizeof text - used, "]}}");
        assert_true(rpc_parse(&message, text, used, 6 + more));
        rpc_finish(&message);
        assert_false(rpc_parse(&message, text, used, 5 + more));
        assert_true(message.is_too_large && message.code == RPC_INVALID_REQUEST);
        rpc_finish(&message);
    }
}

static void written(struct buffer *out, const char *wanted) {
    assert_false(out->failed);
    assert_int_equal(out->length, strlen(wanted));
    assert_memory_equal(out->data, wanted, out->length);
    buffer_finish(out);
}

static void test_ids_come_back_as_they_were(void **state) {
    static const char *const ids[] = {
        "0", "-7", "9007199254740993", "\"a \\\"b\\\" \xe2\x82\xac\"", "\"\"", "2.5"};
    (void)state;
    for (size_t i = 0; i < COUNT(ids); i++) {
        json_t *id = json_loads(ids[i], JSON_DECODE_ANY, NULL);
        struct buffer out = {0};
        rpc_add_value(&out, id);
        written(&out, ids[i]);
        json_decref(id);
    }
}

static void test_messages_are_written(void **state) {
    struct buffer out = {0};
    json_t *id = json_integer(3), *data = json_pack("{s:s}", "uri", "a:b");
    (void)state;
    rpc_add_error(&out, id, -32602, "say \"what\"", data);
    written(&out, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32602,\"message\":\"say "
                  "\\\"what\\\"\",\"data\":{\"uri\":\"a:b\"}}}");
    rpc_add_error(&out, NULL, -32700, "no", NULL);
    written(&out,
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"no\"}}");
    rpc_add_notification(&out, "notifications/x", json_pack("{s:i}", "a", 1));
    written(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{\"a\":1}}");
    rpc_add_notification(&out, "notifications/y", NULL);
    written(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/y\"}");
    json_decref(id);
    json_decref(data);
}

/* A NUL itself, not written as an escape, is nowhere. */
static void test_nul_between_values(void **state) {
    static const char *const texts[] = {"{\"jsonrpc\":\"2.0\",\"id\":1@,\"method\":\"ping\"}",
                                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}@",
                                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi@ng\"}"};
    char text[64];
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        size_t length = strlen(texts[i]);
        memcpy(text, texts[i], length);
        *(char *)memchr(text, '@', length) = 0;
        refused(text, length, RPC_PARSE_ERROR);
    }
}

/* A NUL may be in what is passed on, but in no name. */
static void test_nul_in_a_string(void **state) {
    static const char fine[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":\"x\\u0000y\"}}";
    static const char wrong[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\\u0000\"}";
    struct rpc_message message = parsed(fine);
    struct buffer out = {.data = NULL};
    (void)state;
    assert_null(rpc_text(message.params, "a"));
    rpc_add_json(&out, message.params);
    assert_int_equal(out.length, strlen("{\"a\":\"x\\u0000y\"}"));
    assert_memory_equal(out.data, "{\"a\":\"x\\u0000y\"}", out.length);
    buffer_finish(&out);
    rpc_finish(&message);
    refused(wrong, strlen(wrong), RPC_INVALID_REQUEST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_kinds_are_told_apart), UNIT_TEST(test_what_is_no_json),
        UNIT_TEST(test_what_is_no_message),   UNIT_TEST(test_id_of_a_wrong_request),
        UNIT_TEST(test_long_ids_are_refused), UNIT_TEST(test_depth_has_a_limit),
        UNIT_TEST(test_values_have_a_limit),  UNIT_TEST(test_ids_come_back_as_they_were),
        UNIT_TEST(test_messages_are_written), UNIT_TEST(test_nul_in_a_string),
        UNIT_TEST(test_nul_between_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
