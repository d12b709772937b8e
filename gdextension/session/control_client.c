#include "control_client.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "bridge.h"
#include "mailbox.h"
#include "os/os.h"
#include "protocol/daemon_client.h"
#include "session_step.h"

enum {
    LOG_WANTED = 200,   /* lines of the log that a new session asks for */
    FAREWELL_MS = 300,  /* for the last word to go out, when there is no time to lose */
    HEALTHY_MS = 10000, /* a session that held so long makes attempts be counted anew */
};

/* A code of `tether launch`: a stranger holds a port. */
enum { PORT_HELD = 3 };

/* The ids of requests. Each stop has one more than the one before, whose answer does not count any
 * more. */
enum { LOG_REQUEST = 1, RESTART_REQUEST, STOP_REQUEST };

struct control_client {
    uv_thread_t thread;
    uv_loop_t loop;
    uv_timer_t timer; /* the next attempt, or the end of a farewell */

    struct mailbox mailbox;
    atomic_bool is_done;

    /* the thread's own */
    struct session session;
    struct launch_plan plan;
    struct launch_run *run;       /* whose answer is awaited, or NULL */
    struct daemon_client *daemon; /* or NULL */
    struct bridge *bridge;        /* to the built-in server, once that is ready */
    char token[128];              /* for the bridge */
    json_t *reason;               /* why it failed, with code and message; or NULL */
    json_t *state;                /* the daemon's last; or NULL */
    char id[24];                  /* of the session, to be resumed */
    int64_t stop_request;
    int64_t connected_at;
    const char *farewell; /* the reason to leave with, or NULL: without a word */
    char text[OS_PATH_MAX + 160];
};

/* What happens, with what belongs to it. All is lent. */
struct news {
    struct session_event event;
    const char *text;     /* why, or the path of a socket */
    const json_t *result; /* launch's, or NULL */
    const json_t *reply;  /* that refuses, or NULL */
};

static void feed(struct control_client *client, struct news news);

static void feed_kind(struct control_client *client, enum session_event_kind kind) {
    feed(client, (struct news){.event.kind = kind});
}

struct control_event *control_client_take(struct control_client *client) {
    return mailbox_take_events(&client->mailbox);
}

/* ---- the bridge ---- */

/* What was adopted may be somebody else's server, to which nothing of this means anything. */
static bool speaks_to_editors(const struct control_client *client, const json_t *server) {
    return client->plan.next.is_builtin && client->token[0] &&
           !json_is_false(json_object_get(server, "builtin"));
}

static void update_bridge(struct control_client *client, const json_t *message) {
    const json_t *server = json_object_get(message, "server");
    int64_t port = message_number(server, "ws_port", 0);
    if (port > 0 && message_state(message) == SERVER_READY && speaks_to_editors(client, server))
        bridge_connect(client->bridge, (uint16_t)port, client->token);
}

/* ---- what happens ---- */

static void on_listening(void *context, const char *path) {
    feed(context, (struct news){.event.kind = SESSION_ON_LISTENING, .text = path});
}

static void on_launch_over(void *context, const json_t *result, const char *why) {
    struct control_client *client = context;
    int64_t code = message_number(result, "code", 1);
    client->run = NULL;
    if (result && code == 0)
        feed(client, (struct news){.event.kind = SESSION_ON_LAUNCHED,
                                   .text = message_text(result, "control"),
                                   .result = result});
    else
        feed(client, (struct news){.event = {SESSION_ON_UNLAUNCHED, .hopeless = code == PORT_HELD},
                                   .text = why,
                                   .result = result});
}

static enum session_server server_of(const json_t *message) {
    enum server_state state = message_state(message);
    return state == SERVER_FAILED    ? SESSION_SERVER_FAILED
           : server_is_ending(state) ? SESSION_SERVER_ENDING
                                     : SESSION_SERVER_GOING;
}

static void on_state(struct control_client *client, enum session_event_kind kind, json_t *message) {
    json_decref(client->state);
    client->state = json_incref(message);
    feed(client, (struct news){.event = {kind, .server = server_of(message)}});
}

static void on_welcome(struct control_client *client, json_t *message) {
    client->connected_at = os_clock_ms();
    snprintf(client->id, sizeof client->id, "%s", message_text(message, "session"));
    snprintf(client->token, sizeof client->token, "%s", message_text(message, "ws_token"));
    json_object_del(message, "ws_token");
    on_state(client, SESSION_ON_WELCOME, message);
}

/* After the welcome an error is about something that we said and that it did not understand. */
static void on_error(struct control_client *client, json_t *message) {
    if (client->session.phase == SESSION_CONNECTING)
        feed(client,
             (struct news){.event = {SESSION_ON_REFUSED,
                                     .ending = message_refusal(message) == REFUSED_STOPPING},
                           .text = message_text(message, "message")});
}

