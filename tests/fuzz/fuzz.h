/* What a fuzz target is: one function that takes any bytes and aborts if a property does not hold.
 *
 * With libFuzzer (clang -fsanitize=fuzzer) the library calls it; otherwise driver.c does, as an
 * ordinary program. */
#ifndef TETHER_TESTS_FUZZ_H
#define TETHER_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Pieces of which the driver makes inputs, besides single bytes. NULL-terminated. */
extern const char *const fuzz_words[];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property. Printed without its input: libFuzzer writes that to a file, and the driver tells how
 * to get it. */
#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
