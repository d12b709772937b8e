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

/* ---- what is no message ---- */

static void complain(const struct stdio_server *server, const char *what, const char *text,
                     size_t length) {
    char shown[SHOWN_MOST * READABLE_GROWTH + 1];
    readable_text(shown, text, length < SHOWN_MOST ? length : SHOWN_MOST);
    fprintf(stderr, "tether serve: the server %s %s: %s\n", server->editor->name, what, shown);
}

/* The number behind the last "id": of what cannot be read; 0: there is none. */
static int64_t find_id(const char *text, size_t length) {
    static const char key[] = "\"id\":";
    size_t size = sizeof key - 1;
    for (size_t at = length; at-- > size;) {
        const char *found = text + at - size;
        char digits[24] = "";
        size_t count = 0;
        if (memcmp(found, key, size) != 0)
            continue;
        while (at + count < length && text[at + count] == ' ')
            at++;
        while (count < sizeof digits - 1 && at + count < length && text[at + count] >= '0' &&
               text[at + count] <= '9') {
            digits[count] = text[at + count];
            count++;
        }
        return count > 0 ? strtoll(digits, NULL, 10) : 0;
    }
    return 0;
}

/* What cannot be read was perhaps the answer to a call, which otherwise would wait for long. */
static void give_up_call(struct stdio_server *server, const char *text, size_t length,
                         const char *complaint) {
    int64_t number = find_id(text, length);
    if (number > 0)
        call_editor_unread(server->editor, number, complaint);
}

void stdio_take_overlong(void *context, const char *edges, size_t length) {
    struct stdio_server *server = context;
    complain(server, "wrote a line of more than 64 MiB, which is left out", edges, length);
    give_up_call(server, edges, length, "it is longer than 64 MiB");
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
    if (call && call->modern)
        json_object_set_new(message->params, "call", json_integer(call->number));
    if (server->session) {
        struct buffer out = {0};
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
        token = json_object_get(message->params, "progressToken");
        if (json_is_integer(token))
            json_object_set(message->params, "call", token);
        call_editor_notification(server->editor, message);
    } else if (strcmp(method, "notifications/message") == 0) {
        on_log(server, message);
    } else if (strcmp(method, "notifications/resources/updated") == 0) {
        watch_updated(server->serve, rpc_text(message->params, "uri"));
    }
}

/* ---- lines ---- */

void stdio_take_line(void *context, char *line, size_t length) {
    struct stdio_server *server = context;
    struct rpc_message message;
    struct scan scan;
    if (server->state == STDIO_ENDS)
        return;
    if (scan_message(&scan, line, length) == 0 && scan_kind(&scan) == SCAN_RESPONSE &&
        call_pass_on(server->editor, &scan))
        return;
    if (!rpc_parse(&message, line, length, RPC_VALUES_MOST_EDITOR)) {
        complain(server, "wrote what is no message to its standard output", line, length);
        give_up_call(server, line, length, message.complaint);
    } else if (message.kind == RPC_REQUEST) {
        on_request(server, &message);
    } else if (message.kind == RPC_NOTIFICATION) {
        on_notification(server, &message);
    } else if (json_is_integer(message.id)) {
        call_editor_response(server->editor, &message);
    } else {
        greeting_answer(server, &message);
    }
    rpc_finish(&message);
}
