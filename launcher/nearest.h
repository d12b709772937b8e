/* Which of the words that there are is meant by a mistyped one. */
#ifndef TETHER_NEAREST_H
#define TETHER_NEAREST_H

#include <stddef.h>

/* The best candidate so far; begin with {.typed = …, .length = …}. */
struct nearest {
    const char *typed; /* not terminated */
    size_t length;
    const char *word; /* NULL: nothing is near enough */
    size_t distance;
};

/* Looks at one more candidate, which is borrowed. */
void nearest_offer(struct nearest *nearest, const char *word);

#endif
