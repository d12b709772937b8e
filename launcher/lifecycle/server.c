/* The server: its states, its restarts after crashes, and the ending of its process tree.
 *
 * A start makes a tree; the tree is there until ON_TREE_EMPTY says that it is not. No start
 * happens while a tree may be there. The steps of ending a tree (`drain`) only go forward and
 * begin anew with the next start, so no step is taken twice, whoever asks for the end how often. */
#include "internal.h"

#include <string.h>

#include "must.h"

/* Asks the tree to end. Does nothing if there is none or it has been asked. */
static void drain_begin(struct turn *t) {
    struct lifecycle *l = t->l;
    if (!l->tree || l->drain != LIFECYCLE_DRAIN_NONE)
        return;
    l->drain = LIFECYCLE_DRAIN_TERM;
    l->drain_by = t->now + l->config.stop_grace_ms;
    turn_do(t, LIFECYCLE_DO_CLOSE_STDIN | LIFECYCLE_DO_TERMINATE);
}

void server_hurry(struct turn *t) {
    struct lifecycle *l = t->l;
    if (!l->tree || l->drain >= LIFECYCLE_DRAIN_KILL)
        return;
    l->drain = LIFECYCLE_DRAIN_KILL;
    l->drain_by = t->now + l->config.kill_limit_ms;
    turn_do(t, LIFECYCLE_DO_KILL_TREE);
}

static void tree_gone(struct lifecycle *l) {
    l->tree = false;
    l->drain = LIFECYCLE_DRAIN_NONE;
    l->drain_by = 0;
}

static void server_become(struct turn *t, enum lifecycle_server state) {
    struct lifecycle *l = t->l;
    l->server = state;
    l->ready_by = l->ready_at = l->retry_at = 0; /* belong to the state that was left */
    l->clients = false;                          /* and so did they */
    t->changed = true;
    switch (state) {
    case LIFECYCLE_STARTING:
        l->restarts++;
        l->tree = true;
        l->failure = LIFECYCLE_FAILURE_NONE;
        l->ready_by =
            l->config.ready_timeout_ms ? t->now + l->config.ready_timeout_ms : LIFECYCLE_NEVER;
        turn_do(t, LIFECYCLE_DO_START);
        break;
    case LIFECYCLE_READY:
        l->ready_at = t->now;
        l->was_ready = true;
        break;
    case LIFECYCLE_STOPPING:
    case LIFECYCLE_FAILED:
        drain_begin(t);
        break;
    case LIFECYCLE_STOPPED:
        turn_do(t, LIFECYCLE_DO_RECORD | LIFECYCLE_DO_EXIT);
        break;
    case LIFECYCLE_BACKOFF:
    case LIFECYCLE_SERVER_STATES:
        break;
    }
}

void server_begin(struct turn *t) {
    server_become(t, LIFECYCLE_STARTING);
    t->l->restarts = 0; /* the first start is none */
}

/* ---- Failures and crashes ---- */

static void server_fail(struct turn *t, enum lifecycle_failure failure) {
    t->l->failure = failure;
    server_become(t, LIFECYCLE_FAILED);
}

static void server_crash(struct turn *t) {
    struct lifecycle *l = t->l;
    bool given_up;
    if (l->server == LIFECYCLE_READY && t->now - l->ready_at >= l->config.health_ms)
        crashes_forget(&l->crashes);
    given_up = crashes_note(&l->crashes, &l->config, t->now);
    server_hurry(t);
    if (given_up) {
        server_fail(t, LIFECYCLE_FAILURE_CRASHES);
        return;
    }
    server_become(t, LIFECYCLE_BACKOFF);
    l->retry_at = t->now + crashes_delay(&l->crashes, &l->config);
}

/* ---- Events ---- */

static bool server_running(const struct lifecycle *l) {
    return l->server == LIFECYCLE_STARTING || l->server == LIFECYCLE_READY;
}

