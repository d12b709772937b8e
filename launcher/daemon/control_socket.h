/* The control socket: who is connected, what they say, what they are told.
 *
 * A session outlives its connection: an editor that reloads its plugin is away, and still counts,
 * as long as its process lives. So one record stands for both, and goes when the connection is
 * closed and the lifecycle knows the session no more. The kernel says who is at the other end;
 * another user is refused, and a pid that is not the peer's is not believed. */
#ifndef TETHER_DAEMON_CONTROL_SOCKET_H
#define TETHER_DAEMON_CONTROL_SOCKET_H

#include <jansson.h>
#include <uv.h>

#include "error.h"
#include "lifecycle/lifecycle.h"
#include "log.h"
#include "os/os_loop.h"
#include "protocol/lines.h"

struct daemon;

struct control_session {
    struct control_session *next;
    struct control *control;
    uint32_t id;
    struct line_stream stream;
    uv_timer_t patience; /* with its hello, then with its reading */
    int open_handles;    /* of the two above, those the loop still has */
    uv_shutdown_t last;  /* of what it is told when the daemon ends */
    bool connected;
    bool known; /* the lifecycle has been told of it */
    bool greeted;
    bool wants_log;
    bool behind;     /* has much to read, and gets the newest state when it has done so */
    bool overflowed; /* is about to lose its connection, for it does not read */
    struct os_identity process; /* pid 0: the kernel does not show it */
    struct os_watch *watch;
    json_t *told; /* project, version and godot, as it said itself; or NULL */
    enum lifecycle_role role;
};

/* A request that waits for the lifecycle's answer. */
struct control_call {
    struct control_session *session;
    const json_t *id; /* NULL: it is a hello */
};

struct control {
    struct daemon *daemon;
    struct os_control *endpoint;      /* NULL: not there yet */
    uv_timer_t again;                 /* a connection waits for memory */
    struct control_session *sessions; /* newest first */
    uint32_t last_id;
    char buffer[16384];
};

/* Listens at the instance's endpoint. Only for who holds the lock. */
int control_init(struct control *control, struct daemon *daemon, struct error *err);

/* The same once more, when the endpoint is gone; sessions stay. */
int control_listen(struct control *control, struct error *err);

/* Writes the records of all sessions anew. */
void control_write_records(struct control *control);

/* Closes everything; sessions go when the loop has closed their handles. */
void control_finish(struct control *control);

/* NULL: there is no such session. */
struct control_session *control_find(const struct control *control, uint32_t id);

/* What the lifecycle asks for. */
void control_answer(struct control_call *call, enum lifecycle_answer answer);
void control_drop(struct control *control, uint32_t id);
void control_ping(struct control *control, uint32_t id);
void control_sweep(struct control *control);

/* Lets go of sessions that the lifecycle no longer knows. After each of its steps. */
void control_settle(struct control *control);

/* Ends a connection. The session may be gone after this. */
void control_disconnect(struct control_session *session);

/* Tells everybody the new state. False: there was no memory for it. */
bool control_publish(struct control *control);

/* Passes a line on to those who follow the log. */
void control_log(struct control *control, enum log_stream stream, const char *text,
                 uint64_t number);

#endif
