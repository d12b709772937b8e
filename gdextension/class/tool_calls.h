/* Calls of what scripts have registered, on the main thread.
 *
 * A tool is a Callable that gets a Dictionary. Its value becomes an MCP result: text, structured
 * content, content blocks as they are, or an error; resources, prompts and completions likewise. A
 * coroutine's value comes later. */
#ifndef TETHER_CLASS_TOOL_CALLS_H
#define TETHER_CLASS_TOOL_CALLS_H

#include <jansson.h>

#include "engine/variant.h"

#define TOOL_CALLS_MOST 64

enum call_what { CALL_TOOL, CALL_RESOURCE, CALL_PROMPT, CALL_COMPLETION };

/* What the result of a call depends on, beside its value. */
struct call_about {
    enum call_what what;
    bool is_structured;      /* the tool says what its answer is */
    json_t *uri, *mime_type; /* of a resource; owned, or NULL */
};

void call_about_finish(struct call_about *about);

/* The coroutines under way. A ticket is never used twice, as the numbers of calls are by a server
 * that was restarted. Zeroed memory is none. */
struct tool_calls {
    struct {
        int64_t ticket, call;
        struct call_about about;
    } running[TOOL_CALLS_MOST];
    size_t count; /* 0, too, when nobody waits for any of them any more */
    int64_t last_ticket;
};

/* Calls it. Returns its result, or NULL if it is a coroutine: then the method
 * `_tool_finished(value, ticket)` of `self` is called once it is over. Takes over `about`. */
json_t *tool_calls_run(struct tool_calls *calls, const struct engine_variant *self, int64_t call,
                       struct engine_variant *callable, const struct engine_variant *arguments,
                       int count, struct call_about *about);

/* The result of a coroutine that is over, and of which call; NULL if nobody waits for it any more.
 */
json_t *tool_calls_finish(struct tool_calls *calls, int64_t ticket,
                          const struct engine_variant *value, int64_t *call);

/* Nobody waits for this call any more; false if nobody did. Nor for any. */
bool tool_calls_cancel(struct tool_calls *calls, int64_t call);
void tool_calls_clear(struct tool_calls *calls);

#endif
