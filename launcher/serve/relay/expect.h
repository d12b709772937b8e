/* Whether an editor is on its way: a call that comes meanwhile waits for it.
 *
 * Three things say so. An editor has connected and has not yet registered anything. One has just
 * gone: it may restart, or be restarted. Or the daemon knows of a session of an editor that is not
 * connected here: it starts, restarts, or loads its extension anew. None of them is believed for
 * longer than a time that a client may wait. */
#ifndef TETHER_SERVE_RELAY_EXPECT_H
#define TETHER_SERVE_RELAY_EXPECT_H

#include "editors.h"

enum {
    EXPECT_MS = 20 * 1000,     /* TETHER_EDITOR_WAIT_MS */
    EXPECT_GONE_MS = 3 * 1000, /* one whose process is gone, and of whom the daemon says nothing */
};

void expect_init(struct serve *serve);
void expect_stop(struct serve *serve);   /* nothing comes of it any more */
void expect_finish(struct serve *serve); /* when the loop has run out */

bool expect_editor(const struct serve *serve);

/* Whether clients have streams open, for the daemon: it may let us live for them alone. */
void expect_streams(const struct serve *serve);

/* A call waits. */
void expect_waiting(struct serve *serve);

/* One has said hello. */
void expect_arrived(struct serve *serve);

/* The connection of this one is gone. */
void expect_back(const struct editor *editor);

#endif
