/* Pids and start times as text, in environment variables and files.
 *
 * One number has one spelling: a canonical decimal, as the format functions write it. */
#include "os.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <uv.h>

/* The largest value of pid_t, which is an int on all systems we know. */
#define PID_LARGEST INT32_MAX

static int parse_number(const char *text, uint64_t largest, uint64_t *number) {
    char *end;
    uint64_t value;
    if (!text || text[0] < '1' || text[0] > '9')
        return UV_EINVAL;
    errno = 0;
    value = strtoull(text, &end, 10);
    if (*end)
        return UV_EINVAL;
    if (errno == ERANGE || value > largest)
        return UV_ERANGE;
    *number = value;
    return 0;
}

int os_pid_parse(const char *text, int64_t *pid) {
    uint64_t value;
    int rc = parse_number(text, PID_LARGEST, &value);
    if (rc == 0)
        *pid = (int64_t)value;
    return rc;
}

int os_start_parse(const char *text, uint64_t *start) {
    return parse_number(text, UINT64_MAX, start);
}

void os_pid_format(char out[OS_NUMBER_MAX], int64_t pid) {
    snprintf(out, OS_NUMBER_MAX, "%" PRId64, pid);
}

void os_start_format(char out[OS_NUMBER_MAX], uint64_t start) {
    snprintf(out, OS_NUMBER_MAX, "%" PRIu64, start);
}
