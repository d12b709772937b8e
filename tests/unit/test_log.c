/* What a server writes becomes lines, in whatever pieces it comes. */
#include "log_unit.h"

#include <jansson.h>

/* ---- lines ---- */

static void expect_lines(const char *text, const char *expected) {
    struct place place;
    place_init(&place);
    output(&place, LOG_STDOUT, text);
    log_server_end(&place.log);
    expect_heard(&place, expected);
    place_finish(&place);
}

static void test_lines(void **state) {
    (void)state;
    expect_lines("", "");
    expect_lines("a\nb\n", "stdout a\nstdout b\n");
    expect_lines("a\r\n\r\nb\rc\n", "stdout a\nstdout \nstdout b\\x0dc\n");
    expect_lines("\n\nend", "stdout \nstdout \nstdout end\n");
    expect_lines("\x1b[31mred\x1b[0m \x01\xff\t\xc3\xa9\n",
                 "stdout red \\x01\xef\xbf\xbd\t\xc3\xa9\n");
}

static void test_streams_do_not_mix(void **state) {
    struct place place;
    (void)state;
    place_init(&place);
    output(&place, LOG_STDOUT, "out-");
    output(&place, LOG_STDERR, "err-");
    log_say(&place.log, "said %d", 7);
    output(&place, LOG_STDOUT, "1\nout-2");
    output(&place, LOG_STDERR, "1\n");
    log_server_end(&place.log);
    expect_heard(&place, "launcher said 7\nstdout out-1\nstderr err-1\nstdout out-2\n");
    place_finish(&place);
}

/* Feeds the text cut where `first` and `second` say, and expects the lines of the whole. */
static void check_cuts(struct place *place, const char *text, size_t first, size_t second,
                       const char *expected) {
    const size_t ends[] = {first, second, strlen(text)};
    size_t at = 0;
    for (size_t i = 0; i < 3; i++) {
        log_server_output(&place->log, LOG_STDERR, text + at, ends[i] - at);
        at = ends[i];
    }
    log_server_end(&place->log);
    expect_heard(place, expected);
}

/* D1, E5 */
static void check_every_cut(const char *text, const char *expected) {
    struct place place;
    place_init(&place);
    for (size_t first = 0; first <= strlen(text); first++)
        for (size_t second = first; second <= strlen(text); second++)
            check_cuts(&place, text, first, second, expected);
    place_finish(&place);
}

static void test_every_cut_between_characters(void **state) {
    (void)state;
    check_every_cut("h\xc3\xa9llo \xe2\x82\xac\n\n\xf0\x9f\x98\x80 end\nlast\xff",
                    "stderr h\xc3\xa9llo \xe2\x82\xac\nstderr \nstderr \xf0\x9f\x98\x80 end\n"
                    "stderr last\xef\xbf\xbd\n");
}

static void test_every_cut_of_cr_lf(void **state) {
    (void)state;
    check_every_cut("one\r\n\r\ntwo\r\n", "stderr one\nstderr \nstderr two\n");
}

static void test_every_cut_of_colours(void **state) {
    (void)state;
    check_every_cut("\x1b[1;31mred\x1b[0m\n", "stderr red\n");
}

/* A line just as long as a line may be is one line, whenever its newline comes. */
static void test_longest_line_in_pieces(void **state) {
    static char line[LOG_LINE_MAX + 1];
    static char expected[LOG_LINE_MAX + 16];
    struct place place;
    (void)state;
    memset(line, 'x', LOG_LINE_MAX);
    snprintf(expected, sizeof expected, "stdout %s\n", line);
    place_init(&place);
    output(&place, LOG_STDOUT, line);
    output(&place, LOG_STDOUT, "\n");
    log_server_end(&place.log);
    expect_heard(&place, expected);
    place_finish(&place);
}

/* ---- lines without an end ---- */

enum { ENDLESS = 300000 };

/* The text of what was heard, without streams and newlines; checks that no line is too long. */
static char *join_heard(const struct place *place, size_t longest) {
    char *joined = malloc(place->heard.length + 1), *to = joined;
    const char *at = place->heard.text;
    assert_non_null(joined);
    while (*at) {
        const char *line = at + strlen("stdout "), *end = strchr(at, '\n');
        size_t length = (size_t)(end - line);
        assert_true(length <= longest);
        memcpy(to, line, length);
        to += length;
        at = end + 1;
    }
    *to = 0;
    return joined;
}

