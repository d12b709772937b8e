#include "control_client.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"
#include "mailbox.h"
#include "os/os.h"
#include "protocol/lines.h"
#include "protocol/message.h"
#include "protocol/send.h"
#include "protocol/version.h"

enum {
    LOG_WANTED = 200,  /* lines of the log that a new session asks for */
    FAREWELL_MS = 300, /* for the last word to go out, when there is no time to lose */
    ATTEMPTS_MOST = 8, /* to find a lost daemon again */
    RETRY_MS = 100,    /* before the second attempt; doubled for each further one */
    RETRY_MOST_MS = 5000,
    HEALTHY_MS = 10000, /* a session that held so long makes attempts be counted anew */
};

/* The ids of requests, of which one of each kind is under way at most. */
enum { LOG_REQUEST = 1, STOP_REQUEST, RESTART_REQUEST };

enum phase { IDLE, LAUNCHING, CONNECTING, CONNECTED, RETRYING, LEAVING };

/* One connection to a daemon; freed when the loop has let go of it. */
struct connection {
    struct control_client *client; /* NULL: abandoned */
    uv_pipe_t pipe;
    uv_connect_t connect;
    uv_shutdown_t shutdown;
    struct lines lines;
    char buffer[16384];
};

struct control_client {
    uv_thread_t thread;
    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t timer; /* the next attempt, or the end of a farewell */

    struct mailbox mailbox;
    atomic_bool is_done;

    /* the thread's own */
    struct launch_setup setup;
    enum phase phase;
    struct launch_run *run;
    struct connection *connection;
    struct bridge *bridge; /* NULL: the server is not the built-in one, or was never ready */
    char token[128];       /* for the bridge */
    json_t *registration;  /* what it offers; or NULL */
    char session[24];      /* to be resumed */
    char server_state[24]; /* as the daemon told it last */
    int attempts;          /* since the session was lost or first wanted */
    int64_t connected_at;
    bool was_lost; /* it is being found again */
    bool stop_wanted, stop_forced, start_wanted;
    bool stop_asked;      /* of this daemon, and not refused */
    const char *farewell; /* the reason to leave with */
    bool leave_wanted;
};

/* ---- events ---- */

static void report(struct control_client *client, enum control_event_kind kind, const char *text,
                   int64_t number, json_t *json) {
    mailbox_put_event(&client->mailbox, control_event_create(kind, text, number, json));
}

struct control_event *control_client_take(struct control_client *client) {
    return mailbox_take_events(&client->mailbox);
}

/* A copy: references are not to be shared between threads. */
static void tell_state(struct control_client *client, const char *state, const json_t *json) {
    report(client, CONTROL_STATE, state, 0, json_deep_copy(json));
}

static void tell_failure(struct control_client *client, int code, const char *why,
                         const json_t *result) {
    report(client, CONTROL_FAILED, why, code, json_deep_copy(result));
    tell_state(client, code == 3 ? "blocked" : "failed", NULL);
}

static void tell_log(struct control_client *client, const char *stream, const char *line) {
    struct control_event *event = control_event_create(CONTROL_LOG, line, 0, NULL);
    if (event)
        snprintf(event->stream, sizeof event->stream, "%s", stream);
    mailbox_put_event(&client->mailbox, event);
}

/* ---- the end ---- */

static void connection_close(struct control_client *client);

static void finish(struct control_client *client) {
    client->phase = LEAVING;
    if (client->run)
        launch_run_abort(client->run);
    client->run = NULL;
    connection_close(client);
    bridge_destroy(client->bridge);
    client->bridge = NULL;
    if (!uv_is_closing((uv_handle_t *)&client->wake)) {
        uv_close((uv_handle_t *)&client->wake, NULL);
        uv_close((uv_handle_t *)&client->timer, NULL);
    }
}

static void on_farewell_over(uv_timer_t *timer) {
    finish(timer->data);
}

