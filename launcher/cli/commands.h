/* The commands, each in a file of its own; each returns an exit code. */
#ifndef TETHER_CLI_COMMANDS_H
#define TETHER_CLI_COMMANDS_H

#include <jansson.h>

#include "options/options.h"

struct cli_command {
    const char *name;
    const char *summary; /* NULL: not for people */
    const char *usage;   /* behind the name */
    const char *story;   /* what `tether help NAME` adds, or "" */
    unsigned scopes;
    int (*run)(const struct options *options);
    int (*run_words)(char **words); /* for those that do not begin with options */
};

extern const struct cli_command commands[];
extern const size_t command_count;

int command_help(char **words);
int command_version(char **words);
int command_run(const struct options *options);
int command_launch(const struct options *options);
int command_daemon(const struct options *options);
int command_status(const struct options *options);
int command_stop(const struct options *options);
int command_restart(const struct options *options);
int command_logs(const struct options *options);
int command_doctor(const struct options *options);
int command_sweep(const struct options *options);
int command_clients(char **words);

/* Prints it as one line of JSON. */
void command_print_json(const json_t *value);

/* The exit code for an error of client_init. */
int command_client_code(int rc);

#endif
