#include "client.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "daemon/place.h"
#include "memory.h"

enum {
    PATIENCE_MS = 1000,
    TURN_MS = 10, /* of the loop, until it is connected; what connects is a timer, see turn() */
    HELLO_MOST_MS = 5000,
    QUIET_MS = 5000,   /* then it is asked whether it is still there */
    ANSWER_MS = 10000, /* which is all the time that it has for that */
};

/* ---- the loop's callbacks ---- */

static void on_opened(void *context) {
    struct client *client = context;
    client->opened = true;
}

static void on_heard(void *context, enum message_kind kind, json_t *message) {
    struct client *client = context;
    (void)kind;
    json_array_append(client->inbox, message);
}

static void on_lost(void *context, int why) {
    struct client *client = context;
    client->closed = true;
    client->why = why;
}

static void on_timer(uv_timer_t *timer) {
    struct client *client = timer->data;
    client->timed_out = true;
}

/* Lets the loop work once, for so long at most. The timer repeats, because libuv fires one that is
 * due before it waits, and would then wait for ever. */
static void turn(struct client *client, int64_t limit_ms) {
    if (limit_ms >= 0) {
        uv_update_time(&client->loop);
        uv_timer_start(&client->timer, on_timer, (uint64_t)limit_ms, 1);
    }
    uv_run(&client->loop, limit_ms == 0 ? UV_RUN_NOWAIT : UV_RUN_ONCE);
    uv_timer_stop(&client->timer);
}

/* ---- opening ---- */

static int nobody(const struct options *options, struct error *err) {
    return error_set(err, UV_ENOENT,
                     "no tether runs for ports %u and %u; `tether launch -- COMMAND` starts one",
                     (unsigned)options->http_port, (unsigned)options->ws_port);
}

int client_init(struct client *client, const struct options *options, struct error *err) {
    static const struct daemon_client_events events = {on_opened, on_heard, on_lost};
    struct os_dir dir;
    int rc = options_dir(options, &dir, false, err);
    *client = (struct client){0};
    if (rc == UV_ENOENT)
        return nobody(options, err);
    if (rc < 0)
        return rc;
    rc = os_control_name(&dir, false, client->endpoint, err);
    os_dir_finish(&dir);
    if (rc < 0)
        return rc == UV_ENOENT ? nobody(options, err) : rc;
    rc = uv_loop_init(&client->loop);
    if (rc < 0)
        return error_set(err, rc, "cannot connect to %s: %s", client->endpoint, uv_strerror(rc));
    client->inbox = json_array();
    uv_timer_init(&client->loop, &client->timer);
    client->timer.data = client;
    client->daemon = daemon_client_open(&client->loop, client->endpoint,
                                        (struct hello){.role = "cli"}, &events, client);
    while (!client->opened && !client->closed)
        turn(client, TURN_MS);
    if (client->opened)
        return 0;
    rc = client->why;
    client_finish(client);
    if (rc == UV_ENOENT || rc == UV_ECONNREFUSED)
        return nobody(options, err);
    if (rc == UV_EAGAIN && options_dir(options, &dir, false, NULL) == 0) { /* all the time */
        rc = place_tell_silent(&dir, err);
        os_dir_finish(&dir);
        return rc;
    }
    return error_set(err, rc, "cannot connect to %s: %s", client->endpoint, uv_strerror(rc));
}

void client_finish(struct client *client) {
    daemon_client_close(client->daemon);
    uv_close((uv_handle_t *)&client->timer, NULL);
    os_reader_forget(client->reader);
    uv_run(&client->loop, UV_RUN_DEFAULT);
    uv_loop_close(&client->loop);
    json_decref(client->inbox);
}

struct client *client_open(const struct options *options, json_t **welcome, struct error *err) {
    struct client *client = memory_resize(NULL, sizeof *client);
    if (client_init(client, options, err) == 0) {
        *welcome = client_hello(client, err);
        if (*welcome)
            return client;
        client_finish(client);
    }
    free(client);
    return NULL;
}

