/* The TCP sockets that processes have open, as far as the system shows them: those of our own
 * processes, all if we are root. */
#ifndef TETHER_OS_MACOS_TCP_SOCKETS_H
#define TETHER_OS_MACOS_TCP_SOCKETS_H

#include "os/os.h"

#include <netinet/in.h>

struct tcp_end {
    struct in6_addr address; /* IPv4 is mapped */
    uint16_t port;
};

struct tcp_socket {
    int64_t pid;
    struct tcp_end local, remote;
    bool listening;
};

/* Return false to end the iteration. */
typedef bool (*tcp_socket_fn)(const struct tcp_socket *socket, void *arg);
int tcp_sockets_each(tcp_socket_fn fn, void *arg);

#endif
