#include "last_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <uv.h>

#include "client.h"
#include "daemon/place.h"
#include "daemon/records.h"
#include "protocol/message.h"
#include "readable.h"

/* The value of the key if it is of that type, else null. A new reference. */
static json_t *only(const json_t *from, const char *key, json_type type) {
    json_t *value = json_object_get(from, key);
    return value && json_typeof(value) == type ? json_incref(value) : json_null();
}

static json_t *summary(const json_t *state, const struct os_dir *dir) {
    const json_t *server = json_object_get(state, "server");
    json_t *ended = only(state, "ended", JSON_INTEGER);
    char log[OS_PATH_MAX + 16];
    snprintf(log, sizeof log, "%s%cserver.log", dir->path, os_path_separator);
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:o*}", "cause",
                     json_is_null(ended) ? "killed" : message_text(state, "cause"), "ended", ended,
                     "failure", only(server, "failure", JSON_STRING), "reason",
                     only(server, "reason", JSON_STRING), "last_exit",
                     only(server, "last_exit", JSON_OBJECT), "command",
                     only(server, "command", JSON_ARRAY), "restarts",
                     (json_int_t)message_number(server, "restarts", 0), "log", json_string(log));
}

json_t *last_run(const struct options *options) {
    char instance[OPTIONS_INSTANCE_MAX];
    struct os_dir dir;
    json_t *state = NULL, *last = NULL;
    if (options_dir(options, &dir, false, NULL) < 0)
        return NULL;
    options_instance(options, instance);
    if (!place_is_taken(&dir))
        state = records_read_last(&dir, instance);
    if (state)
        last = summary(state, &dir);
    json_decref(state);
    os_dir_finish(&dir);
    return last;
}

void duration_add(struct buffer *out, int64_t ms) {
    const int64_t hour = 3600, s = ms / 1000;
    if (s < 60)
        buffer_format(out, "%" PRId64 " s", s);
    else if (s < hour)
        buffer_format(out, "%" PRId64 " min", s / 60);
    else if (s < 48 * hour)
        buffer_format(out, "%" PRId64 " h %" PRId64 " min", s / hour, s / 60 % 60);
    else
        buffer_format(out, "%" PRId64 " days", s / (24 * hour));
}

static void add_when(struct buffer *out, const json_t *last) {
    int64_t ended = message_number(last, "ended", -1);
    uv_timeval64_t now; /* as it was recorded: time() is up to a tick behind */
    uv_gettimeofday(&now);
    buffer_add_literal(out, "ended");
    if (ended < 0 || ended > now.tv_sec) /* a clock that was put back */
        return;
    buffer_add_char(out, ' ');
    duration_add(out, (now.tv_sec - ended) * 1000);
    buffer_add_literal(out, " ago");
}

void last_run_text(struct buffer *out, const json_t *last, int spaces) {
    const char *reason = message_text(last, "reason");
    const char *how = message_text(json_object_get(last, "last_exit"), "text");
    if (json_is_null(json_object_get(last, "ended"))) {
        buffer_add_literal(out, "was killed, or the machine went down");
        if (reason[0])
            buffer_add_literal(out, "; before that: ");
    } else {
        add_when(out, last);
        buffer_add_literal(out, ": ");
        if (!reason[0])
            readable_add_lines(out, message_text(last, "cause"), spaces);
        if (!reason[0] && how[0]) {
            buffer_add_literal(out, "; the server ");
            readable_add_lines(out, how, spaces);
        }
    }
    readable_add_lines(out, reason, spaces);
}
