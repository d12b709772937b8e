#include "tether_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "frame/editor_loop.h"
#include "frame/frame_pace.h"
#include "memory.h"
#include "offers.h"
#include "protocol/message.h"
#include "protocol/version.h"
#include "questions.h"
#include "requests.h"
#include "server_setup.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
#define BOOL         GDEXTENSION_VARIANT_TYPE_BOOL
#define INT          GDEXTENSION_VARIANT_TYPE_INT
#define STRING       GDEXTENSION_VARIANT_TYPE_STRING
#define STRINGS      GDEXTENSION_VARIANT_TYPE_PACKED_STRING_ARRAY
#define DICTIONARY   GDEXTENSION_VARIANT_TYPE_DICTIONARY
#define CALLABLE     GDEXTENSION_VARIANT_TYPE_CALLABLE
#define AWAITED      GDEXTENSION_VARIANT_TYPE_SIGNAL
#define FLOAT        GDEXTENSION_VARIANT_TYPE_FLOAT
#define ANYTHING     GDEXTENSION_VARIANT_TYPE_NIL

enum { LOG_LINES = 1000 };

struct tether_server {
    struct tether_server *next; /* of all there are */
    bool was_looked_at;         /* in this frame */
    GDExtensionObjectPtr object;
    struct server_properties properties;
    struct engine_variant
        active; /* whether the server is wanted; survives a reload of the library */
    struct engine_variant offered[OFFER_KINDS]; /* name → [schema, callable]; so do these */
    struct engine_variant profiles;             /* name → names of tools */
    struct engine_variant instructions;         /* what AI clients are told about the tools */
    struct engine_variant settling;             /* whether more is about to be offered */
    bool start_pending; /* for the next frame, when all properties are set */

    struct control_client *client; /* NULL: no session is wanted */
    char state[24];
    json_t *status; /* the daemon's last state, or NULL */
    json_t *result; /* what launch said when it failed, or NULL */
    int64_t code;
    char *message; /* what went wrong last, or NULL */
    json_t *log;   /* its newest lines */
    struct tool_calls calls;
    bool offer_pending; /* what is offered has changed since the server was told */
    bool question_lost; /* somebody waits for an answer of nobody, to be told in the next frame */
    bool is_bridged;    /* the built-in server reaches this editor */
};

/* All of this editor, the newest first. The engine's callbacks carry no context. */
static struct tether_server *servers;

/* ---- telling scripts ---- */

/* Takes the reference of the list of values. */
static void emit(struct tether_server *server, const char *signal, json_t *values) {
    struct engine_variant self, arguments[VARIANT_MAX_ARGUMENTS];
    int count = 1 + (int)json_array_size(values);
    variant_init_object(&self, server->object); /* holds a reference meanwhile */
    variant_init_text(&arguments[0], signal);
    for (int i = 1; i < count; i++)
        variant_init_json(&arguments[i], json_array_get(values, (size_t)i - 1));
    variant_call(&self, "emit_signal", arguments, count, NULL);
    while (count > 0)
        variant_finish(&arguments[--count]);
    variant_finish(&self);
    json_decref(values);
}

static void emit_state(struct tether_server *server) {
    emit(server, "state_changed", json_pack("[s]", server->state));
}

static const char *message_of(const struct tether_server *server) {
    return server->message ? server->message : "";
}

static void set_message(struct tether_server *server, int64_t code, const char *text) {
    server->code = code;
    free(server->message);
    server->message = text ? memory_text(text, strlen(text)) : NULL;
}

static void fail(struct tether_server *server, int64_t code, const char *text) {
    set_message(server, code, text);
    emit(server, "failed", json_pack("[I, s]", (json_int_t)code, message_of(server)));
}

static void set_state(struct tether_server *server, const char *state, json_t *status) {
    bool changed = strcmp(server->state, state) != 0;
    if (status) {
        json_decref(server->status);
        server->status = json_incref(status);
    }
    if (message_state(status) == SERVER_READY) {
        set_message(server, 0, NULL);
        json_decref(server->result);
        server->result = NULL;
    }
    snprintf(server->state, sizeof server->state, "%s", state);
    if (changed || status)
        emit_state(server);
}

/* ---- events ---- */

static void on_log(struct tether_server *server, const struct control_event *event) {
    const char *line = event->text ? event->text : "";
    json_array_append_new(server->log, json_string(line));
    if (json_array_size(server->log) > LOG_LINES)
        json_array_remove(server->log, 0);
    emit(server, "log_line", json_pack("[s, s]", event->stream, line));
}

