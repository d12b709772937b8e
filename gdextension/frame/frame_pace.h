/* How fast the editor's frames follow each other while AI clients use it.
 *
 * Tools run in frames, and between two frames an editor sleeps: 7 ms, or 100 ms while it is not
 * focused, which is just when somebody else works with it. Nothing can wake it from that sleep on
 * Linux. So, while a client may call, the engine is told to sleep next to nothing, and the rest of
 * its time is waited for here, at the same place in the frame, where a call can end the waiting
 * (see bell.h). The frames become no more than before, but for those in which something is done. */
#ifndef TETHER_FRAME_PACE_H
#define TETHER_FRAME_PACE_H

#include <stdbool.h>

/* A tool was called: for a second from now, frames are somewhat quicker than those of an editor
 * that is not focused. */
void frame_pace_call(void);

/* A tool is under way that waits for frames: the next one follows soon. */
void frame_pace_hurry(void);

/* At the end of each frame: waits as long as the editor wants to sleep. Whether anybody may call is
 * up to the caller; while nobody may, the engine's own settings are in force. */
void frame_pace_wait(bool may_be_called);

/* Gives the engine its own settings back. */
void frame_pace_release(void);

#endif
