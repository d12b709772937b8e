/* The service notification protocol: short texts in datagrams to a Unix socket. */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static socklen_t fill_address(struct sockaddr_un *address, const char *path) {
    size_t length = strlen(path);
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (length == 0 || length >= sizeof address->sun_path)
        return 0;
    memcpy(address->sun_path, path, length);
    if (path[0] == '@') { /* a name of its own, not in the file system */
        address->sun_path[0] = 0;
        return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    }
    return (socklen_t)sizeof *address;
}

static int datagram_socket(void) {
    int fd = posix_socket(AF_UNIX, SOCK_DGRAM);
    if (fd >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) < 0) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    return fd;
}

/* notify.sock beside the control socket, wherever that may have to be. */
static int notify_path(const struct os_dir *dir, char out[OS_ENDPOINT_MAX], struct error *err) {
    char control[OS_ENDPOINT_MAX];
    const char *slash;
    int rc = os_control_name(dir, true, control, err);
    if (rc < 0)
        return rc;
    slash = strrchr(control, '/');
    if (strcmp(slash, "/control.sock") == 0)
        rc = snprintf(out, OS_ENDPOINT_MAX, "%.*s/notify.sock", (int)(slash - control), control);
    else
        rc = snprintf(out, OS_ENDPOINT_MAX, "%.*s.n", (int)strlen(control), control);
    if (rc < 0 || rc >= OS_ENDPOINT_MAX)
        return error_set(err, -ENAMETOOLONG, "the path for the notification socket is too long");
    return 0;
}

int os_notify_open(const struct os_dir *dir, os_handle *handle, char path[OS_ENDPOINT_MAX],
                   struct error *err) {
    struct sockaddr_un address;
    socklen_t length;
    int fd, rc = notify_path(dir, path, err);
    *handle = OS_NO_HANDLE;
    if (rc < 0)
        return rc;
    fd = datagram_socket();
    length = fill_address(&address, path);
    unlink(path); /* in a directory that is ours alone */
    if (fd < 0 || length == 0 || bind(fd, (struct sockaddr *)&address, length) < 0) {
        rc = fd < 0 ? fd : -errno;
        if (fd >= 0)
            close(fd);
        return error_set(err, rc, "cannot make the notification socket %s: %s", path,
                         os_error_text(rc).text);
    }
    *handle = fd;
    return 0;
}

int os_notify_receive(os_handle handle, char *out, size_t size) {
    ssize_t count;
    do
        count = recv((int)handle, out, size - 1, 0);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return -errno;
    out[count] = 0;
    return 0;
}

void os_notify_remove(const char *path) {
    unlink(path);
}

int os_notify_send(const char *path, const char *text) {
    struct sockaddr_un address;
    socklen_t length = fill_address(&address, path);
    int fd = length ? datagram_socket() : -EINVAL, rc = 0;
    if (fd < 0)
        return fd;
    if (sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address, length) < 0)
        rc = -errno;
    close(fd);
    return rc;
}
