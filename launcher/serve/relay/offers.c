/* What editors have registered: lists, written once and sent many times, and what goes with them.
 */
#include "editors.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "readable.h"
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

/* ---- whose it is ---- */

struct offer *offer_create(void) {
    struct offer *offer = memory_zeroed(sizeof *offer);
    if (offer)
        offer->holders = 1;
    return offer;
}

struct offer *offer_hold(struct offer *offer) {
    if (offer)
        offer->holders++;
    return offer;
}

void offer_drop(struct offer *offer) {
    if (!offer || --offer->holders > 0)
        return;
    for (int i = 0; i < LIST_COUNT; i++) {
        json_decref(offer->lists[i]);
        buffer_finish(&offer->texts[i]);
    }
    json_decref(offer->profiles);
    json_decref(offer->hello);
    free(offer->instructions);
    free(offer);
}

const struct offer *offer_shown(const struct serve *serve, const struct editor *editor,
                                const char *path) {
    if (editor && editor->offer->is_known)
        return editor->offer;
    return kept_shown(serve, path, editor ? rpc_text(editor->hello, "path") : NULL);
}

/* ---- writing ---- */

/* FNV-1a: what differs by chance alone is told of a moment later than it could be. */
uint64_t offer_mark(const char *text, size_t length) {
    uint64_t mark = 0xcbf29ce484222325U;
    for (size_t i = 0; i < length; i++)
        mark = (mark ^ (unsigned char)text[i]) * 0x100000001b3U;
    return mark;
}

static void write_list(struct offer *offer, enum list_kind kind) {
    struct buffer *out = &offer->texts[kind];
    const json_t *entry;
    size_t i;
    bool own = kind == LIST_TOOLS && !offer->is_foreign, first = !own;
    buffer_finish(out);
    buffer_add_char(out, '"');
    buffer_add_text(out, list_terms[kind].name);
    buffer_add_literal(out, "\":[");
    if (own)
        buffer_add_text(out, builtin_tools);
    json_array_foreach(offer->lists[kind], i, entry) {
        if (!first)
            buffer_add_char(out, ',');
        first = false;
        rpc_add_json(out, entry);
    }
    buffer_add_char(out, ']');
    offer->marks[kind] = offer_mark(out->data, out->length);
}

/* Templates belong to the resources: nobody is told of them by themselves. */
bool list_has_changed(const struct offer *offer, const uint64_t seen[LIST_COUNT],
                      enum list_kind kind) {
    bool templates = kind == LIST_RESOURCES && offer->marks[LIST_TEMPLATES] != seen[LIST_TEMPLATES];
    return list_terms[kind].changed && (templates || offer->marks[kind] != seen[kind]);
}

/* ---- registering ---- */

static bool is_usable(const struct offer *offer, const json_t *entry, enum list_kind kind) {
    const char *key = rpc_text(entry, list_terms[kind].key);
    const json_t *another =
        list_terms[kind].another ? json_object_get(entry, list_terms[kind].another) : NULL;
    if (!key || !key[0])
        return false;
    if (kind == LIST_TOOLS)
        return json_is_object(another) && (offer->is_foreign || !builtin_has(key));
    return !list_terms[kind].another || json_is_string(another);
}

static void complain(const char *whose, enum list_kind kind, size_t i, const char *key) {
    char shown[60 * READABLE_GROWTH + 1] = "without a name";
    if (key)
        readable_text(shown, key, utf8_cut(key, 60));
    fprintf(stderr,
            "tether serve: %s: entry %u of %s (%s) is not valid, or there twice; it is left out\n",
            whose, (unsigned)i, list_terms[kind].name, shown);
}

static json_t *usable_entries(const struct offer *offer, const char *whose, enum list_kind kind,
                              const json_t *given) {
    json_t *list = json_array(), *entry;
    size_t i;
    json_array_foreach(given, i, entry) {
        const char *key = rpc_text(entry, list_terms[kind].key);
        if (is_usable(offer, entry, kind) && !list_find(list, kind, key))
            json_array_append(list, entry);
        else
            complain(whose, kind, i, key);
    }
    return list;
}

