/* The clock, and randomness. */
#include "os/os.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

int64_t os_clock_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int os_random(void *out, size_t size) {
    char *at = out;
    while (size > 0) {
        ssize_t n = getrandom(at, size, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}
