/* Finding out when a server is ready, in the way that was asked for.
 *
 * That it says so itself is an event. No system tells when another process begins to listen, so
 * ports and HTTP are tried, 5 ms apart at first and 100 ms at most, and only while the server
 * starts. */
#ifndef TETHER_DAEMON_READY_H
#define TETHER_DAEMON_READY_H

#include <uv.h>

#include "options/options.h"
#include "os/os_loop.h"

struct ready {
    uv_loop_t *loop;
    const struct options *options;
    void (*on_ready)(void *context);
    void *context;

    bool waiting;
    uint16_t next_port; /* the one to be tried now; 0: none is left */
    uint32_t delay_ms;
    uv_timer_t timer;
    struct ready_probe *probe; /* a connection on its way */
    struct os_ready *told;     /* where the server says so; NULL: not asked for */
};

/* Makes the place for notifications in the instance's directory if they are asked for. */
int ready_init(struct ready *ready, uv_loop_t *loop, const struct options *options,
               const struct os_dir *dir, void (*on_ready)(void *context), void *context,
               struct error *err);

/* Makes it again if somebody has removed it. */
int ready_listen(struct ready *ready, const struct os_dir *dir, struct error *err);

/* Where the server is to say that it is ready; NULL: nowhere. */
const char *ready_place(const struct ready *ready);

/* A start has begun: `on_ready` is called once when the server is ready, never from in here. */
void ready_begin(struct ready *ready);

/* The start is over, one way or another. */
void ready_end(struct ready *ready);

void ready_finish(struct ready *ready);

#endif
