#include "cli.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>
#include <llhttp.h>
#include <uv.h>

#include "protocol/version.h"

struct command {
    const char *name;
    const char *summary;
    const char *help; /* what `tether help NAME` adds to the summary */
    int (*run)(int argc, char **argv);
};

static int run_help(int argc, char **argv);
static int run_version(int argc, char **argv);

static const struct command commands[] = {
    {"help", "explain a command, or list them all", "usage: tether help [COMMAND]\n", run_help},
    {"version", "print the version of tether, its protocol and its libraries",
     "usage: tether version [--json]\n\n"
     "  --json   one line of JSON, for programs\n",
     run_version},
};

static const struct command *find_command(const char *name) {
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static void print_overview(FILE *out) {
    fprintf(out,
            "tether %s: ties a companion server's life to the Godot editors that use it\n\n"
            "usage: tether COMMAND [ARGUMENTS]\n\n",
            TETHER_VERSION);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fprintf(out, "\n`tether help COMMAND` tells more about one of them.\n");
}

static int unknown_command(const char *name) {
    fprintf(stderr, "tether: there is no command '%s'; `tether help` lists them\n", name);
    return EXIT_USAGE;
}

static int run_help(int argc, char **argv) {
    const struct command *command;
    if (argc == 0) {
        print_overview(stdout);
        return EXIT_FINE;
    }
    command = find_command(argv[0]);
    if (!command)
        return unknown_command(argv[0]);
    printf("tether %s: %s\n\n%s", command->name, command->summary, command->help);
    return EXIT_FINE;
}

static void print_version(bool as_json) {
    if (as_json)
        printf("{\"version\":\"%s\",\"protocol\":%d,\"libuv\":\"%s\",\"jansson\":\"%s\","
               "\"llhttp\":\"%d.%d\"}\n",
               TETHER_VERSION, TETHER_PROTOCOL, uv_version_string(), jansson_version_str(),
               LLHTTP_VERSION_MAJOR, LLHTTP_VERSION_MINOR);
    else
        printf("tether %s (protocol %d; libuv %s, jansson %s, llhttp %d.%d)\n", TETHER_VERSION,
               TETHER_PROTOCOL, uv_version_string(), jansson_version_str(), LLHTTP_VERSION_MAJOR,
               LLHTTP_VERSION_MINOR);
}

static int run_version(int argc, char **argv) {
    bool as_json = argc == 1 && strcmp(argv[0], "--json") == 0;
    if (argc > 0 && !as_json) {
        fprintf(stderr, "tether version: unknown argument '%s'; it takes only --json\n", argv[0]);
        return EXIT_USAGE;
    }
    print_version(as_json);
    return EXIT_FINE;
}

static bool is_help_flag(const char *text) {
    return strcmp(text, "-h") == 0 || strcmp(text, "--help") == 0;
}

int cli_main(int argc, char **argv) {
    const struct command *command;
    if (argc < 2) {
        print_overview(stderr);
        return EXIT_USAGE;
    }
    if (is_help_flag(argv[1]))
        return run_help(0, NULL);
    command = find_command(strcmp(argv[1], "--version") == 0 ? "version" : argv[1]);
    if (!command)
        return unknown_command(argv[1]);
    if (argc > 2 && is_help_flag(argv[2]))
        return run_help(1, argv + 1);
    return command->run(argc - 2, argv + 2);
}
