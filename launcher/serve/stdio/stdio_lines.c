/* What a stdio server says. For what it asks of a client it does not say for which call; so there
 * must be no doubt. */
#include <stdlib.h>
#include <string.h>

#include "readable.h"
#include "serve/mcp/sessions.h"
#include "serve/mcp/subscriptions.h"
#include "serve/relay/editors.h"
#include "stdio_greeting.h"
#include "stdio_server_inside.h"
#include "utf8.h"

enum { SHOWN_MOST = 200 };

#define NUMBER_MOST (INT64_C(1) << 53) /* what a float tells from its neighbours */

/* ---- what is no message ---- */

static void complain(const struct stdio_server *server, const char *what, const char *text,
                     size_t length) {
    char shown[SHOWN_MOST * READABLE_GROWTH + 1];
    readable_text(shown, text, length < SHOWN_MOST ? length : SHOWN_MOST);
    fprintf(stderr, "tether serve: the server %s %s: %s\n", server->editor->name, what, shown);
}

static bool begins_with(const char *text, size_t length, const char *words) {
    size_t size = strlen(words);
    return length >= size && memcmp(text, words, size) == 0;
}

/* NULL: it is not in there. */
static char *find(char *text, size_t length, const char *words) {
    char *end = text + length;
    for (; (text = memchr(text, words[0], (size_t)(end - text))) != NULL; text++)
        if (begins_with(text, (size_t)(end - text), words))
            return text;
    return NULL;
}

/* The number behind an "id": that stands here; 0: there is none. */
static int64_t read_id(const char *text, size_t length) {
    static const char key[] = "\"id\":";
    int64_t number = 0;
    size_t at = sizeof key - 1;
    if (!begins_with(text, length, key))
        return 0;
    while (at < length && text[at] == ' ')
        at++;
    for (; at < length && text[at] >= '0' && text[at] <= '9' && number < NUMBER_MOST; at++)
        number = number * 10 + (text[at] - '0');
    return number;
}

/* The id of a message that cannot be read: before anything in it has begun, or behind the end of
 * all that is in it. There can be many in between. 0: there is none. */
static int64_t find_id(const char *text, size_t length) {
    int64_t number = 0;
    unsigned braces = 0;
    for (size_t at = 0; at < length && braces < 2 && number == 0; at++) {
        braces += text[at] == '{';
        if (braces == 1)
            number = read_id(text + at, length - at);
    }
    braces = 0;
    for (size_t at = length; at-- > 0 && braces < 2 && number == 0;) {
        braces += text[at] == '}';
        if (braces == 1)
            number = read_id(text + at, length - at);
    }
    return number;
}

/* What cannot be read was perhaps the answer to a call, which otherwise would wait for long; or the
 * request, as a server writes it that tells what it hears. */
static void give_up_call(struct stdio_server *server, char *text, size_t length,
                         const char *complaint) {
    int64_t number = 0;
    if (find(text, length, "\"result\"") || find(text, length, "\"error\""))
        number = find_id(text, length);
    if (number > 0)
        call_editor_unread(server->editor, number, complaint);
}

void stdio_take_overlong(void *context, char *edges, size_t length) {
    struct stdio_server *server = context;
    complain(server, "wrote a line of more than 64 MiB, which is left out", edges, length);
    give_up_call(server, edges, length, "it is longer than 64 MiB");
}

/* ---- numbers ---- */

/* Where all numbers are floats, the 5 that we sent comes back as 5.0. */
static json_t *get_number(json_t *object, const char *key) {
    double number = json_real_value(json_object_get(object, key));
    if (number > 0 && number < (double)NUMBER_MOST && number == (double)(int64_t)number)
        json_object_set_new(object, key, json_integer((int64_t)number));
    return json_object_get(object, key);
}

/* ---- requests ---- */

/* The one call that this can be about: the only one, or the newest if all are of one session. */
static struct call *cause(const struct stdio_server *server) {
    struct call *newest = NULL;
    for (struct call *call = server->serve->calls; call; call = call->next) {
        if (call->editor != server->editor || !call->sent)
            continue;
        if (newest && (!call->session || call->session != newest->session))
            return NULL;
        if (!newest || call->number > newest->number)
            newest = call;
    }
    return newest;
}

static void on_request(struct stdio_server *server, struct rpc_message *message) {
    struct call *call = cause(server);
    if (strcmp(message->method, "ping") == 0) {
        editor_answer(server->editor, message->id, json_object());
        return;
    }
    if (!call) {
        editor_refuse(server->editor, message->id, RPC_INVALID_REQUEST,
                      "this server is shared by several clients, and the request does not tell for "
                      "which of them it is; ask while a single call is under way, or let each "
                      "client have its own process (--per-client)",
                      NULL);
        return;
    }
    if (!message->params) {
        message->params = json_object();
        json_object_set_new(message->root, "params", message->params);
    }
    json_object_set_new(message->params, "call", json_integer(call->number));
    if (!input_ask(server->editor, message))
        editor_refuse(server->editor, message->id, RPC_METHOD_NOT_FOUND,
                      "clients are not asked this", NULL);
}

