#include "control_socket.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "control_send.h"
#include "daemon.h"
#include "memory.h"
#include "must.h"
#include "protocol/message.h"
#include "protocol/version.h"
#include "readable.h"
#include "records.h"
#include "state_json.h"
#include "utf8.h"

enum {
    BACKLOG = 128,
    HELLO_PATIENCE_MS = 100, /* then it is taken for one that never says hello */
    LOG_LINES_MOST = 5000,
    NAME_MOST = 120,    /* of what a client says of itself: it stands in every state */
    LAST_WORD_MS = 300, /* for the last state to go out before the daemon ends */
    AGAIN_MS = 100,     /* until a connection is taken for which there was no memory */
};

/* ---- finding ---- */

struct control_session *control_find(const struct control *control, uint32_t id) {
    struct control_session *session = control->sessions;
    while (session && session->id != id)
        session = session->next;
    return session;
}

static struct control_session *find_process(struct control *control, enum lifecycle_role role,
                                            const struct os_identity *process) {
    struct control_session *session = control->sessions;
    while (session && (!session->known || session->role != role ||
                       !os_identity_same(&session->process, process)))
        session = session->next;
    return session;
}

/* ---- the life of a record ---- */

static void session_free(struct control_session *session) {
    buffer_finish(&session->stream.lines);
    json_decref(session->told);
    free(session);
}

static void on_handle_closed(uv_handle_t *handle) {
    struct control_session *session = handle->data;
    must(session->open_handles > 0);
    session->open_handles--;
    if (session->open_handles == 0 && !session->control)
        session_free(session);
}

/* For a record that is out of the list: it is freed as soon as the loop has let go of it. */
static void session_release(struct control_session *session) {
    if (session->process.pid > 0 && session->role != LIFECYCLE_ROLE_CLI)
        records_remove_session(&session->control->daemon->dir, session->process.pid);
    os_watch_destroy(session->watch);
    session->control = NULL;
    if (session->open_handles == 0)
        session_free(session);
}

static void feed(struct control_session *session, struct lifecycle_event event,
                 struct control_call *call) {
    event.session = session->id;
    daemon_feed(session->control->daemon, &event, call);
}

/* Ends the connection without telling the lifecycle. */
static void close_connection(struct control_session *session) {
    if (!session->connected)
        return;
    session->connected = false;
    uv_close((uv_handle_t *)&session->stream.pipe, on_handle_closed);
    uv_close((uv_handle_t *)&session->patience, on_handle_closed);
}

void control_disconnect(struct control_session *session) {
    struct control *control = session->control;
    if (!session->connected) /* it may be out of the list already */
        return;
    must(!control->daemon->busy); /* somebody may be walking through the sessions */
    close_connection(session);
    if (session->known)
        feed(session, (struct lifecycle_event){.kind = LIFECYCLE_ON_CLOSED}, NULL);
    control_settle(control);
}

void control_settle(struct control *control) {
    struct control_session **link = &control->sessions;
    while (*link) {
        struct control_session *session = *link;
        if (session->connected || lifecycle_session_find(&control->daemon->life, session->id)) {
            link = &session->next;
        } else {
            *link = session->next;
            session_release(session);
        }
    }
}

static void on_process_end(void *context, const struct os_identity *identity) {
    struct control_session *session = context;
    struct control *control = session->control;
    struct lifecycle_event event = {
        .kind = LIFECYCLE_ON_PROCESS,
        .process = *identity,
        .liveness = OS_DEAD,
    };
    if (!session->known) /* it never got so far as to be a session */
        close_connection(session);
    else
        daemon_feed(control->daemon, &event, NULL); /* the session may be gone after this */
    control_settle(control);
}

static struct control_session *session_create(struct control *control) {
    struct control_session *session = memory_zeroed(sizeof *session);
    if (!session)
        return NULL;
    session->control = control;
    session->id = ++control->last_id;
    session->role = LIFECYCLE_ROLE_CLI; /* until it says more, it counts for nothing */
    session->next = control->sessions;
    control->sessions = session;
    return session;
}

/* ---- hello ---- */

static void introduce(struct control_session *session, enum lifecycle_role role, uint32_t resume,
                      struct control_call *call) {
    session->known = true;
    session->role = role;
    if (!session->overflowed)
        uv_timer_stop(&session->patience);
    feed(session,
         (struct lifecycle_event){.kind = LIFECYCLE_ON_HELLO,
                                  .role = role,
                                  .resume = resume,
                                  .process = session->process},
         call);
}

