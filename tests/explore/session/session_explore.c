/* Visits every state that a session of the extension with the launcher can reach, under every order
 * of events, and checks in each step what an outside observer can tell; then, that whatever is
 * awaited comes to an end once it is answered.
 *
 * Because the search goes breadth first, the trace printed for a broken rule is a shortest one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../space.h"
#include "session_ghost.h"

enum { RULES = 8, SESSION_BYTES = 8, NODE_BYTES = 24, TRACE_MOST = 256 };

static const char *const rule_titles[RULES + 1] = {
    "",
    "one launch, one connection, one timer, and nothing is said to nobody",
    "a stop ends what was started, and nothing is started after it",
    "what is to be started is started, or it is told why not",
    "who leaves starts and tells nothing more, and is soon gone",
    "each launch has one outcome that is told, and what is told is so",
    "a lost daemon is looked for at once, then later each time, and not for ever",
    "a session is resumed if it was lost, and only then",
    "once all is answered, nothing is owed",
};

/* ---- what can happen ---- */

static const struct {
    const char *name;
    struct session_event event;
} moves[] = {
    {"start", {.kind = SESSION_ON_START}},
    {"start with other properties", {.kind = SESSION_ON_START, .changed = true}},
    {"stop", {.kind = SESSION_ON_STOP}},
    {"stop, forced", {.kind = SESSION_ON_STOP, .forced = true}},
    {"restart", {.kind = SESSION_ON_RESTART}},
    {"restart with other properties", {.kind = SESSION_ON_RESTART, .changed = true}},
    {"restart with other properties, forced",
     {.kind = SESSION_ON_RESTART, .changed = true, .forced = true}},
    {"restart on other ports", {.kind = SESSION_ON_RESTART, .changed = true, .elsewhere = true}},
    {"leave", {.kind = SESSION_ON_LEAVE}},
    {"leave in a hurry", {.kind = SESSION_ON_LEAVE, .hurry = true}},
    {"a daemon listens", {.kind = SESSION_ON_LISTENING}},
    {"launched", {.kind = SESSION_ON_LAUNCHED}},
    {"launch failed", {.kind = SESSION_ON_UNLAUNCHED}},
    {"launch failed for good", {.kind = SESSION_ON_UNLAUNCHED, .hopeless = true}},
    {"welcome", {.kind = SESSION_ON_WELCOME}},
    {"welcome, failed", {.kind = SESSION_ON_WELCOME, .server = SESSION_SERVER_FAILED}},
    {"welcome, ending", {.kind = SESSION_ON_WELCOME, .server = SESSION_SERVER_ENDING}},
    {"no welcome", {.kind = SESSION_ON_REFUSED}},
    {"no welcome, for it ends", {.kind = SESSION_ON_REFUSED, .ending = true}},
    {"the server goes", {.kind = SESSION_ON_STATE}},
    {"the server has failed", {.kind = SESSION_ON_STATE, .server = SESSION_SERVER_FAILED}},
    {"the server ends", {.kind = SESSION_ON_STATE, .server = SESSION_SERVER_ENDING}},
    {"the stop is refused", {.kind = SESSION_ON_STOP_REFUSED}},
    {"the restart is refused", {.kind = SESSION_ON_RESTART_REFUSED}},
    {"the restart is refused, for it ends", {.kind = SESSION_ON_RESTART_REFUSED, .ending = true}},
    {"the connection is lost", {.kind = SESSION_ON_LOST}},
    {"the connection is lost after a long time", {.kind = SESSION_ON_LOST, .healthy = true}},
    {"the pause is over", {.kind = SESSION_ON_RETRY_DUE}},
    {"the last word is out", {.kind = SESSION_ON_FAREWELL_OVER}},
};

enum { MOVES = sizeof moves / sizeof moves[0] };

/* ---- states as bytes ---- */

_Static_assert(SESSION_BYTES + sizeof(struct ghost) <= NODE_BYTES, "a node does not fit");

