#include "readable.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "utf8.h"

/* The end of a text for the terminal: BEL or ESC \; another ESC begins something else. */
static size_t string_length(const unsigned char *bytes, size_t count) {
    size_t i = 2;
    while (i < count && bytes[i] != 0x07 && bytes[i] != 0x1b)
        i++;
    if (i < count && bytes[i] == 0x07)
        return i + 1;
    if (i + 1 < count && bytes[i + 1] == '\\')
        return i + 2;
    return i + 1 == count ? count : i;
}

/* The length of the terminal sequence that begins with the ESC at the start of these bytes; just
 * that of the ESC if it begins none. */
static size_t escape_length(const unsigned char *bytes, size_t count) {
    size_t i = 1;
    if (count < 2)
        return count;
    if (strchr("]PX^_", bytes[1]) && bytes[1])
        return string_length(bytes, count);
    if (bytes[1] == '[')
        for (i = 2; i < count && bytes[i] >= 0x30 && bytes[i] <= 0x3f;)
            i++;
    while (i < count && bytes[i] >= 0x20 && bytes[i] <= 0x2f)
        i++;
    if (i == count)
        return count;
    if (bytes[i] >= (bytes[1] == '[' ? 0x40 : 0x30) && bytes[i] <= 0x7e)
        return i + 1;
    return bytes[1] == '[' ? i : 1;
}

/* The length of the character at the start, if it is one that can be shown; else 0. */
static size_t shown_length(const char *bytes, size_t count) {
    const unsigned char *in = (const unsigned char *)bytes;
    size_t length = utf8_sequence(bytes, count);
    return length == 0 || in[0] < 0x20 || utf8_is_deceptive(bytes, length) ? 0 : length;
}

static bool is_plain(unsigned char byte) {
    return (byte >= 0x20 && byte < 0x7f) || byte == '\t';
}

size_t readable_text(char *out, const char *bytes, size_t count) {
    const unsigned char *in = (const unsigned char *)bytes;
    size_t used = 0, i = 0;
    while (i < count) {
        size_t run = 0, length;
        while (i + run < count && is_plain(in[i + run]))
            run++;
        memcpy(out + used, in + i, run);
        used += run;
        i += run;
        if (i == count)
            break;
        length = shown_length(bytes + i, count - i);
        if (length > 0) {
            memcpy(out + used, in + i, length);
            used += length;
            i += length;
        } else if (in[i] == 0x1b) {
            i += escape_length(in + i, count - i);
        } else if (in[i] < 0x80) {
            used += (size_t)snprintf(out + used, sizeof "\\x00", "\\x%02x", in[i++]);
        } else {
            memcpy(out + used, "\xef\xbf\xbd", 3);
            used += 3;
            length = utf8_sequence(bytes + i, count - i);
            i += length ? length : 1;
        }
    }
    out[used] = 0;
    return used;
}

void readable_cut(const char *bytes, size_t count, char *out, size_t size) {
    size_t used = 0, whole = 0; /* so much of it leaves room for dots */
    for (size_t i = 0; i < count;) {
        size_t shown = shown_length(bytes + i, count - i), step = shown ? shown : 1;
        if (used + step >= size) {
            snprintf(out + whole, size - whole, "%s", size < sizeof "..." ? "" : "...");
            return;
        }
        if (shown)
            memcpy(out + used, bytes + i, shown);
        else
            out[used] = bytes[i] ? '?' : ' ';
        used += step;
        i += step;
        if (used + sizeof "..." <= size)
            whole = used;
    }
    if (size > 0)
        out[used] = 0;
}

void readable_add(struct buffer *out, const char *text, size_t length) {
    if (buffer_reserve(out, READABLE_GROWTH * length + 1))
        out->length += readable_text(out->data + out->length, text, length);
}

void readable_add_lines(struct buffer *out, const char *text, int spaces) {
    size_t length = strcspn(text, "\n");
    readable_add(out, text, length);
    for (text += length; text[0] && text[1]; text += length) {
        length = strcspn(++text, "\n");
        buffer_format(out, "\n%*s", spaces, "");
        readable_add(out, text, length);
    }
}
