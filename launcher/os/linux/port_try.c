/* Whether a port can be had.
 *
 * The only reliable test is to take it for a moment, in both families: Linux refuses 127.0.0.1
 * while somebody listens on it or on a wildcard address that includes it, but allows it while
 * somebody listens on [::1] or on an IPv6-only wildcard; clients that say "localhost" would reach
 * that one instead. SO_REUSEADDR has on Linux just the meaning wanted: never beside a listener, but
 * beside what is left of old connections. */
#include "os/posix/posix.h"
#include "tcp_table.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* Two sockets may be bound side by side; that nobody listens shows only in listening. */
static int try_v4(uint16_t port) {
    os_handle listener;
    int rc = os_listen(&listener, port, 1, NULL);
    os_handle_close(&listener);
    return rc;
}

static int try_v6(uint16_t port) {
    struct sockaddr_in6 address = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = posix_socket(AF_INET6, SOCK_STREAM), rc = fd < 0 ? fd : 0, on = 1;
    if (rc == 0 &&
        (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0 ||
         bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 1) < 0))
        rc = -errno;
    if (fd >= 0)
        close(fd);
    return rc == -EAFNOSUPPORT || rc == -EADDRNOTAVAIL ? 0 : rc; /* no IPv6 here */
}

struct presence {
    bool somebody, leftovers;
};

static bool note_presence(const struct tcp_row *row, void *arg) {
    struct presence *presence = arg;
    if (row->kind == TCP_ROW_LEFTOVER)
        presence->leftovers = true;
    else
        presence->somebody = true;
    return !presence->somebody;
}

int os_port_try(uint16_t port, struct error *err) {
    struct presence presence = {false, false};
    if (port == 0)
        return error_set(err, -EINVAL, "0 is no port to listen on: choose one from 1 to 65535");
    int rc = try_v4(port);
    const char *where = "127.0.0.1";
    if (rc == 0) {
        rc = try_v6(port);
        where = "[::1]";
    }
    if (rc == 0)
        return 0;
    if (rc == -EADDRINUSE && tcp_table_each(port, note_presence, &presence) == 0 &&
        presence.leftovers && !presence.somebody)
        return error_set(err, -EAGAIN,
                         "port %u is still blocked by closed connections of a server that is gone: "
                         "it is free again within a minute",
                         (unsigned)port);
    if (rc == -EADDRINUSE)
        return error_set(err, rc,
                         "port %u is in use (%s): stop who holds it or choose another "
                         "port",
                         (unsigned)port, where);
    if (rc == -EACCES)
        return error_set(err, rc,
                         "the system keeps port %u to privileged programs: choose a port "
                         "from 1024 up",
                         (unsigned)port);
    return error_set(err, rc, "cannot try port %u on %s: %s", (unsigned)port, where,
                     os_error_text(rc).text);
}
