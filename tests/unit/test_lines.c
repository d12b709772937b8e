/* Lines out of a stream that comes in pieces of any size. */
#include "protocol/lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

/* What an idle connection may keep, and what any may. */
#define IDLE_MOST  1024
#define TOTAL_MOST (2 * LINES_MAX)

/* ---- what was handed out ---- */

struct heard {
    char *text; /* each line with a newline behind it: a line itself has none */
    size_t length, count;
    size_t stop_after; /* 0: never */
};

static bool hear(const char *line, size_t length, void *context) {
    struct heard *heard = context;
    assert_int_equal(line[length], 0);
    assert_null(memchr(line, '\n', length));
    heard->text = realloc(heard->text, heard->length + length + 1);
    assert_non_null(heard->text);
    memcpy(heard->text + heard->length, line, length);
    heard->text[heard->length + length] = '\n';
    heard->length += length + 1;
    return ++heard->count != heard->stop_after;
}

static void heard_finish(struct heard *heard) {
    free(heard->text);
    *heard = (struct heard){0};
}

static void expect_heard(struct heard *heard, const char *expected, size_t length) {
    assert_int_equal(heard->length, length);
    if (length > 0)
        assert_memory_equal(heard->text, expected, length);
    heard_finish(heard);
}

static int feed(struct buffer *lines, const char *bytes, size_t count, struct heard *heard) {
    int rc = lines_feed(lines, bytes, count, hear, heard);
    assert_true(lines->capacity <= TOTAL_MOST);
    return rc;
}

static void feed_all(struct buffer *lines, const char *bytes, size_t count, struct heard *heard) {
    assert_int_equal(feed(lines, bytes, count, heard), 0);
}

/* ---- cutting ---- */

struct sample {
    const char *text;  /* as it is sent */
    const char *lines; /* as it is handed out, each line with a newline */
    const char *rest;  /* of which the end has not come */
};

static const struct sample samples[] = {
    {"{\"a\":\"h\xc3\xa9llo\"}\r\n{}\n", "{\"a\":\"h\xc3\xa9llo\"}\n{}\n", ""},
    {"\xe2\x82\xac\r\n\xf0\x9f\x98\x80\n", "\xe2\x82\xac\n\xf0\x9f\x98\x80\n", ""},
    {"\xe6\x97\xa5\xe6\x9c\xac\r\r\n\n\r\n\xc3\xa9", "\xe6\x97\xa5\xe6\x9c\xac\r\n\n\n",
     "\xc3\xa9"},
    {"a\rb\r\nc\r", "a\rb\n", "c\r"},
    {"\xff\xfe\x80\n\xc3\n\xa9\n", "\xff\xfe\x80\n\xc3\n\xa9\n", ""},
};

#define SAMPLES (sizeof samples / sizeof samples[0])

/* Feeds the sample cut where `ends` says, and compares. */
static void check_pieces(const struct sample *sample, const size_t *ends, size_t pieces) {
    struct buffer lines = {0};
    struct heard heard = {0};
    size_t at = 0;
    for (size_t i = 0; i < pieces; i++) {
        feed_all(&lines, sample->text + at, ends[i] - at, &heard);
        at = ends[i];
    }
    assert_int_equal(lines.length, strlen(sample->rest));
    if (lines.length > 0)
        assert_memory_equal(lines.data, sample->rest, lines.length);
    expect_heard(&heard, sample->lines, strlen(sample->lines));
    buffer_finish(&lines);
}

/* E5 */
static void test_every_two_cuts(void **state) {
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        size_t length = strlen(samples[i].text);
        for (size_t first = 0; first <= length; first++) {
            for (size_t second = first; second <= length; second++) {
                const size_t ends[] = {first, second, length};
                check_pieces(&samples[i], ends, 3);
            }
        }
    }
}

