#include "sse.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

static bool is_field(const struct sse *sse, size_t name_length, const char *name) {
    return strlen(name) == name_length && memcmp(sse->line.data, name, name_length) == 0;
}

static void take_id(struct sse *sse, const char *value, size_t length) {
    if (length >= sizeof sse->id || memchr(value, 0, length) || memchr(value, '\n', length))
        return;
    memcpy(sse->id, value, length);
    sse->id[length] = 0;
    sse->id_length = length;
}

static void take_retry(struct sse *sse, const char *value, size_t length) {
    long long number = strtoll(value, NULL, 10);
    if (length > 0 && strspn(value, "0123456789") == length)
        sse->retry_ms = number < SSE_RETRY_MOST_MS ? number : SSE_RETRY_MOST_MS;
}

static void take_data(struct sse *sse, const char *value, size_t length) {
    if (sse->has_data)
        buffer_add(&sse->data, "\n", 1);
    buffer_add(&sse->data, value, length);
    sse->has_data = true;
}

static void take_field(struct sse *sse) {
    const char *line = sse->line.data;
    size_t length = sse->line.length;
    const char *colon = memchr(line, ':', length);
    size_t name_length = colon ? (size_t)(colon - line) : length;
    const char *value = colon ? colon + 1 : line + length;
    size_t value_length = length - (size_t)(value - line);
    if (value_length > 0 && *value == ' ') {
        value++;
        value_length--;
    }
    if (is_field(sse, name_length, "data"))
        take_data(sse, value, value_length);
    else if (is_field(sse, name_length, "id"))
        take_id(sse, value, value_length);
    else if (is_field(sse, name_length, "retry"))
        take_retry(sse, value, value_length);
    else if (is_field(sse, name_length, "event"))
        sse->other = value_length > 0 && (value_length != 7 || memcmp(value, "message", 7) != 0);
}

static int dispatch(struct sse *sse, sse_fn fn, void *context) {
    bool more = true;
    if (sse->data.length > 0 && !sse->other)
        more = fn(sse->data.data, sse->data.length, context);
    buffer_clear(&sse->data, BUFFER_KEPT);
    sse->has_data = sse->other = false;
    return more ? 0 : UV_ECANCELED;
}

static int end_line(struct sse *sse, sse_fn fn, void *context) {
    int rc = 0;
    if (!sse->started && sse->line.length >= 3 && memcmp(sse->line.data, "\xef\xbb\xbf", 3) == 0) {
        sse->line.length -= 3;
        memmove(sse->line.data, sse->line.data + 3, sse->line.length + 1);
    }
    sse->started = true;
    if (sse->line.length == 0)
        rc = dispatch(sse, fn, context);
    else
        take_field(sse);
    buffer_clear(&sse->line, BUFFER_KEPT);
    return sse->data.failed ? UV_ENOMEM : rc;
}

static size_t until_end(const char *bytes, size_t count) {
    const char *newline = memchr(bytes, '\n', count);
    size_t length = newline ? (size_t)(newline - bytes) : count;
    const char *cr = memchr(bytes, '\r', length);
    return cr ? (size_t)(cr - bytes) : length;
}

int sse_feed(struct sse *sse, const char *bytes, size_t count, size_t limit, sse_fn fn,
             void *context) {
    size_t at = 0;
    while (at < count) {
        size_t length;
        int rc;
        if (sse->after_cr && bytes[at] == '\n')
            at++;
        sse->after_cr = false;
        length = until_end(bytes + at, count - at);
        if (length > limit - sse->line.length ||
            sse->line.length + length > limit - sse->data.length)
            return UV_EMSGSIZE;
        buffer_add(&sse->line, bytes + at, length);
        at += length;
        if (sse->line.failed)
            return UV_ENOMEM;
        if (at == count)
            break;
        sse->after_cr = bytes[at++] == '\r';
        rc = end_line(sse, fn, context);
        if (rc < 0)
            return rc;
    }
    return 0;
}

void sse_finish(struct sse *sse) {
    buffer_finish(&sse->line);
    buffer_finish(&sse->data);
}
