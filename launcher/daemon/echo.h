/* Lines for whoever started `tether run`: a terminal, or the end of a pipe.
 *
 * That one may stop reading at any moment, and the daemon must not stop with it: it waits for a
 * short while, then leaves lines out and says how many. The log has them all. */
#ifndef TETHER_DAEMON_ECHO_H
#define TETHER_DAEMON_ECHO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/os.h"

struct echo_stream {
    os_handle handle;
    bool is_stuck;    /* nobody has read for longer than we wait */
    uint64_t skipped; /* lines, since then */
};

struct echo {
    struct echo_stream streams[2]; /* standard output and error */
};

void echo_init(struct echo *echo);
void echo_finish(struct echo *echo);

/* Writes "PREFIX TEXT\n", or leaves it out. */
void echo_line(struct echo *echo, bool is_error, const char *prefix, const char *text,
               size_t length);

#endif
