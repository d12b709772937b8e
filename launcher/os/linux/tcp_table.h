/* The kernel's table of TCP sockets; not for use outside os/linux/.
 *
 * It is read from /proc/net/tcp and /proc/net/tcp6, not asked for through sock_diag: the files are
 * there without the inet_diag module and where a sandbox refuses netlink sockets, and they are read
 * only when a port was found busy, so that speed does not decide. */
#ifndef TETHER_OS_LINUX_TCP_TABLE_H
#define TETHER_OS_LINUX_TCP_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* A socket on the wanted port at an address that 127.0.0.1 or ::1 leads to. */
struct tcp_row {
    /* LEFTOVER: no process has it, such as TIME_WAIT */
    enum { TCP_ROW_LISTENING, TCP_ROW_CONNECTED, TCP_ROW_LEFTOVER } kind;
    uint32_t user;
    uint64_t inode;
};

/* Calls fn for each such socket until it returns false. */
typedef bool (*tcp_row_fn)(const struct tcp_row *row, void *arg);
int tcp_table_each(uint16_t port, tcp_row_fn fn, void *arg);

#endif
