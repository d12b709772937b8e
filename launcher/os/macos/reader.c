/* Noticing that nobody reads our output any more: by looking, for a queue of events would rather
 * tell that there is room to write. */
#include "os/os_loop.h"

#include <stdlib.h>

#include "memory.h"

enum { LOOK_MS = 250 };

struct os_reader {
    uv_timer_t timer;
    os_handle output;
    void (*fn)(void *context);
    void *context;
};

static void on_timer(uv_timer_t *timer) {
    struct os_reader *reader = timer->data;
    if (!os_reader_gone(reader->output))
        return;
    uv_timer_stop(timer);
    reader->fn(reader->context);
}

int os_reader_watch(struct os_reader **out, uv_loop_t *loop, os_handle output,
                    void (*fn)(void *context), void *context) {
    struct os_reader *reader = memory_zeroed(sizeof *reader);
    *out = reader;
    if (!reader)
        return UV_ENOMEM;
    *reader = (struct os_reader){.output = output, .fn = fn, .context = context};
    uv_timer_init(loop, &reader->timer);
    reader->timer.data = reader;
    return uv_timer_start(&reader->timer, on_timer, 0, LOOK_MS);
}

static void free_reader(uv_handle_t *handle) {
    free(handle->data);
}

void os_reader_forget(struct os_reader *reader) {
    if (reader)
        uv_close((uv_handle_t *)&reader->timer, free_reader);
}