/* D1: cut into lines, without cutting a character, and nothing of it is lost. */
static void check_endless(const char *unit, size_t piece) {
    struct place place;
    size_t size = ENDLESS / strlen(unit) * strlen(unit);
    char *text = malloc(size + 1), *joined;
    assert_non_null(text);
    for (size_t at = 0; at < size; at += strlen(unit))
        memcpy(text + at, unit, strlen(unit) + 1);
    place_init(&place);
    for (size_t at = 0; at < size; at += piece) {
        log_server_output(&place.log, LOG_STDOUT, text + at, size - at < piece ? size - at : piece);
        assert_true(place.log.pending[LOG_STDOUT].length < LOG_LINE_MAX);
    }
    assert_true(place.heard.count >= size / LOG_LINE_MAX);
    log_server_end(&place.log);
    joined = join_heard(&place, LOG_LINE_MAX);
    assert_string_equal(joined, text);
    free(joined);
    free(text);
    place_finish(&place);
}

static void test_endless_line_is_cut(void **state) {
    static const size_t pieces[] = {1, 1000, LOG_LINE_MAX, 65536, ENDLESS};
    (void)state;
    for (size_t i = 0; i < COUNT(pieces); i++) {
        check_endless("x", pieces[i]);
        check_endless("\xc3\xa9", pieces[i]);
        check_endless("\xe2\x82\xac", pieces[i]);
        check_endless("a\xf0\x9f\x98\x80", pieces[i]);
    }
}

/* What is no UTF-8 at all ends in lines as well: nothing waits for a rest that never comes. */
static void test_endless_rubbish_is_cut(void **state) {
    static const unsigned char bytes[] = {0x80, 0xf0, 0xff, 0x00, 0x1b};
    static char text[ENDLESS];
    (void)state;
    for (size_t i = 0; i < COUNT(bytes); i++) {
        struct place place;
        char *joined;
        memset(text, bytes[i], sizeof text);
        place_init(&place);
        log_server_output(&place.log, LOG_STDOUT, text, sizeof text);
        assert_true(place.heard.count >= sizeof text / LOG_LINE_MAX);
        joined = join_heard(&place, 4 * LOG_LINE_MAX);
        free(joined);
        place_finish(&place);
    }
}

/* ---- files ---- */

/* Reads "2026-01-31T12:34:56.789Z " and checks that it is now. */
static void expect_stamp(const char *line) {
    struct tm parts = {0};
    int milliseconds, read = 0;
    struct timespec now; /* time() may be a tick behind, and so before the stamp */
    time_t stamp;
    clock_gettime(CLOCK_REALTIME, &now);
    assert_int_equal(sscanf(line, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ %n", &parts.tm_year, &parts.tm_mon,
                            &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec,
                            &milliseconds, &read),
                     7);
    assert_int_equal(read, STAMP_LENGTH);
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    stamp = timegm(&parts);
    assert_true(stamp <= now.tv_sec && now.tv_sec - stamp < UNIT_SECONDS);
}