static void on_failed(struct tether_server *server, const struct control_event *event) {
    json_decref(server->result);
    server->result = json_incref(event->json);
    fail(server, event->number, event->text);
}

/* Takes over what is in the command. */
static void order(struct tether_server *server, struct mailbox_command command) {
    if (server->client)
        control_client_tell(server->client, command);
    else
        json_decref(command.json);
}

static void answer(struct tether_server *server, int64_t call, json_t *result) {
    if (result)
        order(server,
              (struct mailbox_command){.kind = COMMAND_ANSWER, .call = call, .json = result});
}

/* Of a kind, or of profiles, what all servers of this editor have: any plugin offers some through
 * an object of its own. Of two with the same name the newer object's counts, which is the first in
 * the list. The offset is that of the Dictionary in each. */
static void init_of_all(struct engine_variant *out, size_t offset) {
    variant_init_empty(out, DICTIONARY);
    for (struct tether_server *server = servers; server; server = server->next)
        variant_call(out, "merge", (struct engine_variant *)(void *)((char *)server + offset), 1,
                     NULL);
}

static bool has_offer(const struct tether_server *server, enum offer_kind kind, const char *name) {
    struct engine_variant found;
    bool is_there;
    variant_init_member(&found, &server->offered[kind], name);
    is_there = variant_is_true(&found);
    variant_finish(&found);
    return is_there;
}

/* Whose it is; anybody, if nobody has it. */
static const struct tether_server *owner_of(enum offer_kind kind, const char *name) {
    struct tether_server *server = servers;
    while (server->next && !has_offer(server, kind, name))
        server = server->next;
    return server;
}

/* What all servers of this editor have to say, a paragraph each. */
static json_t *all_instructions(void) {
    struct buffer all = {0};
    json_t *text;
    for (struct tether_server *server = servers; server; server = server->next) {
        char *own = variant_text(&server->instructions);
        if (own[0] && all.length > 0)
            buffer_add_literal(&all, "\n\n");
        buffer_add_text(&all, own);
        free(own);
    }
    text = json_stringn(all.data ? all.data : "", all.length);
    buffer_finish(&all);
    return text;
}

static void note_tools_changed(void) {
    for (struct tether_server *server = servers; server; server = server->next)
        server->offer_pending = true;
}

/* ---- calls ---- */

/* The call that a script is just being told of: {id, client, capabilities, era}; or NULL. */
static json_t *current_call;

static bool anybody_has(enum offer_kind kind, const char *name) {
    return has_offer(owner_of(kind, name), kind, name);
}

static void each_offer(enum offer_kind kind,
                       void (*fn)(const struct engine_variant *name, void *context),
                       void *context) {
    for (const struct tether_server *server = servers; server; server = server->next)
        variant_each(&server->offered[kind], fn, context);
}

static void on_call(struct tether_server *server, const struct control_event *event) {
    static const struct request_offers offers = {.has = anybody_has, .each = each_offer};
    struct engine_variant self, schema, callable;
    struct request request;
    json_t *result, *before = current_call;
    request_init(&request, event->text, event->json, &offers);
    frame_pace_call();
    current_call = json_copy(json_object_get(event->json, "context"));
    current_call = current_call ? current_call : json_object();
    json_object_set_new(current_call, "id", json_integer(event->number));
    if (offers_init(&owner_of(request.kind, request.name)->offered[request.kind], request.name,
                    &schema, &callable)) {
        variant_init_object(&self, server->object);
        result = request_run(&request, &server->calls, &self, event->number, &schema, &callable);
        variant_finish(&self);
        variant_finish(&schema);
        variant_finish(&callable);
    } else {
        result = request_refusal(&request);
    }
    answer(server, event->number, result);
    json_decref(current_call);
    current_call = before;
    request_finish(&request);
}

static void run_tool_finished(const struct class_call *call) {
    struct tether_server *server = call->self;
    int64_t number = 0;
    json_t *value = tool_calls_finish(&server->calls, *(const int64_t *)call->arguments[1],
                                      call->arguments[0], &number);
    answer(server, number, value);
}

/* What this editor can do beside what its lists show. */
static json_t *capabilities_json(void) {
    return json_pack("{s:{s:b}, s:{}, s:{}}", "resources", "subscribe", 1, "completions",
                     "logging");
}

