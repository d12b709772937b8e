/* The ten rules, told a second time: from what was sent and what came back.
 *
 * ghost_step() first lets the ghost follow the event by the rules, which yields the actions that
 * the machine owes, and then compares: what it did, what it answered, and what it shows. */
#include "ghost.h"

#include <string.h>

/* ---- Who is there ---- */

bool ghost_seat_counts(const struct watch *w, unsigned i) {
    const struct seat *s = &w->g->seat[i];
    return s->link != SEAT_EMPTY && w->sc->plan->roles[i] != LIFECYCLE_ROLE_CLI && !s->silent;
}

unsigned ghost_count_without(const struct watch *w, unsigned actor) {
    unsigned count = 0;
    for (unsigned i = 0; i < ACTORS; i++)
        if (i + 1 != actor && ghost_seat_counts(w, i))
            count++;
    return count;
}

static bool may_own(const struct watch *w, unsigned i) {
    return w->sc->plan->roles[i] == LIFECYCLE_ROLE_EDITOR ||
           w->sc->plan->roles[i] == LIFECYCLE_ROLE_FRONT;
}

bool ghost_ending(const struct ghost *g) {
    return g->phase == PHASE_ENDING || g->phase == PHASE_ENDED;
}

unsigned ghost_seats_taken(const struct ghost *g) {
    unsigned taken = 0;
    for (unsigned i = 0; i < ACTORS; i++)
        taken += g->seat[i].link != SEAT_EMPTY;
    return taken;
}

static void seat_leave(struct ghost *g, unsigned i) {
    for (unsigned k = 0; k < ACTORS; k++)
        if (g->seat[k].link != SEAT_EMPTY && g->seat[k].rank > g->seat[i].rank)
            g->seat[k].rank--;
    memset(&g->seat[i], 0, sizeof g->seat[i]);
    if (ghost_seats_taken(g) == 0)
        g->sweep_age = NONE;
}

static void end_because(struct watch *w, int rule) {
    if (ghost_ending(w->g))
        return;
    w->end_rule = rule;
    w->g->phase = PHASE_ENDING;
    w->g->phase_age = 0;
    w->g->alone_age = w->g->idle_age = w->g->sweep_age = w->g->linger_age = NONE;
    w->g->linger_rule = w->g->clients = 0;
    w->g->asked = 0;
    w->g->crashes = w->g->in_a_row = 0;
    memset(w->g->crash_age, 0, sizeof w->g->crash_age);
}

/* The last has gone: it may stay for clients, if any are there, and only then. */
static void left_alone(struct watch *w, int rule) {
    struct ghost *g = w->g;
    if (g->linger_age != NONE)
        return;
    if (!g->clients || w->sc->config.linger_ms == 0) {
        end_because(w, rule);
        return;
    }
    g->linger_age = 0;
    g->linger_rule = (uint8_t)rule;
}

/* The first in order of arrival that may own and is really there; -1: nobody. */
static int heir(const struct watch *w) {
    int best = -1;
    for (unsigned i = 0; i < ACTORS; i++) {
        const struct seat *s = &w->g->seat[i];
        bool there = s->link == SEAT_CONNECTED || s->link == SEAT_AWAY;
        if (there && !s->silent && may_own(w, i) && (best < 0 || s->rank < w->g->seat[best].rank))
            best = (int)i;
    }
    return best;
}

static void inherit(struct watch *w, int i) {
    w->g->owner = (uint8_t)(i + 1);
    w->g->owner_liveness = OS_UNKNOWN;
    w->g->owner_adopted = 1;
    w->owed |= LIFECYCLE_DO_WATCH_OWNER;
}

/* ---- Events of sessions ---- */