static void on_flushed(uv_shutdown_t *request, int status) {
    struct connection *connection = request->handle->data;
    (void)status;
    if (connection->client)
        finish(connection->client);
}

static void say_farewell(struct control_client *client) {
    struct connection *connection = client->connection;
    client->phase = LEAVING;
    if (client->farewell)
        message_send((uv_stream_t *)&connection->pipe,
                     json_pack("{s:s, s:s}", "type", "leave", "reason", client->farewell));
    uv_timer_start(&client->timer, on_farewell_over, FAREWELL_MS, 0);
    if (uv_shutdown(&connection->shutdown, (uv_stream_t *)&connection->pipe, on_flushed) < 0)
        finish(client);
}

/* ---- launching ---- */

static void connect_to(struct control_client *client, const char *path);
static void launch(struct control_client *client);

static void on_retry(uv_timer_t *timer) {
    launch(timer->data);
}

/* Nothing runs, and nothing is wanted to. */
static void rest(struct control_client *client) {
    client->phase = IDLE;
    client->was_lost = client->stop_wanted = false;
    client->session[0] = 0;
    tell_state(client, "stopped", NULL);
}

/* The daemon is gone or not to be reached. Tries again, later each time, then gives up. */
static void retry(struct control_client *client, int code, const char *why, const json_t *result) {
    int delay = RETRY_MS;
    if (client->leave_wanted) {
        finish(client);
        return;
    }
    if (client->stop_wanted && client->was_lost) {
        rest(client); /* it is not looked for only to be stopped */
        return;
    }
    if (code == 3 || ++client->attempts >= ATTEMPTS_MOST || !client->was_lost) {
        client->phase = IDLE;
        client->was_lost = false;
        tell_failure(client, code, why, result);
        return;
    }
    for (int i = 1; i < client->attempts && delay < RETRY_MOST_MS; i++)
        delay *= 2;
    client->phase = RETRYING;
    uv_timer_start(&client->timer, on_retry, (uint64_t)delay, 0);
}

static void on_launched(void *context, const json_t *result, const char *why) {
    struct control_client *client = context;
    int code = result ? (int)message_number(result, "code", 1) : 1;
    const char *message = message_text(result, "message");
    client->run = NULL;
    if (code != 0 || !result) {
        retry(client, code, message[0] ? message : why, result);
        return;
    }
    if (strcmp(message_text(result, "result"), "adopted") == 0 && !client->was_lost)
        report(client, CONTROL_ADOPTED, NULL, message_number(result, "daemon_pid", 0), NULL);
    connect_to(client, message_text(result, "control"));
}

static void launch(struct control_client *client) {
    int rc;
    client->phase = LAUNCHING;
    client->start_wanted = false;
    tell_state(client, client->was_lost ? "lost" : "launching", NULL);
    rc = launch_run_start(&client->run, &client->loop, &client->setup, on_launched, client);
    if (rc < 0) {
        char text[OS_PATH_MAX + 160];
        snprintf(text, sizeof text, "cannot run %s: %s", client->setup.program,
                 os_error_text(rc).text);
        client->was_lost = false; /* this does not go away by trying again */
        retry(client, 1, text, NULL);
    }
}

/* ---- the connection ---- */

static void on_connection_closed(uv_handle_t *handle) {
    struct connection *connection = handle->data;
    lines_finish(&connection->lines);
    free(connection);
}

static void connection_close(struct control_client *client) {
    struct connection *connection = client->connection;
    if (!connection)
        return;
    connection->client = NULL;
    client->connection = NULL;
    uv_close((uv_handle_t *)&connection->pipe, on_connection_closed);
}

static void request(struct control_client *client, json_t *message) {
    message_send((uv_stream_t *)&client->connection->pipe, message);
}

static void request_stop(struct control_client *client) {
    client->stop_wanted = false;
    client->stop_asked = true;
    request(client, json_pack("{s:i, s:s, s:b}", "id", STOP_REQUEST, "type", "stop", "force",
                              (int)client->stop_forced));
}

