/* Watching for the end of a process: the system's wait threads wait for its handle, and wake the
 * loop. */
#include "os/os_loop.h"
#include "win.h"

#include <stdlib.h>

#include "memory.h"

struct os_watch {
    uv_async_t ended;
    uv_timer_t timer; /* where the process could not be opened for now */
    struct os_process process;
    HANDLE wait;
    int open_handles;
    bool reported;
    os_watch_fn fn;
    void *context;
};

/* On a thread of the system's. */
static void CALLBACK on_signalled(void *context, BOOLEAN timed_out) {
    struct os_watch *watch = context;
    (void)timed_out;
    uv_async_send(&watch->ended);
}

static void report(struct os_watch *watch) {
    if (watch->reported)
        return;
    watch->reported = true;
    watch->fn(watch->context, &watch->process.identity);
}

static void on_async(uv_async_t *async) {
    report(async->data);
}

static void on_timer(uv_timer_t *timer) {
    struct os_watch *watch = timer->data;
    if (os_liveness(&watch->process.identity) != OS_DEAD)
        return;
    uv_timer_stop(timer);
    report(watch);
}

static int start_wait(struct os_watch *watch) {
    return RegisterWaitForSingleObject(&watch->wait, (HANDLE)watch->process.handle, on_signalled,
                                       watch, INFINITE, WT_EXECUTEONLYONCE | WT_EXECUTEINWAITTHREAD)
               ? 0
               : win_error();
}

int os_watch_create(struct os_watch **out, uv_loop_t *loop, const struct os_identity *identity,
                    uint32_t poll_ms, os_watch_fn fn, void *context) {
    struct os_watch *watch = memory_zeroed(sizeof *watch);
    *out = NULL;
    if (!watch)
        return UV_ENOMEM;
    watch->fn = fn;
    watch->context = context;
    int opened = os_process_open(&watch->process, identity);
    int rc = opened == UV_ESRCH || opened == UV_EINVAL
                 ? opened
                 : uv_async_init(loop, &watch->ended, on_async);
    if (rc < 0) {
        os_process_close(&watch->process);
        free(watch);
        return rc;
    }
    uv_timer_init(loop, &watch->timer);
    watch->ended.data = watch->timer.data = watch;
    watch->open_handles = 2;
    if (opened == 0)
        rc = start_wait(watch);
    else
        rc = uv_timer_start(&watch->timer, on_timer, poll_ms, poll_ms);
    if (rc < 0)
        os_watch_destroy(watch);
    else
        *out = watch;
    return rc;
}

static void on_closed(uv_handle_t *handle) {
    struct os_watch *watch = handle->data;
    if (--watch->open_handles > 0)
        return;
    os_process_close(&watch->process);
    free(watch);
}

void os_watch_destroy(struct os_watch *watch) {
    if (!watch)
        return;
    /* Waits for a callback that is under way, so that none comes after the async is closed. */
    if (watch->wait)
        UnregisterWaitEx(watch->wait, INVALID_HANDLE_VALUE);
    uv_close((uv_handle_t *)&watch->ended, on_closed);
    uv_close((uv_handle_t *)&watch->timer, on_closed);
}
