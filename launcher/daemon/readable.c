#include "readable.h"

#include <stdbool.h>
#include <string.h>

/* How long the sequence is that this byte begins; 0 if none can begin with it. */
static size_t sequence_length(unsigned char first) {
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first <= 0xdf)
        return 2;
    if (first >= 0xe0 && first <= 0xef)
        return 3;
    return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

/* Rules out overlong forms, surrogates, and what lies beyond U+10FFFF: the second byte tells. */
static bool second_is_valid(unsigned char first, unsigned char second) {
    unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    return second >= least && second <= most;
}

/* The length of the valid sequence at the start of these bytes, or 0. */
static size_t valid_sequence(const unsigned char *bytes, size_t count) {
    size_t length = sequence_length(bytes[0]);
    if (length == 0 || length > count)
        return 0;
    if (length > 1 && !second_is_valid(bytes[0], bytes[1]))
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

size_t readable_unfinished(const char *bytes, size_t count) {
    for (size_t back = 1; back <= 3 && back <= count; back++) {
        unsigned char byte = (unsigned char)bytes[count - back];
        if ((byte & 0xc0) != 0x80)
            return sequence_length(byte) > back ? back : 0;
    }
    return 0;
}

/* The length of the terminal sequence that begins with the ESC at the start of these bytes. */
static size_t escape_length(const unsigned char *bytes, size_t count) {
    size_t i = 2;
    if (count < 2)
        return count;
    if (bytes[1] == '[') { /* parameters, then one final byte */
        while (i < count && (bytes[i] < 0x40 || bytes[i] > 0x7e))
            i++;
        return i < count ? i + 1 : count;
    }
    if (bytes[1] == ']') { /* a text that ends with BEL or ESC \ */
        while (i < count && bytes[i] != 0x07 && bytes[i] != 0x1b)
            i++;
        if (i < count && bytes[i] == 0x1b && i + 1 < count)
            i++;
        return i < count ? i + 1 : count;
    }
    return 2;
}

static size_t write_hex(char *out, unsigned char byte) {
    static const char digits[] = "0123456789abcdef";
    const char text[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    memcpy(out, text, sizeof text);
    return sizeof text;
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
        length = in[i] >= 0x80 ? valid_sequence(in + i, count - i) : 0;
        if (length > 0 && !(in[i] == 0xc2 && in[i + 1] < 0xa0)) { /* not the C1 controls */
            memcpy(out + used, in + i, length);
            used += length;
            i += length;
        } else if (in[i] == 0x1b) {
            i += escape_length(in + i, count - i);
        } else if (in[i] < 0x80) {
            used += write_hex(out + used, in[i++]);
        } else {
            memcpy(out + used, "\xef\xbf\xbd", 3);
            used += 3;
            i += length ? length : 1;
        }
    }
    out[used] = 0;
    return used;
}
