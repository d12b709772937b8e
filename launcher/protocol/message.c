#include "message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "memory.h"
#include "os/os.h"

json_t *message_parse(const char *line, size_t length, struct error *err) {
    json_error_t why = {.text = ""};
    bool has_nul = memchr(line, 0, length);
    json_t *message;
    errno = 0;
    message = has_nul ? NULL : json_loadb(line, length, JSON_REJECT_DUPLICATES, &why);
    if (json_is_object(message))
        return message;
    if (has_nul)
        error_set(err, UV_EINVAL, "this line is no JSON: it has a NUL byte in it");
    else if (message)
        error_set(err, UV_EINVAL, "a message must be a JSON object, like {\"type\":\"hello\",…}");
    else if (errno == ENOMEM)
        error_set(err, UV_ENOMEM, "out of memory");
    else
        error_set(err, UV_EINVAL, "this line is no JSON: %s (at byte %d)", why.text, why.position);
    json_decref(message);
    return NULL;
}

const char *message_text(const json_t *message, const char *key) {
    const char *text = json_string_value(json_object_get(message, key));
    return text ? text : "";
}

int64_t message_number(const json_t *message, const char *key, int64_t fallback) {
    const json_t *value = json_object_get(message, key);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

/* ---- words ---- */

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static const char *const kinds[] = {
    [MESSAGE_WELCOME] = "welcome", [MESSAGE_STATE] = "state", [MESSAGE_LOG] = "log",
    [MESSAGE_PING] = "ping",       [MESSAGE_ERROR] = "error",
};

static const char *const states[] = {
    [SERVER_STARTING] = "starting", [SERVER_READY] = "ready",     [SERVER_BACKOFF] = "backoff",
    [SERVER_STOPPING] = "stopping", [SERVER_STOPPED] = "stopped", [SERVER_FAILED] = "failed",
};

static const char *const refusals[REFUSED_OTHERWISE] = {
    [REFUSED_STOPPING] = "stopping",       [REFUSED_FULL] = "full",
    [REFUSED_IN_USE] = "in-use",           [REFUSED_PROTOCOL] = "protocol",
    [REFUSED_BAD_HELLO] = "bad-hello",     [REFUSED_BAD_LEAVE] = "bad-leave",
    [REFUSED_BAD_MESSAGE] = "bad-message", [REFUSED_BAD_OWNER] = "bad-owner",
    [REFUSED_NOT_YOU] = "not-you",         [REFUSED_NOT_YOURS] = "not-yours",
    [REFUSED_TOO_LONG] = "too-long",
};

/* The place of a word in a table whose first place is empty; 0: it is not there. */
static size_t find_word(const char *word, const char *const *table, size_t count) {
    size_t place = count - 1;
    while (place > 0 && strcmp(word, table[place]) != 0)
        place--;
    return place;
}

enum message_kind message_kind(const json_t *message) {
    if (message_number(message, "id", 0) != 0)
        return MESSAGE_REPLY;
    return (enum message_kind)find_word(message_text(message, "type"), kinds, COUNT(kinds));
}

enum server_state message_state(const json_t *message) {
    return (enum server_state)find_word(message_text(message, "state"), states, COUNT(states));
}

bool server_is_ending(enum server_state state) {
    return state == SERVER_STOPPING || state == SERVER_STOPPED;
}

enum refusal message_refusal(const json_t *message) {
    const char *code = message_text(message, "code");
    enum refusal refusal = (enum refusal)find_word(code, refusals, COUNT(refusals));
    return refusal == REFUSED_NOT && code[0] ? REFUSED_OTHERWISE : refusal;
}

const char *refusal_code(enum refusal refusal) {
    return refusal < REFUSED_OTHERWISE ? refusals[refusal] : NULL;
}

/* ---- writing ---- */

char *message_line(json_t *message, size_t *length) {
    char *text, *line = NULL;
    errno = 0;
    text = message ? json_dumps(message, JSON_COMPACT) : NULL;
    if (text && errno == ENOMEM) { /* jansson goes on behind a key that it had no room for */
        free(text);
        text = NULL;
    }
    if (text) {
        *length = strlen(text) + 1;
        line = memory_resize(text, *length + 1);
        if (!line)
            free(text);
        else
            memcpy(line + *length - 1, "\n", 2);
    }
    json_decref(message);
    return line;
}

json_t *process_json(int64_t pid, uint64_t start) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, start);
    return json_pack("{s:I, s:s}", "pid", (json_int_t)pid, "start", text);
}

json_t *launch_result(const char *result, int code, const char *message, int64_t daemon_pid,
                      int64_t server_pid, uint16_t http_port, uint16_t ws_port,
                      const char *control) {
    return json_pack("{s:s, s:i, s:s, s:I, s:I, s:i, s:i, s:s}", "result", result, "code", code,
                     "message", message, "daemon_pid", (json_int_t)daemon_pid, "server_pid",
                     (json_int_t)server_pid, "http_port", (int)http_port, "ws_port", (int)ws_port,
                     "control", control);
}

json_t *hello_message(const struct hello *hello) {
    json_t *message = json_object();
    char start[24];
    const char *texts[][2] = {{"type", "hello"},           {"role", hello->role},
                              {"version", hello->version}, {"godot", hello->godot},
                              {"project", hello->project}, {"resume", hello->resume}};
    snprintf(start, sizeof start, "%" PRIu64, hello->start);
    if (hello->pid)
        json_object_set_new(message, "pid", json_integer(hello->pid));
    if (hello->start)
        json_object_set_new(message, "start", json_string(start));
    json_object_set_new(message, "protocol", json_integer(hello->protocol));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i][1] && texts[i][1][0])
            json_object_set_new(message, texts[i][0], json_string(texts[i][1]));
    return message;
}

bool hello_parse(const json_t *message, struct hello *hello, struct error *err) {
    const json_t *pid = json_object_get(message, "pid");
    const char *start = message_text(message, "start");
    *hello = (struct hello){
        .protocol = message_number(message, "protocol", 0),
        .role = message_text(message, "role"),
        .pid = message_number(message, "pid", 0),
        .version = message_text(message, "version"),
        .godot = message_text(message, "godot"),
        .project = message_text(message, "project"),
        .resume = message_text(message, "resume"),
    };
    if (pid && (!json_is_integer(pid) || hello->pid <= 0 || hello->pid > INT32_MAX)) {
        error_set(err, UV_EINVAL, "hello: \"pid\" must be the number of a process");
        return false;
    }
    if ((start[0] || json_is_number(json_object_get(message, "start"))) &&
        strcmp(start, "0") != 0 && os_start_parse(start, &hello->start) < 0) {
        error_set(err, UV_EINVAL, "hello: \"start\" must be a number in quotes");
        return false;
    }
    return true;
}

/* No sign and no space, which strtoull would take. */
static unsigned long long version_part(const char *text, char **end) {
    *end = (char *)(uintptr_t)text;
    return text[0] >= '0' && text[0] <= '9' ? strtoull(text, end, 10) : 0;
}

int version_compare(const char *a, const char *b) {
    for (int part = 0; part < 3; part++) {
        char *end_a, *end_b;
        unsigned long long x = version_part(a, &end_a), y = version_part(b, &end_b);
        if (x != y)
            return x < y ? -1 : 1;
        a = *end_a == '.' ? end_a + 1 : end_a;
        b = *end_b == '.' ? end_b + 1 : end_b;
    }
    return 0;
}
