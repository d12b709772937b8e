/* The guard: a small process between the daemon and one run of the server.
 *
 *     daemon ── guard ── server ── its children
 *
 * It starts the server, reports what becomes of it, and ends the whole tree when it is told to or
 * when the daemon is gone, however the daemon went. If the guard itself is killed, the tree becomes
 * the daemon's, which must end it with tree_kill_all. Either notices the other's death even if it
 * was stopped before. Both killed at once leave the tree behind: that is for the next start.
 *
 * There is one guard per run of the server. It waits in one system call, polls nothing, and ends
 * when the tree is empty, so a run whose server left processes behind keeps its guard until they
 * are gone or it is told GUARD_KILL.
 *
 * For the daemon: it has one thread when it calls guard_start, has called tree_adopt_orphans, does
 * not ignore SIGCHLD, and leaves waiting for the guard to guard_reap (the guard sends no SIGCHLD
 * when it ends). All calls come from the thread that started the guard. */
#ifndef TETHER_OS_LINUX_GUARD_H
#define TETHER_OS_LINUX_GUARD_H

#include "os/posix/program.h"
#include "tree_kill.h"

/* Embedded by the daemon; the fields are for reading only. */
struct guard {
    int pid;       /* 0 when there is no guard */
    int fd;        /* non-blocking, for the daemon's loop: readable when guard_read has something */
    int other_end; /* the guard's, until it is started; else -1 */
    bool tree_empty;
};

/* What the two say to each other is one packet on a SOCK_SEQPACKET pair: it arrives whole or not at
 * all, and both ends are the same program, so this and the event are the format. To say it a second
 * time does nothing. */
enum guard_command {
    GUARD_TERMINATE = 1, /* SIGTERM (and SIGCONT, for those that are stopped) to the server's first
                            process and its group */
    GUARD_KILL           /* ends the whole tree now */
};

enum guard_event_type {
    GUARD_SPAWNED = 1,  /* exec succeeded. Either this or EXEC_FAILED comes first */
    GUARD_EXEC_FAILED,  /* the server never ran; TREE_EMPTY follows, ROOT_EXITED does not */
    GUARD_ROOT_EXITED,  /* the server's first process is reaped; others of the tree may live */
    GUARD_DRAINED,      /* after GUARD_TERMINATE: all that were told to end are gone, others are
                           left that no SIGTERM reached. Waiting longer serves nothing */
    GUARD_KILL_REFUSED, /* what is left may not be signalled by us; the guard waits for its end */
    GUARD_TREE_EMPTY,   /* no process of the tree is left; the guard ends now */
    GUARD_GONE          /* always last: call guard_reap */
};

struct guard_event {
    enum guard_event_type type;
    int pid;                        /* SPAWNED, ROOT_EXITED: the server's first process */
    uint64_t start;                 /* SPAWNED: its start token */
    struct os_exit exit;            /* ROOT_EXITED */
    struct program_failure failure; /* EXEC_FAILED: what did not work, and why */
    int error;                      /* KILL_REFUSED: why, as a positive errno */
};

/* Opens the channel, so that a loop can listen to guard->fd before there is anybody to hear. */
int guard_open(struct guard *guard, struct error *err);

/* Starts the guard, and through it the server, which is reported later. The caller closes its own
 * copies of the descriptors in the spec when it wants to; the guard keeps none of them beyond the
 * start. It overwrites its copy of the daemon's arguments, so that a search for the daemon's
 * command line does not find the guard and a kill by name does not hit both. After a failure, as
 * after GUARD_GONE: guard_reap. */
int guard_start(struct guard *guard, const struct os_tree_spec *spec, struct error *err);

/* Takes the next event without blocking: 1 with *event filled, 0 when there is none, negative on an
 * error of the channel, which means the same as GUARD_GONE. */
int guard_read(struct guard *guard, struct guard_event *event);

/* Continues the guard, too, if it is stopped. Returns 0, or negative when the guard is gone, which
 * guard_read tells, too. */
int guard_tell(const struct guard *guard, enum guard_command what);

/* Kills a guard that does not do what it is told; GUARD_GONE follows. A daemon that exits needs
 * nothing of the kind: closing the channel, as its death does, makes the guard end the tree. */
void guard_abandon(struct guard *guard);

/* After GUARD_GONE: collects the guard, which is dying, and releases everything. Also accepts one
 * that was only opened. Returns true when the tree had ended. Otherwise what was left of it is now
 * the daemon's: call tree_kill_all. */
bool guard_reap(struct guard *guard);

/* ---- what the daemon prepares before the fork ---- */

struct guard_plan {
    struct program_plan program;
    int channel; /* the guard's end */
    int daemon;  /* its pid */
};

/* Forks without exec and without fork handlers: 0 in the child, its pid in the parent, or -errno.
 * For a process with one thread. The child shares its memory copy-on-write and must use neither the
 * heap nor stdio (nor abort(), which in some C libraries would name the parent's thread). One that
 * ends by SIGCONT continues a parent that is stopped, and is waited for with __WALL only. */
int guard_fork(int exit_signal);

/* The guard's part: never returns to the daemon's code. All signals are blocked on entry. */
_Noreturn void guard_run(struct guard_plan *plan);

#endif
