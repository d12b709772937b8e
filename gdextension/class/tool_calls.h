/* Tools: what scripts have registered, and calls of them on the main thread.
 *
 * A tool is a Callable that gets a Dictionary. Its value becomes an MCP result: text, structured
 * content, content blocks as they are, or an error. A coroutine's value comes later. */
#ifndef TETHER_CLASS_TOOL_CALLS_H
#define TETHER_CLASS_TOOL_CALLS_H

#include <jansson.h>

#include "engine/variant.h"

#define TOOL_CALLS_MOST 64

/* The coroutines under way. A ticket is never used twice, as the numbers of calls are by a server
 * that was restarted. Zeroed memory is none. */
struct tool_calls {
    struct {
        int64_t ticket, call;
    } running[TOOL_CALLS_MOST];
    size_t count; /* 0, too, when nobody waits for any of them any more */
    int64_t last_ticket;
};

/* What the built-in server is to know of the registered tools (name → [schema, callable]). */
json_t *tool_calls_registration(const struct engine_variant *tools);

/* Calls a tool as the parameters say. Returns its result, or NULL if it is a coroutine: then the
 * method `_tool_finished(value, ticket)` of `self` is called once it is over. */
json_t *tool_calls_run(struct tool_calls *calls, const struct engine_variant *self,
                       const struct engine_variant *tools, int64_t call, const json_t *parameters);

/* The result of a coroutine that is over, and of which call; NULL if nobody waits for it any more.
 */
json_t *tool_calls_finish(struct tool_calls *calls, int64_t ticket,
                          const struct engine_variant *value, int64_t *call);

/* Nobody waits for this call any more. */
void tool_calls_cancel(struct tool_calls *calls, int64_t call);

#endif
