/* A process and what can be found below it, each by its identity.
 *
 * A process gets onto the list by naming as its parent one that is on it and lives; whoever lost
 * his parent before that is not found. A signal reaches the process that is listed or nobody. */
#ifndef TETHER_OS_POSIX_DESCENT_H
#define TETHER_OS_POSIX_DESCENT_H

#include "os/os.h"

/* Zeroed memory is an empty one. */
struct descent {
    struct os_identity *members; /* parents before their children */
    size_t count, capacity;
    int problem; /* 0, or why members are missing */
};

/* Does nothing if it is there. */
void descent_add(struct descent *descent, const struct os_identity *identity);

/* Adds the children of everybody listed; returns whether there were new ones. */
bool descent_extend(struct descent *descent);

/* Stops everybody until nobody new is found, then kills. -EAGAIN: it grows faster than that. */
int descent_kill(struct descent *descent);

void descent_finish(struct descent *descent);

/* Sends the signal to this process alone; or, for 0, asks whether it could be sent. */
int descent_signal_one(const struct os_identity *identity, int number);

/* Calls fn with each child of the process, as long as that is the one meant. Each system has its
 * own way. */
typedef void (*descent_fn)(void *context, const struct os_identity *child);
void descent_each_child(const struct os_identity *parent, descent_fn fn, void *context);

#endif