static void on_hello(struct watch *w, unsigned i) {
    struct ghost *g = w->g;
    int from = g->seat[i].link != SEAT_EMPTY ? (int)i : -1;
    if (ghost_ending(g)) {
        w->answer = LIFECYCLE_ANSWER_STOPPING;
        return;
    }
    for (unsigned k = 0;
         from != (int)i && w->sc->plan->roles[i] == LIFECYCLE_ROLE_EDITOR && k < ACTORS; k++)
        if (g->seat[k].link == SEAT_HELD && (from < 0 || g->seat[k].rank < g->seat[from].rank))
            from = (int)k;
    w->answer = from < 0 ? LIFECYCLE_ANSWER_ADMITTED : LIFECYCLE_ANSWER_RESUMED;
    uint8_t rank = from < 0 ? (uint8_t)ghost_seats_taken(g) : g->seat[from].rank;
    if (from >= 0)
        memset(&g->seat[from], 0, sizeof g->seat[from]);
    if (g->sweep_age == NONE)
        g->sweep_age = 0;
    g->seat[i] = (struct seat){.link = SEAT_CONNECTED, .rank = rank};
}

static void on_closed(struct watch *w, unsigned i) {
    if (!may_own(w, i)) {
        seat_leave(w->g, i);
        return;
    }
    w->g->seat[i].link = SEAT_AWAY;
    w->g->seat[i].pinged = 0;
}

static void on_leave_for_good(struct watch *w, unsigned i) {
    struct ghost *g = w->g;
    bool is_owner = g->owner == i + 1;
    seat_leave(g, i);
    if (w->sc->plan->roles[i] != LIFECYCLE_ROLE_EDITOR || g->owner == 0 || ghost_ending(g))
        return;
    if (ghost_count_without(w, 0) == 0) {
        if (!is_owner && g->owner_liveness != OS_DEAD)
            return;
        if (w->move->event.leave == LIFECYCLE_LEAVE_QUIT)
            left_alone(w, 9);
        else
            end_because(w, 9);
    } else if (is_owner && heir(w) >= 0) {
        inherit(w, heir(w));
    }
}

static void on_leave(struct watch *w, unsigned i, enum lifecycle_leave leave) {
    struct seat *s = &w->g->seat[i];
    if (leave == LIFECYCLE_LEAVE_DISABLE || leave == LIFECYCLE_LEAVE_QUIT || !may_own(w, i)) {
        on_leave_for_good(w, i);
        return;
    }
    bool held = leave == LIFECYCLE_LEAVE_RESTART && w->sc->plan->roles[i] == LIFECYCLE_ROLE_EDITOR;
    *s = (struct seat){.link = held ? SEAT_HELD : SEAT_AWAY, .rank = s->rank};
}

static void on_process(struct watch *w, unsigned i, enum os_life liveness) {
    struct ghost *g = w->g;
    bool dead = liveness == OS_DEAD;
    if (dead && g->seat[i].link != SEAT_EMPTY && g->seat[i].link != SEAT_HELD)
        seat_leave(g, i);
    if (g->owner != i + 1 || ghost_ending(g))
        return;
    g->owner_liveness = (uint8_t)liveness;
    if (dead && g->asked)
        left_alone(w, 2);
}

/* ---- Events of the server ---- */

static void enter(struct ghost *g, enum phase phase) {
    g->phase = (uint8_t)phase;
    g->phase_age = 0;
}

static void tree_gone(struct ghost *g) {
    g->process = 0;
    g->term_age = g->kill_age = g->stuck_age = NONE;
}

static void crashed(struct watch *w) {
    struct ghost *g = w->g;
    const struct lifecycle_config *c = &w->sc->config;
    unsigned kept = 0;
    if (g->phase == PHASE_READY && g->phase_age >= c->health_ms)
        g->crashes = g->in_a_row = 0;
    for (unsigned i = 0; i < g->crashes; i++)
        if (g->crash_age[i] < c->crash_window_ms)
            g->crash_age[kept++] = g->crash_age[i];
    g->crash_age[kept++] = 0;
    g->crashes = (uint8_t)kept;
    memset(g->crash_age + kept, 0, MAX_GHOSTS - kept);
    if (g->in_a_row < 5)
        g->in_a_row++;
    g->kill_age = 0;
    w->owed |= LIFECYCLE_DO_KILL_TREE;
    enter(g, g->crashes >= c->crash_limit ? PHASE_FAILED : PHASE_WAITING);
}

