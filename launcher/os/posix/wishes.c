/* Wishes are signals. */
#include "os/os_loop.h"

#include <signal.h>
#include <stdlib.h>

#include "memory.h"

static const struct {
    int number;
    enum os_wish wish;
} meanings[] = {
    {SIGTERM, OS_WISH_END},   {SIGINT, OS_WISH_END},    {SIGHUP, OS_WISH_HANGUP},
    {SIGUSR1, OS_WISH_USER1}, {SIGUSR2, OS_WISH_USER2},
};

enum { MEANINGS = sizeof meanings / sizeof meanings[0] };

struct os_wishes {
    uv_signal_t signals[MEANINGS];
    int open_handles;
    os_wish_fn fn;
    void *context;
};

static void on_signal(uv_signal_t *signal, int number) {
    struct os_wishes *wishes = signal->data;
    for (int i = 0; i < MEANINGS; i++)
        if (meanings[i].number == number)
            wishes->fn(wishes->context, meanings[i].wish);
}

/* `nohup` starts a program so. */
static bool is_to_outlive_terminal(void) {
    struct sigaction action;
    return sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static int start_signals(struct os_wishes *wishes, unsigned which) {
    int rc = 0;
    if (is_to_outlive_terminal())
        which &= ~(unsigned)OS_WISH_HANGUP;
    for (int i = 0; i < MEANINGS && rc == 0; i++)
        if (which & meanings[i].wish)
            rc = uv_signal_start(&wishes->signals[i], on_signal, meanings[i].number);
    return rc;
}

int os_wishes_create(struct os_wishes **out, uv_loop_t *loop, unsigned which, os_wish_fn fn,
                     void *context) {
    struct os_wishes *wishes = memory_zeroed(sizeof *wishes);
    int rc = wishes ? 0 : UV_ENOMEM;
    *out = NULL;
    for (int i = 0; i < MEANINGS && rc == 0; i++) {
        rc = uv_signal_init(loop, &wishes->signals[i]);
        wishes->signals[i].data = wishes;
    }
    if (rc < 0) { /* of the first, or of none: they share what can fail */
        free(wishes);
        return rc;
    }
    wishes->open_handles = MEANINGS;
    wishes->fn = fn;
    wishes->context = context;
    rc = start_signals(wishes, which);
    if (rc < 0)
        os_wishes_destroy(wishes);
    else
        *out = wishes;
    return rc;
}

static void on_closed(uv_handle_t *handle) {
    struct os_wishes *wishes = handle->data;
    if (--wishes->open_handles == 0)
        free(wishes);
}

void os_wishes_destroy(struct os_wishes *wishes) {
    for (int i = 0; wishes && i < MEANINGS; i++)
        uv_close((uv_handle_t *)&wishes->signals[i], on_closed);
}

void os_ignore_broken_pipes(void) {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}