static void on_no_hello(uv_timer_t *timer) {
    introduce(timer->data, LIFECYCLE_ROLE_ANONYMOUS, 0, NULL);
}

/* What a client says of itself is shown in terminals, logs and docks. */
static json_t *readable_names(const json_t *hello) {
    static const char *const keys[] = {"project", "version", "godot"};
    char text[READABLE_GROWTH * NAME_MOST + 1];
    json_t *names = json_object();
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *said = message_text(hello, keys[i]);
        if (readable_text(text, said, utf8_cut(said, NAME_MOST)) > 0)
            json_object_set_new(names, keys[i], json_string(text));
    }
    return names;
}

static uint32_t parse_session_id(const char *text) {
    uint64_t id;
    return os_start_parse(text, &id) == 0 && id <= UINT32_MAX ? (uint32_t)id : 0;
}

/* Whether what the peer says of itself agrees with what the kernel says of it. Where pids are
 * counted differently, only the kernel's word stands. */
static bool is_truthful(struct control_session *session, const struct hello *hello,
                        struct error *err) {
    if (hello->pid == 0 || session->process.pid == 0 || hello->pid == session->process.pid)
        return true;
    if (os_same_namespace(session->process.pid) == OS_NO)
        return true;
    error_set(err, UV_EPERM, "hello names process %lld, but this connection is process %lld's",
              (long long)hello->pid, (long long)session->process.pid);
    return false;
}

static void refuse(struct control_session *session, enum refusal why, const char *message) {
    session_send_error(session, why, message);
    control_disconnect(session);
}

static void write_session_record(struct control_session *session) {
    json_t *record;
    if (session->process.pid <= 0 || session->role == LIFECYCLE_ROLE_CLI)
        return;
    record = process_json(session->process.pid, session->process.start);
    json_object_set_new(record, "role", json_string(lifecycle_role_name(session->role)));
    if (json_object_get(session->told, "project"))
        json_object_set(record, "project", json_object_get(session->told, "project"));
    records_write_session(&session->control->daemon->dir, session->process.pid, record);
}

static void on_hello(struct control_session *session, const json_t *message) {
    struct error err = {0};
    struct hello hello;
    enum lifecycle_role role;
    struct control_call call = {session, NULL};
    if (session->greeted)
        return;
    if (!hello_parse(message, &hello, &err)) {
        refuse(session, REFUSED_BAD_HELLO, err.message);
    } else if (hello.protocol != TETHER_PROTOCOL) {
        error_set(&err, UV_EPROTO,
                  "this daemon (tether %s) speaks protocol %d, you asked for %lld; `tether stop` "
                  "ends it, then yours can start",
                  tether_version, TETHER_PROTOCOL, (long long)hello.protocol);
        refuse(session, REFUSED_PROTOCOL, err.message);
    } else if (!lifecycle_role_parse(hello.role, &role) || role == LIFECYCLE_ROLE_ANONYMOUS) {
        refuse(session, REFUSED_BAD_HELLO,
               "hello: \"role\" must be \"editor\", \"front\" or \"cli\"");
    } else if (!is_truthful(session, &hello, &err)) {
        refuse(session, REFUSED_NOT_YOU, err.message);
    } else {
        const struct control_session *before =
            find_process(session->control, role, &session->process);
        uint32_t resume = parse_session_id(hello.resume);
        if (!control_find(session->control, resume) && before && !before->connected)
            resume = before->id; /* the same process comes back, or comes after its launcher */
        session->greeted = true;
        session->told = readable_names(message);
        introduce(session, role, resume, &call);
    }
}

/* ---- answers ---- */

static const char ending[] = "this daemon is ending; start afresh when it is gone";

static const struct {
    enum refusal refusal;
    const char *message;
} answers[] = {
    [LIFECYCLE_ANSWER_NONE] = {REFUSED_STOPPING, ending},
    [LIFECYCLE_ANSWER_OK] = {REFUSED_NOT, NULL},
    [LIFECYCLE_ANSWER_ADMITTED] = {REFUSED_NOT, NULL},
    [LIFECYCLE_ANSWER_RESUMED] = {REFUSED_NOT, NULL},
    [LIFECYCLE_ANSWER_STOPPING] = {REFUSED_STOPPING, ending},
    [LIFECYCLE_ANSWER_FULL] = {REFUSED_FULL, "there are too many sessions; close some"},
    [LIFECYCLE_ANSWER_OTHER_EDITORS] = {REFUSED_IN_USE, "other editors use this server"},
    [LIFECYCLE_ANSWER_OTHER_SESSIONS] = {REFUSED_IN_USE,
                                         "others use this server, or it was started by hand: "
                                         "`tether stop` ends it"},
};