static void on_reply(struct control_client *client, json_t *message, int64_t id) {
    bool is_refused = !json_is_true(json_object_get(message, "ok"));
    if (id == LOG_REQUEST) {
        const json_t *lines = json_object_get(message, "lines");
        for (size_t i = 0; i < json_array_size(lines); i++)
            mailbox_tell_logged(&client->mailbox, json_string_value(json_array_get(lines, i)));
    } else if (is_refused && id == client->stop_request) {
        feed(client, (struct news){.event.kind = SESSION_ON_STOP_REFUSED, .reply = message});
    } else if (is_refused && id == RESTART_REQUEST) {
        feed(client,
             (struct news){.event = {SESSION_ON_RESTART_REFUSED,
                                     .ending = message_refusal(message) == REFUSED_STOPPING},
                           .reply = message});
    }
}

static void on_heard(void *context, enum message_kind kind, json_t *message) {
    struct control_client *client = context;
    if (client->session.phase == SESSION_LEAVING)
        return;
    if (kind == MESSAGE_WELCOME)
        on_welcome(client, message);
    else if (kind == MESSAGE_STATE)
        on_state(client, SESSION_ON_STATE, message);
    else if (kind == MESSAGE_LOG)
        mailbox_tell_log(&client->mailbox, message_text(message, "stream"),
                         message_text(message, "line"));
    else if (kind == MESSAGE_ERROR)
        on_error(client, message);
    else if (kind == MESSAGE_REPLY)
        on_reply(client, message, message_number(message, "id", 0));
}

static void on_lost(void *context, int why) {
    struct control_client *client = context;
    bool is_healthy = client->session.phase == SESSION_CONNECTED &&
                      os_clock_ms() - client->connected_at > HEALTHY_MS;
    feed(client, (struct news){.event = {SESSION_ON_LOST, .healthy = is_healthy},
                               .text = why == UV_EOF ? "the daemon closed the connection"
                                                     : uv_strerror(why)});
}

static void on_retry_due(uv_timer_t *timer) {
    feed_kind(timer->data, SESSION_ON_RETRY_DUE);
}

static void on_farewell_late(uv_timer_t *timer) {
    feed_kind(timer->data, SESSION_ON_FAREWELL_OVER);
}

static void on_farewell_out(void *context) {
    feed_kind(context, SESSION_ON_FAREWELL_OVER);
}

/* ---- what is done ---- */

static void disconnect(struct control_client *client) {
    daemon_client_close(client->daemon);
    client->daemon = NULL;
    json_decref(client->state);
    client->state = NULL;
    bridge_disconnect(client->bridge);
}

static void finish(struct control_client *client) {
    bridge_destroy(client->bridge);
    client->bridge = NULL;
    if (!uv_is_closing((uv_handle_t *)&client->timer)) {
        mailbox_close(&client->mailbox);
        uv_close((uv_handle_t *)&client->timer, NULL);
    }
}

static void ask(struct control_client *client, int64_t id, const char *type, json_t *more) {
    json_t *request = json_pack("{s:I, s:s}", "id", (json_int_t)id, "type", type);
    json_object_update(request, more);
    json_decref(more);
    daemon_client_say(client->daemon, request);
}

/* ---- what is told ---- */

/* A copy: references are not to be shared between threads. */
static void tell_state(struct control_client *client, const char *state, const json_t *json) {
    mailbox_tell(&client->mailbox, CONTROL_STATE, state, 0, json_deep_copy(json));
}

/* What may have to be told later: as launch said it, or in its terms. */
static void keep_reason(struct control_client *client, const struct news *news) {
    json_t *reason = news->result ? json_deep_copy(news->result) : json_object();
    if (message_number(reason, "code", 0) == 0)
        json_object_set_new(reason, "code", json_integer(1));
    if (!message_text(reason, "message")[0])
        json_object_set_new(reason, "message", json_string(news->text));
    json_decref(client->reason);
    client->reason = reason;
}

static void tell_failure(struct control_client *client) {
    json_t *reason = client->reason;
    int64_t code = message_number(reason, "code", 1);
    client->reason = NULL;
    mailbox_tell(&client->mailbox, CONTROL_FAILED, message_text(reason, "message"), code, reason);
    tell_state(client, code == PORT_HELD ? "blocked" : "failed", NULL);
}

static void tell_launched(struct control_client *client, const json_t *result) {
    if (strcmp(message_text(result, "result"), "adopted") == 0)
        mailbox_tell(&client->mailbox, CONTROL_ADOPTED, NULL,
                     message_number(result, "daemon_pid", 0), NULL);
    if (json_is_true(json_object_get(result, "other_command")))
        mailbox_tell_log(&client->mailbox, "launcher", message_text(result, "message"));
}

