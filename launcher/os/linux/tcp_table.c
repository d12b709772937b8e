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

static bool parse_row(const char *line, uint16_t port, struct tcp_row *row) {
    char hex[33];
    unsigned local_port, state, user;
    uint64_t inode;
    struct in6_addr address;
    if (sscanf(line, " %*u: %32[0-9A-F]:%4x %*[0-9A-F]:%*x %2x %*x:%*x %*x:%*x %*x %u %*u %" SCNu64,
               hex, &local_port, &state, &user, &inode) != 5)
        return false;
    if (local_port != port || !parse_address(hex, &address) || !is_reached_by_loopback(&address))
        return false;
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

/* Returns 1 when fn wants no more. */
static int read_table(const char *path, uint16_t port, tcp_row_fn fn, void *arg) {
    char line[512];
    int rc = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return errno == ENOENT ? 0 : -errno; /* no IPv6 here */
    while (rc == 0 && fgets(line, sizeof line, file)) {
        struct tcp_row row;
        if (parse_row(line, port, &row) && !fn(&row, arg))
            rc = 1;
    }
    if (rc == 0 && ferror(file))
        rc = -EIO;
    fclose(file);
    return rc;
}

int tcp_table_each(uint16_t port, tcp_row_fn fn, void *arg) {
    int rc = read_table("/proc/net/tcp", port, fn, arg);
    if (rc == 0)
        rc = read_table("/proc/net/tcp6", port, fn, arg);
    return rc < 0 ? rc : 0;
}
