/* Small operations on file descriptors. */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

void os_handle_close(os_handle *handle) {
    int saved = errno;
    if (*handle != OS_NO_HANDLE)
        close((int)*handle);
    *handle = OS_NO_HANDLE;
    errno = saved;
}

int posix_cloexec(int fd) {
    int flags = fcntl(fd, F_GETFD);
    if (flags < 0 || fcntl(fd, F_SETFD, flags | FD_CLOEXEC) < 0)
        return -errno;
    return 0;
}

/* Linux makes descriptors that exec closes; elsewhere they are marked a moment later. */
int posix_socket(int domain, int type) {
#ifdef SOCK_CLOEXEC
    int fd = socket(domain, type | SOCK_CLOEXEC, 0);
    return fd < 0 ? -errno : fd;
#else
    int fd = socket(domain, type, 0);
    if (fd < 0)
        return -errno;
    int rc = posix_cloexec(fd);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    return fd;
#endif
}

ssize_t posix_read_all(int fd, void *out, size_t size) {
    size_t got = 0;
    while (got < size) {
        ssize_t n = read(fd, (char *)out + got, size - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        got += (size_t)n;
    }
    return (ssize_t)got;
}

int os_stdio_ensure(void) {
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        /* The lowest free descriptor is this one. Not close-on-exec: a child needs its stdio too.
         */
        if (open("/dev/null", O_RDWR) < 0)
            return -errno;
    }
    return 0;
}

int os_stdio_redirect(os_handle handle) {
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (dup2((int)handle, fd) < 0)
            return -errno;
    return 0;
}