static void test_files(void **state) {
    struct place place;
    struct stat st;
    char path[256], *text;
    (void)state;
    place_init(&place);
    log_say(&place.log, "port %d: %s", 8000, "b\xc3\xa9\x1b[1mzt\r");
    output(&place, LOG_STDERR, "oh\n");
    output(&place, LOG_STDOUT, "wait");
    text = file_text(&place, "launcher.log");
    expect_stamp(text);
    assert_string_equal(text + STAMP_LENGTH, "launcher port 8000: b\xc3\xa9zt\\x0d\n");
    free(text);
    text = file_text(&place, "server.log");
    expect_stamp(text);
    assert_string_equal(text + STAMP_LENGTH, "stderr oh\n");
    free(text);
    file_path(&place, "server.log", path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_true(place.log.lost == 0);
    place_finish(&place);
}

/* What was there before stays, as long as there is room for it. */
static void test_a_file_goes_on(void **state) {
    struct place place;
    char *text;
    (void)state;
    place_init(&place);
    file_put(&place, "server.log", "before\n");
    output(&place, LOG_STDOUT, "after\n");
    text = file_text(&place, "server.log");
    assert_memory_equal(text, "before\n", 7);
    assert_string_equal(text + 7 + STAMP_LENGTH, "stdout after\n");
    free(text);
    place_finish(&place);
}

/* Words of ours that hold the last lines of a server stay lines. */
static void test_several_lines_of_our_own(void **state) {
    struct place place;
    (void)state;
    place_init(&place);
    log_say(&place.log, "it crashed; its last lines:\n%s", "one\n\ntwo");
    expect_heard(&place, "launcher it crashed; its last lines:\nlauncher one\nlauncher \n"
                         "launcher two\n");
    place_finish(&place);
}

static void test_long_words_of_our_own_are_cut(void **state) {
    static char words[5000];
    struct place place;
    (void)state;
    for (size_t i = 0; i + 3 < sizeof words; i += 3)
        memcpy(words + i, "\xe2\x82\xac", 4);
    place_init(&place);
    log_say(&place.log, "%s", words);
    log_say(&place.log, "x%s", words);
    log_say(&place.log, "xx%s", words);
    assert_true(place.heard.count == 3);
    assert_in_range(place.heard.length, 3 * 4000, 3 * 4200);
    json_t *text = json_string(place.heard.text);
    assert_non_null(text);
    json_decref(text);
    place_finish(&place);
}

/* ---- the last lines ---- */

static void expect_last(const struct place *place, const char *expected) {
    char out[2048];
    log_last_lines(&place->log, out, sizeof out);
    assert_string_equal(out, expected);
}

/* D7 */
static void test_last_lines(void **state) {
    struct place place;
    char text[32], expected[256] = "";
    (void)state;
    place_init(&place);
    expect_last(&place, "");
    output(&place, LOG_STDOUT, "one\n");
    output(&place, LOG_STDERR, "two\nrest");
    log_say(&place.log, "not the server's");
    expect_last(&place, "one\ntwo");
    for (int i = 0; i < 25; i++) {
        snprintf(text, sizeof text, "%s%d\n", i ? "" : "\n", i);
        output(&place, LOG_STDERR, text);
        if (i >= 25 - LOG_LAST_LINES)
            snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s%d",
                     expected[0] ? "\n" : "", i);
    }
    expect_last(&place, expected);
    log_server_begin(&place.log);
    expect_last(&place, "");
    output(&place, LOG_STDOUT, "new\n");
    expect_last(&place, "new");
    place_finish(&place);
}

/* D7: where there is no room for all, the newest stay, and they stay whole. */
static void test_newest_lines_stay(void **state) {
    static const struct {
        size_t size;
        const char *text;
    } rows[] = {{1, ""},
                {4, "thr"},
                {6, "three"},
                {9, "three"},
                {11, "two\nthree"},
                {13, "two\nthree"},
                {15, "one\ntwo\nthree"}};
    struct place place;
    char out[16];
    (void)state;
    place_init(&place);
    output(&place, LOG_STDERR, "one\ntwo\nthree\n");
    for (size_t i = 0; i < COUNT(rows); i++) {
        log_last_lines(&place.log, out, rows[i].size);
        assert_string_equal(out, rows[i].text);
    }
    place_finish(&place);
}

/* D7: they go into messages, which take nothing but UTF-8; so a cut spares characters. */
static void test_last_lines_are_cut_between_characters(void **state) {
    char out[64];
    struct place place;
    (void)state;
    place_init(&place);
    for (int i = 0; i < 5; i++)
        output(&place, LOG_STDERR, "\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa9\xe2\x82\xac\n");
    for (size_t size = 1; size <= sizeof out; size++) {
        log_last_lines(&place.log, out, size);
        assert_true(strlen(out) < size);
        json_t *text = json_string(out);
        if (!text)
            fail_msg("with room for %zu bytes it is no UTF-8", size);
        json_decref(text);
    }
    place_finish(&place);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_lines),
        UNIT_TEST(test_streams_do_not_mix),
        UNIT_TEST(test_every_cut_between_characters),
        UNIT_TEST(test_every_cut_of_cr_lf),
        UNIT_TEST(test_every_cut_of_colours),
        UNIT_TEST(test_longest_line_in_pieces),
        UNIT_TEST(test_endless_line_is_cut),
        UNIT_TEST(test_endless_rubbish_is_cut),
        UNIT_TEST(test_files),
        UNIT_TEST(test_a_file_goes_on),
        UNIT_TEST(test_several_lines_of_our_own),
        UNIT_TEST(test_long_words_of_our_own_are_cut),
        UNIT_TEST(test_last_lines),
        UNIT_TEST(test_newest_lines_stay),
        UNIT_TEST(test_last_lines_are_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
