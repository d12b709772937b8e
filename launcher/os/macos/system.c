/* The clock, randomness, and descriptors. */
#include "os/posix/posix.h"

#include <stdlib.h>
#include <time.h>

int64_t os_clock_ms(void) {
    return (int64_t)(clock_gettime_nsec_np(CLOCK_UPTIME_RAW) / 1000000);
}

int os_random(void *out, size_t size) {
    arc4random_buf(out, size);
    return 0;
}

void posix_close_from(int first) {
    posix_close_numbers(first);
}
