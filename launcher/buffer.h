/* Bytes that grow. Zeroed memory is an empty one.
 *
 * When memory runs out the buffer is marked as failed and takes nothing more: whoever fills it asks
 * once, at the end. */
#ifndef TETHER_BUFFER_H
#define TETHER_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct buffer {
    char *data; /* terminated, once anything was added */
    size_t length, capacity;
    bool failed;
};

/* Makes room for so many bytes more. */
bool buffer_reserve(struct buffer *buffer, size_t more);

void buffer_add(struct buffer *buffer, const void *data, size_t length);
void buffer_add_text(struct buffer *buffer, const char *text);
void buffer_add_char(struct buffer *buffer, char c);
void buffer_add_number(struct buffer *buffer, long long number);
void buffer_format(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The text as a JSON string, in quotes. Broken UTF-8 becomes '?'. */
void buffer_add_json(struct buffer *buffer, const char *text);

/* Empties it; memory is given back only if it is more than `keep`. */
void buffer_clear(struct buffer *buffer, size_t keep);

#define BUFFER_KEPT 4096 /* a usual `keep` */

void buffer_finish(struct buffer *buffer);

/* For string literals. */
#define buffer_add_literal(buffer, literal) buffer_add((buffer), (literal), sizeof(literal) - 1)

#endif
