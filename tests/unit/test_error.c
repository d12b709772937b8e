#include "error.h"

#include <errno.h>
#include <string.h>

#include "unit.h"

static void test_text_and_code_are_kept(void **state) {
    struct error err = {0};
    (void)state;
    assert_int_equal(error_set(&err, -EACCES, "%s: mode %o", "dir", 0755u), -EACCES);
    assert_int_equal(err.code, -EACCES);
    assert_string_equal(err.message, "dir: mode 755");
}

static void test_long_text_is_cut(void **state) {
    struct error err = {0};
    char text[2 * sizeof err.message];
    (void)state;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    error_set(&err, -1, "%s", text);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
}

static void test_errno_survives_and_no_taker_is_fine(void **state) {
    (void)state;
    errno = ENOENT;
    assert_int_equal(error_set(NULL, -5, "nobody reads this"), -5);
    assert_int_equal(errno, ENOENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_text_and_code_are_kept),
        UNIT_TEST(test_long_text_is_cut),
        UNIT_TEST(test_errno_survives_and_no_taker_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
