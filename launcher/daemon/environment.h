/* What the server gets to know: its environment and its command line.
 *
 * The environment is the launcher's own, then ours; later entries win. It is a block of its own:
 * nobody's environment is changed to make it. */
#ifndef TETHER_DAEMON_ENVIRONMENT_H
#define TETHER_DAEMON_ENVIRONMENT_H

#include "options/options.h"
#include "os/os.h"
#include "text_list.h"

/* What changes from start to start. */
struct server_start {
    const struct options *options;
    struct os_identity daemon;
    struct os_identity owner; /* whoever owns the server now; pid 0: nobody */
    const char *ready_place;  /* where to say that it is ready; NULL: nowhere */
    const char *mark;         /* tells what this daemon started from copies; NULL: none */
    const char *token;        /* with which editors reach the server; NULL: none */
};

/* Makes of what is inherited the environment of a server. */
void environment_build(struct text_list *list, const struct server_start *start);

/* The options' command with {http_port}, {ws_port}, {owner_pid} and {instance} replaced; words in
 * other braces stay as they are. */
void command_build(struct text_list *list, const struct server_start *start);

#endif
