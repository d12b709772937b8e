/* Text of other processes, made safe to show. For the systems' parts of os/. */
#ifndef TETHER_OS_PRINTABLE_H
#define TETHER_OS_PRINTABLE_H

#include <stddef.h>

/* Copies text that came from another process so that it can be shown: NUL becomes a space, control
 * characters and broken UTF-8 become '?', and what does not fit is cut with "..." at the end. */
void os_text_printable(const char *in, size_t length, char *out, size_t size);

#endif
