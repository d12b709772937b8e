/* Which tools may be called twice: what the server's own list of tools said last. */
#ifndef TETHER_FRONT_HINTS_H
#define TETHER_FRONT_HINTS_H

#include <stdbool.h>
#include <stddef.h>

struct hint;

/* Zeroed memory is an empty one. */
struct hints {
    struct hint *items;
    size_t count, capacity;
};

/* Learns from the answer to a tools/list, as it came. */
void hints_learn(struct hints *hints, const char *message, size_t length);

/* Whether the tool only reads, or does nothing more when it is called again. */
bool hints_repeatable(const struct hints *hints, const char *name);

/* Forgets everything. */
void hints_finish(struct hints *hints);

#endif
