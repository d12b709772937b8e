/* The terminal that standard output may be. */
#ifndef TETHER_CLI_TERMINAL_H
#define TETHER_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

bool terminal_is_there(void);

/* How wide it is now; 0: standard output is no terminal, or does not tell. */
size_t terminal_columns(void);

#endif
