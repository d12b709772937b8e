/* `tether stop` and `tether restart`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "client.h"
#include "commands.h"
#include "daemon/orphans.h"
#include "daemon/ports.h"
#include "exit_code.h"
#include "protocol/message.h"

enum { REPLY_MOST_MS = 10000, END_MOST_MS = 10000 };

/* Sends the request; 0 if it was granted. */
static int request(struct client *client, json_t *message) {
    struct error err = {0};
    json_t *reply = client_request(client, message, REPLY_MOST_MS);
    int code = EXIT_FINE;
    if (!reply) {
        if (client->closed)
            error_set(&err, UV_EPIPE, "the daemon is gone without an answer");
        else
            client_tell_silent(client, &err);
        code = exit_failing(EXIT_FAILED, &err);
    } else if (!json_is_true(json_object_get(reply, "ok")) &&
               message_refusal(reply) != REFUSED_STOPPING) {
        error_set(&err, UV_EPERM, "%s", message_text(reply, "message"));
        code = exit_failing(EXIT_FAILED, &err);
    }
    json_decref(reply);
    return code;
}

/* Waits for the end of the daemon itself, not only of its connection: then its lock is free, too.
 * Returns the last state that it told, a new reference, or NULL. */
static json_t *wait_for_end(struct client *client, const json_t *welcome) {
    const json_t *daemon = json_object_get(welcome, "daemon");
    struct os_identity identity = {.pid = message_number(daemon, "pid", 0)};
    struct os_process process = {.handle = OS_NO_HANDLE};
    json_t *message, *last = NULL;
    os_start_parse(message_text(daemon, "start"), &identity.start);
    while ((message = client_await_telling(client, "waiting for the server to end…"))) {
        if (message_kind(message) == MESSAGE_STATE) {
            json_decref(last);
            last = json_incref(message);
        }
        json_decref(message);
    }
    if (client->closed && os_process_open(&process, &identity) == 0)
        os_process_wait(&process, END_MOST_MS);
    os_process_close(&process);
    return last;
}

struct left {
    struct orphans orphans;
    char pids[200]; /* " 4711 4712", as many as have room */
};

static bool note_left(const struct os_identity *identity, void *context) {
    struct left *left = context;
    size_t used = strlen(left->pids);
    if (orphans_says_so(&left->orphans, identity))
        snprintf(left->pids + used, sizeof left->pids - used, " %" PRId64, identity->pid);
    return strlen(left->pids) + 24 < sizeof left->pids;
}

static int fail_processes_left(const struct options *options) {
    struct error err = {0};
    struct left left = {.pids = ""};
    options_instance(options, left.orphans.instance);
    os_process_each("TETHER_INSTANCE", left.orphans.instance, note_left, &left);
    error_set(&err, UV_EBUSY,
              "stopped, but the system does not let go of processes of the server%s%s; `tether "
              "doctor` tells more",
              left.pids[0] ? ":" : "", left.pids);
    return exit_failing(EXIT_FAILED, &err);
}

/* Says how it ended, by the daemon's last word. A port that has become free since is no matter. */
static int report_end(const struct options *options, const json_t *last) {
    const json_t *server = json_object_get(last, "server");
    struct error err = {0}, busy = {0};
    struct ports ports;
    int code = EXIT_FINE;
    if (message_state(last) != SERVER_STOPPED) {
        error_set(&err, UV_EPIPE, "the daemon is gone without a word; its guard ends the server");
        return exit_failing(EXIT_FAILED, &err);
    }
    if (json_is_true(json_object_get(server, "processes_left")))
        code = fail_processes_left(options);
    ports_init(&ports, options);
    if (json_is_false(json_object_get(server, "ports_free")) && !ports_are_free(&ports, &busy)) {
        error_set(&err, busy.code, "stopped, but %s", busy.message);
        code = exit_failing(EXIT_FAILED, &err);
    }
    if (code == EXIT_FINE)
        puts("stopped");
    return code;
}

int command_stop(const struct options *options) {
    struct error err = {0};
    json_t *welcome = NULL, *last;
    struct client *client = client_open(options, &welcome, &err);
    int code;
    if (!client)
        return exit_failing(command_client_code(err.code), &err);
    code = request(client, json_pack("{s:s, s:b}", "type", "stop", "force", options->force));
    if (code == EXIT_FINE) {
        last = wait_for_end(client, welcome);
        if (!client->closed)
            client_tell_silent(client, &err);
        code = client->closed ? report_end(options, last) : exit_failing(EXIT_FAILED, &err);
        json_decref(last);
    }
    client_close(client, welcome);
    return code;
}

/* Waits for the state that follows a restart: ready, or not. */
static int wait_for_server(struct client *client) {
    struct error err = {0};
    json_t *message;
    while ((message = client_await_telling(client, "waiting for the server to be ready…"))) {
        enum server_state state = message_state(message);
        if (state == SERVER_READY) {
            json_decref(message);
            puts("restarted");
            return EXIT_FINE;
        }
        if (state == SERVER_FAILED)
            break;
        json_decref(message);
    }
    if (!message && !client->closed)
        client_tell_silent(client, &err);
    else
        error_set(&err, UV_EIO, "%s",
                  message ? message_text(json_object_get(message, "server"), "reason")
                          : "the daemon ended; `tether logs` may tell why");
    json_decref(message);
    return exit_failing(EXIT_NOT_READY, &err);
}

int command_restart(const struct options *options) {
    struct error err = {0};
    json_t *welcome = NULL;
    struct client *client = client_open(options, &welcome, &err);
    int code;
    if (!client)
        return exit_failing(command_client_code(err.code), &err);
    code = request(client, json_pack("{s:s}", "type", "restart"));
    if (code == EXIT_FINE)
        code = wait_for_server(client);
    client_close(client, welcome);
    return code;
}
