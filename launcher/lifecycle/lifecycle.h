/* The life of one server, as a pure state machine.
 *
 * (state, event, now) -> (state, actions). Nothing in here reads a clock, allocates, does I/O or
 * keeps a global. The daemon turns what happens into events, calls lifecycle_step(), carries out
 * the actions in the order of their enum, and asks lifecycle_deadline() when to call again if
 * nothing happens. Every promise about when a server may end is kept here and proved here, by
 * tests/explore, over every reachable state.
 *
 * `now` is milliseconds of a monotonic clock that stands still during suspend; it never goes back.
 * An event is always applied before the timers that are due at the same `now`, so a late wakeup
 * can never discard a sign of life that came first. */
#ifndef TETHER_LIFECYCLE_H
#define TETHER_LIFECYCLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crashes.h"
#include "identity.h"

#ifndef LIFECYCLE_MAX_SESSIONS
#define LIFECYCLE_MAX_SESSIONS 256
#endif

#define LIFECYCLE_NEVER UINT64_MAX

/* ---- Settings: all in milliseconds unless the name says otherwise ---- */

enum lifecycle_policy { LIFECYCLE_RESTART_ON_FAILURE, LIFECYCLE_RESTART_NEVER };

struct lifecycle_config {
    uint32_t grace_ms;         /* between the two looks at a dead owner; 0: back to back */
    uint32_t stop_grace_ms;    /* from SIGTERM to the killing of the tree */
    uint32_t ready_timeout_ms; /* from start to ready; 0: wait for ever */
    uint32_t sweep_ms;         /* backstop for missed deaths, only while sessions exist */
    uint32_t idle_limit_ms;    /* without a session for so long: stop; 0: off */
    uint32_t linger_ms; /* nobody is left but clients of the server: it stays for so long; 0: off */
    uint32_t silence_limit_ms; /* a session not heard of for so long no longer counts; 0: off */
    uint32_t poll_ms;          /* for the I/O: looking at processes where no event tells */
    uint32_t parent_watchdog;  /* 0: the death of the parent is ignored */
    uint32_t parent_poll_ms;   /* for the I/O: how often the parent is looked at */
    uint32_t restart;          /* enum lifecycle_policy */
    /* The rest is fixed for users; the explorer sets it small. */
    uint32_t hold_ms;          /* place kept for the successor of an editor that restarts */
    uint32_t kill_limit_ms;    /* a tree that cannot be killed is reported after so long */
    uint32_t port_check_ms;    /* how long the answer about the ports may take */
    uint32_t backoff_first_ms; /* delay before the second restart in a row */
    uint32_t backoff_cap_ms;
    uint32_t crash_limit;     /* so many crashes … */
    uint32_t crash_window_ms; /* … within so long: give up */
    uint32_t health_ms;       /* ready for so long: earlier crashes are forgotten */
};

/* One row per field of the config. `name` is what users write, in the form of a flag without its
 * dashes ("grace-ms"); NULL where the value is not theirs to set. */
struct lifecycle_knob {
    const char *name;
    size_t offset; /* of a uint32_t in struct lifecycle_config */
    uint32_t fallback, least, most;
    const char *help; /* for people; NULL: options have a flag of their own for it */
};

extern const struct lifecycle_knob lifecycle_knobs[];
extern const size_t lifecycle_knob_count;

void lifecycle_config_defaults(struct lifecycle_config *);

/* Puts every field that is out of its range back to the default. Returns how many were. */
unsigned lifecycle_config_repair(struct lifecycle_config *);

/* ---- Who and what ---- */

enum lifecycle_server {
    LIFECYCLE_STARTING,
    LIFECYCLE_READY,
    LIFECYCLE_BACKOFF,
    LIFECYCLE_STOPPING,
    LIFECYCLE_STOPPED,
    LIFECYCLE_FAILED,
    LIFECYCLE_SERVER_STATES
};

/* ORPHAN means "owner dead and nobody left", not "to be stopped": that takes a second look. */
enum lifecycle_ownership {
    LIFECYCLE_UNARMED,
    LIFECYCLE_OWNED,
    LIFECYCLE_ADOPTED,
    LIFECYCLE_ORPHAN,
    LIFECYCLE_OWNERSHIP_STATES
};

enum lifecycle_role {
    LIFECYCLE_ROLE_ANONYMOUS, /* counts until it closes or its process dies */
    LIFECYCLE_ROLE_EDITOR,    /* counts, may become owner */
    LIFECYCLE_ROLE_FRONT,     /* counts, may become owner */
    LIFECYCLE_ROLE_CLI        /* never counts */
};

