#include "utf8.h"

#include <stdint.h>
#include <string.h>

/* How long the sequence is that this byte begins; 0 if none can begin with it. */
static size_t length_of(unsigned char first) {
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

size_t utf8_sequence(const char *bytes, size_t count) {
    const unsigned char *in = (const unsigned char *)bytes;
    size_t length = count ? length_of(in[0]) : 0;
    if (length == 0 || length > count)
        return 0;
    if (length > 1 && !second_is_valid(in[0], in[1]))
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((in[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

bool utf8_is_valid(const char *bytes, size_t count) {
    for (size_t at = 0; at < count;) {
        size_t length = utf8_sequence(bytes + at, count - at);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

bool utf8_is_deceptive(const char *sequence, size_t length) {
    static const uint32_t ranges[][2] = {
        {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},     {0x180e, 0x180e},
        {0x200b, 0x200b}, {0x200e, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f},
        {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
    };
    uint32_t code = (unsigned char)sequence[0];
    if (length > 1)
        code &= 0x7fu >> length;
    for (size_t i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)sequence[i] & 0x3f);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    return false;
}

size_t utf8_unfinished(const char *bytes, size_t count) {
    for (size_t back = 1; back <= 3 && back <= count; back++) {
        unsigned char byte = (unsigned char)bytes[count - back];
        if ((byte & 0xc0) != 0x80)
            return length_of(byte) > back ? back : 0;
    }
    return 0;
}

size_t utf8_cut(const char *text, size_t most) {
    size_t length = strlen(text);
    if (length <= most)
        return length;
    return most - utf8_unfinished(text, most);
}
