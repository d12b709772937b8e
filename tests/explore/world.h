/* The world around the machine, as the explorer sees it.
 *
 * A node is the machine plus a ghost: what an outside observer knows from the events that were
 * sent and the actions that came back. The ghost is written from the rules of the design alone. It
 * never reads a field of the machine to decide what should happen; the machine is only looked at
 * to compare. Time is counted in ticks, and everything in a node is relative to now, so the number
 * of nodes is finite. */
#ifndef TETHER_EXPLORE_WORLD_H
#define TETHER_EXPLORE_WORLD_H

#include "lifecycle/lifecycle.h"

#define ACTORS     LIFECYCLE_MAX_SESSIONS /* each one process with at most one session */
#define NONE       255                    /* an age that does not run */
#define MAX_GHOSTS 4                      /* crashes the ghost remembers */

enum seat_link { SEAT_EMPTY, SEAT_CONNECTED, SEAT_AWAY, SEAT_HELD };

/* What the observer knows of one actor's session. */
struct seat {
    uint8_t link;
    uint8_t rank;  /* order of arrival, from 0 */
    uint8_t quiet; /* ticks since it was heard */
    uint8_t held;  /* ticks since the place is kept */
    uint8_t silent;
    uint8_t pinged;
};

enum phase {
    PHASE_STARTING,
    PHASE_READY,
    PHASE_WAITING,    /* crashed, to be started again */
    PHASE_RESTARTING, /* the tree is being ended, to be started again */
    PHASE_FAILED,
    PHASE_ENDING,
    PHASE_ENDED
};

struct ghost {
    struct seat seat[ACTORS];
    uint8_t sweep_age; /* since the first session came or the last sweep; NONE without sessions */

    uint8_t owner; /* actor number from 1; 0: unarmed */
    uint8_t owner_liveness;
    uint8_t owner_adopted;
    uint8_t alone_age; /* since the owner is dead and nobody counts; NONE otherwise */
    uint8_t asked;     /* the second look has been asked for */
    uint8_t idle_age;  /* since nobody counts; NONE otherwise */

    uint8_t clients;    /* the server has said that it has some */
    uint8_t linger_age; /* since it stays for them alone; NONE: it does not */
    uint8_t linger_rule;

    uint8_t phase;
    uint8_t phase_age;
    uint8_t process; /* of the server: 0 none, 1 root runs, 2 only descendants may be left */
    uint8_t was_ready;
    uint8_t crashes;
    uint8_t crash_age[MAX_GHOSTS];
    uint8_t in_a_row;
    uint8_t signals;

    uint8_t term_age; /* of this tree; NONE: not asked to end yet */
    uint8_t kill_age;
    uint8_t stuck_age; /* the tree has been given up for so long */
    uint8_t ports_age; /* since the ports are looked at */
};

struct node {
    struct lifecycle machine;
    struct ghost ghost;
};

#define SCENARIO_KNOBS 8

struct scenario_plan {
    const char *name;
    bool armed; /* actor 1 is the owner given at launch */
    enum lifecycle_role roles[ACTORS];
    unsigned actors; /* how many take part */
    bool requests;   /* stop, restart, hand-over */
    bool signals;    /* to the daemon, and the death of its parent */
    bool misfires;   /* the owner may be reported alive or unknown again */
    bool clients;    /* the server may have clients, or not */
    struct {
        bool set;
        size_t offset; /* in struct lifecycle_config */
        uint32_t value;
    } knobs[SCENARIO_KNOBS]; /* that differ from the base */
};

struct scenario {
    const struct scenario_plan *plan;
    struct lifecycle_config config;
};

/* One thing that can happen. */
enum move_kind { MOVE_EVENT, MOVE_WAIT, MOVE_TICK };

struct move {
    enum move_kind kind;
    uint8_t actor; /* 0: none */
    uint32_t seed; /* decides the jitter where there is any */
    struct lifecycle_event event;
};

#define MAX_MOVES  96
#define NODE_BYTES 112 /* a multiple of 8 */
#define NOW        UINT64_C(1000)

/* ---- scenarios.c ---- */

extern const struct scenario_plan scenario_plans[];
extern const size_t scenario_count;

void scenario_open(const struct scenario_plan *, struct scenario *);

/* ---- moves.c ---- */

unsigned moves_list(const struct scenario *, const struct node *, struct move moves[MAX_MOVES]);
void move_describe(const struct scenario *, const struct move *, char *text, size_t size);

/* ---- pack.c ---- */

/* Writes the node without anything that depends on the absolute time. Returns the length. */
size_t node_pack(const struct scenario *, const struct node *, uint8_t bytes[NODE_BYTES]);
/* Moves all times of the machine into the past. */
void node_age(struct lifecycle *, uint64_t ticks);
void node_unpack(const struct scenario *, const uint8_t bytes[NODE_BYTES], struct node *);

/* ---- ghost.c ---- */

/* A rule that was seen broken; `rule` 0: none. */
struct verdict {
    int rule;
    char what[160];
};

void ghost_begin(const struct scenario *, struct node *, const struct lifecycle_actions *,
                 struct verdict *);

/* Lets the ghost see an event and what the machine did, and compares. */
void ghost_step(const struct scenario *, struct node *, const struct move *,
                const struct lifecycle_actions *, struct verdict *);

/* Lets time pass for the ghost, and checks that the machine wants to be woken if and only if
 * something is due by now. The machine's times must have been moved already. */
void ghost_wait(const struct scenario *, struct node *, uint64_t ticks, struct verdict *);

#endif
