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
 * are gone or guard_kill is called.
 *
 * For the daemon: it has one thread when it calls guard_start, has called tree_adopt_orphans, does
 * not ignore SIGCHLD, and leaves waiting for the guard to guard_reap (the guard sends no SIGCHLD
 * when it ends). All calls come from the thread that started the guard. */
#ifndef TETHER_OS_LINUX_GUARD_H
#define TETHER_OS_LINUX_GUARD_H

#include "error.h"
#include "tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What to start. Everything is borrowed until guard_start returns. */
struct guard_spec {
    const char *const *argv; /* argv[0] is looked up in PATH of envp unless it holds a slash */
    const char *const *envp; /* complete; NULL: the daemon's own. LISTEN_… in it is replaced */
    const char *cwd;         /* NULL: the daemon's own */
    int stdio[3];            /* become the server's fds 0-2; -1: /dev/null */

    /* Sockets handed down as fds 3, 4, … with LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES. */
    const int *listen_fds;
    const char *const *listen_names; /* as many, without ':'; NULL: no LISTEN_FDNAMES */
    size_t listen_count;

    /* How long the server may take over SIGTERM when the daemon is gone; 0: killed at once. While
     * the daemon lives, it alone decides. */
    uint32_t stop_grace_ms;

    /* The daemon's argument area, argv[0] up to the end of the last argument. The guard overwrites
     * its copy, so that a search for the daemon's command line does not find the guard and a kill
     * by name does not hit both. NULL: left as it is. */
    char *title;
    size_t title_size;
};

/* Embedded by the daemon; the fields are for reading only. */
struct guard {
    int pid; /* 0 when there is no guard */
    int fd;  /* non-blocking, for the daemon's loop: readable when guard_read has something */
    bool terminated;
    bool killed;
    bool tree_empty;
};

enum guard_event_type {
    GUARD_NOTHING = 0,
    GUARD_SPAWNED,      /* exec succeeded. Either this or EXEC_FAILED comes first */
    GUARD_EXEC_FAILED,  /* the server never ran; TREE_EMPTY follows, ROOT_EXITED does not */
    GUARD_ROOT_EXITED,  /* the server's first process is reaped; others of the tree may live */
    GUARD_DRAINED,      /* after guard_terminate: all that were told to end are gone, others are
                           left that no SIGTERM reached. Waiting longer serves nothing */
    GUARD_KILL_REFUSED, /* what is left may not be signalled by us; the guard waits for its end */
    GUARD_TREE_EMPTY,   /* no process of the tree is left; the guard ends now */
    GUARD_GONE          /* always last: call guard_reap */
};

enum guard_step {
    GUARD_STEP_NONE = 0,
    GUARD_STEP_FORK,
    GUARD_STEP_DESCRIPTORS,
    GUARD_STEP_CHDIR,
    GUARD_STEP_EXEC
};

struct guard_event {
    enum guard_event_type type;
    int pid;               /* SPAWNED, ROOT_EXITED: the server's first process */
    uint64_t start;        /* SPAWNED: its start token */
    struct tree_exit exit; /* ROOT_EXITED */
    enum guard_step step;  /* EXEC_FAILED: what did not work … */
    int error;             /* … and why, as a positive errno; KILL_REFUSED: why */
};

/* Starts a guard, and through it the server, which is reported later. Returns 0, or a negative code
 * with *out set to "no guard". The caller closes its own copies of the descriptors in the spec when
 * it wants to; the guard keeps none of them beyond the start. */
int guard_start(const struct guard_spec *spec, struct guard *out, struct error *err);

/* Takes the next event without blocking: 1 with *event filled, 0 when there is none, negative on an
 * error of the channel, which means the same as GUARD_GONE. */
int guard_read(struct guard *guard, struct guard_event *event);

/* SIGTERM (and SIGCONT, for those that are stopped) to the server's first process and its group. A
 * second call does nothing. Returns 0, or negative when the guard is gone, which guard_read tells,
 * too. Both commands continue a stopped guard. */
int guard_terminate(struct guard *guard);

/* Ends the whole tree now. A second call does nothing. */
int guard_kill(struct guard *guard);

/* Kills a guard that does not do what it is told; GUARD_GONE follows. A daemon that exits needs
 * nothing of the kind: closing the channel, as its death does, makes the guard end the tree. */
void guard_abandon(struct guard *guard);

/* After GUARD_GONE: waits for the guard, which is dying, and releases everything. Returns true when
 * the tree had ended. Otherwise what was left of it is now the daemon's: call tree_kill_all. */
bool guard_reap(struct guard *guard);

/* Turns EXEC_FAILED into an error that names the command, the reason and what to do. Returns its
 * code. */
int guard_explain(const struct guard_event *event, const struct guard_spec *spec,
                  struct error *err);

#endif