void client_close(struct client *client, json_t *welcome) {
    json_decref(welcome);
    if (client)
        client_finish(client);
    free(client);
}

/* ---- talking ---- */

static json_t *take_message(struct client *client) {
    json_t *message = json_incref(json_array_get(client->inbox, 0));
    json_array_remove(client->inbox, 0);
    return message;
}

static int64_t remaining(int64_t until) {
    int64_t now = os_clock_ms();
    return until > now ? until - now : 0;
}

json_t *client_receive(struct client *client, int64_t limit_ms) {
    int64_t until = os_clock_ms() + limit_ms;
    client->timed_out = false;
    while (json_array_size(client->inbox) == 0 && !client->closed && !client->timed_out) {
        int64_t left = limit_ms < 0 ? -1 : remaining(until);
        turn(client, left);
        client->timed_out = left == 0;
    }
    return json_array_size(client->inbox) > 0 ? take_message(client) : NULL;
}

json_t *client_hello(struct client *client, struct error *err) {
    json_t *message;
    while ((message = client_receive(client, HELLO_MOST_MS)) != NULL) {
        if (message_kind(message) == MESSAGE_WELCOME)
            return message;
        if (message_kind(message) == MESSAGE_ERROR) {
            bool stopping = message_refusal(message) == REFUSED_STOPPING;
            error_set(err, stopping ? UV_EAGAIN : UV_EPROTO, "%s",
                      message_text(message, "message"));
            json_decref(message);
            return NULL;
        }
        json_decref(message);
    }
    if (client->closed)
        error_set(err, UV_EAGAIN, "the daemon hung up: it is ending, or has no room for one more");
    else
        client_tell_silent(client, err);
    return NULL;
}

json_t *client_request(struct client *client, json_t *request, int64_t limit_ms) {
    int64_t id = ++client->last_id, until = os_clock_ms() + limit_ms;
    json_t *message;
    json_object_set_new(request, "id", json_integer(id));
    daemon_client_say(client->daemon, request);
    while ((message = client_receive(client, remaining(until))) != NULL) {
        if (message_number(message, "id", 0) == id)
            return message;
        json_decref(message);
    }
    return NULL;
}

json_t *client_await(struct client *client) {
    json_t *message = client_receive(client, QUIET_MS);
    if (message || client->closed)
        return message;
    daemon_client_say(client->daemon, json_pack("{s:s, s:I}", "type", "status", "id",
                                                (json_int_t)++client->last_id));
    return client_receive(client, ANSWER_MS);
}

json_t *client_await_telling(struct client *client, const char *what) {
    json_t *message = client_receive(client, PATIENCE_MS);
    if (message || client->closed)
        return message;
    if (!client->told && uv_guess_handle(2) == UV_TTY)
        fprintf(stderr, "%s\n", what);
    client->told = true;
    return client_await(client);
}

int client_tell_silent(const struct client *client, struct error *err) {
    struct os_peer peer;
    char who[64] = "the daemon";
    int rc = daemon_client_peer(client->daemon, &peer);
    os_process_close(&peer.process);
    if (rc == 0 && peer.process.identity.pid)
        snprintf(who, sizeof who, "the daemon, process %lld,",
                 (long long)peer.process.identity.pid);
    return error_set(err, UV_ETIMEDOUT, "%s does not answer; %s", who, os_silent_advice);
}

static void on_reader_gone(void *context) {
    struct client *client = context;
    client->unread = true;
}

json_t *client_follow(struct client *client) {
    if (!client->reader)
        os_reader_watch(&client->reader, &client->loop, 1, on_reader_gone, client);
    while (fflush(stdout) == 0 && !ferror(stdout) && !client->unread) {
        if (client->closed || json_array_size(client->inbox) > 0)
            return client_receive(client, 0);
        uv_run(&client->loop, UV_RUN_ONCE);
    }
    return NULL;
}

bool client_wait_closed(struct client *client, int64_t limit_ms) {
    int64_t until = os_clock_ms() + limit_ms;
    while (!client->closed && os_clock_ms() < until)
        json_decref(client_receive(client, remaining(until)));
    return client->closed;
}
