#include "bridge.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "json_text.h"
#include "os/os.h"
#include "protocol/message.h"
#include "protocol/version.h"
#include "protocol/websocket_client.h"

enum {
    RETRY_MS = 100, /* doubled with each attempt that fails */
    RETRY_MOST_MS = 5000,
    BUSY_MS = 5000, /* without a frame: then a call is answered as "busy" */
    CALLS_MOST = 256,
};

/* A call that has come and is not yet known to be taken up. */
struct waiting {
    int64_t call;
    int64_t deadline;
    bool is_tool;
};

struct bridge {
    uv_loop_t *loop;
    uv_timer_t retry, busy;
    struct websocket_client client;
    struct mailbox *mailbox;
    json_t *hello;        /* its parameters */
    json_t *registration; /* or NULL: nothing is offered yet */
    uint16_t port;
    char token[128];
    bool is_wanted, is_in_use /* the client, by the loop */, is_welcome, is_ending;
    int delay;                          /* before the next attempt */
    int open_timers;                    /* that the loop still has */
    struct waiting waiting[CALLS_MOST]; /* in the order of their deadlines */
    size_t waiting_count;
};

/* ---- saying ---- */

/* UV_EINVAL: this is nothing that can be said; else as websocket_stream_send. */
static int say(struct bridge *bridge, json_t *message) {
    char *text = json_text(message);
    int rc = text ? UV_ENOTCONN : UV_EINVAL;
    if (text && bridge->is_in_use)
        rc = websocket_stream_send(&bridge->client.stream, text, strlen(text));
    free(text);
    json_decref(message);
    return rc;
}

static void notify(struct bridge *bridge, const char *method, json_t *parameters) {
    say(bridge,
        json_pack("{s:s, s:s, s:O}", "jsonrpc", "2.0", "method", method, "params", parameters));
}

static void tell_offer(struct bridge *bridge) {
    if (bridge->is_welcome && bridge->registration)
        notify(bridge, "editor/register", bridge->registration);
}

void bridge_offer(struct bridge *bridge, json_t *registration) {
    json_decref(bridge->registration);
    bridge->registration = registration;
    tell_offer(bridge);
}

void bridge_activate(struct bridge *bridge) {
    json_t *nothing = json_object();
    if (bridge->is_welcome)
        notify(bridge, "editor/active", nothing);
    json_decref(nothing);
}

static void forget_waiting(struct bridge *bridge, int64_t call) {
    for (size_t i = 0; i < bridge->waiting_count; i++) {
        if (bridge->waiting[i].call == call) {
            bridge->waiting_count--;
            memmove(bridge->waiting + i, bridge->waiting + i + 1,
                    (bridge->waiting_count - i) * sizeof bridge->waiting[0]);
            return;
        }
    }
}

static int say_result(struct bridge *bridge, int64_t call, json_t *result) {
    json_t *error = json_object_get(json_object_get(result, "error"), "code");
    if (error) {
        json_object_set_new(result, "jsonrpc", json_string("2.0"));
        json_object_set_new(result, "id", json_integer(call));
        return say(bridge, result);
    }
    return say(bridge, json_pack("{s:s, s:I, s:o}", "jsonrpc", "2.0", "id", (json_int_t)call,
                                 "result", result));
}

void bridge_say(struct bridge *bridge, json_t *message) {
    if (bridge->is_welcome)
        say(bridge, message);
    else
        json_decref(message);
}

/* Whoever called gets an answer, also in place of one that cannot be sent. */
void bridge_answer(struct bridge *bridge, int64_t call, json_t *result) {
    int rc = say_result(bridge, call, result);
    forget_waiting(bridge, call); /* else a few hundred quick calls would count as too many */
    if (rc == UV_EMSGSIZE)
        say_result(bridge, call,
                   bridge_failure("The tool's result is larger than the 32 MiB that can be sent; "
                                  "ask for less of it."));
    else if (rc == UV_EINVAL)
        say_result(bridge, call, bridge_failure("The tool's result has no form in JSON."));
}

json_t *bridge_failure(const char *text) {
    return json_pack("{s:[{s:s, s:s}], s:b}", "content", "type", "text", "text", text, "isError",
                     1);
}

json_t *bridge_error(const char *text) {
    return json_pack("{s:{s:i, s:s}}", "error", "code", -32603, "message", text);
}

