/* Makes any bytes readable: valid UTF-8, no control characters, no colours. */
#ifndef TETHER_READABLE_H
#define TETHER_READABLE_H

#include <stddef.h>

#include "buffer.h"

/* Each byte becomes at most so many. */
#define READABLE_GROWTH 4

/* Writes the readable form of `count` bytes to `out`, which has room for READABLE_GROWTH × count +
 * 1, terminates it, and returns its length. Tabs stay; terminal sequences go; other control bytes
 * become \x1f and the like; what is no UTF-8, or deceives (utf8.h), becomes U+FFFD. */
size_t readable_text(char *out, const char *bytes, size_t count);

/* Copies what fits of a text, each byte that cannot be shown as '?', NUL as a space; with "..." at
 * the end if it is cut. */
void readable_cut(const char *bytes, size_t count, char *out, size_t size);

/* Adds the readable form, of one line and of several; each but the first gets so many spaces before
 * it, and the last no end. */
void readable_add(struct buffer *out, const char *text, size_t length);
void readable_add_lines(struct buffer *out, const char *text, int spaces);

#endif