static void tell_server(struct control_client *client) {
    json_object_set_new(client->state, "session", json_string(client->id));
    update_bridge(client, client->state);
    tell_state(client, message_text(client->state, "state"), client->state);
}

static void tell_news(struct control_client *client, enum session_action action,
                      const struct news *news) {
    switch (action) {
    case SESSION_DO_TELL_LAUNCHED:
        tell_launched(client, news->result);
        break;
    case SESSION_DO_TELL_SERVER_FAILED:
        mailbox_tell(&client->mailbox, CONTROL_FAILED,
                     message_text(json_object_get(client->state, "server"), "reason"), 1, NULL);
        break;
    case SESSION_DO_TELL_STATE:
        tell_server(client);
        break;
    case SESSION_DO_TELL_REFUSED:
        mailbox_tell(&client->mailbox, CONTROL_REFUSED, message_text(news->reply, "message"), 0,
                     NULL);
        break;
    case SESSION_DO_TELL_FAILURE:
        tell_failure(client);
        break;
    case SESSION_DO_TELL_STOPPED:
        tell_state(client, "stopped", NULL);
        break;
    case SESSION_DO_TELL_LOST:
        tell_state(client, "lost", NULL);
        break;
    case SESSION_DO_TELL_LAUNCHING:
        tell_state(client, "launching", NULL);
        break;
    default:
        break;
    }
}

/* ---- actions that may come to nothing: then that is the next thing that happens ---- */

static struct news connect_to(struct control_client *client, const char *path) {
    static const struct daemon_client_events events = {NULL, on_heard, on_lost};
    const struct hello hello = {.role = "editor",
                                .godot = client->plan.next.godot,
                                .project = client->plan.next.project,
                                .resume = client->id};
    client->daemon = daemon_client_open(&client->loop, path, hello, &events, client);
    if (!client->daemon)
        return (struct news){.event.kind = SESSION_ON_LOST, .text = "out of memory"};
    return (struct news){0};
}

static struct news launch(struct control_client *client) {
    int rc = launch_setup_run(&client->run, &client->loop, &client->plan.next, on_listening,
                              on_launch_over, client);
    client->plan.is_launched = true;
    if (rc == 0)
        return (struct news){0};
    snprintf(client->text, sizeof client->text, "cannot run %s: %s%s", client->plan.next.program,
             uv_strerror(rc),
             rc == UV_EACCES ? "; make it executable, where programs may be run at all" : "");
    return (struct news){.event = {SESSION_ON_UNLAUNCHED, .hopeless = true}, .text = client->text};
}

static struct news say_farewell(struct control_client *client) {
    if (client->farewell)
        daemon_client_leave(client->daemon, client->farewell);
    uv_timer_start(&client->timer, on_farewell_late, FAREWELL_MS, 0);
    if (daemon_client_flush(client->daemon, on_farewell_out))
        return (struct news){0};
    return (struct news){.event.kind = SESSION_ON_FAREWELL_OVER};
}

static struct news carry_out(struct control_client *client, enum session_action action,
                             const struct session_actions *actions, const struct news *news) {
    switch (action) {
    case SESSION_DO_STOP_TIMER:
        uv_timer_stop(&client->timer);
        break;
    case SESSION_DO_KEEP_REASON:
        keep_reason(client, news);
        break;
    case SESSION_DO_SAY_DISABLE:
        daemon_client_leave(client->daemon, "disable");
        break;
    case SESSION_DO_ABORT_LAUNCH:
        launch_run_abort(client->run);
        client->run = NULL;
        break;
    case SESSION_DO_DISCONNECT:
        disconnect(client);
        break;
    case SESSION_DO_FORGET_SESSION:
        client->id[0] = 0;
        break;
    case SESSION_DO_CONNECT:
        return connect_to(client, news->text);
    case SESSION_DO_FOLLOW_LOG:
        ask(client, LOG_REQUEST, "logs",
            json_pack("{s:i, s:b, s:b}", "n", actions->recall ? LOG_WANTED : 0, "follow", 1,
                      "since_start", 1));
        break;
    case SESSION_DO_ASK_STOP:
        ask(client, ++client->stop_request, "stop",
            json_pack("{s:b}", "force", (int)actions->forced));
        break;
    case SESSION_DO_ASK_RESTART:
        ask(client, RESTART_REQUEST, "restart", json_object());
        break;
    case SESSION_DO_LAUNCH:
        return launch(client);
    case SESSION_DO_ARM_RETRY:
        uv_timer_start(&client->timer, on_retry_due, (uint64_t)actions->delay_ms, 0);
        break;
    case SESSION_DO_FAREWELL:
        return say_farewell(client);
    case SESSION_DO_FINISH:
        finish(client);
        break;
    default:
        tell_news(client, action, news);
        break;
    }
    return (struct news){0};
}