static void greet(struct control_session *session) {
    struct daemon *daemon = session->control->daemon;
    json_t *welcome = status_json(daemon, "welcome");
    char id[16];
    snprintf(id, sizeof id, "%u", (unsigned)session->id);
    json_object_set_new(welcome, "session", json_string(id));
    if (session->role != LIFECYCLE_ROLE_CLI)
        json_object_set_new(welcome, "ws_token", json_string(daemon->token));
    session_send(session, welcome);
    write_session_record(session);
}

/* "editor 4711 (My Game)"; returns its length, as snprintf does. */
static size_t name_editor(const struct control_session *s, char *out, size_t size, bool is_next) {
    const char *project = message_text(s->told, "project");
    int length =
        snprintf(out, size, "%seditor %lld%s%s%s", is_next ? ", " : "", (long long)s->process.pid,
                 project[0] ? " (" : "", project, project[0] ? ")" : "");
    return (size_t)length;
}

/* Who stands in the way of a stop, by name: "editor 4711 (My Game), editor 4712". */
static void name_blockers(const struct control_session *caller, char *out, size_t size) {
    const struct lifecycle *life = &caller->control->daemon->life;
    size_t used = 0;
    out[0] = 0;
    for (const struct control_session *s = caller->control->sessions; s && used < size;
         s = s->next) {
        const struct lifecycle_session *known = lifecycle_session_find(life, s->id);
        if (known && lifecycle_session_blocks_stop(life, known, caller->id))
            used += name_editor(s, out + used, size - used, used > 0);
    }
}

void control_answer(struct control_call *call, enum lifecycle_answer answer) {
    struct control_session *session = call->session;
    char text[1024], blockers[800];
    const char *message = answers[answer].message;
    if (answer == LIFECYCLE_ANSWER_OTHER_EDITORS) {
        name_blockers(session, blockers, sizeof blockers);
        blockers[utf8_cut(blockers, sizeof blockers - 2)] = 0;
        snprintf(text, sizeof text, "in use by %s; --force stops it all the same", blockers);
        message = text;
    }
    if (call->id)
        session_send_reply(session, call->id, answers[answer].refusal, message);
    else if (!answers[answer].refusal)
        greet(session);
    else
        session_send_error(session, answers[answer].refusal, message);
}

/* ---- requests ---- */

static void on_leave(struct control_session *session, const json_t *message) {
    struct lifecycle_event event = {.kind = LIFECYCLE_ON_LEAVE};
    if (!lifecycle_leave_parse(message_text(message, "reason"), &event.leave)) {
        session_send_error(session, REFUSED_BAD_LEAVE,
                           "leave: \"reason\" must be disable, quit, reload or restart");
        return;
    }
    feed(session, event, NULL);
    /* Whoever leaves may take the end of its connection for the end of its record. */
    if (session->connected && session->process.pid > 0 &&
        !lifecycle_session_find(&session->control->daemon->life, session->id))
        records_remove_session(&session->control->daemon->dir, session->process.pid);
    control_disconnect(session);
}

static void request_status(struct control_session *session, const json_t *message) {
    json_t *reply = status_json(session->control->daemon, "status");
    json_object_set(reply, "id", json_object_get(message, "id"));
    json_object_set_new(reply, "ok", json_true());
    session_send(session, reply);
}

struct log_request {
    json_t *lines;
    const char *since; /* a line's stamp; "" for all */
};

static void add_log_line(void *context, const char *line, size_t length) {
    const struct log_request *request = context;
    if (strncmp(line, request->since, strlen(request->since)) >= 0)
        json_array_append_new(request->lines, json_stringn(line, length));
}

/* The newest of these lines that fit into a line of the protocol; takes the reference. In JSON a
 * byte of readable text becomes two at most. */
