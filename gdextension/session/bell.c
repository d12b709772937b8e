#include "bell.h"

#include <stdbool.h>

#include <uv.h>

/* There is one main loop, hence one of these. It is made by whoever comes first. */
static struct {
    uv_once_t once;
    uv_mutex_t mutex;
    uv_cond_t rung;
    bool has_rung;
} bell = {.once = UV_ONCE_INIT};

static void init(void) {
    uv_mutex_init(&bell.mutex);
    uv_cond_init(&bell.rung);
}

void bell_ring(void) {
    uv_once(&bell.once, init);
    uv_mutex_lock(&bell.mutex);
    bell.has_rung = true;
    uv_cond_signal(&bell.rung);
    uv_mutex_unlock(&bell.mutex);
}

void bell_wait(uint64_t end) {
    uint64_t now = uv_hrtime();
    uv_once(&bell.once, init);
    uv_mutex_lock(&bell.mutex);
    for (; !bell.has_rung && now < end; now = uv_hrtime())
        uv_cond_timedwait(&bell.rung, &bell.mutex, end - now);
    bell.has_rung = false;
    uv_mutex_unlock(&bell.mutex);
}