/* Some of what was offered before is not there again yet: clients go on seeing the whole. */
static bool is_settling(void) {
    for (struct tether_server *server = servers; server; server = server->next)
        if (variant_is_true(&server->settling))
            return true;
    return false;
}

static void offer(struct tether_server *server) {
    json_t *registration;
    struct engine_variant all;
    server->offer_pending = false;
    if (!server->client || is_settling())
        return;
    registration = json_object();
    for (int kind = 0; kind < OFFER_KINDS; kind++) {
        init_of_all(&all, offsetof(struct tether_server, offered) + (size_t)kind * sizeof all);
        json_object_set_new(registration, offers_key((enum offer_kind)kind),
                            offers_list((enum offer_kind)kind, &all));
        variant_finish(&all);
    }
    init_of_all(&all, offsetof(struct tether_server, profiles));
    json_object_set_new(registration, "profiles", variant_json(&all));
    variant_finish(&all);
    json_object_set_new(registration, "instructions", all_instructions());
    json_object_set_new(registration, "capabilities", capabilities_json());
    order(server, (struct mailbox_command){.kind = COMMAND_OFFER, .json = registration});
}

static void tell_cancelled(const struct engine_variant *object, void *context) {
    struct engine_variant self, arguments[2];
    engine.variant_new_copy(&self, object);
    variant_init_text(&arguments[0], "call_cancelled");
    engine.variant_new_copy(&arguments[1], context);
    variant_call(&self, "emit_signal", arguments, 2, NULL);
    variant_finish(&arguments[1]);
    variant_finish(&arguments[0]);
    variant_finish(&self);
}

/* Whoever has offered it may be any of them, and may drop any. */
static void emit_cancelled(int64_t call) {
    struct engine_variant all, number;
    variant_init_empty(&all, GDEXTENSION_VARIANT_TYPE_ARRAY);
    for (struct tether_server *server = servers; server; server = server->next) {
        struct engine_variant self;
        variant_init_object(&self, server->object);
        variant_call(&all, "append", &self, 1, NULL);
        variant_finish(&self);
    }
    variant_init_int(&number, call);
    variant_each(&all, tell_cancelled, &number);
    variant_finish(&number);
    variant_finish(&all);
}

/* Those of servers that are gone, or NULL. */
static json_t *calls_lost;

static void tell_calls_lost(void) {
    json_t *calls = calls_lost;
    calls_lost = NULL;
    for (size_t i = 0; i < json_array_size(calls); i++)
        emit_cancelled(json_integer_value(json_array_get(calls, i)));
    json_decref(calls);
}

/* Nobody waits for any of them any more. */
static void lose_calls(struct tether_server *server) {
    while (server->calls.count > 0) {
        int64_t call = server->calls.running[server->calls.count - 1].call;
        tool_calls_cancel(&server->calls, call);
        emit_cancelled(call);
    }
}

static void on_event(struct tether_server *server, const struct control_event *event) {
    switch (event->kind) {
    case CONTROL_STATE:
        set_state(server, event->text, event->json);
        break;
    case CONTROL_LOG:
        on_log(server, event);
        break;
    case CONTROL_ADOPTED:
        emit(server, "adopted", json_pack("[I]", (json_int_t)event->number));
        break;
    case CONTROL_FAILED:
        on_failed(server, event);
        break;
    case CONTROL_REFUSED:
        fail(server, 1, event->text);
        break;
    case CONTROL_BRIDGE:
        server->is_bridged = strcmp(event->text, "connected") == 0;
        lose_calls(server);
        questions_lose_all();
        emit_state(server);
        break;
    case CONTROL_CALL:
        on_call(server, event);
        break;
    case CONTROL_CANCELLED:
        if (tool_calls_cancel(&server->calls, event->number))
            emit_cancelled(event->number);
        break;
    case CONTROL_ANSWERED:
        questions_answer(event->number, event->json);
        break;
    case CONTROL_NOTHING:
        break;
    }
}

static void start(struct tether_server *server);