void server_ready(struct turn *t) {
    if (t->l->server == LIFECYCLE_STARTING)
        server_become(t, LIFECYCLE_READY);
}

void server_unstarted(struct turn *t) {
    if (t->l->server == LIFECYCLE_STARTING) {
        tree_gone(t->l);
        server_fail(t, t->event->failure);
    } else {
        server_tree_empty(t);
    }
}

static void server_ended(struct turn *t, bool success) {
    struct lifecycle *l = t->l;
    if (!server_running(l))
        return; /* an end that was asked for; the tree's end is what counts */
    l->crashed = !success;
    if (success || l->config.restart == LIFECYCLE_RESTART_NEVER)
        server_end(t, LIFECYCLE_CAUSE_FINISHED);
    else
        server_crash(t);
}

void server_exit(struct turn *t) {
    server_ended(t, t->event->success);
}

void server_tree_empty(struct turn *t) {
    if (server_running(t->l))
        server_ended(t, false); /* the exit itself was missed */
    tree_gone(t->l);
}

static void server_stopped(struct turn *t, bool ports_free) {
    t->l->ports_free = ports_free;
    t->l->port_check = false;
    t->l->port_check_by = 0;
    server_become(t, LIFECYCLE_STOPPED);
}

void server_ports(struct turn *t) {
    if (t->l->port_check)
        server_stopped(t, t->event->success);
}

/* ---- Ending and restarting ---- */

bool server_ending(const struct lifecycle *l) {
    return l->server == LIFECYCLE_STOPPED ||
           (l->server == LIFECYCLE_STOPPING && l->purpose == LIFECYCLE_TO_END);
}

void server_end(struct turn *t, enum lifecycle_cause cause) {
    if (server_ending(t->l))
        return;
    struct lifecycle *l = t->l;
    l->purpose = LIFECYCLE_TO_END;
    l->cause = cause;
    server_become(t, LIFECYCLE_STOPPING);
    /* From here on nobody's coming or going matters. */
    crashes_forget(&l->crashes);
    l->sampling = false;
    l->orphan_by = l->sweep_at = l->linger_by = 0;
    l->linger_cause = LIFECYCLE_CAUSE_NONE;
    l->idle_since = LIFECYCLE_NEVER;
}

void server_restart(struct turn *t) {
    if (server_ending(t->l))
        return;
    crashes_forget(&t->l->crashes);         /* a person's decision, not one more try of ours */
    if (t->l->server == LIFECYCLE_STOPPING) /* that is under way */
        return;
    t->l->purpose = LIFECYCLE_TO_RESTART;
    server_become(t, LIFECYCLE_STOPPING);
}

/* ---- Staying for clients ---- */

static void linger_over(struct turn *t) {
    t->l->linger_by = 0;
    t->l->linger_cause = LIFECYCLE_CAUSE_NONE;
    t->changed = true;
}

/* Without clients that is over at once. */
void server_left_alone(struct turn *t, enum lifecycle_cause cause) {
    struct lifecycle *l = t->l;
    if (l->linger_by != 0 || server_ending(l))
        return;
    if (l->config.linger_ms == 0) {
        server_end(t, cause);
        return;
    }
    l->linger_by = t->now + l->config.linger_ms;
    l->linger_cause = cause;
    t->changed = true;
}

void server_clients(struct turn *t) {
    bool some = t->l->server == LIFECYCLE_READY && t->event->success;
    if (t->l->clients != some)
        t->changed = true;
    t->l->clients = some;
}

bool server_linger(struct turn *t) {
    struct lifecycle *l = t->l;
    enum lifecycle_cause cause = l->linger_cause;
    if (l->linger_by == 0 || server_ending(l))
        return false;
    if (sessions_counting(l) > 0) {
        linger_over(t);
        return true;
    }
    if (l->clients && t->now < l->linger_by)
        return false;
    server_end(t, cause);
    return true;
}

