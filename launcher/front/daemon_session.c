#include "daemon_session.h"

#include <stdio.h>
#include <string.h>

#include "error.h"
#include "os/os.h"
#include "text_list.h"

enum {
    LASTING_MS = 5000, /* a session that held so long makes up for failed tries before it */
    TRIES_MOST = 4,
    REST_MS = 1000, /* after a failure nothing is tried for so long */
};

static void begin_launch(struct daemon_session *session);
static void begin_joining(struct daemon_session *session, const char *endpoint);

static void tell_changed(struct daemon_session *session) {
    session->events->changed(session->context);
}

static void set_reason(struct daemon_session *session, const char *text) {
    struct error err;
    error_set(&err, 0, "%.500s", text);
    memcpy(session->reason, err.message, sizeof session->reason);
}

static void fail(struct daemon_session *session, const char *why) {
    session->phase = SESSION_DOWN;
    session->ready = session->in_doubt = false;
    session->failed_at = os_clock_ms();
    set_reason(session, why);
    session->events->failed(session->context, session->reason);
}

/* Once more, unless that has led to nothing several times in a row. */
static void try_again(struct daemon_session *session, const char *why) {
    set_reason(session, why);
    if (session->leaving)
        return;
    if (++session->tries > TRIES_MOST) {
        session->tries = 0;
        fail(session, why);
    } else {
        begin_launch(session);
    }
}

/* ---- launching ---- */

static void on_launched(void *context, const json_t *result, const char *why) {
    struct daemon_session *session = context;
    session->launch = NULL;
    if (!result) {
        fail(session, why);
    } else if (message_number(result, "code", 1) != 0) {
        fail(session, message_text(result, "message"));
    } else {
        session->port = (uint16_t)message_number(result, "http_port", session->port);
        begin_joining(session, message_text(result, "control"));
    }
}

/* The server belongs to this process if nobody else was named: it then ends after the front, unless
 * others use it, and passes on to the oldest of them. */
static void launch_words(const struct daemon_session *session, struct text_list *words) {
    struct options told = *session->options;
    if (told.owner.pid == 0) {
        os_identity_self(&told.owner);
        told.owner_is_front = true;
    }
    text_list_add(words, "tether");
    text_list_add(words, "launch");
    options_emit(&told, words);
}

static void begin_launch(struct daemon_session *session) {
    struct text_list words = {0}, environment = {0};
    char self[OS_PATH_MAX], text[128];
    int rc = os_own_program(self, sizeof self);
    session->phase = SESSION_LAUNCHING;
    session->ready = session->in_doubt = false;
    session->server = SERVER_UNKNOWN;
    launch_words(session, &words);
    options_environment(&environment);
    if (rc == 0 && (words.failed || environment.failed))
        rc = UV_ENOMEM;
    if (rc == 0) {
        const struct os_spawn_spec spec = {
            .path = self, .words = words.items, .environment = environment.items};
        rc = launch_run_start(&session->launch, session->loop, &spec, NULL, on_launched, session);
    }
    text_list_finish(&words);
    text_list_finish(&environment);
    if (rc < 0) {
        snprintf(text, sizeof text, "cannot start `tether launch`: %s", uv_strerror(rc));
        fail(session, text);
    }
}

/* ---- what the daemon says ---- */

static void note_generation(struct daemon_session *session, const json_t *state,
                            const json_t *server) {
    int64_t daemon = message_number(json_object_get(state, "daemon"), "pid", 0);
    int64_t pid = message_number(server, "pid", 0);
    int64_t restarts = message_number(state, "restarts", 0);
    if (daemon == session->daemon_pid && pid == session->server_pid &&
        restarts == session->restarts)
        return;
    session->generation++;
    session->daemon_pid = daemon;
    session->server_pid = pid;
    session->restarts = restarts;
}

static void note_reason(struct daemon_session *session, const json_t *message) {
    const json_t *server = json_object_get(message, "server");
    const char *exit_text = message_text(json_object_get(server, "last_exit"), "text");
    char text[512];
    snprintf(session->last_exit, sizeof session->last_exit, "%s", exit_text);
    if (session->server == SERVER_FAILED)
        snprintf(text, sizeof text, "the server failed: %.400s", message_text(server, "reason"));
    else if (server_is_ending(session->server))
        snprintf(text, sizeof text, "the server was stopped");
    else if (exit_text[0] && !session->ready)
        snprintf(text, sizeof text, "the server %.400s", exit_text);
    else
        snprintf(text, sizeof text, "the server is %s", message_text(message, "state"));
    set_reason(session, text);
}

