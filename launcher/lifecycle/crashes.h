/* Crashes of a program that is kept running: when to start it again, and when to give up. Pure. */
#ifndef TETHER_LIFECYCLE_CRASHES_H
#define TETHER_LIFECYCLE_CRASHES_H

#include <stdbool.h>
#include <stdint.h>

struct lifecycle_config;

#define CRASHES_MOST 8

struct crashes {
    uint32_t attempt;          /* in a row, for the backoff */
    uint32_t count;            /* within the window */
    uint64_t at[CRASHES_MOST]; /* of these, oldest first */
    uint32_t random;
};

/* One more, now. True: there were too many within the window. */
bool crashes_note(struct crashes *crashes, const struct lifecycle_config *config, uint64_t now_ms);

/* How long to wait before the next start. */
uint32_t crashes_delay(struct crashes *crashes, const struct lifecycle_config *config);

void crashes_forget(struct crashes *crashes);

#endif
