/* The tools that are always there. */
#include "editors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/mcp/caller.h"
#include "serve/mcp/subscriptions.h"
#include "utf8.h"

const char builtin_tools[] =
    "{\"name\":\"editors_list\",\"title\":\"List Godot editors\","
    "\"description\":\"Lists the Godot editors that are connected, and tells which of them you "
    "work "
    "with (active).\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{}},"
    "\"outputSchema\":{\"type\":\"object\",\"properties\":{\"editors\":{\"type\":\"array\","
    "\"items\":{\"type\":\"object\"}}},\"required\":[\"editors\"]},"
    "\"annotations\":{\"readOnlyHint\":true,\"openWorldHint\":false}},"
    "{\"name\":\"editor_select\",\"title\":\"Select a Godot editor\","
    "\"description\":\"Chooses with which of several Godot editors you work from now on; other "
    "clients stay where they are.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"editor\":{\"type\":\"string\","
    "\"description\":\"The editor's id as editors_list tells it, or the name or path of its "
    "project.\"}},\"required\":[\"editor\"]},"
    "\"annotations\":{\"destructiveHint\":false,"
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

static json_t *list_editors(const struct mcp_request *request) {
    const struct serve *serve = request->serve;
    json_t *structured =
        json_pack("{s:o}", "editors",
                  editors_json(serve, caller_editor(serve, request->session, request->said)));
    char *text = json_dumps(structured, JSON_COMPACT);
    json_t *result = text_result(text ? text : "", false);
    free(text);
    json_object_set_new(result, "structuredContent", structured);
    return result;
}

static json_t *select_editor(struct mcp_request *request, const json_t *arguments) {
    const json_t *given = json_object_get(arguments, "editor");
    char number[24], text[256];
    const char *which = json_string_value(given);
    struct editor *editor;
    bool several;
    if (json_is_integer(given)) {
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(given));
        which = number;
    }
    if (!which)
        return tool_failure("The argument \"editor\" is missing: the id of an editor, as "
                            "editors_list tells it.");
    editor = editor_find(request->serve, which, &several);
    if (several)
        return tool_failure("Several editors have a project called \"%.*s\": say which by its path "
                            "or id, as editors_list tells them.",
                            (int)utf8_cut(which, 100), which);
    if (!editor)
        return tool_failure("No editor \"%.*s\" is connected; editors_list tells which are.",
                            (int)utf8_cut(which, 100), which);
    if (!caller_select(request, editor))
        return tool_failure("Out of memory.");
    listen_lists_changed(request->serve);
    snprintf(text, sizeof text, "This client works with the editor %s from now on.", editor->name);
    return text_result(text, false);
}

json_t *builtin_call(struct mcp_request *request, const char *name, const json_t *arguments) {
    if (strcmp(name, "editors_list") == 0)
        return list_editors(request);
    return select_editor(request, arguments);
}
