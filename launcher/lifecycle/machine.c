/* The entry points: an event is applied, then whatever is due by now is done until nothing is. */
#include "internal.h"

#include <string.h>

static void turn_begin(struct turn *t, struct lifecycle *l, uint64_t now,
                       struct lifecycle_actions *out) {
    *t = (struct turn){.l = l, .now = now, .out = out};
    out->set = 0;
    out->answer = LIFECYCLE_ANSWER_NONE;
    out->dropped_count = 0;
    out->pinged_count = 0;
}

/* ---- Requests ---- */

static void request_stop(struct turn *t, uint32_t caller, bool force) {
    if (!force && !server_ending(t->l) && sessions_block_stop(t->l, caller)) {
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
static void request_handover(struct turn *t, const struct lifecycle_event *event) {
    bool in_use =
        sessions_counting_others(t->l, event->session) > 0 || owner_objects(t->l, &event->process);
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

static void process_seen(struct turn *t, const struct lifecycle_event *event) {
    if (event->liveness == OS_DEAD)
        sessions_process_died(t, &event->process);
    owner_seen(t, &event->process, event->liveness);
}

static void apply(struct turn *t, const struct lifecycle_event *event) {
    switch (event->kind) {
    case LIFECYCLE_ON_HELLO:
        sessions_hello(t, event);
        break;
    case LIFECYCLE_ON_HEARD:
        sessions_heard(t, event->session);
        break;
    case LIFECYCLE_ON_CLOSED:
        sessions_closed(t, event->session);
        break;
    case LIFECYCLE_ON_LEAVE:
        sessions_leave(t, event->session, event->leave);
        break;
    case LIFECYCLE_ON_PROCESS:
        process_seen(t, event);
        break;
    case LIFECYCLE_ON_READY:
        server_ready(t);
        break;
    case LIFECYCLE_ON_UNSTARTED:
        server_unstarted(t, event->failure);
        break;
    case LIFECYCLE_ON_EXIT:
        server_exit(t, event->success);
        break;
    case LIFECYCLE_ON_DRAINED:
        server_drained(t);
        break;
    case LIFECYCLE_ON_TREE_EMPTY:
        server_tree_empty(t);
        break;
    case LIFECYCLE_ON_PORTS:
        server_ports(t, event->success);
        break;
    case LIFECYCLE_ON_STOP:
        request_stop(t, event->session, event->force);
        break;
    case LIFECYCLE_ON_RESTART:
        request_restart(t);
        break;
    case LIFECYCLE_ON_HANDOVER:
        request_handover(t, event);
        break;
    case LIFECYCLE_ON_SIGNAL:
        signal_received(t);
        break;
    case LIFECYCLE_ON_PARENT:
        if (t->l->config.parent_watchdog)
            server_end(t, LIFECYCLE_CAUSE_PARENT);
        break;
    case LIFECYCLE_ON_TIMER:
    case LIFECYCLE_EVENTS:
        break;
    }
}

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
    struct turn t;
    /* Not the slots: untouched pages cost nothing. */
    memset(l, 0, offsetof(struct lifecycle, sessions));
    l->config = *config;
    lifecycle_config_repair(&l->config);
    l->random = seed;
    l->idle_since = now_ms;
    turn_begin(&t, l, now_ms, out);
    owner_begin(&t, owner);
    server_begin(&t);
    turn_finish(&t);
}

void lifecycle_step(struct lifecycle *l, const struct lifecycle_event *event, uint64_t now_ms,
                    struct lifecycle_actions *out) {
    struct turn t;
    turn_begin(&t, l, now_ms, out);
    if (l->server == LIFECYCLE_STOPPED)
        return;
    apply(&t, event);
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
    return earlier(deadline, idle_deadline(l));
}
