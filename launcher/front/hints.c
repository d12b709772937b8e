#include "hints.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

enum { HINTS_MOST = 10000 };

struct hint {
    char *name;
    bool repeatable;
};

static struct hint *find(const struct hints *hints, const char *name) {
    for (size_t i = 0; i < hints->count; i++)
        if (strcmp(hints->items[i].name, name) == 0)
            return &hints->items[i];
    return NULL;
}

static struct hint *add(struct hints *hints, const char *name) {
    struct hint *hint;
    if (hints->count == hints->capacity) {
        size_t capacity = hints->capacity ? 2 * hints->capacity : 32;
        struct hint *items =
            capacity > HINTS_MOST ? NULL : realloc(hints->items, capacity * sizeof *items);
        if (!items)
            return NULL;
        hints->items = items;
        hints->capacity = capacity;
    }
    hint = &hints->items[hints->count];
    hint->name = malloc(strlen(name) + 1);
    if (!hint->name)
        return NULL;
    memcpy(hint->name, name, strlen(name) + 1);
    hints->count++;
    return hint;
}

static void learn_tool(struct hints *hints, const json_t *tool) {
    const char *name = json_string_value(json_object_get(tool, "name"));
    const json_t *says = json_object_get(tool, "annotations");
    struct hint *hint = name ? find(hints, name) : NULL;
    if (name && !hint)
        hint = add(hints, name);
    if (hint)
        hint->repeatable = json_is_true(json_object_get(says, "readOnlyHint")) ||
                           json_is_true(json_object_get(says, "idempotentHint"));
}

void hints_learn(struct hints *hints, const char *message, size_t length) {
    json_t *root = json_loadb(message, length, 0, NULL);
    const json_t *tools = json_object_get(json_object_get(root, "result"), "tools");
    for (size_t i = 0; i < json_array_size(tools); i++)
        learn_tool(hints, json_array_get(tools, i));
    json_decref(root);
}

bool hints_repeatable(const struct hints *hints, const char *name) {
    const struct hint *hint = find(hints, name);
    return hint && hint->repeatable;
}

void hints_finish(struct hints *hints) {
    for (size_t i = 0; i < hints->count; i++)
        free(hints->items[i].name);
    free(hints->items);
    *hints = (struct hints){0};
}
