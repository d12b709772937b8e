/* Who is at the other end of a TCP connection: the user of the process that has the socket with our
 * two ends the other way round. Other users' sockets are not shown, so they count as nobody's. */
#include "tcp_sockets.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

typedef int (*name_fn)(int fd, struct sockaddr *address, socklen_t *length);

static int end_of(int fd, name_fn name, struct tcp_end *end) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {0};
    socklen_t length = sizeof address;
    if (name(fd, &address.any, &length) < 0)
        return errno == ENOTCONN || errno == EINVAL ? -ESRCH : -errno;
    if (address.any.sa_family == AF_INET6) {
        end->address = address.v6.sin6_addr;
        end->port = ntohs(address.v6.sin6_port);
        return 0;
    }
    if (address.any.sa_family != AF_INET)
        return -EAFNOSUPPORT;
    *end = (struct tcp_end){.port = ntohs(address.v4.sin_port)};
    end->address.s6_addr[10] = end->address.s6_addr[11] = 0xff;
    memcpy(&end->address.s6_addr[12], &address.v4.sin_addr, sizeof address.v4.sin_addr);
    return 0;
}

static bool is_same_end(const struct tcp_end *a, const struct tcp_end *b) {
    return a->port == b->port && memcmp(&a->address, &b->address, sizeof a->address) == 0;
}

struct question {
    struct tcp_end ours, peers;
    int64_t holder, listener; /* 0: not found */
};

static bool compare(const struct tcp_socket *socket, void *arg) {
    struct question *question = arg;
    struct in6_addr any = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    if (socket->listening) {
        if (is_same_end(&socket->local, &question->peers) ||
            (socket->local.port == question->peers.port &&
             (IN6_IS_ADDR_UNSPECIFIED(&socket->local.address) ||
              memcmp(&socket->local.address, &any, sizeof any) == 0)))
            question->listener = socket->pid;
    } else if (is_same_end(&socket->local, &question->peers) &&
               is_same_end(&socket->remote, &question->ours)) {
        question->holder = socket->pid;
    }
    return question->holder == 0;
}

static int ask(os_handle connection, struct question *question) {
    *question = (struct question){.holder = 0};
    int rc = end_of((int)connection, getsockname, &question->ours);
    if (rc == 0)
        rc = end_of((int)connection, getpeername, &question->peers);
    if (rc == 0)
        rc = tcp_sockets_each(compare, question);
    return rc;
}

static int user_of(int64_t pid, uint32_t *user) {
    return pid ? os_process_user(&(struct os_identity){.pid = pid}, user) : -ESRCH;
}

int os_tcp_peer_user(os_handle connection, uint32_t *user) {
    struct question question;
    int rc = ask(connection, &question);
    return rc == 0 ? user_of(question.holder, user) : rc;
}

int os_tcp_server_user(os_handle connection, uint32_t *user) {
    struct question question;
    int rc = ask(connection, &question);
    return rc == 0 ? user_of(question.holder ? question.holder : question.listener, user) : rc;
}
