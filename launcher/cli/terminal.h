/* The terminal that standard output may be. */
#ifndef TETHER_CLI_TERMINAL_H
#define TETHER_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "buffer.h"

bool terminal_is_there(void);

/* How wide it is now; 0: standard output is no terminal, or does not tell. */
size_t terminal_columns(void);

/* A terminal whose text is replaced in place. Zeroed memory is one with nothing shown yet. */
struct screen {
    struct buffer shown;
};

/* Shows the text, lines that end in '\n', from the top on, unless it is what is shown. Nothing is
 * cleared before it is written over, so that nothing flickers. */
void screen_show(struct screen *screen, const char *text);
void screen_finish(struct screen *screen);

#endif
