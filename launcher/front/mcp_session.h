/* The session of the eras that have one: what the client's `initialize` began.
 *
 * The client has one session from its first message to its last. Towards the server it is begun
 * anew whenever the server is another one or has forgotten it: initialize, level and subscriptions
 * are said again, and the new session id is never seen by the client. */
#ifndef TETHER_FRONT_MCP_SESSION_H
#define TETHER_FRONT_MCP_SESSION_H

#include "http_client.h"
#include "json_scan.h"
#include "request_head.h"

struct front;

enum { DIALOG_LISTS = 3 };

enum dialog_state {
    DIALOG_NONE,   /* the client has not initialized, or speaks an era without sessions */
    DIALOG_OPEN,   /* good for the server of `generation` */
    DIALOG_REPLAY, /* being begun anew */
};

struct dialog {
    enum dialog_state state;
    uint64_t generation;
    unsigned epoch;             /* counts the times that it was begun */
    struct blob *said;          /* what is to be said again, oldest first: initialize … */
    char id[ANSWER_HEADER_MAX]; /* Mcp-Session-Id, or "" */
    char version[64];
    bool changes[DIALOG_LISTS]; /* the server tells when these lists change */
    bool initialized;           /* the client has said so */

    struct exchange replay;
    struct blob *next; /* to be said */
    bool begun;        /* initialize was answered */

    struct exchange goodbye; /* DELETE */
    struct exchange stream;  /* GET: what the server says on its own account */
    bool stream_refused;     /* it has none */
    int64_t stream_at;       /* when to open it again; 0: not set */
    int64_t stream_delay;
    char stream_last[SSE_ID_MAX];
};

/* The client's initialize was answered. */
void dialog_began(struct front *front, struct blob *initialize, const struct http_response *answer,
                  const char *result, size_t length);

/* The client's notifications/initialized has arrived. */
void dialog_initialized(struct dialog *dialog, struct blob *line);

/* Remembers what has to be said again: a level, a subscription or its end. */
void dialog_remember(struct dialog *dialog, struct blob *line);

/* Whether messages of this session may go out now. If not, begins what is needed for it. */
bool dialog_fit(struct front *front);

/* The server does not know it any more. */
void dialog_forgotten(struct front *front);

/* Opens the stream if it is due. */
void dialog_settle(struct front *front);

/* Sends a request, in this session if there is one: fills in what that and the message say. */
int dialog_send(struct front *front, struct exchange *exchange, struct head *head,
                struct blob *body);

/* Tells the server that the session is over, if there is one, and settles when it knows. */
void dialog_end(struct front *front);

/* When dialog_settle has something to do; 0: never. */
int64_t dialog_deadline(const struct front *front);

/* Forgets what has been said. */
void dialog_finish(struct dialog *dialog);

#endif
