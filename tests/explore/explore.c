/* F10: visits every state that the lifecycle machine can reach, and checks the ten rules in each
 * step.
 *
 * For each scenario a breadth-first search runs to a fixed point: all events in all orders, at
 * every tick between the deadlines and on both sides of each. Because it is breadth-first, the
 * trace printed for a broken rule is a shortest one.
 *
 * `explore NAME` runs one scenario, `explore --first` ends with the first rule broken. */
#include "names.h"
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "space.h"

#define RULES 10

static const char *const rule_titles[RULES + 1] = {
    "",
    "a live or unknown owner, or a session, keeps the server",
    "owner dead and no session, seen twice a grace apart, ends it in bounded time",
    "a gap shorter than the grace never ends it, and an absent session counts and resumes",
    "the oldest session inherits from a dead owner",
    "without an owner only a stop, a signal or the idle limit ends it",
    "stopping escalates in order, once each, and then checks and records",
    "nobody is admitted once it ends, and everybody before",
    "crashes lead to restarts, backoff, giving up and forgetting",
    "leaving ends it, keeps it or keeps a place, by the reason given",
    "dead and silent peers are found, and nobody is woken for nothing",
};

static void add(struct space *s, const struct scenario *sc, const struct node *n, uint32_t parent,
                unsigned move) {
    uint8_t bytes[NODE_BYTES] = {0};
    node_pack(sc, n, bytes);
    space_add(s, bytes, parent, move);
}

/* ---- One move ---- */

/* Carries out the move and checks. */
static void move_make(const struct scenario *sc, struct node *n, const struct move *m,
                      struct lifecycle_actions *out, struct verdict *verdict) {
    if (m->kind == MOVE_EVENT) {
        n->machine.crashes.random = m->seed ? 0x80000000u : 0;
        lifecycle_step(&n->machine, &m->event, NOW, out);
        ghost_step(sc, n, m, out, verdict);
        return;
    }
    uint64_t ticks = m->kind == MOVE_TICK ? 1 : lifecycle_deadline(&n->machine) - NOW;
    node_age(&n->machine, ticks);
    ghost_wait(sc, n, ticks, verdict);
}

/* ---- Reporting ---- */

static void actions_print(const struct lifecycle_actions *out) {
    for (uint32_t action = 1; action <= LIFECYCLE_DO_EXIT; action <<= 1)
        if (out->set & action & ~(uint32_t)LIFECYCLE_DO_PUBLISH)
            printf(" [%s]", action_name((enum lifecycle_action)action));
}

static void step_print(const struct scenario *sc, const struct space *s, uint32_t from,
                       unsigned index, struct verdict *verdict) {
    struct lifecycle_actions out = {0};
    struct move moves[MAX_MOVES];
    struct node n;
    char text[120];
    node_unpack(sc, space_node(s, from), &n);
    moves_list(sc, &n, moves);
    move_describe(sc, &moves[index], text, sizeof text);
    move_make(sc, &n, &moves[index], &out, verdict);
    printf("#   %-44s -> %s, %s", text, lifecycle_server_name(n.machine.server),
           lifecycle_ownership_name(n.machine.ownership));
    actions_print(&out);
    printf("\n");
}

static void trace_print(const struct scenario *sc, const struct space *s, uint32_t state,
                        unsigned last) {
    uint32_t path[512];
    unsigned length = 0;
    struct verdict verdict = {0};
    for (uint32_t at = state; s->parent[at] != NO_STATE && length < 512; at = s->parent[at])
        path[length++] = at;
    while (length-- > 0)
        step_print(sc, s, s->parent[path[length]], s->move[path[length]], &verdict);
    step_print(sc, s, state, last, &verdict);
}

/* ---- The search ---- */

struct result {
    bool broken[RULES + 1];
    uint64_t states, moves;
};

static void report(const struct scenario *sc, const struct space *s, uint32_t state, unsigned last,
                   const struct verdict *verdict, struct result *result) {
    if (result->broken[verdict->rule])
        return; /* one trace for each rule will do */
    result->broken[verdict->rule] = true;
    printf("not ok %d - rule %d: %s\n", verdict->rule, verdict->rule, rule_titles[verdict->rule]);
    printf("# in scenario '%s': %s\n", sc->plan->name, verdict->what);
    trace_print(sc, s, state, last);
}

static bool space_begin(struct space *s, const struct scenario *sc, struct result *result) {
    const struct os_identity owner = {sc->plan->armed ? 1 : 0, 1};
    struct lifecycle_actions out;
    struct verdict verdict = {0};
    struct node n;
    memset(&n, 0, sizeof n);
    lifecycle_init(&n.machine, &sc->config, &owner, 0, NOW, &out);
    ghost_begin(sc, &n, &out, &verdict);
    if (verdict.rule) {
        result->broken[verdict.rule] = true;
        printf("not ok %d - rule %d: at the very beginning: %s\n", verdict.rule, verdict.rule,
               verdict.what);
        return false;
    }
    add(s, sc, &n, NO_STATE, 0);
    return true;
}

static bool state_expand(struct space *s, const struct scenario *sc, uint32_t state,
                         struct result *result) {
    struct lifecycle_actions out;
    struct move moves[MAX_MOVES];
    struct node from;
    node_unpack(sc, space_node(s, state), &from);
    unsigned count = moves_list(sc, &from, moves);
    for (unsigned i = 0; i < count; i++) {
        struct verdict verdict = {0};
        struct node n = from;
        move_make(sc, &n, &moves[i], &out, &verdict);
        result->moves++;
        if (verdict.rule) {
            report(sc, s, state, i, &verdict, result);
            return false;
        }
        add(s, sc, &n, state, i);
    }
    return true;
}

static void scenario_run(const struct scenario_plan *plan, struct result *result) {
    struct scenario scenario;
    const struct scenario *sc = &scenario;
    struct space space;
    scenario_open(plan, &scenario);
    uint64_t moves = result->moves;
    space_open(&space, NODE_BYTES);
    bool sound = space_begin(&space, sc, result);
    for (uint32_t state = 0; sound && state < space.count; state++)
        sound = state_expand(&space, sc, state, result);
    result->states += space.count;
    printf("# %s: %u states, %llu transitions\n", sc->plan->name, space.count,
           (unsigned long long)(result->moves - moves));
    fflush(stdout);
    space_close(&space);
}

static int failures(const struct result *result) {
    int count = 0;
    for (int rule = 1; rule <= RULES; rule++)
        count += result->broken[rule];
    return count;
}

int main(int argc, char **argv) {
    struct result result = {{0}, 0, 0};
    bool first = argc > 1 && strcmp(argv[1], "--first") == 0;
    const char *only = argc > 1 && !first ? argv[1] : NULL;
    printf("1..%d\n", RULES);
    for (size_t i = 0; i < scenario_count && !(first && failures(&result)); i++)
        if (!only || strcmp(only, scenario_plans[i].name) == 0)
            scenario_run(&scenario_plans[i], &result);
    for (int rule = 1; rule <= RULES; rule++) {
        if (!result.broken[rule])
            printf("ok %d - rule %d: %s\n", rule, rule, rule_titles[rule]);
    }
    printf("# %llu states, %llu transitions\n", (unsigned long long)result.states,
           (unsigned long long)result.moves);
    if (result.states == 0)
        fprintf(stderr, "explore: there is no scenario '%s'\n", only ? only : "");
    return result.states == 0 || failures(&result) ? 1 : 0;
}