static void on_exit_of_root(struct watch *w, bool success) {
    struct ghost *g = w->g;
    g->process = 2;
    if (g->phase != PHASE_STARTING && g->phase != PHASE_READY)
        return;
    if (success || w->sc->config.restart == LIFECYCLE_RESTART_NEVER)
        end_because(w, 8);
    else
        crashed(w);
}

/* ---- Requests ---- */

static void on_stop(struct watch *w, unsigned caller, bool force) {
    bool blocked = false;
    for (unsigned i = 0; i < ACTORS; i++)
        if (i + 1 != caller && w->sc->plan->roles[i] == LIFECYCLE_ROLE_EDITOR &&
            ghost_seat_counts(w, i))
            blocked = true;
    if (blocked && !force && !ghost_ending(w->g)) {
        w->answer = LIFECYCLE_ANSWER_OTHER_EDITORS;
        return;
    }
    w->answer = LIFECYCLE_ANSWER_OK;
    end_because(w, 6);
}

static void on_handover(struct watch *w, unsigned caller) {
    const struct ghost *g = w->g;
    bool by_hand = g->owner == 0;
    bool owner_objects =
        !by_hand && g->owner != caller && g->owner_liveness != OS_DEAD && g->linger_age == NONE;
    if ((ghost_count_without(w, caller) > 0 || owner_objects || by_hand) && !ghost_ending(g)) {
        w->answer = LIFECYCLE_ANSWER_OTHER_SESSIONS;
        return;
    }
    w->answer = LIFECYCLE_ANSWER_OK;
    end_because(w, 6);
}

static void on_restart(struct watch *w) {
    struct ghost *g = w->g;
    w->answer = ghost_ending(g) ? LIFECYCLE_ANSWER_STOPPING : LIFECYCLE_ANSWER_OK;
    if (ghost_ending(g))
        return;
    g->crashes = g->in_a_row = 0;
    memset(g->crash_age, 0, sizeof g->crash_age);
    enter(g, PHASE_RESTARTING);
}

static void on_signal(struct watch *w) {
    w->second_signal = w->g->signals >= 1;
    w->g->signals = w->second_signal ? 2 : 1;
    end_because(w, 6);
}

static void follow_event(struct watch *w) {
    const struct lifecycle_event *e = &w->move->event;
    unsigned i = w->move->actor - 1u;
    switch (e->kind) {
    case LIFECYCLE_ON_HELLO:
        on_hello(w, i);
        break;
    case LIFECYCLE_ON_HEARD:
        w->g->seat[i].quiet = w->g->seat[i].silent = w->g->seat[i].pinged = 0;
        break;
    case LIFECYCLE_ON_CLOSED:
        on_closed(w, i);
        break;
    case LIFECYCLE_ON_LEAVE:
        on_leave(w, i, e->leave);
        break;
    case LIFECYCLE_ON_PROCESS:
        on_process(w, i, e->liveness);
        break;
    case LIFECYCLE_ON_READY:
        enter(w->g, PHASE_READY);
        w->g->was_ready = 1;
        break;
    case LIFECYCLE_ON_UNSTARTED:
        tree_gone(w->g);
        enter(w->g, PHASE_FAILED);
        break;
    case LIFECYCLE_ON_EXIT:
        on_exit_of_root(w, e->success);
        break;
    case LIFECYCLE_ON_TREE_EMPTY:
        tree_gone(w->g);
        break;
    case LIFECYCLE_ON_DRAINED:
        w->drained = w->g->term_age != NONE;
        break;
    case LIFECYCLE_ON_PORTS:
        w->ports_told = true;
        break;
    case LIFECYCLE_ON_STOP:
        on_stop(w, w->move->actor, e->force);
        break;
    case LIFECYCLE_ON_HANDOVER:
        on_handover(w, w->move->actor);
        break;
    case LIFECYCLE_ON_RESTART:
        on_restart(w);
        break;
    case LIFECYCLE_ON_SIGNAL:
        on_signal(w);
        break;
    case LIFECYCLE_ON_PARENT:
        if (w->sc->config.parent_watchdog)
            end_because(w, 6);
        break;
    case LIFECYCLE_ON_CLIENTS:
        w->g->clients = w->g->phase == PHASE_READY && e->success;
        break;
    case LIFECYCLE_ON_TIMER:
    case LIFECYCLE_EVENTS:
        break;
    }
}

