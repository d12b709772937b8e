/* `tether status`: what runs and why. */
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "client.h"
#include "commands.h"
#include "exit_code.h"
#include "last_run.h"
#include "protocol/message.h"
#include "protocol/version.h"
#include "status_text.h"
#include "terminal.h"

enum { INDENT = 4 }; /* of what others have said: it is not to look like our own lines */

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
        status_text(&text, state, terminal_columns());
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
    state = json_pack("{s:s, s:s, s:n, s:s}", "version", tether_version, "instance", instance,
                      "state", "message", err->message);
    if (last)
        json_object_set(state, "last", last);
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
    if (options->watch)
        code = watch(options, client, screen);
    buffer_finish(&terminal);
    client_close(client, state);
    return code;
}
