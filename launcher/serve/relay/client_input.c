/* What editors want from the client of a call: its model, its user, its folders.
 *
 * Legacy: a request on the call's stream, answered by a POST. Modern: the call is answered with
 * input_required and parked; the client comes back with what was wanted and with a sealed state
 * that says which call it was. An editor that knows of this returns input_required itself; then the
 * call is over for it, and its state is sealed with a mark that says whose it is. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "serve/mcp/sessions.h"
#include "serve/stdio/stdio_server.h"

enum { CALL_NAME_MAX = 48, STATE_MS = 30 * 60 * 1000 };

struct client_input {
    struct client_input *next;
    json_t *id;      /* of the editor's request, or its name in an input_required */
    json_t *request; /* for the client: method and params */
    char key[40];    /* its number for that */
    bool asked;      /* the client has been told */
    bool named;      /* it is of an input_required */
};

/* In the order of mcp_capability_names. */
static const char *const methods[MCP_CAPABILITY_BITS] = {
    "sampling/createMessage",
    "elicitation/create",
    "roots/list",
};

static int kind_of(const char *method) {
    for (int i = 0; method && i < MCP_CAPABILITY_BITS; i++)
        if (strcmp(methods[i], method) == 0)
            return i;
    return -1;
}

static bool can_give(const struct call *call, const char *method) {
    int kind = kind_of(method);
    return kind >= 0 && (call->capabilities & (1U << kind));
}

/* Takes the input at this place out of its list. */
static void forget(struct client_input **at) {
    struct client_input *input = *at;
    *at = input->next;
    json_decref(input->id);
    json_decref(input->request);
    free(input);
}

void inputs_finish(struct call *call) {
    while (call->inputs)
        forget(&call->inputs);
}

/* ---- modern: parking ---- */

/* The digest of a request, without what changes from round to round. */
static void digest(const char *method, json_t *params, uint8_t out[SHA256_SIZE]) {
    static const char *const changing[] = {"_meta", "inputResponses", "requestState", "context"};
    json_t *asked = json_copy(params);
    struct sha hash;
    char *dumped;
    for (size_t i = 0; i < sizeof changing / sizeof changing[0]; i++)
        json_object_del(asked, changing[i]);
    dumped = json_dumps(asked, JSON_COMPACT | JSON_SORT_KEYS);
    sha256_init(&hash);
    sha_add(&hash, method, strlen(method) + 1);
    if (dumped)
        sha_add(&hash, dumped, strlen(dumped));
    sha_end(&hash, out, SHA256_SIZE);
    free(dumped);
    json_decref(asked);
}

static json_t *seal(const struct call *call, const char *kind, const char *state, size_t length,
                    uint64_t valid_ms) {
    struct buffer text = {0}, sealed = {0};
    uint8_t request[SHA256_SIZE];
    json_t *out;
    digest(call->method, call->params, request);
    buffer_add_text(&text, kind);
    buffer_add(&text, state, length);
    seal_write(&sealed, &call->serve->key, (uint64_t)os_clock_ms() + valid_ms, request, text.data,
               text.length);
    out = text.failed || sealed.failed ? NULL : json_stringn(sealed.data, sealed.length);
    buffer_finish(&text);
    buffer_finish(&sealed);
    return out;
}

/* Calls of the server before this one have the same numbers. */
static int name_call(const struct call *call, char out[CALL_NAME_MAX]) {
    return snprintf(out, CALL_NAME_MAX, "%" PRId64 " %" PRId64, call->serve->started_at,
                    call->number);
}

static json_t *wanted(struct call *call) {
    json_t *out = json_object();
    for (struct client_input *input = call->inputs; input; input = input->next) {
        json_object_set(out, input->key, input->request);
        input->asked = true;
    }
    return out;
}

/* Answers the call's request with what is wanted, and keeps the call. */
static void park(struct call *call) {
    struct buffer out = {0};
    struct http_connection *connection = call->connection; /* for the call lets go of it */
    char name[CALL_NAME_MAX];
    int length = name_call(call, name);
    json_t *result =
        json_pack("{s:s, s:o, s:o}", "resultType", "input_required", "inputRequests", wanted(call),
                  "requestState", seal(call, "call:", name, (size_t)length, SERVE_PARKED_MS));
    mcp_dress_result(result, false);
    rpc_add_result(&out, call->id, result);
    call_detach(call);
    deadline_start(&call->due, &call->serve->parked_time);
    mcp_send(connection, call->json_fine, 200, NULL, &out);
    buffer_finish(&out);
}

void inputs_answer(struct call *call, const json_t *responses) {
    struct client_input **at = &call->inputs;
    while (*at) {
        struct client_input *input = *at;
        json_t *response = input->asked ? json_object_get(responses, input->key) : NULL;
        if (!response) {
            at = &input->next;
            continue;
        }
        editor_answer(call->editor, input->id, json_incref(response));
        forget(at);
    }
    if (call->inputs)
        park(call);
}

/* ---- asking ---- */

