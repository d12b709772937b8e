#include "ports.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "records.h"

enum { BACKLOG = 511 };

void ports_init(struct ports *ports, const struct options *options) {
    *ports = (struct ports){.options = options,
                            .listeners = {OS_NO_HANDLE, OS_NO_HANDLE},
                            .reserved = {OS_NO_HANDLE, OS_NO_HANDLE}};
}

/* ---- having ports ---- */

/* The next pair of ports, as far apart as these, of which both are free. */
static bool find_free_pair(const struct options *options, struct options *pair) {
    *pair = *options;
    pair->ports_auto = true;
    pair->pairs_passed = 0;
    while (options_next_pair(pair))
        if (os_port_try(pair->http_port, NULL) == 0 &&
            (pair->ws_port == 0 || os_port_try(pair->ws_port, NULL) == 0))
            return true;
    return false;
}

static void describe_holder(const struct ports_conflict *conflict, char *out, size_t size) {
    const struct os_port_holder *holder = &conflict->holder;
    if (conflict->is_shown && holder->identity.pid != 0)
        snprintf(out, size, "process %lld (%.100s: %.150s)", (long long)holder->identity.pid,
                 holder->executable, holder->command);
    else if (conflict->is_shown && holder->hidden_pid != 0)
        snprintf(out, size, "process %lld (%.100s), of which the system tells us no more",
                 (long long)holder->hidden_pid, holder->executable);
    else if (conflict->is_shown && holder->user != OS_USER_UNKNOWN)
        snprintf(out, size, "a process of user %u, which the system does not show us",
                 (unsigned)holder->user);
    else
        snprintf(out, size, "another process, which the system does not show");
}

/* A socket of our own user's that no process of theirs has: who had it is just being taken apart by
 * the system, as a daemon that was killed a moment ago. Or it is hidden from us. */
static bool may_be_ending(const struct ports_conflict *conflict) {
    const struct os_port_holder *holder = &conflict->holder;
    return conflict->is_shown && holder->identity.pid == 0 && holder->hidden_pid == 0 &&
           holder->user == os_user_self();
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
    return error_set(err, may_be_ending(conflict) ? UV_EAGAIN : UV_EADDRINUSE,
                     "port %u is held by %s; %s", (unsigned)port, holder, advice);
}

static int check_port(struct ports *ports, uint16_t port, struct error *err) {
    struct error why = {0};
    if (port == 0 || os_port_try(port, &why) == 0)
        return 0;
    return explain_busy(ports, port, &why, err);
}

static int hold(struct ports *ports, struct error *err) {
    const uint16_t wanted[] = {ports->options->http_port, ports->options->ws_port};
    int rc = 0;
    for (size_t i = 0; i < 2 && rc == 0 && wanted[i] != 0; i++) {
        rc = os_listen(&ports->listeners[i], wanted[i], BACKLOG, err);
        ports->listener_count += rc == 0;
        os_port_reserve(&ports->reserved[i], wanted[i]); /* as far as the system has it */
    }
    if (rc < 0)
        ports_release(ports);
    return rc;
}

int ports_prepare(struct ports *ports, struct error *err) {
    if (ports->listener_count > 0)
        return 0; /* held since the first start */
    ports->conflict = (struct ports_conflict){0};
    if (!ports_are_free(ports, err))
        return err->code;
    return ports->options->hold_ports ? hold(ports, err) : 0;
}

void ports_release(struct ports *ports) {
    for (size_t i = 0; i < 2; i++) {
        os_handle_close(&ports->listeners[i]);
        os_handle_close(&ports->reserved[i]);
    }
    ports->listener_count = 0;
}

static bool is_held(uint16_t port) {
    return port != 0 && os_port_try(port, NULL) == UV_EADDRINUSE;
}

bool ports_have_stranger(const struct options *options, const struct os_dir *dir) {
    struct records_state before;
    if (records_read_state(dir, &before))
        return false; /* what is in the way may be an orphan of ours */
    return is_held(options->http_port) || is_held(options->ws_port);
}

/* One that nobody has any more is free soon; who holds the other one is told at once. */
bool ports_are_free(struct ports *ports, struct error *err) {
    struct error of_ws = {0};
    int http = check_port(ports, ports->options->http_port, err), ws = 0;
    if (http == 0 || http == UV_EAGAIN)
        ws = check_port(ports, ports->options->ws_port, &of_ws);
    if (ws < 0 && (http == 0 || ws != UV_EAGAIN))
        *err = of_ws;
    return http == 0 && ws == 0;
}
