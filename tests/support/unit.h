/* What unit tests share: each test is checked for open files and child processes left behind. */
#ifndef TETHER_TESTS_UNIT_H
#define TETHER_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* One entry of a cmocka test table, with the checks around it. */
#define UNIT_TEST(test) cmocka_unit_test_setup_teardown(test, unit_begin, unit_end)

int unit_begin(void **state);
int unit_end(void **state);

#endif
