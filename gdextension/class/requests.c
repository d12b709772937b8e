#include "requests.h"

#include <stdlib.h>
#include <string.h>

#include "protocol/message.h"
#include "session/bridge.h"

static void try_template(const struct engine_variant *name, void *context) {
    struct request *request = context;
    json_t *variables = json_object();
    char *template = variant_text(name);
    if (!request->template && offers_match(template, request->uri, variables)) {
        json_object_update(request->variables, variables);
        request->template = template;
        template = NULL;
    }
    free(template);
    json_decref(variables);
}

/* A URI is that of a resource or of one of a template. */
static void find_resource(struct request *request, const struct request_offers *offers) {
    request->what = CALL_RESOURCE;
    request->kind = OFFER_RESOURCE;
    request->name = request->uri;
    request->arguments = request->variables;
    if (offers->has(OFFER_RESOURCE, request->uri))
        return;
    offers->each(OFFER_TEMPLATE, try_template, request);
    if (!request->template)
        return;
    request->kind = OFFER_TEMPLATE;
    request->name = request->template;
}

void request_init(struct request *request, const char *method, const json_t *parameters,
                  const struct request_offers *offers) {
    json_t *reference = json_object_get(parameters, "ref");
    bool is_prompt = strcmp(message_text(reference, "type"), "ref/prompt") == 0;
    *request = (struct request){.name = message_text(parameters, "name"),
                                .uri = message_text(parameters, "uri"),
                                .arguments = json_object_get(parameters, "arguments")};
    request->variables = json_pack("{s:s}", "uri", request->uri);
    if (strcmp(method, "resources/read") == 0) {
        find_resource(request, offers);
    } else if (strcmp(method, "prompts/get") == 0) {
        request->what = CALL_PROMPT;
        request->kind = OFFER_PROMPT;
    } else if (strcmp(method, "completion/complete") == 0) {
        request->what = CALL_COMPLETION;
        request->kind = is_prompt ? OFFER_PROMPT : OFFER_TEMPLATE;
        request->name = message_text(reference, is_prompt ? "name" : "uri");
        request->arguments = json_object_get(parameters, "argument");
    }
}

void request_finish(struct request *request) {
    json_decref(request->variables);
    free(request->template);
}

static struct call_about about_of(const struct request *request,
                                  const struct engine_variant *schema) {
    struct call_about about = {.what = request->what};
    struct engine_variant member;
    variant_init_member(&member, schema,
                        request->what == CALL_RESOURCE ? "mimeType" : "outputSchema");
    about.is_structured = variant_is_true(&member);
    if (request->what == CALL_RESOURCE) {
        about.uri = json_string(request->uri);
        about.mime_type = about.is_structured ? variant_json(&member) : NULL;
    }
    variant_finish(&member);
    return about;
}

/* Completion is what the schema says under "complete": it gets the argument's name and its value.
 */
static json_t *complete(const struct request *request, struct tool_calls *calls,
                        const struct engine_variant *self, int64_t call,
                        struct engine_variant *schema) {
    struct call_about about = about_of(request, schema);
    struct engine_variant arguments[2], callable;
    json_t *result;
    variant_init_member(&callable, schema, "complete");
    variant_init_text(&arguments[0], message_text(request->arguments, "name"));
    variant_init_text(&arguments[1], message_text(request->arguments, "value"));
    result = variant_type(&callable) != GDEXTENSION_VARIANT_TYPE_CALLABLE
                 ? json_pack("{s:{s:[]}}", "completion", "values")
                 : tool_calls_run(calls, self, call, &callable, arguments, 2, &about);
    variant_finish(&arguments[1]);
    variant_finish(&arguments[0]);
    variant_finish(&callable);
    return result;
}

json_t *request_run(const struct request *request, struct tool_calls *calls,
                    const struct engine_variant *self, int64_t call, struct engine_variant *schema,
                    struct engine_variant *callable) {
    struct call_about about;
    struct engine_variant arguments;
    json_t *none, *result;
    if (request->what == CALL_COMPLETION)
        return complete(request, calls, self, call, schema);
    about = about_of(request, schema);
    none = json_object();
    variant_init_json(&arguments, request->arguments ? request->arguments : none);
    result = tool_calls_run(calls, self, call, callable, &arguments, 1, &about);
    variant_finish(&arguments);
    json_decref(none);
    return result;
}

json_t *request_refusal(const struct request *request) {
    if (request->what == CALL_TOOL)
        return bridge_failure("This editor has no such tool any more; list the tools again.");
    return json_pack("{s:{s:i, s:s+}}", "error", "code", -32602, "message",
                     "this editor does not offer ",
                     request->name[0] ? request->name : "what has no name");
}
