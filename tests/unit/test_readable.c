/* Any bytes made readable: compared with a slow reading of the same rules, byte string by byte
 * string, and by what every result must be like. */
#include "readable.h"
#include "utf8.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* ---- a slow reference ---- */

/* The shortest form of a code point. Returns its length. */
static size_t encode(unsigned long point, unsigned char out[4]) {
    if (point < 0x80) {
        out[0] = (unsigned char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (unsigned char)(0xc0 + point / 64);
        out[1] = (unsigned char)(0x80 + point % 64);
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (unsigned char)(0xe0 + point / 4096);
        out[1] = (unsigned char)(0x80 + point / 64 % 64);
        out[2] = (unsigned char)(0x80 + point % 64);
        return 3;
    }
    out[0] = (unsigned char)(0xf0 + point / 262144);
    out[1] = (unsigned char)(0x80 + point / 4096 % 64);
    out[2] = (unsigned char)(0x80 + point / 64 % 64);
    out[3] = (unsigned char)(0x80 + point % 64);
    return 4;
}

/* The length of the character at the start, or 0: whatever these bytes decode to must come back as
 * the same bytes, and be no surrogate and within Unicode. */
static size_t decode(const unsigned char *in, size_t count, unsigned long *point) {
    unsigned char again[4];
    size_t length = in[0] < 0x80 ? 1 : in[0] < 0xc0 ? 0 : in[0] < 0xe0 ? 2 : in[0] < 0xf0 ? 3 : 4;
    if (length == 0 || length > count || in[0] >= 0xf8)
        return 0;
    *point = length == 1 ? in[0] : in[0] % (1u << (7 - length));
    for (size_t i = 1; i < length; i++) {
        if (in[i] < 0x80 || in[i] > 0xbf)
            return 0;
        *point = *point * 64 + in[i] % 64;
    }
    if (*point > 0x10ffff || (*point >= 0xd800 && *point <= 0xdfff))
        return 0;
    return encode(*point, again) == length && memcmp(again, in, length) == 0 ? length : 0;
}

/* The length of a terminal sequence of one of the two kinds that everything uses: ESC [ up to its
 * letter, ESC ] up to BEL or ESC \. Without an end it goes to the end of the bytes. 0: another. */
static size_t terminal(const unsigned char *in, size_t count) {
    size_t i = 2;
    if (count < 2)
        return count;
    if (in[1] == '[') {
        while (i < count && in[i] >= '0' && in[i] <= '?')
            i++;
        while (i < count && in[i] >= ' ' && in[i] <= '/')
            i++;
        return i == count ? count : in[i] >= '@' && in[i] <= '~' ? i + 1 : 0;
    }
    if (in[1] != ']')
        return 0;
    for (; i < count; i++) {
        if (in[i] == 0x07)
            return i + 1;
        if (in[i] == 0x1b)
            return i + 1 == count ? count : in[i + 1] == '\\' ? i + 2 : 0;
    }
    return count;
}

/* The lines of Unicode, what turns the direction of writing, and what cannot be seen. */
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

/* False where the rules say no more than what every result must be like. */
static bool reference(char *out, const unsigned char *in, size_t count) {
    for (size_t i = 0; i < count;) {
        unsigned long point = 0;
        size_t length = decode(in + i, count - i, &point);
        if (in[i] == 0x1b) {
            length = terminal(in + i, count - i);
            if (length == 0)
                return false;
        } else if (length > 0 &&
                   (point == '\t' || (point >= 0x20 && point < 0x7f) || point > 0x9f) &&
                   !deceives(point)) {
            memcpy(out, in + i, length);
            out += length;
        } else if (in[i] < 0x80) {
            out += snprintf(out, 5, "\\x%02x", in[i]);
        } else {
            out += snprintf(out, 4, "\xef\xbf\xbd");
        }
        i += length ? length : 1;
    }
    *out = 0;
    return true;
}

/* ---- what every result must be like ---- */

static const char *fault_of(const char *out, size_t length) {
    const unsigned char *bytes = (const unsigned char *)out;
    if (strlen(out) != length)
        return "it is not as long as was told";
    for (size_t i = 0; i < length;) {
        unsigned long point;
        size_t size = decode(bytes + i, length - i, &point);
        if (size == 0)
            return "it is no UTF-8";
        if ((point < 0x20 && point != '\t') || (point >= 0x7f && point < 0xa0))
            return "it has a control character";
        if (deceives(point))
            return "it may look like another text";
        i += size;
    }
    return NULL;
}

static void complain(const char *why, const char *bytes, size_t count) {
    char hex[64] = "";
    for (size_t i = 0; i < count && i < 16; i++)
        snprintf(hex + 3 * i, 4, "%02x ", (unsigned char)bytes[i]);
    fail_msg("%s: %s", hex, why);
}

/* Nothing is written beyond the room that is asked for. */
static void check(const char *bytes, size_t count) {
    char in[8], out[READABLE_GROWTH * 8 + 1], expected[READABLE_GROWTH * 8 + 1];
    char again[READABLE_GROWTH * READABLE_GROWTH * 8 + 1];
    const char *fault;
    size_t length;
    memcpy(in, bytes, count);
    memset(out, '!', sizeof out);
    length = readable_text(out, in, count);
    fault = length <= READABLE_GROWTH * count ? fault_of(out, length) : "it grew too much";
    for (size_t i = READABLE_GROWTH * count + 1; i < sizeof out; i++)
        if (out[i] != '!')
            fault = "it was written beyond its room";
    if (fault)
        complain(fault, bytes, count);
    if (reference(expected, (const unsigned char *)bytes, count) && strcmp(out, expected) != 0)
        complain("it is another text", bytes, count);
    if (readable_text(again, out, length) != length || strcmp(again, out) != 0)
        complain("readable text is changed", bytes, count);
}

static void test_every_one_and_two_bytes(void **state) {
    char in[2];
    (void)state;
    check("", 0);
    for (int a = 0; a < 256; a++) {
        in[0] = (char)a;
        check(in, 1);
        for (int b = 0; b < 256; b++) {
            in[1] = (char)b;
            check(in, 2);
        }
    }
}

/* The ends of every range that means something. */
static const unsigned char alphabet[] = {
    0x00, 0x07, 0x09, 0x0a, 0x0d, 0x1b, 0x1f, ' ',  '0',  ';',  'A',  '[',  '\\',
    ']',  'm',  '~',  0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2,
    0xc3, 0xdf, 0xe0, 0xe1, 0xe2, 0x81, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xae,
    0xaf, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xf8, 0xff};

static void test_every_three_bytes(void **state) {
    char in[3];
    (void)state;
    for (size_t a = 0; a < COUNT(alphabet); a++)
        for (size_t b = 0; b < COUNT(alphabet); b++)
            for (size_t c = 0; c < COUNT(alphabet); c++) {
                in[0] = (char)alphabet[a];
                in[1] = (char)alphabet[b];
                in[2] = (char)alphabet[c];
                check(in, 3);
            }
}

/* Four bytes, where the first begins a sequence or a terminal's. */
static void test_four_bytes(void **state) {
    static const unsigned char first[] = {0x1b, 0xe0, 0xed, 0xf0, 0xf4, 0xf5};
    char in[4];
    (void)state;
    for (size_t a = 0; a < COUNT(first); a++)
        for (size_t i = 0; i < COUNT(alphabet) * COUNT(alphabet) * COUNT(alphabet); i++) {
            in[0] = (char)first[a];
            in[1] = (char)alphabet[i % COUNT(alphabet)];
            in[2] = (char)alphabet[i / COUNT(alphabet) % COUNT(alphabet)];
            in[3] = (char)alphabet[i / COUNT(alphabet) / COUNT(alphabet)];
            check(in, 4);
        }
}

/* ---- by hand ---- */

static void expect_text(const char *in, size_t count, const char *expected) {
    char *out = malloc(READABLE_GROWTH * count + 1);
    assert_non_null(out);
    assert_int_equal(readable_text(out, in, count), strlen(expected));
    assert_string_equal(out, expected);
    free(out);
}

#define EXPECT(in, expected) expect_text(in, sizeof(in) - 1, expected)
#define BROKEN               "\xef\xbf\xbd"

static void test_texts_stay(void **state) {
    (void)state;
    EXPECT("", "");
    EXPECT("a\tb ~\\x1f", "a\tb ~\\x1f");
    EXPECT("\xc2\xa0\xc3\xa9\xdf\xbf", "\xc2\xa0\xc3\xa9\xdf\xbf");
    EXPECT("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf",
           "\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf");
    EXPECT("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
}

static void test_controls_are_shown(void **state) {
    (void)state;
    EXPECT("a\0b\nc\rd\be\x7f", "a\\x00b\\x0ac\\x0dd\\x08e\\x7f");
    EXPECT("\xc2\x80\xc2\x9b\x31m\xc2\x9f", BROKEN BROKEN "1m" BROKEN); /* C1, as UTF-8 */
    EXPECT("\x9b\x31m", BROKEN "1m");
}

static void test_broken_utf8_is_shown(void **state) {
    (void)state;
    EXPECT("\xc0\xaf", BROKEN BROKEN); /* an overlong slash */
    EXPECT("\xe0\x80\xaf", BROKEN BROKEN BROKEN);
    EXPECT("\xf0\x80\x80\xaf", BROKEN BROKEN BROKEN BROKEN);
    EXPECT("\xed\xa0\x80\xed\xb0\x80", BROKEN BROKEN BROKEN BROKEN BROKEN BROKEN); /* surrogates */
    EXPECT("\xf4\x90\x80\x80", BROKEN BROKEN BROKEN BROKEN); /* beyond Unicode */
    EXPECT("a\xe2\x82", "a" BROKEN BROKEN);
    EXPECT("\xe2\x82z\xc3", BROKEN BROKEN "z" BROKEN);
    EXPECT("\xe2\x82\xe2\x82\xac", BROKEN BROKEN "\xe2\x82\xac");
}

static void test_colours_and_titles_go(void **state) {
    (void)state;
    EXPECT("\x1b[31mred\x1b[0m", "red");
    EXPECT("\x1b[38;5;200;1mx\x1b[m\x1b[?25l\x1b[2K\x1b[1 q", "x");
    EXPECT("\x1b]0;title\x07text", "text");
    EXPECT("\x1b]8;;http://x/\x1b\\link\x1b]8;;\x1b\\.", "link.");
    EXPECT("\x1b]0;t\xc3\xa9\xfftle\x07text", "text");
    EXPECT("cut\x1b", "cut");
    EXPECT("cut\x1b[", "cut");
    EXPECT("cut\x1b[31;", "cut");
    EXPECT("cut\x1b]0;tit", "cut");
    EXPECT("cut\x1b]0;tit\x1b", "cut");
}

/* What `tput sgr0` and friends write: a character set, keypad modes, strings for the terminal. */
static void test_other_terminal_sequences_go(void **state) {
    (void)state;
    EXPECT("a\x1b(Bb\x1b)0c\x1b#8d\x1b%Ge", "abcde");
    EXPECT("a\x1b=b\x1b>c\x1b\x37"
           "d\x1b\x38"
           "e\x1b"
           "cf\x1b"
           "Mg",
           "abcdefg");
    EXPECT("a\x1bP1;2q#0!\x1b\\b\x1b_Gf=1;AAAA\x1b\\c\x1b^x\x1b\\d\x1bXy\x1b\\e", "abcde");
}

/* A text is not eaten along with an ESC that begins nothing. */
static void test_text_behind_a_lone_escape_stays(void **state) {
    char out[64];
    (void)state;
    readable_text(out, "\x1b\xc3\xa9t\xc3\xa9", 6);
    assert_non_null(strstr(out, "\xc3\xa9t\xc3\xa9"));
    readable_text(out, "\x1b\x1b[31mred", 9);
    assert_non_null(strstr(out, "red"));
    assert_null(strstr(out, "[31m"));
    readable_text(out, "\x1b]0;title\x1b[31mred", 17);
    assert_null(strstr(out, "31m"));
}

/* The bound is met, and kept, with nothing to spare. */
static void test_growth(void **state) {
    enum { SIZE = 4096 };
    char *in = malloc(SIZE), *out = malloc(READABLE_GROWTH * SIZE + 1);
    (void)state;
    assert_true(in && out);
    for (int byte = 0; byte < 256; byte++) {
        memset(in, byte, SIZE);
        assert_true(readable_text(out, in, SIZE) <= READABLE_GROWTH * SIZE);
    }
    memset(in, 1, SIZE);
    assert_int_equal(readable_text(out, in, SIZE), READABLE_GROWTH * SIZE);
    free(in);
    free(out);
}

/* ---- the end of a piece ---- */

/* Characters of each length: cut after k bytes, k bytes wait for their rest. */
static void test_unfinished(void **state) {
    static const unsigned long points[] = {'A',    0x80,   0x7ff,   0x800,   0xd7ff,
                                           0xe000, 0xffff, 0x10000, 0x10ffff};
    char text[16] = "ab\xc3\xa9";
    (void)state;
    assert_int_equal(utf8_unfinished("", 0), 0);
    for (size_t i = 0; i < COUNT(points); i++) {
        unsigned char bytes[4];
        size_t length = encode(points[i], bytes);
        memcpy(text + 4, bytes, length);
        for (size_t cut = 0; cut <= length; cut++) {
            assert_int_equal(utf8_unfinished(text, 4 + cut), cut < length ? cut : 0);
            assert_int_equal(utf8_unfinished(text + 4, cut), cut < length ? cut : 0);
        }
    }
    assert_int_equal(utf8_unfinished("\x80\x80\x80\x80", 4), 0);
    assert_int_equal(utf8_unfinished("\xff", 1), 0);
}

/* The longest beginning that ends between two characters. */
static void test_cut(void **state) {
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
    static const size_t ends[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11, 11};
    (void)state;
    for (size_t most = 0; most < COUNT(ends); most++)
        assert_int_equal(utf8_cut(text, most), ends[most]);
    assert_int_equal(utf8_cut("", 5), 0);
}

/* Where the cut is made, both sides together say what the whole says. */
static void test_cuts_change_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(alphabet) * COUNT(alphabet) * COUNT(alphabet); i++) {
        const char in[6] = {'a',
                            (char)alphabet[i % COUNT(alphabet)],
                            (char)alphabet[i / COUNT(alphabet) % COUNT(alphabet)],
                            (char)alphabet[i / COUNT(alphabet) / COUNT(alphabet)],
                            (char)0x80,
                            'b'};
        char whole[32], parts[64];
        if (memchr(in, 0x1b, sizeof in))
            continue; /* terminal sequences may be cut */
        readable_text(whole, in, sizeof in);
        for (size_t cut = 1; cut < sizeof in; cut++) {
            size_t unfinished = utf8_unfinished(in, cut), at = cut - unfinished;
            assert_true(unfinished <= 3 && unfinished <= cut);
            size_t used = readable_text(parts, in, at);
            readable_text(parts + used, in + at, sizeof in - at);
            if (strcmp(parts, whole) != 0)
                complain("a cut changes it", in, sizeof in);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_every_one_and_two_bytes),
        UNIT_TEST(test_every_three_bytes),
        UNIT_TEST(test_four_bytes),
        UNIT_TEST(test_texts_stay),
        UNIT_TEST(test_controls_are_shown),
        UNIT_TEST(test_broken_utf8_is_shown),
        UNIT_TEST(test_colours_and_titles_go),
        UNIT_TEST(test_other_terminal_sequences_go),
        UNIT_TEST(test_text_behind_a_lone_escape_stays),
        UNIT_TEST(test_growth),
        UNIT_TEST(test_unfinished),
        UNIT_TEST(test_cut),
        UNIT_TEST(test_cuts_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