static void request_restart(struct control_client *client) {
    request(client, json_pack("{s:i, s:s}", "id", RESTART_REQUEST, "type", "restart"));
}

static bool is_failed(const struct control_client *client) {
    return strcmp(client->server_state, "failed") == 0;
}

static bool is_ending(const struct control_client *client) {
    return strcmp(client->server_state, "stopping") == 0 ||
           strcmp(client->server_state, "stopped") == 0;
}

/* The daemon has closed the connection, or died. Whether it was to end, its last state tells; but a
 * daemon that ends while much is on its way to us may not get so far as to tell it. */
static void on_lost(struct control_client *client, const char *why) {
    bool ended =
        (is_ending(client) || client->stop_asked || client->stop_wanted) && !client->start_wanted;
    client->stop_asked = false;
    connection_close(client);
    if (client->bridge)
        bridge_disconnect(client->bridge);
    client->server_state[0] = 0;
    if (client->leave_wanted) {
        finish(client);
    } else if (ended) {
        rest(client);
    } else if (client->start_wanted) {
        client->was_lost = false;
        client->session[0] = 0;
        launch(client);
    } else {
        if (client->phase == CONNECTED && os_clock_ms() - client->connected_at > HEALTHY_MS)
            client->attempts = 0;
        client->was_lost = true;
        if (client->attempts == 0) {
            client->attempts = 1;
            launch(client); /* the first attempt is made at once */
        } else {
            retry(client, 1, why, NULL);
        }
    }
}

/* ---- the bridge ---- */

static void on_bridge_call(void *context, int64_t call, const json_t *parameters) {
    report(context, CONTROL_CALL, NULL, call, json_deep_copy(parameters));
}

static void on_bridge_cancelled(void *context, int64_t call) {
    report(context, CONTROL_CANCELLED, NULL, call, NULL);
}

static void on_bridge_state(void *context, const char *state, const char *why) {
    (void)why;
    report(context, CONTROL_BRIDGE, state, 0, NULL);
}

static bool withdraw_call(void *context, int64_t call) {
    struct control_client *client = context;
    return mailbox_withdraw_call(&client->mailbox, call);
}

static struct bridge *bridge_of(struct control_client *client) {
    static const struct bridge_events events = {on_bridge_call, on_bridge_cancelled,
                                                on_bridge_state, withdraw_call};
    const struct bridge_setup setup = {&events, client, client->setup.project, client->setup.path,
                                       client->setup.godot};
    if (client->bridge)
        return client->bridge;
    client->bridge = bridge_create(&client->loop, &setup);
    if (client->bridge && client->registration)
        bridge_offer(client->bridge, json_incref(client->registration));
    return client->bridge;
}

static void update_bridge(struct control_client *client, const json_t *message) {
    int64_t port = message_number(json_object_get(message, "server"), "ws_port", 0);
    if (client->setup.is_builtin && port > 0 && client->token[0] &&
        strcmp(client->server_state, "ready") == 0 && bridge_of(client))
        bridge_connect(client->bridge, (uint16_t)port, client->token);
}

static void set_registration(struct control_client *client, json_t *registration) {
    json_decref(client->registration);
    client->registration = registration;
    if (client->bridge)
        bridge_offer(client->bridge, json_incref(registration));
}

static void note_state(struct control_client *client, json_t *message) {
    const char *state = message_text(message, "state");
    bool failed = strcmp(state, "failed") == 0 && !is_failed(client);
    snprintf(client->server_state, sizeof client->server_state, "%s", state);
    json_object_set_new(message, "session", json_string(client->session));
    if (failed)
        report(client, CONTROL_FAILED, message_text(json_object_get(message, "server"), "reason"),
               1, NULL);
    update_bridge(client, message);
    tell_state(client, state, message);
}

