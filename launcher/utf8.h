/* Telling UTF-8 from other bytes. */
#ifndef TETHER_UTF8_H
#define TETHER_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The length of the valid sequence at the start of these bytes, 1 to 4; 0 if there is none.
 * Overlong forms, surrogates, and what lies beyond U+10FFFF are not valid. */
size_t utf8_sequence(const char *bytes, size_t count);

/* Whether there is nothing else in these bytes. */
bool utf8_is_valid(const char *bytes, size_t count);

/* Whether a sequence of this length is a control character above U+001F, ends a line, turns the
 * direction of the text about it, or cannot be seen. With those a text can look like another one.
 * What joins letters in some scripts (U+200C, U+200D) is none. The dock's printable.gd has the
 * same list. */
bool utf8_is_deceptive(const char *sequence, size_t length);

/* How many bytes at the end of these begin a sequence whose rest is missing: 0 to 3. */
size_t utf8_unfinished(const char *bytes, size_t count);

/* The length of the longest beginning of the text that has at most so many bytes and cuts nothing.
 */
size_t utf8_cut(const char *text, size_t most);

#endif
