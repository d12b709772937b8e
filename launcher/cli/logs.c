/* `tether logs`: what the server wrote, also when nothing runs any more. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../daemon/log.h"
#include "../protocol/message.h"
#include "cli.h"
#include "client.h"
#include "commands.h"

static void print_line(void *context, const char *line, size_t length) {
    (void)context;
    fwrite(line, 1, length, stdout);
    putchar('\n');
}

static int print_tail(const struct options *options) {
    struct error err = {0};
    struct os_dir dir;
    int rc = client_dir(&dir, options, false, &err);
    if (rc == -ENOENT)
        error_set(&err, rc, "nothing has run for ports %u and %u, so there is no log",
                  (unsigned)options->http_port, (unsigned)options->ws_port);
    if (rc < 0)
        return command_fail(command_client_code(rc), &err);
    log_tail(&dir, "server.log", (size_t)options->line_count, print_line, NULL);
    os_dir_finish(&dir);
    return EXIT_FINE;
}

static void print_message(const json_t *message) {
    if (strcmp(message_text(message, "type"), "log") != 0)
        return;
    printf("%s %s\n", message_text(message, "stream"), message_text(message, "line"));
    fflush(stdout);
}

static int follow(const struct options *options) {
    struct error err = {0};
    json_t *welcome = NULL, *message;
    struct client *client = client_open(options, &welcome, &err);
    if (!client)
        return command_fail(command_client_code(err.code), &err);
    json_decref(
        client_request(client, json_pack("{s:s, s:b}", "type", "logs", "follow", 1), 10000));
    fflush(stdout);
    while ((message = client_receive(client, -1)) != NULL) {
        print_message(message);
        json_decref(message);
    }
    client_close(client, welcome);
    return EXIT_FINE;
}

int command_logs(const struct options *options) {
    int code = print_tail(options);
    return code == EXIT_FINE && options->follow ? follow(options) : code;
}