/* ---- notifications ---- */

static void on_log(struct stdio_server *server, const struct rpc_message *message) {
    const struct call *call = cause(server);
    if (server->serve->options->per_client && !server->session && !server->for_one_call)
        return; /* that one is nobody's */
    if (call && call->modern)
        json_object_set_new(message->params, "call", json_integer(call->number));
    if (server->session) {
        struct buffer out = {0};
        if (!session_wants_log(server->session, mcp_log_level(rpc_text(message->params, "level"))))
            return;
        rpc_add_json(&out, message->root);
        session_tell(server->session, &out);
        buffer_finish(&out);
        return;
    }
    call_editor_notification(server->editor, message);
}

static void on_notification(struct stdio_server *server, const struct rpc_message *message) {
    const char *method = message->method;
    json_t *token;
    for (int kind = 0; kind < LIST_COUNT; kind++)
        if (list_terms[kind].changed && strcmp(list_terms[kind].changed, method) == 0)
            greeting_list_changed(server, (enum list_kind)kind);
    if (!message->params)
        return;
    if (strcmp(method, "notifications/progress") == 0) {
        token = get_number(message->params, "progressToken");
        if (json_is_integer(token))
            json_object_set(message->params, "call", token);
        call_editor_notification(server->editor, message);
    } else if (strcmp(method, "notifications/message") == 0) {
        on_log(server, message);
    } else if (strcmp(method, "notifications/cancelled") == 0) {
        input_cancelled(server->editor, json_object_get(message->params, "requestId"),
                        rpc_text(message->params, "reason"));
    } else if (strcmp(method, "notifications/resources/updated") == 0) {
        watch_updated(server->serve, rpc_text(message->params, "uri"));
    }
}

/* ---- lines ---- */

/* Clients get valid UTF-8, also from those who write something else into their strings. */
static void mend(char *text, size_t length) {
    for (size_t at = 0; at < length;) {
        size_t sequence =
            (unsigned char)text[at] < 0x80 ? 1 : utf8_sequence(text + at, length - at);
        if (sequence == 0)
            text[at] = '?';
        at += sequence ? sequence : 1;
    }
}

/* Something was printed without a newline, or with the answer behind it: that is taken. */
static bool take_behind(struct stdio_server *server, char *line, size_t length) {
    char *found = find(line + 1, length - 1, "{\""), *end = line + length;
    struct scan scan;
    if (!found || scan_message(&scan, found, (size_t)(end - found)) < 0 ||
        scan_kind(&scan) != SCAN_RESPONSE)
        return false;
    stdio_take_line(server, found, (size_t)(end - found));
    return true;
}

/* Up to 2025-03-26 several messages could be one. False: that is none. */
static bool take_batch(struct stdio_server *server, const json_t *list) {
    const json_t *message;
    size_t i;
    if (!rpc_text(json_array_get(list, 0), "jsonrpc"))
        return false;
    json_array_foreach(list, i, message) {
        char *line = json_dumps(message, JSON_COMPACT | JSON_ENCODE_ANY);
        if (line)
            stdio_take_line(server, line, strlen(line));
        free(line);
    }
    return true;
}

void stdio_take_line(void *context, char *line, size_t length) {
    struct stdio_server *server = context;
    struct rpc_message message;
    struct scan scan;
    if (server->state == STDIO_ENDS)
        return;
    if (scan_message(&scan, line, length) == 0) {
        mend(line, length);
        if (scan_kind(&scan) == SCAN_RESPONSE && call_pass_on(server->editor, &scan))
            return;
    }
    if (!rpc_parse(&message, line, length, RPC_VALUES_MOST_EDITOR)) {
        if (!take_batch(server, message.root)) {
            complain(server, "wrote what is no message to its standard output", line, length);
            if (!take_behind(server, line, length))
                give_up_call(server, line, length, message.complaint);
        }
    } else if (message.kind == RPC_REQUEST) {
        on_request(server, &message);
    } else if (message.kind == RPC_NOTIFICATION) {
        on_notification(server, &message);
    } else {
        message.id = get_number(message.root, "id");
        if (json_is_integer(message.id))
            call_editor_response(server->editor, &message);
        else
            greeting_answer(server, &message);
    }
    rpc_finish(&message);
}