static json_t *refusal(bool is_tool, const char *text) {
    return is_tool ? bridge_failure(text) : bridge_error(text);
}

/* ---- calls that nobody takes up ---- */

static void watch_waiting(struct bridge *bridge);

/* Also too early, where the loop's time goes on while the machine sleeps. */
static void on_busy(uv_timer_t *timer) {
    struct bridge *bridge = timer->data;
    while (bridge->waiting_count > 0 && bridge->waiting[0].deadline <= os_clock_ms()) {
        int64_t call = bridge->waiting[0].call;
        bool is_tool = bridge->waiting[0].is_tool;
        forget_waiting(bridge, call);
        if (mailbox_withdraw_call(bridge->mailbox, call))
            bridge_answer(bridge, call,
                          refusal(is_tool,
                                  "The editor is busy: it has not run a frame for 5 seconds "
                                  "(an import, a long script, or a dialog of the system). "
                                  "Nothing was done; try again in a moment."));
    }
    watch_waiting(bridge);
}

static void watch_waiting(struct bridge *bridge) {
    int64_t left;
    if (bridge->waiting_count == 0)
        return;
    left = bridge->waiting[0].deadline - os_clock_ms();
    uv_timer_start(&bridge->busy, on_busy, left > 0 ? (uint64_t)left : 0, 0);
}

/* A member for whoever may hold it longer than the message, or on another thread. */
static json_t *take_member(json_t *message, const char *key) {
    json_t *member = json_incref(json_object_get(message, key));
    json_object_del(message, key);
    return member;
}

static void take_call(struct bridge *bridge, const char *method, int64_t call, json_t *parameters) {
    bool is_tool = strcmp(method, "tools/call") == 0;
    if (bridge->waiting_count == CALLS_MOST) {
        json_decref(parameters);
        bridge_answer(
            bridge, call,
            refusal(is_tool, "The editor has too many calls to answer; try again later."));
        return;
    }
    bridge->waiting[bridge->waiting_count++] =
        (struct waiting){call, os_clock_ms() + BUSY_MS, is_tool};
    if (bridge->waiting_count == 1)
        watch_waiting(bridge);
    mailbox_tell(bridge->mailbox, CONTROL_CALL, method, call, parameters);
}

/* ---- hearing ---- */

/* What an editor is asked for a client. */
static bool is_call(const char *method) {
    static const char *const methods[] = {"tools/call", "resources/read", "prompts/get",
                                          "completion/complete"};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (strcmp(method, methods[i]) == 0)
            return true;
    return false;
}

/* All changes of resources are told anyway, whoever listens. */
static bool is_subscription(const char *method) {
    return strcmp(method, "resources/subscribe") == 0 ||
           strcmp(method, "resources/unsubscribe") == 0;
}

static void on_welcome(struct bridge *bridge) {
    bridge->is_welcome = true;
    bridge->delay = RETRY_MS;
    tell_offer(bridge);
    mailbox_tell(bridge->mailbox, CONTROL_BRIDGE, "connected", 0, NULL);
}

static void on_message(void *context, struct websocket_client *client, char *text, size_t length) {
    struct bridge *bridge = context;
    /* What the server has let through, a NUL in a text too, is to be understood and answered. */
    json_t *message = json_loadb(text, length, JSON_ALLOW_NUL, NULL);
    const char *method = message_text(message, "method");
    int64_t id = message_number(message, "id", -1);
    (void)client;
    if (is_call(method) && id >= 0)
        take_call(bridge, method, id, take_member(message, "params"));
    else if (is_subscription(method) && id >= 0)
        say_result(bridge, id, json_object());
    else if (strcmp(method, "notifications/cancelled") == 0)
        mailbox_tell(bridge->mailbox, CONTROL_CANCELLED, NULL,
                     message_number(json_object_get(message, "params"), "call", 0), NULL);
    else if (method[0] && id >= 0)
        say(bridge, json_pack("{s:s, s:I, s:{s:i, s:s+}}", "jsonrpc", "2.0", "id", (json_int_t)id,
                              "error", "code", -32601, "message", "this editor has no ", method));
    else if (!method[0] && id > 0) /* 0 is hello */
        mailbox_tell(bridge->mailbox, CONTROL_ANSWERED, NULL, id, json_incref(message));
    else if (!method[0] && json_object_get(message, "result"))
        on_welcome(bridge);
    json_decref(message);
}

