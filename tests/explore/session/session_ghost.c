#include "session_ghost.h"

#include <stdarg.h>
#include <stdio.h>

enum { TRIES_MOST = 8 };

struct watch {
    struct ghost *g;
    struct ghost before; /* as it was before the actions, but with the event */
    uint8_t server_before;
    const struct session_event *event;
    const struct session_actions *out;
    struct verdict *verdict;
    bool was_said_goodbye;
};

__attribute__((format(printf, 3, 4))) static void broken(struct watch *w, int rule,
                                                         const char *format, ...) {
    va_list args;
    if (w->verdict->rule)
        return;
    w->verdict->rule = rule;
    va_start(args, format);
    vsnprintf(w->verdict->what, sizeof w->verdict->what, format, args);
    va_end(args);
}

static void check(struct watch *w, bool holds, int rule, const char *what) {
    if (!holds)
        broken(w, rule, "%s", what);
}

static bool did(const struct watch *w, uint32_t actions) {
    return w->out->set & actions;
}

void ghost_begin(struct ghost *g) {
    *g = (struct ghost){.shown = SHOWN_NOTHING};
}

bool ghost_is_idle(const struct ghost *g) {
    return !g->launch && g->link == LINK_NONE && g->timer == TIMER_NONE && !g->over;
}

static bool is_leaving(const struct ghost *g) {
    return g->owed == OWED_LEAVE || g->owed == OWED_STOP_AND_LEAVE;
}

/* Launch has given up, and its reason is to be told when what it started has ended. */
static bool fails(const struct ghost *g) {
    return g->reason == REASON_OF_LAUNCH && g->owed == OWED_NOTHING && g->link != LINK_NONE;
}

/* ---- what can happen ---- */

static bool is_in_session(const struct ghost *g) {
    return g->link == LINK_WELCOMED && g->timer != TIMER_FAREWELL;
}

static bool restarts(const struct ghost *g) {
    return g->restart == RESTART_ASKED || g->restart == RESTART_ENDS;
}

bool ghost_allows(const struct ghost *g, const struct session_event *event) {
    bool is_greeted = g->link == LINK_OPENING && !g->turned_away;
    switch (event->kind) {
    case SESSION_ON_NOTHING:
        return false;
    case SESSION_ON_START:
    case SESSION_ON_STOP:
    case SESSION_ON_RESTART:
    case SESSION_ON_LEAVE:
        return true;
    case SESSION_ON_LISTENING:
    case SESSION_ON_LAUNCHED:
    case SESSION_ON_UNLAUNCHED:
        return g->launch;
    case SESSION_ON_WELCOME:
    case SESSION_ON_REFUSED:
        return is_greeted;
    case SESSION_ON_STATE:
        return is_in_session(g);
    case SESSION_ON_STOP_REFUSED:
        return is_in_session(g) && g->asked;
    case SESSION_ON_RESTART_REFUSED:
        return is_in_session(g) && (g->restart == RESTART_ASKED || g->restart == RESTART_BEGUN);
    case SESSION_ON_LOST:
        return g->link == LINK_WELCOMED || (g->link == LINK_OPENING && !event->healthy);
    case SESSION_ON_RETRY_DUE:
        return g->timer == TIMER_RETRY;
    case SESSION_ON_FAREWELL_OVER:
        return g->timer == TIMER_FAREWELL;
    }
    return false;
}