/* Does what there is to do for one. True if scripts ran, which may have changed the list. */
static bool look_at(struct tether_server *server) {
    const struct control_client *client = server->client;
    struct control_event *event, *next;
    struct engine_variant self;
    bool question_lost = server->question_lost;
    if (server->was_looked_at)
        return false;
    server->was_looked_at = true;
    event = server->client ? control_client_take(server->client) : NULL;
    if (server->calls.count > 0)
        frame_pace_hurry(); /* a coroutine waits for frames */
    if (!event && !server->start_pending && !server->offer_pending && !question_lost)
        return false;
    server->question_lost = false;
    variant_init_object(&self, server->object); /* it may be dropped by what is called here */
    if (question_lost)                          /* who is told so may ask again */
        questions_lose_all();
    if (server->start_pending)
        start(server);
    if (server->offer_pending)
        offer(server);
    for (; event; event = next) {
        next = event->next;
        if (server->client == client) /* else a script has let go of the session that told this */
            on_event(server, event);
        control_event_free(event);
    }
    variant_finish(&self);
    return true;
}

/* A handler of a signal may drop any server, so after each that had something to say the list is
 * looked at from its start; each has its turn once a frame. */
bool tether_servers_frame(void) {
    struct tether_server *server;
    bool did_something = calls_lost != NULL;
    tell_calls_lost();
    for (server = servers; server; server = server->next)
        server->was_looked_at = false;
    for (server = servers; server;) {
        bool did = look_at(server);
        did_something |= did;
        server = did ? servers : server->next;
    }
    return did_something;
}

/* ---- what scripts ask for ---- */

static void set_active(struct tether_server *server, bool active) {
    variant_finish(&server->active);
    variant_init_bool(&server->active, active);
    server->start_pending = false;
}

/* Makes a session, or tells the one that there is what to launch from now on. */
static void prepare(struct tether_server *server) {
    struct launch_setup setup;
    const char *why_not;
    set_active(server, true);
    if (!editor_is_in_use(&why_not)) {
        set_message(server, 1, why_not);
        return;
    }
    server_setup_init(&setup, &server->properties);
    if (server->client)
        order(server, (struct mailbox_command){.kind = COMMAND_SET_UP, .setup = setup});
    else
        server->client = control_client_create(&setup);
    server->offer_pending = true;
    if (!server->client)
        set_message(server, 1, "cannot start a thread for the session: out of memory");
}

static void start(struct tether_server *server) {
    prepare(server);
    order(server, (struct mailbox_command){.kind = COMMAND_START});
}

static void run_start(const struct class_call *call) {
    start(call->self);
}

static void run_stop(const struct class_call *call) {
    struct tether_server *server = call->self;
    set_active(server, false);
    order(server, (struct mailbox_command){.kind = COMMAND_STOP,
                                           .force = *(const uint8_t *)call->arguments[0]});
}

static void run_restart(const struct class_call *call) {
    struct tether_server *server = call->self;
    prepare(server);
    order(server, (struct mailbox_command){.kind = COMMAND_RESTART,
                                           .force = *(const uint8_t *)call->arguments[0]});
}

static void detach(struct tether_server *server, const char *reason) {
    struct engine_variant self;
    bool was_bridged = server->is_bridged;
    set_active(server, false);
    if (!server->client)
        return;
    variant_init_object(&self, server->object); /* it may be dropped by what is called here */
    order(server, (struct mailbox_command){.kind = COMMAND_LEAVE, .reason = reason});
    editor_loop_part(server->client, true);
    server->client = NULL;
    server->is_bridged = false;
    set_state(server, "off", NULL);
    lose_calls(server);
    if (was_bridged)
        questions_lose_all();
    variant_finish(&self);
}

static void run_detach(const struct class_call *call) {
    struct engine_variant text;
    const char *reason;
    char *word;
    variant_init_native(&text, STRING, call->arguments[0]);
    word = variant_text(&text);
    reason = control_reason(word);
    if (reason)
        detach(call->self, reason);
    else
        engine.print_error("TetherServer.detach: the reason must be \"disable\", \"quit\", "
                           "\"reload\" or \"restart\"",
                           __func__, __FILE__, __LINE__, true);
    free(word);
    variant_finish(&text);
}

bool tether_servers_may_be_called(void) {
    for (struct tether_server *server = servers; server; server = server->next)
        if (server->client && server->is_bridged)
            return true;
    return false;
}

bool tether_servers_are_launching(void) {
    for (struct tether_server *server = servers; server; server = server->next)
        if (server->start_pending || (server->client && (strcmp(server->state, "off") == 0 ||
                                                         strcmp(server->state, "launching") == 0)))
            return true;
    return false;
}

static void part(struct tether_server *server) {
    if (server->client)
        editor_loop_part(server->client, false);
    server->client = NULL;
}

bool tether_servers_part(void) {
    for (struct tether_server *server = servers; server; server = server->next)
        part(server);
    return servers != NULL;
}

