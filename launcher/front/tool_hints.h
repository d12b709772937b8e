/* What the server's own list of tools said last: which may be called twice, and which of their
 * arguments are to be repeated in the head of a request (x-mcp-header). */
#ifndef TETHER_FRONT_TOOL_HINTS_H
#define TETHER_FRONT_TOOL_HINTS_H

#include <jansson.h>

#include "buffer.h"
#include "json_scan.h"

/* Zeroed memory is an empty one. */
struct hints {
    json_t *repeatable; /* name → true */
    json_t *repeating;  /* name → schema of the arguments, if a head has to repeat some of them */
};

/* Learns from the answer to a tools/list, as it came. */
void hints_learn(struct hints *hints, const char *message, size_t length);

/* Whether the tool only reads, or does nothing more when it is called again. */
bool hints_repeatable(const struct hints *hints, const char *name);

/* The list has changed: what it said may no longer be true, and no tool may be called twice. */
void hints_doubt(struct hints *hints);

/* Adds the lines Mcp-Param-NAME for this call of a tool. */
void hints_repeat(const struct hints *hints, const struct scan *call, struct buffer *out);

/* Forgets everything. */
void hints_finish(struct hints *hints);

#endif