static const struct {
    const char *key;
    unsigned offer;
} capability_keys[] = {{"resources", OFFER_RESOURCES},
                       {"prompts", OFFER_PROMPTS},
                       {"completions", OFFER_COMPLETIONS},
                       {"logging", OFFER_LOGGING}};

enum { CAPABILITY_KEYS = sizeof capability_keys / sizeof capability_keys[0] };

/* What the editor says that it can do; lists that have something in them say it, too. */
static unsigned offers_of(const struct offer *offer, const json_t *can) {
    unsigned offers = offer->offers;
    for (size_t i = 0; i < CAPABILITY_KEYS; i++)
        if (json_is_object(json_object_get(can, capability_keys[i].key)))
            offers |= capability_keys[i].offer;
    if (json_is_true(json_object_get(json_object_get(can, "resources"), "subscribe")))
        offers |= OFFER_SUBSCRIBE;
    for (int i = 0; i < LIST_COUNT; i++)
        if (json_array_size(offer->lists[i]) > 0)
            offers |= list_terms[i].offer;
    return offers;
}

static json_t *capabilities_json(unsigned offers) {
    json_t *can = json_object();
    for (size_t i = 0; i < CAPABILITY_KEYS; i++)
        if (offers & capability_keys[i].offer)
            json_object_set_new(can, capability_keys[i].key, json_object());
    if (offers & OFFER_SUBSCRIBE)
        json_object_set_new(json_object_get(can, "resources"), "subscribe", json_true());
    return can;
}

static void register_words(struct offer *offer, const json_t *params) {
    const json_t *instructions = json_object_get(params, "instructions");
    json_t *profiles = json_object_get(params, "profiles");
    if (json_is_string(instructions)) {
        free(offer->instructions);
        offer->instructions = NULL;
        if (json_string_length(instructions) > 0)
            offer->instructions =
                memory_text(json_string_value(instructions), json_string_length(instructions));
    }
    if (json_is_object(profiles)) {
        json_decref(offer->profiles);
        offer->profiles = json_incref(profiles);
    }
}

void offer_register(struct offer *offer, const json_t *params, const char *whose) {
    for (int i = 0; i < LIST_COUNT; i++) {
        const json_t *given = json_object_get(params, list_terms[i].name);
        if (json_is_array(given)) {
            json_decref(offer->lists[i]);
            offer->lists[i] = usable_entries(offer, whose, (enum list_kind)i, given);
            offer->is_known |= json_array_size(offer->lists[i]) > 0;
        }
        if (json_is_array(given) || !offer->texts[i].data)
            write_list(offer, (enum list_kind)i);
    }
    register_words(offer, params);
    offer->is_known |= offer->instructions != NULL;
    offer->offers = offers_of(offer, json_object_get(params, "capabilities"));
}

void offer_forget_values(struct offer *offer) {
    for (int i = 0; i < LIST_COUNT; i++) {
        json_decref(offer->lists[i]);
        offer->lists[i] = NULL;
    }
}

json_t *offer_tools(const struct offer *offer) {
    const struct buffer *text = &offer->texts[LIST_TOOLS];
    size_t start = text->data ? strcspn(text->data, "[") : 0;
    return text->data ? json_loadb(text->data + start, text->length - start, 0, NULL) : NULL;
}

json_t *offer_json(const struct offer *offer) {
    json_t *out = json_pack("{s:O*, s:s*, s:O*, s:o}", "editor", offer->hello, "instructions",
                            offer->instructions, "profiles", offer->profiles, "capabilities",
                            capabilities_json(offer->offers));
    for (int i = 0; i < LIST_COUNT; i++)
        if (offer->lists[i])
            json_object_set(out, list_terms[i].name, offer->lists[i]);
    return out;
}
