#include "status_text.h"

#include <inttypes.h>
#include <string.h>

#include "daemon/command_words.h"
#include "protocol/message.h"
#include "readable.h"

enum {
    HEAD = 10,          /* what stands before the text of a line */
    COMMAND_MOST = 200, /* characters, where there are no columns */
};

void status_text_duration(struct buffer *out, int64_t ms) {
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

/* What others have said, on one line. */
static void add_word(struct buffer *out, const json_t *from, const char *key) {
    const char *text = message_text(from, key);
    readable_add(out, text, strlen(text));
}

static void add_server(struct buffer *out, const json_t *state, size_t columns) {
    const json_t *server = json_object_get(state, "server");
    int64_t pid = message_number(server, "pid", 0), ws = message_number(server, "ws_port", 0);
    int64_t restarts = message_number(server, "restarts", 0);
    const json_t *command = json_object_get(server, "command");
    const char *reason = message_text(server, "reason");
    buffer_add_literal(out, "server    ");
    add_word(out, server, "state");
    if (pid)
        buffer_format(out, ", process %" PRId64, pid);
    buffer_format(out, ", %" PRId64 " restart%s, tether is up ", restarts,
                  restarts == 1 ? "" : "s");
    status_text_duration(out, message_number(state, "uptime_ms", 0));
    buffer_format(out, "\nports     %" PRId64, message_number(server, "http_port", 0));
    if (ws)
        buffer_format(out, " and %" PRId64, ws);
    buffer_add_literal(out, "\nwhy       ");
    add_word(out, state, "why");
    buffer_add_char(out, '\n');
    if (json_is_array(command)) {
        buffer_add_literal(out, "command   ");
        command_words_quote(out, command, columns > HEAD ? columns - HEAD : COMMAND_MOST);
        buffer_add_char(out, '\n');
    }
    if (reason[0]) {
        buffer_add_literal(out, "reason    ");
        readable_add_lines(out, reason, HEAD);
        buffer_add_char(out, '\n');
    }
}

static void add_people(struct buffer *out, const json_t *state) {
    const json_t *owner = json_object_get(state, "owner"), *session;
    const json_t *sessions = json_object_get(state, "sessions");
    int64_t unlisted = message_number(state, "sessions_total", 0);
    size_t i;
    if (json_is_object(owner)) {
        const json_t *alive = json_object_get(owner, "alive");
        buffer_format(out, "owner     process %" PRId64 ", %s\n", message_number(owner, "pid", 0),
                      json_is_true(alive)    ? "alive"
                      : json_is_false(alive) ? "dead"
                                             : "cannot be looked at");
    }
    json_array_foreach(sessions, i, session) {
        buffer_add_literal(out, "session   ");
        add_word(out, session, "role");
        buffer_format(out, ", process %" PRId64 ", ", message_number(session, "pid", 0));
        add_word(out, session, "link");
        if (message_text(session, "project")[0])
            buffer_add_literal(out, ", ");
        add_word(out, session, "project");
        buffer_add_char(out, '\n');
    }
    unlisted -= (int64_t)json_array_size(sessions);
    if (unlisted > 0)
        buffer_format(out, "session   … and %" PRId64 " more\n", unlisted);
}

void status_text(struct buffer *out, const json_t *state, size_t columns) {
    add_server(out, state, columns);
    add_people(out, state);
}
