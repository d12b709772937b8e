/* `tether status`: what runs and why. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../protocol/message.h"
#include "../protocol/version.h"
#include "cli.h"
#include "client.h"
#include "commands.h"

int command_fail(int exit_code, const struct error *err) {
    fprintf(stderr, "tether: %s\n", err->message);
    return exit_code;
}

int command_client_code(int rc) {
    return rc == -ENOENT || rc == -EAGAIN ? EXIT_NOT_RUNNING : EXIT_FAILED;
}

static void print_duration(int64_t ms) {
    int64_t s = ms / 1000;
    if (s < 60)
        printf("%" PRId64 " s", s);
    else if (s < 3600)
        printf("%" PRId64 " min", s / 60);
    else
        printf("%" PRId64 " h %" PRId64 " min", s / 3600, s / 60 % 60);
}

static void print_server(const json_t *state) {
    const json_t *server = json_object_get(state, "server");
    int64_t pid = message_number(server, "pid", 0), ws = message_number(server, "ws_port", 0);
    int64_t restarts = message_number(server, "restarts", 0);
    const char *reason = message_text(server, "reason");
    printf("server    %s", message_text(server, "state"));
    if (pid)
        printf(", process %" PRId64, pid);
    printf(", %" PRId64 " restart%s, tether is up ", restarts, restarts == 1 ? "" : "s");
    print_duration(message_number(state, "uptime_ms", 0));
    printf("\nports     %" PRId64, message_number(server, "http_port", 0));
    if (ws)
        printf(" and %" PRId64, ws);
    printf("\nwhy       %s\n", message_text(state, "why"));
    if (reason[0])
        printf("reason    %s\n", reason);
}

static void print_people(const json_t *state) {
    const json_t *owner = json_object_get(state, "owner"), *session;
    const json_t *sessions = json_object_get(state, "sessions");
    int64_t unlisted = message_number(state, "sessions_total", 0);
    size_t i;
    if (json_is_object(owner)) {
        const json_t *alive = json_object_get(owner, "alive");
        printf("owner     process %" PRId64 ", %s\n", message_number(owner, "pid", 0),
               json_is_true(alive)    ? "alive"
               : json_is_false(alive) ? "dead"
                                      : "cannot be looked at");
    }
    json_array_foreach(sessions, i, session) {
        printf("session   %s, process %" PRId64 ", %s", message_text(session, "role"),
               message_number(session, "pid", 0), message_text(session, "link"));
        if (message_text(session, "project")[0])
            printf(", %s", message_text(session, "project"));
        putchar('\n');
    }
    unlisted -= (int64_t)json_array_size(sessions);
    if (unlisted > 0)
        printf("session   … and %" PRId64 " more\n", unlisted);
}

static void print_state(const struct options *options, json_t *state) {
    json_object_del(state, "ws_token");
    json_object_del(state, "session");
    json_object_del(state, "type");
    if (options->json) {
        char *line = json_dumps(state, JSON_COMPACT);
        if (line)
            puts(line);
        free(line);
    } else {
        print_server(state);
        print_people(state);
    }
    fflush(stdout);
}

/* Programs get a line of JSON also where there is nothing to tell. */
static void print_nobody(const struct options *options, const struct error *err) {
    char instance[OPTIONS_INSTANCE_MAX];
    json_t *state;
    options_instance(options, instance);
    state = json_pack("{s:s, s:s, s:n, s:s}", "version", tether_version, "instance", instance,
                      "state", "message", err->message);
    print_state(options, state);
    json_decref(state);
}

/* Until the daemon ends, which it says before. */
static int watch(const struct options *options, struct client *client) {
    struct error err = {0};
    bool is_last = false;
    json_t *message;
    while ((message = client_follow(client)) != NULL) {
        if (strcmp(message_text(message, "type"), "state") == 0) {
            is_last = strncmp(message_text(message, "state"), "stop", 4) == 0;
            if (!options->json)
                putchar('\n');
            print_state(options, message);
        }
        json_decref(message);
    }
    if (!client->closed || is_last)
        return EXIT_FINE;
    error_set(&err, -EPIPE, "the daemon is gone without a word; its guard ends the server");
    return command_fail(EXIT_FAILED, &err);
}

int command_status(const struct options *options) {
    struct error err = {0};
    json_t *state = NULL;
    struct client *client = client_open(options, &state, &err);
    int code = EXIT_FINE;
    if (!client) {
        code = command_client_code(err.code);
        if (options->json && code == EXIT_NOT_RUNNING)
            print_nobody(options, &err);
        return command_fail(code, &err);
    }
    print_state(options, state);
    if (options->watch)
        code = watch(options, client);
    client_close(client, state);
    return code;
}
