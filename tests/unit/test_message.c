/* The messages of the control protocol, read and written. */
#include "protocol/message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lifecycle/lifecycle.h"
#include "unit.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static json_t *parse(const char *line) {
    struct error err = {0};
    json_t *message = message_parse(line, strlen(line), &err);
    if (!message)
        fail_msg("%s: %s", line, err.message);
    return message;
}

/* A reason is sent on in JSON, which takes nothing but UTF-8: a reason that is none gets lost. */
static void expect_sendable(const char *reason) {
    json_t *text = json_string(reason);
    if (!text)
        fail_msg("this reason cannot be sent: %s", reason);
    json_decref(text);
}

/* ---- reading ---- */

static void refused(const char *line, size_t length) {
    struct error err = {0};
    json_t *message = message_parse(line, length, &err);
    if (message)
        fail_msg("this is no message, but was taken for one: %.60s", line);
    assert_int_equal(err.code, -EINVAL);
    assert_int_not_equal(err.message[0], 0);
    expect_sendable(err.message);
    assert_null(message_parse(line, length, NULL));
}

static void test_what_is_no_message_is_told(void **state) {
    static const char *const lines[] = {
        "",
        " ",
        "hello",
        "{",
        "{\"type\"}",
        "{\"type\":\"hello\"",
        "{\"type\":\"hello\"} x",
        "{} {}",
        "{\"a\":1,\"a\":2}",
        "{'a':1}",
        "{\"a\":01}",
        "{\"a\":9223372036854775808}",
        "{\"a\":\"\xc3\"}",
        "{\"a\":\"\xed\xa0\x80\"}",
        "{\"a\":\"\\u0000\"}",
        "{\"a\":\"\t\"}",
        "{\"a\\\xe2\x82\xac\":1}", /* a character for an escape */
        "[]",
        "[{\"type\":\"hello\"}]",
        "null",
        "5",
        "\"hello\"",
        "\xff\xfe{}",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++)
        refused(lines[i], strlen(lines[i]));
    refused("{}\0", 3);
    refused("{\"a\0\":1}", 8);
}

/* The reason quotes what it stumbled over, and must not cut it inside a character. */
static void test_reasons_are_whole_text(void **state) {
    char line[600];
    (void)state;
    for (size_t before = 0; before < 160; before++) {
        memset(line, 'x', before);
        line[before] = 0;
        for (size_t i = 0; i < 40; i++)
            memcpy(line + before + 3 * i, "\xe2\x82\xac", 4);
        refused(line, strlen(line));
    }
}

/* Whoever nests without end gets an error and does not exhaust the stack. */
static void test_deep_nesting_is_refused(void **state) {
    static char line[65536];
    (void)state;
    memset(line, '[', sizeof line);
    refused(line, sizeof line);
    for (size_t i = 0; i + 5 <= sizeof line; i += 5)
        memcpy(line + i, "{\"a\":", 5);
    refused(line, sizeof line / 5 * 5);
}

static void test_texts_and_numbers(void **state) {
    json_t *message = parse("{\"text\":\"h\\u00e9\",\"empty\":\"\",\"int\":-7,\"real\":7.0,"
                            "\"most\":9223372036854775807,\"null\":null,\"list\":[1],\"new\":{}}");
    (void)state;
    assert_string_equal(message_text(message, "text"), "h\xc3\xa9");
    assert_string_equal(message_text(message, "empty"), "");
    assert_string_equal(message_text(message, "int"), "");
    assert_string_equal(message_text(message, "null"), "");
    assert_string_equal(message_text(message, "missing"), "");
    assert_string_equal(message_text(NULL, "text"), "");
    assert_int_equal(message_number(message, "int", 1), -7);
    assert_true(message_number(message, "most", 1) == INT64_MAX);
    assert_int_equal(message_number(message, "real", 1), 1);
    assert_int_equal(message_number(message, "text", 1), 1);
    assert_int_equal(message_number(message, "list", 1), 1);
    assert_int_equal(message_number(message, "missing", -3), -3);
    assert_int_equal(message_number(NULL, "int", -3), -3);
    json_decref(message);
}

/* ---- writing ---- */