static void ask_legacy(struct call *call, struct client_input *input) {
    json_t *message = json_pack("{s:s, s:s}", "jsonrpc", "2.0", "id", input->key);
    struct buffer out = {0};
    json_object_update(message, input->request);
    rpc_add_json(&out, message);
    json_decref(message);
    input->asked = call_event(call, &out);
    buffer_finish(&out);
}

static struct client_input **add(struct call *call, json_t *id, const char *method,
                                 json_t *params) {
    struct client_input **at = &call->inputs, *input = calloc(1, sizeof *input);
    if (!input)
        return NULL;
    while (*at)
        at = &(*at)->next;
    *at = input;
    input->id = json_incref(id);
    snprintf(input->key, sizeof input->key, "tether-%" PRId64 "-%u", call->number,
             ++call->input_count);
    input->request = json_pack("{s:s, s:O*}", "method", method, "params", params);
    return at;
}

bool input_ask(struct editor *editor, const struct rpc_message *message) {
    struct call *call = call_named(editor, message->params);
    int kind = kind_of(message->method);
    struct client_input **input;
    if (kind < 0)
        return false;
    json_object_del(message->params, "call");
    if (!call) {
        editor_refuse(editor, message->id, RPC_INVALID_PARAMS, "there is no such call (any more)",
                      NULL);
    } else if (!can_give(call, message->method)) {
        editor_refuse(editor, message->id, MCP_MISSING_CAPABILITY,
                      "the client of this call has not declared that it can do this",
                      json_pack("{s:{s:{}}}", "requiredCapabilities", mcp_capability_names[kind]));
    } else if (!(input = add(call, message->id, message->method, message->params))) {
        editor_refuse(editor, message->id, RPC_INTERNAL_ERROR, "out of memory", NULL);
    } else if (!call->modern) {
        ask_legacy(call, *input);
        if (!(*input)->asked) {
            forget(input);
            editor_refuse(editor, message->id, RPC_INTERNAL_ERROR,
                          "the client of this call cannot be reached", NULL);
        }
    } else if (call->connection) {
        park(call);
    }
    return true;
}

void input_cancelled(struct editor *editor, const json_t *id, const char *reason) {
    for (struct call *call = editor->serve->calls; call; call = call->next) {
        struct client_input **at = &call->inputs;
        struct buffer out = {0};
        while (*at && ((*at)->named || !json_equal((*at)->id, id)))
            at = &(*at)->next;
        if (!*at || call->editor != editor)
            continue;
        rpc_add_notification(&out, "notifications/cancelled",
                             json_pack("{s:s, s:s*}", "requestId", (*at)->key, "reason", reason));
        if (!call->modern)
            call_event(call, &out);
        buffer_finish(&out);
        forget(at);
        return;
    }
}

/* ---- legacy: what clients answer ---- */

/* The server is asked again when everything that it wanted is there. */
static void gather(struct call *call, struct client_input **at, const struct rpc_message *message) {
    const char *reason = rpc_text(message->error, "message");
    char text[512];
    if (message->result) {
        json_object_set(call->gathered, json_string_value((*at)->id), message->result);
        forget(at);
        if (!call->inputs)
            stdio_call_again(call);
        return;
    }
    snprintf(text, sizeof text, "The client did not give what the server wanted: %.400s",
             reason ? reason : "without a reason");
    call_fail(call, 0, text, NULL);
}

static bool answer_one(struct call *call, const char *key, const struct rpc_message *message) {
    struct client_input **at = &call->inputs;
    const char *reason = rpc_text(message->error, "message");
    while (*at && strcmp((*at)->key, key) != 0)
        at = &(*at)->next;
    if (!*at)
        return false;
    if ((*at)->named) {
        gather(call, at, message);
        return true;
    }
    if (message->result)
        editor_answer(call->editor, (*at)->id, json_incref(message->result));
    else
        editor_refuse(call->editor, (*at)->id,
                      (int)json_integer_value(json_object_get(message->error, "code")),
                      reason ? reason : "the client gave no reason",
                      json_incref(json_object_get(message->error, "data")));
    forget(at);
    return true;
}

bool input_response(struct serve *serve, const struct mcp_session *session,
                    const struct rpc_message *message) {
    const char *key = json_string_value(message->id);
    for (struct call *call = serve->calls; key && call; call = call->next)
        if (call->session == session && answer_one(call, key, message))
            return true;
    return false;
}

/* ---- editors that return input_required themselves ---- */

/* Takes out what the client cannot give; true if something is left. */
static bool keep_possible(const struct call *call, json_t *requests, json_t *required) {
    const char *key;
    json_t *request;
    void *next;
    json_object_foreach_safe(requests, next, key, request) {
        const char *method = rpc_text(request, "method");
        int kind = kind_of(method);
        if (can_give(call, method))
            continue;
        if (kind >= 0)
            json_object_set_new(required, mcp_capability_names[kind], json_object());
        json_object_del(requests, key);
    }
    return json_object_size(requests) > 0;
}

static json_t *seal_own(const struct call *call, const json_t *state) {
    char mark[EDITOR_MARK_MAX], kind[EDITOR_MARK_MAX + 8];
    editor_mark(call->editor, mark);
    snprintf(kind, sizeof kind, "own:%s\n", mark);
    return seal(call, kind, json_string_value(state), json_string_length(state), STATE_MS);
}

