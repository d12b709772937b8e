/* The head of an HTTP message, read strictly. No I/O.
 *
 * Its lines end with CR LF and have no other control characters but tabs; a field begins with its
 * name, and a colon stands right behind that. Who is more generous sees other fields than the
 * reader next to him, which is how one request is hidden in another. */
#ifndef TETHER_PROTOCOL_HTTP_HEAD_H
#define TETHER_PROTOCOL_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>

/* Part of a head, or what is left of it. */
struct http_text {
    const char *at;
    size_t length;
};

/* The length of a head, through its empty line; 0: it has not all come. */
size_t http_head_length(const char *bytes, size_t count);

/* Cuts off the first line. False if it is none. */
bool http_head_line(struct http_text *head, struct http_text *line);

/* Whether a field comes next, and not the empty line. */
bool http_head_goes_on(const struct http_text *head);

/* Cuts off a field; the value is without the space around it. False if it is none. */
bool http_head_field(struct http_text *head, struct http_text *name, struct http_text *value);

/* Whether it is this word, or a list with commas that has it; the case of letters does not count.
 */
bool http_text_is(const struct http_text *text, const char *word);
bool http_text_has(const struct http_text *list, const char *word);

#endif
