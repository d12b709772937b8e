#include "mcp.h"

#include <string.h>

#include "caller.h"
#include "protocol/version.h"
#include "serve/relay/calls.h"
#include "serve/relay/editors.h"
#include "serve/relay/expect.h"
#include "serve/stdio/stdio_server.h"
#include "sessions.h"
#include "stateless_check.h"
#include "utf8.h"

/* Tools are always promised: editors come later, and a client that was told of none never asks. */
void mcp_add_capabilities(struct buffer *out, const struct mcp_request *request, unsigned offers) {
    const struct offer *offer = mcp_offer(request);
    buffer_add_literal(out, "\"capabilities\":{\"tools\":{\"listChanged\":true}");
    if (offers & OFFER_SUBSCRIBE)
        buffer_add_literal(out, ",\"resources\":{\"subscribe\":true,\"listChanged\":true}");
    else if (offers & OFFER_RESOURCES)
        buffer_add_literal(out, ",\"resources\":{\"listChanged\":true}");
    if (offers & OFFER_PROMPTS)
        buffer_add_literal(out, ",\"prompts\":{\"listChanged\":true}");
    if (offers & OFFER_LOGGING)
        buffer_add_literal(out, ",\"logging\":{}");
    if (offers & OFFER_COMPLETIONS)
        buffer_add_literal(out, ",\"completions\":{}");
    buffer_add_char(out, '}');
    if (offer->instructions) {
        buffer_add_literal(out, ",\"instructions\":");
        buffer_add_json(out, offer->instructions);
    }
}

const struct offer *mcp_offer(const struct mcp_request *request) {
    return caller_offer(request->serve, request->session, request->said);
}

const char *const mcp_capability_names[] = {"sampling", "elicitation", "roots"};

unsigned mcp_capabilities_of(const json_t *capabilities) {
    unsigned bits = 0;
    for (int i = 0; i < MCP_CAPABILITY_BITS; i++)
        if (json_is_object(json_object_get(capabilities, mcp_capability_names[i])))
            bits |= 1U << i;
    return bits;
}

const char *const mcp_log_levels[MCP_LOG_LEVELS] = {"debug", "info",     "notice", "warning",
                                                    "error", "critical", "alert",  "emergency"};

int mcp_log_level(const char *name) {
    for (int i = 0; name && i < MCP_LOG_LEVELS; i++)
        if (strcmp(mcp_log_levels[i], name) == 0)
            return i;
    return -1;
}

/* Whether the client may ask for it: an editor has offered it, or its session was promised it
 * before the server restarted. If not, the request has been answered: there is no such method. */
static bool mcp_is_offered(struct mcp_request *request, unsigned offer) {
    const struct mcp_session *session = request->session;
    unsigned offers = request->serve->offers | (session ? session->promised : 0);
    if ((offers & offer) == offer)
        return true;
    mcp_reply_error(request, RPC_METHOD_NOT_FOUND,
                    request->serve->options->stdio
                        ? "this server offers nothing for this method; its capabilities tell what "
                          "there is"
                        : "no Godot editor has registered anything for this method; the "
                          "capabilities of this server tell what there is",
                    NULL);
    return false;
}

/* ---- methods of both eras ---- */

static void unknown(struct mcp_request *request, const char *what, const char *name) {
    char text[256];
    snprintf(text, sizeof text, "Unknown %s: %.*s", what, (int)utf8_cut(name, 160), name);
    mcp_reply_error(request, RPC_INVALID_PARAMS, text, NULL);
}

/* Finds out whom the request is for. False: it has been answered. */
static bool find_editor(struct mcp_request *request) {
    request->editor = caller_editor(request->serve, request->session, request->said);
    return !request->modern || input_check(request);
}

/* Whether the editor is there, or on its way here. */
static bool can_be_done(const struct mcp_request *request) {
    return request->parked || (request->editor && request->editor->program) ||
           (request->editor && request->editor->offer->is_known) || expect_editor(request->serve);
}

/* Whether what is not in the lists is not there: the editor that could have it has said what it
 * has. A server over standard input and output has an answer of its own to other names. */
static bool is_unknown(const struct mcp_request *request) {
    const struct editor *editor = request->editor;
    return !request->parked && editor && !editor->program && editor->offer->is_known;
}

static void relay(struct mcp_request *request) {
    if (request->parked)
        call_resume(request);
    else if (request->editor && request->editor->program)
        stdio_relay(request);
    else
        call_start(request, request->editor);
}

static const char *why_not(const struct mcp_request *request, char out[CALLER_WORDS_MAX]) {
    caller_explain(request->serve, request->session, request->said, out);
    return out;
}

/* Arguments that are repeated in headers must be the same there; else it has been answered. */
static bool headers_agree(struct mcp_request *request, const json_t *tool,
                          const json_t *arguments) {
    const json_t *schema = json_object_get(tool, "inputSchema");
    struct error err;
    if (!request->modern || modern_check_parameters(request->http, schema, arguments, &err) == 0)
        return true;
    mcp_reply_error(request, err.code, err.message, NULL);
    return false;
}