uint64_t server_linger_deadline(const struct lifecycle *l) {
    return l->linger_by == 0 ? LIFECYCLE_NEVER : l->linger_by;
}

/* The grace is for those who were asked. Those who are left never heard of it, and nothing more
 * will come of waiting. */
void server_drained(struct turn *t) {
    if (t->l->drain == LIFECYCLE_DRAIN_TERM)
        server_hurry(t);
}

int lifecycle_exit_code(const struct lifecycle *l) {
    if (l->cause == LIFECYCLE_CAUSE_FINISHED)
        return l->crashed ? 1 : 0;
    return l->cause == LIFECYCLE_CAUSE_FAILED ? lifecycle_failure_code(l) : 0;
}

int lifecycle_failure_code(const struct lifecycle *l) {
    return l->failure == LIFECYCLE_FAILURE_PORT        ? 3
           : l->failure == LIFECYCLE_FAILURE_NOT_READY ? 4
                                                       : 1;
}

/* ---- Time ---- */

/* The tree is gone, or it is there and nothing more can be done about it. */
static bool drain_over(const struct lifecycle *l) {
    return !l->tree || l->drain == LIFECYCLE_DRAIN_STUCK;
}

static bool drain_timer(struct turn *t) {
    struct lifecycle *l = t->l;
    if (drain_over(l) || t->now < l->drain_by)
        return false;
    if (l->drain == LIFECYCLE_DRAIN_TERM)
        server_hurry(t);
    else {
        l->drain = LIFECYCLE_DRAIN_STUCK;
        l->drain_by = 0;
    }
    t->changed = true;
    return true;
}

static bool stopping_timer(struct turn *t) {
    struct lifecycle *l = t->l;
    if (!drain_over(l))
        return drain_timer(t);
    if (l->purpose == LIFECYCLE_TO_RESTART) {
        if (l->tree)
            server_fail(t, LIFECYCLE_FAILURE_STUCK);
        else
            server_become(t, LIFECYCLE_STARTING);
        return true;
    }
    if (!l->port_check) {
        l->survivors = l->tree;
        l->port_check = true;
        l->port_check_by = t->now + l->config.port_check_ms;
        turn_do(t, LIFECYCLE_DO_CHECK_PORTS);
        return true;
    }
    if (t->now < l->port_check_by)
        return false;
    server_stopped(t, false);
    return true;
}

bool server_timers(struct turn *t) {
    struct lifecycle *l = t->l;
    switch (l->server) {
    case LIFECYCLE_STARTING:
        if (t->now < l->ready_by)
            return false;
        server_fail(t, LIFECYCLE_FAILURE_NOT_READY);
        return true;
    case LIFECYCLE_BACKOFF:
        if (!drain_over(l))
            return drain_timer(t);
        if (l->tree) {
            server_fail(t, LIFECYCLE_FAILURE_STUCK);
            return true;
        }
        if (t->now < l->retry_at)
            return false;
        server_become(t, LIFECYCLE_STARTING);
        return true;
    case LIFECYCLE_STOPPING:
        return stopping_timer(t);
    case LIFECYCLE_FAILED:
        return drain_timer(t);
    case LIFECYCLE_READY:
    case LIFECYCLE_STOPPED:
    case LIFECYCLE_SERVER_STATES:
        break;
    }
    return false;
}

uint64_t server_deadline(const struct lifecycle *l) {
    switch (l->server) {
    case LIFECYCLE_STARTING:
        return l->ready_by;
    case LIFECYCLE_BACKOFF:
        return l->tree ? l->drain_by : l->retry_at;
    case LIFECYCLE_STOPPING:
        return l->port_check ? l->port_check_by : l->drain_by;
    case LIFECYCLE_FAILED:
        return drain_over(l) ? LIFECYCLE_NEVER : l->drain_by;
    case LIFECYCLE_READY:
    case LIFECYCLE_STOPPED:
    case LIFECYCLE_SERVER_STATES:
        break;
    }
    return LIFECYCLE_NEVER;
}
