#include "terminal.h"

#include <stdio.h>
#include <string.h>

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

#define HOME       "\033[H"
#define CLEAR_LINE "\033[K" /* what is right of the cursor */
#define CLEAR_REST "\033[J" /* and what is below it */

static void write_over(const char *text) {
    struct buffer out = {0};
    const char *end;
    buffer_add_literal(&out, HOME);
    for (; (end = strchr(text, '\n')); text = end + 1) {
        buffer_add(&out, text, (size_t)(end - text));
        buffer_add_literal(&out, CLEAR_LINE "\n");
    }
    buffer_add_text(&out, text);
    buffer_add_literal(&out, CLEAR_REST);
    if (!out.failed)
        fwrite(out.data, 1, out.length, stdout);
    buffer_finish(&out);
}

void terminal_show(struct buffer *shown, const char *text) {
    if (shown->data && strcmp(shown->data, text) == 0)
        return;
    write_over(text);
    buffer_clear(shown, BUFFER_KEPT);
    buffer_add_text(shown, text);
}
