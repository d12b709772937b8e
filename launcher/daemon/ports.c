#include "ports.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "memory.h"
#include "must.h"
#include "records.h"

enum { BACKLOG = 511, PAIRS_TRIED = 100, ORPHANS_MOST = 256 };

void ports_init(struct ports *ports, const struct options *options, struct log *log) {
    *ports =
        (struct ports){.options = options, .log = log, .listeners = {OS_NO_HANDLE, OS_NO_HANDLE}};
}

/* ---- orphans ---- */

/* TETHER_DAEMON is "pid:start". */
static bool parse_daemon(char *text, struct os_identity *daemon) {
    char *colon = strchr(text, ':');
    if (!colon)
        return false;
    *colon = 0;
    return os_pid_parse(text, &daemon->pid) == 0 && os_start_parse(colon + 1, &daemon->start) == 0;
}

/* The daemon is named as its server's namespace counts. Seen from another one it looks dead. */
bool ports_is_orphan(const struct os_identity *identity, const char *instance) {
    char value[64];
    struct os_identity daemon;
    if (os_same_namespace(identity->pid) != OS_YES)
        return false;
    if (os_process_variable(identity, "TETHER_INSTANCE", value, sizeof value) < 0 ||
        strcmp(value, instance) != 0)
        return false;
    if (os_process_variable(identity, "TETHER_DAEMON", value, sizeof value) < 0 ||
        !parse_daemon(value, &daemon))
        return false;
    return os_liveness(&daemon) == OS_DEAD;
}

struct orphan_search {
    const char *instance;
    struct os_identity self;
    struct os_identity found[ORPHANS_MOST];
    size_t count;
};

static bool note_orphan(const struct os_identity *identity, void *arg) {
    struct orphan_search *search = arg;
    if (identity->pid != search->self.pid && ports_is_orphan(identity, search->instance))
        search->found[search->count++] = *identity;
    return search->count < ORPHANS_MOST;
}

static void end_orphan(struct ports *ports, const struct os_identity *identity, const char *why) {
    char command[256] = "?";
    int rc;
    os_process_command(identity, command, sizeof command);
    rc = os_orphan_end(identity, (int)ports->options->config.stop_grace_ms);
    if (rc == 0)
        log_say(ports->log, "ended process %lld (%s), left over from an earlier run: %s",
                (long long)identity->pid, command, why);
    else if (rc != UV_ESRCH)
        log_say(ports->log, "process %lld (%s), left over from an earlier run, cannot be ended: %s",
                (long long)identity->pid, command, uv_strerror(rc));
}

void ports_end_orphans(struct ports *ports, const struct os_identity *recorded) {
    char instance[OPTIONS_INSTANCE_MAX];
    struct orphan_search *search = memory_zeroed(sizeof *search);
    options_instance(ports->options, instance);
    if (recorded->pid && recorded->start && os_liveness(recorded) == OS_ALIVE)
        end_orphan(ports, recorded, "recorded as the server of a daemon that is gone");
    if (!search)
        return;
    search->instance = instance;
    os_identity_self(&search->self);
    os_process_each("TETHER_INSTANCE", instance, note_orphan, search);
    for (size_t i = 0; i < search->count; i++)
        end_orphan(ports, &search->found[i], "started by a daemon that is gone");
    free(search);
}

/* ---- having ports ---- */

/* The next pair of ports, as far apart as these, of which both are free. */
static bool find_free_pair(const struct options *options, struct options *pair) {
    *pair = *options;
    for (int i = 1; i <= PAIRS_TRIED; i++) {
        if (options->http_port + i > UINT16_MAX || options->ws_port + i > UINT16_MAX)
            return false;
        pair->http_port = (uint16_t)(options->http_port + i);
        pair->ws_port = options->ws_port ? (uint16_t)(options->ws_port + i) : 0;
        if (os_port_try(pair->http_port, NULL) == 0 &&
            (pair->ws_port == 0 || os_port_try(pair->ws_port, NULL) == 0))
            return true;
    }
    return false;
}

static void describe_holder(const struct ports_conflict *conflict, char *out, size_t size) {
    const struct os_port_holder *holder = &conflict->holder;
    if (conflict->is_shown && holder->identity.pid != 0)
        snprintf(out, size, "process %lld (%.100s: %.150s)", (long long)holder->identity.pid,
                 holder->executable, holder->command);
    else if (conflict->is_shown)
        snprintf(out, size, "a process of user %u, which the system does not show us",
                 (unsigned)holder->user);
    else
        snprintf(out, size, "another process, which the system does not show");
}

