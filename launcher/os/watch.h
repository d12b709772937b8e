/* Watching a process for its end, by an event where the system has one. */
#ifndef TETHER_OS_WATCH_H
#define TETHER_OS_WATCH_H

#include <uv.h>

#include "os.h"

struct watch;

/* Called once, from the loop; the watch is still to be destroyed. */
typedef void (*watch_fn)(void *context, const struct os_identity *identity);

/* Watches a process until it ends or the watch is destroyed. `poll_ms` is how often to look where
 * the system has no event. UV_ESRCH: it is dead already. Other codes: it cannot be watched, which
 * does not mean that it is dead. */
int watch_create(struct watch **watch, uv_loop_t *loop, const struct os_identity *identity,
                 uint32_t poll_ms, watch_fn fn, void *context);

/* Also accepts NULL. */
void watch_destroy(struct watch *watch);

#endif
