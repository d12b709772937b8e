#include "state_json.h"

#include <inttypes.h>
#include <string.h>

#include "daemon.h"
#include "protocol/lines.h"
#include "protocol/message.h"
#include "protocol/version.h"

/* A state is one line of the protocol, and one file, which both have a limit. All sessions that may
 * be there have room if their names are short; the rest, for a reason that is all escapes. */
enum { SESSIONS_BYTES = LINES_MAX - 24 * 1024 };

/* ---- in words ---- */

void status_exit_text(const struct os_exit *how, char *out, size_t size) {
    if (how->by_signal)
        snprintf(out, size, "was ended by signal %d (%s)%s", (int)how->value,
                 os_signal_name((int)how->value), how->dumped_core ? ", core dumped" : "");
    else
        snprintf(out, size, "exited with code %" PRId64, how->value);
}

/* Why the server is still there: "owner 4711 lives". */
static void explain(const struct daemon *daemon, char *out, size_t size) {
    const struct lifecycle *life = &daemon->life;
    struct lifecycle_why why = lifecycle_explain(life, (uint64_t)os_clock_ms());
    char owner[48] = "";
    switch (why.kind) {
    case LIFECYCLE_WHY_SESSIONS:
        if (life->owner_liveness == OS_ALIVE && life->owner.pid)
            snprintf(owner, sizeof owner, ", and owner %" PRId64 " lives", life->owner.pid);
        snprintf(out, size, "%" PRIu32 " session%s%s", why.sessions, why.sessions == 1 ? "" : "s",
                 owner);
        break;
    case LIFECYCLE_WHY_HOLD:
        snprintf(out, size, "an editor is restarting; its place is kept for %" PRIu64 " s",
                 why.held_ms / 1000);
        break;
    case LIFECYCLE_WHY_OWNER:
        snprintf(out, size, "owner %" PRId64 " lives", life->owner.pid);
        break;
    case LIFECYCLE_WHY_OWNER_UNKNOWN:
        snprintf(out, size, "owner %" PRId64 " cannot be looked at, and may live", life->owner.pid);
        break;
    case LIFECYCLE_WHY_CLIENTS:
        snprintf(out, size,
                 "clients of the server are connected; it stays for them for %" PRIu64 " s",
                 why.held_ms / 1000);
        break;
    case LIFECYCLE_WHY_UNARMED:
        snprintf(out, size, "no owner was given; `tether stop` ends it");
        break;
    case LIFECYCLE_WHY_GRACE:
        snprintf(out, size, "owner %" PRId64 " is dead and nobody is left; a second look follows",
                 life->owner.pid);
        break;
    case LIFECYCLE_WHY_STOPPING:
        snprintf(out, size, "it is being stopped (%s)", lifecycle_cause_name(life->cause));
        break;
    case LIFECYCLE_WHY_ENDED:
        snprintf(out, size, "it has ended");
        break;
    }
}

static void describe_exit(const struct server_facts *facts, const char *what, char *out,
                          size_t size) {
    char how[96] = "ended";
    if (facts->has_exited)
        status_exit_text(&facts->last_exit, how, sizeof how);
    snprintf(out, size, "%s: it %s%s%s", what, how,
             facts->last_lines[0] ? "; its last lines:\n" : "; it had written nothing",
             facts->last_lines);
}

const char *status_failure(struct daemon *daemon) {
    struct server_facts *facts = &daemon->facts;
    char *out = facts->words;
    size_t size = sizeof facts->words;
    out[0] = 0;
    switch (daemon->life.failure) {
    case LIFECYCLE_FAILURE_NONE:
        if (daemon->life.crashed && daemon->life.server != LIFECYCLE_STARTING &&
            daemon->life.server != LIFECYCLE_READY)
            describe_exit(facts, "the server crashed", out, size);
        else if (daemon->life.cause == LIFECYCLE_CAUSE_FINISHED && !daemon->life.was_ready)
            describe_exit(facts,
                          "the server ended before it was ready (if it goes to the background, "
                          "tell it to stay in the foreground)",
                          out, size);
        break;
    case LIFECYCLE_FAILURE_SPAWN:
    case LIFECYCLE_FAILURE_PORT:
        snprintf(out, size, "%s", facts->failure.message);
        break;
    case LIFECYCLE_FAILURE_NOT_READY:
        snprintf(out, size,
                 "the server was not ready within %" PRIu32 " ms (--ready-timeout-ms; what counts "
                 "as ready is set by --ready)%s%s",
                 daemon->life.config.ready_timeout_ms,
                 facts->last_lines[0] ? "; its last lines:\n" : "", facts->last_lines);
        break;
    case LIFECYCLE_FAILURE_CRASHES:
        describe_exit(facts, "the server crashed too often", out, size);
        break;
    case LIFECYCLE_FAILURE_STUCK:
        snprintf(out, size, "processes of the former server cannot be ended; see `tether doctor`");
        break;
    }
    return out;
}

/* ---- as JSON ---- */

static json_t *identity_json(struct os_identity identity) {
    return identity.pid ? process_json(identity.pid, identity.start) : json_null();
}

static json_t *exit_json(const struct server_facts *facts) {
    char text[96];
    if (!facts->has_exited)
        return json_null();
    status_exit_text(&facts->last_exit, text, sizeof text);
    return json_pack(
        "{s:o, s:o, s:s}", "code",
        facts->last_exit.by_signal ? json_null() : json_integer(facts->last_exit.value), "signal",
        facts->last_exit.by_signal ? json_integer(facts->last_exit.value) : json_null(), "text",
        text);
}

