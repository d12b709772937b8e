/* What must hold, in every build of ours.
 *
 * A condition that does not hold is a mistake of ours, and going on would make it worse: a process
 * ended that is not ours, an event lost, memory overwritten. So the program says where and aborts.
 * The rest is made for that: a guard ends the tree of a daemon that is gone, a daemon that of a
 * guard. No condition has side effects.
 *
 * The editor is not ours to abort. What the extension shares with the launcher (the top folder,
 * os/, protocol/) has such conditions only where memory would be overwritten otherwise, and
 * gdextension/ tells everything else as an error. */
#ifndef TETHER_MUST_H
#define TETHER_MUST_H

#define must(condition) ((condition) ? (void)0 : must_fail(__FILE__, __LINE__, #condition))

/* Prints "tether: FILE:LINE: must hold: CONDITION" to standard error, the log of a daemon. */
_Noreturn void must_fail(const char *file, int line, const char *condition);

#endif
