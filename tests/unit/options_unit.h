/* Reading options with variables and words of a test's own, and what is warned of. */
#ifndef TETHER_TESTS_OPTIONS_UNIT_H
#define TETHER_TESTS_OPTIONS_UNIT_H

#include "options/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* What the commands take: see cli/commands.c. */
#define STARTS (SCOPE_INSTANCE | SCOPE_START)

extern char **environ;

/* ---- reading ---- */

struct run {
    struct options options;
    struct error err;
    int rc;
    char warnings[4096];
    char *words[24];
};

/* Sets the variables of a text like "TETHER_A=1 TETHER_B=", and no others of ours. */
static inline void set_variables(const char *text) {
    char copy[512];
    for (size_t i = 0; environ[i];) {
        snprintf(copy, sizeof copy, "%s", environ[i]);
        copy[strcspn(copy, "=")] = 0;
        if (strncmp(copy, "TETHER_", 7) == 0)
            unsetenv(copy);
        else
            i++;
    }
    while (*text) {
        size_t length = strcspn(text, " ");
        snprintf(copy, sizeof copy, "%.*s", (int)length, text);
        char *value = strchr(copy, '=');
        assert_non_null(value);
        *value++ = 0;
        for (char *c = value; *c; c++) /* a space in a value is written as ~ */
            *c = *c == '~' ? ' ' : *c;
        setenv(copy, value, 1);
        text += length + (text[length] == ' ');
    }
}

static inline void read_back(FILE *file, char *out, size_t size) {
    rewind(file);
    out[fread(out, 1, size - 1, file)] = 0;
    fclose(file);
}

/* Parses with these variables, which stay until the next time, because options refer to them, and
 * with these words, NULL-terminated. */
static inline void parse_words(struct run *run, unsigned scopes, const char *variables,
                               char **words) {
    FILE *warnings = tmpfile();
    assert_non_null(warnings);
    set_variables(variables);
    run->err = (struct error){0};
    run->rc = options_parse(&run->options, scopes, words, warnings, &run->err);
    read_back(warnings, run->warnings, sizeof run->warnings);
    assert_int_equal(run->rc, run->rc < 0 ? -EINVAL : 0);
    assert_int_equal(run->rc < 0, run->err.message[0] != 0);
}

/* The same with words in one text, cut at spaces; `text` lives as long as the run. */
static inline void parse(struct run *run, unsigned scopes, const char *variables, char *text) {
    size_t count = 0;
    for (char *at = text; *at; count++) {
        assert_true(count + 1 < COUNT(run->words));
        run->words[count] = at;
        at += strcspn(at, " ");
        if (*at)
            *at++ = 0;
    }
    run->words[count] = NULL;
    parse_words(run, scopes, variables, run->words);
}

#define PARSE(run, scopes, variables, words)                                                       \
    char text_of_words[512];                                                                       \
    snprintf(text_of_words, sizeof text_of_words, "%s", words);                                    \
    parse(run, scopes, variables, text_of_words)

static inline size_t count_lines(const char *text) {
    size_t count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* Exactly one warning, which says all of these; or none, if the first is NULL. */
static inline void expect_warning(const struct run *run, const char *where, const char *value) {
    size_t expected = where ? 1 : 0;
    if (run->rc != 0)
        fail_msg("%s", run->err.message);
    if (count_lines(run->warnings) != expected ||
        (where && (strncmp(run->warnings, "tether: warning: ", 17) != 0 ||
                   !strstr(run->warnings, where) || !strstr(run->warnings, value))))
        fail_msg("%s: '%s': warned of '%s'", where ? where : "nothing", value, run->warnings);
}

#endif
