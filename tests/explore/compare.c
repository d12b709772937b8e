/* What the machine did, answered and shows, against what the ghost says that it owes. */
#include "ghost.h"
#include "names.h"

#include <stdarg.h>
#include <stdio.h>

void watch_broken(struct watch *w, int rule, const char *format, ...) {
    va_list args;
    if (w->verdict->rule)
        return;
    w->verdict->rule = rule;
    va_start(args, format);
    vsnprintf(w->verdict->what, sizeof w->verdict->what, format, args);
    va_end(args);
}

static bool machine_ends(const struct lifecycle *l) {
    return l->server == LIFECYCLE_STOPPED ||
           (l->server == LIFECYCLE_STOPPING && l->purpose == LIFECYCLE_TO_END);
}

/* Which rule forbids the end that the machine has begun. */
static int rule_against_end(const struct watch *w) {
    const struct ghost *g = w->g;
    if (g->linger_age != NONE)
        return 9;
    if (w->move->event.kind == LIFECYCLE_ON_LEAVE && w->move->kind == MOVE_EVENT)
        return 9;
    if (w->move->event.kind == LIFECYCLE_ON_EXIT || g->phase == PHASE_FAILED)
        return 8;
    if (g->owner == 0)
        return 5;
    if (g->alone_age == NONE)
        return 1;
    return g->alone_age < w->sc->config.grace_ms ? 3 : 2;
}

static void compare_end(struct watch *w) {
    bool ends = machine_ends(w->l);
    if (ends && !ghost_ending(w->g))
        watch_broken(w, rule_against_end(w), "it ends (%s) although nothing allows it",
                     lifecycle_cause_name(w->l->cause));
    if (!ends && ghost_ending(w->g))
        watch_broken(w, w->end_rule ? w->end_rule : 7, "it does not end although it must");
}

int watch_rule_of_action(const struct watch *w, uint32_t action) {
    switch (action) {
    case LIFECYCLE_DO_SAMPLE_OWNER:
        return w->g->alone_age == NONE || w->g->alone_age < w->sc->config.grace_ms ? 3 : 2;
    case LIFECYCLE_DO_WATCH_OWNER:
        return 4;
    case LIFECYCLE_DO_START:
        return w->g->process != 0 ? 6 : 8;
    case LIFECYCLE_DO_SWEEP:
    case LIFECYCLE_DO_PING:
        return 10;
    default:
        return 6;
    }
}

static void compare_actions(struct watch *w) {
    for (uint32_t action = LIFECYCLE_DO_PING; action <= LIFECYCLE_DO_EXIT; action <<= 1) {
        bool did = w->out->set & action, owed = w->owed & action;
        if (action == LIFECYCLE_DO_PUBLISH || did == owed)
            continue;
        watch_broken(w, watch_rule_of_action(w, action),
                     did ? "'%s' is not due" : "'%s' is due and missing",
                     action_name((enum lifecycle_action)action));
    }
    for (unsigned i = 0; i < ACTORS; i++) {
        bool did = false;
        for (uint32_t k = 0; (w->out->set & LIFECYCLE_DO_PING) && k < w->out->pinged_count; k++)
            did |= w->out->pinged[k] == i + 1;
        if (did != w->pinged[i])
            watch_broken(w, 10, "session %u is %s", i + 1, did ? "pinged too early" : "not pinged");
    }
}

static void compare_answer(struct watch *w) {
    enum lifecycle_event_kind kind = w->move->event.kind;
    if (w->out->answer == w->answer)
        return;
    int rule = kind == LIFECYCLE_ON_STOP || kind == LIFECYCLE_ON_HANDOVER ? 1 : 3;
    if (kind == LIFECYCLE_ON_HANDOVER && w->g->owner == 0)
        rule = 5;
    if (w->answer == LIFECYCLE_ANSWER_STOPPING || w->out->answer == LIFECYCLE_ANSWER_STOPPING)
        rule = 7;
    watch_broken(w, rule, "the answer is '%s' instead of '%s'", answer_name(w->out->answer),
                 answer_name(w->answer));
}

/* Which rule is broken when the machine and the ghost disagree on who is there. */
static int rule_of_sessions(const struct watch *w) {
    if (w->move->event.kind == LIFECYCLE_ON_PROCESS)
        return 10;
    if (w->move->event.kind == LIFECYCLE_ON_HELLO)
        return ghost_ending(w->g) ? 7 : 3;
    if (w->move->event.kind == LIFECYCLE_ON_CLOSED)
        return 3;
    return 9;
}

