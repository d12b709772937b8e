/* Listening sockets on the loopback address, and such as were handed down. */
#include "../os_loop.h"
#include "posix.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int bind_loopback(int fd, uint16_t port, int backlog) {
    /* Connections of a predecessor that is gone must not keep us from its port. */
    int on = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, backlog) < 0)
        return -errno;
    return 0;
}

int os_listen(os_handle *listener, uint16_t port, int backlog, struct error *err) {
    *listener = OS_NO_HANDLE;
    int fd = posix_socket(AF_INET, SOCK_STREAM);
    if (fd < 0)
        return error_set(err, fd, "cannot open a socket: %s", os_error_text(fd).text);
    int rc = bind_loopback(fd, port, backlog);
    if (rc < 0) {
        close(fd);
        return error_set(err, rc, "cannot listen on 127.0.0.1:%u: %s", (unsigned)port,
                         os_error_text(rc).text);
    }
    *listener = fd;
    return 0;
}

/* Without SO_REUSEADDR, which would let others bind beside us what is not listened on. */
int os_port_reserve(os_handle *reserved, uint16_t port) {
    struct sockaddr_in6 address = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    *reserved = OS_NO_HANDLE;
    int fd = posix_socket(AF_INET6, SOCK_STREAM), rc = 0;
    if (fd < 0)
        return fd;
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        rc = -errno;
        close(fd);
        return rc;
    }
    *reserved = fd;
    return 0;
}

int os_socket_port(os_handle handle, uint16_t *port) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {0};
    socklen_t length = sizeof address;
    if (getsockname((int)handle, &address.any, &length) < 0)
        return -errno;
    if (address.any.sa_family == AF_INET)
        *port = ntohs(address.v4.sin_port);
    else if (address.any.sa_family == AF_INET6)
        *port = ntohs(address.v6.sin6_port);
    else
        return -EAFNOSUPPORT;
    return 0;
}

int os_listener_start(uv_tcp_t *tcp, os_handle listener, int backlog, uv_connection_cb fn) {
    int rc = uv_tcp_open(tcp, (int)listener);
    if (rc < 0)
        os_handle_close(&listener);
    return rc < 0 ? rc : uv_listen((uv_stream_t *)tcp, backlog, fn);
}

/* Who has not been told of waits in the queue that all owners of the socket share. */
bool os_listener_rest(uv_tcp_t *tcp) {
    (void)tcp;
    return true;
}

enum { FIRST_LISTENER = 3 };

size_t os_inherited_listeners(os_handle out[], size_t most) {
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    int64_t meant, count;
    if (os_pid_parse(pid, &meant) < 0 || meant != getpid() || os_pid_parse(fds, &count) < 0)
        return 0;
    if ((uint64_t)count < most)
        most = (size_t)count;
    for (size_t i = 0; i < most; i++)
        out[i] = FIRST_LISTENER + (os_handle)i;
    return most;
}
