/* The built-in server from within: one loop, one thread, and everything it knows.
 *
 *   http/    requests in, answers out; knows nothing of MCP
 *   mcp/     MCP of both eras on one endpoint
 *   relay/   the editors: who serves, what they offer, requests on their way through one
 *   stdio/   a server that speaks over standard input and output, in an editor's place
 */
#ifndef TETHER_SERVE_H
#define TETHER_SERVE_H

#include <uv.h>

#include "buffer.h"
#include "options/options.h"
#include "os/os.h"
#include "os/os_loop.h"
#include "serve/http/deadline.h"
#include "serve/http/http.h"
#include "serve/mcp/jsonrpc.h"
#include "serve/mcp/seal.h"
#include "serve/relay/editor_socket.h"

enum {
    SERVE_SESSIONS_MOST = 128, /* beyond: the one unused for longest is forgotten */
    SERVE_CALLS_MOST = 256,    /* requests in flight */
    SERVE_ENDED_MOST = 256,    /* sessions that are remembered to have ended */
    SERVE_SUBSCRIPTIONS_MOST = 256,
    SERVE_URI_MOST = 4096,            /* bytes of what is subscribed to */
    SERVE_CALL_MS = 10 * 60 * 1000,   /* TETHER_CALL_LIMIT_MS */
    SERVE_SILENT_MS = 5 * 1000,       /* a call without an answer for so long becomes a stream */
    SERVE_ALIVE_MS = 15 * 1000,       /* so often it says that it goes on; TETHER_PROGRESS_MS */
    SERVE_PARKED_MS = 10 * 60 * 1000, /* a call waits so long for what its client was asked */
    SERVE_CLIENT_IDLE_MS = 5 * 60 * 1000, /* TETHER_CLIENT_IDLE_MS; --per-client */
    SERVE_DRAIN_MS = 1500,                /* for requests in flight, when we are to end */
};

enum list_kind { LIST_TOOLS, LIST_RESOURCES, LIST_TEMPLATES, LIST_PROMPTS, LIST_COUNT };

/* What editors can offer beside tools; bits. Clients are told of it once an editor has. */
enum offer_bit {
    OFFER_RESOURCES = 1,
    OFFER_SUBSCRIBE = 2, /* to resources */
    OFFER_PROMPTS = 4,
    OFFER_COMPLETIONS = 8,
    OFFER_LOGGING = 16,
    OFFER_BITS = 5,
};

struct editor;
struct stdio_server;
struct offer;
struct kept_projects;
struct expectation;
struct mcp_session;
struct call;
struct listener;

struct serve {
    const struct options *options;
    uv_loop_t loop;
    struct os_wishes *wishes;
    uv_pipe_t input;
    uv_timer_t drain_timer;
    struct deadlines deadlines;
    struct deadline_class call_time, silent_time, alive_time, parked_time, over_time, wait_time;
    struct http_server http;
    struct editor_socket_server editor_sockets;
    struct os_identity self;
    int64_t started_at;
    uint16_t http_port, ws_port; /* 0: no editors */
    struct seal_key key;
    bool ending, asked_to_end, stopped;
    os_handle inherited[2]; /* listening sockets that were handed down: HTTP, editors */
    size_t inherited_count;

    struct editor *editors; /* oldest first */
    struct editor *active;
    uint64_t activations;
    uint64_t editor_count;
    unsigned offers; /* of all editors since we started: what was offered stays known */

    struct os_dir dir;  /* of the instance; without a path: there is none, and nothing is kept */
    struct offer *kept; /* what is shown while no editor is there: the last one's */
    uint64_t kept_mark; /* of its file */
    struct kept_projects *projects; /* what those of the last projects have offered */
    struct expectation *expectation;

    struct mcp_session *sessions; /* the one used last is the first */
    unsigned session_count;
    uint8_t ended[SERVE_ENDED_MOST][12];
    unsigned ended_count, ended_next;

    struct call *calls;
    unsigned call_count;
    int64_t last_call;

    unsigned over_count; /* calls whose answer may be asked for again */
    size_t over_bytes;

    struct stdio_server *programs; /* --stdio: the first is that of the lists */
    json_t *presented;             /* how that one calls itself, or NULL */
    void (*on_stdio_ready)(struct serve *serve);
    void (*on_stdio_failed)(struct serve *serve);
    void (*on_stdio_over)(struct serve *serve);

    struct listener *listeners;
    json_t *selections; /* of clients without a session: name → what it selected */
    json_t *watched;    /* resource uri → true: somebody wants to hear of it */

    char unread[64]; /* what comes on standard input */
    int exit_code;
};

/* A time of one's own, in milliseconds, by a variable; anything else leaves this one. */
uint64_t serve_interval(const char *variable, uint64_t fallback);

/* `tether serve`; returns its exit code. */
int command_serve(const struct options *options);

#endif