enum lifecycle_link {
    LIFECYCLE_CONNECTED,
    LIFECYCLE_AWAY, /* no connection, but its process lives or may live */
    LIFECYCLE_HELD  /* its process restarts as another one; the place is kept until `until` */
};

struct lifecycle_session {
    uint32_t id;
    uint8_t role;   /* enum lifecycle_role */
    uint8_t link;   /* enum lifecycle_link */
    uint8_t silent; /* not heard of for the silence limit: kept, but does not count */
    uint8_t pinged; /* asked for a sign of life, no answer yet */
    struct os_identity process;
    uint64_t heard; /* when it last said anything */
    uint64_t until; /* HELD: when the place is given up */
};

/* How far the ending of the current process tree has come. Each step is taken once per tree. */
enum lifecycle_drain {
    LIFECYCLE_DRAIN_NONE,
    LIFECYCLE_DRAIN_TERM, /* stdin closed and SIGTERM sent */
    LIFECYCLE_DRAIN_KILL, /* every descendant is being killed */
    LIFECYCLE_DRAIN_STUCK /* killed, and still there after the kill limit */
};

enum lifecycle_purpose { LIFECYCLE_TO_RESTART, LIFECYCLE_TO_END };

/* Why the daemon ends. */
enum lifecycle_cause {
    LIFECYCLE_CAUSE_NONE,
    LIFECYCLE_CAUSE_REQUEST,
    LIFECYCLE_CAUSE_SIGNAL,
    LIFECYCLE_CAUSE_PARENT,
    LIFECYCLE_CAUSE_OWNER, /* dead twice, and no session */
    LIFECYCLE_CAUSE_LEAVE, /* the last editor left for good */
    LIFECYCLE_CAUSE_IDLE,
    LIFECYCLE_CAUSE_HANDOVER,
    LIFECYCLE_CAUSE_FINISHED, /* the server ended by itself and is not to be restarted */
    LIFECYCLE_CAUSE_FAILED    /* the server failed and nobody is there to look at it */
};

/* Why the server is FAILED. */
enum lifecycle_failure {
    LIFECYCLE_FAILURE_NONE,
    LIFECYCLE_FAILURE_SPAWN,     /* the command could not be executed */
    LIFECYCLE_FAILURE_PORT,      /* a stranger holds a port */
    LIFECYCLE_FAILURE_NOT_READY, /* not ready in time */
    LIFECYCLE_FAILURE_CRASHES,   /* crashed too often */
    LIFECYCLE_FAILURE_STUCK      /* its predecessor cannot be killed */
};

/* ---- The state: plain data; copy it, compare it, hash it ----
 * A time that has no meaning at present is 0, so that equal situations are equal data. Slots of
 * `sessions` from `session_count` on are unspecified. */
struct lifecycle {
    struct lifecycle_config config;

    enum lifecycle_server server;
    enum lifecycle_failure failure;
    bool tree;         /* processes of the current start may exist */
    bool was_ready;    /* some start of this daemon has been ready */
    uint64_t ready_by; /* STARTING: when patience ends */
    uint64_t ready_at; /* READY: since when */
    uint64_t retry_at; /* BACKOFF: when the next start is due */
    uint32_t restarts; /* starts after the first, for people */
    struct crashes crashes;

    enum lifecycle_drain drain;
    uint64_t drain_by; /* when the next step is due */
    enum lifecycle_purpose purpose;
    enum lifecycle_cause cause;
    uint32_t signals;
    bool port_check; /* STOPPING: the tree is gone, the ports are looked at */
    uint64_t port_check_by;
    bool survivors;  /* for the record: the tree did not become empty */
    bool ports_free; /* for the record */
    bool crashed;    /* for the exit code: the last exit of the server was no success */

    enum lifecycle_ownership ownership;
    struct os_identity owner;
    enum os_life owner_liveness;
    bool owner_adopted; /* the owner is a session's process, not the one given at launch */
    bool sampling;      /* ORPHAN: the second look has been asked for */
    uint64_t orphan_by; /* ORPHAN: when it is due */

    bool clients;                      /* some are connected to the server, as it says */
    uint64_t linger_by;                /* it stays for them until then; 0: it does not */
    enum lifecycle_cause linger_cause; /* why it ends then */

