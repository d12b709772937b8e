/* The clock, and descriptors. */
#include "os/posix/posix.h"

#include <time.h>

int64_t os_clock_ms(void) {
    return (int64_t)(clock_gettime_nsec_np(CLOCK_UPTIME_RAW) / 1000000);
}

void posix_close_from(int first) {
    posix_close_numbers(first);
}
