/* What the built-in server asks this editor for: which offer is meant, and what its callable gets.
 */
#ifndef TETHER_CLASS_REQUESTS_H
#define TETHER_CLASS_REQUESTS_H

#include "offers.h"
#include "tool_calls.h"

/* All that is offered, by whichever plugin. */
struct request_offers {
    bool (*has)(enum offer_kind kind, const char *name);
    /* Calls fn with each name of a kind. */
    void (*each)(enum offer_kind kind, void (*fn)(const struct engine_variant *name, void *context),
                 void *context);
};

/* Borrows from the parameters that it was made of. */
struct request {
    enum call_what what;
    enum offer_kind kind;
    const char *name; /* of the offer that is meant; it may be that nobody has it */
    const char *uri;
    json_t *arguments; /* or NULL */
    json_t *variables; /* own: what the URI says */
    char *template;    /* own, or NULL: whose URI it is */
};

void request_init(struct request *request, const char *method, const json_t *parameters,
                  const struct request_offers *offers);
void request_finish(struct request *request);

/* Calls what was offered; as tool_calls_run. */
json_t *request_run(const struct request *request, struct tool_calls *calls,
                    const struct engine_variant *self, int64_t call, struct engine_variant *schema,
                    struct engine_variant *callable);

/* What is said if nobody offers it. */
json_t *request_refusal(const struct request *request);

#endif
