/* Any words and any variables: either an error that says why, or options that make sense, which
 * survive being told to a daemon.
 *
 * The input is texts that end with a newline each. Those that begin with "TETHER_" and have a '=',
 * before the first that does not, are variables; the rest are words. */
#include "daemon/environment.h"
#include "fuzz.h"
#include "options/options.h"

#include <errno.h>
#include <string.h>

enum { STARTS = SCOPE_INSTANCE | SCOPE_START, TEXTS_MAX = 64 };

const char *const fuzz_words[] = {"TETHER_OWNER_PID=",
                                  "TETHER_OWNER_START=",
                                  "TETHER_GRACE_MS=",
                                  "TETHER_READY=",
                                  "TETHER_READY=http:/",
                                  "TETHER_HTTP_PORT=",
                                  "TETHER_WS_PORT=",
                                  "TETHER_HOLD_PORTS=",
                                  "TETHER_OWNER_ENV=",
                                  "TETHER_RESTART=",
                                  "TETHER_PORTS=",
                                  "TETHER_IDLE_LIMIT_MS=",
                                  "--owner-pid",
                                  "--owner-start",
                                  "--owner-env",
                                  "--grace-ms",
                                  "--ready",
                                  "--http-port",
                                  "--ws-port",
                                  "--hold-ports",
                                  "--restart",
                                  "--parent-watchdog",
                                  "--ports",
                                  "--poll-ms",
                                  "--",
                                  "http:/",
                                  "notify",
                                  "none",
                                  "never",
                                  "auto",
                                  "=",
                                  "\n",
                                  "\n",
                                  "\n",
                                  "\n",
                                  "0",
                                  "1",
                                  "4711",
                                  "65535",
                                  "86400000",
                                  "18446744073709551615",
                                  "{http_port}",
                                  "A_1",
                                  " ",
                                  NULL};

extern char **environ;

struct input {
    char *copy;
    char *variables[TEXTS_MAX + 1], *words[TEXTS_MAX + 1];
};

static void input_init(struct input *input, const uint8_t *data, size_t size) {
    size_t variables = 0, words = 0;
    char *at, *end;
    *input = (struct input){.copy = malloc(size + 1)};
    FUZZ_CHECK(input->copy);
    memcpy(input->copy, data, size);
    input->copy[size] = 0;
    for (at = input->copy; at < input->copy + size; at = end + 1) {
        end = memchr(at, '\n', (size_t)(input->copy + size - at));
        end = end ? end : input->copy + size;
        *end = 0;
        if (words == 0 && strncmp(at, "TETHER_", 7) == 0 && strchr(at, '=')) {
            if (variables < TEXTS_MAX)
                input->variables[variables++] = at;
        } else if (words < TEXTS_MAX) {
            input->words[words++] = at;
        }
    }
}

/* Parses with just these variables. The warnings are for the caller to free. */
static int parse(struct options *options, unsigned scopes, char **variables, char **words,
                 char **warnings) {
    struct error err = {0};
    char **before = environ;
    size_t length;
    FILE *file = open_memstream(warnings, &length);
    int rc;
    FUZZ_CHECK(file);
    environ = variables;
    rc = options_parse(options, scopes, words, file, &err);
    environ = before;
    fclose(file);
    FUZZ_CHECK(rc == 0 || rc == -EINVAL);
    FUZZ_CHECK((rc < 0) == (err.message[0] != 0));
    return rc;
}

static void check_warnings(const char *warnings) {
    static const char start[] = "tether: warning: ";
    while (*warnings) {
        const char *end = strchr(warnings, '\n');
        FUZZ_CHECK(end && strncmp(warnings, start, sizeof start - 1) == 0);
        warnings = end + 1;
    }
}