static void test_a_message_is_one_line(void **state) {
    static const char *const lines[] = {
        "{}",
        "{\"type\":\"log\",\"line\":\"a\\nb\\r\\n\\u2028\\t\\u001b[m\"}",
        "{\"a\":[1,2.5,true,null,{\"b\":\"\xf0\x9f\x98\x80\"}],\"c\":9007199254740993}",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++) {
        json_t *message = parse(lines[i]), *again;
        size_t length = 0;
        char *line = message_line(json_incref(message), &length);
        assert_non_null(line);
        assert_int_equal(length, strlen(line));
        assert_int_equal(message->refcount, 1); /* the other reference was taken */
        assert_ptr_equal(strchr(line, '\n'), line + length - 1);
        assert_null(strchr(line, '\r'));
        again = message_parse(line, length - 1, NULL);
        assert_true(json_equal(message, again));
        json_decref(again);
        json_decref(message);
        free(line);
    }
}

static void test_nothing_makes_no_line(void **state) {
    size_t length = 0;
    (void)state;
    assert_null(message_line(NULL, &length));
}

/* JSON numbers lose precision at 2^53; a start does not. */
static void test_a_process_keeps_its_start(void **state) {
    json_t *json = process_json(INT32_MAX, UINT64_MAX);
    (void)state;
    assert_true(message_number(json, "pid", 0) == INT32_MAX);
    assert_string_equal(message_text(json, "start"), "18446744073709551615");
    json_decref(json);
}

/* ---- hello ---- */

static const char *text_of(const char *text) {
    return text ? text : "";
}

static void check_round_trip(const struct hello *hello) {
    struct error err = {0};
    struct hello read;
    size_t length;
    char *line = message_line(hello_message(hello), &length);
    json_t *message = message_parse(line, length - 1, &err);
    assert_non_null(message);
    if (!hello_parse(message, &read, &err))
        fail_msg("%s is refused: %s", line, err.message);
    assert_string_equal(message_text(message, "type"), "hello");
    assert_true(read.protocol == hello->protocol);
    assert_true(read.pid == hello->pid);
    assert_true(read.start == hello->start);
    assert_string_equal(read.role, text_of(hello->role));
    assert_string_equal(read.version, text_of(hello->version));
    assert_string_equal(read.godot, text_of(hello->godot));
    assert_string_equal(read.project, text_of(hello->project));
    assert_string_equal(read.resume, text_of(hello->resume));
    json_decref(message);
    free(line);
}