static int explain_busy(struct ports *ports, uint16_t port, const struct error *why,
                        struct error *err) {
    char holder[320], advice[96] = "end it, or choose other ports with --http-port and --ws-port";
    struct ports_conflict *conflict = &ports->conflict;
    struct options pair;
    if (why->code != UV_EADDRINUSE)
        return error_set(err, why->code, "%s", why->message);
    *conflict = (struct ports_conflict){.port = port};
    conflict->is_shown = os_port_holder(port, &conflict->holder) == 0;
    describe_holder(conflict, holder, sizeof holder);
    if (find_free_pair(ports->options, &pair)) {
        conflict->next_http = pair.http_port;
        conflict->next_ws = pair.ws_port;
        snprintf(advice, sizeof advice, "end it, or use --http-port %u --ws-port %u%s",
                 (unsigned)pair.http_port, (unsigned)pair.ws_port,
                 ports->options->ports_auto ? "" : " (--ports auto does)");
    }
    return error_set(err, UV_EADDRINUSE, "port %u is held by %s; %s", (unsigned)port, holder,
                     advice);
}

static int check_port(struct ports *ports, uint16_t port, struct error *err) {
    struct error why = {0};
    if (port == 0 || os_port_try(port, &why) == 0)
        return 0;
    return explain_busy(ports, port, &why, err);
}

/* Ends an orphan of ours that is in the way although its daemon's records are lost. */
static bool end_holder(struct ports *ports, uint16_t port) {
    char instance[OPTIONS_INSTANCE_MAX];
    struct os_port_holder holder;
    options_instance(ports->options, instance);
    if (os_port_holder(port, &holder) < 0 || holder.identity.pid == 0 ||
        !ports_is_orphan(&holder.identity, instance))
        return false;
    end_orphan(ports, &holder.identity, "it held a port, and its daemon is gone");
    return true;
}

static int clear_port(struct ports *ports, uint16_t port, struct error *err) {
    int rc = check_port(ports, port, err);
    if (rc == UV_EADDRINUSE && end_holder(ports, port))
        rc = check_port(ports, port, err);
    return rc;
}

static int hold(struct ports *ports, uint16_t port, struct error *err) {
    int rc;
    if (port == 0)
        return 0;
    must(ports->listener_count < sizeof ports->listeners / sizeof ports->listeners[0]);
    rc = os_listen(&ports->listeners[ports->listener_count], port, BACKLOG, err);
    if (rc == 0)
        ports->listener_count++;
    return rc;
}

int ports_prepare(struct ports *ports, struct error *err) {
    const struct options *options = ports->options;
    int rc;
    if (ports->listener_count > 0)
        return 0; /* held since the first start */
    ports->conflict = (struct ports_conflict){0};
    rc = clear_port(ports, options->http_port, err);
    if (rc == 0)
        rc = clear_port(ports, options->ws_port, err);
    if (rc < 0 || !options->hold_ports)
        return rc;
    rc = hold(ports, options->http_port, err);
    if (rc == 0)
        rc = hold(ports, options->ws_port, err);
    if (rc < 0)
        ports_release(ports);
    return rc;
}

void ports_release(struct ports *ports) {
    for (size_t i = 0; i < 2; i++)
        os_handle_close(&ports->listeners[i]);
    ports->listener_count = 0;
}

static bool has_stranger(const char *instance, uint16_t port) {
    struct os_port_holder holder;
    struct error why = {0};
    if (port == 0 || os_port_try(port, &why) == 0 || why.code != UV_EADDRINUSE)
        return false;
    return os_port_holder(port, &holder) < 0 || holder.identity.pid == 0 ||
           !ports_is_orphan(&holder.identity, instance);
}

bool ports_have_stranger(const struct options *options, const struct os_dir *dir) {
    char instance[OPTIONS_INSTANCE_MAX];
    struct records_state before;
    options_instance(options, instance);
    if (records_read_state(dir, &before))
        return false; /* what is in the way may be known by the records alone */
    return has_stranger(instance, options->http_port) || has_stranger(instance, options->ws_port);
}

bool ports_are_free(struct ports *ports, struct error *err) {
    return check_port(ports, ports->options->http_port, err) == 0 &&
           check_port(ports, ports->options->ws_port, err) == 0;
}
