/* The editors' endpoint with somebody behind it who sends everything back:
 *
 *     websocket_echo TOKEN [PORT [LIMIT=NUMBER…]]
 *
 * Limits are the names in struct websocket_stream_limits, and connections. Port 0, the default, is
 * any free one. Some messages are orders:
 *
 *     close CODE REASON    closes this connection
 *     flood COUNT SIZE     sends so many messages of so many bytes, and "flooded all", or
 *                          "flooded ERROR", to the output
 *     quit                 ends the server, which must leave nothing in the loop
 *
 * Prints "listening PORT", and what happens: "open", "message LENGTH", "close WHY". SIGINT is the
 * order to quit. */
#include "serve/relay/editor_socket.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"

struct echo {
    struct editor_socket_server server;
    uv_signal_t signal;
    uv_loop_t loop;
};

static void quit(struct echo *echo) {
    editor_socket_server_finish(&echo->server);
    if (!uv_is_closing((uv_handle_t *)&echo->signal))
        uv_close((uv_handle_t *)&echo->signal, NULL);
}

static void on_signal(uv_signal_t *handle, int number) {
    (void)number;
    quit(handle->data);
}

static void on_open(void *context, struct editor_socket *socket) {
    (void)context;
    socket->data = socket;
    say("open\n");
}

static void flood(struct editor_socket *socket, const char *order) {
    unsigned long count = 0, size = 0;
    int rc = 0;
    sscanf(order, "flood %lu %lu", &count, &size);
    char *text = malloc(size + 1);
    if (!text)
        abort();
    memset(text, 'f', size);
    while (count-- > 0 && rc == 0)
        rc = websocket_stream_send(&socket->stream, text, size);
    free(text);
    say("flooded %s\n", rc < 0 ? uv_err_name(rc) : "all");
}

static void on_message(void *context, struct editor_socket *socket, char *text, size_t length) {
    struct echo *echo = context;
    unsigned code;
    int at = 0;
    if (text[length] != 0 || socket->data != socket)
        abort();
    say("message %d\n", (int)length);
    if (sscanf(text, "close %u %n", &code, &at) == 1 && at > 0)
        websocket_stream_close(&socket->stream, code, text + at);
    else if (strncmp(text, "flood ", 6) == 0)
        flood(socket, text);
    else if (strcmp(text, "quit") == 0)
        quit(echo);
    else
        websocket_stream_send(&socket->stream, text, length);
}

static void on_close(void *context, struct editor_socket *socket, const char *why) {
    (void)context;
    if (socket->data != socket)
        abort();
    say("close %s\n", why);
}

static const struct editor_socket_events events = {
    .on_open = on_open, .on_message = on_message, .on_close = on_close};

static int set_limit(struct editor_socket_server *server, const char *argument) {
    const char *value = strchr(argument, '=');
    unsigned number = value ? (unsigned)strtoul(value + 1, NULL, 10) : 0;
    size_t length = value ? (size_t)(value - argument) : 0;
    if (length == 7 && memcmp(argument, "message", length) == 0)
        server->limits.message = number;
    else if (length == 5 && memcmp(argument, "queue", length) == 0)
        server->limits.queue = number;
    else if (length == 11 && memcmp(argument, "connections", length) == 0)
        server->connections_most = number;
    else if (length == 12 && memcmp(argument, "handshake_ms", length) == 0)
        server->limits.handshake_ms = number;
    else if (length == 7 && memcmp(argument, "ping_ms", length) == 0)
        server->limits.ping_ms = number;
    else if (length == 8 && memcmp(argument, "close_ms", length) == 0)
        server->limits.close_ms = number;
    else
        return -1;
    return 0;
}

static int start(struct echo *echo, const char *token, uint16_t port) {
    struct error err;
    os_handle listener;
    if (os_listen(&listener, port, 64, &err) < 0 || os_socket_port(listener, &port) < 0 ||
        editor_socket_listen(&echo->server, &echo->loop, listener, token, &events, echo, &err) <
            0) {
        fprintf(stderr, "%s\n", err.message);
        return -1;
    }
    uv_signal_init(&echo->loop, &echo->signal);
    echo->signal.data = echo;
    uv_signal_start(&echo->signal, on_signal, SIGINT);
    say("listening %u\n", (unsigned)port);
    return 0;
}

int main(int argc, char **argv) {
    static struct echo echo;
#ifdef SIGPIPE
    signal(SIGPIPE, SIG_IGN);
#endif
    for (int i = 3; i < argc; i++)
        if (set_limit(&echo.server, argv[i]) < 0)
            return 2;
    uv_loop_init(&echo.loop);
    if (argc < 2 || start(&echo, argv[1], argc > 2 ? (uint16_t)strtoul(argv[2], NULL, 10) : 0) < 0)
        return 2;
    uv_run(&echo.loop, UV_RUN_DEFAULT);
    if (uv_loop_close(&echo.loop) < 0)
        return 3;
    say("end\n");
    return 0;
}
