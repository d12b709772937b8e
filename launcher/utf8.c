#include "utf8.h"

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

bool utf8_is_deceptive(const char *sequence, size_t length) {
    const unsigned char *in = (const unsigned char *)sequence;
    if (length != 3 || in[0] != 0xe2)
        return false;
    return (in[1] == 0x80 && in[2] >= 0xa8 && in[2] <= 0xae) ||
           (in[1] == 0x81 && in[2] >= 0xa6 && in[2] <= 0xa9);
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