bool ghost_awaits(const struct ghost *g, const struct session_event *event) {
    bool ends = g->asked || g->server == SESSION_SERVER_ENDING || restarts(g);
    switch (event->kind) {
    case SESSION_ON_LAUNCHED:
    case SESSION_ON_UNLAUNCHED:
    case SESSION_ON_WELCOME:
    case SESSION_ON_STOP_REFUSED:
    case SESSION_ON_RESTART_REFUSED:
    case SESSION_ON_RETRY_DUE:
    case SESSION_ON_FAREWELL_OVER:
        return ghost_allows(g, event);
    case SESSION_ON_REFUSED:
        return ghost_allows(g, event) && !event->ending;
    case SESSION_ON_STATE:
        return ghost_allows(g, event) && g->restart == RESTART_ASKED &&
               event->server == SESSION_SERVER_GOING;
    case SESSION_ON_LOST:
        return ghost_allows(g, event) && !event->healthy &&
               (g->link == LINK_OPENING || ends || g->timer == TIMER_FAREWELL);
    default:
        return false;
    }
}

/* ---- orders ---- */

static void order_start(struct ghost *g, bool changed) {
    bool is_down = is_in_session(g) && (g->server == SESSION_SERVER_ENDING ||
                                        (g->server == SESSION_SERVER_FAILED && !g->launch));
    if (ghost_is_idle(g) || g->timer == TIMER_RETRY || fails(g)) {
        g->owed = OWED_LAUNCH;
    } else if (g->owed == OWED_STOP) {
        g->owed = g->asked || changed || !g->launch ? OWED_LAUNCH : OWED_NOTHING;
        g->forced = g->forced && g->owed == OWED_LAUNCH;
    } else if (is_down) {
        g->owed = OWED_LAUNCH;
    }
}

static void order_stop(struct ghost *g, bool forced) {
    if (ghost_is_idle(g))
        return;
    g->owed = OWED_STOP;
    g->forced = g->link == LINK_WELCOMED ? forced : g->forced || forced;
}

static void order_restart(struct ghost *g, const struct session_event *event) {
    bool is_up = is_in_session(g) && g->server != SESSION_SERVER_ENDING && !g->asked;
    if (event->changed && (is_up || g->launch || g->link == LINK_OPENING)) {
        g->forced = is_in_session(g) ? event->forced : g->forced || event->forced;
        g->owed = OWED_LAUNCH;
    } else if (is_up) {
        g->owed = OWED_LAUNCH;
    } else {
        order_start(g, event->changed);
    }
}

static void order_leave(struct ghost *g) {
    if (!is_leaving(g))
        g->owed = g->owed == OWED_STOP && !g->asked ? OWED_STOP_AND_LEAVE : OWED_LEAVE;
}

static void note_order(struct ghost *g, const struct session_event *event) {
    if (event->kind == SESSION_ON_LEAVE)
        order_leave(g);
    else if (is_leaving(g))
        return;
    else if (event->kind == SESSION_ON_START)
        order_start(g, event->changed);
    else if (event->kind == SESSION_ON_STOP)
        order_stop(g, event->forced);
    else if (event->kind == SESSION_ON_RESTART)
        order_restart(g, event);
    if (g->owed != OWED_NOTHING)
        g->reason = REASON_NONE; /* of no interest any more */
}

static void note_event(struct ghost *g, const struct session_event *event) {
    switch (event->kind) {
    case SESSION_ON_LAUNCHED:
    case SESSION_ON_UNLAUNCHED:
        g->launch = 0;
        g->hopeless |= event->hopeless;
        g->seeking = g->seeking && !event->hopeless;
        break;
    case SESSION_ON_WELCOME:
        g->link = LINK_WELCOMED;
        g->id = 1;
        g->server = event->server;
        break;
    case SESSION_ON_STATE:
        g->server = event->server;
        break;
    case SESSION_ON_REFUSED:
        g->turned_away = event->ending;
        if (event->ending && g->owed == OWED_NOTHING && !g->launch && !fails(g))
            g->owed = OWED_LAUNCH; /* nobody has ordered its end */
        break;
    case SESSION_ON_STOP_REFUSED:
        g->asked = 0;
        g->hopeless = g->hopeless && fails(g); /* else it is with what others keep */
        break;
    case SESSION_ON_RESTART_REFUSED:
        g->restart = event->ending ? RESTART_ENDS : RESTART_NOT;
        if (event->ending && g->owed == OWED_NOTHING && !fails(g))
            g->owed = OWED_LAUNCH;
        break;
    case SESSION_ON_RETRY_DUE:
        g->timer = TIMER_NONE;
        break;
    case SESSION_ON_LOST:
        if (event->healthy && !g->launch && !fails(g))
            g->tries = 0;
        break;
    default:
        note_order(g, event);
        break;
    }
}

