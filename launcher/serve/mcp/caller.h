/* Whose client a request is: which editor serves it, and which tools it has.
 *
 * A client says so in the URL of the endpoint: ?project=PATH is the editor of that project and no
 * other; ?near=PATH is an editor whose project is there, above, or below, if there is one; ?tools=…
 * are the only tools; ?client=NAME tells clients apart that have no session. Who says neither
 * project nor near, and has a session and roots, is near its roots. What editor_select has
 * selected for a client wins over its URL. */
#ifndef TETHER_SERVE_MCP_CALLER_H
#define TETHER_SERVE_MCP_CALLER_H

#include "mcp.h"

/* The folders in the answer to roots/list; a new reference. */
json_t *caller_roots(const json_t *result);

/* What a URL's query says, name → text; a new reference. NULL: nothing. */
json_t *caller_read(const char *query);

/* The editor that serves this client (session NULL: of the modern era); NULL: it is not there. */
struct editor *caller_editor(const struct serve *serve, const struct mcp_session *session,
                             const json_t *said);

/* The project that the client has named, by its URL or by what it has selected; NULL: none. */
const char *caller_path(const struct serve *serve, const struct mcp_session *session,
                        const json_t *said);

/* What it is shown. */
const struct offer *caller_offer(const struct serve *serve, const struct mcp_session *session,
                                 const json_t *said);

/* Whether both lead to the same place, by their names; and a number that is the same then. */
bool caller_is_same_path(const char *a, const char *b);
uint64_t caller_path_mark(const char *path);

/* Without a session, and without a name in its URL, a client is known by that of its program: so
 * that what it selected is found, if anybody has selected anything. */
void caller_name(struct mcp_request *request);

/* From now on this editor serves it; false without memory. */
bool caller_select(struct mcp_request *request, const struct editor *editor);

/* Why no editor serves it, and what to do: for people. */
enum { CALLER_WORDS_MAX = 1024 };
void caller_explain(const struct serve *serve, const struct mcp_session *session,
                    const json_t *said, char out[CALLER_WORDS_MAX]);

/* Whether it has this tool, and those that it has, as a member of a result. */
bool caller_has_tool(const struct offer *offer, const json_t *said, const char *name);
void caller_add_tools(struct buffer *out, const struct offer *offer, const json_t *said);

/* Whether it has all. */
bool caller_has_all(const json_t *said);

#endif
