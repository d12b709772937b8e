#include "tcp_table.h"

#include <iphlpapi.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* It grows between the question for its size and the one for itself. */
static int read_table(ULONG family, TCP_TABLE_CLASS kind, void **out) {
    ULONG size = 65536;
    for (int tries = 0; tries < 8; tries++) {
        void *table = memory_zeroed(size);
        DWORD error;
        if (!table)
            return UV_ENOMEM;
        error = GetExtendedTcpTable(table, &size, FALSE, family, kind, 0);
        if (error == NO_ERROR) {
            *out = table;
            return 0;
        }
        free(table);
        if (error != ERROR_INSUFFICIENT_BUFFER)
            return win_code(error);
        size += 16384;
    }
    return UV_EAGAIN;
}

static struct tcp_end end_v4(DWORD address, DWORD port) {
    struct tcp_end end = {.port = ntohs((u_short)port)};
    end.address.s6_addr[10] = end.address.s6_addr[11] = 0xff;
    memcpy(&end.address.s6_addr[12], &address, sizeof address);
    return end;
}

static struct tcp_end end_v6(const UCHAR address[16], DWORD port) {
    struct tcp_end end = {.port = ntohs((u_short)port)};
    memcpy(end.address.s6_addr, address, 16);
    return end;
}

static bool is_closing(DWORD state) {
    switch (state) {
    case MIB_TCP_STATE_FIN_WAIT1:
    case MIB_TCP_STATE_FIN_WAIT2:
    case MIB_TCP_STATE_CLOSE_WAIT:
    case MIB_TCP_STATE_CLOSING:
    case MIB_TCP_STATE_LAST_ACK:
    case MIB_TCP_STATE_TIME_WAIT:
    case MIB_TCP_STATE_DELETE_TCB:
        return true;
    default:
        return false;
    }
}

/* Goes on until fn has had enough. */
static int each_v4(tcp_row_fn fn, void *arg, bool *more) {
    MIB_TCPTABLE_OWNER_PID *table;
    void *memory = NULL;
    int rc = read_table(AF_INET, TCP_TABLE_OWNER_PID_ALL, &memory);
    if (rc < 0)
        return rc;
    table = memory;
    for (DWORD i = 0; i < table->dwNumEntries && *more; i++) {
        const MIB_TCPROW_OWNER_PID *entry = &table->table[i];
        struct tcp_row row = {.local = end_v4(entry->dwLocalAddr, entry->dwLocalPort),
                              .remote = end_v4(entry->dwRemoteAddr, entry->dwRemotePort),
                              .pid = entry->dwOwningPid,
                              .listening = entry->dwState == MIB_TCP_STATE_LISTEN,
                              .closing = is_closing(entry->dwState)};
        *more = fn(&row, arg);
    }
    free(memory);
    return 0;
}

static int each_v6(tcp_row_fn fn, void *arg, bool *more) {
    MIB_TCP6TABLE_OWNER_PID *table;
    void *memory = NULL;
    int rc = read_table(AF_INET6, TCP_TABLE_OWNER_PID_ALL, &memory);
    if (rc < 0)
        return rc == UV_ENOTSUP || rc == UV_EINVAL ? 0 : rc; /* no IPv6 here */
    table = memory;
    for (DWORD i = 0; i < table->dwNumEntries && *more; i++) {
        const MIB_TCP6ROW_OWNER_PID *entry = &table->table[i];
        struct tcp_row row = {.local = end_v6(entry->ucLocalAddr, entry->dwLocalPort),
                              .remote = end_v6(entry->ucRemoteAddr, entry->dwRemotePort),
                              .pid = entry->dwOwningPid,
                              .listening = entry->dwState == MIB_TCP_STATE_LISTEN,
                              .closing = is_closing(entry->dwState)};
        *more = fn(&row, arg);
    }
    free(memory);
    return 0;
}

/* Wine looks for the owner of each row through all files of all programs, for seconds, and then
 * names none of them: there the table is read without. */
static int each_unowned(tcp_row_fn fn, void *arg) {
    MIB_TCPTABLE *table;
    void *memory = NULL;
    bool more = true;
    int rc = read_table(AF_INET, TCP_TABLE_BASIC_ALL, &memory);
    if (rc < 0)
        return rc;
    table = memory;
    for (DWORD i = 0; i < table->dwNumEntries && more; i++) {
        const MIB_TCPROW *entry = &table->table[i];
        struct tcp_row row = {.local = end_v4(entry->dwLocalAddr, entry->dwLocalPort),
                              .remote = end_v4(entry->dwRemoteAddr, entry->dwRemotePort),
                              .listening = entry->dwState == MIB_TCP_STATE_LISTEN,
                              .closing = is_closing(entry->dwState)};
        more = fn(&row, arg);
    }
    free(memory);
    return 0;
}

int tcp_table_each(tcp_row_fn fn, void *arg) {
    bool more = true;
    if (win_is_wine())
        return each_unowned(fn, arg);
    int rc = each_v4(fn, arg, &more);
    return rc < 0 || !more ? rc : each_v6(fn, arg, &more);
}
