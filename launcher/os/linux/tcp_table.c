#include "tcp_table.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/* As the kernel numbers the states. */
#define STATE_LISTEN 0x0a

/* The table prints each 32-bit word of an address as a number of this machine, although the bytes
 * in memory are in network order: eight digits for IPv4, four times eight for IPv6. */
static bool parse_address(const char *hex, struct in6_addr *address) {
    uint32_t words[4] = {0, 0, htonl(0xffff), 0};
    size_t count = strlen(hex) / 8;
    if (strlen(hex) % 8 != 0 || (count != 1 && count != 4))
        return false;
    for (size_t i = 0; i < count; i++) {
        unsigned value;
        if (sscanf(hex + 8 * i, "%8x", &value) != 1)
            return false;
        words[count == 1 ? 3 : i] = value;
    }
    memcpy(address, words, sizeof *address);
    return true;
}

/* Whether a socket at this address, IPv4 written as mapped, gets what is sent to the loopback. */
static bool is_reached_by_loopback(const struct in6_addr *address) {
    uint32_t v4;
    memcpy(&v4, &address->s6_addr[12], sizeof v4);
    if (IN6_IS_ADDR_V4MAPPED(address))
        return v4 == htonl(INADDR_LOOPBACK) || v4 == htonl(INADDR_ANY);
    return IN6_IS_ADDR_LOOPBACK(address) || IN6_IS_ADDR_UNSPECIFIED(address);
}

/* Fills in all of the row but what follows from the question. */
static bool parse_row(const char *line, struct tcp_row *row) {
    char local[33], remote[33];
    unsigned local_port, remote_port, state, user;
    uint64_t inode;
    if (sscanf(line,
               " %*u: %32[0-9A-F]:%4x %32[0-9A-F]:%4x %2x %*x:%*x %*x:%*x %*x %u %*u %" SCNu64,
               local, &local_port, remote, &remote_port, &state, &user, &inode) != 7)
        return false;
    if (!parse_address(local, &row->local.address) || !parse_address(remote, &row->remote.address))
        return false;
    row->local.port = (uint16_t)local_port;
    row->remote.port = (uint16_t)remote_port;
    row->user = user;
    row->inode = inode;
    if (state == STATE_LISTEN)
        row->kind = TCP_ROW_LISTENING;
    else if (inode == 0)
        row->kind = TCP_ROW_LEFTOVER;
    else
        row->kind = TCP_ROW_CONNECTED;
    return true;
}

/* Passes on the rows of this port that the loopback leads to, or of port 0 all. Returns 1 when fn
 * wants no more. A table that is not there has no rows: no IPv6 here. */
static int read_table(const char *path, uint16_t port, tcp_row_fn fn, void *arg, bool *present) {
    char line[512];
    int rc = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return errno == ENOENT ? 0 : -errno;
    *present = true;
    while (rc == 0 && fgets(line, sizeof line, file)) {
        struct tcp_row row;
        bool is_meant =
            parse_row(line, &row) &&
            (port == 0 || (row.local.port == port && is_reached_by_loopback(&row.local.address)));
        if (is_meant && !fn(&row, arg))
            rc = 1;
    }
    if (rc == 0 && ferror(file))
        rc = -EIO;
    fclose(file);
    return rc;
}

static int read_tables(uint16_t port, tcp_row_fn fn, void *arg, bool *present) {
    int rc = read_table("/proc/net/tcp", port, fn, arg, present);
    if (rc == 0)
        rc = read_table("/proc/net/tcp6", port, fn, arg, present);
    return rc < 0 ? rc : 0;
}

int tcp_table_each(uint16_t port, tcp_row_fn fn, void *arg) {
    bool present = false;
    return read_tables(port, fn, arg, &present);
}

struct search {
    const struct tcp_end *local, *remote;
    struct tcp_row *row;
    bool found;
};

static bool is_same_end(const struct tcp_end *a, const struct tcp_end *b) {
    return a->port == b->port && IN6_ARE_ADDR_EQUAL(&a->address, &b->address);
}

static bool compare_row(const struct tcp_row *row, void *arg) {
    struct search *search = arg;
    search->found =
        is_same_end(&row->local, search->local) && is_same_end(&row->remote, search->remote);
    if (search->found)
        *search->row = *row;
    return !search->found;
}

int tcp_table_find(const struct tcp_end *local, const struct tcp_end *remote, struct tcp_row *row) {
    struct search search = {.local = local, .remote = remote, .row = row};
    bool present = false;
    int rc = read_tables(0, compare_row, &search, &present);
    if (rc == 0 && !present)
        return -ENOSYS;
    return rc == 0 && !search.found ? -ENOENT : rc;
}