static void compare_sessions(struct watch *w) {
    static const uint8_t links[] = {[LIFECYCLE_CONNECTED] = SEAT_CONNECTED,
                                    [LIFECYCLE_AWAY] = SEAT_AWAY,
                                    [LIFECYCLE_HELD] = SEAT_HELD};
    for (unsigned i = 0; i < ACTORS; i++) {
        const struct seat *seat = &w->g->seat[i];
        const struct lifecycle_session *s = lifecycle_session_find(w->l, i + 1);
        uint8_t link = s ? links[s->link] : SEAT_EMPTY;
        if (link != seat->link)
            watch_broken(w, rule_of_sessions(w), "session %u is %s", i + 1,
                         s ? lifecycle_link_name((enum lifecycle_link)s->link) : "gone");
        if (s && s->silent != seat->silent)
            watch_broken(w, 10, "session %u %s", i + 1,
                         s->silent ? "no longer counts" : "still counts");
    }
    if (lifecycle_explain(w->l, NOW).sessions != ghost_count_without(w, 0))
        watch_broken(w, 3, "a wrong number of sessions is shown");
}

static void compare_owner(struct watch *w) {
    const struct ghost *g = w->g;
    if (ghost_ending(g))
        return;
    enum lifecycle_ownership expected = LIFECYCLE_UNARMED;
    if (g->owner != 0)
        expected = g->alone_age != NONE ? LIFECYCLE_ORPHAN
                   : g->owner_adopted   ? LIFECYCLE_ADOPTED
                                        : LIFECYCLE_OWNED;
    int rule = g->owner == 0 ? 5 : expected == LIFECYCLE_ORPHAN ? 2 : 4;
    if (g->owner != 0 && w->l->owner_liveness != g->owner_liveness)
        watch_broken(w, rule, "the owner is taken for %s", liveness_name(w->l->owner_liveness));
    if (w->l->owner.pid != g->owner)
        watch_broken(w, rule, "the owner is process %u", (unsigned)w->l->owner.pid);
    if (w->l->ownership != expected)
        watch_broken(w, rule, "it is %s instead of %s", lifecycle_ownership_name(w->l->ownership),
                     lifecycle_ownership_name(expected));
}

/* What `status` says of it. */
static void compare_clients(struct watch *w) {
    bool shown = lifecycle_explain(w->l, NOW).kind == LIFECYCLE_WHY_CLIENTS;
    if (shown != (w->g->linger_age != NONE))
        watch_broken(w, 9, "it is %s to stay for clients", shown ? "said" : "not said");
}

static void compare_server(struct watch *w) {
    static const enum lifecycle_server shown[] = {
        [PHASE_STARTING] = LIFECYCLE_STARTING,   [PHASE_READY] = LIFECYCLE_READY,
        [PHASE_WAITING] = LIFECYCLE_BACKOFF,     [PHASE_FAILED] = LIFECYCLE_FAILED,
        [PHASE_RESTARTING] = LIFECYCLE_STOPPING, [PHASE_ENDING] = LIFECYCLE_STOPPING,
        [PHASE_ENDED] = LIFECYCLE_STOPPED,
    };
    if (w->l->server != shown[w->g->phase])
        watch_broken(w, 8, "the server is shown as %s instead of %s",
                     lifecycle_server_name(w->l->server),
                     lifecycle_server_name(shown[w->g->phase]));
}

/* The end is bounded whatever the server does, and whoever is idle is left asleep. */
static void compare_deadline(struct watch *w) {
    const struct lifecycle_config *c = &w->sc->config;
    const struct ghost *g = w->g;
    uint64_t deadline = lifecycle_deadline(w->l);
    if (g->phase == PHASE_ENDING) {
        if (deadline == LIFECYCLE_NEVER)
            watch_broken(w, 2, "its end waits for something that need not come");
        if (g->phase_age > c->stop_grace_ms + c->kill_limit_ms + c->port_check_ms)
            watch_broken(w, 2, "its end takes longer than all its steps together");
    }
    bool idle = g->phase == PHASE_READY && ghost_seats_taken(g) == 0 && c->idle_limit_ms == 0;
    if (idle && g->alone_age == NONE && g->linger_age == NONE && deadline != LIFECYCLE_NEVER)
        watch_broken(w, 10, "it wants to be woken although nobody is there");
}

void watch_compare(struct watch *w) {
    compare_end(w);
    compare_answer(w);
    compare_sessions(w);
    compare_owner(w);
    compare_actions(w);
    compare_clients(w);
    compare_server(w);
    compare_deadline(w);
}
