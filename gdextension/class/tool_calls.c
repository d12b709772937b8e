#include "tool_calls.h"

#include <stdlib.h>
#include <string.h>

#include "protocol/message.h"
#include "session/bridge.h"
#include "session/json_text.h"

enum { CONNECT_ONE_SHOT = 4 };

/* ---- results ---- */

static json_t *text_result(const char *text) {
    return json_pack("{s:[{s:s, s:s}]}", "content", "type", "text", "text", text);
}

/* Only who says by an outputSchema what it is gets the value itself, too: clients that find it
 * there give it to the model in place of the text. */
static json_t *value_result(json_t *value, bool is_structured) {
    char *text = json_text(value);
    json_t *result = text_result(text ? text : "null");
    if (is_structured && json_is_object(value))
        json_object_set(result, "structuredContent", value);
    free(text);
    return result;
}

/* A text in the content may be any value: then it becomes JSON. */
static void write_texts(json_t *content) {
    json_t *block;
    size_t i;
    json_array_foreach(content, i, block) {
        json_t *value = json_object_get(block, "text");
        char *text = value && !json_is_string(value) ? json_text(value) : NULL;
        if (text)
            json_object_set_new(block, "text", json_string(text));
        free(text);
    }
}

static json_t *tool_result(json_t *value, bool is_structured) {
    if (json_is_array(json_object_get(value, "content"))) {
        write_texts(json_object_get(value, "content"));
        return json_incref(value);
    }
    if (json_is_string(value) && json_string_length(value) > 0)
        return text_result(json_string_value(value));
    if (json_is_string(json_object_get(value, "error")))
        return bridge_failure(message_text(value, "error"));
    if (json_is_null(value) || json_is_string(value)) /* "": a script error ends a function so */
        return text_result("Done. (The tool returned nothing; if it failed, the editor's log "
                           "says why.)");
    return value_result(value, is_structured);
}

/* A value as the text of a resource or of a prompt: as it is, or as JSON. */
static json_t *value_text(json_t *value) {
    char *text = json_is_string(value) ? NULL : json_text(value);
    json_t *result = text ? json_string(text) : json_incref(value);
    free(text);
    return result;
}

static json_t *resource_result(json_t *value, const struct call_about *about) {
    if (json_is_array(json_object_get(value, "contents")))
        return json_incref(value);
    return json_pack("{s:[{s:O, s:O*, s:o}]}", "contents", "uri", about->uri, "mimeType",
                     about->mime_type, "text", value_text(value));
}

static json_t *prompt_result(json_t *value) {
    if (json_is_array(json_object_get(value, "messages")))
        return json_incref(value);
    return json_pack("{s:[{s:s, s:{s:s, s:o}}]}", "messages", "role", "user", "content", "type",
                     "text", "text", value_text(value));
}

enum { COMPLETIONS_MOST = 100 }; /* of the protocol */

static json_t *completion_result(json_t *value) {
    json_t *values = json_array(), *text;
    size_t i;
    json_array_foreach(value, i,
                       text) if (json_is_string(text) && json_array_size(values) < COMPLETIONS_MOST)
        json_array_append(values, text);
    return json_pack("{s:{s:o, s:I, s:b}}", "completion", "values", values, "total",
                     (json_int_t)json_array_size(value), "hasMore",
                     json_array_size(value) > COMPLETIONS_MOST);
}

/* Takes the reference of the value, and ends what the call is about. */
static json_t *result_of(json_t *value, struct call_about *about) {
    json_t *result;
    if (about->what == CALL_TOOL)
        result = tool_result(value, about->is_structured);
    else if (json_is_string(json_object_get(value, "error")))
        result = bridge_error(message_text(value, "error"));
    else if (about->what == CALL_RESOURCE)
        result = resource_result(value, about);
    else
        result = about->what == CALL_PROMPT ? prompt_result(value) : completion_result(value);
    json_decref(value);
    call_about_finish(about);
    return result;
}

void call_about_finish(struct call_about *about) {
    json_decref(about->uri);
    json_decref(about->mime_type);
    *about = (struct call_about){0};
}

static void forget(struct tool_calls *calls, size_t i) {
    call_about_finish(&calls->running[i].about);
    calls->running[i] = calls->running[--calls->count];
}

json_t *tool_calls_finish(struct tool_calls *calls, int64_t ticket,
                          const struct engine_variant *value, int64_t *call) {
    for (size_t i = 0; i < calls->count; i++) {
        if (calls->running[i].ticket == ticket) {
            json_t *result = result_of(variant_json(value), &calls->running[i].about);
            *call = calls->running[i].call;
            forget(calls, i);
            return result;
        }
    }
    return NULL;
}

bool tool_calls_cancel(struct tool_calls *calls, int64_t call) {
    for (size_t i = 0; i < calls->count; i++) {
        if (calls->running[i].call == call) {
            forget(calls, i);
            return true;
        }
    }
    return false;
}

void tool_calls_clear(struct tool_calls *calls) {
    while (calls->count > 0)
        forget(calls, calls->count - 1);
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

/* Takes over `about`. */
static json_t *refusal(struct call_about *about, const char *text) {
    bool is_tool = about->what == CALL_TOOL;
    call_about_finish(about);
    return is_tool ? bridge_failure(text) : bridge_error(text);
}

static json_t *finish_call(struct tool_calls *calls, const struct engine_variant *self,
                           int64_t call, struct engine_variant *value, struct call_about *about) {
    if (!is_coroutine(value))
        return result_of(variant_json(value), about);
    if (calls->count == TOOL_CALLS_MOST)
        return refusal(about, "Too many calls are under way in this editor; try again later.");
    calls->running[calls->count].ticket = ++calls->last_ticket;
    calls->running[calls->count].about = *about;
    calls->running[calls->count++].call = call;
    await_value(self, calls->last_ticket, value);
    return NULL;
}

json_t *tool_calls_run(struct tool_calls *calls, const struct engine_variant *self, int64_t call,
                       struct engine_variant *callable, const struct engine_variant *arguments,
                       int count, struct call_about *about) {
    struct engine_variant value;
    json_t *result;
    if (!variant_says(callable, "is_valid"))
        return refusal(about, "The plugin that offered this is gone.");
    if (variant_call(callable, "call", arguments, count, &value))
        result = finish_call(calls, self, call, &value, about);
    else
        result = refusal(about, "The tool could not be called: its callable must take one "
                                "Dictionary. The editor's log may tell more.");
    variant_finish(&value);
    return result;
}
