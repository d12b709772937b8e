/* An editor that takes no time: it registers the tools of a file and answers every call at once, so
 * that a measurement of the server is not one of the editor.
 *
 *     quick_editor PORT TOOLS_FILE      (the token comes from TETHER_WS_TOKEN)
 *
 * The file is an object with "tools", as a registration has them. Ends with the connection. */
#include "protocol/websocket_client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static void send_json(struct websocket_client *client, json_t *message) {
    char *text = json_dumps(message, JSON_COMPACT);
    if (!text || websocket_stream_send(&client->stream, text, strlen(text)) < 0)
        abort();
    free(text);
    json_decref(message);
}

static void on_open(void *context, struct websocket_client *client) {
    json_t *tools = context;
    send_json(client,
              json_pack("{s:s, s:i, s:s, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", 0, "method",
                        "editor/hello", "params", "protocol", 1, "project", "Quick"));
    send_json(client, json_pack("{s:s, s:s, s:O}", "jsonrpc", "2.0", "method", "editor/register",
                                "params", tools));
}

/* The server writes the number of a call first, and nothing needs to be known of the rest. */
static void on_message(void *context, struct websocket_client *client, char *text, size_t length) {
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":";
    char answer[256];
    int made;
    (void)context;
    if (length < sizeof head || memcmp(text, head, sizeof head - 1) != 0 ||
        !strstr(text, "\"method\":\"tools/call\""))
        return;
    made = snprintf(answer, sizeof answer,
                    "%s%lld,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"Echo: hello\"}"
                    "]}}",
                    head, strtoll(text + sizeof head - 1, NULL, 10));
    websocket_stream_send(&client->stream, answer, (size_t)made);
}

static void on_close(void *context, struct websocket_client *client, int code, const char *why) {
    (void)context;
    (void)client;
    fprintf(stderr, "quick_editor: closed: %d %s\n", code, why);
}

int main(int argc, char **argv) {
    static const struct websocket_client_events events = {
        .on_open = on_open, .on_message = on_message, .on_close = on_close};
    static struct websocket_client client;
    struct websocket_client_options options = {.token = getenv("TETHER_WS_TOKEN")};
    uv_loop_t loop;
    json_t *tools = argc == 3 ? json_load_file(argv[2], 0, NULL) : NULL;
    if (!tools) {
        fprintf(stderr, "usage: quick_editor PORT TOOLS_FILE\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    options.port = (uint16_t)strtoul(argv[1], NULL, 10);
    if (uv_loop_init(&loop) < 0)
        return 1;
    websocket_client_open(&client, &loop, &options, &events, tools);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    json_decref(tools);
    return 0;
}