/* A client with a session gets them as requests on the stream of its call. */
static void ask_each(struct call *call, json_t *requests, json_t *state) {
    const char *key;
    json_t *request;
    json_decref(call->state);
    json_decref(call->gathered);
    call->state = json_incref(state);
    call->gathered = json_object();
    json_object_foreach(requests, key, request) {
        json_t *id = json_string(key);
        struct client_input **input =
            add(call, id, rpc_text(request, "method"), json_object_get(request, "params"));
        json_decref(id);
        if (input) {
            (*input)->named = true;
            ask_legacy(call, *input);
        }
        if (!input || !(*input)->asked) {
            call_fail(call, 0, "The server wants input, and its client cannot be reached.", NULL);
            return;
        }
    }
}

bool input_seal_result(struct call *call, json_t *result) {
    json_t *requests = json_object_get(result, "inputRequests"), *required;
    json_t *state = json_object_get(result, "requestState");
    size_t wanted = json_object_size(requests);
    bool possible;
    if ((!call->modern && !call->editor->program) ||
        strcmp(call->method, "completion/complete") == 0) {
        call_fail(call, 0, "This needs a client of protocol version 2026-07-28 or later.", NULL);
        return false;
    }
    required = json_object();
    possible = keep_possible(call, requests, required);
    if (!call->modern) /* all or nothing: it would be asked again for what is missing */
        possible = possible && json_object_size(requests) == wanted;
    if (!possible && (!call->modern || requests || !json_is_string(state))) {
        if (json_object_size(required) > 0)
            call_fail(call, MCP_MISSING_CAPABILITY, "the client has not declared what this needs",
                      json_pack("{s:o}", "requiredCapabilities", required));
        else
            call_fail(call, 0, "Input is wanted, but none that a client can give.", required);
        return false;
    }
    json_decref(required);
    if (!call->modern) {
        ask_each(call, requests, state);
        return false;
    }
    if (json_is_string(state))
        json_object_set_new(result, "requestState", seal_own(call, state));
    return true;
}

/* ---- the way back ---- */

static bool responses_are_fine(json_t *responses) {
    const char *key;
    json_t *value;
    if (!json_is_object(responses))
        return false;
    json_object_foreach(responses, key, value) {
        if (!json_is_object(value))
            return false;
    }
    return true;
}

/* A call of ours that waits for this very request, as the seal has shown. */
static bool take_call(struct mcp_request *request, const char *name) {
    char own[CALL_NAME_MAX];
    for (struct call *call = request->serve->calls; call; call = call->next) {
        name_call(call, own);
        if (call->due.class != &call->serve->parked_time || strcmp(own, name) != 0)
            continue;
        request->parked = call;
        request->editor = call->editor;
    }
    return request->parked != NULL;
}

/* What an editor gave its client to bring back is for nobody but this editor. */
static bool take_own(struct mcp_request *request, char *text, size_t length) {
    char *end = memchr(text, '\n', length);
    if (!end)
        return false;
    *end = 0;
    /* Any process of a stateless server is as good as the one that gave it. */
    request->editor = request->serve->options->stdio ? request->serve->active
                                                     : editor_marked(request->serve, text);
    json_object_set_new(request->message.params, "requestState",
                        json_stringn(end + 1, length - (size_t)(end + 1 - text)));
    request->message.written.at = NULL; /* it says something else now */
    return true;
}

static bool take_state(struct mcp_request *request, const json_t *state) {
    struct serve *serve = request->serve;
    struct buffer text = {0};
    uint8_t asked[SHA256_SIZE];
    bool good;
    digest(request->message.method, request->message.params, asked);
    good = json_is_string(state) && seal_open(&text, &serve->key, (uint64_t)os_clock_ms(), asked,
                                              json_string_value(state), json_string_length(state));
    if (good && strncmp(text.data, "call:", 5) == 0)
        good = take_call(request, text.data + 5);
    else if (good && strncmp(text.data, "own:", 4) == 0)
        good = take_own(request, text.data + 4, text.length - 4);
    else
        good = false;
    buffer_finish(&text);
    return good;
}

bool input_check(struct mcp_request *request) {
    json_t *responses = json_object_get(request->message.params, "inputResponses");
    json_t *state = json_object_get(request->message.params, "requestState");
    if (responses && !responses_are_fine(responses)) {
        mcp_reply_error(request, RPC_INVALID_PARAMS,
                        "\"inputResponses\" must be an object of objects", NULL);
        return false;
    }
    if (state && !take_state(request, state)) {
        mcp_reply_error(request, RPC_INVALID_PARAMS,
                        "this requestState is not one of ours for this request, or is too old; "
                        "send the request again without it",
                        NULL);
        return false;
    }
    if (state && !request->editor) {
        mcp_reply_failure(request, "The Godot editor that asked for this input is not connected "
                                   "any more, and no other can go on with it. Send the request "
                                   "again without \"requestState\" and \"inputResponses\".");
        return false;
    }
    return true;
}