static void on_welcome(struct control_client *client, json_t *message) {
    bool resumed = client->was_lost;
    client->phase = CONNECTED;
    client->connected_at = os_clock_ms();
    client->was_lost = false;
    snprintf(client->session, sizeof client->session, "%s", message_text(message, "session"));
    snprintf(client->token, sizeof client->token, "%s", message_text(message, "ws_token"));
    json_object_del(message, "ws_token");
    note_state(client, message);
    request(client, json_pack("{s:i, s:s, s:i, s:b, s:b}", "id", LOG_REQUEST, "type", "logs", "n",
                              resumed ? 0 : LOG_WANTED, "follow", 1, "since_start", 1));
    if (client->leave_wanted)
        say_farewell(client);
    else if (client->stop_wanted)
        request_stop(client);
}

static void on_error(struct control_client *client, const json_t *message) {
    const char *code = message_text(message, "code");
    if (client->phase == CONNECTED)
        return; /* about something that we said and that it did not understand */
    if (strcmp(code, "stopping") == 0) {
        /* It ends; the connection closes when it has, and then a new one can start. */
        client->start_wanted = true;
        return;
    }
    connection_close(client);
    client->was_lost = false; /* to ask again would not change the answer */
    retry(client, 1, message_text(message, "message"), NULL);
}

/* A line as the log file has it: "TIME STREAM TEXT". */
static void tell_logged(struct control_client *client, const char *line) {
    const char *stream = strchr(line, ' '), *text = stream ? strchr(stream + 1, ' ') : NULL;
    char name[12];
    if (!text)
        return;
    snprintf(name, sizeof name, "%.*s", (int)(text - stream - 1), stream + 1);
    tell_log(client, name, text + 1);
}

static void on_refused(struct control_client *client, const json_t *message, int64_t id) {
    bool start_wanted = client->start_wanted;
    if (id == STOP_REQUEST)
        client->stop_asked = client->start_wanted = false;
    if (id == STOP_REQUEST && start_wanted && is_failed(client))
        request_restart(client); /* others use it as well: as it is set for them */
    else
        report(client, CONTROL_REFUSED, message_text(message, "message"), 0, NULL);
}

static void on_reply(struct control_client *client, const json_t *message, int64_t id) {
    if (id == LOG_REQUEST) {
        const json_t *lines = json_object_get(message, "lines");
        for (size_t i = 0; i < json_array_size(lines); i++)
            tell_logged(client, json_string_value(json_array_get(lines, i)));
    } else if (!json_is_true(json_object_get(message, "ok"))) {
        on_refused(client, message, id);
    }
}

static bool on_line(const char *line, size_t length, void *context) {
    struct connection *connection = context;
    struct control_client *client = connection->client;
    json_t *message = message_parse(line, length, NULL);
    const char *type = message_text(message, "type");
    if (client->phase == LEAVING)
        ; /* nothing is of interest any more */
    else if (strcmp(type, "welcome") == 0)
        on_welcome(client, message);
    else if (strcmp(type, "state") == 0)
        note_state(client, message);
    else if (strcmp(type, "log") == 0)
        tell_log(client, message_text(message, "stream"), message_text(message, "line"));
    else if (strcmp(type, "ping") == 0)
        request(client, json_pack("{s:s}", "type", "pong"));
    else if (strcmp(type, "error") == 0)
        on_error(client, message);
    else if (message_number(message, "id", 0))
        on_reply(client, message, message_number(message, "id", 0));
    json_decref(message);
    return connection->client != NULL;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct connection *connection = handle->data;
    (void)suggested;
    *buf = uv_buf_init(connection->buffer, sizeof connection->buffer);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    struct connection *connection = stream->data;
    int rc = 0;
    if (count > 0)
        rc = lines_feed(&connection->lines, buf->base, (size_t)count, on_line, connection);
    if ((count < 0 || rc < 0) && connection->client)
        on_lost(connection->client, "the daemon closed the connection");
}