static void on_state(struct daemon_session *session, const json_t *message) {
    const json_t *server = json_object_get(message, "server");
    session->server = message_state(message);
    session->ready = session->server == SERVER_READY;
    if (session->ready) {
        session->port = (uint16_t)message_number(server, "http_port", session->port);
        note_generation(session, message, server);
    }
    note_reason(session, message);
    if (session->server == SERVER_FAILED)
        session->events->failed(session->context, session->reason);
    else
        tell_changed(session);
}

static void on_welcome(struct daemon_session *session, const json_t *message) {
    snprintf(session->session, sizeof session->session, "%s", message_text(message, "session"));
    session->phase = SESSION_JOINED;
    session->joined_at = os_clock_ms();
    on_state(session, message);
}

static void on_refusal(struct daemon_session *session, const json_t *message) {
    char text[256];
    if (session->phase != SESSION_JOINING)
        return;
    if (message_refusal(message) == REFUSED_STOPPING) {
        set_reason(session, "the server was being stopped");
        return; /* the end of the connection comes when the place is free */
    }
    snprintf(text, sizeof text, "the daemon refused: %.200s", message_text(message, "message"));
    session->tries = TRIES_MOST;
    set_reason(session, text);
}

static void on_heard(void *context, enum message_kind kind, json_t *message) {
    struct daemon_session *session = context;
    if (kind == MESSAGE_REPLY) /* nothing is asked for but the status */
        session->in_doubt = false;
    if (kind == MESSAGE_WELCOME)
        on_welcome(session, message);
    else if (kind == MESSAGE_STATE || kind == MESSAGE_REPLY)
        on_state(session, message);
    else if (kind == MESSAGE_ERROR)
        on_refusal(session, message);
}

/* ---- the connection ---- */

static void disconnect(struct daemon_session *session) {
    daemon_client_close(session->client);
    session->client = NULL;
}

static void on_lost(void *context, int why) {
    struct daemon_session *session = context;
    bool was_joined = session->phase == SESSION_JOINED;
    (void)why;
    disconnect(session);
    session->phase = SESSION_DOWN;
    session->ready = session->in_doubt = false;
    if (session->leaving) {
        session->left = true;
        tell_changed(session);
    } else if (was_joined && server_is_ending(session->server)) {
        fail(session, "the server was stopped; the next request starts it again");
        session->failed_at = 0;
    } else {
        if (was_joined && os_clock_ms() - session->joined_at > LASTING_MS)
            session->tries = 0;
        try_again(session, was_joined           ? "the daemon of the server ended unexpectedly"
                           : session->reason[0] ? session->reason
                                                : "the daemon of the server does not answer");
        tell_changed(session);
    }
}

static void begin_joining(struct daemon_session *session, const char *endpoint) {
    static const struct daemon_client_events events = {NULL, on_heard, on_lost};
    const struct hello hello = {.role = "front", .resume = session->session};
    session->client = daemon_client_open(session->loop, endpoint, hello, &events, session);
    if (session->client)
        session->phase = SESSION_JOINING;
    else
        fail(session, "out of memory");
}

/* ---- for the others ---- */

void daemon_session_init(struct daemon_session *session, uv_loop_t *loop,
                         const struct options *options, const struct daemon_session_events *events,
                         void *context) {
    *session = (struct daemon_session){.events = events,
                                       .context = context,
                                       .loop = loop,
                                       .options = options,
                                       .port = options->http_port};
}

/* A server that has given up gets one more try from a launch. */
void daemon_session_wake(struct daemon_session *session) {
    bool failed = session->phase == SESSION_JOINED && session->server == SERVER_FAILED;
    if (session->leaving || (session->phase != SESSION_DOWN && !failed))
        return;
    if (session->failed_at && os_clock_ms() - session->failed_at < REST_MS) {
        session->events->failed(session->context, session->reason);
        return;
    }
    if (failed) {
        session->failed_at = os_clock_ms();
        disconnect(session);
    }
    begin_launch(session);
}

void daemon_session_doubt(struct daemon_session *session) {
    if (session->phase != SESSION_JOINED || session->in_doubt)
        return;
    session->in_doubt = true;
    daemon_client_say(session->client, json_pack("{s:i, s:s}", "id", 1, "type", "status"));
}

void daemon_session_leave(struct daemon_session *session) {
    session->leaving = true;
    session->ready = false;
    if (session->phase == SESSION_JOINED)
        daemon_client_leave(session->client, "quit");
    else
        session->left = true;
    launch_run_abort(session->launch);
    session->launch = NULL;
}

void daemon_session_finish(struct daemon_session *session) {
    launch_run_abort(session->launch);
    session->launch = NULL;
    disconnect(session);
}