/* ---- What time brings ---- */

static void follow_sessions(struct watch *w) {
    const struct lifecycle_config *c = &w->sc->config;
    struct ghost *g = w->g;
    if (ghost_ending(g))
        return;
    for (unsigned i = 0; i < ACTORS; i++)
        if (g->seat[i].link == SEAT_HELD && g->seat[i].held >= c->hold_ms)
            seat_leave(g, i);
    if (g->sweep_age == NONE || g->sweep_age < c->sweep_ms)
        return;
    g->sweep_age = 0;
    w->owed |= LIFECYCLE_DO_SWEEP;
    for (unsigned i = 0; i < ACTORS; i++) {
        struct seat *s = &g->seat[i];
        if (!ghost_seat_counts(w, i) || s->link == SEAT_HELD || c->silence_limit_ms == 0)
            continue;
        if (s->quiet >= c->silence_limit_ms) {
            s->silent = 1;
        } else if (s->quiet >= c->silence_limit_ms / 2 && s->link == SEAT_CONNECTED && !s->pinged) {
            s->pinged = 1;
            w->pinged[i] = true;
            w->owed |= LIFECYCLE_DO_PING;
        }
    }
}

static void follow_owner(struct watch *w) {
    struct ghost *g = w->g;
    bool dead = g->owner != 0 && g->owner_liveness == OS_DEAD;
    if (ghost_ending(g))
        return;
    if (dead && heir(w) >= 0) {
        inherit(w, heir(w));
        dead = false;
    }
    if (!dead || ghost_count_without(w, 0) > 0) {
        g->alone_age = NONE;
        g->asked = 0;
        return;
    }
    if (g->alone_age == NONE)
        g->alone_age = 0;
    if (!g->asked && g->alone_age >= w->sc->config.grace_ms) {
        g->asked = 1;
        w->owed |= LIFECYCLE_DO_SAMPLE_OWNER;
    }
}

/* Somebody comes, the clients go, or it has been long enough. */
static void follow_clients(struct watch *w) {
    struct ghost *g = w->g;
    if (g->phase != PHASE_READY)
        g->clients = 0;
    if (ghost_ending(g) || g->linger_age == NONE)
        return;
    if (ghost_count_without(w, 0) > 0) {
        g->linger_age = NONE;
        g->linger_rule = 0;
    } else if (!g->clients || g->linger_age >= w->sc->config.linger_ms) {
        end_because(w, g->linger_rule);
    }
}

static void follow_idle(struct watch *w) {
    struct ghost *g = w->g;
    uint32_t limit = w->sc->config.idle_limit_ms;
    if (ghost_ending(g))
        return;
    if (limit == 0 || ghost_count_without(w, 0) > 0) {
        g->idle_age = NONE;
        return;
    }
    if (g->idle_age == NONE)
        g->idle_age = 0;
    if (g->idle_age >= limit)
        end_because(w, 5);
}

/* The steps of ending a tree, each at its time and once. */
static void follow_drain(struct watch *w) {
    const struct lifecycle_config *c = &w->sc->config;
    struct ghost *g = w->g;
    bool to_end = ghost_ending(g) || g->phase == PHASE_RESTARTING || g->phase == PHASE_FAILED;
    if (g->process == 0)
        return;
    if (to_end && g->term_age == NONE && g->kill_age == NONE) {
        g->term_age = 0;
        w->owed |= LIFECYCLE_DO_CLOSE_STDIN | LIFECYCLE_DO_TERMINATE;
    }
    bool patience_over = g->term_age != NONE && g->term_age >= c->stop_grace_ms;
    if (g->kill_age == NONE && (patience_over || w->second_signal || w->drained)) {
        g->kill_age = 0;
        w->owed |= LIFECYCLE_DO_KILL_TREE;
    }
    if (g->kill_age != NONE && g->kill_age >= c->kill_limit_ms && g->stuck_age == NONE)
        g->stuck_age = 0;
}

