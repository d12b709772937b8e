/* The clock, descriptors, and what is not here. */
#include "os/posix/posix.h"

#include <errno.h>
#include <time.h>

const char os_config_variable[] = "";
const char os_config_folder[] = "Library/Application Support";

int64_t os_clock_ms(void) {
    return (int64_t)(clock_gettime_nsec_np(CLOCK_UPTIME_RAW) / 1000000);
}

void posix_close_from(int first) {
    posix_close_numbers(first);
}

/* A program is a file here. */
int posix_program_copy(const char *path) {
    (void)path;
    return -EACCES;
}