static void pack(const struct node *n, uint8_t bytes[NODE_BYTES]) {
    const struct session *s = &n->session;
    const uint8_t head[SESSION_BYTES] = {(uint8_t)s->phase,  (uint8_t)s->want, s->forced,
                                         s->launching,       s->lost,          s->attempts,
                                         (uint8_t)s->server, s->withheld};
    memset(bytes, 0, NODE_BYTES);
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + sizeof head, &n->ghost, sizeof n->ghost);
}

static void unpack(const uint8_t bytes[NODE_BYTES], struct node *n) {
    n->session = (struct session){.phase = bytes[0],
                                  .want = bytes[1],
                                  .forced = bytes[2],
                                  .launching = bytes[3],
                                  .lost = bytes[4],
                                  .attempts = bytes[5],
                                  .server = bytes[6],
                                  .withheld = bytes[7]};
    memcpy(&n->ghost, bytes + SESSION_BYTES, sizeof n->ghost);
}

static void make(struct node *n, unsigned move, struct session_actions *out, struct verdict *v) {
    session_step(&n->session, &moves[move].event, out);
    ghost_step(n, &moves[move].event, out, v);
}

/* ---- reporting ---- */

static const char *const phases[] = {"idle",     "launching", "connecting", "connected",
                                     "retrying", "leaving",   "over"};
static const char *const wants[] = {"run",   "stop",  "anew",          "fail",
                                    "after", "leave", "stop and leave"};
static const char *const actions[] = {
    "stop the timer", "keep the reason", "say disable",    "abort launch", "disconnect",
    "forget",         "connect",         "tell launched",  "tell failed",  "tell state",
    "tell refused",   "tell stopped",    "tell failure",   "tell lost",    "tell launching",
    "follow the log", "ask to stop",     "ask to restart", "launch",       "arm a retry",
    "farewell",       "finish"};

static void step_print(const struct space *s, uint32_t from, unsigned move) {
    struct session_actions out;
    struct verdict verdict = {0};
    struct node n;
    unpack(space_node(s, from), &n);
    make(&n, move, &out, &verdict);
    printf("#   %-40s -> %s, %s", moves[move].name, phases[n.session.phase], wants[n.session.want]);
    for (unsigned i = 0; i < sizeof actions / sizeof actions[0]; i++)
        if (out.set & 1u << i)
            printf(" [%s]", actions[i]);
    printf("\n");
}

static void trace_print(const struct space *s, uint32_t state) {
    uint32_t path[TRACE_MOST];
    unsigned length = 0;
    for (uint32_t at = state; s->parent[at] != NO_STATE && length < TRACE_MOST; at = s->parent[at])
        path[length++] = at;
    while (length-- > 0)
        step_print(s, s->parent[path[length]], s->move[path[length]]);
}

static void report(int rule, const char *what) {
    printf("not ok %d - rule %d: %s\n# %s\n# in scenario 'session':\n", rule, rule,
           rule_titles[rule], what);
}

/* ---- every state ---- */

struct result {
    bool broken[RULES + 1];
    uint64_t transitions;
};

static void expand(struct space *s, uint32_t state, struct result *result) {
    struct node from;
    unpack(space_node(s, state), &from);
    for (unsigned move = 0; move < MOVES; move++) {
        struct node n = from;
        struct session_actions out;
        struct verdict verdict = {0};
        uint8_t bytes[NODE_BYTES];
        if (!ghost_allows(&from.ghost, &moves[move].event))
            continue;
        make(&n, move, &out, &verdict);
        result->transitions++;
        if (verdict.rule && !result->broken[verdict.rule]) {
            result->broken[verdict.rule] = true;
            report(verdict.rule, verdict.what);
            trace_print(s, state);
            step_print(s, state, move);
        }
        if (verdict.rule)
            continue;
        pack(&n, bytes);
        space_add(s, bytes, state, move);
    }
}

static void search(struct space *s, struct result *result) {
    struct node first = {0};
    uint8_t bytes[NODE_BYTES];
    ghost_begin(&first.ghost);
    pack(&first, bytes);
    space_add(s, bytes, NO_STATE, 0);
    for (uint32_t state = 0; state < s->count; state++)
        expand(s, state, result);
}

/* ---- every way to the end ---- */

enum { UNSEEN, ON_THE_WAY, DONE };

