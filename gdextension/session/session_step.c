#include "session_step.h"

struct step {
    struct session *s;
    const struct session_event *event;
    struct session_actions *out;
};

static void act(struct step *step, enum session_action action) {
    step->out->set |= (uint32_t)action;
}

static bool has_connection(const struct session *s) {
    return s->phase == SESSION_CONNECTING || s->phase == SESSION_CONNECTED ||
           s->phase == SESSION_LEAVING;
}

bool session_is_leaving(const struct session *s) {
    return s->want == SESSION_LEAVE || s->want == SESSION_STOP_AND_LEAVE ||
           s->phase == SESSION_LEAVING || s->phase == SESSION_OVER;
}

static bool is_called_off(const struct session *s) {
    return s->want == SESSION_STOP || s->want == SESSION_ANEW;
}

static void hang_up(struct step *step) {
    if (has_connection(step->s))
        act(step, SESSION_DO_DISCONNECT);
    step->s->server = SESSION_SERVER_GOING;
    step->s->withheld = false;
}

static void tell_withheld(struct step *step) {
    struct session *s = step->s;
    if (s->withheld && s->server == SESSION_SERVER_FAILED)
        act(step, SESSION_DO_TELL_SERVER_FAILED);
    if (s->withheld)
        act(step, SESSION_DO_TELL_STATE);
    s->withheld = false;
}

static void ask_to_stop(struct step *step, enum session_want want, bool forced) {
    step->s->want = want;
    step->s->forced = false;
    step->out->forced = forced;
    act(step, SESSION_DO_ASK_STOP);
}

/* ---- the end ---- */

static void end(struct step *step) {
    if (step->s->launching)
        act(step, SESSION_DO_ABORT_LAUNCH);
    hang_up(step);
    act(step, SESSION_DO_FINISH);
    *step->s = (struct session){.phase = SESSION_OVER};
}

static void say_farewell(struct step *step) {
    step->s->phase = SESSION_LEAVING;
    step->s->want = SESSION_LEAVE;
    act(step, SESSION_DO_FAREWELL);
}

/* ---- launching ---- */

static void launch(struct step *step) {
    struct session *s = step->s;
    s->phase = SESSION_LAUNCHING;
    s->want = SESSION_RUN;
    s->forced = false;
    s->launching = true;
    act(step, s->lost ? SESSION_DO_TELL_LOST : SESSION_DO_TELL_LAUNCHING);
    act(step, SESSION_DO_LAUNCH);
}

static void forget_session(struct step *step) {
    step->s->lost = false;
    step->s->attempts = 0;
    act(step, SESSION_DO_FORGET_SESSION);
}

static void launch_afresh(struct step *step) {
    forget_session(step);
    launch(step);
}

static void come_to_rest(struct step *step, enum session_action tell) {
    forget_session(step);
    *step->s = (struct session){.phase = SESSION_IDLE};
    act(step, tell);
}

/* What was lost is looked for again, later each time; what was not is not there. */
static void retry(struct step *step) {
    struct session *s = step->s;
    int delay = SESSION_RETRY_MS;
    if (!s->lost || s->attempts >= SESSION_ATTEMPTS) {
        come_to_rest(step, SESSION_DO_TELL_FAILURE);
        return;
    }
    for (int i = 1; i < s->attempts; i++)
        delay *= 2;
    step->out->delay_ms = delay < SESSION_RETRY_MOST_MS ? delay : SESSION_RETRY_MOST_MS;
    s->attempts++;
    s->phase = SESSION_RETRYING;
    s->want = SESSION_RUN;
    act(step, SESSION_DO_ARM_RETRY);
}

/* Nobody is connected any more, and no launch is under way: does what was to follow. False if it
 * was to run. */
