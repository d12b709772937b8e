/* The daemon: feeds the lifecycle with what happens and carries out what it decides.
 *
 * One thread, one loop. Everything that happens becomes an event through daemon_feed; what follows
 * from it is decided in lifecycle/ and done here, by the modules beside this file. */
#ifndef TETHER_DAEMON_H
#define TETHER_DAEMON_H

#include <jansson.h>
#include <uv.h>

#include "control_socket.h"
#include "lifecycle/lifecycle.h"
#include "log.h"
#include "options/options.h"
#include "os/os.h"
#include "os/os_loop.h"
#include "place.h"
#include "ports.h"
#include "ready.h"
#include "records.h"
#include "supervise.h"

enum {
    /* Events that wait because they came out of an action. Most come of a sweep, which is due once
     * in a step at most: of each session either its death or its sign of life, and again for a
     * session whose record is there once more under another number; and of each other action one.
     */
    DAEMON_QUEUE = 2 * LIFECYCLE_MAX_SESSIONS + 64,
    DAEMON_TOKEN = 33, /* the WebSocket token in hexadecimal */
};

/* What is known of the server beyond the lifecycle's state; for people. */
struct server_facts {
    int64_t started_at, ready_ms; /* ready_ms: -1 before it is ready */
    bool has_exited;
    struct os_exit last_exit;
    char words[3072];      /* what is wrong, made when somebody asks */
    char last_lines[2048]; /* what the run that ended last had to say */
    json_t *command;       /* of the run that was started last, for others to see; or NULL */
    struct error failure;  /* why it could not be started; code 0: it could */
};

struct daemon {
    const struct options *options;
    bool foreground; /* `tether run` */
    struct os_dir dir;
    os_handle lock;
    struct place_keeper keeper;
    os_handle result; /* where `launch` waits for the outcome of the start; OS_NO_HANDLE: told */
    char instance[OPTIONS_INSTANCE_MAX];
    char control_name[OS_ENDPOINT_MAX];
    char token[DAEMON_TOKEN];
    char mark[DAEMON_TOKEN]; /* of all that is started: ours, and no copy of an environment */
    struct os_identity self;
    struct os_identity above[RECORDS_ABOVE]; /* the processes above us */
    int64_t started_at;

    uv_loop_t loop;
    uv_timer_t timer;       /* the lifecycle's next deadline */
    uv_timer_t state_timer; /* state.json is to be written */
    uv_timer_t owner_timer; /* the owner cannot be watched: another try */
    uv_timer_t ports_timer; /* what is left of connections blocks a port: another try */
    int64_t ports_by;       /* but not for longer than until then; 0: nothing does */
    struct os_wishes *wishes;
    struct os_watch *owner_watch, *parent_watch;

    struct log log;
    struct ports ports;
    struct ready ready;
    struct supervisor supervisor;
    struct control control;
    struct server_facts facts;
    enum lifecycle_failure told; /* in words, in the log, for this end of the server */
    bool ready_early;            /* the server said so before its start was told */
    bool owner_ended;            /* the handle's word, which /proc may lag behind */
    bool opened;                 /* the loop and all its handles are there */
    bool ended;

    bool busy;
    bool untold; /* a change could not be told, for want of memory */
    size_t first, queued;
    struct lifecycle_actions actions;
    /* Last: most of them is never touched. */
    struct lifecycle life;
    struct lifecycle_event queue[DAEMON_QUEUE];
};

/* Runs an instance until its end, in the foreground or for `tether launch`; returns the exit code.
 */
int daemon_run(const struct options *options, bool foreground);

/* Applies an event and does all that follows. `caller` is the session that asked, and gets the
 * answer; NULL: nobody. */
void daemon_feed(struct daemon *daemon, const struct lifecycle_event *event,
                 struct control_call *caller);

/* The same for an event that is nothing but its kind. */
void daemon_feed_kind(struct daemon *daemon, enum lifecycle_event_kind kind);

/* What the supervisor has to tell. A run begins with `started` or `unstarted`; after `unstarted`
 * nothing of it is left, after `started` come `exited` and then LIFECYCLE_ON_TREE_EMPTY. */
void daemon_server_started(struct daemon *daemon);
void daemon_server_unstarted(struct daemon *daemon, enum lifecycle_failure failure,
                             const struct error *why);
void daemon_server_exited(struct daemon *daemon, const struct os_exit *how);

/* At the next turn of the loop, the state is put into its file. */
void daemon_write_state(struct daemon *daemon);

#endif
