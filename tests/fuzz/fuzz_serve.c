/* Whatever a client sends over HTTP: however it is cut into pieces, the same requests come out of
 * it, or the same refusal; and what is in them is a message, or a complaint that can be sent. */
#include "fuzz.h"
#include "serve/http/http_connection.h"
#include "serve/mcp/mcp.h"
#include "serve/mcp/replay.h"
#include "serve/mcp/stateless_check.h"

#include <string.h>

const char *const fuzz_words[] = {
    "POST /mcp HTTP/1.1\r\n",
    "GET /status HTTP/1.1\r\n",
    "Host: localhost:8000\r\n",
    "Host: evil.example\r\n",
    "Origin: http://localhost\r\n",
    "Content-Type: application/json\r\n",
    "Content-Length: 46\r\n",
    "Content-Length: 2\r\n\r\n{}",
    "Transfer-Encoding: chunked\r\n",
    "Mcp-Param-A: b\r\n",
    "Mcp-Session-Id: 0\r\n",
    "Last-Event-ID: t1-1-1\r\n",
    "MCP-Protocol-Version: 2026-07-28\r\n",
    "Mcp-Method: ping\r\n",
    "Expect: 100-continue\r\n",
    "Connection: close\r\n",
    "Upgrade: x\r\nConnection: Upgrade\r\n",
    "\r\n",
    "\r\n\r\n",
    "2e\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\r\n0\r\n\r\n",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}",
    "5;a=b\r\n",
    "0\r\nHost: x\r\n\r\n",
    "\r",
    "\n",
    " ",
    NULL,
};

static struct http_server server;

/* What came out: a digest of every request, in order, and how it ended. */
struct outcome {
    struct sha hash;
    unsigned requests;
    int reject;
};

static void add(struct sha *hash, const char *text) {
    sha_add(hash, text ? text : "\1", text ? strlen(text) + 1 : 2);
}

static void look_at_body(const struct http_request *request) {
    struct rpc_message message;
    struct buffer out = {0};
    struct error err;
    if (!rpc_parse(&message, request->body ? request->body : "", request->length,
                   RPC_VALUES_MOST)) {
        FUZZ_CHECK(message.code < 0 && message.complaint);
        rpc_add_error(&out, message.id, message.code, message.complaint, NULL);
        FUZZ_CHECK(!out.failed);
    } else if (message.kind == RPC_REQUEST) {
        FUZZ_CHECK(message.method && message.id);
        modern_check(request, &message, json_object_get(message.params, "_meta"), &err);
    }
    buffer_finish(&out);
    rpc_finish(&message);
}

/* What is read out of an id makes an id of the same call and event. */
static void look_at_event_id(const char *id) {
    static struct serve serve = {.started_at = 1};
    int64_t call, again;
    uint32_t event, same;
    char text[RESUME_ID_MAX];
    if (!id || !resume_read_id(&serve, id, &call, &event))
        return;
    FUZZ_CHECK(call >= 0);
    resume_id(&serve, call, event, text);
    FUZZ_CHECK(resume_read_id(&serve, text, &again, &same) && again == call && same == event);
}

static void look_at_request(const struct http_request *request, struct outcome *outcome) {
    FUZZ_CHECK(request->length <= HTTP_BODY_MOST);
    FUZZ_CHECK(request->path[0]);
    FUZZ_CHECK(http_host_is_ours(request->headers[HTTP_HOST], server.port));
    outcome->requests++;
    add(&outcome->hash, request->path);
    for (int i = 0; i < HTTP_HEADER_COUNT; i++)
        add(&outcome->hash, request->headers[i]);
    for (size_t i = 0; i < request->parameter_count; i++) {
        add(&outcome->hash, request->parameters[i].name);
        add(&outcome->hash, request->parameters[i].value);
    }
    look_at_event_id(request->headers[HTTP_LAST_EVENT_ID]);
    sha_add(&outcome->hash, request->body, request->length);
    look_at_body(request);
}

static void run(const uint8_t *data, size_t size, size_t piece, struct outcome *outcome) {
    struct http_connection *connection = calloc(1, sizeof *connection);
    FUZZ_CHECK(connection);
    *outcome = (struct outcome){.requests = 0};
    sha256_init(&outcome->hash);
    connection->server = &server;
    http_parse_init(connection);
    while (size > 0 && connection->reject == 0) {
        size_t count = size < piece ? size : piece, used;
        char *copy = malloc(count);
        FUZZ_CHECK(copy);
        memcpy(copy, data, count);
        used = http_parse(connection, copy, count);
        FUZZ_CHECK(used > 0 && used <= count);
        if (connection->whole && connection->reject == 0)
            look_at_request(&connection->request, outcome);
        connection->whole = false;
        free(copy);
        data += used;
        size -= used;
    }
    outcome->reject = connection->reject;
    FUZZ_CHECK((connection->reject == 0) == (connection->reject_text == NULL));
    http_forget_body(connection);
    FUZZ_CHECK(server.bodies == 0);
    buffer_finish(&connection->head);
    buffer_finish(&connection->body);
    free(connection);
    buffer_finish(&server.scratch);
    server.writer = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const size_t pieces[] = {1, 2, 7, 64};
    uint8_t whole[SHA256_SIZE], cut[SHA256_SIZE];
    struct outcome first, other;
    server.port = 8000;
    run(data, size, size ? size : 1, &first);
    sha_end(&first.hash, whole, sizeof whole);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        run(data, size, pieces[i], &other);
        sha_end(&other.hash, cut, sizeof cut);
        FUZZ_CHECK((first.reject != 0) == (other.reject != 0));
        if (first.reject == 0)
            FUZZ_CHECK(first.requests == other.requests && memcmp(whole, cut, sizeof cut) == 0);
    }
    return 0;
}