static json_t *newest_that_fit(json_t *lines) {
    size_t first = json_array_size(lines), budget = LINES_MAX - 1024;
    json_t *kept = json_array();
    while (first > 0) {
        size_t cost = 2 * json_string_length(json_array_get(lines, first - 1)) + 3;
        if (cost > budget)
            break;
        budget -= cost;
        first--;
    }
    for (; first < json_array_size(lines); first++)
        json_array_append(kept, json_array_get(lines, first));
    json_decref(lines);
    return kept;
}

static void request_logs(struct control_session *session, const json_t *message) {
    int64_t count = message_number(message, "n", 0);
    json_t *reply = json_pack("{s:O, s:b}", "id", json_object_get(message, "id"), "ok", 1);
    struct log_request request = {json_array(), ""};
    if (json_is_true(json_object_get(message, "since_start")))
        request.since = session->control->daemon->log.began;
    if (count > 0)
        log_tail(&session->control->daemon->dir, "server.log",
                 (size_t)(count < LOG_LINES_MOST ? count : LOG_LINES_MOST), add_log_line, &request);
    json_object_set_new(reply, "lines", newest_that_fit(request.lines));
    session_send(session, reply);
    session->wants_log = json_is_true(json_object_get(message, "follow"));
}

/* The process that a message names by pid and perhaps start; pid 0 if that can be none. */
static struct os_identity read_identity(const json_t *message) {
    struct os_identity identity = {.pid = message_number(message, "pid", 0)};
    if (identity.pid <= 0 || identity.pid > INT32_MAX)
        return (struct os_identity){0};
    os_start_parse(message_text(message, "start"), &identity.start);
    if (identity.start == 0)
        os_identity_of(identity.pid, &identity);
    return identity;
}

static void request_stop(struct control_session *session, const json_t *message) {
    struct control_call call = {session, json_object_get(message, "id")};
    feed(session,
         (struct lifecycle_event){.kind = LIFECYCLE_ON_STOP,
                                  .force = json_is_true(json_object_get(message, "force"))},
         &call);
}

static void request_restart(struct control_session *session, const json_t *message) {
    struct control_call call = {session, json_object_get(message, "id")};
    feed(session, (struct lifecycle_event){.kind = LIFECYCLE_ON_RESTART}, &call);
}

/* Asked for by an editor, or by a launcher on behalf of the owner that it names: that one, and its
 * own session of the release before, are none of the others that stand in the way. */
static void request_handover(struct control_session *session, const json_t *message) {
    struct control_call call = {session, json_object_get(message, "id")};
    struct lifecycle_event event = {.kind = LIFECYCLE_ON_HANDOVER, .session = session->id};
    struct os_identity owner = read_identity(message);
    const struct control_session *own;
    if (owner.pid == 0)
        owner = session->process;
    own = find_process(session->control, LIFECYCLE_ROLE_EDITOR, &owner);
    event.process = owner;
    if (own)
        event.session = own->id;
    daemon_feed(session->control->daemon, &event, &call);
}

/* A session without a connection of its own: it counts as long as its process lives. */
static void add_process_session(struct control *control, const struct os_identity *identity,
                                enum lifecycle_role role) {
    struct control_session *owner = session_create(control);
    uint32_t id = owner ? owner->id : 0;
    if (!owner)
        return;
    owner->process = *identity;
    os_watch_create(&owner->watch, &control->daemon->loop, identity,
                    control->daemon->options->config.poll_ms, on_process_end, owner);
    introduce(owner, role, 0, NULL);
    owner = control_find(control, id); /* gone if it was not admitted */
    if (owner)
        write_session_record(owner);
}

/* Registers the owner that a second `launch` named: from now on it counts as an editor (or front)
 * without a connection, until it connects itself or its process ends. */
static void request_adopt(struct control_session *session, const json_t *message) {
    struct control *control = session->control;
    struct os_identity identity = read_identity(message);
    const json_t *id = json_object_get(message, "id");
    enum lifecycle_role role = strcmp(message_text(message, "role"), "front") == 0
                                   ? LIFECYCLE_ROLE_FRONT
                                   : LIFECYCLE_ROLE_EDITOR;
    if (session->process.pid == 0 || os_same_namespace(session->process.pid) == OS_NO) {
        session_send_reply(session, id, REFUSED_BAD_OWNER, "your pids mean nothing here");
    } else if (identity.pid <= 1 || os_liveness(&identity) == OS_DEAD) {
        session_send_reply(session, id, REFUSED_BAD_OWNER, "there is no such process");
    } else {
        if (!find_process(control, role, &identity))
            add_process_session(control, &identity, role);
        session_send_reply(session, id, REFUSED_NOT, NULL);
    }
}

