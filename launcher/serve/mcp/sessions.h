/* Sessions of the legacy era.
 *
 * A session's id says all that we must know of it (version, what its client can be asked for and
 * was promised) and is sealed with a key that outlives this process: a server that was restarted
 * goes on with the sessions of its predecessor as if nothing had happened. Only ended ones are
 * remembered. */
#ifndef TETHER_SERVE_MCP_SESSIONS_H
#define TETHER_SERVE_MCP_SESSIONS_H

#include "mcp.h"

enum { SESSION_BYTES = 14, SESSION_ID_TEXT = 73 };

struct mcp_session {
    struct mcp_session *next;
    struct serve *serve;
    char id[SESSION_ID_TEXT];
    uint8_t bytes[SESSION_BYTES];
    unsigned version, capabilities;
    unsigned promised;     /* offers that its client was told of; it hears of no others */
    struct buffer context; /* what editors are told of its client, as JSON */
    json_t *said;          /* in the URL of its requests, or NULL */
    bool noted;            /* what that is has been told */
    char *selected;        /* an editor (caller.c), or NULL */
    json_t *roots;         /* folders that its client works in; NULL: it has not said */
    uint64_t
        seen[LIST_COUNT]; /* marks of the lists that its client knows, or was told to look at */
    int log_level;
    bool level_set;                 /* by its client */
    struct http_connection *stream; /* of GET, or NULL */
    json_t *subscriptions;          /* resource uri → true, or NULL */
    unsigned calls;                 /* under way */
    int64_t used_at;                /* when it last began or ended something */
};

/* The versions of the era, newest first. */
extern const char *const session_versions[];

/* -1: not one of the era. */
int session_version_index(const char *version);

struct mcp_session *session_create(struct serve *serve, unsigned version, const json_t *params);

/* NULL: it has ended, or is none of ours. */
struct mcp_session *session_find(struct serve *serve, const char *id);

/* Ends it for good. */
void session_end(struct mcp_session *session);
void sessions_finish(struct serve *serve);

/* Ends the streams of GET; the sessions stay. */
void sessions_close_streams(struct serve *serve);

/* What the URL of its newest request says. */
void session_note(struct mcp_session *session, json_t *said);

/* Its client has seen the lists that it is shown now. */
void session_see(struct mcp_session *session);

/* Tells the client, if it has a stream, which lists are others than it has seen. */
void session_tell_changes(struct mcp_session *session);

/* Whether it wants to hear log messages of this level. */
bool session_wants_log(const struct mcp_session *session, int level);

/* Puts a message on the session's stream, if there is one. */
void session_tell(struct mcp_session *session, const struct buffer *message);

#endif
