/* What scripts offer to AI clients: tools, resources, templates of resources, and prompts.
 *
 * Each kind is a Dictionary: name or URI → [schema, callable]. The schema is what clients are
 * shown, in the terms of the Model Context Protocol. */
#ifndef TETHER_CLASS_OFFERS_H
#define TETHER_CLASS_OFFERS_H

#include <jansson.h>

#include "engine/variant.h"

enum offer_kind { OFFER_TOOL, OFFER_RESOURCE, OFFER_TEMPLATE, OFFER_PROMPT, OFFER_KINDS };

/* The list of a kind, as the built-in server is told it, and under which key. */
json_t *offers_list(enum offer_kind kind, const struct engine_variant *entries);
const char *offers_key(enum offer_kind kind);

/* The schema and the callable of a name; false, and nothing made, if there are none. */
bool offers_init(const struct engine_variant *entries, const char *name,
                 struct engine_variant *schema, struct engine_variant *callable);

/* Whether a URI is one of a template, as in "scene://{path}" (up to the next '/') and
 * "file://{+path}" (to the end): then its variables are put into the object. */
bool offers_match(const char *template, const char *uri, json_t *variables);

#endif
