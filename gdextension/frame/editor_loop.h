/* The editor's main loop, as far as it concerns servers: a look at their events each frame, and the
 * farewell when the editor ends or this library is replaced.
 *
 * A plugin that is disabled just drops its TetherServer, and so does one whose editor is closing or
 * restarting; which it was shows only later. So a dropped server's client is kept here as parting:
 * if frames go on, it was a disable; if the shutdown comes, it was a quit or a restart. */
#ifndef TETHER_FRAME_EDITOR_LOOP_H
#define TETHER_FRAME_EDITOR_LOOP_H

#include "session/control_client.h"

/* Registers the class, and tells the engine whom to call; at the EDITOR level. */
void editor_loop_register(void);

/* Takes over a client that its server has dropped. With a reason, that has been told already. */
void editor_loop_part(struct control_client *client, bool has_left);

/* Ends every client that is left, and the class; the library is about to be unloaded. */
void editor_loop_finish(void);

/* What Tether has cost the main thread so far, in frames without anything to do and in others; for
 * measurements. */
struct editor_loop_cost {
    uint64_t idle_frames, idle_ns, busy_frames, busy_ns, worst_ns;
};
struct editor_loop_cost editor_loop_cost(void);

/* Whether this is an editor that somebody sits before: not a game, nor without a display, nor an
 * import or export. Told by the arguments: while extensions are loaded, there is no display yet.
 * Nobody else reads the help, and with help of ours the call that on_shutdown tells of crashes even
 * without the class. */
bool editor_is_attended(void);

/* Whether this process is an editor that a server may be started for, and if not, why not. */
bool editor_is_in_use(const char **why_not);

#endif
