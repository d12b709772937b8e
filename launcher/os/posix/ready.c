/* The service notification protocol: short texts in datagrams to a Unix socket. */
#include "posix.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "memory.h"
#include "os/os_loop.h"

const char os_ready_variable[] = "NOTIFY_SOCKET";

struct os_ready {
    uv_poll_t poll;
    int fd;
    void (*fn)(void *context);
    void *context;
    struct sockaddr_un address;
    struct posix_node node;
};

/* Room for the sender's identity and nothing else: descriptors sent along are dropped. */
#ifdef SO_PASSCRED
enum { CONTROL_BYTES = CMSG_SPACE(sizeof(struct ucred)) };
#else
enum { CONTROL_BYTES = 0 };
#endif

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

/* ---- listening ---- */

/* notify.sock beside the control socket, wherever that may have to be. */
static int choose_place(const struct os_dir *dir, bool create, struct sockaddr_un *address,
                        struct error *err) {
    char control[OS_ENDPOINT_MAX], path[OS_ENDPOINT_MAX + sizeof ".n"];
    const char *slash;
    int rc = os_control_name(dir, create, control, err);
    if (rc < 0)
        return rc;
    slash = strrchr(control, '/');
    if (strcmp(slash, "/control.sock") == 0)
        snprintf(path, sizeof path, "%.*s/notify.sock", (int)(slash - control), control);
    else
        snprintf(path, sizeof path, "%s.n", control);
    if (fill_address(address, path) == 0)
        return error_set(err, -ENAMETOOLONG, "the path for the notification socket is too long");
    return 0;
}

static bool says_ready(const char *text) {
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "READY=1", 7) == 0 && (line[7] == 0 || line[7] == '\n'))
            return true;
    }
    return false;
}

/* Whether the process is none of those below us. A sender that has ended already cannot be placed,
 * and is believed: many start a program to say it for them. */
static bool is_outsider(int64_t pid) {
    int64_t parent;
    while (pid != getpid()) {
        if (pid == 1)
            return true;
        if (pid <= 0 || os_process_parent(&(struct os_identity){.pid = pid}, &parent) < 0)
            return false;
        pid = parent;
    }
    return false;
}

/* Who has sent it, as the kernel says; 0: it does not. */
static int64_t sender_of(struct msghdr *message) {
#ifdef SCM_CREDENTIALS
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        struct ucred sender;
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_CREDENTIALS) {
            memcpy(&sender, CMSG_DATA(part), sizeof sender);
            return sender.pid;
        }
    }
#endif
    (void)message;
    return 0;
}

/* Whether the next of the texts that came says that the server is ready: 1 or 0; -EAGAIN: none. */
static int read_text(int fd) {
    union { /* for its alignment */
        struct cmsghdr header;
        char bytes[CONTROL_BYTES + 1];
    } control;
    char text[1024];
    struct iovec place = {text, sizeof text - 1};
    struct msghdr message = {.msg_iov = &place,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = CONTROL_BYTES};
    ssize_t count;
    do
        count = recvmsg(fd, &message, MSG_DONTWAIT);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return -errno;
    text[count] = 0;
    return says_ready(text) && !is_outsider(sender_of(&message));
}

void os_ready_forget(struct os_ready *ready) {
    while (read_text(ready->fd) >= 0)
        ;
}

static void on_readable(uv_poll_t *poll, int status, int events) {
    struct os_ready *ready = poll->data;
    int said;
    (void)status;
    (void)events;
    while ((said = read_text(ready->fd)) == 0)
        ;
    if (said > 0)
        ready->fn(ready->context);
}

static void free_ready(uv_handle_t *handle) {
    struct os_ready *ready = handle->data;
    close(ready->fd);
    free(ready);
}

void os_ready_close(struct os_ready *ready) {
    if (!ready)
        return;
    posix_node_remove(ready->address.sun_path, &ready->node);
    uv_close((uv_handle_t *)&ready->poll, free_ready);
}

static int open_place(struct os_ready *ready, struct error *err) {
    const struct sockaddr_un *address = &ready->address;
    int rc = 0;
    ready->fd = posix_socket(AF_UNIX, SOCK_DGRAM);
    unlink(address->sun_path); /* in a directory that is ours alone */
    if (ready->fd < 0)
        rc = ready->fd;
    else if (bind(ready->fd, (const struct sockaddr *)address, sizeof *address) < 0)
        rc = -errno;
    else
        rc = posix_node_of(address->sun_path, &ready->node);
#ifdef SO_PASSCRED
    int on = 1;
    if (rc == 0 && setsockopt(ready->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0)
        rc = -errno;
#endif
    if (rc < 0)
        error_set(err, rc, "cannot make the notification socket %s: %s", address->sun_path,
                  os_error_text(rc).text);
    return rc;
}

int os_ready_listen(struct os_ready **out, uv_loop_t *loop, const struct os_dir *dir,
                    void (*fn)(void *context), void *context, struct error *err) {
    struct os_ready *ready = memory_zeroed(sizeof *ready);
    int rc;
    *out = NULL;
    if (!ready)
        return error_set(err, -ENOMEM, "out of memory");
    *ready = (struct os_ready){.fd = -1, .fn = fn, .context = context};
    rc = choose_place(dir, true, &ready->address, err);
    if (rc == 0)
        rc = open_place(ready, err);
    if (rc == 0 && (rc = uv_poll_init(loop, &ready->poll, ready->fd)) < 0)
        error_set(err, rc, "cannot listen on the notification socket: %s", uv_strerror(rc));
    if (rc < 0) {
        if (ready->fd >= 0)
            close(ready->fd);
        free(ready);
        return rc;
    }
    ready->poll.data = ready;
    uv_poll_start(&ready->poll, UV_READABLE, on_readable);
    *out = ready;
    return 0;
}

bool os_ready_is_there(const struct os_ready *ready) {
    return posix_node_is_there(ready->address.sun_path, &ready->node);
}

const char *os_ready_place(const struct os_ready *ready) {
    return ready->address.sun_path;
}

void os_ready_remove(const struct os_dir *dir) {
    struct sockaddr_un address;
    struct stat st;
    if (choose_place(dir, false, &address, NULL) == 0 && lstat(address.sun_path, &st) == 0 &&
        S_ISSOCK(st.st_mode))
        unlink(address.sun_path);
}

/* ---- telling ---- */

int os_ready_tell(enum os_readiness what) {
    const char *path = getenv(os_ready_variable),
               *text = what == OS_IS_READY ? "READY=1" : "STOPPING=1";
    struct sockaddr_un address;
    socklen_t length;
    int fd, rc = 0;
    if (!path || !path[0])
        return 0;
    length = fill_address(&address, path);
    fd = length ? posix_socket(AF_UNIX, SOCK_DGRAM) : -EINVAL;
    if (fd < 0)
        return fd;
    if (sendto(fd, text, strlen(text), MSG_DONTWAIT, (struct sockaddr *)&address, length) < 0)
        rc = -errno;
    close(fd);
    return rc;
}