static void call_tool(struct mcp_request *request) {
    const json_t *tool = NULL;
    const struct offer *offer;
    char words[CALLER_WORDS_MAX];
    const char *name = rpc_text(request->message.params, "name");
    json_t *arguments = json_object_get(request->message.params, "arguments");
    if (!name) {
        mcp_reply_missing(request, "name");
        return;
    }
    if (arguments && !json_is_object(arguments)) {
        mcp_reply_error(request, RPC_INVALID_PARAMS, "\"arguments\" must be an object", NULL);
        return;
    }
    if (!request->serve->options->stdio && builtin_has(name)) {
        mcp_reply_result(request, builtin_call(request, name, arguments));
        return;
    }
    if (!find_editor(request))
        return;
    offer = offer_shown(request->serve, request->editor,
                        caller_path(request->serve, request->session, request->said));
    tool = list_find(offer->lists[LIST_TOOLS], LIST_TOOLS, name);
    if (!can_be_done(request))
        mcp_reply_result(request, tool_failure("%s", why_not(request, words)));
    else if (!tool && is_unknown(request))
        unknown(request, "tool", name);
    else if (!caller_has_tool(offer, request->said, name))
        mcp_reply_result(request,
                         tool_failure("The tool \"%.*s\" is none of those that this client "
                                      "has asked for (?tools=… in its URL, or `tether mcp "
                                      "--tools`), so it is not called.",
                                      (int)utf8_cut(name, 100), name));
    else if (headers_agree(request, tool, arguments))
        relay(request);
}

/* Which resources there are only the editor knows: templates can stand for any number. */
static void read_resource(struct mcp_request *request) {
    const char *uri = rpc_text(request->message.params, "uri");
    char words[CALLER_WORDS_MAX];
    if (!uri)
        mcp_reply_missing(request, "uri");
    else if (!find_editor(request))
        return;
    else if (!can_be_done(request))
        mcp_reply_error(request, request->modern ? RPC_INVALID_PARAMS : (int)MCP_RESOURCE_NOT_FOUND,
                        why_not(request, words), json_pack("{s:s}", "uri", uri));
    else
        relay(request);
}

static void get_prompt(struct mcp_request *request) {
    const char *name = rpc_text(request->message.params, "name");
    char words[CALLER_WORDS_MAX];
    if (!name)
        mcp_reply_missing(request, "name");
    else if (!find_editor(request))
        return;
    else if (!can_be_done(request))
        mcp_reply_error(request, RPC_INVALID_PARAMS, why_not(request, words), NULL);
    else if (is_unknown(request) &&
             !list_find(request->editor->offer->lists[LIST_PROMPTS], LIST_PROMPTS, name))
        unknown(request, "prompt", name);
    else
        relay(request);
}

static void complete(struct mcp_request *request) {
    static const char nothing[] = "\"completion\":{\"values\":[],\"total\":0,\"hasMore\":false}";
    if (!json_is_object(json_object_get(request->message.params, "ref")) ||
        !json_is_object(json_object_get(request->message.params, "argument")))
        mcp_reply_error(request, RPC_INVALID_PARAMS, "params must have \"ref\" and \"argument\"",
                        NULL);
    else if (!find_editor(request))
        return;
    else if (!can_be_done(request))
        mcp_reply_members(request, false, nothing, sizeof nothing - 1);
    else
        relay(request);
}

bool mcp_run(struct mcp_request *request, const struct mcp_method *methods, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(methods[i].name, request->message.method) != 0)
            continue;
        if (mcp_is_offered(request, methods[i].offer))
            methods[i].run(request);
        return true;
    }
    return false;
}

static void reply_list(struct mcp_request *request, enum list_kind kind) {
    const struct offer *offer = mcp_offer(request);
    struct buffer some = {0};
    if (request->session)
        request->session->seen[kind] = offer->marks[kind];
    if (kind == LIST_TOOLS && !caller_has_all(request->said))
        caller_add_tools(&some, offer, request->said);
    if (some.data)
        mcp_reply_members(request, true, some.data, some.length);
    else
        mcp_reply_members(request, true, offer->texts[kind].data, offer->texts[kind].length);
    buffer_finish(&some);
}

/* False: the method is not that of a list. */
static bool run_list(struct mcp_request *request) {
    int kind = 0;
    while (kind < LIST_COUNT && strcmp(list_terms[kind].method, request->message.method) != 0)
        kind++;
    if (kind == LIST_COUNT)
        return false;
    if (!mcp_is_offered(request, list_terms[kind].offer))
        return true;
    if (json_object_get(request->message.params, "cursor"))
        mcp_reply_error(request, RPC_INVALID_PARAMS, "there is no such page: lists have only one",
                        NULL);
    else
        reply_list(request, (enum list_kind)kind);
    return true;
}

