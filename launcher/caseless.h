/* Comparing words in which the case of ASCII letters means nothing, as names of header fields. No
 * locale changes the answer. */
#ifndef TETHER_CASELESS_H
#define TETHER_CASELESS_H

#include <stdbool.h>
#include <stddef.h>

bool caseless_equal(const char *a, const char *b);

/* Whether the first `length` bytes are equal; both may end before that, then at the same place. */
bool caseless_equal_n(const char *a, const char *b, size_t length);

#endif