static bool follow_up(struct step *step) {
    switch (step->s->want) {
    case SESSION_RUN:
        return false;
    case SESSION_STOP:
        come_to_rest(step, SESSION_DO_TELL_STOPPED);
        break;
    case SESSION_ANEW:
    case SESSION_AFTER:
        launch_afresh(step);
        break;
    case SESSION_FAIL:
        retry(step);
        break;
    case SESSION_LEAVE:
    case SESSION_STOP_AND_LEAVE:
        end(step);
        break;
    }
    return true;
}

/* The daemon listens, and launch waits for the server to be ready: the session begins now, so that
 * the start can be watched and called off. One that listened before has ended. */
static void on_listening(struct step *step) {
    struct session *s = step->s;
    hang_up(step);
    s->phase = SESSION_CONNECTING;
    act(step, SESSION_DO_CONNECT);
}

static void on_launched(struct step *step) {
    struct session *s = step->s;
    s->launching = false;
    if (!s->lost && !session_is_leaving(s))
        act(step, SESSION_DO_TELL_LAUNCHED);
    if (s->phase == SESSION_LAUNCHING) {
        s->phase = SESSION_CONNECTING;
        act(step, SESSION_DO_CONNECT);
    } else if (!is_called_off(s)) {
        tell_withheld(step);
    }
}

/* What launch has started and given up is kept by our session; so that end is seen to first. */
static void on_unlaunched(struct step *step) {
    struct session *s = step->s;
    s->launching = false;
    if (step->event->hopeless)
        s->lost = false;
    if (s->want == SESSION_RUN)
        act(step, SESSION_DO_KEEP_REASON);
    if (s->phase == SESSION_LAUNCHING) {
        if (!follow_up(step))
            retry(step);
    } else if (s->want == SESSION_RUN || s->want == SESSION_AFTER) {
        s->want = s->want == SESSION_RUN ? SESSION_FAIL : SESSION_ANEW;
        if (s->phase == SESSION_CONNECTED)
            ask_to_stop(step, s->want, false);
    }
}

/* ---- the session ---- */

/* How a start ends, launch says; and an end that is asked for is no failure. */
static bool is_to_be_withheld(const struct session *s, enum session_server server) {
    if (server == SESSION_SERVER_GOING || session_is_leaving(s))
        return false;
    if (server == SESSION_SERVER_FAILED && is_called_off(s))
        return true;
    return s->launching ? !is_called_off(s) : s->want == SESSION_FAIL;
}

static void on_state(struct step *step) {
    struct session *s = step->s;
    enum session_server server = step->event->server;
    bool is_other = server != s->server, is_new = is_other || s->withheld;
    s->server = server;
    if (s->want == SESSION_AFTER &&
        (server == SESSION_SERVER_GOING || (server == SESSION_SERVER_FAILED && is_other)))
        s->want = SESSION_RUN; /* here it is, or why not */
    s->withheld = is_new && is_to_be_withheld(s, server);
    if (s->withheld || session_is_leaving(s))
        return;
    if (is_new && server == SESSION_SERVER_FAILED)
        act(step, SESSION_DO_TELL_SERVER_FAILED);
    act(step, SESSION_DO_TELL_STATE);
}

static void on_welcome(struct step *step) {
    struct session *s = step->s;
    s->phase = SESSION_CONNECTED;
    step->out->recall = !s->lost;
    on_state(step);
    if (s->want == SESSION_STOP_AND_LEAVE)
        ask_to_stop(step, s->want, s->forced);
    if (session_is_leaving(s)) {
        say_farewell(step);
        return;
    }
    act(step, SESSION_DO_FOLLOW_LOG);
    if (s->want != SESSION_RUN && s->want != SESSION_AFTER)
        ask_to_stop(step, s->want, s->forced);
}

