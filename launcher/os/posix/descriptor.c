/* Small operations on file descriptors. */
#include "os/os_spawn.h"
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
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

bool posix_is_shortage(int code) {
    return code == -ENOMEM || code == -ENFILE || code == -EMFILE || code == -ENOBUFS;
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

int posix_local_socket(const char *path, enum posix_local what) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct sockaddr *at = (const struct sockaddr *)&address;
    size_t length = strlen(path);
    int fd = length < sizeof address.sun_path ? posix_socket(AF_UNIX, SOCK_STREAM) : -ENAMETOOLONG;
    if (fd < 0)
        return fd;
    memcpy(address.sun_path, path, length);
    if (fcntl(fd, F_SETFL, O_NONBLOCK) == 0 &&
        (what == POSIX_BIND ? bind(fd, at, sizeof address) : connect(fd, at, sizeof address)) == 0)
        return fd;
    int rc = -errno;
    close(fd);
    return rc;
}

ssize_t posix_read_all(int fd, void *out, size_t size) {
    size_t got = 0;
    while (got < size) {
        int64_t n = os_read(fd, (char *)out + got, size - got);
        if (n < 0)
            return (ssize_t)n;
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

int os_stdio_let_go(void) {
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    return os_stdio_ensure();
}

int os_stdio_redirect(os_handle handle) {
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (dup2((int)handle, fd) < 0)
            return -errno;
    return 0;
}

void posix_close_numbers(int first) {
    struct rlimit limit;
    int end = 1 << 20;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < (rlim_t)end)
        end = (int)limit.rlim_cur;
    for (int fd = first; fd < end; fd++)
        close(fd);
}

static bool is_among(const os_handle *handles, size_t count, int fd) {
    for (size_t i = 0; i < count; i++) {
        if (handles[i] == fd)
            return true;
    }
    return false;
}

void posix_close_but(int first, const os_handle *kept, size_t count) {
    int last = first - 1;

    for (size_t i = 0; i < count; i++) {
        if (kept[i] > last && fcntl((int)kept[i], F_GETFD) >= 0)
            last = (int)kept[i];
    }
    for (int fd = first; fd < last; fd++) {
        if (!is_among(kept, count, fd))
            close(fd);
    }
    posix_close_from(last + 1);
}

void os_handles_keep(const os_handle *kept, size_t count) {
    posix_close_but(STDERR_FILENO + 1, kept, count);
}