static void started(struct watch *w) {
    tree_gone(w->g);
    w->g->process = 1;
    enter(w->g, PHASE_STARTING);
    w->owed |= LIFECYCLE_DO_START;
}

/* The least and the most that the rule allows for the wait before the next start. */
static void backoff_bounds(const struct watch *w, unsigned *least, unsigned *most) {
    const struct lifecycle_config *c = &w->sc->config;
    *least = *most = 0;
    if (w->g->in_a_row < 2)
        return;
    *least = c->backoff_first_ms << (w->g->in_a_row - 2);
    *most = *least * 2;
    if (*most > c->backoff_cap_ms) {
        *most = c->backoff_cap_ms;
        if (*least > (c->backoff_cap_ms + 1) / 2)
            *least = (c->backoff_cap_ms + 1) / 2;
    }
}

static void follow_waiting(struct watch *w) {
    struct ghost *g = w->g;
    unsigned least, most;
    if (g->process != 0) {
        if (g->stuck_age != NONE)
            enter(g, PHASE_FAILED);
        return;
    }
    backoff_bounds(w, &least, &most);
    bool did = w->out->set & LIFECYCLE_DO_START;
    if (did && g->phase_age < least)
        watch_broken(w, 8, "started again %u ticks after a crash, before %u", g->phase_age, least);
    if (!did && g->phase_age >= most)
        watch_broken(w, 8, "not started again %u ticks after a crash", g->phase_age);
    if (did)
        started(w);
}

static void follow_failed(struct watch *w) {
    struct ghost *g = w->g;
    bool someone = ghost_count_without(w, 0) > 0 || (g->was_ready && g->owner != 0);
    if (!someone)
        end_because(w, 8);
}

static void follow_ending(struct watch *w) {
    struct ghost *g = w->g;
    if (g->process != 0 && g->stuck_age == NONE)
        return;
    if (g->ports_age == NONE) {
        g->ports_age = 0;
        w->owed |= LIFECYCLE_DO_CHECK_PORTS;
    } else if (w->ports_told || g->ports_age >= w->sc->config.port_check_ms) {
        enter(g, PHASE_ENDED);
        g->ports_age = NONE;
        w->owed |= LIFECYCLE_DO_RECORD | LIFECYCLE_DO_EXIT;
    }
}

static void follow_server(struct watch *w) {
    struct ghost *g = w->g;
    uint32_t patience = w->sc->config.ready_timeout_ms;
    if (g->phase == PHASE_STARTING && patience && g->phase_age >= patience)
        enter(g, PHASE_FAILED);
    follow_drain(w);
    if (g->phase == PHASE_RESTARTING && g->process == 0)
        started(w);
    else if (g->phase == PHASE_RESTARTING && g->stuck_age != NONE)
        enter(g, PHASE_FAILED);
    if (g->phase == PHASE_WAITING)
        follow_waiting(w);
    if (g->phase == PHASE_FAILED)
        follow_failed(w);
    if (g->phase == PHASE_ENDING)
        follow_ending(w);
}

/* ---- Entry points ---- */

static void follow_time(struct watch *w) {
    follow_sessions(w);
    follow_owner(w);
    follow_clients(w);
    follow_idle(w);
    follow_server(w);
}

void ghost_begin(const struct scenario *sc, struct node *n, const struct lifecycle_actions *out,
                 struct verdict *verdict) {
    static const struct move none;
    struct ghost *g = &n->ghost;
    struct watch w = {
        .sc = sc, .l = &n->machine, .g = g, .move = &none, .out = out, .verdict = verdict};
    memset(g, 0, sizeof *g);
    g->sweep_age = g->alone_age = g->idle_age = g->linger_age = g->ports_age = NONE;
    g->owner = sc->plan->armed ? 1 : 0;
    if (sc->plan->armed)
        w.owed = LIFECYCLE_DO_WATCH_OWNER;
    started(&w);
    follow_time(&w);
    watch_compare(&w);
}