static void run_get_state(const struct class_call *call) {
    const struct tether_server *server = call->self;
    engine_string_assign(call->result, server->state);
}

static void copy_member(json_t *to, const char *name, const json_t *from, const char *key,
                        json_t *fallback) {
    json_t *value = json_object_get(from, key);
    json_object_set_new(to, name, value ? json_incref(value) : fallback);
    if (value)
        json_decref(fallback);
}

static json_t *cost_json(void) {
    struct editor_loop_cost cost = editor_loop_cost();
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "idle_frames", (json_int_t)cost.idle_frames,
                     "idle_ns", (json_int_t)cost.idle_ns, "busy_frames",
                     (json_int_t)cost.busy_frames, "busy_ns", (json_int_t)cost.busy_ns, "worst_ns",
                     (json_int_t)cost.worst_ns);
}

static json_t *status_json(const struct tether_server *server) {
    json_t *status = server->status ? json_copy(server->status) : json_object();
    struct engine_variant tools;
    variant_call((struct engine_variant *)(uintptr_t)&server->offered[OFFER_TOOL], "size", NULL, 0,
                 &tools);
    json_object_set_new(status, "tools", json_integer(variant_int(&tools)));
    variant_finish(&tools);
    json_object_del(status, "type");
    copy_member(status, "daemon_version", server->status, "version", json_string(""));
    json_object_set_new(status, "version", json_string(tether_version));
    json_object_set_new(status, "client_state", json_string(server->state));
    json_object_set_new(status, "cost", cost_json());
    json_object_set_new(status, "bridged", json_boolean(server->is_bridged));
    json_object_set_new(status, "code", json_integer(server->code));
    json_object_set_new(status, "message", json_string(message_of(server)));
    copy_member(status, "holder", server->result, "holder", json_object());
    copy_member(status, "next_ports", server->result, "next_ports", json_array());
    return status;
}

/* Takes the reference. */
static void return_json(GDExtensionTypePtr result, GDExtensionVariantType type, json_t *json) {
    struct engine_variant value;
    variant_init_json(&value, json);
    variant_assign_native(result, type, &value);
    variant_finish(&value);
    json_decref(json);
}

static void run_get_status(const struct class_call *call) {
    return_json(call->result, DICTIONARY, status_json(call->self));
}

static void run_get_log(const struct class_call *call) {
    const struct tether_server *server = call->self;
    const size_t count = json_array_size(server->log);
    int64_t wanted = *(const int64_t *)call->arguments[0];
    json_t *last = json_array();
    size_t first = wanted >= 0 && (uint64_t)wanted < count ? count - (size_t)wanted : 0;
    for (; first < count; first++)
        json_array_append(last, json_array_get(server->log, first));
    return_json(call->result, STRINGS, last);
}

/* One odd name, and clients refuse the whole list. */
static bool is_tool_name(const char *name) {
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    size_t length = strlen(name);
    return length > 0 && length <= 128 && strspn(name, allowed) == length;
}

/* Tells the plugin's author, in the editor's log, what nobody could call. */
static bool can_register(const struct engine_variant *name, struct engine_variant *callable,
                         const char *method, enum offer_kind kind) {
    char text[256], *shown = variant_text(name);
    text[0] = 0;
    if ((kind == OFFER_TOOL || kind == OFFER_PROMPT) && !is_tool_name(shown))
        snprintf(text, sizeof text,
                 "TetherServer.%s: '%.100s' cannot be the name of a %s; it takes "
                 "letters, digits, '_', '-' and '.', 128 at most",
                 method, shown, kind == OFFER_TOOL ? "tool" : "prompt");
    else if (!strstr(shown, "://") && (kind == OFFER_RESOURCE || kind == OFFER_TEMPLATE))
        snprintf(text, sizeof text, "TetherServer.%s: '%.100s' is no URI, as 'mine://scores' is",
                 method, shown);
    else if (!variant_says(callable, "is_valid"))
        snprintf(text, sizeof text,
                 "TetherServer.%s: what '%.100s' shall call is not there (any more)", method,
                 shown);
    if (text[0])
        engine.print_error(text, __func__, __FILE__, __LINE__, true);
    free(shown);
    return !text[0];
}

