/* What a control client decides, apart from doing it: (state, event) -> (state, actions), without
 * I/O, clock or memory of its own. control_client.c tells it what happens and carries the actions
 * out in the order of their enum. tests/explore/session walks through every state. */
#ifndef TETHER_SESSION_SESSION_STEP_H
#define TETHER_SESSION_SESSION_STEP_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SESSION_ATTEMPTS = 8,   /* launches to find a lost daemon again */
    SESSION_RETRY_MS = 100, /* before the second of them; doubled for each further one */
    SESSION_RETRY_MOST_MS = 5000,
};

enum session_phase {
    SESSION_IDLE,       /* nothing of ours runs, and nothing is wanted to */
    SESSION_LAUNCHING,  /* `tether launch` runs, and there is no connection */
    SESSION_CONNECTING, /* no welcome yet */
    SESSION_CONNECTED,
    SESSION_RETRYING, /* a lost daemon is launched again after a pause */
    SESSION_LEAVING,  /* the last word goes out */
    SESSION_OVER,
};

/* What is wanted of what runs. Whoever is connected has asked for the end where one is wanted; who
 * is not, asks as soon as there is somebody to be asked. */
enum session_want {
    SESSION_RUN,
    SESSION_STOP,           /* its end */
    SESSION_ANEW,           /* its end, and then another launch */
    SESSION_FAIL,           /* its end, for launch has given up; then the reason is told */
    SESSION_AFTER,          /* it ends or restarts by itself; if it is gone, another launch */
    SESSION_LEAVE,          /* to say the last word */
    SESSION_STOP_AND_LEAVE, /* to stop it before that */
};

/* As the daemon told it last. */
enum session_server {
    SESSION_SERVER_GOING, /* or nothing was told yet */
    SESSION_SERVER_FAILED,
    SESSION_SERVER_ENDING,
};

struct session {
    enum session_phase phase;
    enum session_want want;
    bool forced; /* a stop that is still to be asked for spares nobody */
    bool
        launching; /* the answer of `tether launch` is awaited, perhaps with a connection already */
    bool lost;     /* a daemon is being found again */
    uint8_t attempts; /* launches since it was lost */
    enum session_server server;
    bool withheld; /* that was not told, for launch was to say how it ends */
};

enum session_event_kind {
    SESSION_ON_NOTHING,
    /* asked for */
    SESSION_ON_START,
    SESSION_ON_STOP,
    SESSION_ON_RESTART,
    SESSION_ON_LEAVE,
    /* told by launch: a daemon listens (before the answer, perhaps several times), it is there, or
     * there is none for us */
    SESSION_ON_LISTENING,
    SESSION_ON_LAUNCHED,
    SESSION_ON_UNLAUNCHED,
    /* told by the daemon */
    SESSION_ON_WELCOME,
    SESSION_ON_REFUSED, /* instead of a welcome */
    SESSION_ON_STATE,
    SESSION_ON_STOP_REFUSED, /* the last stop that was asked for */
    SESSION_ON_RESTART_REFUSED,
    /* the connection has ended, or there was never one */
    SESSION_ON_LOST,
    /* the pause is over; the last word is out, or has had its time */
    SESSION_ON_RETRY_DUE,
    SESSION_ON_FAREWELL_OVER,
};

struct session_event {
    enum session_event_kind kind;
    bool forced;    /* stop, restart */
    bool changed;   /* start, restart: the next launch is not like the last one */
    bool elsewhere; /* restart: and on other ports */
    bool hurry;     /* leave */
    bool hopeless;  /* unlaunched: another attempt would not change it */
    bool ending;    /* refused: because the daemon ends; it closes the connection when it has */
    bool healthy;   /* lost: the session had held for long */
    enum session_server server; /* welcome, state */
};

/* In the order in which they are carried out. */
enum session_action {
    SESSION_DO_STOP_TIMER = 1 << 0,
    SESSION_DO_KEEP_REASON = 1 << 1, /* what came with the event: it may have to be told */
    SESSION_DO_SAY_DISABLE = 1 << 2, /* others keep the server */
    SESSION_DO_ABORT_LAUNCH = 1 << 3,
    SESSION_DO_DISCONNECT = 1 << 4,
    SESSION_DO_FORGET_SESSION = 1 << 5, /* the next one is another, not to be resumed */
    SESSION_DO_CONNECT = 1 << 6,
    SESSION_DO_TELL_LAUNCHED = 1 << 7,      /* whether it was adopted */
    SESSION_DO_TELL_SERVER_FAILED = 1 << 8, /* as the daemon said last */
    SESSION_DO_TELL_STATE = 1 << 9,         /* the daemon's last */
    SESSION_DO_TELL_REFUSED = 1 << 10,
    SESSION_DO_TELL_STOPPED = 1 << 11,
    SESSION_DO_TELL_FAILURE = 1 << 12, /* the reason that was kept */
    SESSION_DO_TELL_LOST = 1 << 13,
    SESSION_DO_TELL_LAUNCHING = 1 << 14,
    SESSION_DO_FOLLOW_LOG = 1 << 15,
    SESSION_DO_ASK_STOP = 1 << 16,
    SESSION_DO_ASK_RESTART = 1 << 17,
    SESSION_DO_LAUNCH = 1 << 18,
    SESSION_DO_ARM_RETRY = 1 << 19,
    SESSION_DO_FAREWELL = 1 << 20, /* the last word, with a limit of time */
    SESSION_DO_FINISH = 1 << 21,   /* nothing comes after it */
};

struct session_actions {
    uint32_t set;
    bool forced;  /* of a stop */
    bool recall;  /* of the log: the lines from before, too */
    int delay_ms; /* of a retry */
};

/* All zero is the first state. */
void session_step(struct session *session, const struct session_event *event,
                  struct session_actions *actions);

/* Whether all that is still to be heard is to hurry. */
bool session_is_leaving(const struct session *session);

#endif