/* At most one action of a step comes to nothing. */
static void feed(struct control_client *client, struct news news) {
    while (news.event.kind != SESSION_ON_NOTHING) {
        struct session_actions actions = {0};
        struct news next = {0};
        session_step(&client->session, &news.event, &actions);
        for (uint32_t action = 1; action <= SESSION_DO_FINISH; action <<= 1) {
            if (actions.set & action) {
                struct news came = carry_out(client, (enum session_action)action, &actions, &news);
                if (came.event.kind != SESSION_ON_NOTHING)
                    next = came;
            }
        }
        news = next;
    }
}

/* ---- commands ---- */

static struct session_event event_of(const struct control_client *client,
                                     const struct mailbox_command *command) {
    static const enum session_event_kind kinds[] = {[COMMAND_START] = SESSION_ON_START,
                                                    [COMMAND_STOP] = SESSION_ON_STOP,
                                                    [COMMAND_RESTART] = SESSION_ON_RESTART,
                                                    [COMMAND_LEAVE] = SESSION_ON_LEAVE};
    return (struct session_event){.kind = kinds[command->kind],
                                  .forced = command->force,
                                  .hurry = command->hurry,
                                  .changed = !client->plan.is_launched,
                                  .elsewhere = !launch_plan_keeps_ports(&client->plan)};
}

static void obey(struct control_client *client, struct mailbox_command *command) {
    switch (command->kind) {
    case COMMAND_SET_UP:
        launch_plan_change(&client->plan, &command->setup);
        break;
    case COMMAND_OFFER:
        bridge_offer(client->bridge, json_incref(command->json));
        break;
    case COMMAND_ANSWER:
        bridge_answer(client->bridge, command->call, json_incref(command->json));
        break;
    case COMMAND_SAY:
        bridge_say(client->bridge, json_incref(command->json));
        break;
    case COMMAND_ACTIVATE:
        bridge_activate(client->bridge);
        break;
    case COMMAND_LEAVE:
        client->farewell = command->reason;
        if (client->plan.next.is_unowned && client->farewell &&
            strcmp(client->farewell, "quit") == 0)
            client->farewell = NULL; /* it is meant to stay */
        feed(client, (struct news){.event = event_of(client, command)});
        break;
    default:
        feed(client, (struct news){.event = event_of(client, command)});
        break;
    }
}

static void on_wake(uv_async_t *wake) {
    struct control_client *client = wake->data;
    struct mailbox_command *command = mailbox_take_commands(&client->mailbox), *next;
    for (; command; command = next) {
        next = command->next;
        /* While it is leaving, the only word that still counts is to do so in a hurry. */
        if (!session_is_leaving(&client->session) ||
            (command->kind == COMMAND_LEAVE && client->session.phase != SESSION_LEAVING))
            obey(client, command);
        command_free(command);
    }
}

void control_client_tell(struct control_client *client, struct mailbox_command command) {
    mailbox_put_command(&client->mailbox, command);
}

const char *control_reason(const char *word) {
    static const char *const reasons[] = {"disable", "quit", "reload", "restart"};
    for (size_t i = 0; word && i < sizeof reasons / sizeof reasons[0]; i++)
        if (strcmp(word, reasons[i]) == 0)
            return reasons[i];
    return NULL;
}

/* ---- the thread ---- */

static void thread_main(void *argument) {
    struct control_client *client = argument;
    os_thread_block_signals();
    uv_run(&client->loop, UV_RUN_DEFAULT);
    atomic_store(&client->is_done, true);
}

static void release(struct control_client *client) {
    uv_loop_close(&client->loop);
    mailbox_finish(&client->mailbox);
    launch_plan_finish(&client->plan);
    json_decref(client->reason);
    free(client);
}

struct control_client *control_client_create(struct launch_setup *setup) {
    struct control_client *client = calloc(1, sizeof *client);
    if (!client || uv_loop_init(&client->loop) < 0) {
        launch_setup_finish(setup);
        free(client);
        return NULL;
    }
    mailbox_init(&client->mailbox, &client->loop, on_wake, client);
    uv_timer_init(&client->loop, &client->timer);
    client->timer.data = client;
    client->stop_request = STOP_REQUEST;
    launch_plan_change(&client->plan, setup);
    client->bridge = bridge_create(&client->loop, &client->mailbox, &client->plan.next);
    if (!client->bridge || uv_thread_create(&client->thread, thread_main, client) < 0) {
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
