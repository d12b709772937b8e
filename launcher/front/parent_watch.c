#include "parent_watch.h"

void parent_watch(struct os_watch **watch, uv_loop_t *loop, const struct options *options,
                  os_watch_fn fn, void *context) {
    struct os_identity parent;
    if (!options->config.parent_watchdog || os_identity_parent(&parent) < 0)
        return;
    if (os_watch_create(watch, loop, &parent, options->config.parent_poll_ms, fn, context) ==
        UV_ESRCH)
        fn(context, &parent);
}
