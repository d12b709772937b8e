/* Everything that can happen in a node. The server and the peers are free to do anything that is
 * physically possible, or nothing at all. */
#include "names.h"
#include "world.h"

#include <stdio.h>
#include <string.h>

struct list {
    const struct scenario *sc;
    const struct node *n;
    struct move *moves;
    unsigned count;
};

static struct move *list_add(struct list *list, enum lifecycle_event_kind kind, unsigned actor) {
    struct move *m = &list->moves[list->count++];
    memset(m, 0, sizeof *m);
    m->actor = (uint8_t)actor;
    m->event.kind = kind;
    m->event.session = actor;
    m->event.process = (struct os_identity){actor, 1};
    return m;
}

static void list_session(struct list *list, unsigned actor) {
    uint8_t link = list->n->ghost.seat[actor - 1].link;
    if (link != SEAT_CONNECTED) {
        struct move *hello = list_add(list, LIFECYCLE_ON_HELLO, actor);
        hello->event.role = list->sc->plan->roles[actor - 1];
        hello->event.resume = link == SEAT_EMPTY ? 0 : actor;
        return;
    }
    list_add(list, LIFECYCLE_ON_HEARD, actor);
    list_add(list, LIFECYCLE_ON_CLOSED, actor);
    for (int leave = LIFECYCLE_LEAVE_DISABLE; leave <= LIFECYCLE_LEAVE_RESTART; leave++)
        list_add(list, LIFECYCLE_ON_LEAVE, actor)->event.leave = (enum lifecycle_leave)leave;
}

static void list_process(struct list *list, unsigned actor) {
    static const enum os_life seen[] = {OS_DEAD, OS_ALIVE, OS_UNKNOWN};
    const struct ghost *g = &list->n->ghost;
    if (g->owner != actor && g->seat[actor - 1].link == SEAT_EMPTY)
        return;
    for (unsigned i = 0; i < (list->sc->plan->misfires && g->owner == actor ? 3u : 1u); i++)
        list_add(list, LIFECYCLE_ON_PROCESS, actor)->event.liveness = seen[i];
}

static void list_server(struct list *list) {
    const struct ghost *g = &list->n->ghost;
    if (g->process == 1 && list->sc->plan->misfires)
        list_add(list, LIFECYCLE_ON_DRAINED, 0);
    if (g->process == 1) {
        for (uint32_t seed = 0; seed < 2; seed++)
            list_add(list, LIFECYCLE_ON_EXIT, 0)->seed = seed;
        list_add(list, LIFECYCLE_ON_EXIT, 0)->event.success = true;
        if (g->phase == PHASE_STARTING) {
            list_add(list, LIFECYCLE_ON_READY, 0);
            list_add(list, LIFECYCLE_ON_UNSTARTED, 0)->event.failure = LIFECYCLE_FAILURE_SPAWN;
        }
    }
    if (g->process == 1 && list->sc->plan->clients)
        list_add(list, LIFECYCLE_ON_CLIENTS, 0)->event.success = !g->clients;
    if (g->process == 2) {
        list_add(list, LIFECYCLE_ON_TREE_EMPTY, 0);
        list_add(list, LIFECYCLE_ON_DRAINED, 0);
    }
    if (g->ports_age != NONE) {
        list_add(list, LIFECYCLE_ON_PORTS, 0)->event.success = true;
        list_add(list, LIFECYCLE_ON_PORTS, 0)->event.success = false;
    }
}

static void list_requests(struct list *list) {
    for (unsigned caller = 0; caller <= list->sc->plan->actors; caller++) {
        if (caller > 0 && list->n->ghost.seat[caller - 1].link != SEAT_CONNECTED)
            continue;
        list_add(list, LIFECYCLE_ON_STOP, caller);
        list_add(list, LIFECYCLE_ON_HANDOVER, caller);
    }
    list_add(list, LIFECYCLE_ON_STOP, 0)->event.force = true;
    list_add(list, LIFECYCLE_ON_RESTART, 0);
}

static void list_signals(struct list *list) {
    list_add(list, LIFECYCLE_ON_SIGNAL, 0);
    list_add(list, LIFECYCLE_ON_PARENT, 0);
}

/* Waiting ends at the deadline: whether the timer or some other event is noticed first there is
 * open. A single tick lets things happen in the middle of every interval. */
static void list_time(struct list *list) {
    uint64_t deadline = lifecycle_deadline(&list->n->machine);
    if (deadline <= NOW) {
        list_add(list, LIFECYCLE_ON_TIMER, 0);
        return;
    }
    list_add(list, LIFECYCLE_ON_TIMER, 0)->kind = MOVE_TICK;
    if (deadline != LIFECYCLE_NEVER && deadline > NOW + 1)
        list_add(list, LIFECYCLE_ON_TIMER, 0)->kind = MOVE_WAIT;
}

unsigned moves_list(const struct scenario *sc, const struct node *n, struct move moves[MAX_MOVES]) {
    struct list list = {sc, n, moves, 0};
    if (n->ghost.phase == PHASE_ENDED)
        return 0;
    for (unsigned actor = 1; actor <= sc->plan->actors; actor++) {
        list_session(&list, actor);
        list_process(&list, actor);
    }
    list_server(&list);
    if (sc->plan->requests)
        list_requests(&list);
    if (sc->plan->signals)
        list_signals(&list);
    list_time(&list);
    return list.count;
}

static void event_describe(const struct scenario *sc, const struct move *m, char *text,
                           size_t size) {
    const struct lifecycle_event *e = &m->event;
    const char *name = event_name(e->kind);
    const char *role = m->actor ? lifecycle_role_name(sc->plan->roles[m->actor - 1]) : "nobody";
    switch (e->kind) {
    case LIFECYCLE_ON_LEAVE:
        snprintf(text, size, "%s %u leaves: %s", role, m->actor, leave_name(e->leave));
        break;
    case LIFECYCLE_ON_PROCESS:
        snprintf(text, size, "process of %s %u is seen %s", role, m->actor,
                 liveness_name(e->liveness));
        break;
    case LIFECYCLE_ON_EXIT:
        snprintf(text, size, "the server exits, %s", e->success ? "well" : "badly");
        break;
    case LIFECYCLE_ON_PORTS:
        snprintf(text, size, "ports are seen %s", e->success ? "free" : "busy");
        break;
    case LIFECYCLE_ON_STOP:
        snprintf(text, size, "%s stop asked by %s %u", e->force ? "forced" : "plain", role,
                 m->actor);
        break;
    default:
        if (m->actor)
            snprintf(text, size, "%s: %s %u", name, role, m->actor);
        else
            snprintf(text, size, "%s", name);
        break;
    }
}

void move_describe(const struct scenario *sc, const struct move *m, char *text, size_t size) {
    if (m->kind == MOVE_EVENT)
        event_describe(sc, m, text, size);
    else
        snprintf(text, size, "%s",
                 m->kind == MOVE_WAIT ? "time passes up to the deadline" : "one tick passes");
}
