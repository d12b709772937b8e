#include "environment.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "os/os_loop.h"

/* ---- the environment ---- */

static void set_number(struct text_list *list, const char *name, uint64_t number) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    environment_set(list, name, text);
}

/* The one place where a server learns its owner, whatever starts it: first start, restart, or the
 * start after another owner took over. Without an owner all of it is removed, so that a server
 * never inherits the owner of something else. */
static void set_owner(struct text_list *list, const struct server_start *start) {
    const struct options *options = start->options;
    char pid[24], token[24];
    bool known = start->owner.pid != 0;
    snprintf(pid, sizeof pid, "%" PRId64, start->owner.pid);
    snprintf(token, sizeof token, "%" PRIu64, start->owner.start);
    environment_set(list, "TETHER_OWNER_PID", known ? pid : NULL);
    environment_set(list, "TETHER_OWNER_START", known && start->owner.start ? token : NULL);
    for (size_t i = 0; i < options->alias_count; i++)
        environment_set(list, options->aliases[i], known ? pid : NULL);
}

void environment_build(struct text_list *list, const struct server_start *start) {
    char instance[OPTIONS_INSTANCE_MAX], daemon[48];
    options_instance(start->options, instance);
    snprintf(daemon, sizeof daemon, "%" PRId64 ":%" PRIu64, start->daemon.pid, start->daemon.start);
    set_owner(list, start);
    environment_set(list, "TETHER_INSTANCE", instance);
    environment_set(list, "TETHER_DAEMON", daemon);
    environment_set(list, "TETHER_MARK", start->mark);
    set_number(list, "TETHER_HTTP_PORT", start->options->http_port);
    set_number(list, "TETHER_WS_PORT", start->options->ws_port);
    environment_set(list, "TETHER_WS_TOKEN", start->token);
    environment_set(list, os_ready_variable, start->ready_place);
    /* A service manager's watchdog is for us, not for the server. */
    environment_set(list, "WATCHDOG_USEC", NULL);
    environment_set(list, "WATCHDOG_PID", NULL);
}

/* ---- the command ---- */

struct replacement {
    const char *name; /* with its braces */
    char value[24];
};

enum { REPLACEMENTS = 4 };

/* NULL without memory. */
static char *replace_all(const char *word, const struct replacement *table) {
    struct buffer out = {0};
    buffer_add_literal(&out, ""); /* the word may be empty */
    while (*word) {
        const struct replacement *found = NULL;
        for (int i = 0; i < REPLACEMENTS && *word == '{'; i++)
            if (strncmp(word, table[i].name, strlen(table[i].name)) == 0)
                found = &table[i];
        if (found)
            buffer_add_text(&out, found->value);
        else
            buffer_add_char(&out, *word);
        word += found ? strlen(found->name) : 1;
    }
    if (!out.failed)
        return out.data;
    buffer_finish(&out);
    return NULL;
}

void command_build(struct text_list *list, const struct server_start *start) {
    struct replacement table[REPLACEMENTS] = {
        {"{http_port}", ""}, {"{ws_port}", ""}, {"{owner_pid}", ""}, {"{instance}", ""}};
    snprintf(table[0].value, sizeof table[0].value, "%u", (unsigned)start->options->http_port);
    snprintf(table[1].value, sizeof table[1].value, "%u", (unsigned)start->options->ws_port);
    if (start->owner.pid)
        snprintf(table[2].value, sizeof table[2].value, "%" PRId64, start->owner.pid);
    options_instance(start->options, table[3].value);
    for (char **word = start->options->command; word && *word; word++)
        text_list_take(list, replace_all(*word, table));
}
