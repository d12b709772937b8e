#include "control_client.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "bridge.h"
#include "control_link.h"
#include "mailbox.h"
#include "os/os.h"
#include "protocol/message.h"
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

struct control_client {
    uv_thread_t thread;
    uv_loop_t loop;
    uv_timer_t timer; /* the next attempt, or the end of a farewell */

    struct mailbox mailbox;
    atomic_bool is_done;

    /* the thread's own */
    struct launch_plan plan;
    enum phase phase;
    struct launch_run *run; /* whose answer is awaited, perhaps with a session already; or NULL */
    json_t *failure;        /* its answer, to be told when what was started has ended; or NULL */
    struct control_link *link; /* with the daemon, or NULL */
    struct bridge *bridge;     /* NULL: the server is not the built-in one, or was never ready */
    char token[128];           /* for the bridge */
    json_t *registration;      /* what it offers; or NULL */
    char session[24];          /* to be resumed */
    char server_state[24];     /* as the daemon told it last */
    int attempts;              /* since the session was lost or first wanted */
    int64_t connected_at;
    bool was_lost; /* it is being found again */
    bool stop_wanted, stop_forced, start_wanted;
    bool stop_asked;      /* of this daemon, and not refused */
    const char *farewell; /* the reason to leave with */
    bool leave_wanted;
};

/* ---- events ---- */

struct control_event *control_client_take(struct control_client *client) {
    return mailbox_take_events(&client->mailbox);
}

/* A copy: references are not to be shared between threads. */
static void tell_state(struct control_client *client, const char *state, const json_t *json) {
    mailbox_tell(&client->mailbox, CONTROL_STATE, state, 0, json_deep_copy(json));
}

static void tell_failure(struct control_client *client, int code, const char *why,
                         const json_t *result) {
    mailbox_tell(&client->mailbox, CONTROL_FAILED, why, code, json_deep_copy(result));
    tell_state(client, code == 3 ? "blocked" : "failed", NULL);
}

/* ---- the end ---- */

static void disconnect(struct control_client *client) {
    control_link_close(client->link);
    client->link = NULL;
    client->server_state[0] = 0;
    if (client->bridge)
        bridge_disconnect(client->bridge);
}

static void finish(struct control_client *client) {
    client->phase = LEAVING;
    if (client->run)
        launch_run_abort(client->run);
    client->run = NULL;
    disconnect(client);
    bridge_destroy(client->bridge);
    client->bridge = NULL;
    if (!uv_is_closing((uv_handle_t *)&client->timer)) {
        mailbox_close(&client->mailbox);
        uv_close((uv_handle_t *)&client->timer, NULL);
    }
}

static void on_farewell_over(uv_timer_t *timer) {
    finish(timer->data);
}

static void on_flushed(void *context) {
    finish(context);
}

static void say_leave(struct control_client *client, const char *reason) {
    control_link_say(client->link, json_pack("{s:s, s:s}", "type", "leave", "reason", reason));
}

static void say_farewell(struct control_client *client) {
    client->phase = LEAVING;
    if (client->farewell)
        say_leave(client, client->farewell);
    uv_timer_start(&client->timer, on_farewell_over, FAREWELL_MS, 0);
    if (!control_link_flush(client->link, on_flushed))
        finish(client);
}

/* ---- launching ---- */

