/* What the server gets to know: its environment and its command line.
 *
 * The environment is the launcher's own, then ours; later entries win. It is a block of its own:
 * nobody's environment is changed to make it. */
#ifndef TETHER_DAEMON_ENVIRONMENT_H
#define TETHER_DAEMON_ENVIRONMENT_H

#include "../cli/options.h"
#include "../os/os.h"

/* A NULL-terminated list of owned texts. Zeroed memory is an empty one. */
struct text_list {
    char **items;
    size_t count, capacity;
    bool failed; /* memory ran out; the list is what came before */
};

void text_list_add(struct text_list *list, const char *text);
void text_list_finish(struct text_list *list);

/* Sets NAME=value in an environment: replaces an entry of that name, or adds one. NULL removes. */
void environment_set(struct text_list *list, const char *name, const char *value);

/* What changes from start to start. */
struct server_start {
    const struct options *options;
    struct os_identity daemon;
    struct lifecycle_process owner; /* whoever owns the server now; pid 0: nobody */
    const char *notify_path;        /* NULL: none */
    const char *token;              /* with which editors reach the server; NULL: none */
};

/* Fills an empty list from `inherited` (NULL-terminated NAME=value texts) and the start. */
void environment_build(struct text_list *list, char *const *inherited,
                       const struct server_start *start);

/* The options' command with {http_port}, {ws_port}, {owner_pid} and {instance} replaced; words in
 * other braces stay as they are. */
void command_build(struct text_list *list, const struct server_start *start);

#endif
