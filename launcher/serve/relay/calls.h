/* Requests on their way through an editor.
 *
 * A call ends in exactly one of these ways: the editor answers, is gone, or takes too long; or the
 * client does not want the answer any more. Until something else than the answer has to be sent,
 * its HTTP answer is undecided: an answer that comes soon is plain JSON, a later one is the end of
 * a stream. */
#ifndef TETHER_SERVE_RELAY_CALLS_H
#define TETHER_SERVE_RELAY_CALLS_H

#include "editors.h"
#include "serve/mcp/mcp.h"
#include "serve/mcp/replay.h"

/* A server that is asked again for the same call hears of it by a number that is so much larger. */
#define CALL_ROUND (INT64_C(1) << 40)

struct client_input; /* something that an editor wants from the client of a call */

struct call {
    struct call *next;
    struct serve *serve;
    int64_t number, number_there; /* the latter for a stdio server */
    struct editor *editor;        /* NULL: it waits for one */
    struct buffer message;        /* to be sent to it */
    json_t *said;                 /* in the URL of its client, or NULL */
    char method[32];
    bool modern, json_fine, stream_fine;
    struct http_connection *connection; /* NULL: the client is not there (any more) */
    struct mcp_session *session;        /* legacy */
    json_t *id;                         /* of the client's request */
    json_t *progress_token;             /* NULL: no progress is wanted */
    double progress;                    /* what it was last */
    int log_level;                      /* modern: from which on; -1: none */
    unsigned capabilities;
    json_t *params;              /* what was asked, if it may be asked again */
    struct client_input *inputs; /* oldest first */
    unsigned input_count;
    json_t *gathered, *state;    /* what a stdio server gets when it is asked again */
    struct resume_events events; /* legacy: of its stream */
    struct buffer line;          /* for a stdio server: as it was sent, or is to be sent */
    bool sent, repeatable;
    unsigned tries;
    struct deadline silent;
    struct deadline alive; /* when the client is told that it is still being worked on */
    int64_t began;
    struct deadline due; /* of the answer; parked: of the client; over: of being forgotten */
};

/* Relays the request to the editor, with its params, or, if it is not there, as soon as it is.
 * Answers it, sooner or later. */
void call_start(struct mcp_request *request, struct editor *editor);

/* An editor has something to offer: what waits for it goes there. */
void calls_go_on(struct serve *serve);

/* One has waited as long as it may. */
void call_waited(struct deadline *deadline);

/* Whether any waits; and: nothing waits for an editor any longer. */
bool calls_wait(const struct serve *serve);
void calls_give_up(struct serve *serve);

/* Goes on with the parked call that the request continues. */
void call_resume(struct mcp_request *request);

/* A legacy client has lost its connection, and takes the stream of the call up again behind an
 * event. False: there is no such call of this session, neither under way nor just over. */
bool call_reconnect(struct mcp_session *session, struct http_connection *connection, int64_t number,
                    uint32_t after);

/* The call of a session with this id, or NULL. */
struct call *call_find(const struct serve *serve, const struct mcp_session *session,
                       const json_t *id);

/* The client does not want it any more. */
void call_cancel(struct call *call, const char *reason);

/* What editors say about calls. */
void call_editor_notification(struct editor *editor, const struct rpc_message *message);
/* Passes a result on as the bytes that came. False: it has to be looked at as a message. */
bool call_pass_on(struct editor *editor, const struct scan *scan);
void call_editor_response(struct editor *editor, struct rpc_message *message);

/* Its answer to this call could not be read. */
void call_editor_unread(struct editor *editor, int64_t number, const char *complaint);
void call_editor_gone(struct editor *editor);

/* The session has ended: nobody is left to hear of its calls. */
void calls_session_gone(struct mcp_session *session);

/* We end: every call gets an answer. */
void calls_end(struct serve *serve);

void calls_init(struct serve *serve);

/* ---- for client_input.c ---- */

/* The call at this editor that params name; NULL: there is none (any more). */
struct call *call_named(const struct editor *editor, const json_t *params);

/* Ends the call with an error, or, of a tool and with code 0, with a failed result. */
void call_fail(struct call *call, int code, const char *text, json_t *data);

/* The request that the call has had is about to be answered, but the call goes on. */
void call_detach(struct call *call);

/* Sends a message on the call's stream. */
bool call_event(struct call *call, const struct buffer *message);

/* ---- client_input.c ---- */

/* A request of an editor for the client of a call; false: it is for nobody. */
bool input_ask(struct editor *editor, const struct rpc_message *message);

/* A legacy client's response to such a request; false: nobody asked. */
bool input_response(struct serve *serve, const struct mcp_session *session,
                    const struct rpc_message *message);

/* An editor's own input_required result: made fit for the client. False: the client cannot give
 * any of it, and the call has been failed. */
bool input_seal_result(struct call *call, json_t *result);

/* The other way: checks inputResponses and requestState of a request, and unseals the state. If it
 * continues something, sets whom it is for, and the parked call if it is one. False: it has been
 * answered. */
bool input_check(struct mcp_request *request);

/* The editor does not want it any more. */
void input_cancelled(struct editor *editor, const json_t *id, const char *reason);

void inputs_finish(struct call *call);

/* Gives the editor what a modern client came back with, and asks again for what is missing. */
void inputs_answer(struct call *call, const json_t *responses);

#endif