void mcp_run_shared(struct mcp_request *request) {
    static const struct mcp_method methods[] = {
        {"tools/call", call_tool, 0},
        {"resources/read", read_resource, OFFER_RESOURCES},
        {"prompts/get", get_prompt, OFFER_PROMPTS},
        {"completion/complete", complete, OFFER_COMPLETIONS},
    };
    if (!run_list(request) && !mcp_run(request, methods, sizeof methods / sizeof methods[0]))
        mcp_reply_error(request, RPC_METHOD_NOT_FOUND, "there is no such method", NULL);
}

/* ---- the endpoint ---- */

static void take_message(struct mcp_request *request) {
    const struct http_request *http = request->http;
    bool fine = rpc_parse(&request->message, http->body, http->length, RPC_VALUES_MOST);
    request->meta = json_object_get(request->message.params, "_meta");
    request->modern = modern_is_meant(http->headers[HTTP_PROTOCOL_VERSION], request->meta);
    if (!fine)
        mcp_reply_status(request, request->message.is_too_large ? 413 : 400, request->message.code,
                         request->message.complaint, NULL);
    else if (request->modern)
        modern_post(request);
    else
        legacy_post(request);
    rpc_finish(&request->message);
}

static void post(struct mcp_request *request) {
    const char *const *headers = request->http->headers;
    if (!http_is_json(headers[HTTP_CONTENT_TYPE]))
        mcp_reply_refusal(request, 415, "the body must be application/json");
    else if (!http_accepts(headers[HTTP_ACCEPT], "application/json") &&
             !http_accepts(headers[HTTP_ACCEPT], "text/event-stream"))
        mcp_reply_refusal(request, 406,
                          "a client must accept application/json and text/event-stream");
    else
        take_message(request);
}

static void preflight(struct http_connection *connection, const struct http_request *http) {
    static const char allowed[] =
        "Access-Control-Allow-Methods: GET, POST, DELETE\r\n"
        "Access-Control-Allow-Headers: Content-Type, Accept, Authorization, Mcp-Session-Id, "
        "MCP-Protocol-Version, Mcp-Method, Mcp-Name, Last-Event-ID\r\n"
        "Access-Control-Max-Age: 600\r\n";
    http_reply(connection, 204, http->headers[HTTP_ORIGIN] ? allowed : NULL, NULL, NULL, 0);
}

static void endpoint(struct serve *serve, struct http_connection *connection,
                     const struct http_request *http) {
    struct mcp_request request = {.serve = serve, .connection = connection, .http = http};
    request.said = caller_read(http->query);
    const char *version = http->headers[HTTP_PROTOCOL_VERSION];
    bool modern = modern_is_meant(version, NULL);
    if (http->method == HTTP_POST)
        post(&request);
    else if (http->method == HTTP_OPTIONS)
        preflight(connection, http);
    else if (!modern && http->method == HTTP_GET)
        legacy_get(&request);
    else if (!modern && http->method == HTTP_DELETE)
        legacy_delete(&request);
    else
        http_reply(connection, 405, modern ? "Allow: POST\r\n" : "Allow: GET, POST, DELETE\r\n",
                   NULL, NULL, 0);
    json_decref(request.said);
}

static void write_status(const struct serve *serve, struct buffer *out) {
    char start[OS_NUMBER_MAX], instance[OPTIONS_INSTANCE_MAX];
    json_t *status;
    os_start_format(start, serve->self.start);
    options_instance(serve->options, instance);
    status =
        json_pack("{s:s, s:s, s:I, s:s, s:s, s:i, s:i, s:I, s:I, s:I, s:o}", "name", "tether",
                  "version", tether_version, "pid", (json_int_t)serve->self.pid, "start", start,
                  "instance", instance, "http_port", (int)serve->http_port, "ws_port",
                  (int)serve->ws_port, "uptime_ms", (json_int_t)(os_clock_ms() - serve->started_at),
                  "sessions", (json_int_t)serve->session_count, "calls",
                  (json_int_t)serve->call_count, "editors", editors_json(serve, serve->active));
    if (serve->programs)
        json_object_set_new(status, "programs", stdio_json(serve));
    rpc_add_json(out, status);
    json_decref(status);
}

static void status(struct serve *serve, struct http_connection *connection,
                   const struct http_request *http) {
    if (http->method == HTTP_OPTIONS) {
        preflight(connection, http);
    } else if (http->method != HTTP_GET && http->method != HTTP_HEAD) {
        http_reply(connection, 405, "Allow: GET, HEAD\r\n", NULL, NULL, 0);
    } else {
        struct buffer out = {0};
        write_status(serve, &out);
        http_reply(connection, 200, NULL, "application/json", out.data, out.length);
        buffer_finish(&out);
    }
}

void mcp_on_request(void *context, struct http_connection *connection,
                    const struct http_request *request) {
    static const char lost[] =
        "Tether's MCP server: the endpoint is /mcp, its state is at /status.\n";
    if (strcmp(request->path, "/mcp") == 0)
        endpoint(context, connection, request);
    else if (strcmp(request->path, "/status") == 0)
        status(context, connection, request);
    else
        http_reply(connection, 404, NULL, "text/plain; charset=utf-8", lost, sizeof lost - 1);
}