/* E5: every way there is to cut it. */
static void test_every_set_of_cuts(void **state) {
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        size_t length = strlen(samples[i].text);
        if (length > 14)
            continue;
        for (unsigned cuts = 0; cuts < 1u << (length - 1); cuts++) {
            size_t ends[16], pieces = 0;
            for (size_t at = 1; at < length; at++)
                if (cuts & (1u << (at - 1)))
                    ends[pieces++] = at;
            ends[pieces++] = length;
            check_pieces(&samples[i], ends, pieces);
        }
    }
}

/* A NUL is a byte like others; the length tells. */
static void test_nul_inside(void **state) {
    static const char text[] = "a\0b\r\n\0\n";
    struct buffer lines = {0};
    struct heard heard = {0};
    (void)state;
    for (size_t i = 0; i < sizeof text - 1; i++)
        feed_all(&lines, text + i, 1, &heard);
    expect_heard(&heard, "a\0b\n\0\n", 6);
    buffer_finish(&lines);
}

static void test_nothing_is_no_line(void **state) {
    struct buffer lines = {0};
    struct heard heard = {0};
    (void)state;
    feed_all(&lines, "", 0, &heard);
    assert_int_equal(heard.count, 0);
    assert_int_equal(lines.capacity, 0);
    buffer_finish(&lines);
}

/* ---- the limit ---- */

/* Feeds `count` bytes of which the last are `tail`, in pieces. Returns the first result that is not
 * 0. */
static int feed_long(size_t count, const char *tail, size_t piece, struct heard *heard) {
    struct buffer lines = {0};
    char *bytes = malloc(count);
    int rc = 0;
    assert_non_null(bytes);
    memset(bytes, 'x', count);
    memcpy(bytes + count - strlen(tail), tail, strlen(tail));
    for (size_t at = 0; at < count && rc == 0; at += piece)
        rc = feed(&lines, bytes + at, count - at < piece ? count - at : piece, heard);
    free(bytes);
    buffer_finish(&lines);
    return rc;
}

static const size_t piece_sizes[] = {1, 7, 4096, LINES_MAX, LINES_MAX + 1, 10 * LINES_MAX};

#define PIECE_SIZES (sizeof piece_sizes / sizeof piece_sizes[0])

/* E5: the longest line there may be, and one byte more. */
static void test_longest_line(void **state) {
    static const struct {
        size_t over; /* bytes beyond LINES_MAX, the tail not counted */
        const char *tail;
        bool fits;
    } rows[] = {
        {0, "\n", true},    {0, "\r\n", true},    {1, "\n", false},
        {1, "\r\n", false}, {0, "\r\r\n", false}, {2, "\n", false},
    };
    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        size_t count = LINES_MAX + rows[row].over + strlen(rows[row].tail);
        for (size_t i = 0; i < PIECE_SIZES; i++) {
            struct heard heard = {0};
            int rc = feed_long(count, rows[row].tail, piece_sizes[i], &heard);
            assert_int_equal(rc, rows[row].fits ? 0 : -EMSGSIZE);
            assert_int_equal(heard.count, rows[row].fits ? 1 : 0);
            assert_int_equal(heard.length, rows[row].fits ? LINES_MAX + 1 : 0);
            heard_finish(&heard);
        }
    }
}

/* E5: whoever never ends a line is told so while it still sends, and is not collected. */
static void test_endless_line_is_refused_early(void **state) {
    struct heard heard = {0};
    (void)state;
    assert_int_equal(feed_long(LINES_MAX + 1, "", 1, &heard), 0); /* a CR could go */
    for (size_t i = 0; i < PIECE_SIZES; i++)
        assert_int_equal(feed_long(LINES_MAX + 2, "", piece_sizes[i], &heard), -EMSGSIZE);
    assert_int_equal(heard.count, 0);
}