static void say_hello(struct control_client *client) {
    struct os_identity self = {0};
    os_identity_self(&self);
    request(client, hello_message(&(struct hello){.protocol = TETHER_PROTOCOL,
                                                  .role = "editor",
                                                  .pid = self.pid,
                                                  .start = self.start,
                                                  .version = tether_version,
                                                  .godot = client->setup.godot,
                                                  .project = client->setup.project,
                                                  .resume = client->session}));
}

static void on_connected(uv_connect_t *connect, int status) {
    struct connection *connection = connect->handle->data;
    struct control_client *client = connection->client;
    if (!client)
        return;
    if (status == 0)
        status = uv_read_start((uv_stream_t *)&connection->pipe, on_alloc, on_read);
    if (status == 0) {
        say_hello(client);
        return;
    }
    client->was_lost = true; /* launch named it, so it was there a moment ago */
    on_lost(client, uv_strerror(status));
}

static void connect_to(struct control_client *client, const char *path) {
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection) {
        retry(client, 1, "out of memory", NULL);
        return;
    }
    connection->client = client;
    connection->pipe.data = connection;
    client->connection = connection;
    client->phase = CONNECTING;
    uv_pipe_init(&client->loop, &connection->pipe, 0);
    uv_pipe_connect(&connection->connect, &connection->pipe, path, on_connected);
}

/* ---- commands ---- */

static void start(struct control_client *client) {
    client->stop_wanted = false;
    if (client->phase == RETRYING) {
        uv_timer_stop(&client->timer);
        launch(client);
    } else if (client->phase == IDLE) {
        client->attempts = 0;
        launch(client);
    } else if (client->phase == CONNECTED && is_failed(client)) {
        client->start_wanted = true; /* afresh, for the cause may have been set right since */
        client->stop_forced = false;
        request_stop(client);
    } else if (client->phase == CONNECTED && (is_ending(client) || client->stop_asked)) {
        client->start_wanted = true; /* when it is gone */
    }
}

static void stop(struct control_client *client, bool force) {
    client->start_wanted = false;
    client->stop_forced = force;
    if (client->phase == CONNECTED) {
        request_stop(client);
    } else if (client->phase == RETRYING) {
        uv_timer_stop(&client->timer);
        rest(client);
    } else if (client->phase != IDLE) {
        client->stop_wanted = true; /* once there is somebody to be told */
    }
}

static void restart(struct control_client *client) {
    if (client->phase == CONNECTED && !is_ending(client) && !client->stop_asked)
        request_restart(client);
    else
        start(client);
}

static void leave(struct control_client *client, const struct command *command) {
    static const char *const reasons[] = {"disable", "quit", "reload", "restart"};
    client->leave_wanted = true;
    client->farewell = NULL;
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (strcmp(command->reason, reasons[i]) == 0)
            client->farewell = reasons[i];
    if (client->setup.is_unowned && strcmp(command->reason, "quit") == 0)
        client->farewell = NULL; /* it is meant to stay */
    if (client->phase == CONNECTED)
        say_farewell(client);
    else if (command->flag || client->phase == IDLE || client->phase == RETRYING)
        finish(client);
}

static void obey(struct control_client *client, struct command *command) {
    switch (command->kind) {
    case COMMAND_SET_UP:
        launch_setup_finish(&client->setup);
        client->setup = command->setup;
        command->setup = (struct launch_setup){0};
        break;
    case COMMAND_START:
        start(client);
        break;
    case COMMAND_STOP:
        stop(client, command->flag);
        break;
    case COMMAND_RESTART:
        restart(client);
        break;
    case COMMAND_OFFER:
        set_registration(client, command->json);
        command->json = NULL;
        break;
    case COMMAND_ANSWER:
        if (client->bridge)
            bridge_answer(client->bridge, command->call, json_incref(command->json));
        break;
    case COMMAND_ACTIVATE:
        if (client->bridge)
            bridge_activate(client->bridge);
        break;
    case COMMAND_LEAVE:
        leave(client, command);
        break;
    }
}

