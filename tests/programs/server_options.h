/* What the test server is told, on every system the same. */
#ifndef TETHER_TESTS_SERVER_OPTIONS_H
#define TETHER_TESTS_SERVER_OPTIONS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2, EXIT_NO_SOCKETS = 97, EXIT_PORT_TAKEN = 98, SLOW_ACCEPT_MS = 300 };

/* All options may be combined; the digit is the number of values that follow. */
static const char known_options[] =
    " 1--stamp 1--owner-report 1--say 1--escape 1--escape-obedient 1--http 1--ws 1--ready-after-ms"
    " 0--never-ready 0--notify 0--listen-fds 1--exit 1--signal 1--after-ms 2--exit-times"
    " 0--ignore-term 1--term-delay-ms 0--exit-on-stdin-eof 0--ignore-stdin-eof 0--stop-self "
    "1--flood"
    " 1--endless 1--binary 0--stderr 1--fork-bomb 0--hold-socket-child 1--http-status "
    "0--slow-accept 1--kinds 1--foster 0--window 0--interrupts 1--console ";

static void fail(int code, const char *what, const char *where) {
    fprintf(stderr, "server: %s %s: %s\n", what, where, strerror(errno));
    exit(code);
}

/* Where the option stands among the arguments, or NULL. */
static char **find_option(char **options, const char *name) {
    for (; *options; options++)
        if (strcmp(*options, name) == 0)
            return options;
    return NULL;
}

static const char *text_of(char **options, const char *name) {
    char **option = find_option(options, name);
    return option ? option[1] : NULL;
}

static long number_of(const char *text, long otherwise) {
    char *end = NULL;
    long number = text ? strtol(text, &end, 10) : otherwise;
    if (text && (end == text || *end != '\0' || number < 0)) {
        errno = EINVAL;
        fail(EXIT_USAGE, "bad number", text);
    }
    return number;
}

static long number_option(char **options, const char *name) {
    return number_of(text_of(options, name), 0);
}

static void check_options(char **option) {
    for (int values = 0; *option; option += 1 + values) {
        char word[64];
        snprintf(word, sizeof word, "%s ", *option);
        const char *known = strncmp(word, "--", 2) == 0 ? strstr(known_options, word) : NULL;
        values = known ? known[-1] - '0' : 0;
        errno = EINVAL;
        if (!known || (values > 0 && (!option[1] || (values > 1 && !option[2]))))
            fail(EXIT_USAGE, known ? "missing value of" : "unknown option", *option);
    }
}

#endif
