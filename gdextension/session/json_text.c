#include "json_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 17, DIGITS_MOST = 32 }; /* with 17 every number reads back */

/* Writes the number of so many characters at `to`, which may be its own place. What is not
 * understood, as where numbers have a comma, stays as it is. */
static size_t write_shortest(char *to, const char *number, size_t length) {
    char was[DIGITS_MOST + 1], text[DIGITS_MOST + 1];
    char *end;
    double value;
    if (length > DIGITS_MOST || strcspn(number, ".eE") >= length) { /* or it is whole */
        memmove(to, number, length);
        return length;
    }
    memcpy(was, number, length);
    was[length] = 0;
    value = strtod(was, &end);
    for (int digits = DIGITS - 2; !*end && digits <= DIGITS; digits++) {
        int count = snprintf(text, sizeof text, "%.*g", digits, value);
        if (count > 0 && (size_t)count <= length && strtod(text, NULL) == value &&
            !strchr(text, ',')) {
            memcpy(to, text, (size_t)count);
            return (size_t)count;
        }
    }
    memcpy(to, was, length);
    return length;
}

/* Makes the numbers shorter, in place: nothing becomes longer. */
static void shorten_numbers(char *text) {
    const char *from = text;
    char *to = text;
    bool in_text = false;
    while (*from) {
        size_t length = in_text ? 0 : strspn(from, "-+.0123456789eE");
        if (length > 0 && *from != 'e') { /* the e of true and false is none of a number */
            to += write_shortest(to, from, length);
            from += length;
            continue;
        }
        if (in_text && *from == '\\')
            *to++ = *from++;
        else if (*from == '"')
            in_text = !in_text;
        *to++ = *from++;
    }
    *to = 0;
}

char *json_text(const json_t *value) {
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    if (text)
        shorten_numbers(text);
    return text;
}
