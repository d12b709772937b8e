/* Pids and start times as text, in environment variables and files.
 *
 * One number has one spelling: a canonical decimal, as the format functions write it. */
#include "os.h"

#include <inttypes.h>
#include <stdio.h>

#include <uv.h>

/* The largest value of pid_t, which is an int on all systems we know. */
#define PID_LARGEST INT32_MAX

static int parse_number(const char *text, uint64_t largest, uint64_t *number) {
    uint64_t value = 0;
    bool fits = true;
    if (!text || text[0] < '1' || text[0] > '9')
        return UV_EINVAL;
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9')
            return UV_EINVAL;
        uint64_t digit = (uint64_t)(*p - '0');
        if (value > (largest - digit) / 10)
            fits = false;
        else
            value = value * 10 + digit;
    }
    if (!fits)
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
