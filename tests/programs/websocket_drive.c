/* The client's side of a WebSocket, driven by lines on standard input:
 *
 *     websocket_drive PORT [OPTION=VALUE…]
 *
 * Options are path, token, and the names in struct websocket_stream_limits. Orders:
 *
 *     send TEXT            fill COUNT (sends so many x)        twice TEXT (sends it, and again)
 *     close CODE REASON    abort CODE REASON
 *     echo                 from now on sends back what it is told
 *
 * The end of the input does nothing. Prints "open", "message LENGTH TEXT" (the beginning of it),
 * "failed ERROR" for an order that did, and "close CODE WHY", with which it ends; an error's
 * code is its name. */
#include "protocol/websocket_client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/lines.h"
#include "say.h"

struct drive {
    struct websocket_client client;
    struct buffer lines;
    uv_pipe_t input;
    uv_loop_t loop;
    bool echoes, closed;
    char buffer[4096];
};

static void on_open(void *context, struct websocket_client *client) {
    struct drive *drive = context;
    if (client != &drive->client || client->stream.state != WEBSOCKET_STREAM_OPEN)
        abort();
    say("open\n");
}

static void on_message(void *context, struct websocket_client *client, char *text, size_t length) {
    struct drive *drive = context;
    if (text[length] != 0)
        abort();
    say("message %d %.60s\n", (int)length, text);
    if (drive->echoes)
        websocket_stream_send(&client->stream, text, length);
}

static void on_close(void *context, struct websocket_client *client, int code, const char *why) {
    struct drive *drive = context;
    if (drive->closed || client->stream.state == WEBSOCKET_STREAM_OPEN)
        abort();
    drive->closed = true;
    if (code < 0)
        say("close %s %s\n", uv_err_name(code), why);
    else
        say("close %d %s\n", code, why);
    uv_close((uv_handle_t *)&drive->input, NULL);
}

static const struct websocket_client_events events = {
    .on_open = on_open, .on_message = on_message, .on_close = on_close};

static int fill(struct websocket_client *client, size_t count) {
    char *text = malloc(count + 1);
    int rc;
    if (!text)
        abort();
    memset(text, 'x', count);
    rc = websocket_stream_send(&client->stream, text, count);
    free(text);
    return rc;
}

static bool on_line(const char *line, size_t length, void *context) {
    struct drive *drive = context;
    struct websocket_client *client = &drive->client;
    unsigned code;
    int at = 0, rc = 0;
    if (strncmp(line, "send ", 5) == 0)
        rc = websocket_stream_send(&client->stream, line + 5, length - 5);
    else if (strncmp(line, "twice ", 6) == 0)
        rc = websocket_stream_send(&client->stream, line + 6, length - 6) ||
             websocket_stream_send(&client->stream, line + 6, length - 6);
    else if (strncmp(line, "fill ", 5) == 0)
        rc = fill(client, strtoul(line + 5, NULL, 10));
    else if (sscanf(line, "close %u %n", &code, &at) == 1)
        websocket_stream_close(&client->stream, code, line + at);
    else if (sscanf(line, "abort %u %n", &code, &at) == 1)
        websocket_client_abort(client, code, line + at);
    else if (strcmp(line, "echo") == 0)
        drive->echoes = true;
    else
        abort();
    if (rc != 0)
        say("failed %s\n", uv_err_name(rc));
    return true;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct drive *drive = handle->data;
    (void)suggested;
    *buf = uv_buf_init(drive->buffer, sizeof drive->buffer);
}

static void on_input(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    struct drive *drive = stream->data;
    if (count < 0)
        uv_read_stop(stream);
    else if (count > 0)
        lines_feed(&drive->lines, buf->base, (size_t)count, on_line, drive);
}

static int set_option(struct websocket_client_options *options, const char *argument) {
    const char *value = strchr(argument, '=');
    unsigned number = value ? (unsigned)strtoul(value + 1, NULL, 10) : 0;
    if (!value)
        return -1;
    if (strncmp(argument, "path=", 5) == 0)
        options->path = value + 1;
    else if (strncmp(argument, "token=", 6) == 0)
        options->token = value + 1;
    else if (strncmp(argument, "message=", 8) == 0)
        options->limits.message = number;
    else if (strncmp(argument, "queue=", 6) == 0)
        options->limits.queue = number;
    else if (strncmp(argument, "handshake_ms=", 13) == 0)
        options->limits.handshake_ms = number;
    else if (strncmp(argument, "ping_ms=", 8) == 0)
        options->limits.ping_ms = number;
    else if (strncmp(argument, "close_ms=", 9) == 0)
        options->limits.close_ms = number;
    else
        return -1;
    return 0;
}

int main(int argc, char **argv) {
    static struct drive drive;
    struct websocket_client_options options = {0};
#ifdef SIGPIPE
    signal(SIGPIPE, SIG_IGN);
#endif
    if (argc < 2)
        return 2;
    options.port = (uint16_t)strtoul(argv[1], NULL, 10);
    for (int i = 2; i < argc; i++)
        if (set_option(&options, argv[i]) < 0)
            return 2;
    uv_loop_init(&drive.loop);
    uv_pipe_init(&drive.loop, &drive.input, 0);
    drive.input.data = &drive;
    if (uv_pipe_open(&drive.input, 0) < 0)
        return 2;
    uv_read_start((uv_stream_t *)&drive.input, on_alloc, on_input);
    websocket_client_open(&drive.client, &drive.loop, &options, &events, &drive);
    uv_run(&drive.loop, UV_RUN_DEFAULT);
    buffer_finish(&drive.lines);
    return uv_loop_close(&drive.loop) < 0 ? 3 : 0;
}
