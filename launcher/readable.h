/* Makes any bytes readable: valid UTF-8, no control characters, no colours. */
#ifndef TETHER_READABLE_H
#define TETHER_READABLE_H

#include <stddef.h>

/* Each byte becomes at most so many. */
#define READABLE_GROWTH 4

/* Writes the readable form of `count` bytes to `out`, which has room for READABLE_GROWTH × count +
 * 1, terminates it, and returns its length. Tabs stay; terminal sequences go; other control bytes
 * become \x1f and the like; what is no UTF-8 becomes U+FFFD. */
size_t readable_text(char *out, const char *bytes, size_t count);

#endif