static void set_offer(const struct class_call *call, enum offer_kind kind) {
    struct tether_server *server = call->self;
    struct engine_variant name, pair, parts[2];
    GDExtensionBool valid;
    variant_init_native(&name, STRING, call->arguments[0]);
    variant_init_native(&parts[0], DICTIONARY, call->arguments[1]);
    variant_init_native(&parts[1], CALLABLE, call->arguments[2]);
    if (can_register(&name, &parts[1], call->method->name, kind)) {
        variant_init_empty(&pair, GDEXTENSION_VARIANT_TYPE_ARRAY);
        variant_call(&pair, "append", &parts[0], 1, NULL);
        variant_call(&pair, "append", &parts[1], 1, NULL);
        engine.variant_set(&server->offered[kind], &name, &pair, &valid);
        note_tools_changed();
        variant_finish(&pair);
    }
    variant_finish(&parts[1]);
    variant_finish(&parts[0]);
    variant_finish(&name);
}

static void erase_offer(const struct class_call *call, enum offer_kind kind) {
    struct tether_server *server = call->self;
    struct engine_variant name;
    variant_init_native(&name, STRING, call->arguments[0]);
    variant_call(&server->offered[kind], "erase", &name, 1, NULL);
    note_tools_changed();
    variant_finish(&name);
}

static void run_register_tool(const struct class_call *call) {
    set_offer(call, OFFER_TOOL);
}

static void run_unregister_tool(const struct class_call *call) {
    erase_offer(call, OFFER_TOOL);
}

static void run_register_resource(const struct class_call *call) {
    set_offer(call, OFFER_RESOURCE);
}

static void run_unregister_resource(const struct class_call *call) {
    erase_offer(call, OFFER_RESOURCE);
}

static void run_register_resource_template(const struct class_call *call) {
    set_offer(call, OFFER_TEMPLATE);
}

static void run_unregister_resource_template(const struct class_call *call) {
    erase_offer(call, OFFER_TEMPLATE);
}

static void run_register_prompt(const struct class_call *call) {
    set_offer(call, OFFER_PROMPT);
}

static void run_unregister_prompt(const struct class_call *call) {
    erase_offer(call, OFFER_PROMPT);
}

/* ---- talking to clients ---- */

static struct tether_server *bridged_server(void) {
    struct tether_server *server = servers;
    while (server && !(server->client && server->is_bridged))
        server = server->next;
    return server;
}

/* Takes the reference; what nobody hears is dropped. */
static bool say(json_t *message) {
    struct tether_server *server = bridged_server();
    json_object_set_new(message, "jsonrpc", json_string("2.0"));
    if (server)
        order(server, (struct mailbox_command){.kind = COMMAND_SAY, .json = message});
    else
        json_decref(message);
    return server != NULL;
}

/* An argument of any type as JSON. */
static json_t *argument_json(const struct class_call *call, uint32_t i) {
    struct engine_variant value;
    json_t *json;
    if (call->method->arguments[i].type == ANYTHING)
        return variant_json(call->arguments[i]);
    variant_init_native(&value, call->method->arguments[i].type, call->arguments[i]);
    json = variant_json(&value);
    variant_finish(&value);
    return json;
}

static void run_get_call(const struct class_call *call) {
    return_json(call->result, DICTIONARY, current_call ? json_incref(current_call) : json_object());
}

static void run_send_progress(const struct class_call *call) {
    say(json_pack("{s:s, s:{s:o, s:o, s:o, s:o}}", "method", "notifications/progress", "params",
                  "call", argument_json(call, 0), "progress", argument_json(call, 1), "total",
                  argument_json(call, 2), "message", argument_json(call, 3)));
}

static void run_send_log(const struct class_call *call) {
    json_t *parameters = json_pack("{s:o, s:o, s:o}", "level", argument_json(call, 1), "data",
                                   argument_json(call, 2), "logger", argument_json(call, 3));
    if (*(const int64_t *)call->arguments[0] > 0)
        json_object_set_new(parameters, "call", argument_json(call, 0));
    say(json_pack("{s:s, s:o}", "method", "notifications/message", "params", parameters));
}

static void run_resource_changed(const struct class_call *call) {
    say(json_pack("{s:s, s:{s:o}}", "method", "notifications/resources/updated", "params", "uri",
                  argument_json(call, 0)));
}

/* Takes the reference of the parameters. */
static void ask(const struct class_call *call, const char *method, json_t *parameters) {
    struct tether_server *server = call->self;
    struct engine_variant signal;
    int64_t number = questions_ask(server->object, &signal);
    json_object_set_new(parameters, "call", argument_json(call, 0));
    if (!say(json_pack("{s:I, s:s, s:o}", "id", (json_int_t)number, "method", method, "params",
                       parameters)))
        server->question_lost = true;
    variant_assign_native(call->result, AWAITED, &signal);
    variant_finish(&signal);
}