static void on_refused(struct step *step) {
    struct session *s = step->s;
    if (step->event->ending) {
        if (s->want == SESSION_RUN && !s->launching) /* else launch comes to terms with it */
            s->want = SESSION_AFTER;
        return;
    }
    hang_up(step);
    if (s->launching) { /* it will be told the same */
        s->phase = SESSION_LAUNCHING;
        return;
    }
    s->lost = false; /* to ask again would not change the answer */
    if (s->want != SESSION_FAIL)
        act(step, SESSION_DO_KEEP_REASON);
    if (s->want == SESSION_ANEW || s->want == SESSION_AFTER || !follow_up(step))
        retry(step);
}

static void on_stop_refused(struct step *step) {
    struct session *s = step->s;
    if (s->want == SESSION_FAIL) { /* others use it: it failed for us only */
        act(step, SESSION_DO_SAY_DISABLE);
        hang_up(step);
        retry(step);
    } else if (is_called_off(s)) {
        /* Others use what is to be started anew, too: if it failed, then as it is set for them. */
        bool restarts = s->want == SESSION_ANEW && s->server == SESSION_SERVER_FAILED;
        s->want = restarts ? SESSION_AFTER : SESSION_RUN;
        act(step, restarts ? SESSION_DO_ASK_RESTART : SESSION_DO_TELL_REFUSED);
        if (!s->launching)
            tell_withheld(step);
    }
}

static void on_restart_refused(struct step *step) {
    struct session *s = step->s;
    if (s->want != SESSION_RUN && s->want != SESSION_AFTER)
        return;
    s->want = step->event->ending ? SESSION_AFTER : SESSION_RUN;
    if (!step->event->ending)
        act(step, SESSION_DO_TELL_REFUSED);
}

static void find_again(struct step *step) {
    struct session *s = step->s;
    s->lost = true;
    if (step->event->healthy)
        s->attempts = 0;
    if (s->attempts == 0) {
        s->attempts = 1;
        launch(step); /* the first attempt is made at once */
    } else {
        act(step, SESSION_DO_KEEP_REASON);
        retry(step);
    }
}

/* The daemon has closed the connection, or died. Whether it was to end, its last state tells; but a
 * daemon that ends while much is on its way to us may not get so far as to tell it. */
static void on_lost(struct step *step) {
    struct session *s = step->s;
    bool had_ended = s->server == SESSION_SERVER_ENDING;
    hang_up(step);
    if (s->launching)
        s->phase = SESSION_LAUNCHING; /* it may be about to start another one: its answer tells */
    else if (follow_up(step))
        return;
    else if (had_ended)
        come_to_rest(step, SESSION_DO_TELL_STOPPED);
    else
        find_again(step);
}

/* ---- what is asked for ---- */

static void start_while_under_way(struct step *step) {
    struct session *s = step->s;
    bool is_connected = s->phase == SESSION_CONNECTED;
    if (s->want == SESSION_STOP && s->launching && !is_connected && !step->event->changed) {
        s->want = SESSION_RUN; /* nobody has been asked yet */
        s->forced = false;
    } else if (s->want == SESSION_STOP || s->want == SESSION_FAIL) {
        s->want = SESSION_ANEW;
    } else if (s->want == SESSION_RUN && is_connected && s->server == SESSION_SERVER_ENDING) {
        s->want = SESSION_AFTER;
    } else if (s->want == SESSION_RUN && is_connected && s->server == SESSION_SERVER_FAILED &&
               !s->launching) {
        ask_to_stop(step, SESSION_ANEW, false); /* the cause may have been set right since */
    }
}

static void on_start(struct step *step) {
    if (step->s->phase == SESSION_RETRYING)
        act(step, SESSION_DO_STOP_TIMER);
    if (step->s->phase == SESSION_RETRYING || step->s->phase == SESSION_IDLE)
        launch(step);
    else
        start_while_under_way(step);
}

static void on_stop(struct step *step) {
    struct session *s = step->s;
    if (s->phase == SESSION_CONNECTED) {
        ask_to_stop(step, SESSION_STOP, step->event->forced);
    } else if (s->phase == SESSION_RETRYING) {
        act(step, SESSION_DO_STOP_TIMER);
        come_to_rest(step, SESSION_DO_TELL_STOPPED);
    } else if (s->phase != SESSION_IDLE) {
        s->want = SESSION_STOP; /* once there is somebody to be asked */
        s->forced |= step->event->forced;
    }
}