static json_t *server_json(struct daemon *daemon) {
    const struct server_facts *facts = &daemon->facts;
    const struct lifecycle *life = &daemon->life;
    const char *failure = status_failure(daemon);
    const struct options *options = daemon->options;
    const struct os_identity *who = &daemon->supervisor.server;
    char url[64], start[OS_NUMBER_MAX];
    json_t *server;
    os_start_format(start, who->start); /* makes it an identity, for records.c of the next daemon */
    snprintf(url, sizeof url, "http://127.0.0.1:%u/mcp", (unsigned)options->http_port);
    server = json_pack("{s:s, s:I, s:i, s:i, s:i, s:s*, s:s, s:b, s:O?, s:o, s:o, s:s?, s:s?}",
                       "state", lifecycle_server_name(life->server), "pid", (json_int_t)who->pid,
                       "http_port", (int)options->http_port, "ws_port", (int)options->ws_port,
                       "restarts", (int)life->restarts, "start", who->pid ? start : NULL, "url",
                       url, "builtin", (int)options->builtin, "command", facts->command, "ready_ms",
                       facts->ready_ms >= 0 ? json_integer(facts->ready_ms) : json_null(),
                       "last_exit", exit_json(facts), "reason", failure[0] ? failure : NULL,
                       "failure", life->failure ? lifecycle_failure_name(life->failure) : NULL);
    if (life->server == LIFECYCLE_STOPPED) {
        json_object_set_new(server, "ports_free", json_boolean(life->ports_free));
        json_object_set_new(server, "processes_left", json_boolean(life->survivors));
    }
    return server;
}

static json_t *owner_json(const struct lifecycle *life) {
    json_t *owner;
    if (life->owner.pid == 0)
        return json_null();
    owner = process_json(life->owner.pid, life->owner.start);
    json_object_set_new(owner, "alive",
                        life->owner_liveness == OS_UNKNOWN
                            ? json_null()
                            : json_boolean(life->owner_liveness == OS_ALIVE));
    return owner;
}

static json_t *session_json(const struct daemon *daemon, const struct lifecycle_session *known) {
    const struct control_session *record = control_find(&daemon->control, known->id);
    char id[16];
    json_t *json = process_json(known->process.pid, known->process.start);
    snprintf(id, sizeof id, "%" PRIu32, known->id);
    json_object_update_new(json,
                           json_pack("{s:s, s:s, s:s, s:b}", "session", id, "role",
                                     lifecycle_role_name((enum lifecycle_role)known->role), "link",
                                     lifecycle_link_name((enum lifecycle_link)known->link),
                                     "counts", (int)lifecycle_session_counts(known)));
    if (record)
        json_object_update(json, record->told);
    return json;
}

/* The oldest sessions, as many as there is room for; and how many there are in all. */
static json_t *sessions_json(const struct daemon *daemon, uint32_t *total) {
    json_t *list = json_array();
    size_t left = SESSIONS_BYTES;
    *total = 0;
    for (uint32_t i = 0; i < daemon->life.session_count; i++) {
        const struct lifecycle_session *known = &daemon->life.sessions[i];
        json_t *session;
        if (known->role == LIFECYCLE_ROLE_CLI)
            continue;
        ++*total;
        if (left == 0)
            continue;
        session = session_json(daemon, known);
        size_t size = json_dumpb(session, NULL, 0, JSON_COMPACT) + 1; /* and a comma */
        left = size < left ? left - size : 0;
        if (left > 0)
            json_array_append(list, session);
        json_decref(session);
    }
    return list;
}

json_t *status_json(struct daemon *daemon, const char *type) {
    char why[160];
    uint32_t total;
    json_t *sessions = sessions_json(daemon, &total);
    struct os_identity keeper = os_tree_keeper(daemon->supervisor.tree);
    explain(daemon, why, sizeof why);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:I, s:o, s:o, s:I, s:I, s:I, s:s}",
                     "type", type, "version", tether_version, "instance", daemon->instance, "state",
                     lifecycle_server_name(daemon->life.server), "ownership",
                     lifecycle_ownership_name(daemon->life.ownership), "daemon",
                     identity_json(daemon->self), "guard", identity_json(keeper), "server",
                     server_json(daemon), "guard_pid", (json_int_t)keeper.pid, "owner",
                     owner_json(&daemon->life), "sessions", sessions, "sessions_total",
                     (json_int_t)total, "restarts", (json_int_t)daemon->life.restarts, "uptime_ms",
                     (json_int_t)(os_clock_ms() - daemon->started_at), "why", why);
}

/* Who holds the port that a start failed for, and which pair is free instead. */
static void add_conflict(json_t *result, const struct ports_conflict *conflict) {
    const struct os_port_holder *holder = &conflict->holder;
    int64_t pid = holder->identity.pid ? holder->identity.pid : holder->hidden_pid;
    if (conflict->port == 0)
        return;
    if (conflict->is_shown)
        json_object_set_new(result, "holder",
                            json_pack("{s:i, s:I, s:s, s:s}", "port", (int)conflict->port, "pid",
                                      (json_int_t)pid, "executable", holder->executable, "command",
                                      holder->command));
    if (conflict->next_http)
        json_object_set_new(result, "next_ports",
                            json_pack("[i, i]", (int)conflict->next_http, (int)conflict->next_ws));
}

json_t *status_result(const struct daemon *daemon, int code, const char *message) {
    const struct options *options = daemon->options;
    json_t *result = launch_result(code == 0 ? "started" : "failed", code, message,
                                   daemon->self.pid, daemon->supervisor.server.pid,
                                   options->http_port, options->ws_port, daemon->control_name);
    json_object_set_new(result, "ms", json_integer(os_clock_ms() - daemon->started_at));
    if (code != 0)
        add_conflict(result, &daemon->ports.conflict);
    return result;
}