/* For the server alone: whether it has clients with an open stream. */
static void request_clients(struct control_session *session, const json_t *message) {
    struct daemon *daemon = session->control->daemon;
    if (!os_identity_same(&session->process, &daemon->supervisor.server)) {
        session_send_reply(session, json_object_get(message, "id"), REFUSED_NOT_YOURS,
                           "only the server tells of its clients");
        return;
    }
    daemon_feed(
        daemon,
        &(struct lifecycle_event){.kind = LIFECYCLE_ON_CLIENTS,
                                  .success = json_is_true(json_object_get(message, "some"))},
        NULL);
}

static const struct {
    const char *type;
    void (*handle)(struct control_session *session, const json_t *message);
} requests[] = {
    {"status", request_status},     {"stop", request_stop}, {"restart", request_restart},
    {"handover", request_handover}, {"logs", request_logs}, {"adopt", request_adopt},
    {"clients", request_clients},
};

static void on_message(struct control_session *session, const json_t *message) {
    const char *type = message_text(message, "type");
    if (strcmp(type, "hello") == 0) {
        on_hello(session, message);
        return;
    }
    if (!session->known) /* whoever begins otherwise never says hello */
        introduce(session, LIFECYCLE_ROLE_ANONYMOUS, 0, NULL);
    else
        feed(session, (struct lifecycle_event){.kind = LIFECYCLE_ON_HEARD}, NULL);
    if (strcmp(type, "leave") == 0) {
        on_leave(session, message);
        return;
    }
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
        if (strcmp(type, requests[i].type) == 0 && json_object_get(message, "id"))
            requests[i].handle(session, message);
}

/* ---- connections ---- */

static bool on_line(const char *line, size_t length, void *context) {
    struct control_session *session = context;
    struct error err;
    json_t *message;
    if (length == 0)
        return true;
    message = message_parse(line, length, &err);
    if (message)
        on_message(session, message);
    else if (err.code == UV_ENOMEM) /* better no connection than one with a line missing */
        control_disconnect(session);
    else
        session_send_error(session, REFUSED_BAD_MESSAGE, err.message);
    json_decref(message);
    return session->connected;
}

static void on_end(void *context, int why) {
    if (why == UV_EMSGSIZE)
        refuse(context, REFUSED_TOO_LONG, "a line of this protocol has at most 65536 bytes");
    else
        control_disconnect(context);
}

/* The buffer is lent to one connection after the other, for the moment of its reading. */
static int begin_reading(struct control_session *session) {
    struct control *control = session->control;
    return line_stream_read(&session->stream, uv_buf_init(control->buffer, sizeof control->buffer),
                            on_line, on_end);
}

static void open_connection(struct control_session *session) {
    uv_loop_t *loop = &session->control->daemon->loop;
    uv_pipe_init(loop, &session->stream.pipe, 0);
    uv_timer_init(loop, &session->patience);
    session->stream.pipe.data = session;
    session->patience.data = session;
    session->open_handles = 2;
    session->connected = true;
}

/* Learns from the kernel who is there. False if it may not be here, or is gone already. */
static bool identify(struct control_session *session) {
    struct daemon *daemon = session->control->daemon;
    struct os_peer peer;
    int rc = os_control_peer(&session->stream.pipe, &peer);
    os_process_close(&peer.process);
    if (rc < 0)
        return false;
    if (peer.user != os_user_self()) {
        log_say(&daemon->log, "refused a connection of user %u", (unsigned)peer.user);
        session_send_error(session, REFUSED_NOT_YOURS, "this instance belongs to another user");
        return false;
    }
    session->process = peer.process.identity;
    if (session->process.pid == 0)
        return true;
    rc = os_watch_create(&session->watch, &daemon->loop, &session->process,
                         daemon->options->config.poll_ms, on_process_end, session);
    return rc != UV_ESRCH;
}

static void on_connection(void *context);

static void on_again(uv_timer_t *timer) {
    on_connection(timer->data);
}

/* As long as a connection is not accepted libuv tells of no other one, so it is not forgotten when
 * there is no memory for it at present. */
