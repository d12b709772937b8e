#include "exit_code.h"

#include <stdio.h>

#include "readable.h"

enum { INDENT = 2 };

void exit_tell(const char *who, const char *what) {
    struct buffer text = {0};
    readable_add_lines(&text, what, INDENT);
    fprintf(stderr, "%s: %s\n", who, text.data && !text.failed ? text.data : "out of memory");
    buffer_finish(&text);
}

int exit_failing(int exit_code, const struct error *err) {
    exit_tell("tether", err->message);
    return exit_code;
}
