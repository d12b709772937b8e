/* Whether a port can be had: here SO_REUSEADDR lets a server bind 127.0.0.1 beside one on a
 * wildcard address, and the other way round, so each address that could be in our place is tried by
 * itself. The wildcards are not listened on: the system's firewall would ask the user. */
#include "os/posix/posix.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static int take(int fd, const struct sockaddr *address, socklen_t length, bool listens) {
    int on = 1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        (address->sa_family == AF_INET6 &&
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0) ||
        bind(fd, address, length) < 0 || (listens && listen(fd, 1) < 0))
        return -errno;
    return 0;
}

static int try_address(const struct sockaddr *address, socklen_t length, bool listens) {
    int fd = posix_socket(address->sa_family, SOCK_STREAM);
    if (fd < 0)
        return fd;
    int rc = take(fd, address, length, listens);
    close(fd);
    return rc;
}

static int try_v4(uint16_t port, in_addr_t at) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(at)};
    return try_address((const struct sockaddr *)&address, sizeof address, at == INADDR_LOOPBACK);
}

static int try_v6(uint16_t port, struct in6_addr at, bool listens) {
    struct sockaddr_in6 address = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = at};
    int rc = try_address((const struct sockaddr *)&address, sizeof address, listens);
    return rc == -EAFNOSUPPORT || rc == -EADDRNOTAVAIL ? 0 : rc; /* no IPv6 here */
}

static int try_all(uint16_t port, const char **where) {
    *where = "127.0.0.1";
    int rc = try_v4(port, INADDR_LOOPBACK);
    if (rc == 0) {
        *where = "[::1]";
        rc = try_v6(port, in6addr_loopback, true);
    }
    if (rc == 0) {
        *where = "0.0.0.0";
        rc = try_v4(port, INADDR_ANY);
    }
    if (rc == 0) {
        *where = "[::]";
        rc = try_v6(port, in6addr_any, false);
    }
    return rc;
}

int os_port_try(uint16_t port, struct error *err) {
    const char *where;
    if (port == 0)
        return error_set(err, -EINVAL, "0 is no port to listen on: choose one from 1 to 65535");
    int rc = try_all(port, &where);
    if (rc == -EADDRINUSE)
        return error_set(err, rc,
                         "port %u is in use (%s): stop who holds it or choose another port",
                         (unsigned)port, where);
    if (rc == -EACCES)
        return error_set(err, rc,
                         "the system keeps port %u to privileged programs: choose a port "
                         "from 1024 up",
                         (unsigned)port);
    if (rc < 0)
        return error_set(err, rc, "cannot try port %u on %s: %s", (unsigned)port, where,
                         os_error_text(rc).text);
    return 0;
}