static void check_values(const struct options *options) {
    FUZZ_CHECK(options->http_port != 0 && options->http_port != options->ws_port);
    FUZZ_CHECK(options->owner.pid != 1 && options->owner.pid <= INT32_MAX);
    FUZZ_CHECK(options->owner.pid != 0 || options->owner.start == 0);
    FUZZ_CHECK(options->alias_count <= OPTIONS_MAX_ALIASES);
    for (size_t i = 0; i < options->alias_count; i++) {
        FUZZ_CHECK(options->aliases[i][0] && !strchr(options->aliases[i], '='));
        FUZZ_CHECK(strcspn(options->aliases[i], " \t\r{}-.") == strlen(options->aliases[i]));
    }
    FUZZ_CHECK(options->ready <= READY_NONE);
    if (options->ready == READY_HTTP)
        FUZZ_CHECK(options->ready_path[0] == '/' && !strpbrk(options->ready_path, " \t\r\n"));
    FUZZ_CHECK(!options->hold_ports || options_ready(options) != READY_PORTS);
    FUZZ_CHECK(!options->command || options->command[0]);
    for (size_t i = 0; i < lifecycle_knob_count; i++) {
        uint32_t value;
        memcpy(&value, (const char *)&options->config + lifecycle_knobs[i].offset, sizeof value);
        FUZZ_CHECK(value >= lifecycle_knobs[i].least && value <= lifecycle_knobs[i].most);
    }
}

static void check_same(const struct options *a, const struct options *b) {
    FUZZ_CHECK(memcmp(&a->config, &b->config, sizeof a->config) == 0);
    FUZZ_CHECK(a->ports_auto == b->ports_auto && a->builtin == b->builtin);
    FUZZ_CHECK(a->owner.pid == 0 || a->owner_is_front == b->owner_is_front);
    FUZZ_CHECK(a->http_port == b->http_port && a->ws_port == b->ws_port);
    FUZZ_CHECK(a->hold_ports == b->hold_ports && options_ready(a) == options_ready(b));
    FUZZ_CHECK(a->owner.pid == b->owner.pid && a->owner.start == b->owner.start);
    FUZZ_CHECK(a->alias_count == b->alias_count);
    FUZZ_CHECK((a->command == NULL) == (b->command == NULL));
}

/* The daemon has other variables, and takes none of them. */
static void check_telling(const struct options *options, char **variables) {
    struct text_list words = {0}, again = {0};
    struct options told;
    char *warnings;
    options_emit(options, &words);
    FUZZ_CHECK(!words.failed);
    FUZZ_CHECK(parse(&told, STARTS | SCOPE_DAEMON, variables, words.items, &warnings) == 0);
    FUZZ_CHECK(warnings[0] == 0);
    check_same(options, &told);
    options_emit(&told, &again);
    FUZZ_CHECK(again.count == words.count);
    for (size_t i = 0; i < words.count; i++)
        FUZZ_CHECK(strcmp(words.items[i], again.items[i]) == 0);
    text_list_finish(&words);
    text_list_finish(&again);
    free(warnings);
}

/* What the options make of a command and of an environment. */
static void check_start(const struct options *options, char **inherited) {
    struct server_start start = {.options = options, .daemon = {5, 6}, .owner = options->owner};
    struct text_list command = {0}, environment = {0};
    size_t words = 0;
    while (options->command && options->command[words])
        words++;
    command_build(&command, &start);
    for (; *inherited; inherited++)
        text_list_add(&environment, *inherited);
    environment_build(&environment, &start);
    FUZZ_CHECK(!command.failed && command.count == words);
    FUZZ_CHECK(!environment.failed && environment.count > 0);
    for (size_t i = 0; i < environment.count; i++)
        if (strncmp(environment.items[i], "TETHER_OWNER_PID=", 17) == 0)
            FUZZ_CHECK(strtoll(environment.items[i] + 17, NULL, 10) == options->owner.pid &&
                       options->owner.pid != 0);
    text_list_finish(&command);
    text_list_finish(&environment);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input;
    struct options options;
    char *warnings;
    input_init(&input, data, size);
    if (parse(&options, STARTS, input.variables, input.words, &warnings) == 0) {
        check_values(&options);
        check_telling(&options, input.variables);
        check_start(&options, input.variables);
    }
    check_warnings(warnings);
    free(warnings);
    free(input.copy);
    return 0;
}
