/* Values in a text of JSON with comments: found, set and removed, while every other byte stays what
 * it is.
 *
 * Comments and commas behind the last member are understood, as editors allow them; all else is as
 * strict as JSON. Nothing is ever written anew but the value that is set. */
#ifndef TETHER_CLIENTS_JSONC_H
#define TETHER_CLIENTS_JSONC_H

#include <jansson.h>

#include "buffer.h"
#include "error.h"

/* The text as values. A text without any value is an empty object. NULL, with the error: it is not
 * understood. */
json_t *jsonc_values(const char *text, size_t length, struct error *err);

/* Adds to `out` the text in which what `path` leads to has this value; NULL: in which it is not
 * there. Objects on the way are made. The text was understood by jsonc_values. Returns 0, or
 * UV_EINVAL with the error: something on the way is no object. */
int jsonc_set(const char *text, size_t length, const char *const *path, size_t depth, json_t *value,
              struct buffer *out, struct error *err);

#endif
