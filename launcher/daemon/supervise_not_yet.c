/* In place of supervise.c where a tree of processes has no code yet: no server is ever started. */
#include "os/not_yet.h"
#include "supervise.h"

int supervisor_init(struct supervisor *supervisor, uv_loop_t *loop, struct log *log,
                    const struct supervisor_events *events, void *context) {
    *supervisor =
        (struct supervisor){.loop = loop, .log = log, .events = events, .context = context};
    return UV_ENOSYS;
}

void supervisor_start(struct supervisor *supervisor, const struct server_start *start,
                      const os_handle *listeners, size_t listener_count) {
    struct error why;
    (void)start;
    (void)listeners;
    (void)listener_count;
    os_not_yet(&why, "start servers");
    supervisor->events->unstarted(supervisor->context, &why);
}

void supervisor_close_stdin(struct supervisor *supervisor) {
    (void)supervisor;
}

void supervisor_terminate(struct supervisor *supervisor) {
    (void)supervisor;
}

void supervisor_kill(struct supervisor *supervisor) {
    (void)supervisor;
}

void supervisor_forward(struct supervisor *supervisor, enum os_wish wish) {
    (void)supervisor;
    (void)wish;
}

struct os_identity supervisor_guard(const struct supervisor *supervisor) {
    (void)supervisor;
    return (struct os_identity){0};
}

void supervisor_finish(struct supervisor *supervisor) {
    (void)supervisor;
}