    uint64_t idle_since; /* when the last counting session went */
    uint64_t sweep_at;
    uint32_t session_count;
    struct lifecycle_session sessions[LIFECYCLE_MAX_SESSIONS]; /* oldest first */
};

/* ---- Events ---- */

enum lifecycle_event_kind {
    LIFECYCLE_ON_TIMER,      /* the deadline has come; also harmless at any other time */
    LIFECYCLE_ON_HELLO,      /* session, role, process, resume */
    LIFECYCLE_ON_HEARD,      /* session: any line, a pong included */
    LIFECYCLE_ON_CLOSED,     /* session: its connection is gone */
    LIFECYCLE_ON_LEAVE,      /* session, leave; the connection counts as closed */
    LIFECYCLE_ON_PROCESS,    /* process, liveness: what was seen of an owner or a peer */
    LIFECYCLE_ON_READY,      /* the server is ready */
    LIFECYCLE_ON_UNSTARTED,  /* failure: SPAWN or PORT; there is no process */
    LIFECYCLE_ON_EXIT,       /* success: the root of the tree ended; a lost guard is a failure */
    LIFECYCLE_ON_DRAINED,    /* all whom SIGTERM reached are gone, others of the tree are left */
    LIFECYCLE_ON_TREE_EMPTY, /* no process of the tree is left; follows every ON_EXIT */
    LIFECYCLE_ON_PORTS,      /* success: all ports are bindable */
    LIFECYCLE_ON_STOP,       /* session (0: none), force */
    LIFECYCLE_ON_RESTART,    /* session (0: none) */
    LIFECYCLE_ON_HANDOVER,   /* session (0: none), process: for whom */
    LIFECYCLE_ON_SIGNAL,     /* SIGTERM or SIGINT to the daemon */
    LIFECYCLE_ON_PARENT,     /* the parent of a foreground daemon died */
    LIFECYCLE_ON_CLIENTS,    /* success: clients are connected to the server; else none is */
    LIFECYCLE_EVENTS
};

enum lifecycle_leave {
    LIFECYCLE_LEAVE_DISABLE,
    LIFECYCLE_LEAVE_QUIT,
    LIFECYCLE_LEAVE_RELOAD,
    LIFECYCLE_LEAVE_RESTART
};

struct lifecycle_event {
    enum lifecycle_event_kind kind;
    uint32_t session; /* never 0 for a real session; chosen by the I/O, one per connection */
    uint32_t resume;  /* HELLO: the session it continues, or 0 */
    enum lifecycle_role role;
    enum lifecycle_leave leave;
    struct os_identity process;
    enum os_life liveness;
    enum lifecycle_failure failure;
    bool success;
    bool force;
};

/* ---- Actions: a set, carried out in this order ---- */

enum lifecycle_action {
    LIFECYCLE_DO_ANSWER = 1u << 0,       /* tell the caller `answer` */
    LIFECYCLE_DO_DROP = 1u << 1,         /* close the connections in `dropped`, if any */
    LIFECYCLE_DO_PING = 1u << 2,         /* ping the sessions in `pinged` */
    LIFECYCLE_DO_SWEEP = 1u << 3,        /* look at each session's process, report the dead */
    LIFECYCLE_DO_WATCH_OWNER = 1u << 4,  /* the owner is another process: watch that one */
    LIFECYCLE_DO_SAMPLE_OWNER = 1u << 5, /* look at the owner afresh, report whatever is seen */
    LIFECYCLE_DO_CLOSE_STDIN = 1u << 6,
    LIFECYCLE_DO_TERMINATE = 1u << 7,   /* SIGTERM to the root and its group */
    LIFECYCLE_DO_KILL_TREE = 1u << 8,   /* kill descendants until none is left */
    LIFECYCLE_DO_CHECK_PORTS = 1u << 9, /* answer with ON_PORTS */
    LIFECYCLE_DO_RECORD = 1u << 10,     /* write how it ended */
    LIFECYCLE_DO_START = 1u << 11,      /* spawn the server */
    LIFECYCLE_DO_PUBLISH = 1u << 12,    /* something that `status` shows has changed */
    LIFECYCLE_DO_EXIT = 1u << 13        /* the daemon ends with lifecycle_exit_code() */
};

