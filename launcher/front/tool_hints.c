#include "tool_hints.h"

#include <stdlib.h>
#include <string.h>

#include "request_head.h"

enum { HINTS_MOST = 10000, SCHEMA_DEPTH_MOST = 16 };

/* A name that would break the head is left out. */
static bool is_token(const char *name) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "!#$%&'*+-.^_`|~";
    return name[0] && strspn(name, allowed) == strlen(name);
}

static void add_parameter(struct buffer *out, const char *name, const json_t *value) {
    char *dumped = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
    const char *text = dumped ? dumped : json_string_value(value);
    if (text && is_token(name) && !json_is_object(value) && !json_is_array(value)) {
        buffer_format(out, "Mcp-Param-%s: ", name);
        head_add_value(out, text);
        buffer_add_text(out, "\r\n");
    }
    free(dumped);
}

/* Repeats what the schema wants repeated of these arguments, if there are any; tells whether it
 * wants anything. */
static bool repeat(const json_t *schema, const json_t *arguments, int depth, struct buffer *out) {
    json_t *properties = json_object_get(schema, "properties");
    bool wanted = false;
    const char *key;
    json_t *property;
    json_object_foreach(properties, key, property) {
        const json_t *value = json_object_get(arguments, key);
        const char *name = json_string_value(json_object_get(property, "x-mcp-header"));
        if (name && value && !json_is_null(value))
            add_parameter(out, name, value);
        if (depth > 0 && repeat(property, value, depth - 1, out))
            wanted = true;
        wanted = wanted || name;
    }
    return wanted;
}

/* NULL: nothing is known under this name any more. */
static void keep(json_t **known, const char *name, json_t *value) {
    if (!*known)
        *known = json_object();
    if (!value)
        json_object_del(*known, name);
    else if (json_object_size(*known) < HINTS_MOST)
        json_object_set(*known, name, value);
}

static void learn_tool(struct hints *hints, const json_t *tool) {
    const char *name = json_string_value(json_object_get(tool, "name"));
    const json_t *says = json_object_get(tool, "annotations");
    json_t *schema = json_object_get(tool, "inputSchema");
    bool again = json_is_true(json_object_get(says, "readOnlyHint")) ||
                 json_is_true(json_object_get(says, "idempotentHint"));
    if (!name)
        return;
    keep(&hints->repeatable, name, again ? json_true() : NULL);
    keep(&hints->repeating, name, repeat(schema, NULL, SCHEMA_DEPTH_MOST, NULL) ? schema : NULL);
}

void hints_learn(struct hints *hints, const char *message, size_t length) {
    json_t *root = json_loadb(message, length, 0, NULL);
    const json_t *tools = json_object_get(json_object_get(root, "result"), "tools"), *tool;
    size_t i;
    json_array_foreach(tools, i, tool) {
        learn_tool(hints, tool);
    }
    json_decref(root);
}

bool hints_repeatable(const struct hints *hints, const char *name) {
    return json_object_get(hints->repeatable, name) != NULL;
}

void hints_doubt(struct hints *hints) {
    json_object_clear(hints->repeatable);
}

void hints_repeat(const struct hints *hints, const struct scan *call, struct buffer *out) {
    const struct scan_span *given = &call->spans[SCAN_ARGUMENTS];
    char name[SCAN_TEXT_MAX];
    const json_t *schema = scan_decode(&call->spans[SCAN_NAME], name, sizeof name)
                               ? json_object_get(hints->repeating, name)
                               : NULL;
    json_t *arguments;
    if (!schema || !given->at)
        return;
    arguments = json_loadb(given->at, given->length, JSON_ALLOW_NUL, NULL);
    repeat(schema, arguments, SCHEMA_DEPTH_MOST, out);
    json_decref(arguments);
}

void hints_finish(struct hints *hints) {
    json_decref(hints->repeatable);
    json_decref(hints->repeating);
    *hints = (struct hints){0};
}
