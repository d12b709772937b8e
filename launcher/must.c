#include "must.h"

#include <stdio.h>
#include <stdlib.h>

void must_fail(const char *file, int line, const char *condition) {
    fprintf(stderr, "tether: %s:%d: must hold: %s\n", file, line, condition);
    abort();
}
