/* Which editor and which tools a front's client is for, as the query of the endpoint's URL.
 *
 * The built-in server reads it (serve/mcp/caller.h). A project is what --project names, or the one
 * that the front was started in: a client in a worktree works with the editor of that worktree and
 * with no other. Who was started elsewhere says where. */
#ifndef TETHER_FRONT_TARGET_H
#define TETHER_FRONT_TARGET_H

#include "buffer.h"
#include "options/options.h"

/* Adds "?…"; for a server that is not ours nothing. */
void target_write(struct buffer *out, const struct options *options);

#endif
