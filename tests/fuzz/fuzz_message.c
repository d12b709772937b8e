/* Whatever a peer sends: either a reason that can be sent back, or a message that survives being
 * written and read, and a hello whose values make sense. */
#include "fuzz.h"
#include "protocol/message.h"

#include <errno.h>
#include <string.h>

const char *const fuzz_words[] = {
    "{\"type\":\"hello\",\"protocol\":1,",
    "{\"pid\":",
    "{\"start\":\"",
    "{\"\\",
    "\"role\":\"editor\"",
    "{\"code\":\"stopping\"",
    "{\"state\":\"ready\"",
    "4711",
    "2147483647",
    "2147483648",
    "18446744073709551615",
    "18446744073709551616",
    "\xe2\x82\xac",
    "\\u20ac",
    "\\ud83d\\ude00",
    "{",
    "}",
    "}",
    "\"}",
    "[",
    "]",
    "\"",
    "\\",
    ",",
    ":",
    "-",
    "1.5",
    "null",
    NULL,
};

/* A reason is sent on in JSON, which takes nothing but UTF-8. */
static void check_reason(const struct error *err) {
    json_t *text = json_string(err->message);
    FUZZ_CHECK(err->code == -EINVAL);
    FUZZ_CHECK(err->message[0]);
    FUZZ_CHECK(text);
    json_decref(text);
}

/* As one line, the message is the same again. */
static void check_line(json_t *message) {
    size_t length = 0;
    char *line = message_line(json_incref(message), &length), *second;
    json_t *again;
    FUZZ_CHECK(line && length == strlen(line));
    FUZZ_CHECK(strchr(line, '\n') == line + length - 1);
    again = message_parse(line, length - 1, NULL);
    FUZZ_CHECK(again && json_equal(message, again));
    second = message_line(again, &length);
    FUZZ_CHECK(second && strcmp(line, second) == 0);
    free(line);
    free(second);
}

static void check_same_hello(const struct hello *a, const struct hello *b) {
    FUZZ_CHECK(a->protocol == b->protocol && a->pid == b->pid && a->start == b->start);
    FUZZ_CHECK(strcmp(a->role, b->role) == 0);
    FUZZ_CHECK(strcmp(a->version, b->version) == 0);
    FUZZ_CHECK(strcmp(a->godot, b->godot) == 0);
    FUZZ_CHECK(strcmp(a->project, b->project) == 0);
    FUZZ_CHECK(strcmp(a->resume, b->resume) == 0);
}

static void check_hello(const json_t *message) {
    struct error err = {0};
    struct hello hello, again;
    json_t *written;
    if (!hello_parse(message, &hello, &err)) {
        check_reason(&err);
        return;
    }
    FUZZ_CHECK(hello.pid >= 0 && hello.pid <= INT32_MAX);
    written = hello_message(&hello);
    FUZZ_CHECK(strcmp(message_text(written, "type"), "hello") == 0);
    FUZZ_CHECK(hello_parse(written, &again, &err));
    check_same_hello(&hello, &again);
    json_decref(written);
}

static int sign(int number) {
    return (number > 0) - (number < 0);
}

/* An order is an order whatever the texts are. */
static void check_versions(const json_t *message) {
    const char *a = message_text(message, "version"), *b = message_text(message, "godot"),
               *c = message_text(message, "project");
    FUZZ_CHECK(version_compare(a, a) == 0);
    FUZZ_CHECK(sign(version_compare(a, b)) == -sign(version_compare(b, a)));
    if (version_compare(a, b) <= 0 && version_compare(b, c) <= 0)
        FUZZ_CHECK(version_compare(a, c) <= 0);
}

/* Each word is one that there is, or none. */
static void check_words(const json_t *message) {
    const char *code = message_text(message, "code");
    enum refusal refusal = message_refusal(message);
    FUZZ_CHECK(message_kind(message) <= MESSAGE_REPLY);
    FUZZ_CHECK(message_state(message) <= SERVER_FAILED);
    FUZZ_CHECK(refusal <= REFUSED_OTHERWISE && (refusal != REFUSED_NOT) == (code[0] != 0));
    FUZZ_CHECK(!refusal_code(refusal) || strcmp(refusal_code(refusal), code) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    json_t *message = message_parse((const char *)data, size, &err);
    if (!message) {
        check_reason(&err);
        return 0;
    }
    FUZZ_CHECK(json_is_object(message));
    check_line(message);
    check_hello(message);
    check_versions(message);
    check_words(message);
    json_decref(message);
    return 0;
}
