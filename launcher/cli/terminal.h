/* The terminal that standard output may be. */
#ifndef TETHER_CLI_TERMINAL_H
#define TETHER_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "buffer.h"

bool terminal_is_there(void);

/* How wide it is now; 0: standard output is no terminal, or does not tell. */
size_t terminal_columns(void);

/* Shows the text, lines that end in '\n', from the top of the terminal on, unless it is what is
 * `shown` there already; that becomes it. Nothing is cleared before it is written over, so that
 * nothing flickers. */
void terminal_show(struct buffer *shown, const char *text);

#endif
