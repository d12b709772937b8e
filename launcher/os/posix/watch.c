#include "os/os_loop.h"

#include <errno.h>
#include <stdlib.h>

#include "memory.h"

struct os_watch {
    union {
        uv_handle_t handle;
        uv_poll_t poll;
        uv_timer_t timer;
    } uv; /* a poll, or a timer where a process has no handle */
    struct os_process process;
    os_watch_fn fn;
    void *context;
};

static void report(struct os_watch *watch) {
    watch->fn(watch->context, &watch->process.identity);
}

static void on_readable(uv_poll_t *poll, int status, int events) {
    (void)status;
    (void)events;
    uv_poll_stop(poll);
    report(poll->data);
}

static void on_timer(uv_timer_t *timer) {
    struct os_watch *watch = timer->data;
    if (os_liveness(&watch->process.identity) != OS_DEAD)
        return;
    uv_timer_stop(timer);
    report(watch);
}

int os_watch_create(struct os_watch **out, uv_loop_t *loop, const struct os_identity *identity,
                    uint32_t poll_ms, os_watch_fn fn, void *context) {
    struct os_watch *watch = memory_zeroed(sizeof *watch);
    int rc;
    *out = NULL;
    if (!watch)
        return -ENOMEM;
    watch->fn = fn;
    watch->context = context;
    rc = os_process_open(&watch->process, identity);
    if (rc == 0) {
        rc = uv_poll_init(loop, &watch->uv.poll, (int)watch->process.handle);
        if (rc == 0)
            rc = uv_poll_start(&watch->uv.poll, UV_READABLE, on_readable);
    } else if (rc != -ESRCH && rc != -EINVAL) { /* no handles here, or none left at present */
        watch->process = (struct os_process){*identity, OS_NO_HANDLE};
        uv_timer_init(loop, &watch->uv.timer);
        rc = uv_timer_start(&watch->uv.timer, on_timer, poll_ms, poll_ms);
    }
    if (rc < 0) {
        os_process_close(&watch->process);
        free(watch);
        return rc;
    }
    watch->uv.handle.data = watch;
    *out = watch;
    return 0;
}

static void on_closed(uv_handle_t *handle) {
    struct os_watch *watch = handle->data;
    os_process_close(&watch->process);
    free(watch);
}

void os_watch_destroy(struct os_watch *watch) {
    if (watch)
        uv_close(&watch->uv.handle, on_closed);
}