/* ---- actions, one after the other ---- */

static void see_connection(struct watch *w) {
    struct ghost *g = w->g;
    enum session_event_kind kind = w->event->kind;
    if (did(w, SESSION_DO_SAY_DISABLE)) {
        check(w, g->link == LINK_WELCOMED, 1, "it says goodbye to nobody");
        w->was_said_goodbye = true;
    }
    if (did(w, SESSION_DO_ABORT_LAUNCH)) {
        check(w, g->launch, 1, "it aborts no launch");
        check(w, did(w, SESSION_DO_FINISH), 5, "it aborts a launch whose answer somebody needs");
        g->launch = 0;
    }
    if (did(w, SESSION_DO_DISCONNECT)) {
        check(w, g->link != LINK_NONE, 1, "it closes no connection");
        check(w,
              g->link != LINK_WELCOMED || w->was_said_goodbye || kind == SESSION_ON_LOST ||
                  kind == SESSION_ON_LISTENING || g->timer == TIMER_FAREWELL,
              2, "it leaves a server without a word");
        g->link = LINK_NONE;
        g->asked = g->turned_away = 0;
        g->restart = RESTART_NOT;
        g->server = SESSION_SERVER_GOING;
    }
    if (did(w, SESSION_DO_FORGET_SESSION))
        g->id = 0;
    if (did(w, SESSION_DO_CONNECT)) {
        check(w, g->link == LINK_NONE, 1, "it makes a second connection");
        check(w, kind == SESSION_ON_LISTENING || kind == SESSION_ON_LAUNCHED, 1,
              "it connects to nobody knows where");
        g->link = LINK_OPENING;
    }
}

static void see_reason(struct watch *w) {
    struct ghost *g = w->g;
    enum session_event_kind kind = w->event->kind;
    if (!did(w, SESSION_DO_KEEP_REASON))
        return;
    check(w, kind == SESSION_ON_UNLAUNCHED || kind == SESSION_ON_REFUSED || kind == SESSION_ON_LOST,
          5, "it keeps a reason that nobody gave");
    check(w, g->reason != REASON_OF_LAUNCH, 5, "it forgets the reason that launch gave");
    g->reason = kind == SESSION_ON_UNLAUNCHED ? REASON_OF_LAUNCH : REASON_KEPT;
}

static void see_told_state(struct watch *w) {
    struct ghost *g = w->g;
    bool is_bad = g->server != SESSION_SERVER_GOING;
    bool is_launchs =
        (g->launch || fails(g)) && is_bad && g->owed == OWED_NOTHING && g->shown != g->server;
    bool is_to_end = g->asked || did(w, SESSION_DO_ASK_STOP);
    if (did(w, SESSION_DO_TELL_SERVER_FAILED)) {
        check(w, g->server == SESSION_SERVER_FAILED && g->shown != SHOWN_SERVER_FAILED, 5,
              "it tells a failure twice");
        check(w, !g->launch && !fails(g), 5, "it tells what launch will tell");
        check(w, !is_to_end, 2, "what is to stop is told as failed");
    }
    if (did(w, SESSION_DO_TELL_STATE)) {
        check(w, g->link == LINK_WELCOMED, 1, "it tells the state of nobody");
        check(w, !is_launchs, 5, "it tells an end that launch will tell");
        check(w,
              g->server != SESSION_SERVER_FAILED || g->shown == SHOWN_SERVER_FAILED ||
                  did(w, SESSION_DO_TELL_SERVER_FAILED),
              5, "a server that failed is not told as a failure");
        g->shown = g->server;
    }
}

