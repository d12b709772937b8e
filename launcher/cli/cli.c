#include "cli.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <llhttp.h>
#include <uv.h>

#include "commands.h"
#include "exit_code.h"
#include "memory.h"
#include "nearest.h"
#include "os/os.h"
#include "os/os_spawn.h"
#include "protocol/version.h"
#include "readable.h"
#include "text_list.h"

static const struct cli_command *find_command(const char *name) {
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static void print_overview(FILE *out) {
    fprintf(out,
            "tether %s: ties a companion server's life to the Godot editors that use it\n\n"
            "usage: tether COMMAND [ARGUMENTS]\n\n",
            tether_version);
    for (size_t i = 0; i < command_count; i++)
        if (commands[i].summary)
            fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fprintf(out, "\n`tether help COMMAND` tells more about one of them.\n");
}

static void print_command(const struct cli_command *command, FILE *out) {
    fprintf(out, "tether %s: %s\n\nusage: tether %s %s\n", command->name,
            command->summary ? command->summary : "started by `tether launch`", command->name,
            command->usage);
    if (command->story[0])
        fprintf(out, "\n%s", command->story);
    if (command->scopes) {
        fputc('\n', out);
        options_explain(command->scopes, out);
    }
}

static int unknown_command(const char *name) {
    char shown[128];
    struct nearest nearest = {.typed = name, .length = strlen(name)};
    for (size_t i = 0; i < command_count; i++)
        if (commands[i].summary)
            nearest_offer(&nearest, commands[i].name);
    readable_cut(name, strlen(name), shown, sizeof shown);
    fprintf(stderr, "tether: there is no command '%s'; ", shown);
    if (nearest.word)
        fprintf(stderr, "is '%s' meant? ", nearest.word);
    fprintf(stderr, "`tether help` lists them\n");
    return EXIT_USAGE;
}

int command_help(char **words) {
    const struct cli_command *command;
    if (!words[0]) {
        print_overview(stdout);
        return EXIT_FINE;
    }
    command = find_command(words[0]);
    if (!command)
        return unknown_command(words[0]);
    print_command(command, stdout);
    return EXIT_FINE;
}

static void print_version(bool as_json) {
    if (as_json)
        printf("{\"version\":\"%s\",\"protocol\":%d,\"libuv\":\"%s\",\"jansson\":\"%s\","
               "\"llhttp\":\"%d.%d\"}\n",
               tether_version, TETHER_PROTOCOL, uv_version_string(), jansson_version_str(),
               LLHTTP_VERSION_MAJOR, LLHTTP_VERSION_MINOR);
    else
        printf("tether %s (protocol %d; libuv %s, jansson %s, llhttp %d.%d)\n", tether_version,
               TETHER_PROTOCOL, uv_version_string(), jansson_version_str(), LLHTTP_VERSION_MAJOR,
               LLHTTP_VERSION_MINOR);
}

int command_version(char **words) {
    bool as_json = words[0] && !words[1] && strcmp(words[0], "--json") == 0;
    if (words[0] && !as_json) {
        struct error err;
        error_set(&err, UV_EINVAL, "unknown argument '%.64s'; it takes only --json", words[0]);
        exit_tell("tether version", err.message);
        return EXIT_USAGE;
    }
    print_version(as_json);
    return EXIT_FINE;
}

static bool is_help_flag(const char *text) {
    return text && (strcmp(text, "-h") == 0 || strcmp(text, "--help") == 0);
}

void command_print_json(const json_t *value) {
    char *line = json_dumps(value, JSON_COMPACT);
    if (line)
        puts(line);
    free(line);
}

static void print_result(int code, const char *message) {
    json_t *result =
        json_pack("{s:s, s:i, s:s}", "result", "failed", "code", code, "message", message);
    command_print_json(result);
    json_decref(result);
}

static int usage_error(const struct cli_command *command, const char *message) {
    char who[32];
    snprintf(who, sizeof who, "tether %s", command->name);
    exit_tell(who, message);
    fprintf(stderr, "See `tether help %s`.\n", command->name);
    if (strcmp(command->name, "launch") == 0) /* whoever reads its one line gets the reason, too */
        print_result(EXIT_USAGE, message);
    return EXIT_USAGE;
}

/* Our own server, as a command: the one that is started when none is named, or that serves one
 * which speaks over standard input and output. */
struct own_server {
    char path[OS_PATH_MAX];
    struct text_list words;
};

static int name_own_server(struct options *options, struct own_server *own, struct error *err) {
    int rc = os_own_program(own->path, sizeof own->path);
    if (rc < 0)
        return error_set(err, rc, "cannot find this program's own file: %s", uv_strerror(rc));
    if (options->ready == READY_PORTS)
        return error_set(err, UV_EINVAL,
                         "--ready ports tells nothing of the built-in server, for which the daemon "
                         "listens; leave it out, or use --ready notify");
    text_list_add(&own->words, own->path);
    text_list_add(&own->words, "serve");
    return 0;
}

/* It always runs on sockets that the daemon holds, so that a restart refuses nobody. */
static void take_own_server(struct options *options, const struct own_server *own) {
    options->command = own->words.items;
    options->hold_ports = true;
}

static int take_builtin(struct options *options, struct own_server *own, char **words,
                        struct error *err) {
    int rc;
    while (*words && words[1])
        words++;
    if (options->stdio || (*words && strcmp(*words, "--") == 0))
        return error_set(err, UV_EINVAL,
                         "which server? Give its command behind \"--\", or leave %s out for the "
                         "built-in one",
                         options->stdio ? "--stdio" : "\"--\"");
    rc = name_own_server(options, own, err);
    if (rc < 0)
        return rc;
    take_own_server(options, own);
    options->builtin = true;
    return 0;
}

static void add_number(struct own_server *own, const char *flag, int64_t number) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    text_list_add(&own->words, flag);
    text_list_add(&own->words, text);
}