void ghost_step(const struct scenario *sc, struct node *n, const struct move *move,
                const struct lifecycle_actions *out, struct verdict *verdict) {
    struct watch w = {
        .sc = sc, .l = &n->machine, .g = &n->ghost, .move = move, .out = out, .verdict = verdict};
    follow_event(&w);
    follow_time(&w);
    watch_compare(&w);
}

static int rule_of_due(const struct watch *w) {
    if (w->end_rule)
        return w->end_rule;
    for (uint32_t action = 1; action <= LIFECYCLE_DO_EXIT; action <<= 1)
        if (w->owed & action)
            return watch_rule_of_action(w, action);
    return 9;
}

static void grow(uint8_t *age, uint64_t ticks, uint64_t cap) {
    if (*age == NONE)
        return;
    uint64_t grown = *age + ticks;
    *age = (uint8_t)(grown < cap ? grown : cap);
}

static uint64_t phase_cap(const struct lifecycle_config *c, uint8_t phase) {
    switch (phase) {
    case PHASE_STARTING:
        return c->ready_timeout_ms;
    case PHASE_READY:
        return c->health_ms;
    case PHASE_WAITING:
        return c->backoff_cap_ms;
    case PHASE_ENDING:
        return c->stop_grace_ms + c->kill_limit_ms + c->port_check_ms + 1;
    default:
        return 0;
    }
}

static void ghost_age(const struct lifecycle_config *c, struct ghost *g, uint64_t ticks) {
    for (unsigned i = 0; i < ACTORS; i++) {
        bool runs = g->seat[i].link == SEAT_CONNECTED || g->seat[i].link == SEAT_AWAY;
        grow(&g->seat[i].quiet, runs ? ticks : 0, c->silence_limit_ms);
        grow(&g->seat[i].held, g->seat[i].link == SEAT_HELD ? ticks : 0, c->hold_ms);
    }
    for (unsigned i = 0; i < g->crashes; i++)
        grow(&g->crash_age[i], ticks, c->crash_window_ms);
    grow(&g->sweep_age, ticks, c->sweep_ms);
    grow(&g->alone_age, ticks, c->grace_ms);
    grow(&g->idle_age, ticks, c->idle_limit_ms);
    grow(&g->linger_age, ticks, c->linger_ms);
    grow(&g->phase_age, ticks, phase_cap(c, g->phase));
    grow(&g->term_age, ticks, c->stop_grace_ms);
    grow(&g->kill_age, ticks, c->kill_limit_ms);
    grow(&g->stuck_age, ticks, 0);
    grow(&g->ports_age, ticks, c->port_check_ms);
}

/* A copy of the ghost is led on without any event: what changes is what is due. */
void ghost_wait(const struct scenario *sc, struct node *n, uint64_t ticks,
                struct verdict *verdict) {
    static const struct move none;
    static const struct lifecycle_actions nothing;
    ghost_age(&sc->config, &n->ghost, ticks);
    struct ghost ahead = n->ghost;
    struct watch w = {.sc = sc,
                      .l = &n->machine,
                      .g = &ahead,
                      .move = &none,
                      .out = &nothing,
                      .verdict = verdict};
    follow_time(&w);
    bool due = w.owed != 0 || memcmp(&ahead, &n->ghost, sizeof ahead) != 0;
    bool wakes = lifecycle_deadline(&n->machine) <= NOW;
    if (due && !wakes)
        watch_broken(&w, rule_of_due(&w), "it sleeps although something is due");
    if (wakes && !due && ahead.phase != PHASE_WAITING)
        watch_broken(&w, 10, "it wants to be woken although nothing is due");
    if (wakes && verdict->rule == 8)
        verdict->rule = 0; /* the next start is due just now */
}
