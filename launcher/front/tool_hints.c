#include "tool_hints.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "request_head.h"

enum { HINTS_MOST = 10000, SCHEMA_DEPTH_MOST = 16 };

struct hint {
    char *name;
    bool repeatable;
    json_t *schema; /* of its arguments, if some of them are to be repeated; else NULL */
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
    hint->schema = NULL;
    hints->count++;
    return hint;
}

static bool has_headers(const json_t *schema, int depth) {
    json_t *properties = json_object_get(schema, "properties");
    const char *key;
    json_t *property;
    json_object_foreach(properties, key, property) {
        if (json_is_string(json_object_get(property, "x-mcp-header")))
            return true;
        if (depth > 0 && has_headers(property, depth - 1))
            return true;
    }
    return false;
}

static void keep_schema(struct hint *hint, json_t *schema) {
    json_decref(hint->schema);
    hint->schema = has_headers(schema, SCHEMA_DEPTH_MOST) ? json_incref(schema) : NULL;
}

static void learn_tool(struct hints *hints, const json_t *tool) {
    const char *name = json_string_value(json_object_get(tool, "name"));
    const json_t *says = json_object_get(tool, "annotations");
    struct hint *hint = name ? find(hints, name) : NULL;
    if (name && !hint)
        hint = add(hints, name);
    if (!hint)
        return;
    hint->repeatable = json_is_true(json_object_get(says, "readOnlyHint")) ||
                       json_is_true(json_object_get(says, "idempotentHint"));
    keep_schema(hint, json_object_get(tool, "inputSchema"));
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

void hints_doubt(struct hints *hints) {
    for (size_t i = 0; i < hints->count; i++)
        hints->items[i].repeatable = false;
}

/* A name that would break the head is left out. */
static bool is_token(const char *name) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "!#$%&'*+-.^_`|~";
    return name && name[0] && strspn(name, allowed) == strlen(name);
}

static void add_parameter(struct buffer *out, const char *name, const json_t *value) {
    char *dumped = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
    const char *text = dumped ? dumped : json_string_value(value);
    if (text && is_token(name) && !json_is_object(value) && !json_is_array(value)) {
        buffer_add_text(out, "Mcp-Param-");
        buffer_add_text(out, name);
        buffer_add_text(out, ": ");
        head_add_value(out, text);
        buffer_add_text(out, "\r\n");
    }
    free(dumped);
}

static void repeat_level(const json_t *schema, const json_t *arguments, int depth,
                         struct buffer *out) {
    json_t *properties = json_object_get(schema, "properties");
    const char *key;
    json_t *property;
    json_object_foreach(properties, key, property) {
        const json_t *value = json_object_get(arguments, key);
        const char *name = json_string_value(json_object_get(property, "x-mcp-header"));
        if (!value || json_is_null(value))
            continue;
        if (name)
            add_parameter(out, name, value);
        if (depth > 0)
            repeat_level(property, value, depth - 1, out);
    }
}

void hints_repeat(const struct hints *hints, const char *call, size_t length, struct buffer *out) {
    bool any = false;
    json_t *root;
    const json_t *params;
    const char *name;
    const struct hint *hint;
    for (size_t i = 0; i < hints->count; i++)
        any = any || hints->items[i].schema;
    if (!any)
        return;
    root = json_loadb(call, length, JSON_ALLOW_NUL, NULL);
    params = json_object_get(root, "params");
    name = json_string_value(json_object_get(params, "name"));
    hint = name ? find(hints, name) : NULL;
    if (hint && hint->schema)
        repeat_level(hint->schema, json_object_get(params, "arguments"), SCHEMA_DEPTH_MOST, out);
    json_decref(root);
}

void hints_finish(struct hints *hints) {
    for (size_t i = 0; i < hints->count; i++) {
        free(hints->items[i].name);
        json_decref(hints->items[i].schema);
    }
    free(hints->items);
    *hints = (struct hints){0};
}
