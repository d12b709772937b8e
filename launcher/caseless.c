#include "caseless.h"

#include <stdint.h>

static char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

bool caseless_equal_n(const char *a, const char *b, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (lower(a[i]) != lower(b[i]))
            return false;
        if (a[i] == 0)
            return true;
    }
    return true;
}

bool caseless_equal(const char *a, const char *b) {
    return caseless_equal_n(a, b, SIZE_MAX);
}
