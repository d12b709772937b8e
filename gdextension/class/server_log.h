/* The newest lines of a server's log, a bounded number of them. */
#ifndef TETHER_CLASS_SERVER_LOG_H
#define TETHER_CLASS_SERVER_LOG_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define SERVER_LOG_LINES 1000

/* Zeroed memory is an empty one. */
struct server_log {
    char *lines[SERVER_LOG_LINES]; /* a ring */
    size_t count;                  /* of all lines ever added */
};

void server_log_add(struct server_log *log, const char *line);

/* The last `count` lines, oldest first: a new array. */
json_t *server_log_last(const struct server_log *log, int64_t count);

void server_log_finish(struct server_log *log);

#endif