/* ---- the connection ---- */

static void on_open(void *context, struct websocket_client *client) {
    struct bridge *bridge = context;
    (void)client;
    say(bridge, json_pack("{s:s, s:i, s:s, s:O}", "jsonrpc", "2.0", "id", 0, "method",
                          "editor/hello", "params", bridge->hello));
}

static void release(struct bridge *bridge) {
    if (bridge->open_timers > 0 || bridge->is_in_use)
        return;
    json_decref(bridge->hello);
    json_decref(bridge->registration);
    free(bridge);
}

static void on_timer_closed(uv_handle_t *handle) {
    struct bridge *bridge = handle->data;
    bridge->open_timers--;
    release(bridge);
}

static void open_client(struct bridge *bridge);

static void on_retry(uv_timer_t *timer) {
    open_client(timer->data);
}

static void on_close(void *context, struct websocket_client *client, int code, const char *why) {
    struct bridge *bridge = context;
    bool was_welcome = bridge->is_welcome;
    (void)client;
    (void)code;
    (void)why;
    bridge->is_in_use = false;
    bridge->is_welcome = false;
    bridge->waiting_count = 0;
    uv_timer_stop(&bridge->busy);
    if (bridge->is_ending) {
        release(bridge);
        return;
    }
    if (was_welcome)
        mailbox_tell(bridge->mailbox, CONTROL_BRIDGE, "off", 0, NULL);
    if (bridge->is_wanted) {
        uv_timer_start(&bridge->retry, on_retry, (uint64_t)bridge->delay, 0);
        bridge->delay = bridge->delay * 2 < RETRY_MOST_MS ? bridge->delay * 2 : RETRY_MOST_MS;
    }
}

static void open_client(struct bridge *bridge) {
    static const struct websocket_client_events events = {
        .on_open = on_open, .on_message = on_message, .on_close = on_close};
    const struct websocket_client_options options = {.port = bridge->port, .token = bridge->token};
    if (bridge->is_in_use || !bridge->is_wanted)
        return;
    bridge->is_in_use = true;
    websocket_client_open(&bridge->client, bridge->loop, &options, &events, bridge);
}

void bridge_connect(struct bridge *bridge, uint16_t port, const char *token) {
    bridge->is_wanted = true;
    bridge->port = port;
    bridge->delay = RETRY_MS;
    snprintf(bridge->token, sizeof bridge->token, "%s", token);
    uv_timer_stop(&bridge->retry);
    open_client(bridge); /* if the last one is still closing, its end opens the next */
}

void bridge_disconnect(struct bridge *bridge) {
    bridge->is_wanted = false;
    uv_timer_stop(&bridge->retry);
    if (bridge->is_in_use)
        websocket_client_abort(&bridge->client, 1001, "the editor goes");
}

/* ---- the whole ---- */

static json_t *hello_parameters(const struct launch_setup *setup) {
    struct os_identity self = {0};
    json_t *hello;
    os_identity_self(&self);
    hello = process_json(self.pid, self.start);
    json_object_update_new(hello, json_pack("{s:i, s:s*, s:s*, s:s*, s:s}", "protocol", 1,
                                            "project", setup->project, "path", setup->path, "godot",
                                            setup->godot, "version", tether_version));
    return hello;
}

struct bridge *bridge_create(uv_loop_t *loop, struct mailbox *mailbox,
                             const struct launch_setup *setup) {
    struct bridge *bridge = calloc(1, sizeof *bridge);
    if (!bridge)
        return NULL;
    bridge->loop = loop;
    bridge->mailbox = mailbox;
    bridge->hello = hello_parameters(setup);
    bridge->delay = RETRY_MS;
    uv_timer_init(loop, &bridge->retry);
    uv_timer_init(loop, &bridge->busy);
    bridge->retry.data = bridge;
    bridge->busy.data = bridge;
    bridge->open_timers = 2;
    return bridge;
}

void bridge_destroy(struct bridge *bridge) {
    if (!bridge)
        return;
    bridge->is_ending = true;
    bridge_disconnect(bridge);
    uv_close((uv_handle_t *)&bridge->retry, on_timer_closed);
    uv_close((uv_handle_t *)&bridge->busy, on_timer_closed);
}
