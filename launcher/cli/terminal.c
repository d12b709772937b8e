#include "terminal.h"

#include <uv.h>

bool terminal_is_there(void) {
    return uv_guess_handle(1) == UV_TTY;
}

size_t terminal_columns(void) {
    uv_loop_t loop;
    uv_tty_t terminal;
    int width = 0, height = 0;
    if (!terminal_is_there() || uv_loop_init(&loop) < 0)
        return 0;
    if (uv_tty_init(&loop, &terminal, 1, 0) == 0) {
        if (uv_tty_get_winsize(&terminal, &width, &height) < 0)
            width = 0;
        uv_close((uv_handle_t *)&terminal, NULL);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    return width > 0 ? (size_t)width : 0;
}
