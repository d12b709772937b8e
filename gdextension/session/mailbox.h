/* What a control client and the main thread have to say to each other: commands one way, events the
 * other. Neither ever waits for the other; the lock is held for the moment of linking. */
#ifndef TETHER_SESSION_MAILBOX_H
#define TETHER_SESSION_MAILBOX_H

#include <stdatomic.h>

#include <jansson.h>
#include <uv.h>

#include "launch_setup.h"

enum command_kind {
    COMMAND_SET_UP, /* setup: what later launches will use */
    COMMAND_START,
    COMMAND_STOP,     /* force */
    COMMAND_RESTART,  /* force. With what was set up last: if the server that runs was launched with
                         something else, that is a stop and a start, refused while other editors use
                         it, unless forced */
    COMMAND_OFFER,    /* json: what this editor offers, in the terms of the built-in server */
    COMMAND_ANSWER,   /* call, json: its result */
    COMMAND_SAY,      /* json: a notification, or a request for a client, to the built-in server */
    COMMAND_ACTIVATE, /* the user works in this editor now */
    COMMAND_LEAVE,    /* reason, hurry. The last word; if hurried, what is still under way is given
                         up. The thread then ends by itself */
};

struct mailbox_command {
    struct mailbox_command *next;
    enum command_kind kind;
    bool force, hurry;
    const char *reason; /* of control_reason; NULL: to go without saying anything */
    int64_t call;
    json_t *json;
    struct launch_setup setup;
};

void command_free(struct mailbox_command *command);

enum control_event_kind {
    CONTROL_STATE,   /* text: the client's state; json: the daemon's state, or NULL: as before */
    CONTROL_LOG,     /* text: a line; stream: of which stream */
    CONTROL_ADOPTED, /* number: pid of the daemon that was running already */
    CONTROL_FAILED,  /* number: code; text: why; json: what launch said, or NULL */
    CONTROL_REFUSED, /* text: why a stop or restart was not carried out */
    CONTROL_BRIDGE,  /* text: "connected" or "off", the way to the built-in server's clients */
    CONTROL_CALL, /* number: of the call; text: its method; json: its parameters. To be answered */
    CONTROL_ANSWERED,  /* number: of a request of ours; json: the answer to it */
    CONTROL_CANCELLED, /* number: of a call whose answer nobody waits for any more */
    CONTROL_NOTHING,   /* it was taken back */
};

struct control_event {
    struct control_event *next;
    enum control_event_kind kind;
    int64_t number;
    char *text;
    char stream[12];
    json_t *json;
};

void control_event_free(struct control_event *event);

struct mailbox {
    uv_async_t wake; /* the client's thread, for a command */
    uv_mutex_t mutex;
    struct mailbox_command *commands, **commands_end;
    struct control_event *events, **events_end;
    size_t lines; /* of the log, among the events */
    atomic_bool has_events, is_closed;
};

/* `on_wake` runs on the loop when there are commands; the context is its handle's data. */
void mailbox_init(struct mailbox *box, uv_loop_t *loop, uv_async_cb on_wake, void *context);

/* On the loop: it takes no more notice of commands, which may still be put. */
void mailbox_close(struct mailbox *box);

/* When the loop is over. */
void mailbox_finish(struct mailbox *box);

/* Takes over what is in the command. */
void mailbox_put_command(struct mailbox *box, struct mailbox_command command);

/* Puts an event: takes the reference, copies the text, which may be NULL. Of too many lines of the
 * log some are dropped, until the others have been taken. */
void mailbox_tell(struct mailbox *box, enum control_event_kind kind, const char *text,
                  int64_t number, json_t *json);
void mailbox_tell_log(struct mailbox *box, const char *stream, const char *line);

/* A line as the log file has it: "TIME STREAM TEXT". */
void mailbox_tell_logged(struct mailbox *box, const char *line);

/* All there are, oldest first, or NULL. */
struct mailbox_command *mailbox_take_commands(struct mailbox *box);
struct control_event *mailbox_take_events(struct mailbox *box);

/* Takes a CONTROL_CALL back that has not been taken yet; false if it has. */
bool mailbox_withdraw_call(struct mailbox *box, int64_t call);

#endif
