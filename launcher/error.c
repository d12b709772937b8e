#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "utf8.h"

/* A text travels in JSON, which takes nothing but UTF-8, and is shown; but it may have been cut, or
 * quote anything. */
static void make_harmless(char *text) {
    size_t left = strlen(text);
    while (left > 0) {
        size_t length = utf8_sequence(text, left);
        if (length == 0)
            *text = '?';
        else if (((unsigned char)*text < 0x20 && *text != '\n' && *text != '\t') ||
                 utf8_is_deceptive(text, length))
            memset(text, '?', length);
        length = length ? length : 1;
        text += length;
        left -= length;
    }
}

int error_set(struct error *err, int code, const char *format, ...) {
    int saved = errno;
    if (err) {
        va_list args;
        err->code = code;
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
        make_harmless(err->message);
    }
    errno = saved;
    return code;
}
