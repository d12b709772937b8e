/* The kernel's table of TCP sockets; not for use outside os/linux/.
 *
 * It is read from /proc/net/tcp and /proc/net/tcp6, not asked for through sock_diag: the files are
 * there without the inet_diag module and where a sandbox refuses netlink sockets. Who is in a hurry
 * asks sock_diag first. */
#ifndef TETHER_OS_LINUX_TCP_TABLE_H
#define TETHER_OS_LINUX_TCP_TABLE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* One end of a connection. IPv4 is written as mapped into IPv6. */
struct tcp_end {
    struct in6_addr address;
    uint16_t port;
};

struct tcp_row {
    /* LEFTOVER: no process has it, such as TIME_WAIT */
    enum { TCP_ROW_LISTENING, TCP_ROW_CONNECTED, TCP_ROW_LEFTOVER } kind;
    struct tcp_end local, remote;
    uint32_t user;
    uint64_t inode;
};

/* Calls fn for each socket on the port at an address that 127.0.0.1 or ::1 leads to, until it
 * returns false. */
typedef bool (*tcp_row_fn)(const struct tcp_row *row, void *arg);
int tcp_table_each(uint16_t port, tcp_row_fn fn, void *arg);

/* The socket that is connected so. -ENOENT: there is none. -ENOSYS: there is no table. */
int tcp_table_find(const struct tcp_end *local, const struct tcp_end *remote, struct tcp_row *row);

#endif
