/* The entry points: an event is applied, then whatever is due by now is done until nothing is. */
#include "internal.h"

#include <string.h>

static struct turn turn_begin(struct lifecycle *l, const struct lifecycle_event *event,
                              uint64_t now, struct lifecycle_actions *out) {
    out->set = 0;
    out->answer = LIFECYCLE_ANSWER_NONE;
    out->dropped_count = 0;
    out->pinged_count = 0;
    return (struct turn){.l = l, .event = event, .now = now, .out = out};
}

/* ---- Events ---- */

static void request_stop(struct turn *t) {
    if (!t->event->force && !server_ending(t->l) && sessions_block_stop(t->l, t->event->session)) {
        turn_answer(t, LIFECYCLE_ANSWER_OTHER_EDITORS);
        return;
    }
    turn_answer(t, LIFECYCLE_ANSWER_OK);
    server_end(t, LIFECYCLE_CAUSE_REQUEST);
}

static void request_restart(struct turn *t) {
    if (server_ending(t->l)) {
        turn_answer(t, LIFECYCLE_ANSWER_STOPPING);
        return;
    }
    turn_answer(t, LIFECYCLE_ANSWER_OK);
    server_restart(t);
}

/* Asked for by a session, on behalf of a process. */
static void request_handover(struct turn *t) {
    bool in_use = sessions_counting_others(t->l, t->event->session) > 0 ||
                  (t->l->linger_by == 0 && owner_objects(t->l, &t->event->process));
    if (!server_ending(t->l) && in_use) {
        turn_answer(t, LIFECYCLE_ANSWER_OTHER_SESSIONS);
        return;
    }
    turn_answer(t, LIFECYCLE_ANSWER_OK);
    server_end(t, LIFECYCLE_CAUSE_HANDOVER);
}

static void signal_received(struct turn *t) {
    if (t->l->signals < 2)
        t->l->signals++;
    server_end(t, LIFECYCLE_CAUSE_SIGNAL);
    if (t->l->signals == 2)
        server_hurry(t);
}

static void parent_died(struct turn *t) {
    if (t->l->config.parent_watchdog)
        server_end(t, LIFECYCLE_CAUSE_PARENT);
}

static void process_seen(struct turn *t) {
    if (t->event->liveness == OS_DEAD)
        sessions_process_died(t, &t->event->process);
    owner_seen(t, &t->event->process, t->event->liveness);
}

static void (*const handlers[LIFECYCLE_EVENTS])(struct turn *t) = {
    [LIFECYCLE_ON_HELLO] = sessions_hello,       [LIFECYCLE_ON_HEARD] = sessions_heard,
    [LIFECYCLE_ON_CLOSED] = sessions_closed,     [LIFECYCLE_ON_LEAVE] = sessions_leave,
    [LIFECYCLE_ON_PROCESS] = process_seen,       [LIFECYCLE_ON_READY] = server_ready,
    [LIFECYCLE_ON_UNSTARTED] = server_unstarted, [LIFECYCLE_ON_EXIT] = server_exit,
    [LIFECYCLE_ON_DRAINED] = server_drained,     [LIFECYCLE_ON_TREE_EMPTY] = server_tree_empty,
    [LIFECYCLE_ON_PORTS] = server_ports,         [LIFECYCLE_ON_STOP] = request_stop,
    [LIFECYCLE_ON_RESTART] = request_restart,    [LIFECYCLE_ON_HANDOVER] = request_handover,
    [LIFECYCLE_ON_SIGNAL] = signal_received,     [LIFECYCLE_ON_PARENT] = parent_died,
    [LIFECYCLE_ON_CLIENTS] = server_clients,
};

/* ---- What follows from the state alone ---- */

/* Keeps the moment since which no session counts. */
static void idle_note(struct turn *t) {
    if (sessions_counting(t->l) > 0 || server_ending(t->l))
        t->l->idle_since = LIFECYCLE_NEVER;
    else if (t->l->idle_since == LIFECYCLE_NEVER)
        t->l->idle_since = t->now;
}

static uint64_t idle_deadline(const struct lifecycle *l) {
    if (l->config.idle_limit_ms == 0 || l->idle_since == LIFECYCLE_NEVER || server_ending(l))
        return LIFECYCLE_NEVER;
    return l->idle_since + l->config.idle_limit_ms;
}

static bool idle_settle(struct turn *t) {
    if (t->now < idle_deadline(t->l))
        return false;
    server_end(t, LIFECYCLE_CAUSE_IDLE);
    return true;
}

/* A failed server is kept for those who can see the reason or ask for a restart: sessions, or an
 * owner who has seen it ready before. A first start that fails is reported by whoever launched it.
 * A dead owner is not a case for here: the second look decides. */
static bool failed_settle(struct turn *t) {
    const struct lifecycle *l = t->l;
    if (l->server != LIFECYCLE_FAILED || sessions_counting(l) > 0)
        return false;
    if (l->was_ready && l->ownership != LIFECYCLE_UNARMED)
        return false;
    server_end(t, LIFECYCLE_CAUSE_FAILED);
    return true;
}

/* Each of these moves something forward or says that there is nothing to do; none can undo what
 * another did at the same `now`, so this comes to rest. */
static bool settle(struct turn *t) {
    bool moved = sessions_timers(t);
    idle_note(t);
    moved |= owner_settle(t);
    moved |= server_linger(t);
    moved |= idle_settle(t);
    moved |= server_timers(t);
    moved |= failed_settle(t);
    return moved;
}

static void turn_finish(struct turn *t) {
    while (settle(t))
        ;
    if (t->changed)
        turn_do(t, LIFECYCLE_DO_PUBLISH);
}

/* ---- Entry points ---- */

void lifecycle_init(struct lifecycle *l, const struct lifecycle_config *config,
                    const struct os_identity *owner, uint32_t seed, uint64_t now_ms,
                    struct lifecycle_actions *out) {
    struct turn t = turn_begin(l, NULL, now_ms, out);
    /* Not the slots: untouched pages cost nothing. */
    memset(l, 0, offsetof(struct lifecycle, sessions));
    l->config = *config;
    lifecycle_config_repair(&l->config);
    l->crashes.random = seed;
    l->idle_since = now_ms;
    owner_begin(&t, owner);
    server_begin(&t);
    turn_finish(&t);
}

void lifecycle_step(struct lifecycle *l, const struct lifecycle_event *event, uint64_t now_ms,
                    struct lifecycle_actions *out) {
    struct turn t = turn_begin(l, event, now_ms, out);
    if (l->server == LIFECYCLE_STOPPED)
        return;
    if (event->kind < LIFECYCLE_EVENTS && handlers[event->kind])
        handlers[event->kind](&t);
    turn_finish(&t);
}

static uint64_t earlier(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

uint64_t lifecycle_deadline(const struct lifecycle *l) {
    uint64_t deadline = server_deadline(l);
    if (server_ending(l))
        return deadline;
    deadline = earlier(deadline, sessions_deadline(l));
    deadline = earlier(deadline, owner_deadline(l));
    deadline = earlier(deadline, server_linger_deadline(l));
    return earlier(deadline, idle_deadline(l));
}