static void test_lines_before_a_long_one_come(void **state) {
    struct buffer lines = {0};
    struct heard heard = {0};
    char *bytes = malloc(2 * LINES_MAX);
    (void)state;
    assert_non_null(bytes);
    memset(bytes, 'x', 2 * LINES_MAX);
    memcpy(bytes, "one\ntwo\n", 8);
    assert_int_equal(feed(&lines, bytes, 2 * LINES_MAX, &heard), -EMSGSIZE);
    expect_heard(&heard, "one\ntwo\n", 8);
    buffer_finish(&lines);
    free(bytes);
}

/* ---- memory ---- */

enum { MANY = 50000 };

/* Many lines in one piece need the memory of one line. */
static void test_many_lines_in_one_feed(void **state) {
    struct buffer lines = {0};
    struct heard heard = {0};
    char *bytes = malloc((size_t)MANY * 8 + 1);
    (void)state;
    assert_non_null(bytes);
    for (size_t i = 0; i < MANY; i++)
        snprintf(bytes + i * 8, 9, "%06zu\r\n", i % 1000000);
    heard.text = malloc((size_t)MANY * 7);
    assert_int_equal(lines_feed(&lines, bytes, (size_t)MANY * 8, hear, &heard), 0);
    assert_true(lines.capacity <= IDLE_MOST);
    assert_int_equal(heard.count, MANY);
    for (size_t i = 0; i < MANY; i++) {
        char line[16];
        snprintf(line, sizeof line, "%06zu\n", i % 1000000);
        assert_memory_equal(heard.text + i * 7, line, 7);
    }
    heard_finish(&heard);
    buffer_finish(&lines);
    free(bytes);
}

/* A connection that said something long once does not keep that memory; what it keeps serves. */
static void test_idle_memory(void **state) {
    struct buffer lines = {0};
    struct heard heard = {0};
    char *bytes = malloc(LINES_MAX + 1);
    (void)state;
    assert_non_null(bytes);
    memset(bytes, 'x', LINES_MAX);
    bytes[LINES_MAX] = '\n';
    for (int round = 0; round < 3; round++) {
        feed_all(&lines, bytes, LINES_MAX, &heard);
        assert_true(lines.capacity > LINES_MAX);
        feed_all(&lines, bytes + LINES_MAX, 1, &heard);
        assert_true(lines.capacity <= IDLE_MOST);
        feed_all(&lines, "short\n", 6, &heard);
        assert_true(lines.capacity <= IDLE_MOST);
    }
    assert_int_equal(heard.count, 6);
    heard_finish(&heard);
    buffer_finish(&lines);
    free(bytes);
}

static void test_finish_in_the_middle(void **state) {
    struct buffer lines = {0};
    struct heard heard = {0};
    (void)state;
    feed_all(&lines, "lost", 4, &heard);
    buffer_finish(&lines);
    buffer_finish(&lines);
    feed_all(&lines, "new\n", 4, &heard);
    expect_heard(&heard, "new\n", 4);
    buffer_finish(&lines);
}

/* ---- stopping ---- */

static void test_the_reader_stops_it(void **state) {
    (void)state;
    for (size_t after = 1; after <= 3; after++) {
        struct buffer lines = {0};
        struct heard heard = {.stop_after = after};
        assert_int_equal(feed(&lines, "1\n2\n3\n4\n", 8, &heard), -ECANCELED);
        expect_heard(&heard, "1\n2\n3\n", 2 * after);
        buffer_finish(&lines);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_every_two_cuts),
        UNIT_TEST(test_every_set_of_cuts),
        UNIT_TEST(test_nul_inside),
        UNIT_TEST(test_nothing_is_no_line),
        UNIT_TEST(test_longest_line),
        UNIT_TEST(test_endless_line_is_refused_early),
        UNIT_TEST(test_lines_before_a_long_one_come),
        UNIT_TEST(test_many_lines_in_one_feed),
        UNIT_TEST(test_idle_memory),
        UNIT_TEST(test_finish_in_the_middle),
        UNIT_TEST(test_the_reader_stops_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
