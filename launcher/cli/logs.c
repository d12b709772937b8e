/* `tether logs`: what the server wrote, also when nothing runs any more. */
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "client.h"
#include "commands.h"
#include "daemon/log.h"
#include "exit_code.h"
#include "protocol/message.h"
#include "readable.h"

/* The files were written readable; perhaps not by this release, nor by us at all. */
static void print_line(void *context, const char *line, size_t length) {
    struct buffer text = {0};
    (void)context;
    readable_add(&text, line, length);
    buffer_add_char(&text, '\n');
    if (!text.failed)
        fwrite(text.data, 1, text.length, stdout);
    buffer_finish(&text);
}

static int print_tail(const struct options *options) {
    struct error err = {0};
    struct os_dir dir;
    int rc = options_dir(options, &dir, false, &err);
    if (rc == UV_ENOENT)
        error_set(&err, rc, "nothing has run for ports %u and %u, so there is no log",
                  (unsigned)options->http_port, (unsigned)options->ws_port);
    if (rc < 0)
        return exit_failing(command_client_code(rc), &err);
    log_tail(&dir, "server.log", (size_t)options->line_count, print_line, NULL);
    os_dir_finish(&dir);
    return EXIT_FINE;
}

static void print_message(const json_t *message) {
    struct buffer text = {0};
    char stamp[32];
    if (message_kind(message) != MESSAGE_LOG)
        return;
    log_stamp(stamp);
    buffer_format(&text, "%s %s %s", stamp, message_text(message, "stream"),
                  message_text(message, "line"));
    if (text.data && !text.failed)
        print_line(NULL, text.data, text.length);
    buffer_finish(&text);
}

/* Old lines and new ones in one request, so that none is lost in between. */
static int follow(const struct options *options) {
    struct error err = {0};
    json_t *welcome = NULL, *message, *line;
    size_t i;
    struct client *client = client_open(options, &welcome, &err);
    if (!client)
        return exit_failing(command_client_code(err.code), &err);
    message = client_request(client,
                             json_pack("{s:s, s:I, s:b}", "type", "logs", "n",
                                       (json_int_t)options->line_count, "follow", 1),
                             10000);
    json_array_foreach(json_object_get(message, "lines"), i, line) {
        if (json_is_string(line))
            print_line(NULL, json_string_value(line), json_string_length(line));
    }
    json_decref(message);
    while ((message = client_follow(client)) != NULL) {
        print_message(message);
        json_decref(message);
    }
    client_close(client, welcome);
    return EXIT_FINE;
}

int command_logs(const struct options *options) {
    return options->follow ? follow(options) : print_tail(options);
}
