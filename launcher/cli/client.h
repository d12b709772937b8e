/* A control connection for commands: asks, waits for what comes, with a limit. */
#ifndef TETHER_CLI_CLIENT_H
#define TETHER_CLI_CLIENT_H

#include <jansson.h>
#include <uv.h>

#include "error.h"
#include "options/options.h"
#include "os/os_loop.h"
#include "protocol/daemon_client.h"

struct client {
    uv_loop_t loop;
    uv_timer_t timer;
    struct daemon_client *daemon;
    char endpoint[OS_ENDPOINT_MAX]; /* where that listens */
    json_t *inbox;                  /* messages that have come and were not taken */
    struct os_reader *reader;       /* of standard output, while messages are followed */
    bool opened, closed, timed_out, told, unread;
    int why; /* it is closed */
    int64_t last_id;
};

/* Connects to the daemon of an instance and says hello as "cli". UV_ENOENT: nobody is there; the
 * error says so. On failure there is nothing to finish. */
int client_init(struct client *client, const struct options *options, struct error *err);
void client_finish(struct client *client);

/* Waits for the welcome: a new reference, or NULL with the error. */
json_t *client_hello(struct client *client, struct error *err);

/* All of that in one: allocates, connects, is welcome. NULL with the error. */
struct client *client_open(const struct options *options, json_t **welcome, struct error *err);

/* Ends what client_open began; also accepts NULL. */
void client_close(struct client *client, json_t *welcome);

/* The next message: a new reference; NULL if the connection has ended or the time is over. A
 * negative limit waits for ever. */
json_t *client_receive(struct client *client, int64_t limit_ms);

/* Waits for the next message as long as somebody reads standard output, which is flushed before. */
json_t *client_follow(struct client *client);

/* Waits for the next message as long as the daemon is there to send one: after a while without any
 * it is asked, and its answer is a message, too. NULL: the connection has ended (`closed`), or the
 * daemon does not answer. */
json_t *client_await(struct client *client);

/* The same, and tells the person at a terminal what for if it takes more than a second. */
json_t *client_await_telling(struct client *client, const char *what);

/* The error for a daemon that does not answer names its process. */
int client_tell_silent(const struct client *client, struct error *err);

/* Sends a request and returns its reply, letting other messages pass. NULL as above. */
json_t *client_request(struct client *client, json_t *request, int64_t limit_ms);

/* Waits until the daemon closes the connection; false if it has not in time. */
bool client_wait_closed(struct client *client, int64_t limit_ms);

#endif
