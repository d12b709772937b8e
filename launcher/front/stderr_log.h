/* What a watched server says on standard error, kept in a file of the user's choice as well.
 *
 * Without a file the server has our own standard error, and nothing passes through here. With one
 * it is always read, whether or not the client reads it: what the client does not take is in the
 * file. */
#ifndef TETHER_FRONT_STDERR_LOG_H
#define TETHER_FRONT_STDERR_LOG_H

#include <uv.h>

#include "error.h"
#include "os/os.h"

struct stderr_log {
    uv_pipe_t pipe;
    uv_file file;
    os_handle error_output; /* of ours */
    bool is_open, at_line_start;
    char buffer[4096];
};

/* `given` becomes what the server gets as standard error. NULL as path: our own. */
int stderr_log_open(struct stderr_log *log, uv_loop_t *loop, const char *path, os_handle *given,
                    struct error *err);

/* A line of ours, in the file alone; nothing without one. */
void stderr_log_say(struct stderr_log *log, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reads what is there by now, so that what we say of the server's end comes behind its last words.
 */
void stderr_log_catch_up(struct stderr_log *log);

void stderr_log_finish(struct stderr_log *log);

#endif