static void run_ask_user(const struct class_call *call) {
    ask(call, "elicitation/create",
        json_pack("{s:o, s:o}", "message", argument_json(call, 1), "requestedSchema",
                  argument_json(call, 2)));
}

static void run_ask_model(const struct class_call *call) {
    ask(call, "sampling/createMessage", argument_json(call, 1));
}

static void run_mark_active(const struct class_call *call) {
    order(call->self, (struct mailbox_command){.kind = COMMAND_ACTIVATE});
}

static void run_get_version(const struct class_call *call) {
    engine_string_assign(call->result, tether_version);
}

/* ---- the instance ---- */

static void server_init(void *self) {
    struct tether_server *server = self;
    snprintf(server->state, sizeof server->state, "off");
    server->log = json_array();
}

static void server_attached(void *self, GDExtensionObjectPtr object) {
    struct tether_server *server = self;
    server->object = object;
    server->next = servers;
    servers = server;
}

/* What others of this editor wait for in vain now is told them in the next frame: scripts that run
 * because of a signal do not run while an object is freed. */
static void leave_to_others(struct tether_server *server) {
    for (size_t i = 0; i < server->calls.count && servers; i++) {
        calls_lost = calls_lost ? calls_lost : json_array();
        json_array_append_new(calls_lost, json_integer(server->calls.running[i].call));
    }
    tool_calls_clear(&server->calls);
    if (server->is_bridged && servers)
        servers->question_lost = true;
}

static void server_finish(void *self) {
    struct tether_server *server = self, **link = &servers;
    while (*link && *link != server)
        link = &(*link)->next;
    if (*link)
        *link = server->next;
    note_tools_changed();
    questions_forget(server->object);
    leave_to_others(server);
    part(server);
    json_decref(server->log);
    json_decref(server->status);
    json_decref(server->result);
    free(server->message);
}

static void tools_changed(void *self) {
    (void)self;
    note_tools_changed();
}

/* `active = true`, by a script or by the engine after a reload: the other properties may follow. */
static void active_changed(void *self) {
    struct tether_server *server = self;
    bool active = variant_is_true(&server->active);
    server->start_pending = active && !server->client;
    if (!active)
        detach(server, "disable");
}

/* ---- the class ---- */

static const struct class_method methods[] = {
    {"start", run_start, .argument_count = 0},
    {"stop", run_stop, .argument_count = 1, .arguments = {{"force", BOOL}}, .has_default = true},
    {"restart", run_restart, .argument_count = 1, .arguments = {{"force", BOOL}},
     .has_default = true},
    {"detach", run_detach, .argument_count = 1, .arguments = {{"reason", STRING}}},
    {"get_state", run_get_state, .result = STRING, .is_const = true},
    {"get_status", run_get_status, .result = DICTIONARY, .is_const = true},
    {"get_log", run_get_log, .result = STRINGS, .is_const = true, .argument_count = 1,
     .arguments = {{"count", INT}}, .has_default = true, .default_value = 100},
    {"register_tool", run_register_tool, .argument_count = 3,
     .arguments = {{"name", STRING}, {"schema", DICTIONARY}, {"callable", CALLABLE}}},
    {"unregister_tool", run_unregister_tool, .argument_count = 1, .arguments = {{"name", STRING}}},
    {"register_resource", run_register_resource, .argument_count = 3,
     .arguments = {{"uri", STRING}, {"schema", DICTIONARY}, {"callable", CALLABLE}}},
    {"unregister_resource", run_unregister_resource, .argument_count = 1,
     .arguments = {{"uri", STRING}}},
    {"register_resource_template", run_register_resource_template, .argument_count = 3,
     .arguments = {{"uri_template", STRING}, {"schema", DICTIONARY}, {"callable", CALLABLE}}},
    {"unregister_resource_template", run_unregister_resource_template, .argument_count = 1,
     .arguments = {{"uri_template", STRING}}},
    {"register_prompt", run_register_prompt, .argument_count = 3,
     .arguments = {{"name", STRING}, {"schema", DICTIONARY}, {"callable", CALLABLE}}},
    {"unregister_prompt", run_unregister_prompt, .argument_count = 1,
     .arguments = {{"name", STRING}}},
    {"resource_changed", run_resource_changed, .argument_count = 1, .arguments = {{"uri", STRING}}},
    {"get_call", run_get_call, .result = DICTIONARY, .is_const = true},
    {"send_progress", run_send_progress, .argument_count = 4,
     .arguments = {{"call", INT}, {"progress", FLOAT}, {"total", FLOAT}, {"message", STRING}}},
    {"send_log", run_send_log, .argument_count = 4,
     .arguments = {{"call", INT}, {"level", STRING}, {"data", ANYTHING}, {"logger", STRING}}},
    {"ask_user", run_ask_user, .result = AWAITED, .argument_count = 3,
     .arguments = {{"call", INT}, {"message", STRING}, {"schema", DICTIONARY}}},
    {"ask_model", run_ask_model, .result = AWAITED, .argument_count = 2,
     .arguments = {{"call", INT}, {"parameters", DICTIONARY}}},
    {"mark_active", run_mark_active, .argument_count = 0},
    {"_tool_finished", run_tool_finished, .argument_count = 2,
     .arguments = {{"value", ANYTHING}, {"ticket", INT}}},
    {"get_version", run_get_version, .result = STRING, .is_const = true},
};