/* E1 */
static void test_hello_comes_back(void **state) {
    const struct hello hellos[] = {
        {1, "editor", 4711, 123456, "1.2.3", "4.5.1", "/home/me/g\xc3\xa4me \"x\"\\\n", "s-7"},
        {1, "cli", 1, 1, NULL, NULL, NULL, NULL},
        {INT32_MAX, "front", INT32_MAX, UINT64_MAX, "", "", "", ""},
        {0, NULL, 5, 0, NULL, NULL, NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(hellos); i++)
        check_round_trip(&hellos[i]);
}

/* E1: a client that does not know its own process leaves it out. */
static void test_hello_without_a_process_comes_back(void **state) {
    const struct hello hello = {1, "cli", 0, 0, "1.2.3", NULL, NULL, NULL};
    (void)state;
    check_round_trip(&hello);
}

static bool takes_hello(const char *line, struct hello *hello, struct error *err) {
    json_t *message = parse(line);
    bool taken = hello_parse(message, hello, err);
    json_decref(message);
    return taken;
}

/* E1: nothing in a hello is needed, and what is not known is no harm. */
static void test_hello_is_optional(void **state) {
    json_t *message =
        parse("{\"type\":\"hello\",\"protocol\":\"1\",\"role\":7,\"new\":{\"a\":[]}}");
    struct hello hello;
    (void)state;
    assert_true(hello_parse(message, &hello, NULL));
    assert_true(hello.protocol == 0 && hello.pid == 0 && hello.start == 0);
    assert_string_equal(hello.role, "");
    assert_string_equal(hello.version, "");
    assert_string_equal(hello.godot, "");
    assert_string_equal(hello.project, "");
    assert_string_equal(hello.resume, "");
    json_decref(message);
}

static void test_limits_of_pid_and_start(void **state) {
    static const struct {
        const char *line;
        bool taken;
        int64_t pid;
        uint64_t start;
    } rows[] = {
        {"{\"pid\":1}", true, 1, 0},
        {"{\"pid\":2147483647}", true, INT32_MAX, 0},
        {"{\"pid\":2147483648}", false, 0, 0},
        {"{\"pid\":4294967297}", false, 0, 0}, /* 1, if it were cut to 32 bits */
        {"{\"pid\":9223372036854775807}", false, 0, 0},
        {"{\"pid\":0}", false, 0, 0},
        {"{\"pid\":-1}", false, 0, 0},
        {"{\"pid\":4711.0}", false, 0, 0},
        {"{\"pid\":\"4711\"}", false, 0, 0},
        {"{\"pid\":null}", false, 0, 0},
        {"{\"pid\":true}", false, 0, 0},
        {"{\"pid\":5,\"start\":\"1\"}", true, 5, 1},
        {"{\"start\":\"1\"}", true, 0, 1},
        {"{\"pid\":5,\"start\":\"18446744073709551615\"}", true, 5, UINT64_MAX},
        {"{\"pid\":5,\"start\":\"18446744073709551616\"}", false, 0, 0},
        {"{\"pid\":5,\"start\":\"99999999999999999999999999\"}", false, 0, 0},
        {"{\"pid\":5,\"start\":\"-1\"}", false, 0, 0},
        {"{\"pid\":5,\"start\":\"+1\"}", false, 0, 0},
        {"{\"pid\":5,\"start\":\" 1\"}", false, 0, 0},
        {"{\"pid\":5,\"start\":\"1 \"}", false, 0, 0},
        {"{\"pid\":5,\"start\":\"1.5\"}", false, 0, 0},
        {"{\"pid\":5,\"start\":\"0x10\"}", false, 0, 0},
        {"{\"pid\":5,\"start\":\"1e5\"}", false, 0, 0},
        {"{\"pid\":5,\"start\":\"\"}", true, 5, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct error err = {0};
        struct hello hello;
        bool taken = takes_hello(rows[i].line, &hello, &err);
        if (taken != rows[i].taken)
            fail_msg("%s is %s", rows[i].line, taken ? "taken" : "refused");
        if (taken) {
            assert_true(hello.pid == rows[i].pid && hello.start == rows[i].start);
        } else {
            assert_int_equal(err.code, -EINVAL);
            assert_non_null(strstr(err.message, "hello: "));
        }
    }
}

/* The reason quotes the value, and must not cut it inside a character. */
static void test_reasons_of_a_hello_are_whole_text(void **state) {
    (void)state;
    for (size_t before = 0; before < 60; before++) {
        struct error err = {0};
        struct hello hello;
        char line[128] = "{\"start\":\"";
        memset(line + strlen(line), 'x', before);
        memcpy(line + strlen(line), "\xf0\x9f\x98\x80\"}", 7);
        assert_false(takes_hello(line, &hello, &err));
        expect_sendable(err.message);
    }
}

/* ---- versions ---- */

static int sign(int number) {
    return (number > 0) - (number < 0);
}

/* Those of one row are equal, and each row is older than the next. */
static void test_versions_are_ordered(void **state) {
    static const struct {
        const char *texts[6];
    } rows[] = {
        {{"0", "", "0.0.0", "dev", "unknown", "..."}},
        {{"0.0.1", "0.0.1-rc1", "0.0.01"}},
        {{"0.1", "0.1.0", "0.1.x", "0.1..7" /* the part between is no number */}},
        {{"0.1.1"}},
        {{"0.2.0"}},
        {{"0.9.9"}},
        {{"0.10.0"}},
        {{"1", "1.0", "1.0.0", "1.0.0.9"}},
        {{"1.0.10"}},
        {{"1.2.3", "1.2.3+build", "1.2.3 "}},
        {{"1.10.0"}},
        {{"2"}},
        {{"10.0.0"}},
        {{"4294967296.0.0"}},
    };
    (void)state;
    for (size_t a = 0; a < COUNT(rows); a++)
        for (size_t b = 0; b < COUNT(rows); b++)
            for (size_t i = 0; i < 6 && rows[a].texts[i]; i++)
                for (size_t k = 0; k < 6 && rows[b].texts[k]; k++) {
                    const char *x = rows[a].texts[i], *y = rows[b].texts[k];
                    if (sign(version_compare(x, y)) != (a > b) - (a < b))
                        fail_msg("\"%s\" against \"%s\": %d", x, y, version_compare(x, y));
                }
}

/* A sign is no part of a number: what carries one must not pass for the newest of all. */
static void test_signs_are_no_versions(void **state) {
    (void)state;
    assert_int_equal(version_compare("-1.0.0", "0.0.0"), 0);
    assert_true(version_compare("1.-1.0", "1.0.1") < 0);
    assert_int_equal(version_compare("+5", "0"), 0);
}

/* ---- words ---- */

static enum message_kind kind_of(const char *line) {
    json_t *message = parse(line);
    enum message_kind kind = message_kind(message);
    json_decref(message);
    return kind;
}

static void test_kinds_of_messages(void **state) {
    (void)state;
    assert_int_equal(kind_of("{\"type\":\"welcome\"}"), MESSAGE_WELCOME);
    assert_int_equal(kind_of("{\"type\":\"state\"}"), MESSAGE_STATE);
    assert_int_equal(kind_of("{\"type\":\"log\"}"), MESSAGE_LOG);
    assert_int_equal(kind_of("{\"type\":\"ping\"}"), MESSAGE_PING);
    assert_int_equal(kind_of("{\"type\":\"error\",\"id\":0}"), MESSAGE_ERROR);
    assert_int_equal(kind_of("{\"type\":\"status\",\"id\":3}"), MESSAGE_REPLY);
    assert_int_equal(kind_of("{\"id\":3,\"ok\":true}"), MESSAGE_REPLY);
    assert_int_equal(kind_of("{\"type\":\"weather\"}"), MESSAGE_OTHER);
    assert_int_equal(kind_of("{\"type\":\"\"}"), MESSAGE_OTHER);
    assert_int_equal(kind_of("{\"type\":7,\"id\":\"3\"}"), MESSAGE_OTHER);
    assert_int_equal(message_kind(NULL), MESSAGE_OTHER);
}

static enum server_state state_of(const char *word) {
    json_t *message = json_pack("{s:s}", "state", word);
    enum server_state told = message_state(message);
    json_decref(message);
    return told;
}

/* The daemon writes what the lifecycle calls its states, and all others read that. */
static void test_states_are_read_as_the_lifecycle_names_them(void **state) {
    static const enum server_state read[LIFECYCLE_SERVER_STATES] = {
        [LIFECYCLE_STARTING] = SERVER_STARTING, [LIFECYCLE_READY] = SERVER_READY,
        [LIFECYCLE_BACKOFF] = SERVER_BACKOFF,   [LIFECYCLE_STOPPING] = SERVER_STOPPING,
        [LIFECYCLE_STOPPED] = SERVER_STOPPED,   [LIFECYCLE_FAILED] = SERVER_FAILED,
    };
    (void)state;
    for (size_t i = 0; i < COUNT(read); i++) {
        enum server_state told = state_of(lifecycle_server_name((enum lifecycle_server)i));
        assert_int_not_equal(told, SERVER_UNKNOWN);
        assert_int_equal(told, read[i]);
        assert_int_equal(server_is_ending(told), told == SERVER_STOPPING || told == SERVER_STOPPED);
    }
    assert_int_equal(state_of("asleep"), SERVER_UNKNOWN);
    assert_int_equal(state_of(""), SERVER_UNKNOWN);
    assert_int_equal(message_state(NULL), SERVER_UNKNOWN);
}

static enum refusal refusal_of(const char *code) {
    json_t *message = json_pack("{s:s*}", "code", code);
    enum refusal refusal = message_refusal(message);
    json_decref(message);
    return refusal;
}

static void test_refusals_come_back(void **state) {
    (void)state;
    for (int i = REFUSED_NOT + 1; i < REFUSED_OTHERWISE; i++)
        assert_int_equal(refusal_of(refusal_code((enum refusal)i)), i);
    assert_int_equal(refusal_of("stopping"), REFUSED_STOPPING);
    assert_int_equal(refusal_of("too-tired"), REFUSED_OTHERWISE);
    assert_int_equal(refusal_of(""), REFUSED_NOT);
    assert_int_equal(refusal_of(NULL), REFUSED_NOT);
    assert_null(refusal_code(REFUSED_NOT));
    assert_null(refusal_code(REFUSED_OTHERWISE));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_what_is_no_message_is_told),
        UNIT_TEST(test_reasons_are_whole_text),
        UNIT_TEST(test_deep_nesting_is_refused),
        UNIT_TEST(test_texts_and_numbers),
        UNIT_TEST(test_a_message_is_one_line),
        UNIT_TEST(test_nothing_makes_no_line),
        UNIT_TEST(test_a_process_keeps_its_start),
        UNIT_TEST(test_hello_comes_back),
        UNIT_TEST(test_hello_without_a_process_comes_back),
        UNIT_TEST(test_hello_is_optional),
        UNIT_TEST(test_limits_of_pid_and_start),
        UNIT_TEST(test_reasons_of_a_hello_are_whole_text),
        UNIT_TEST(test_versions_are_ordered),
        UNIT_TEST(test_signs_are_no_versions),
        UNIT_TEST(test_kinds_of_messages),
        UNIT_TEST(test_states_are_read_as_the_lifecycle_names_them),
        UNIT_TEST(test_refusals_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
