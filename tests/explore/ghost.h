/* One step as the ghost sees it, shared by following (ghost.c) and comparing (compare.c). */
#ifndef TETHER_EXPLORE_GHOST_H
#define TETHER_EXPLORE_GHOST_H

#include "world.h"

struct watch {
    const struct scenario *sc;
    const struct lifecycle *l;
    struct ghost *g;
    const struct move *move;
    const struct lifecycle_actions *out;
    struct verdict *verdict;
    uint32_t owed; /* actions that must come now; all others must not */
    int end_rule;  /* the rule that makes it end in this step; 0: none */
    enum lifecycle_answer answer;
    bool second_signal;
    bool drained; /* whoever was asked to end has ended */
    bool ports_told;
    bool pinged[ACTORS];
};

/* ---- ghost.c ---- */

bool ghost_seat_counts(const struct watch *, unsigned seat);
unsigned ghost_count_without(const struct watch *, unsigned actor);
unsigned ghost_seats_taken(const struct ghost *);
bool ghost_ending(const struct ghost *);

/* ---- compare.c ---- */

/* Notes a broken rule; the first one stays. */
void watch_broken(struct watch *, int rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The rule that decides when this action is due. */
int watch_rule_of_action(const struct watch *, uint32_t action);

void watch_compare(struct watch *);

#endif
