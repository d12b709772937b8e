#include "server_log.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

void server_log_add(struct server_log *log, const char *line) {
    char **place = &log->lines[log->count % SERVER_LOG_LINES];
    char *copy = memory_text(line, strlen(line));
    if (!copy)
        return;
    free(*place);
    *place = copy;
    log->count++;
}

json_t *server_log_last(const struct server_log *log, int64_t count) {
    json_t *lines = json_array();
    size_t kept = log->count < SERVER_LOG_LINES ? log->count : SERVER_LOG_LINES;
    if (count >= 0 && (uint64_t)count < kept)
        kept = (size_t)count;
    for (size_t i = log->count - kept; i < log->count; i++)
        json_array_append_new(lines, json_string(log->lines[i % SERVER_LOG_LINES]));
    return lines;
}

void server_log_finish(struct server_log *log) {
    for (size_t i = 0; i < SERVER_LOG_LINES; i++)
        free(log->lines[i]);
}