/* While it is leaving, the only word that still counts is to do so in a hurry. */
static void consider(struct control_client *client, struct command *command) {
    bool is_leaving = client->phase == LEAVING || client->leave_wanted;
    if (!is_leaving || (client->phase != LEAVING && command->kind == COMMAND_LEAVE))
        obey(client, command);
    else if (command->kind == COMMAND_LEAVE && command->flag && client->phase != LEAVING)
        finish(client);
}

static void on_wake(uv_async_t *wake) {
    struct control_client *client = wake->data;
    struct command *command = mailbox_take_commands(&client->mailbox), *next;
    for (; command; command = next) {
        next = command->next;
        consider(client, command);
        command_free(command);
    }
}

static struct command *command_create(enum command_kind kind, bool flag) {
    struct command *command = calloc(1, sizeof *command);
    if (!command)
        abort(); /* as the engine does when memory is gone */
    command->kind = kind;
    command->flag = flag;
    return command;
}

/* The thread closes its end of this only when it is over; the memory is there until destroy. */
static void command_queue(struct control_client *client, struct command *command) {
    mailbox_put_command(&client->mailbox, command);
    if (!atomic_load(&client->is_done))
        uv_async_send(&client->wake);
}

void control_client_set_up(struct control_client *client, struct launch_setup *setup) {
    struct command *command = command_create(COMMAND_SET_UP, false);
    command->setup = *setup;
    *setup = (struct launch_setup){0};
    command_queue(client, command);
}

void control_client_start(struct control_client *client) {
    command_queue(client, command_create(COMMAND_START, false));
}

void control_client_stop(struct control_client *client, bool force) {
    command_queue(client, command_create(COMMAND_STOP, force));
}

void control_client_restart(struct control_client *client) {
    command_queue(client, command_create(COMMAND_RESTART, false));
}

void control_client_offer(struct control_client *client, json_t *registration) {
    struct command *command = command_create(COMMAND_OFFER, false);
    command->json = registration;
    command_queue(client, command);
}

void control_client_answer(struct control_client *client, int64_t call, json_t *result) {
    struct command *command = command_create(COMMAND_ANSWER, false);
    command->call = call;
    command->json = result;
    command_queue(client, command);
}

void control_client_activate(struct control_client *client) {
    command_queue(client, command_create(COMMAND_ACTIVATE, false));
}

void control_client_leave(struct control_client *client, const char *reason, bool hurry) {
    struct command *command = command_create(COMMAND_LEAVE, hurry);
    snprintf(command->reason, sizeof command->reason, "%s", reason ? reason : "");
    command_queue(client, command);
}

/* ---- the thread ---- */

static void thread_main(void *argument) {
    struct control_client *client = argument;
    os_thread_block_signals();
    uv_run(&client->loop, UV_RUN_DEFAULT);
    atomic_store(&client->is_done, true);
}

static void release(struct control_client *client) {
    json_decref(client->registration);
    uv_loop_close(&client->loop);
    mailbox_finish(&client->mailbox);
    launch_setup_finish(&client->setup);
    free(client);
}

struct control_client *control_client_create(struct launch_setup *setup) {
    struct control_client *client = calloc(1, sizeof *client);
    if (!client || uv_loop_init(&client->loop) < 0) {
        free(client);
        return NULL;
    }
    mailbox_init(&client->mailbox);
    uv_async_init(&client->loop, &client->wake, on_wake);
    uv_timer_init(&client->loop, &client->timer);
    client->wake.data = client;
    client->timer.data = client;
    client->setup = *setup;
    *setup = (struct launch_setup){0};
    if (uv_thread_create(&client->thread, thread_main, client) < 0) {
        finish(client);
        uv_run(&client->loop, UV_RUN_DEFAULT);
        release(client);
        return NULL;
    }
    return client;
}

bool control_client_is_done(struct control_client *client) {
    return atomic_load(&client->is_done);
}

void control_client_destroy(struct control_client *client) {
    if (!client)
        return;
    uv_thread_join(&client->thread);
    release(client);
}