static void connect_to(struct control_client *client, const char *path);
static void request_stop(struct control_client *client, bool force);
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
    if (client->stop_wanted) {
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

/* The daemon listens, and launch waits for the server to be ready: the session begins now, so that
 * the start can be watched and called off. How it ends is for launch to say. */
static void on_listening(void *context, const char *path) {
    struct control_client *client = context;
    if (client->phase == LEAVING)
        return;
    client->stop_wanted |= client->stop_asked;
    client->stop_asked = false;
    disconnect(client); /* the one before has ended, and launch began anew */
    connect_to(client, path);
}

static void launch_afresh(struct control_client *client) {
    client->was_lost = client->stop_wanted = false;
    client->session[0] = 0;
    launch(client);
}

/* Nobody is connected: tells how the start ended, or does what was asked for meanwhile. */
static void settle_failure(struct control_client *client) {
    json_t *failure = client->failure;
    client->failure = NULL;
    if (client->start_wanted && !client->leave_wanted)
        launch_afresh(client);
    else
        retry(client, (int)message_number(failure, "code", 1), message_text(failure, "message"),
              failure);
    json_decref(failure);
}

/* What launch has started and given up is kept by our session; so that end is seen to first. */
static void on_unlaunched(struct control_client *client, const json_t *result, const char *why) {
    json_t *failure;
    if (client->link && (client->stop_asked || client->stop_wanted))
        return; /* it was called off */
    failure = result ? json_deep_copy(result) : json_object();
    if (message_number(failure, "code", 0) == 0)
        json_object_set_new(failure, "code", json_integer(1));
    if (!message_text(failure, "message")[0])
        json_object_set_new(failure, "message", json_string(why));
    client->failure = failure;
    if (!client->link)
        settle_failure(client);
    else if (client->phase == CONNECTED)
        request_stop(client, false);
}

static void on_launched(void *context, const json_t *result, const char *why) {
    struct control_client *client = context;
    client->run = NULL;
    if (client->phase == LEAVING)
        return;
    if (!result || message_number(result, "code", 1) != 0) {
        on_unlaunched(client, result, why);
        return;
    }
    if (strcmp(message_text(result, "result"), "adopted") == 0 && !client->was_lost)
        mailbox_tell(&client->mailbox, CONTROL_ADOPTED, NULL,
                     message_number(result, "daemon_pid", 0), NULL);
    if (json_is_true(json_object_get(result, "other_command")) && !client->was_lost)
        mailbox_tell_log(&client->mailbox, "launcher", message_text(result, "message"));
    if (!client->link)
        connect_to(client, message_text(result, "control"));
    else if (client->phase == CONNECTED)
        client->was_lost = false;
}

static void launch(struct control_client *client) {
    int rc;
    client->phase = LAUNCHING;
    client->start_wanted = false;
    client->plan.is_launched = true;
    tell_state(client, client->was_lost ? "lost" : "launching", NULL);
    rc = launch_run_start(&client->run, &client->loop, &client->plan.next, on_listening,
                          on_launched, client);
    if (rc < 0) {
        char text[OS_PATH_MAX + 160];
        snprintf(text, sizeof text, "cannot run %s: %s", client->plan.next.program,
                 uv_strerror(rc));
        client->was_lost = false; /* this does not go away by trying again */
        retry(client, 1, text, NULL);
    }
}

/* ---- the session ---- */

static void request_stop(struct control_client *client, bool force) {
    client->stop_wanted = false;
    client->stop_asked = true;
    control_link_say(client->link, json_pack("{s:i, s:s, s:b}", "id", STOP_REQUEST, "type", "stop",
                                             "force", (int)force));
}

static void request_restart(struct control_client *client) {
    control_link_say(client->link,
                     json_pack("{s:i, s:s}", "id", RESTART_REQUEST, "type", "restart"));
}

static bool is_failed(const struct control_client *client) {
    return strcmp(client->server_state, "failed") == 0;
}

static bool is_ending(const struct control_client *client) {
    return strcmp(client->server_state, "stopping") == 0 ||
           strcmp(client->server_state, "stopped") == 0;
}

/* The session is over although it was to go on. */
static void find_again(struct control_client *client, const char *why) {
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

/* The daemon has closed the connection, or died. Whether it was to end, its last state tells; but a
 * daemon that ends while much is on its way to us may not get so far as to tell it. */
static void on_lost(void *context, const char *why) {
    struct control_client *client = context;
    bool ended =
        (is_ending(client) || client->stop_asked || client->stop_wanted) && !client->start_wanted;
    bool was_asked = client->stop_asked;
    client->stop_asked = false;
    disconnect(client);
    if (client->run) { /* it may be about to start another one: its answer is waited for */
        client->stop_wanted |= was_asked;
        client->phase = LAUNCHING;
    } else if (client->failure) {
        settle_failure(client);
    } else if (client->leave_wanted) {
        finish(client);
    } else if (ended) {
        rest(client);
    } else if (client->start_wanted) {
        launch_afresh(client);
    } else {
        find_again(client, why);
    }
}

/* ---- the bridge ---- */

static void on_bridge_call(void *context, int64_t call, json_t *parameters) {
    struct control_client *client = context;
    mailbox_tell(&client->mailbox, CONTROL_CALL, NULL, call, parameters);
}

static void on_bridge_cancelled(void *context, int64_t call) {
    struct control_client *client = context;
    mailbox_tell(&client->mailbox, CONTROL_CANCELLED, NULL, call, NULL);
}

static void on_bridge_state(void *context, const char *state, const char *why) {
    (void)why;
    struct control_client *client = context;
    mailbox_tell(&client->mailbox, CONTROL_BRIDGE, state, 0, NULL);
}

static bool withdraw_call(void *context, int64_t call) {
    struct control_client *client = context;
    return mailbox_withdraw_call(&client->mailbox, call);
}

static struct bridge *bridge_of(struct control_client *client) {
    static const struct bridge_events events = {on_bridge_call, on_bridge_cancelled,
                                                on_bridge_state, withdraw_call};
    const struct bridge_setup setup = {&events, client, client->plan.next.project,
                                       client->plan.next.path, client->plan.next.godot};
    if (client->bridge)
        return client->bridge;
    client->bridge = bridge_create(&client->loop, &setup);
    if (client->bridge && client->registration)
        bridge_offer(client->bridge, json_incref(client->registration));
    return client->bridge;
}

/* What was adopted may be somebody else's server, to which nothing of this means anything. */
static bool speaks_to_editors(const struct control_client *client, const json_t *server) {
    return client->plan.next.is_builtin && client->token[0] &&
           !json_is_false(json_object_get(server, "builtin"));
}

static void update_bridge(struct control_client *client, const json_t *message) {
    const json_t *server = json_object_get(message, "server");
    int64_t port = message_number(server, "ws_port", 0);
    if (port > 0 && strcmp(client->server_state, "ready") == 0 &&
        speaks_to_editors(client, server) && bridge_of(client))
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
    if (strcmp(state, "ready") == 0 && !client->stop_asked && !client->stop_wanted)
        client->start_wanted = false; /* here it is */
    snprintf(client->server_state, sizeof client->server_state, "%s", state);
    json_object_set_new(message, "session", json_string(client->session));
    if ((client->failure || (client->run && !client->stop_asked)) &&
        (is_failed(client) || is_ending(client)))
        return; /* how a start ended, launch says */
    if (failed)
        mailbox_tell(&client->mailbox, CONTROL_FAILED,
                     message_text(json_object_get(message, "server"), "reason"), 1, NULL);
    update_bridge(client, message);
    tell_state(client, state, message);
}

static void on_welcome(struct control_client *client, json_t *message) {
    bool resumed = client->was_lost;
    client->phase = CONNECTED;
    client->connected_at = os_clock_ms();
    client->was_lost = client->run && client->was_lost; /* launch has not answered yet */
    snprintf(client->session, sizeof client->session, "%s", message_text(message, "session"));
    snprintf(client->token, sizeof client->token, "%s", message_text(message, "ws_token"));
    json_object_del(message, "ws_token");
    note_state(client, message);
    control_link_say(client->link,
                     json_pack("{s:i, s:s, s:i, s:b, s:b}", "id", LOG_REQUEST, "type", "logs", "n",
                               resumed ? 0 : LOG_WANTED, "follow", 1, "since_start", 1));
    if (client->leave_wanted)
        say_farewell(client);
    else if (client->stop_wanted || client->failure)
        request_stop(client, client->stop_wanted && client->stop_forced);
}

static void on_error(struct control_client *client, const json_t *message) {
    const char *code = message_text(message, "code");
    if (client->phase == CONNECTED)
        return; /* about something that we said and that it did not understand */
    if (strcmp(code, "stopping") == 0) {
        /* It ends; the connection closes when it has, and then a new one can start. */
        client->start_wanted |= !client->run && !client->failure;
        return;
    }
    if (client->run) { /* which will be told the same, or comes to terms with it */
        disconnect(client);
        client->phase = LAUNCHING;
        return;
    }
    disconnect(client);
    client->was_lost = false; /* to ask again would not change the answer */
    retry(client, 1, message_text(message, "message"), NULL);
}

static void on_refused(struct control_client *client, const json_t *message, int64_t id) {
    bool start_wanted = client->start_wanted;
    if (id == STOP_REQUEST)
        client->stop_asked = client->start_wanted = false;
    if (id == STOP_REQUEST && client->failure) { /* others use it: it failed for us only */
        say_leave(client, "disable");
        disconnect(client);
        settle_failure(client);
    } else if (id == STOP_REQUEST && start_wanted && is_failed(client))
        request_restart(client); /* others use it as well: as it is set for them */
    else
        mailbox_tell(&client->mailbox, CONTROL_REFUSED, message_text(message, "message"), 0, NULL);
}

static void on_reply(struct control_client *client, const json_t *message, int64_t id) {
    if (id == LOG_REQUEST) {
        const json_t *lines = json_object_get(message, "lines");
        for (size_t i = 0; i < json_array_size(lines); i++)
            mailbox_tell_logged(&client->mailbox, json_string_value(json_array_get(lines, i)));
    } else if (!json_is_true(json_object_get(message, "ok"))) {
        on_refused(client, message, id);
    }
}

static void on_message(void *context, json_t *message) {
    struct control_client *client = context;
    const char *type = message_text(message, "type");
    if (client->phase == LEAVING)
        ; /* nothing is of interest any more */
    else if (strcmp(type, "welcome") == 0)
        on_welcome(client, message);
    else if (strcmp(type, "state") == 0)
        note_state(client, message);
    else if (strcmp(type, "log") == 0)
        mailbox_tell_log(&client->mailbox, message_text(message, "stream"),
                         message_text(message, "line"));
    else if (strcmp(type, "ping") == 0)
        control_link_say(client->link, json_pack("{s:s}", "type", "pong"));
    else if (strcmp(type, "error") == 0)
        on_error(client, message);
    else if (message_number(message, "id", 0))
        on_reply(client, message, message_number(message, "id", 0));
}

static void say_hello(void *context) {
    struct control_client *client = context;
    struct os_identity self = {0};
    os_identity_self(&self);
    control_link_say(client->link,
                     hello_message(&(struct hello){.protocol = TETHER_PROTOCOL,
                                                   .role = "editor",
                                                   .pid = self.pid,
                                                   .start = self.start,
                                                   .version = tether_version,
                                                   .godot = client->plan.next.godot,
                                                   .project = client->plan.next.project,
                                                   .resume = client->session}));
}

static void connect_to(struct control_client *client, const char *path) {
    static const struct control_link_events events = {say_hello, on_message, on_lost};
    client->link = control_link_open(&client->loop, path, &events, client);
    if (client->link)
        client->phase = CONNECTING;
    else if (!client->run)
        retry(client, 1, "out of memory", NULL);
}

/* ---- commands ---- */

static void start(struct control_client *client) {
    bool is_called_off = client->stop_wanted || client->stop_asked;
    client->stop_wanted = false;
    if (client->phase == RETRYING) {
        uv_timer_stop(&client->timer);
        launch(client);
    } else if (client->phase == IDLE) {
        client->attempts = 0;
        launch(client);
    } else if (is_called_off || (client->phase == CONNECTED && is_ending(client))) {
        client->start_wanted = true; /* when it is gone */
    } else if (client->phase == CONNECTED && is_failed(client) && !client->run) {
        client->start_wanted = true; /* afresh, for the cause may have been set right since */
        request_stop(client, false);
    }
}

static void stop(struct control_client *client, bool force) {
    client->start_wanted = false;
    client->stop_forced = force;
    json_decref(client->failure); /* it is wanted no more than what failed */
    client->failure = NULL;
    if (client->phase == CONNECTED) {
        request_stop(client, force);
    } else if (client->phase == RETRYING) {
        uv_timer_stop(&client->timer);
        rest(client);
    } else if (client->phase != IDLE) {
        client->stop_wanted = true; /* once there is somebody to be told */
    }
}

/* Ends what was started with other properties, and starts with those of now. Where they are for
 * other ports, whoever else uses the old one keeps it. */
static void replace(struct control_client *client, bool force) {
    if (client->run || launch_plan_keeps_ports(&client->plan)) {
        client->start_wanted = true;
        request_stop(client, force);
    } else {
        say_leave(client, "disable");
        disconnect(client);
        launch_afresh(client);
    }
}

static void restart(struct control_client *client, bool force) {
    if (client->phase != CONNECTED || is_ending(client) || client->stop_asked)
        start(client);
    else if (client->plan.is_launched)
        request_restart(client);
    else
        replace(client, force);
}

static void leave(struct control_client *client, const struct mailbox_command *command) {
    static const char *const reasons[] = {"disable", "quit", "reload", "restart"};
    client->leave_wanted = true;
    client->farewell = NULL;
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (strcmp(command->reason, reasons[i]) == 0)
            client->farewell = reasons[i];
    if (client->plan.next.is_unowned && strcmp(command->reason, "quit") == 0)
        client->farewell = NULL; /* it is meant to stay */
    if (client->phase == CONNECTED)
        say_farewell(client);
    else if (command->flag || client->phase == IDLE || client->phase == RETRYING)
        finish(client);
}

static void obey(struct control_client *client, struct mailbox_command *command) {
    switch (command->kind) {
    case COMMAND_SET_UP:
        launch_plan_change(&client->plan, &command->setup);
        break;
    case COMMAND_START:
        start(client);
        break;
    case COMMAND_STOP:
        stop(client, command->flag);
        break;
    case COMMAND_RESTART:
        restart(client, command->flag);
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
static void consider(struct control_client *client, struct mailbox_command *command) {
    bool is_leaving = client->phase == LEAVING || client->leave_wanted;
    if (!is_leaving || (client->phase != LEAVING && command->kind == COMMAND_LEAVE))
        obey(client, command);
    else if (command->kind == COMMAND_LEAVE && command->flag && client->phase != LEAVING)
        finish(client);
}

static void on_wake(uv_async_t *wake) {
    struct control_client *client = wake->data;
    struct mailbox_command *command = mailbox_take_commands(&client->mailbox), *next;
    for (; command; command = next) {
        next = command->next;
        consider(client, command);
        command_free(command);
    }
}

void control_client_set_up(struct control_client *client, struct launch_setup *setup) {
    struct mailbox_command *command = command_create(COMMAND_SET_UP, false);
    command->setup = *setup;
    *setup = (struct launch_setup){0};
    mailbox_put_command(&client->mailbox, command);
}

void control_client_start(struct control_client *client) {
    mailbox_put_command(&client->mailbox, command_create(COMMAND_START, false));
}

void control_client_stop(struct control_client *client, bool force) {
    mailbox_put_command(&client->mailbox, command_create(COMMAND_STOP, force));
}

void control_client_restart(struct control_client *client, bool force) {
    mailbox_put_command(&client->mailbox, command_create(COMMAND_RESTART, force));
}

void control_client_offer(struct control_client *client, json_t *registration) {
    struct mailbox_command *command = command_create(COMMAND_OFFER, false);
    command->json = registration;
    mailbox_put_command(&client->mailbox, command);
}

void control_client_answer(struct control_client *client, int64_t call, json_t *result) {
    struct mailbox_command *command = command_create(COMMAND_ANSWER, false);
    command->call = call;
    command->json = result;
    mailbox_put_command(&client->mailbox, command);
}

void control_client_activate(struct control_client *client) {
    mailbox_put_command(&client->mailbox, command_create(COMMAND_ACTIVATE, false));
}

void control_client_leave(struct control_client *client, const char *reason, bool hurry) {
    struct mailbox_command *command = command_create(COMMAND_LEAVE, hurry);
    snprintf(command->reason, sizeof command->reason, "%s", reason ? reason : "");
    mailbox_put_command(&client->mailbox, command);
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
    launch_plan_finish(&client->plan);
    json_decref(client->failure);
    free(client);
}

struct control_client *control_client_create(struct launch_setup *setup) {
    struct control_client *client = calloc(1, sizeof *client);
    if (!client || uv_loop_init(&client->loop) < 0) {
        free(client);
        return NULL;
    }
    mailbox_init(&client->mailbox, &client->loop, on_wake, client);
    uv_timer_init(&client->loop, &client->timer);
    client->timer.data = client;
    launch_plan_change(&client->plan, setup);
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
