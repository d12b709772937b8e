#include "tool_calls.h"

#include <stdlib.h>
#include <string.h>

#include "protocol/message.h"
#include "session/bridge.h"

enum { CONNECT_ONE_SHOT = 4 };

/* ---- what is offered ---- */

/* A tool in MCP's terms. A schema without any of its keys is that of the arguments itself. */
static json_t *tool_json(const char *name, const json_t *schema) {
    static const char *const keys[] = {"title",        "description", "inputSchema",
                                       "outputSchema", "annotations", "icons"};
    json_t *tool = json_pack("{s:s}", "name", name);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (json_object_get(schema, keys[i]))
            json_object_set(tool, keys[i], json_object_get(schema, keys[i]));
    if (json_object_size(tool) == 1 && json_object_get(schema, "type"))
        json_object_set_new(tool, "inputSchema", json_copy((json_t *)(uintptr_t)schema));
    if (!json_object_get(tool, "inputSchema"))
        json_object_set_new(tool, "inputSchema", json_pack("{s:s}", "type", "object"));
    return tool;
}

struct listing {
    const struct engine_variant *tools;
    json_t *list;
};

/* The schema and the callable that are registered under a name; false if there are none. */
static bool init_tool(const struct engine_variant *tools, const char *name,
                      struct engine_variant *schema, struct engine_variant *callable) {
    struct engine_variant pair, at;
    GDExtensionBool valid = false;
    variant_init_member(&pair, tools, name);
    variant_init_int(&at, 0);
    engine.variant_get(&pair, &at, schema, &valid);
    variant_finish(&at);
    variant_init_int(&at, 1);
    engine.variant_get(&pair, &at, callable, &valid);
    variant_finish(&at);
    variant_finish(&pair);
    if (!valid) {
        variant_finish(schema);
        variant_finish(callable);
    }
    return valid;
}

static void add_tool(const struct engine_variant *key, void *context) {
    const struct listing *listing = context;
    struct engine_variant schema, callable;
    char *name = variant_text(key);
    if (init_tool(listing->tools, name, &schema, &callable)) {
        json_t *json = variant_json(&schema);
        json_array_append_new(listing->list, tool_json(name, json));
        json_decref(json);
        variant_finish(&schema);
        variant_finish(&callable);
    }
    free(name);
}

json_t *tool_calls_registration(const struct engine_variant *tools) {
    struct listing listing = {tools, json_array()};
    variant_each(tools, add_tool, &listing);
    return json_pack("{s:o}", "tools", listing.list);
}

/* ---- results ---- */

static json_t *text_result(const char *text) {
    return json_pack("{s:[{s:s, s:s}]}", "content", "type", "text", "text", text);
}

static json_t *structured_result(json_t *value) {
    /* The text is for reading: 0.1, not 0.10000000000000001. The structure has every digit. */
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    json_t *result = text_result(text ? text : "null");
    if (json_is_object(value))
        json_object_set(result, "structuredContent", value);
    free(text);
    return result;
}

/* Takes the reference. */
static json_t *result_of(json_t *value) {
    json_t *result;
    if (json_is_array(json_object_get(value, "content")))
        return value;
    if (json_is_string(value) && json_string_length(value) > 0)
        result = text_result(json_string_value(value));
    else if (json_is_string(json_object_get(value, "error")))
        result = bridge_failure(message_text(value, "error"));
    else if (json_is_null(value) ||
             json_is_string(value)) /* "": a script error ends a function so */
        result = text_result("Done. (The tool returned nothing; if it failed, the editor's log "
                             "says why.)");
    else
        result = structured_result(value);
    json_decref(value);
    return result;
}

json_t *tool_calls_finish(struct tool_calls *calls, int64_t ticket,
                          const struct engine_variant *value, int64_t *call) {
    for (size_t i = 0; i < calls->count; i++) {
        if (calls->running[i].ticket == ticket) {
            *call = calls->running[i].call;
            calls->running[i] = calls->running[--calls->count];
            return result_of(variant_json(value));
        }
    }
    return NULL;
}

void tool_calls_cancel(struct tool_calls *calls, int64_t call) {
    for (size_t i = 0; i < calls->count; i++)
        if (calls->running[i].call == call)
            calls->running[i] = calls->running[--calls->count];
}

/* ---- calls ---- */

static bool is_coroutine(struct engine_variant *value) {
    struct engine_variant class_name;
    bool found = false;
    if (variant_type(value) == GDEXTENSION_VARIANT_TYPE_OBJECT && variant_is_true(value)) {
        char *text;
        variant_call(value, "get_class", NULL, 0, &class_name);
        text = variant_text(&class_name);
        found = strcmp(text, "GDScriptFunctionState") == 0;
        free(text);
        variant_finish(&class_name);
    }
    return found;
}

/* Has self._tool_finished(value, ticket) called when the coroutine is over. */
static void await_value(const struct engine_variant *self, int64_t ticket,
                        struct engine_variant *coroutine) {
    struct engine_variant arguments[3], target, number;
    GDExtensionConstVariantPtr parts[2] = {self, &target};
    GDExtensionCallError error;
    variant_init_text(&target, "_tool_finished");
    engine.variant_construct(GDEXTENSION_VARIANT_TYPE_CALLABLE, &arguments[1], parts, 2, &error);
    variant_finish(&target);
    variant_init_int(&number, ticket);
    variant_call(&arguments[1], "bind", &number, 1, &target);
    variant_finish(&arguments[1]);
    arguments[1] = target;
    variant_init_text(&arguments[0], "completed");
    variant_init_int(&arguments[2], CONNECT_ONE_SHOT);
    variant_call(coroutine, "connect", arguments, 3, NULL);
    for (int i = 0; i < 3; i++)
        variant_finish(&arguments[i]);
    variant_finish(&number);
}

static json_t *finish_call(struct tool_calls *calls, const struct engine_variant *self,
                           int64_t call, struct engine_variant *value) {
    if (!is_coroutine(value))
        return result_of(variant_json(value));
    if (calls->count == TOOL_CALLS_MOST)
        return bridge_failure("Too many calls are under way in this editor; try again later.");
    calls->running[calls->count].ticket = ++calls->last_ticket;
    calls->running[calls->count++].call = call;
    await_value(self, calls->last_ticket, value);
    return NULL;
}

static json_t *call_tool(struct tool_calls *calls, const struct engine_variant *self, int64_t call,
                         struct engine_variant *callable, const json_t *arguments) {
    struct engine_variant dictionary, value;
    json_t *none = arguments ? NULL : json_object(), *result;
    if (!variant_says(callable, "is_valid"))
        return bridge_failure("The plugin that offered this tool is gone.");
    variant_init_json(&dictionary, arguments ? arguments : none);
    if (variant_call(callable, "call", &dictionary, 1, &value))
        result = finish_call(calls, self, call, &value);
    else
        result = bridge_failure("The tool could not be called: its callable must take one "
                                "Dictionary. The editor's log may tell more.");
    variant_finish(&value);
    variant_finish(&dictionary);
    json_decref(none);
    return result;
}

json_t *tool_calls_run(struct tool_calls *calls, const struct engine_variant *self,
                       const struct engine_variant *tools, int64_t call, const json_t *parameters) {
    struct engine_variant schema, callable;
    json_t *result;
    if (!init_tool(tools, message_text(parameters, "name"), &schema, &callable))
        return bridge_failure("This editor has no such tool any more; list the tools again.");
    result = call_tool(calls, self, call, &callable, json_object_get(parameters, "arguments"));
    variant_finish(&schema);
    variant_finish(&callable);
    return result;
}
