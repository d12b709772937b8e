/* Closing what was inherited. */
#include "os/os_spawn.h"

#include <unistd.h>

static bool is_among(const os_handle *kept, size_t count, int fd) {
    for (size_t i = 0; i < count; i++)
        if (kept[i] == fd)
            return true;
    return false;
}

void os_handles_keep(const os_handle *kept, size_t count) {
    int end = getdtablesize();
    for (int fd = STDERR_FILENO + 1; fd < end; fd++)
        if (!is_among(kept, count, fd))
            close(fd);
}
