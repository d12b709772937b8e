/* The daemon's state as others see it: the one shape of welcome, state and status. */
#ifndef TETHER_DAEMON_STATE_JSON_H
#define TETHER_DAEMON_STATE_JSON_H

#include <jansson.h>

struct daemon;
struct os_exit;

/* A new reference. */
json_t *status_json(struct daemon *daemon, const char *type);

/* The outcome of the start, as `tether launch` prints it. */
json_t *status_result(const struct daemon *daemon, int code, const char *message);

/* What is wrong, in words, if the server failed; else empty. It stands in the facts, until the next
 * call: a stack stays as deep as it was once. */
const char *status_failure(struct daemon *daemon);

/* How a process ended: "exited with code 3", "was killed by signal 9 (Killed)". */
void status_exit_text(const struct os_exit *how, char *out, size_t size);

#endif
