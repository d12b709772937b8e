/* Waiting for a change in a directory, with kqueue. */
#include "os/os.h"

#include <sys/event.h>
#include <time.h>
#include <unistd.h>

void os_dir_wait(const struct os_dir *dir, int limit_ms) {
    struct timespec limit = {.tv_sec = limit_ms / 1000, .tv_nsec = limit_ms % 1000 * 1000000L};
    struct kevent event;
    int queue = kqueue();
    EV_SET(&event, (uintptr_t)dir->handle, EVFILT_VNODE, EV_ADD | EV_CLEAR, NOTE_WRITE, 0, NULL);
    if (queue < 0 || kevent(queue, &event, 1, &event, 1, &limit) < 0)
        nanosleep(&limit, NULL);
    if (queue >= 0)
        close(queue);
}
