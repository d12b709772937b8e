/* The certain end of a process tree, seen from the process at its top.
 *
 * The top must have called tree_adopt_orphans before the first process of the tree was started:
 * from then on a process cannot leave the tree, because whoever loses its parent becomes a child
 * of the nearest adopter above it. "Ended" therefore means that the top has no child left.
 *
 * For the caller: one thread forks and calls these functions, and SIGCHLD is not ignored (the
 * kernel would reap behind our back, and a number on our list could then mean a stranger).
 * Nothing here uses the heap or stdio, so a cloned process that never called exec may call it.
 * Functions return 0 or more, or -errno. */
#ifndef TETHER_OS_LINUX_TREE_KILL_H
#define TETHER_OS_LINUX_TREE_KILL_H

#include "os/os_tree.h"

/* All pointers are borrowed for the length of the call; zero means none. */
struct tree_kill {
    /* A child of the caller that stays, with everything below it: for the daemon its guard. 0:
     * none. */
    int spared;

    /* Told of each child of the caller that was reaped here. */
    void (*reaped)(void *context, int pid, struct os_exit how);

    /* Asked whenever the tree has withstood 64 rounds or nothing moved for a while (50 ms at first,
     * a second at most). Returning true gives up. Without it the call stays until all is
     * over, however long a process sits in the kernel. */
    bool (*give_up)(void *context);
    void *context;
};

/* Makes the caller the adopter of every process below it. Not inherited by its children. */
int tree_adopt_orphans(void);

/* Ends every descendant of the caller and reaps all that become its children.
 *
 * Returns 0 when no child is left but the one spared, -EPERM when all that is left belongs to
 * somebody the caller may not signal (a set-uid program; such a process is still reaped by a later
 * call once it has ended by itself), -ECANCELED when give_up said so, another -errno when the
 * system does not tell who the children are (no /proc). Never signals a process that is not a
 * descendant. Runs at the highest priority the caller may have, and restores it. */
int tree_kill_all(const struct tree_kill *how);

/* Sends the signal to each descendant in the process group; for the case in which the group's
 * leader is reaped and its number alone no longer proves whose group it is. */
void tree_signal_group(int group, int signal);

/* Reaps zombies among the caller's children but for the one spared (0: none); returns how many.
 * Waits for each by its number, so it takes no exit status from anybody else who waits by number.
 */
int tree_reap_strays(int spared);

#endif
