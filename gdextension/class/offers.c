#include "offers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what clients are shown ---- */

static const struct {
    const char *list, *name;
    const char *keys[8]; /* of the schema, to be shown */
} kinds[OFFER_KINDS] = {
    [OFFER_TOOL] = {"tools",
                    "name",
                    {"title", "description", "inputSchema", "outputSchema", "annotations",
                     "icons"}},
    [OFFER_RESOURCE] = {"resources",
                        "uri",
                        {"name", "title", "description", "mimeType", "size", "annotations",
                         "icons"}},
    [OFFER_TEMPLATE] = {"resourceTemplates",
                        "uriTemplate",
                        {"name", "title", "description", "mimeType", "annotations", "icons"}},
    [OFFER_PROMPT] = {"prompts", "name", {"title", "description", "arguments", "icons"}},
};

const char *offers_key(enum offer_kind kind) {
    return kinds[kind].list;
}

/* What must be there and is not. A tool's schema without any of its keys is that of the arguments.
 */
static void complete_entry(json_t *entry, enum offer_kind kind, const char *name,
                           const json_t *schema) {
    if (kind == OFFER_TOOL && json_object_size(entry) == 1 && json_object_get(schema, "type"))
        json_object_set_new(entry, "inputSchema", json_copy((json_t *)(uintptr_t)schema));
    if (kind == OFFER_TOOL && !json_object_get(entry, "inputSchema"))
        json_object_set_new(entry, "inputSchema", json_pack("{s:s}", "type", "object"));
    if ((kind == OFFER_RESOURCE || kind == OFFER_TEMPLATE) && !json_object_get(entry, "name"))
        json_object_set_new(entry, "name", json_string(name));
}

static json_t *entry_json(enum offer_kind kind, const char *name, const json_t *schema) {
    json_t *entry = json_pack("{s:s}", kinds[kind].name, name);
    for (size_t i = 0; i < sizeof kinds[kind].keys / sizeof kinds[kind].keys[0]; i++) {
        const char *key = kinds[kind].keys[i];
        if (key && json_object_get(schema, key))
            json_object_set(entry, key, json_object_get(schema, key));
    }
    complete_entry(entry, kind, name, schema);
    return entry;
}

struct listing {
    enum offer_kind kind;
    const struct engine_variant *entries;
    json_t *list;
};

bool offers_init(const struct engine_variant *entries, const char *name,
                 struct engine_variant *schema, struct engine_variant *callable) {
    struct engine_variant pair, at;
    GDExtensionBool valid = false;
    variant_init_member(&pair, entries, name);
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

static void add_entry(const struct engine_variant *key, void *context) {
    const struct listing *listing = context;
    struct engine_variant schema, callable;
    char *name = variant_text(key);
    if (offers_init(listing->entries, name, &schema, &callable)) {
        json_t *json = variant_json(&schema);
        json_array_append_new(listing->list, entry_json(listing->kind, name, json));
        json_decref(json);
        variant_finish(&schema);
        variant_finish(&callable);
    }
    free(name);
}

json_t *offers_list(enum offer_kind kind, const struct engine_variant *entries) {
    struct listing listing = {kind, entries, json_array()};
    variant_each(entries, add_entry, &listing);
    return listing.list;
}

/* ---- templates ---- */

/* Where the value of a variable ends: before the text that follows it in the template. */
static const char *value_end(const char *uri, const char *rest, bool is_path) {
    size_t literal = strcspn(rest, "{");
    const char *end = uri;
    if (is_path && literal == 0)
        return uri + strlen(uri);
    while (*end && (is_path || *end != '/') && (literal == 0 || strncmp(end, rest, literal) != 0))
        end++;
    return end;
}

bool offers_match(const char *template, const char *uri, json_t *variables) {
    while (*template) {
        const char *close = *template == '{' ? strchr(template, '}') : NULL, *end;
        bool is_path = template[1] == '+';
        char name[64];
        if (!close) {
            if (*template ++ != *uri++)
                return false;
            continue;
        }
        end = value_end(uri, close + 1, is_path);
        snprintf(name, sizeof name, "%.*s", (int)(close - template - 1 - is_path),
                 template + 1 + is_path);
        if (end == uri)
            return false;
        json_object_set_new(variables, name, json_stringn(uri, (size_t)(end - uri)));
        template = close + 1;
        uri = end;
    }
    return !*uri;
}
