/* Waiting for a change in a directory, with inotify. */
#include "os/os.h"

#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

void os_dir_wait(const struct os_dir *dir, int limit_ms) {
    char path[64];
    struct pollfd event = {.fd = inotify_init1(IN_CLOEXEC), .events = POLLIN};
    /* By descriptor, so that it is this very directory. */
    snprintf(path, sizeof path, "/proc/self/fd/%d", (int)dir->handle);
    if (event.fd >= 0)
        inotify_add_watch(event.fd, path, IN_CREATE | IN_DELETE | IN_MOVED_TO);
    poll(&event, event.fd >= 0 ? 1 : 0, limit_ms);
    if (event.fd >= 0)
        close(event.fd);
}
