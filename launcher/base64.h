/* Bytes as text: base64, and its form for addresses, which has other digits and no padding. */
#ifndef TETHER_BASE64_H
#define TETHER_BASE64_H

#include "buffer.h"

enum base64_form { BASE64, BASE64_URL };

/* Writes the text and its end: four characters for each three bytes begun, or less without padding.
 */
void base64_write(enum base64_form form, const void *bytes, size_t count, char *out);

/* Adds the text to a buffer. */
void base64_add(struct buffer *out, enum base64_form form, const void *bytes, size_t count);

/* Adds the bytes that a text stands for. Strict: one value has one form. False: it is none. */
bool base64_decode(struct buffer *out, enum base64_form form, const char *text, size_t length);

/* The value of a digit, or -1. */
int base64_digit(enum base64_form form, char c);

#endif