/* Ends what was started with other properties, and starts with those of now. Where they are for
 * other ports, whoever else uses the old one keeps it. */
static void replace(struct step *step) {
    struct session *s = step->s;
    if (s->phase != SESSION_CONNECTED) {
        s->want = SESSION_ANEW;
        s->forced |= step->event->forced;
    } else if (s->launching || !step->event->elsewhere) {
        ask_to_stop(step, SESSION_ANEW, step->event->forced);
    } else {
        act(step, SESSION_DO_SAY_DISABLE);
        hang_up(step);
        launch_afresh(step);
    }
}

static void on_restart(struct step *step) {
    struct session *s = step->s;
    bool is_up = s->phase == SESSION_CONNECTED && s->server != SESSION_SERVER_ENDING;
    bool is_kept = s->want == SESSION_RUN || s->want == SESSION_AFTER;
    if (step->event->changed &&
        (s->launching || s->phase == SESSION_CONNECTING || (is_up && is_kept))) {
        replace(step);
    } else if (is_up && is_kept) {
        s->want = SESSION_AFTER;
        act(step, SESSION_DO_ASK_RESTART);
    } else {
        on_start(step);
    }
}

static void on_leave(struct step *step) {
    struct session *s = step->s;
    if (s->phase == SESSION_CONNECTED)
        say_farewell(step);
    else if (step->event->hurry || s->phase == SESSION_IDLE || s->phase == SESSION_RETRYING)
        end(step);
    else
        s->want = s->want == SESSION_STOP || s->want == SESSION_STOP_AND_LEAVE
                      ? SESSION_STOP_AND_LEAVE
                      : SESSION_LEAVE;
}

/* ---- all of it ---- */

/* While the last word goes out, it counts only that it is out, or that nobody hears it. */
static void leave_step(struct step *step) {
    enum session_event_kind kind = step->event->kind;
    if (kind == SESSION_ON_LAUNCHED || kind == SESSION_ON_UNLAUNCHED)
        step->s->launching = false;
    else if (kind == SESSION_ON_FAREWELL_OVER || kind == SESSION_ON_LOST)
        end(step);
}

static void (*const handlers[])(struct step *step) = {
    [SESSION_ON_START] = on_start,
    [SESSION_ON_STOP] = on_stop,
    [SESSION_ON_RESTART] = on_restart,
    [SESSION_ON_LEAVE] = on_leave,
    [SESSION_ON_LISTENING] = on_listening,
    [SESSION_ON_LAUNCHED] = on_launched,
    [SESSION_ON_UNLAUNCHED] = on_unlaunched,
    [SESSION_ON_WELCOME] = on_welcome,
    [SESSION_ON_REFUSED] = on_refused,
    [SESSION_ON_STATE] = on_state,
    [SESSION_ON_STOP_REFUSED] = on_stop_refused,
    [SESSION_ON_RESTART_REFUSED] = on_restart_refused,
    [SESSION_ON_LOST] = on_lost,
    [SESSION_ON_RETRY_DUE] = launch,
};

void session_step(struct session *session, const struct session_event *event,
                  struct session_actions *actions) {
    struct step step = {session, event, actions};
    enum session_event_kind kind = event->kind;
    bool is_order = kind >= SESSION_ON_START && kind <= SESSION_ON_RESTART;
    *actions = (struct session_actions){0};
    if (session->phase == SESSION_OVER)
        return;
    if (session->phase == SESSION_LEAVING)
        leave_step(&step);
    else if (kind < sizeof handlers / sizeof handlers[0] && handlers[kind] &&
             !(is_order && session_is_leaving(session)))
        handlers[kind](&step);
}
