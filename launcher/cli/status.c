/* `tether status`: what runs and why. */
#include <inttypes.h>
#include <string.h>

#include <uv.h>

#include "client.h"
#include "commands.h"
#include "daemon/command_words.h"
#include "exit_code.h"
#include "last_run.h"
#include "protocol/message.h"
#include "protocol/version.h"
#include "readable.h"
#include "terminal.h"

/* ---- in words ---- */

enum {
    INDENT = 4,         /* of what others have said: it is not to look like our own lines */
    HEAD = 10,          /* what stands before the text of a line */
    COMMAND_MOST = 200, /* characters, where there are no columns */
};

/* What others have said, on one line. */
static void add_word(struct buffer *out, const json_t *from, const char *key) {
    const char *text = message_text(from, key);
    readable_add(out, text, strlen(text));
}

/* columns: of the terminal; 0: it is none. */
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
    duration_add(out, message_number(state, "uptime_ms", 0));
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

/* ---- the command ---- */

int command_client_code(int rc) {
    return rc == UV_ENOENT || rc == UV_EAGAIN ? EXIT_NOT_RUNNING : EXIT_FAILED;
}

/* On the screen, or, without one, below what was printed before. */
static void print_state(const struct options *options, json_t *state, struct buffer *screen) {
    json_object_del(state, "ws_token");
    json_object_del(state, "session");
    json_object_del(state, "type");
    if (options->json) {
        command_print_json(state);
    } else {
        struct buffer text = {0};
        add_server(&text, state, terminal_columns());
        add_people(&text, state);
        if (text.data && !text.failed && screen)
            terminal_show(screen, text.data);
        else if (text.data && !text.failed)
            fputs(text.data, stdout);
        buffer_finish(&text);
    }
    fflush(stdout);
}

/* Programs get a line of JSON also where there is nothing to tell. */
static void print_nobody(const struct options *options, const struct error *err, json_t *last) {
    char instance[OPTIONS_INSTANCE_MAX];
    json_t *state;
    options_instance(options, instance);
    state = json_pack("{s:s, s:s, s:n, s:s, s:O*}", "version", tether_version, "instance", instance,
                      "state", "message", err->message, "last", last);
    print_state(options, state, NULL);
    json_decref(state);
}

/* Nothing runs: what ran before, and why it does not any more. */
static int tell_nobody(const struct options *options, const struct error *err) {
    json_t *last = last_run(options);
    struct buffer text = {0};
    if (options->json)
        print_nobody(options, err, last);
    exit_failing(EXIT_NOT_RUNNING, err);
    if (last)
        last_run_text(&text, last, INDENT);
    if (text.data && !text.failed)
        fprintf(stderr, "the last one %s\nits log: %s (`tether logs` prints it)\n", text.data,
                message_text(last, "log"));
    buffer_finish(&text);
    json_decref(last);
    return EXIT_NOT_RUNNING;
}

/* Until the daemon ends, which it says before. */
static int watch(const struct options *options, struct client *client, struct buffer *screen) {
    struct error err = {0};
    bool is_last = false;
    json_t *message;
    while ((message = client_follow(client)) != NULL) {
        if (message_kind(message) == MESSAGE_STATE) {
            is_last = server_is_ending(message_state(message));
            if (!options->json && !screen)
                putchar('\n');
            print_state(options, message, screen);
        }
        json_decref(message);
    }
    if (!client->closed || is_last)
        return EXIT_FINE;
    error_set(&err, UV_EPIPE, "the daemon is gone without a word; its guard ends the server");
    return exit_failing(EXIT_FAILED, &err);
}

int command_status(const struct options *options) {
    struct error err = {0};
    json_t *state = NULL;
    struct client *client = client_open(options, &state, &err);
    struct buffer terminal = {0}, *screen;
    int code = EXIT_FINE;
    if (!client) {
        code = command_client_code(err.code);
        return code == EXIT_NOT_RUNNING ? tell_nobody(options, &err) : exit_failing(code, &err);
    }
    screen = options->watch && !options->json && terminal_is_there() ? &terminal : NULL;
    print_state(options, state, screen);
    if (options->check && message_state(state) != SERVER_READY)
        code = EXIT_NOT_READY;
    if (options->watch)
        code = watch(options, client, screen);
    buffer_finish(&terminal);
    client_close(client, state);
    return code;
}
