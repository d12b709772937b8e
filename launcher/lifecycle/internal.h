/* What the files of the state machine share. Nobody else includes this. */
#ifndef TETHER_LIFECYCLE_INTERNAL_H
#define TETHER_LIFECYCLE_INTERNAL_H

#include "lifecycle.h"

/* One call of lifecycle_step(), handed down so that no function needs four parameters. */
struct turn {
    struct lifecycle *l;
    const struct lifecycle_event *event; /* NULL as a life begins */
    uint64_t now;
    struct lifecycle_actions *out;
    bool changed; /* something that `status` shows */
};

static inline void turn_do(struct turn *t, uint32_t actions) {
    t->out->set |= actions;
}

static inline void turn_answer(struct turn *t, enum lifecycle_answer answer) {
    t->out->set |= LIFECYCLE_DO_ANSWER;
    t->out->answer = answer;
}

/* ---- server.c: the server and the ending of its process tree ---- */

void server_begin(struct turn *);

/* Events. */
void server_ready(struct turn *);
void server_unstarted(struct turn *);
void server_exit(struct turn *);
void server_drained(struct turn *);
void server_tree_empty(struct turn *);
void server_ports(struct turn *);

/* True from the first step of an end that nothing takes back. */
bool server_ending(const struct lifecycle *);

/* Begins the end, or turns a restart under way into one. The first cause stays. */
void server_end(struct turn *, enum lifecycle_cause);

/* The same when the last who used it has gone: it may stay a while for clients that are connected.
 */
void server_left_alone(struct turn *, enum lifecycle_cause);
void server_clients(struct turn *);

/* Whether that while is over, or somebody has come. */
bool server_linger(struct turn *);
uint64_t server_linger_deadline(const struct lifecycle *);

/* Ends the tree in order and starts again. */
void server_restart(struct turn *);

/* No more waiting for an orderly end of the tree. */
void server_hurry(struct turn *);

/* Does what time alone makes due. Returns whether it did anything. */
bool server_timers(struct turn *);
uint64_t server_deadline(const struct lifecycle *);

/* ---- owner.c ---- */

void owner_begin(struct turn *, const struct os_identity *owner);
void owner_seen(struct turn *, const struct os_identity *, enum os_life);

/* The process gave up its interest: if it is the owner, another session's process takes over. */
void owner_release(struct turn *, const struct os_identity *);

/* Whether there is an owner other than this process that lives, or may. So there is for a server
 * without an owner: whoever started it by hand. */
bool owner_objects(const struct lifecycle *, const struct os_identity *);

/* Brings ownership in line with the owner's liveness and the sessions, and does what is due. */
bool owner_settle(struct turn *);
uint64_t owner_deadline(const struct lifecycle *);

/* ---- sessions.c ---- */

/* Events. */
void sessions_hello(struct turn *);
void sessions_heard(struct turn *);
void sessions_closed(struct turn *);
void sessions_leave(struct turn *);

void sessions_process_died(struct turn *, const struct os_identity *);

bool sessions_timers(struct turn *);
uint64_t sessions_deadline(const struct lifecycle *);

/* How many keep the server alive. */
uint32_t sessions_counting(const struct lifecycle *);

/* The same without those that belong to the party of session `caller` (0: nobody's). */
uint32_t sessions_counting_others(const struct lifecycle *, uint32_t caller);
bool sessions_block_stop(const struct lifecycle *, uint32_t caller);

/* The oldest session whose process may become owner, or NULL. */
const struct lifecycle_session *sessions_heir(const struct lifecycle *);

#endif