#define PROPERTY(member) #member, .offset = offsetof(struct tether_server, properties.member)

#define OFFERED(name, kind)                                                                        \
    name, DICTIONARY, .is_hidden = true,                                                           \
                      .offset = offsetof(struct tether_server, offered) +                          \
                                (kind) * sizeof(struct engine_variant),                            \
                      .changed = tools_changed

static const struct class_property properties[] = {
    {PROPERTY(command), .type = STRINGS},
    {PROPERTY(transport), .type = STRING, .default_text = "http", .hint = "http,stdio"},
    {PROPERTY(http_port), .type = INT, .default_number = 8000},
    {PROPERTY(ws_port), .type = INT, .default_number = 9500},
    {PROPERTY(ports), .type = STRING, .default_text = "fixed", .hint = "fixed,auto"},
    {PROPERTY(environment), .type = DICTIONARY},
    {PROPERTY(owner_aliases), .type = STRINGS},
    {PROPERTY(ready), .type = STRING},
    {PROPERTY(ready_timeout_ms), .type = INT},
    {PROPERTY(restart_policy), .type = STRING, .default_text = "on-failure",
     .hint = "on-failure,never"},
    {PROPERTY(grace_ms), .type = INT},
    {PROPERTY(stop_grace_ms), .type = INT},
    {PROPERTY(idle_limit_ms), .type = INT},
    {PROPERTY(linger_ms), .type = INT},
    {PROPERTY(hold_ports), .type = BOOL},
    {PROPERTY(keep_on_exit), .type = BOOL},
    {PROPERTY(launcher), .type = STRING},
    {OFFERED("tools", OFFER_TOOL)},
    {OFFERED("resources", OFFER_RESOURCE)},
    {OFFERED("resource_templates", OFFER_TEMPLATE)},
    {OFFERED("prompts", OFFER_PROMPT)},
    {"profiles", DICTIONARY, .offset = offsetof(struct tether_server, profiles),
     .changed = tools_changed},
    {"instructions", STRING, .offset = offsetof(struct tether_server, instructions),
     .changed = tools_changed},
    {"settling", BOOL, .is_hidden = true, .offset = offsetof(struct tether_server, settling),
     .changed = tools_changed},
    {"active", BOOL, .offset = offsetof(struct tether_server, active), .changed = active_changed},
};

static struct class_accessors accessors[COUNT(properties)];

static const struct class_signal signals[] = {
    {"state_changed", 1, {{"state", STRING}}},
    {"log_line", 2, {{"stream", STRING}, {"line", STRING}}},
    {"adopted", 1, {{"daemon_pid", INT}}},
    {"failed", 2, {{"code", INT}, {"message", STRING}}},
    {"call_cancelled", 1, {{"call", INT}}},
};

const struct class_description tether_server_class = {
    .name = "TetherServer",
    .parent = "RefCounted",
    .instance_size = sizeof(struct tether_server),
    .init = server_init,
    .attached = server_attached,
    .finish = server_finish,
    .methods = methods,
    .method_count = COUNT(methods),
    .properties = properties,
    .accessors = accessors,
    .property_count = COUNT(properties),
    .signals = signals,
    .signal_count = COUNT(signals),
};
