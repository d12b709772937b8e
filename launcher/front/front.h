/* `tether mcp`: relays between an MCP client on standard input and output and the server over HTTP.
 *
 * Messages pass as the bytes they are. Each message of the client is a *flight*: it waits until the
 * server is up and the session is there, goes out on a connection of its own, and lands: every
 * request gets exactly one answer, from the server or, if that is lost, from here. */
#ifndef TETHER_FRONT_H
#define TETHER_FRONT_H

#include <uv.h>

#include "client_io.h"
#include "daemon_session.h"
#include "http_client.h"
#include "json_scan.h"
#include "mcp_session.h"
#include "options/options.h"
#include "os/os_loop.h"
#include "requests.h"
#include "tool_hints.h"

enum {
    FRONT_REQUESTS_MOST = 128, /* under way at once; further ones wait */
    FRONT_ERROR = -32000,
    FRONT_ABANDONED_MOST = 64,
    FRONT_ID_MAX = 128,
};

enum front_phase {
    FRONT_RUNS,
    FRONT_DRAINS, /* the client says no more; what is under way is still answered */
    FRONT_ENDS,   /* everything is being closed */
    FRONT_OVER
};

/* Requests of servers to the client, by id, that have no answer yet. */
struct asked {
    char ids[FRONT_ABANDONED_MOST][FRONT_ID_MAX];
    uint64_t generation[FRONT_ABANDONED_MOST]; /* of the server that asked */
    size_t next;
};

struct front {
    const struct options *options;
    const char *token;    /* TETHER_HTTP_TOKEN, or NULL */
    struct buffer target; /* the query of the URL; empty: none */
    enum front_phase phase;
    uv_loop_t loop;
    uv_timer_t timer;
    struct os_wishes *wishes;
    struct os_watch *parent;
    struct daemon_session daemon;
    struct pool pool;
    struct output output;
    struct flight *flights; /* in the order in which they came */
    struct dialog dialog;
    struct hints hints;
    struct asked asked;
    struct scan scan; /* for one message after the other */
    char modern[64];  /* the version that the client spoke last, if it is of the stateless era */
    uint64_t asked_generation; /* of the server whose requests `asked` has */
    unsigned misses; /* connections in a row that came to nothing though the server was up */
    int64_t hold_until;
    int64_t end_by;             /* DRAINS, ENDS: when it is enough */
    struct client_reader input; /* last: its buffer is large */
};

/* What is due is done, what may go goes, and the timer is set. Called at the end of whatever
 * happened. */
void front_settle(struct front *front);

/* A connection to the server came to nothing. */
void front_doubt(struct front *front);

/* Relays a message that the server sent on its own account or for a request. */
void front_relay(struct front *front, const char *data, size_t length, const struct scan *scan);

/* Writes a line, and sees to it that no more is read than is taken. */
void front_output(struct front *front, const char *data, size_t length);

/* Answers a request with an error, as JSON or in words. The id is null if there is none to be had.
 */
void front_answer(struct front *front, const struct scan_span *id, const char *error,
                  size_t length);
void front_answer_error(struct front *front, const struct scan_span *id, int code,
                        const char *message);

/* The last thing the front says to people: one line on standard error. */
void front_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* `tether mcp`; returns its exit code. */
int command_mcp(const struct options *options);

/* The same with a command of its own that speaks over standard input and output: watches that. */
int command_watch(const struct options *options);

#endif
