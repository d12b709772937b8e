/* One run of a program with all that it starts: a tree of processes that ends as a whole.
 *
 * Whoever holds an os_tree owns every process below: whatever the program starts, and however that
 * tries to get away, belongs to its tree. If this process dies, however it dies, the system or a
 * keeper ends the tree. How sure that is on this system os_tree_is_certain says.
 *
 * As in os_loop.h: functions return 0 or one of libuv's codes, events come from the loop, never
 * from within a call. */
#ifndef TETHER_OS_TREE_H
#define TETHER_OS_TREE_H

#include <uv.h>

#include "os.h"

/* Nobody gets out of a tree. Where this is false, processes that take care not to be found may. */
extern const bool os_tree_is_certain;

/* How a process ended: an exit code is one thing, a signal another. */
struct os_exit {
    bool by_signal;
    bool dumped_core;
    int64_t value; /* the exit code, or the number of the signal */
};

/* What to run. Everything is borrowed until os_tree_start returns. */
struct os_tree_spec {
    const char *const *words;       /* the first is looked up in PATH of `environment` unless it is
                                       a path */
    const char *const *environment; /* complete */
    os_handle stdio[3];             /* its standard streams; OS_NO_HANDLE: an empty one */

    /* Sockets handed down, told to it as the system's service manager does, or else ours. */
    const os_handle *listeners;
    const char *listener_names; /* as many, with ':' between them */
    size_t listener_count;

    /* How long it may take over its end: when we are gone, unless the system ends the tree by
     * itself then; and after os_tree_ask, in the middle of which it may be asked in another way. */
    uint32_t grace_ms;
};

/* A run begins with `started` or `unstarted`. After `unstarted` nothing of it is left; after
 * `started` come `exited` and then `emptied`. A run whose keeper was killed before it could tell of
 * the start has `emptied` alone. */
struct os_tree_events {
    void (*started)(void *context, const struct os_identity *root);
    void (*unstarted)(void *context, const struct error *why);
    void (*exited)(void *context, const struct os_exit *how); /* the program itself */
    void (*drained)(void *context); /* after os_tree_ask: all that were asked are gone, others are
                                       left; waiting longer serves nothing */
    void (*emptied)(void *context); /* nothing of it is left */
    void (*said)(void *context, const char *text); /* for the log */
};

struct os_tree;

/* A place for trees, one after the other. The calling process becomes the owner of all that it
 * starts from now on; there is one such place in a process. */
int os_tree_create(struct os_tree **tree, uv_loop_t *loop, const struct os_tree_events *events,
                   void *context);

/* What may be left of a run is its keeper's from then on. */
void os_tree_destroy(struct os_tree *tree);

/* Begins a run; nothing of an earlier one is left. An error returned here is the whole of it, and
 * no event comes. */
int os_tree_start(struct os_tree *tree, const struct os_tree_spec *spec, struct error *err);

/* Asks the program to end in order. False: it cannot be asked in any way on this system. A second
 * call does nothing. */
bool os_tree_ask(struct os_tree *tree);

/* Ends all of it, for certain. */
void os_tree_kill(struct os_tree *tree);

/* Passes OS_WISH_USER1 or 2 on to the program; false: the system has no way. */
bool os_tree_forward(struct os_tree *tree, enum os_wish wish);

/* The process that sees to the end of the tree if we die; pid 0: there is none, or the system does
 * that. */
struct os_identity os_tree_keeper(const struct os_tree *tree);

#endif
