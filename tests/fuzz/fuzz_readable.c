/* Any bytes made readable are UTF-8 without control characters, within their bound, and stay what
 * they are when they are made readable again. */
#include "fuzz.h"
#include "readable.h"
#include "utf8.h"

#include <stdbool.h>
#include <string.h>

const char *const fuzz_words[] = {"\x1b[31m",
                                  "\x1b]0;t\x07",
                                  "\x1b\\",
                                  "\x1b",
                                  "\xc3\xa9",
                                  "\xe2\x82\xac",
                                  "\xf0\x9f\x98\x80",
                                  "\xf0\x9f",
                                  "\xed\xa0",
                                  "\xf4\x90",
                                  "\xc2\x9b",
                                  "\t",
                                  "text ",
                                  "\x7f",
                                  "\x80",
                                  "\xe2\x80\xae",
                                  "\xe2\x80\xa8",
                                  "\xe2\x81\xa6",
                                  NULL};

/* What turns the direction of writing, is a line break to some, or cannot be seen. */
static bool deceives(unsigned long point) {
    switch (point) {
    case 0xad:
    case 0x61c:
    case 0x180e:
    case 0x200b:
    case 0x200e:
    case 0x200f:
    case 0xfeff:
        return true;
    default:
        return (point >= 0x2028 && point <= 0x202e) || (point >= 0x2060 && point <= 0x206f) ||
               (point >= 0xfff9 && point <= 0xfffb) || (point >= 0xe0000 && point <= 0xe007f);
    }
}

/* The length of the character at the start, or 0 if it is none that may be there. */
static size_t character(const unsigned char *in, size_t count) {
    static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = in[0] < 0x80 ? 1 : in[0] < 0xc0 ? 0 : in[0] < 0xe0 ? 2 : in[0] < 0xf0 ? 3 : 4;
    unsigned long point = in[0] & (length == 1 ? 0x7f : 0x7f >> length);
    if (length == 0 || length > count || in[0] > 0xf7)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if (in[i] >> 6 != 2)
            return 0;
        point = point << 6 | (in[i] & 0x3f);
    }
    if (point < least[length] || point > 0x10ffff || point >> 11 == 0x1b || deceives(point))
        return 0;
    return point == '\t' || (point >= 0x20 && point < 0x7f) || point > 0x9f ? length : 0;
}

static char *make_readable(const char *bytes, size_t count, size_t *length) {
    char *out = malloc(READABLE_GROWTH * count + 1);
    FUZZ_CHECK(out);
    *length = readable_text(out, bytes, count);
    FUZZ_CHECK(*length <= READABLE_GROWTH * count);
    FUZZ_CHECK(out[*length] == 0 && strlen(out) == *length);
    return out;
}

/* Without terminal sequences, the two sides of a cut say together what the whole says. */
static void check_cut(const char *bytes, size_t count, size_t cut, const char *whole) {
    size_t unfinished = utf8_unfinished(bytes, cut), at, first_length, second_length;
    char *first, *second;
    FUZZ_CHECK(unfinished <= 3 && unfinished <= cut);
    at = cut - unfinished;
    first = make_readable(bytes, at, &first_length);
    second = make_readable(bytes + at, count - at, &second_length);
    FUZZ_CHECK(strlen(whole) == first_length + second_length);
    FUZZ_CHECK(memcmp(whole, first, first_length) == 0);
    FUZZ_CHECK(strcmp(whole + first_length, second) == 0);
    free(first);
    free(second);
}

/* What is text already, stays as it is. */
static bool is_text(const char *bytes, size_t count) {
    size_t at = 0, length = 1;
    while (at < count && (length = character((const unsigned char *)bytes + at, count - at)) > 0)
        at += length;
    return at == count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *bytes = (const char *)data;
    size_t length, again_length;
    char *out = make_readable(bytes, size, &length);
    char *again = make_readable(out, length, &again_length);
    FUZZ_CHECK(is_text(out, length));
    FUZZ_CHECK(again_length == length && strcmp(again, out) == 0);
    if (is_text(bytes, size))
        FUZZ_CHECK(length == size && memcmp(out, bytes, size) == 0);
    if (size > 0 && !memchr(bytes, 0x1b, size))
        for (size_t cut = 1; cut <= size; cut += 1 + size / 16)
            check_cut(bytes, size, cut, out);
    free(out);
    free(again);
    return 0;
}
