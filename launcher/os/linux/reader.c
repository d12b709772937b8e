/* Noticing that nobody reads our output any more.
 *
 * libuv would make the output itself non-blocking, for all who share it. So the output is asked
 * about by a set of its own, and the loop watches that. */
#include "os/os_loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "memory.h"

struct os_reader {
    uv_poll_t poll;
    int set;
    void (*fn)(void *context);
    void *context;
};

static void on_gone(uv_poll_t *poll, int status, int events) {
    struct os_reader *reader = poll->data;
    (void)status;
    (void)events;
    uv_poll_stop(poll);
    reader->fn(reader->context);
}

/* A set that has something to tell when the output is broken; of a file it never has. */
static int make_set(os_handle output) {
    struct epoll_event nothing = {0};
    int set = epoll_create1(EPOLL_CLOEXEC), rc = 0;
    if (set < 0)
        return -errno;
    if (epoll_ctl(set, EPOLL_CTL_ADD, (int)output, &nothing) < 0 && errno != EPERM)
        rc = -errno;
    if (rc < 0)
        close(set);
    return rc < 0 ? rc : set;
}

int os_reader_watch(struct os_reader **out, uv_loop_t *loop, os_handle output,
                    void (*fn)(void *context), void *context) {
    struct os_reader *reader = memory_zeroed(sizeof *reader);
    int rc = reader ? make_set(output) : UV_ENOMEM;
    *out = NULL;
    if (rc >= 0) {
        *reader = (struct os_reader){.set = rc, .fn = fn, .context = context};
        rc = uv_poll_init(loop, &reader->poll, reader->set);
        if (rc < 0)
            close(reader->set);
    }
    if (rc < 0) {
        free(reader);
        return rc;
    }
    reader->poll.data = reader;
    uv_poll_start(&reader->poll, UV_READABLE, on_gone);
    *out = reader;
    return 0;
}

static void free_reader(uv_handle_t *handle) {
    struct os_reader *reader = handle->data;
    close(reader->set);
    free(reader);
}

void os_reader_forget(struct os_reader *reader) {
    if (reader)
        uv_close((uv_handle_t *)&reader->poll, free_reader);
}