/* Whatever else is tried will be answered in the same way. */
static bool is_turned_down(const struct session_event *event) {
    return event->kind == SESSION_ON_REFUSED && !event->ending;
}

static void see_told_end(struct watch *w) {
    struct ghost *g = w->g;
    if (did(w, SESSION_DO_TELL_REFUSED)) {
        check(w,
              w->event->kind == SESSION_ON_STOP_REFUSED ||
                  w->event->kind == SESSION_ON_RESTART_REFUSED,
              5, "it tells a refusal that nobody gave");
        g->owed = OWED_NOTHING;
    }
    if (did(w, SESSION_DO_TELL_STOPPED)) {
        check(w, g->owed != OWED_LAUNCH, 3, "what is to be started is told as stopped");
        g->shown = SHOWN_STOPPED;
        g->owed = OWED_NOTHING;
        g->reason = REASON_NONE;
    }
    if (did(w, SESSION_DO_TELL_FAILURE)) {
        check(w, g->reason != REASON_NONE, 5, "it tells a failure without a reason");
        check(w, g->owed != OWED_STOP, 2, "a stop is told as a failure");
        check(w, is_turned_down(w->event) || g->owed != OWED_LAUNCH, 3,
              "what is to be started is told as failed");
        g->shown = SHOWN_FAILED;
        g->owed = OWED_NOTHING;
        g->reason = REASON_NONE;
    }
    if (g->shown >= SHOWN_STOPPED && w->before.shown != g->shown)
        g->tries = g->seeking = 0;
}

static void see_told_launch(struct watch *w) {
    struct ghost *g = w->g;
    check(w, did(w, SESSION_DO_TELL_LOST | SESSION_DO_TELL_LAUNCHING) == did(w, SESSION_DO_LAUNCH),
          5, "a launch is told if and only if there is one");
    check(w, !did(w, SESSION_DO_TELL_LOST) || !did(w, SESSION_DO_TELL_LAUNCHING), 5,
          "a launch is told twice");
    if (did(w, SESSION_DO_TELL_LAUNCHED))
        check(w, w->event->kind == SESSION_ON_LAUNCHED && !g->seeking, 7,
              "what is found again is told as new");
    if (did(w, SESSION_DO_TELL_LOST)) {
        check(w, !did(w, SESSION_DO_FORGET_SESSION), 7, "what was lost is not resumed");
        check(w, w->event->kind != SESSION_ON_LOST || w->before.server != SESSION_SERVER_ENDING, 7,
              "what has ended is told as lost");
        check(w, ++g->tries <= TRIES_MOST, 6, "it is looked for without an end");
        g->shown = SHOWN_LOST;
        g->seeking = 1;
    }
    if (did(w, SESSION_DO_TELL_LAUNCHING)) {
        check(w, !g->id, 7, "another server is to resume a session");
        g->shown = SHOWN_LAUNCHING;
        g->seeking = g->tries = 0;
    }
}

static void see_requests(struct watch *w) {
    struct ghost *g = w->g;
    bool is_direct = (w->event->kind == SESSION_ON_STOP || w->event->kind == SESSION_ON_RESTART) &&
                     w->before.link == LINK_WELCOMED;
    if (did(w, SESSION_DO_FOLLOW_LOG)) {
        check(w, w->event->kind == SESSION_ON_WELCOME, 1, "it asks for the log out of season");
        check(w, w->out->recall == !g->seeking, 7, "the log is told twice or not at all");
    }
    if (did(w, SESSION_DO_ASK_STOP)) {
        check(w, g->link == LINK_WELCOMED, 1, "it asks nobody to stop");
        check(w, w->out->forced == (is_direct ? w->event->forced : g->forced), 2,
              "a stop is forced or not, other than ordered");
        check(w, g->owed != OWED_NOTHING || g->reason == REASON_OF_LAUNCH, 2,
              "it asks for an end that nobody ordered");
        g->asked = 1;
        g->forced = 0;
    }
    if (did(w, SESSION_DO_ASK_RESTART)) {
        check(w, g->link == LINK_WELCOMED, 1, "it asks nobody to restart");
        check(w, g->owed == OWED_LAUNCH, 2, "it asks for a restart that nobody ordered");
        g->restart = RESTART_ASKED;
    }
}