enum lifecycle_answer {
    LIFECYCLE_ANSWER_NONE,
    LIFECYCLE_ANSWER_OK,
    LIFECYCLE_ANSWER_ADMITTED,
    LIFECYCLE_ANSWER_RESUMED,
    LIFECYCLE_ANSWER_STOPPING,      /* refused: this daemon is about to end, start afresh */
    LIFECYCLE_ANSWER_FULL,          /* refused: no room for another session */
    LIFECYCLE_ANSWER_OTHER_EDITORS, /* stop refused without force */
    LIFECYCLE_ANSWER_OTHER_SESSIONS /* hand-over refused: a session, an owner, or no owner ever */
};

/* Belongs to the caller; only the first *_count entries of the lists mean anything. */
struct lifecycle_actions {
    uint32_t set; /* of enum lifecycle_action */
    enum lifecycle_answer answer;
    uint32_t dropped_count, pinged_count;
    uint32_t dropped[LIFECYCLE_MAX_SESSIONS];
    uint32_t pinged[LIFECYCLE_MAX_SESSIONS];
};

/* ---- Use ---- */

/* Begins a life: `out` asks for the first start. `owner` may be NULL or have pid 0: then nothing
 * is armed, ever. A config out of range is repaired. The seed is only for backoff jitter. */
void lifecycle_init(struct lifecycle *, const struct lifecycle_config *config,
                    const struct os_identity *owner, uint32_t seed, uint64_t now_ms,
                    struct lifecycle_actions *out);

/* One event. A first start that fails with nobody there passes through FAILED within one step: the
 * state is then STOPPING with CAUSE_FAILED, and `failure` says what failed. Unknown sessions,
 * processes and late answers are ignored. After DO_EXIT nothing has any effect. */
void lifecycle_step(struct lifecycle *, const struct lifecycle_event *, uint64_t now_ms,
                    struct lifecycle_actions *out);

/* When ON_TIMER is next due; LIFECYCLE_NEVER if only an event can change anything. */
uint64_t lifecycle_deadline(const struct lifecycle *);

/* 0 fine, 1 failed, 3 port held by a stranger, 4 server not ready. */
int lifecycle_exit_code(const struct lifecycle *);

/* The same for a server that is failed now, whether its daemon ends or not. */
int lifecycle_failure_code(const struct lifecycle *);

/* Whether a session with this id is known; its data stays valid until the next step. */
const struct lifecycle_session *lifecycle_session_find(const struct lifecycle *, uint32_t id);

/* Whether the session keeps the server alive: not a cli, not silent. */
bool lifecycle_session_counts(const struct lifecycle_session *);

/* Whether the session would make `stop` without force from `caller` (0: no session) fail. */
bool lifecycle_session_blocks_stop(const struct lifecycle *, const struct lifecycle_session *,
                                   uint32_t caller);

/* ---- For status ---- */

enum lifecycle_why_kind {
    LIFECYCLE_WHY_ENDED,
    LIFECYCLE_WHY_STOPPING,      /* for the cause */
    LIFECYCLE_WHY_SESSIONS,      /* some count, and the owner may be alive too */
    LIFECYCLE_WHY_HOLD,          /* only a place kept for a restarting editor */
    LIFECYCLE_WHY_OWNER,         /* it lives */
    LIFECYCLE_WHY_OWNER_UNKNOWN, /* it cannot be looked at, and unknown is not dead */
    LIFECYCLE_WHY_CLIENTS,       /* nobody but clients of the server, for a while */
    LIFECYCLE_WHY_UNARMED,       /* no owner was given: only a stop, a signal or the idle limit */
    LIFECYCLE_WHY_GRACE          /* owner dead and nobody left; the second look is due */
};

struct lifecycle_why {
    enum lifecycle_why_kind kind;
    uint32_t sessions; /* that count, kept places included */
    uint64_t held_ms;  /* WHY_HOLD, WHY_CLIENTS: for so long yet */
};

struct lifecycle_why lifecycle_explain(const struct lifecycle *, uint64_t now_ms);

const char *lifecycle_server_name(enum lifecycle_server);
const char *lifecycle_ownership_name(enum lifecycle_ownership);
const char *lifecycle_role_name(enum lifecycle_role);
const char *lifecycle_link_name(enum lifecycle_link);
const char *lifecycle_cause_name(enum lifecycle_cause);
const char *lifecycle_failure_name(enum lifecycle_failure);

/* The reverse for what comes over the wire. False, and nothing stored, for an unknown word. */
bool lifecycle_role_parse(const char *, enum lifecycle_role *);
bool lifecycle_leave_parse(const char *, enum lifecycle_leave *);

#endif
