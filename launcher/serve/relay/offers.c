/* What clients are shown: the lists of the active editor, written once and sent many times. */
#include "editors.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "readable.h"
#include "serve/mcp/subscriptions.h"
#include "utf8.h"

const struct list_terms list_terms[LIST_COUNT] = {
    [LIST_TOOLS] = {"tools", "name", "inputSchema", 0, "tools/list",
                    "notifications/tools/list_changed", "toolsListChanged"},
    [LIST_RESOURCES] = {"resources", "uri", "name", OFFER_RESOURCES, "resources/list",
                        "notifications/resources/list_changed", "resourcesListChanged"},
    [LIST_TEMPLATES] = {"resourceTemplates", "uriTemplate", "name", OFFER_RESOURCES,
                        "resources/templates/list", NULL, NULL},
    [LIST_PROMPTS] = {"prompts", "name", NULL, OFFER_PROMPTS, "prompts/list",
                      "notifications/prompts/list_changed", "promptsListChanged"},
};

const json_t *list_find(const json_t *list, enum list_kind kind, const char *name) {
    const json_t *entry;
    size_t i;
    json_array_foreach(list, i, entry) {
        const char *text = rpc_text(entry, list_terms[kind].key);
        if (text && strcmp(text, name) == 0)
            return entry;
    }
    return NULL;
}

/* ---- writing ---- */

static void write_list(const struct serve *serve, enum list_kind kind, struct buffer *out) {
    const json_t *entry;
    size_t i;
    bool first = kind != LIST_TOOLS;
    buffer_add_char(out, '"');
    buffer_add_text(out, list_terms[kind].name);
    buffer_add_literal(out, "\":[");
    if (kind == LIST_TOOLS)
        buffer_add_text(out, builtin_tools);
    if (serve->active) {
        json_array_foreach(serve->active->lists[kind], i, entry) {
            if (!first)
                buffer_add_char(out, ',');
            first = false;
            rpc_add_json(out, entry);
        }
    }
    buffer_add_char(out, ']');
}

static bool update_list(struct serve *serve, enum list_kind kind) {
    struct buffer *old = &serve->lists[kind], new = {0};
    bool same;
    write_list(serve, kind, &new);
    same = new.failed || (new.length == old->length &&memcmp(new.data, old->data, new.length) == 0);
    if (same) {
        buffer_finish(&new);
        return false;
    }
    buffer_finish(old);
    *old = new;
    return true;
}

void lists_update(struct serve *serve) {
    bool changed[LIST_COUNT];
    for (int kind = 0; kind < LIST_COUNT; kind++)
        changed[kind] = update_list(serve, (enum list_kind)kind);
    changed[LIST_RESOURCES] |= changed[LIST_TEMPLATES]; /* which nobody is told of */
    for (int kind = 0; kind < LIST_COUNT; kind++)
        if (changed[kind] && list_terms[kind].changed)
            listen_list_changed(serve, (enum list_kind)kind);
}

/* ---- registering ---- */

static bool is_usable(const json_t *entry, enum list_kind kind) {
    const char *key = rpc_text(entry, list_terms[kind].key);
    const json_t *another =
        list_terms[kind].another ? json_object_get(entry, list_terms[kind].another) : NULL;
    if (!key || !key[0])
        return false;
    if (kind == LIST_TOOLS)
        return json_is_object(another) && !builtin_has(key);
    return !list_terms[kind].another || json_is_string(another);
}

static void complain(const struct editor *editor, enum list_kind kind, size_t i, const char *key) {
    char shown[60 * READABLE_GROWTH + 1] = "without a name";
    if (key)
        readable_text(shown, key, utf8_cut(key, 60));
    fprintf(stderr,
            "tether serve: editor %s: entry %u of %s (%s) is not valid, or there twice; it is left "
            "out\n",
            editor->name, (unsigned)i, list_terms[kind].name, shown);
}

static json_t *usable_entries(const struct editor *editor, enum list_kind kind,
                              const json_t *given) {
    json_t *list = json_array(), *entry;
    size_t i;
    json_array_foreach(given, i, entry) {
        const char *key = rpc_text(entry, list_terms[kind].key);
        if (is_usable(entry, kind) && !list_find(list, kind, key))
            json_array_append(list, entry);
        else
            complain(editor, kind, i, key);
    }
    return list;
}

/* What the editor says that it can do; lists that have something in them say it, too. */
static unsigned offers_of(const struct editor *editor, const json_t *can) {
    static const struct {
        const char *key;
        unsigned offer;
    } keys[] = {{"resources", OFFER_RESOURCES},
                {"prompts", OFFER_PROMPTS},
                {"completions", OFFER_COMPLETIONS},
                {"logging", OFFER_LOGGING}};
    unsigned offers = editor->offers;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (json_is_object(json_object_get(can, keys[i].key)))
            offers |= keys[i].offer;
    if (json_is_true(json_object_get(json_object_get(can, "resources"), "subscribe")))
        offers |= OFFER_SUBSCRIBE;
    for (int i = 0; i < LIST_COUNT; i++)
        if (json_array_size(editor->lists[i]) > 0)
            offers |= list_terms[i].offer;
    return offers;
}

void lists_register(struct editor *editor, const json_t *params) {
    const json_t *instructions = json_object_get(params, "instructions");
    for (int i = 0; i < LIST_COUNT; i++) {
        const json_t *given = json_object_get(params, list_terms[i].name);
        if (!json_is_array(given))
            continue;
        json_decref(editor->lists[i]);
        editor->lists[i] = usable_entries(editor, (enum list_kind)i, given);
    }
    if (json_is_string(instructions)) {
        free(editor->instructions);
        editor->instructions = NULL;
        if (json_string_length(instructions) > 0)
            editor->instructions =
                memory_text(json_string_value(instructions), json_string_length(instructions));
    }
    editor->offers = offers_of(editor, json_object_get(params, "capabilities"));
    editor->serve->offers |= editor->offers;
}