static void on_connection(void *context) {
    struct control *control = context;
    struct control_session *session = session_create(control);
    if (!session)
        uv_timer_start(&control->again, on_again, AGAIN_MS, 0);
    if (!session)
        return;
    open_connection(session);
    if (os_control_accept(control->endpoint, &session->stream.pipe) < 0 || !identify(session) ||
        begin_reading(session) < 0) {
        close_connection(session);
        control_settle(control);
        return;
    }
    uv_timer_start(&session->patience, on_no_hello, HELLO_PATIENCE_MS, 0);
}

/* ---- what the lifecycle asks for ---- */

void control_drop(struct control *control, uint32_t id) {
    struct control_session *session = control_find(control, id);
    if (session)
        close_connection(session);
}

void control_ping(struct control *control, uint32_t id) {
    struct control_session *session = control_find(control, id);
    if (session && session->connected)
        session_send(session, json_pack("{s:s}", "type", "ping"));
    else if (session && os_liveness(&session->process) == OS_ALIVE)
        feed(session, (struct lifecycle_event){.kind = LIFECYCLE_ON_HEARD}, NULL);
}

/* The backstop for a death that no event told. A report may take any session away, so their numbers
 * are noted first. */
void control_sweep(struct control *control) {
    uint32_t dead[LIFECYCLE_MAX_SESSIONS], count = 0;
    for (struct control_session *s = control->sessions; s && count < LIFECYCLE_MAX_SESSIONS;
         s = s->next)
        if (s->process.pid > 0 && os_liveness(&s->process) == OS_DEAD)
            dead[count++] = s->id;
    for (uint32_t i = 0; i < count; i++) {
        struct control_session *session = control_find(control, dead[i]);
        if (session)
            on_process_end(session, &session->process);
    }
}

bool control_publish(struct control *control) {
    size_t length = 0;
    char *line = message_line(status_json(control->daemon, "state"), &length);
    for (struct control_session *session = control->sessions; line && session;
         session = session->next)
        if (session->connected && session->greeted)
            session_send_state(session, line, length);
    free(line);
    return line != NULL;
}

void control_log(struct control *control, enum log_stream stream, const char *text,
                 uint64_t number) {
    for (struct control_session *session = control->sessions; session; session = session->next)
        if (session->wants_log)
            session_send_log(session, stream, text, number);
}

/* ---- the endpoint ---- */

int control_init(struct control *control, struct daemon *daemon, struct error *err) {
    control->daemon = daemon; /* all else is zero as all of the daemon, its memory not written to */
    uv_timer_init(&daemon->loop, &control->again);
    control->again.data = control;
    return control_listen(control, err);
}

int control_listen(struct control *control, struct error *err) {
    struct daemon *daemon = control->daemon;
    struct os_control *endpoint = NULL;
    int rc = os_control_name(&daemon->dir, true, daemon->control_name, err);
    if (rc == 0)
        rc = os_control_listen(&endpoint, &daemon->loop, &daemon->dir, BACKLOG, on_connection,
                               control, err);
    if (rc < 0)
        return rc;
    os_control_close(control->endpoint);
    control->endpoint = endpoint;
    return 0;
}

void control_write_records(struct control *control) {
    for (struct control_session *session = control->sessions; session; session = session->next)
        if (session->known)
            write_session_record(session);
}

static void on_last_heard(uv_shutdown_t *last, int status) {
    (void)status;
    close_connection(last->handle->data);
}

static void on_last_unheard(uv_timer_t *timer) {
    close_connection(timer->data);
}

/* The last state says that this end is meant. Whoever does not come to know it takes the daemon for
 * lost and starts another one, so it goes out before the connection closes, unless nobody reads. */
static void part(struct control_session *session) {
    uv_stream_t *stream = (uv_stream_t *)&session->stream.pipe;
    if (session->connected && session->behind) {
        session->behind = false;
        session_send(session, status_json(session->control->daemon, "state"));
    }
    if (session->connected && !session->overflowed && uv_stream_get_write_queue_size(stream) > 0) {
        uv_read_stop(stream);
        if (uv_shutdown(&session->last, stream, on_last_heard) == 0) {
            uv_timer_start(&session->patience, on_last_unheard, LAST_WORD_MS, 0);
            return;
        }
    }
    close_connection(session);
}

void control_finish(struct control *control) {
    if (control->daemon)
        uv_close((uv_handle_t *)&control->again, NULL);
    os_control_close(control->endpoint);
    while (control->sessions) {
        struct control_session *session = control->sessions;
        control->sessions = session->next;
        part(session);
        session_release(session);
    }
}
