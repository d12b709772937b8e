/* The tools that are always there. */
#include "editors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

const char builtin_tools[] =
    "{\"name\":\"editors_list\",\"title\":\"List Godot editors\","
    "\"description\":\"Lists the Godot editors that are connected, and tells which of them is the "
    "active one, whose tools are shown.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false},"
    "\"outputSchema\":{\"type\":\"object\",\"properties\":{\"editors\":{\"type\":\"array\","
    "\"items\":{\"type\":\"object\"}}},\"required\":[\"editors\"]},"
    "\"annotations\":{\"readOnlyHint\":true,\"openWorldHint\":false}},"
    "{\"name\":\"editor_select\",\"title\":\"Select a Godot editor\","
    "\"description\":\"Makes one of several connected Godot editors the active one. The lists of "
    "tools, resources and prompts become those of that editor.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"editor\":{\"type\":\"string\","
    "\"description\":\"The editor's id as editors_list tells it, or the name or path of its "
    "project.\"}},\"required\":[\"editor\"],\"additionalProperties\":false},"
    "\"annotations\":{\"readOnlyHint\":false,\"idempotentHint\":true,\"destructiveHint\":false,"
    "\"openWorldHint\":false}}";

bool builtin_has(const char *name) {
    return strcmp(name, "editors_list") == 0 || strcmp(name, "editor_select") == 0;
}

static json_t *text_result(const char *text, bool failed) {
    json_t *result = json_pack("{s:[{s:s, s:s}]}", "content", "type", "text", "text", text);
    if (failed)
        json_object_set_new(result, "isError", json_true());
    return result;
}

json_t *tool_failure(const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    text[utf8_cut(text, sizeof text - 1)] = 0;
    return text_result(text, true);
}

static json_t *list_editors(const struct serve *serve) {
    json_t *structured = json_pack("{s:o}", "editors", editors_json(serve));
    char *text = json_dumps(structured, JSON_COMPACT);
    json_t *result = text_result(text ? text : "", false);
    free(text);
    json_object_set_new(result, "structuredContent", structured);
    return result;
}

static json_t *select_editor(struct serve *serve, const json_t *arguments) {
    const json_t *given = json_object_get(arguments, "editor");
    char number[24], text[256];
    const char *which = json_string_value(given);
    struct editor *editor;
    if (json_is_integer(given)) {
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(given));
        which = number;
    }
    if (!which)
        return tool_failure("The argument \"editor\" is missing: the id of an editor, as "
                            "editors_list tells it.");
    editor = editor_find(serve, which);
    if (!editor)
        return tool_failure("No editor \"%.*s\" is connected; editors_list tells which are.",
                            (int)utf8_cut(which, 100), which);
    editor_activate(editor);
    snprintf(text, sizeof text, "The editor %s is the active one now.", editor->name);
    return text_result(text, false);
}

json_t *builtin_call(struct serve *serve, const char *name, const json_t *arguments) {
    if (strcmp(name, "editors_list") == 0)
        return list_editors(serve);
    return select_editor(serve, arguments);
}
