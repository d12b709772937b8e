/* What an outside observer of a session knows: from the events that were sent and the actions that
 * came back, never from the session's own fields. */
#ifndef TETHER_EXPLORE_SESSION_GHOST_H
#define TETHER_EXPLORE_SESSION_GHOST_H

#include "session/session_step.h"

enum link { LINK_NONE, LINK_OPENING, LINK_WELCOMED };
enum timer { TIMER_NONE, TIMER_RETRY, TIMER_FAREWELL };

/* What has been ordered and is still to be done. */
enum owed { OWED_NOTHING, OWED_STOP, OWED_LAUNCH, OWED_LEAVE, OWED_STOP_AND_LEAVE };

/* A restart by this daemon: asked for, perhaps begun (its reply may still come), refused for it
 * ends. */
enum restart { RESTART_NOT, RESTART_ASKED, RESTART_BEGUN, RESTART_ENDS };

enum reason { REASON_NONE, REASON_KEPT, REASON_OF_LAUNCH };

/* The last state that was told; the first three are the daemon's. */
enum shown {
    SHOWN_GOING = SESSION_SERVER_GOING,
    SHOWN_SERVER_FAILED = SESSION_SERVER_FAILED,
    SHOWN_ENDING = SESSION_SERVER_ENDING,
    SHOWN_NOTHING,
    SHOWN_LAUNCHING,
    SHOWN_LOST,
    SHOWN_STOPPED,
    SHOWN_FAILED,
};

struct ghost {
    uint8_t launch; /* runs */
    uint8_t link, timer;
    uint8_t turned_away; /* it was told, instead of a welcome, that the daemon ends */
    uint8_t over;
    uint8_t owed;
    uint8_t forced;  /* the stop that is still to be asked for */
    uint8_t asked;   /* to stop, and not refused */
    uint8_t restart; /* enum restart */
    uint8_t server;  /* as the daemon told it last */
    uint8_t shown;
    uint8_t id;      /* of a session is there, to be resumed */
    uint8_t seeking; /* a lost one */
    uint8_t tries;   /* launches for that */
    uint8_t reason;
    uint8_t hopeless; /* the last launch failed so that no other is of use */
};

struct node {
    struct session session;
    struct ghost ghost;
};

/* A rule that was seen broken; `rule` 0: none. */
struct verdict {
    int rule;
    char what[160];
};

void ghost_begin(struct ghost *ghost);

/* Lets the ghost see an event and what the session did, and compares. */
void ghost_step(struct node *node, const struct session_event *event,
                const struct session_actions *actions, struct verdict *verdict);

/* Nothing runs and nothing is on its way. */
bool ghost_is_idle(const struct ghost *ghost);

/* Whether this can happen at all, and whether it is an answer to what the session waits for. */
bool ghost_allows(const struct ghost *ghost, const struct session_event *event);
bool ghost_awaits(const struct ghost *ghost, const struct session_event *event);

#endif
