/* Reading and writing descriptors, files that grow, and a few words for people. */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int os_write(os_handle handle, const void *data, size_t length) {
    const char *at = data;
    while (length > 0) {
        ssize_t count = write((int)handle, at, length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -errno;
        at += count;
        length -= (size_t)count;
    }
    return 0;
}

/* Terminals do so by themselves, or are told by the user's locale. */
void os_console_speak_utf8(void) {
}

/* What a pipe takes at once when poll() says that it is writable. */
enum { CHUNK = 4096 };

bool os_wait_writable(os_handle handle, int limit_ms) {
    struct pollfd event = {.fd = (int)handle, .events = POLLOUT};
    int64_t until = os_clock_ms() + limit_ms;
    int count;
    do {
        count = poll(&event, 1, limit_ms);
        limit_ms = (int)(until - os_clock_ms());
    } while (count < 0 && errno == EINTR && limit_ms > 0);
    return count > 0;
}

bool os_reader_gone(os_handle output) {
    struct pollfd event = {.fd = (int)output};
    return poll(&event, 1, 0) > 0 && (event.revents & (POLLERR | POLLHUP));
}

int64_t os_write_now(os_handle handle, const void *data, size_t length) {
    ssize_t count = send((int)handle, data, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0 || errno != ENOTSOCK)
        return count < 0 ? -errno : count;
    if (!os_wait_writable(handle, 0))
        return -EAGAIN;
    do
        count = write((int)handle, data, length < CHUNK ? length : CHUNK);
    while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : count;
}

os_handle os_stdio_unblocked(int number) {
    struct stat stat;
    char path[32];
    int fd = -1;
    signal(SIGTTOU, SIG_IGN); /* a terminal stops who writes in the background, if told to */
    snprintf(path, sizeof path, "/dev/fd/%d", number);
    if (fstat(number, &stat) == 0 && (S_ISFIFO(stat.st_mode) || isatty(number)))
        fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd < 0 ? number : fd;
}

void os_stdio_release(os_handle *handle, int number) {
    if (*handle != number)
        os_handle_close(handle);
    *handle = OS_NO_HANDLE;
}

int64_t os_read(os_handle handle, void *out, size_t size) {
    ssize_t count;
    do
        count = read((int)handle, out, size);
    while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : count;
}

int os_file_append(const struct os_dir *dir, const char *name, os_handle *handle, uint64_t *size) {
    struct stat stat;
    int fd = -1;
    *handle = OS_NO_HANDLE;
    if (!posix_name_is_plain(name))
        return -EINVAL;
    fd = openat((int)dir->handle, name,
                O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                S_IRUSR | S_IWUSR);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) || stat.st_uid != geteuid()) {
        close(fd);
        return -EPERM;
    }
    *handle = fd;
    *size = (uint64_t)stat.st_size;
    return 0;
}

int os_file_rename(const struct os_dir *dir, const char *from, const char *to) {
    if (!posix_name_is_plain(from) || !posix_name_is_plain(to))
        return -EINVAL;
    return renameat((int)dir->handle, from, (int)dir->handle, to) < 0 ? -errno : 0;
}

bool os_utc(int64_t seconds, struct tm *parts) {
    time_t when = (time_t)seconds;
    return gmtime_r(&when, parts) != NULL;
}

const char *os_signal_name(int number) {
    const char *name = strsignal(number);
    return name ? name : "unknown";
}
