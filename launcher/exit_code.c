#include "exit_code.h"

#include <stdio.h>

#include "readable.h"

enum { INDENT = 2 };

/* What is in it may come from others: a project's name, a program's last words. */
int exit_failing(int exit_code, const struct error *err) {
    struct buffer text = {0};
    readable_add_lines(&text, err->message, INDENT);
    fprintf(stderr, "tether: %s\n", text.data && !text.failed ? text.data : "out of memory");
    buffer_finish(&text);
    return exit_code;
}