static void see_launch(struct watch *w) {
    struct ghost *g = w->g;
    if (!did(w, SESSION_DO_LAUNCH))
        return;
    check(w, !g->launch, 1, "a second launch");
    check(w, g->link == LINK_NONE && g->timer == TIMER_NONE, 1, "a launch beside something else");
    check(w, g->owed != OWED_STOP, 2, "what is to be stopped is started");
    check(w, !is_leaving(g), 4, "it starts what it leaves");
    g->launch = 1;
    g->reason = REASON_NONE;
    g->hopeless = g->forced = 0;
    g->owed = OWED_NOTHING;
}

static int expected_delay(unsigned tries) {
    static const int delays[] = {0, 100, 200, 400, 800, 1600, 3200, 5000};
    return tries < sizeof delays / sizeof delays[0] ? delays[tries] : -1;
}

static void see_timers(struct watch *w) {
    struct ghost *g = w->g;
    if (did(w, SESSION_DO_ARM_RETRY)) {
        check(w, ghost_is_idle(g), 1, "it waits for another attempt beside something else");
        check(w, !g->hopeless, 6, "it tries again what has no hope");
        check(w, g->seeking || w->event->kind == SESSION_ON_LOST, 6,
              "it looks again for what was never there");
        check(w, w->out->delay_ms == expected_delay(g->tries), 6, "the pause has a wrong length");
        check(w, g->owed == OWED_NOTHING, 3, "it pauses although something is to be done");
        g->seeking = 1;
        g->timer = TIMER_RETRY;
    }
    if (did(w, SESSION_DO_FAREWELL)) {
        check(w, g->link == LINK_WELCOMED, 1, "it takes leave of nobody");
        check(w, is_leaving(g), 4, "it takes leave unasked");
        check(w, g->owed != OWED_STOP_AND_LEAVE || g->asked, 2, "a stop is forgotten at the end");
        g->timer = TIMER_FAREWELL;
    }
    if (did(w, SESSION_DO_FINISH)) {
        check(w, !g->launch && g->link == LINK_NONE, 1, "something is left at the end");
        check(w, is_leaving(g), 4, "it ends unasked");
        g->timer = TIMER_NONE;
        g->over = 1;
    }
}

static void see_actions(struct watch *w) {
    const uint32_t tells = SESSION_DO_TELL_LAUNCHED | SESSION_DO_TELL_SERVER_FAILED |
                           SESSION_DO_TELL_STATE | SESSION_DO_TELL_REFUSED |
                           SESSION_DO_TELL_STOPPED | SESSION_DO_TELL_FAILURE |
                           SESSION_DO_TELL_LOST | SESSION_DO_TELL_LAUNCHING;
    check(w, !w->g->over || w->out->set == 0, 4, "it goes on after its end");
    if (did(w, tells))
        check(w, !is_leaving(w->g), 4, "it tells something although nobody listens");
    if (did(w, SESSION_DO_STOP_TIMER)) {
        check(w, w->g->timer == TIMER_RETRY, 1, "it stops no timer");
        w->g->timer = TIMER_NONE;
    }
    see_reason(w);
    see_connection(w);
    see_told_state(w);
    see_told_end(w);
    see_told_launch(w);
    see_requests(w);
    see_launch(w);
    see_timers(w);
}

/* ---- what must have come of an event ---- */

