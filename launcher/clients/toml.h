/* One table in a text of TOML, [holder.name]: read, changed and removed, while every other byte
 * stays what it is.
 *
 * All of TOML is passed over; what is changed must be written as a table of its own, one key a
 * line, as clients write it themselves. */
#ifndef TETHER_CLIENTS_TOML_H
#define TETHER_CLIENTS_TOML_H

#include <jansson.h>

#include "buffer.h"
#include "error.h"

struct toml_table {
    const char *holder, *name;
};

/* The texts and lists of texts in the table; NULL without an error: there is no such table, with
 * one: the text is not understood, or the table is written in another way. */
json_t *toml_values(const char *text, size_t length, const struct toml_table *table,
                    struct error *err);

/* Adds to `out` the text in which the key of the table has this value; NULL: in which it is not
 * there. Key NULL: adds the table with all that the value, an object, holds, or removes it. The
 * text was understood by toml_values. */
void toml_set(const char *text, size_t length, const struct toml_table *table, const char *key,
              json_t *value, struct buffer *out);

#endif
