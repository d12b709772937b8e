/* The system's table of TCP connections. */
#ifndef TETHER_OS_WIN_TCP_TABLE_H
#define TETHER_OS_WIN_TCP_TABLE_H

#include "sockets.h"

struct tcp_end {
    struct in6_addr address; /* IPv4 as ::ffff:a.b.c.d */
    uint16_t port;
};

struct tcp_row {
    struct tcp_end local, remote;
    DWORD pid; /* 0: nobody's, or not told */
    bool listening;
    bool closing; /* one of its ends is closed, or both are */
};

/* Return false to end. */
typedef bool (*tcp_row_fn)(const struct tcp_row *row, void *arg);
int tcp_table_each(tcp_row_fn fn, void *arg);

#endif
