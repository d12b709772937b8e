/* A growing, NULL-terminated list of texts, as argv and environments are; and setting a variable in
 * such an environment. */
#ifndef TETHER_TEXT_LIST_H
#define TETHER_TEXT_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* Owns its texts, which are kept in few large pieces: an environment that is made for each start of
 * a server must not cut the memory up. Zeroed memory is an empty one. */
struct text_list {
    char **items; /* NULL while nothing was added */
    size_t count, capacity;
    struct text_block *blocks;
    bool failed; /* memory ran out; the list is what came before */
};

/* Adds a copy of the text. */
void text_list_add(struct text_list *list, const char *text);

/* The same, and frees the text, which came from malloc; NULL means that there was no memory for it.
 */
void text_list_take(struct text_list *list, char *text);

void text_list_finish(struct text_list *list);

/* Sets NAME=value in an environment: replaces an entry of that name, or adds one. NULL removes. */
void environment_set(struct text_list *list, const char *name, const char *value);

#endif
