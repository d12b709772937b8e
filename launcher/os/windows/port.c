/* Ports: whether one can be had, and who has it.
 *
 * The only reliable test is to take it for a moment. Without SO_EXCLUSIVEADDRUSE two programs may
 * have one port here. The wildcard addresses are bound, but not listened on: the firewall would ask
 * the user. */
#include "tcp_table.h"

#include <stdio.h>
#include <string.h>

static int try_address(const struct sockaddr *address, int length, bool listens) {
    SOCKET opened;
    int rc = sockets_open(address->sa_family, &opened);
    if (rc == 0)
        rc = sockets_bind_alone(opened, address, length);
    if (rc == 0 && listens && listen(opened, 1) < 0)
        rc = sockets_error();
    if (opened != INVALID_SOCKET)
        closesocket(opened);
    return rc;
}

static int try_v4(uint16_t port, ULONG at) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(at)};
    return try_address((const struct sockaddr *)&address, sizeof address, at == INADDR_LOOPBACK);
}

static int try_v6(uint16_t port, const struct in6_addr *at, bool listens) {
    struct sockaddr_in6 address = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = *at};
    int rc = try_address((const struct sockaddr *)&address, sizeof address, listens);
    return rc == UV_EAFNOSUPPORT || rc == UV_EADDRNOTAVAIL ? 0 : rc; /* no IPv6 here */
}

static int try_all(uint16_t port, const char **where) {
    static const struct in6_addr any = IN6ADDR_ANY_INIT, loopback = IN6ADDR_LOOPBACK_INIT;
    int rc = try_v4(port, INADDR_ANY);
    *where = "0.0.0.0";
    if (rc == 0) {
        *where = "[::]";
        rc = try_v6(port, &any, false);
    }
    if (rc == 0) {
        *where = "127.0.0.1";
        rc = try_v4(port, INADDR_LOOPBACK);
    }
    if (rc == 0) {
        *where = "[::1]";
        rc = try_v6(port, &loopback, true);
    }
    return rc;
}

/* ---- what is left of connections ---- */

/* Connections outlive the process that has closed them, or has ended; the system keeps its pid with
 * some. One that still listens, or is open, has been handed on to another. */
static bool is_leftover(const struct tcp_row *row) {
    struct os_identity of = {.pid = row->pid};
    return row->closing && (row->pid == 0 || os_liveness(&of) == OS_DEAD);
}

struct presence {
    uint16_t port;
    bool somebody, leftovers;
};

static bool note_presence(const struct tcp_row *row, void *arg) {
    struct presence *presence = arg;
    if (row->local.port == presence->port) {
        bool leftover = is_leftover(row);
        presence->leftovers |= leftover;
        presence->somebody |= !leftover;
    }
    return !presence->somebody;
}

static bool is_left_over(uint16_t port) {
    struct presence presence = {.port = port};
    return tcp_table_each(note_presence, &presence) == 0 && presence.leftovers &&
           !presence.somebody;
}

/* ---- who has it ---- */

struct holders {
    uint16_t port;
    struct os_identity oldest;
    unsigned count;
    bool listening, anybody;
};

static void note(struct holders *holders, const struct tcp_row *row) {
    struct os_identity identity = {0};
    bool is_better = row->listening && !holders->listening;
    if (row->pid && os_identity_of(row->pid, &identity) < 0)
        identity.pid = row->pid;
    if (is_better || !holders->anybody) {
        holders->oldest = identity;
        holders->count = 1;
        holders->listening = row->listening;
        holders->anybody = true;
    } else if (row->listening == holders->listening && identity.pid != holders->oldest.pid) {
        holders->count++;
        if (holders->oldest.pid == 0 || (identity.pid && identity.start < holders->oldest.start))
            holders->oldest = identity;
    }
}

/* A listener has a process, whether we are told or not. */
static bool look(const struct tcp_row *row, void *arg) {
    struct holders *holders = arg;
    if (row->local.port == holders->port && (row->listening || row->pid != 0) && !is_leftover(row))
        note(holders, row);
    return true;
}

int os_port_holder(uint16_t port, struct os_port_holder *holder) {
    struct holders holders = {.port = port};
    struct os_identity *identity = &holders.oldest;
    int rc = tcp_table_each(look, &holders);
    if (rc < 0)
        return rc;
    if (!holders.anybody)
        return UV_ENOENT;
    *holder = (struct os_port_holder){.identity = *identity,
                                      .user = OS_USER_UNKNOWN,
                                      .count = holders.count,
                                      .listening = holders.listening};
    if (identity->pid == 0)
        return 0;
    os_process_user(identity, &holder->user);
    os_process_executable(identity, holder->executable, sizeof holder->executable);
    os_process_command(identity, holder->command, sizeof holder->command);
    if (identity->start == 0) { /* it could not be opened, so it is somebody else's */
        holder->hidden_pid = identity->pid;
        holder->identity.pid = 0;
        win_name_of(identity->pid, holder->executable, sizeof holder->executable);
    }
    return 0;
}

/* Another's exclusive port is refused in the same words as one that the system keeps. */
static bool is_held(uint16_t port) {
    struct holders holders = {.port = port};
    return tcp_table_each(look, &holders) == 0 && holders.anybody;
}

int os_port_try(uint16_t port, struct error *err) {
    const char *where = "";
    if (port == 0)
        return error_set(err, UV_EINVAL, "0 is no port to listen on: choose one from 1 to 65535");
    int rc = try_all(port, &where);
    if (rc == UV_EACCES && is_held(port))
        rc = UV_EADDRINUSE;
    /* An exclusive port is not shared with those either. */
    if ((rc == UV_EADDRINUSE || rc == UV_EACCES) && is_left_over(port))
        return error_set(err, UV_EAGAIN,
                         "port %u is still blocked by closed connections of a server that is gone: "
                         "it is free again within minutes",
                         (unsigned)port);
    if (rc == UV_EADDRINUSE)
        return error_set(err, rc,
                         "port %u is in use (%s): stop who holds it or choose another port",
                         (unsigned)port, where);
    if (rc == UV_EACCES)
        return error_set(err, rc,
                         "the system keeps port %u for something else, as Hyper-V, WSL and Docker "
                         "let it do: choose another (`netsh int ipv4 show excludedportrange tcp` "
                         "lists what is kept)",
                         (unsigned)port);
    if (rc < 0)
        return error_set(err, rc, "cannot try port %u on %s: %s", (unsigned)port, where,
                         os_error_text(rc).text);
    return 0;
}
