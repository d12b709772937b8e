/* Who is at the other end of a TCP connection: the user of the process that has our two ends the
 * other way round. */
#include "tcp_table.h"

#include <string.h>

typedef int(WINAPI *name_fn)(SOCKET socket, struct sockaddr *address, int *length);

static int end_of(SOCKET socket, name_fn name, struct tcp_end *end) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {0};
    int length = sizeof address;
    if (name(socket, &address.any, &length) < 0)
        return WSAGetLastError() == WSAENOTCONN ? UV_ESRCH : sockets_error();
    if (address.any.sa_family == AF_INET6) {
        *end =
            (struct tcp_end){.address = address.v6.sin6_addr, .port = ntohs(address.v6.sin6_port)};
        return 0;
    }
    if (address.any.sa_family != AF_INET)
        return UV_EAFNOSUPPORT;
    *end = (struct tcp_end){.port = ntohs(address.v4.sin_port)};
    end->address.s6_addr[10] = end->address.s6_addr[11] = 0xff;
    memcpy(&end->address.s6_addr[12], &address.v4.sin_addr, sizeof address.v4.sin_addr);
    return 0;
}

struct search {
    struct tcp_end ours, theirs;
    struct tcp_row found;
    bool is_found;
};

static bool is_same(const struct tcp_end *a, const struct tcp_end *b) {
    return a->port == b->port && memcmp(&a->address, &b->address, sizeof a->address) == 0;
}

static bool look(const struct tcp_row *row, void *arg) {
    struct search *search = arg;
    if (row->listening || !is_same(&row->local, &search->theirs) ||
        !is_same(&row->remote, &search->ours))
        return true;
    search->found = *row;
    search->is_found = true;
    return false;
}

/* Who is ours may be asked; so one that may not, or cannot be, is not known to be ours. */
static int user_of_process(DWORD pid, uint32_t *user) {
    struct os_identity identity = {.pid = pid};
    int rc = os_process_user(&identity, user);
    if (rc == 0 || rc == UV_ESRCH)
        return rc;
    *user = OS_USER_UNKNOWN;
    return 0;
}

/* Windows names the owner of every connection. Wine does not, but there all processes are of the
 * user that runs it. */
static int user_of(const struct tcp_row *row, uint32_t *user) {
    if (row->pid != 0)
        return user_of_process(row->pid, user);
    if (!win_is_wine())
        return UV_ESRCH;
    *user = os_user_self();
    return 0;
}

/* A connection belongs to its process from the first packet on, also in the queue of a listener. */
static int ask(os_handle connection, uint32_t *user) {
    struct search search = {.is_found = false};
    int rc = end_of((SOCKET)connection, getsockname, &search.ours);
    if (rc == 0)
        rc = end_of((SOCKET)connection, getpeername, &search.theirs);
    if (rc == 0)
        rc = tcp_table_each(look, &search);
    if (rc == UV_ENOMEM || (rc == 0 && !search.is_found))
        return UV_ESRCH;
    return rc < 0 ? rc : user_of(&search.found, user);
}

int os_tcp_peer_user(os_handle connection, uint32_t *user) {
    return ask(connection, user);
}

int os_tcp_server_user(os_handle connection, uint32_t *user) {
    return ask(connection, user);
}