struct walk {
    const struct space *s;
    uint8_t *seen;
    uint32_t *path; /* states that wait for the end of one after them */
    uint8_t *next;  /* the move that each goes on with */
    uint32_t length;
};

/* The state after the next answer that a state waits for, or NO_STATE. */
static uint32_t next_answer(struct walk *w, uint32_t state, uint8_t *move, bool *waits) {
    struct node from;
    unpack(space_node(w->s, state), &from);
    for (; *move < MOVES; ++*move) {
        struct node n = from;
        struct session_actions out;
        struct verdict verdict = {0};
        uint8_t bytes[NODE_BYTES];
        if (!ghost_awaits(&from.ghost, &moves[*move].event))
            continue;
        *waits = true;
        make(&n, *move, &out, &verdict);
        pack(&n, bytes);
        ++*move;
        return verdict.rule ? NO_STATE : space_find(w->s, bytes);
    }
    return NO_STATE;
}

static bool is_at_rest(const struct ghost *g) {
    return g->over || (g->owed == OWED_NOTHING &&
                       (ghost_is_idle(g) || (g->link == LINK_WELCOMED && g->shown == g->server)));
}

static const char *walk_from(struct walk *w, uint32_t first) {
    w->path[0] = first;
    w->next[0] = 0;
    w->length = 1;
    w->seen[first] = ON_THE_WAY;
    while (w->length > 0) {
        uint32_t state = w->path[w->length - 1], after;
        uint8_t *move = &w->next[w->length - 1];
        bool waits = *move > 0;
        struct node n;
        after = next_answer(w, state, move, &waits);
        unpack(space_node(w->s, state), &n);
        if (!waits && !is_at_rest(&n.ghost))
            return "it waits for nothing, and something is owed";
        if (after == NO_STATE) {
            w->seen[state] = DONE;
            w->length--;
        } else if (w->seen[after] == ON_THE_WAY) {
            return "answers lead round in a circle";
        } else if (w->seen[after] == UNSEEN) {
            w->seen[after] = ON_THE_WAY;
            w->path[w->length] = after;
            w->next[w->length++] = 0;
        }
    }
    return NULL;
}

static void walk_all(const struct space *s, struct result *result) {
    struct walk w = {.s = s,
                     .seen = calloc(s->count, 1),
                     .path = calloc(s->count, sizeof(uint32_t)),
                     .next = calloc(s->count, 1)};
    const char *wrong = NULL;
    if (!w.seen || !w.path || !w.next)
        exit(2);
    for (uint32_t state = 0; state < s->count && !wrong; state++)
        if (w.seen[state] == UNSEEN)
            wrong = walk_from(&w, state);
    if (wrong) {
        result->broken[RULES] = true;
        report(RULES, wrong);
        trace_print(s, w.path[0]);
        printf("#   and from there, answered:\n");
        for (uint32_t i = 0; i < w.length; i++)
            if (w.next[i] > 0 && w.next[i] <= MOVES)
                step_print(s, w.path[i], w.next[i] - 1u);
    }
    free(w.seen);
    free(w.path);
    free(w.next);
}

static uint32_t count_sessions(const struct space *s) {
    struct space own;
    uint32_t count;
    space_open(&own, SESSION_BYTES);
    for (uint32_t state = 0; state < s->count; state++)
        space_add(&own, space_node(s, state), NO_STATE, 0);
    count = own.count;
    space_close(&own);
    return count;
}

int main(void) {
    struct result result = {{0}, 0};
    struct space space;
    int failures = 0;
    printf("1..%d\n", RULES);
    space_open(&space, NODE_BYTES);
    search(&space, &result);
    for (int rule = 1; rule < RULES; rule++)
        failures += result.broken[rule];
    if (failures == 0)
        walk_all(&space, &result);
    for (int rule = 1; rule <= RULES; rule++) {
        if (!result.broken[rule] && (rule < RULES || failures == 0))
            printf("ok %d - rule %d: %s\n", rule, rule, rule_titles[rule]);
    }
    printf("# %u states, %llu transitions; %u states of the session without its observer\n",
           space.count, (unsigned long long)result.transitions, count_sessions(&space));
    space_close(&space);
    return failures || result.broken[RULES] ? 1 : 0;
}
