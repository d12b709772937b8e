/* What a test program prints, on every system the same: at once, and with nothing in place of its
 * line ends. */
#ifndef TETHER_TESTS_SAY_H
#define TETHER_TESTS_SAY_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/os.h"

enum { SAY_STDOUT = 1 };

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    int length = vsnprintf(NULL, 0, format, list);
    char *text = length < 0 ? NULL : malloc((size_t)length + 1);
    if (!text)
        abort();
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(list);
    os_write(SAY_STDOUT, text, (size_t)length);
    free(text);
}

#endif