/* Nobody is there any more and no launch is under way. */
static void compare_alone(struct watch *w) {
    const struct ghost *b = &w->before;
    enum session_event_kind kind = w->event->kind;
    bool plain = b->owed == OWED_NOTHING;
    if (b->owed == OWED_STOP)
        check(w, did(w, SESSION_DO_TELL_STOPPED), 2, "a stop that is done is not told");
    if (is_leaving(b))
        check(w, did(w, SESSION_DO_FINISH), 4, "it stays although nobody is there to be left");
    if (b->owed == OWED_LAUNCH && kind != SESSION_ON_REFUSED)
        check(w, did(w, SESSION_DO_LAUNCH) && did(w, SESSION_DO_TELL_LAUNCHING), 3,
              "it is gone and not started afresh");
    if (plain && (kind == SESSION_ON_REFUSED || w->g->hopeless))
        check(w, did(w, SESSION_DO_TELL_FAILURE), 5, "a failure is not told");
    if (plain && kind == SESSION_ON_UNLAUNCHED)
        check(w,
              did(w, SESSION_DO_TELL_FAILURE) ==
                  (!b->seeking || b->tries == TRIES_MOST || w->g->hopeless),
              6, "it gives up too early or too late");
    if (plain && kind == SESSION_ON_LOST && !fails(b)) {
        if (b->server == SESSION_SERVER_ENDING)
            check(w, did(w, SESSION_DO_TELL_STOPPED), 7, "what has ended is not told as stopped");
        else if (b->tries == 0)
            check(w, did(w, SESSION_DO_TELL_LOST), 6, "what is lost is not looked for at once");
        else
            check(w, did(w, SESSION_DO_ARM_RETRY) == (b->tries < TRIES_MOST), 6,
                  "it gives up too early or too late");
    }
}

static bool is_left_alone(const struct watch *w) {
    const struct ghost *b = &w->before;
    if (b->launch || b->timer != TIMER_NONE)
        return false;
    return w->event->kind == SESSION_ON_LOST || is_turned_down(w->event) ||
           (w->event->kind == SESSION_ON_UNLAUNCHED && b->link == LINK_NONE);
}

static void compare_event(struct watch *w) {
    const struct ghost *b = &w->before;
    enum session_event_kind kind = w->event->kind;
    if (is_left_alone(w))
        compare_alone(w);
    if (kind == SESSION_ON_LOST)
        check(w, did(w, SESSION_DO_DISCONNECT), 1, "a dead connection stays");
    if (kind == SESSION_ON_LISTENING && b->timer != TIMER_FAREWELL)
        check(w, did(w, SESSION_DO_CONNECT), 2, "nobody goes where a daemon listens");
    if (kind == SESSION_ON_LAUNCHED && b->link == LINK_NONE)
        check(w, did(w, SESSION_DO_CONNECT), 2, "nobody can ask what was launched to stop");
    if (kind == SESSION_ON_LAUNCHED && !b->seeking && !is_leaving(b))
        check(w, did(w, SESSION_DO_TELL_LAUNCHED), 5, "what was launched is not told");
    if (kind == SESSION_ON_UNLAUNCHED && b->owed == OWED_NOTHING)
        check(w, did(w, SESSION_DO_KEEP_REASON), 5, "the reason is lost");
    if (kind == SESSION_ON_STOP_REFUSED && b->owed == OWED_STOP)
        check(w, did(w, SESSION_DO_TELL_REFUSED), 2, "a refused stop is not told");
    if (kind == SESSION_ON_STOP_REFUSED && b->owed == OWED_LAUNCH)
        check(w, did(w, SESSION_DO_TELL_REFUSED | SESSION_DO_ASK_RESTART), 3,
              "a start that was refused is neither told nor made up for");
    if (kind == SESSION_ON_WELCOME && !is_leaving(b))
        check(w, did(w, SESSION_DO_FOLLOW_LOG), 7, "nobody asks for the log");
    if (kind == SESSION_ON_LEAVE && w->event->hurry)
        check(w, w->g->over || w->g->timer == TIMER_FAREWELL, 4, "it does not hurry");
}

