#include "exit_code.h"

#include <stdio.h>

int exit_failing(int exit_code, const struct error *err) {
    fprintf(stderr, "tether: %s\n", err->message);
    return exit_code;
}