static int take_stdio(struct options *options, struct own_server *own, struct error *err) {
    int rc = name_own_server(options, own, err);
    if (rc < 0)
        return rc;
    text_list_add(&own->words, "--stdio");
    if (options->per_client) {
        text_list_add(&own->words, "--per-client");
        add_number(own, "--clients", options->clients_most);
    }
    if (options->config.restart == LIFECYCLE_RESTART_NEVER) {
        text_list_add(&own->words, "--restart");
        text_list_add(&own->words, "never");
    }
    add_number(own, "--ready-timeout-ms", options->config.ready_timeout_ms);
    add_number(own, "--stop-grace-ms", options->config.stop_grace_ms);
    text_list_add(&own->words, "--");
    for (char **word = options->command; *word; word++)
        text_list_add(&own->words, *word);
    take_own_server(options, own);
    return 0;
}

/* What the words leave open: which server. */
static int complete(struct options *options, struct own_server *own, char **words,
                    struct error *err) {
    if (options->per_client && !options->stdio)
        return error_set(err, UV_EINVAL, "--per-client goes with --stdio");
    if (options->log_file && (!options->command || options->stdio || options->http))
        return error_set(err, UV_EINVAL,
                         "--log goes with a command that is only watched; `tether logs` has what "
                         "the others write");
    if (!options->command)
        return take_builtin(options, own, words, err);
    return options->stdio ? take_stdio(options, own, err) : 0;
}

static int run_command(const struct cli_command *command, char **words) {
    struct options options;
    struct own_server own = {.words = {0}};
    struct error err = {0};
    int code, rc = 0;
    if (command->run_words)
        return command->run_words(words);
    if (options_parse(&options, command->scopes, words, stderr, &err) < 0)
        return usage_error(command, err.message);
    if (command->scopes & SCOPE_START)
        rc = complete(&options, &own, words, &err);
    else if ((command->scopes & SCOPE_STDIO) && options.stdio != (options.command != NULL))
        rc = error_set(&err, UV_EINVAL,
                       "--stdio and a command behind \"--\" go together; without both the "
                       "built-in server is served");
    if (rc < 0)
        code = usage_error(command, err.message);
    else
        code = command->run(&options);
    text_list_finish(&own.words);
    return code;
}

/* What a command has printed may be written only now. A reader that has gone has had enough. */
static int finish_output(int code) {
    int error = fflush(stdout) != 0 ? errno : 0;
    if ((error == 0 && !ferror(stdout)) || os_reader_gone(1))
        return code;
    fprintf(stderr, "tether: cannot write to standard output%s%s\n", error ? ": " : "",
            error ? strerror(error) : "");
    return code == EXIT_FINE ? EXIT_FAILED : code;
}

static int run_words(int argc, char **argv) {
    const struct cli_command *command;
    if (argc < 2) {
        print_overview(stderr);
        return EXIT_USAGE;
    }
    if (is_help_flag(argv[1]))
        return command_help(argv + argc);
    command = find_command(strcmp(argv[1], "--version") == 0 ? "version" : argv[1]);
    if (!command)
        return unknown_command(argv[1]);
    if (is_help_flag(argv[2]))
        return command_help(argv + 1);
    return run_command(command, argv + 2);
}

int cli_main(int argc, char **argv) {
    os_stdio_ensure();
    os_console_speak_utf8();
    os_ignore_broken_pipes();
    memory_require(memory_say, NULL);
    return finish_output(run_words(argc, argv));
}