/* What was owed and is there by itself, or is told to have failed. */
static void settle(struct watch *w) {
    struct ghost *g = w->g;
    bool is_news = w->event->kind == SESSION_ON_WELCOME || w->event->kind == SESSION_ON_STATE;
    bool has_failed =
        g->server == SESSION_SERVER_FAILED && w->server_before != SESSION_SERVER_FAILED;
    if (is_news && (g->server == SESSION_SERVER_GOING || has_failed)) {
        if (g->restart == RESTART_ASKED)
            g->restart = RESTART_BEGUN;
        if (g->owed == OWED_LAUNCH && !g->asked)
            g->owed = OWED_NOTHING;
    }
    if (w->event->kind == SESSION_ON_WELCOME || w->event->kind == SESSION_ON_LAUNCHED)
        g->seeking = g->seeking && (g->launch || g->link != LINK_WELCOMED || fails(g));
}

/* ---- what must hold in every state ---- */

static enum session_phase phase_of(const struct ghost *g) {
    if (g->over)
        return SESSION_OVER;
    if (g->timer != TIMER_NONE)
        return g->timer == TIMER_RETRY ? SESSION_RETRYING : SESSION_LEAVING;
    if (g->link != LINK_NONE)
        return g->link == LINK_OPENING ? SESSION_CONNECTING : SESSION_CONNECTED;
    return g->launch ? SESSION_LAUNCHING : SESSION_IDLE;
}

static void compare_state(struct watch *w, const struct session *s) {
    const struct ghost *g = w->g;
    bool is_still = is_in_session(g) && !is_leaving(g);
    if (s->phase != phase_of(g) || s->launching != g->launch)
        broken(w, 1, "it takes itself for %d, and is %d", (int)s->phase, (int)phase_of(g));
    if (ghost_is_idle(g) || g->timer == TIMER_RETRY) {
        check(w, g->owed != OWED_STOP, 2, "a stop is forgotten");
        check(w, g->owed != OWED_LAUNCH, 3, "a start is forgotten");
        check(w, !is_leaving(g), 4, "it stays although it was to leave");
    }
    if (ghost_is_idle(g)) {
        check(w, g->shown == SHOWN_NOTHING || g->shown >= SHOWN_STOPPED, 5,
              "nothing runs, and that is not told");
        check(w, !g->id, 7, "a session is to be resumed that was given up");
    } else if (!g->over && !is_leaving(g)) {
        check(w, g->shown != SHOWN_NOTHING && g->shown < SHOWN_STOPPED, 5,
              "it is told as over, and is not");
    }
    if (is_still && g->owed == OWED_STOP)
        check(w, g->asked, 2, "nobody is asked to stop");
    if (is_still && g->owed == OWED_LAUNCH)
        check(w, g->asked || g->server == SESSION_SERVER_ENDING || restarts(g), 3,
              "nobody sees to the start");
    if (is_still && fails(g))
        check(w, g->asked, 5, "what failed is not ended");
    if (is_still && !g->launch && !g->asked)
        check(w, g->shown == g->server, 5, "it is told other than it is");
    if (is_leaving(g) && g->link == LINK_WELCOMED)
        check(w, g->timer == TIMER_FAREWELL, 4, "it stays although it was to leave");
}

void ghost_step(struct node *node, const struct session_event *event,
                const struct session_actions *actions, struct verdict *verdict) {
    struct watch w = {.g = &node->ghost, .event = event, .out = actions, .verdict = verdict};
    w.server_before = w.g->server;
    note_event(w.g, event);
    w.before = *w.g;
    see_actions(&w);
    settle(&w);
    compare_event(&w);
    compare_state(&w, &node->session);
}
