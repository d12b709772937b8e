#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int error_set(struct error *err, int code, const char *format, ...) {
    int saved = errno;
    if (err) {
        va_list args;
        err->code = code;
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    errno = saved;
    return code;
}
