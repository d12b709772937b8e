/* Who is at the other end of a TCP connection: the user of the socket that has our two ends the
 * other way round. sock_diag finds it at once, however many connections there are; where it is
 * missing, the table is read.
 *
 * A connection that nobody has accepted yet is nobody's. It is in the queue of the one socket that
 * listens at its end, and ends with it: as long as it is there, so is that one. */
#include "os/posix/posix.h"
#include "tcp_table.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef int (*name_fn)(int fd, struct sockaddr *address, socklen_t *length);

static int end_of(int fd, name_fn name, struct tcp_end *end) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {0};
    socklen_t length = sizeof address;
    if (name(fd, &address.any, &length) < 0)
        return errno == ENOTCONN ? -ESRCH : -errno;
    if (address.any.sa_family == AF_INET6) {
        *end =
            (struct tcp_end){.address = address.v6.sin6_addr, .port = ntohs(address.v6.sin6_port)};
        return 0;
    }
    if (address.any.sa_family != AF_INET)
        return -EAFNOSUPPORT;
    *end = (struct tcp_end){.port = ntohs(address.v4.sin_port)};
    end->address.s6_addr[10] = end->address.s6_addr[11] = 0xff;
    memcpy(&end->address.s6_addr[12], &address.v4.sin_addr, sizeof address.v4.sin_addr);
    return 0;
}

/* ---- sock_diag ---- */

struct diag_request {
    struct nlmsghdr header;
    struct inet_diag_req_v2 body;
};

/* The address as its family has it: IPv4 is not mapped here. */
static void put_address(__be32 out[4], const struct in6_addr *address, bool is_v4) {
    memset(out, 0, 4 * sizeof out[0]);
    memcpy(out, is_v4 ? &address->s6_addr[12] : address->s6_addr, is_v4 ? 4 : 16);
}

static struct diag_request diag_question(const struct tcp_end *source,
                                         const struct tcp_end *target) {
    bool is_v4 = IN6_IS_ADDR_V4MAPPED(&source->address);
    struct diag_request request = {
        .header = {.nlmsg_len = sizeof request,
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST},
        .body = {.sdiag_family = is_v4 ? AF_INET : AF_INET6,
                 .sdiag_protocol = IPPROTO_TCP,
                 .idiag_states = ~0U,
                 .id = {.idiag_sport = htons(source->port),
                        .idiag_dport = htons(target->port),
                        .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}}};
    put_address(request.body.id.idiag_src, &source->address, is_v4);
    put_address(request.body.id.idiag_dst, &target->address, is_v4);
    return request;
}

/* Where no connection is left, the kernel takes a listener at its end for the answer: some other
 * process's that has the port now. */
static bool is_asked_for(const struct inet_diag_msg *message, const struct diag_request *request) {
    bool listener = request->body.id.idiag_dport == 0;
    return (message->idiag_state == TCP_LISTEN) == listener &&
           message->id.idiag_sport == request->body.id.idiag_sport &&
           message->id.idiag_dport == request->body.id.idiag_dport;
}

static int diag_answer(int fd, const struct diag_request *request, struct tcp_row *row) {
    union {
        struct nlmsghdr header;
        char bytes[1024];
    } reply;
    ssize_t n = recv(fd, &reply, sizeof reply, 0);
    if (n < 0)
        return -errno;
    if (!NLMSG_OK(&reply.header, (size_t)n) || reply.header.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        reply.header.nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
        return -ENOENT; /* an error: no such socket, or no such service */
    struct inet_diag_msg message;
    memcpy(&message, NLMSG_DATA(&reply.header), sizeof message);
    if (!is_asked_for(&message, request))
        return -ENOENT;
    row->user = message.idiag_uid;
    row->inode = message.idiag_inode;
    row->kind = message.idiag_inode ? TCP_ROW_CONNECTED : TCP_ROW_LEFTOVER;
    return 0;
}

/* The kernel answers within the call that asks, so that nothing is waited for. No remote end: who
 * listens at the local one. */
static int diag_find(const struct tcp_end *local, const struct tcp_end *remote,
                     struct tcp_row *row) {
    struct diag_request request = diag_question(local, remote);
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return -errno;
    int rc = sendto(fd, &request, sizeof request, 0, (struct sockaddr *)&kernel, sizeof kernel) < 0
                 ? -errno
                 : diag_answer(fd, &request, row);
    close(fd);
    return rc;
}

static int ends_of(int fd, struct tcp_end *ours, struct tcp_end *peers) {
    int rc = end_of(fd, getsockname, ours);
    return rc == 0 ? end_of(fd, getpeername, peers) : rc;
}

/* The socket at the other end, which may be in a queue still, or left over from one that is gone.
 */
static int find_peer(const struct tcp_end *ours, const struct tcp_end *peers, struct tcp_row *row) {
    int rc = diag_find(peers, ours, row) == 0 ? 0 : tcp_table_find(peers, ours, row);
    return rc == -ENOENT || posix_is_shortage(rc) ? -ESRCH : rc;
}

int os_tcp_peer_user(os_handle connection, uint32_t *user) {
    struct tcp_end ours = {.port = 0}, peers = {.port = 0};
    struct tcp_row row = {.user = 0};
    int rc = ends_of((int)connection, &ours, &peers);
    if (rc == 0)
        rc = find_peer(&ours, &peers, &row);
    if (rc == 0 && row.kind != TCP_ROW_CONNECTED)
        return -ESRCH;
    if (rc == 0)
        *user = row.user;
    return rc;
}

static bool is_listener(const struct tcp_row *row, void *arg) {
    struct tcp_row *found = arg;
    if (row->kind == TCP_ROW_LISTENING && !IN6_IS_ADDR_LOOPBACK(&row->local.address))
        *found = *row;
    return found->kind != TCP_ROW_LISTENING;
}

static int find_listener(const struct tcp_end *at, struct tcp_row *row) {
    struct tcp_end from_nowhere = {.port = 0};
    int rc = 0;
    if (diag_find(at, &from_nowhere, row) == 0)
        return 0;
    row->kind = TCP_ROW_LEFTOVER;
    rc = tcp_table_each(at->port, is_listener, row);
    return posix_is_shortage(rc) || (rc == 0 && row->kind != TCP_ROW_LISTENING) ? -ESRCH : rc;
}

int os_tcp_server_user(os_handle connection, uint32_t *user) {
    struct tcp_end ours = {.port = 0}, peers = {.port = 0};
    struct tcp_row row = {.user = 0}, listener = {.user = 0};
    int rc = ends_of((int)connection, &ours, &peers);
    if (rc == 0)
        rc = find_peer(&ours, &peers, &row);
    if (rc == 0 && row.kind != TCP_ROW_CONNECTED) {
        rc = find_listener(&peers, &listener);
        if (rc == 0) /* it may have been accepted meanwhile, and the listener be another one */
            rc = find_peer(&ours, &peers, &row);
        if (rc == 0 && row.kind != TCP_ROW_CONNECTED)
            row.user = listener.user;
    }
    if (rc == 0)
        *user = row.user;
    return rc;
}
