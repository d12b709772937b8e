/* Text of other processes, made safe to show: what comes out is valid UTF-8 on one line. */
#include "printable.h"
#include "utf8.h"

#include <stdint.h>
#include <string.h>

static uint32_t code_point(const unsigned char *in, size_t length) {
    uint32_t code = length == 1 ? in[0] : in[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (in[i] & 0x3f);
    return code;
}

/* The length of the well-formed printable UTF-8 character at `in`, or 0 if there is none. */
static size_t printable_length(const char *in, size_t left) {
    size_t length = utf8_sequence(in, left);
    uint32_t code = length ? code_point((const unsigned char *)in, length) : 0;
    /* Both sets of control characters, and what makes a text look like another one. */
    if (code < 0x20 || (code >= 0x7f && code < 0xa0) || utf8_is_deceptive(in, length))
        return 0;
    return length;
}

/* Ends the text at `used` with dots, taking whole characters away until they fit. */
static void cut(char *out, size_t size, size_t used) {
    if (size < 4) {
        out[0] = '\0';
        return;
    }
    while (used > size - 4 || ((unsigned char)out[used] & 0xc0) == 0x80)
        used--;
    memcpy(out + used, "...", 4);
}

void os_text_printable(const char *in, size_t length, char *out, size_t size) {
    size_t used = 0, at = 0;
    if (size == 0)
        return;
    while (at < length) {
        size_t step = printable_length(in + at, length - at);
        size_t width = step ? step : 1;
        if (used + width >= size) {
            out[used] = '\0';
            cut(out, size, used);
            return;
        }
        if (step)
            memcpy(out + used, in + at, step);
        else
            out[used] = in[at] ? '?' : ' ';
        used += width;
        at += width;
    }
    out[used] = '\0';
}
