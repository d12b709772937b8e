/* The control endpoint: a Unix socket in a directory that is ours alone. The name is not bound by
 * libuv, which at the end would remove whatever has it then. */
#include "os/os_loop.h"
#include "posix.h"

#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "memory.h"

const bool os_control_is_file = true;

struct os_control {
    uv_pipe_t pipe;
    os_control_fn fn;
    void *context;
    char name[OS_ENDPOINT_MAX];
    struct posix_node node;
};

static void on_connection(uv_stream_t *stream, int status) {
    struct os_control *control = stream->data;
    if (status == 0)
        control->fn(control->context);
}

/* Binds the name to a socket that becomes the loop's, and with that is closed by it. */
static int bind_name(struct os_control *control) {
    int fd = posix_local_socket(control->name, POSIX_BIND), rc;
    if (fd < 0)
        return fd;
    rc = posix_node_of(control->name, &control->node);
    if (rc == 0)
        rc = uv_pipe_open(&control->pipe, fd);
    if (rc < 0)
        close(fd);
    return rc;
}

int os_control_listen(struct os_control **out, uv_loop_t *loop, const struct os_dir *instance,
                      int backlog, os_control_fn fn, void *context, struct error *err) {
    struct os_control *control = memory_zeroed(sizeof *control);
    int rc;
    *out = NULL;
    if (!control)
        return error_set(err, UV_ENOMEM, "out of memory");
    control->fn = fn;
    control->context = context;
    uv_pipe_init(loop, &control->pipe, 0);
    control->pipe.data = control;
    rc = os_control_name(instance, true, control->name, err);
    if (rc == 0)
        rc = os_control_remove(instance, err);
    if (rc == 0 && ((rc = bind_name(control)) < 0 ||
                    (rc = uv_listen((uv_stream_t *)&control->pipe, backlog, on_connection)) < 0))
        error_set(err, rc, "cannot listen on %s: %s", control->name, uv_strerror(rc));
    if (rc < 0)
        os_control_close(control);
    else
        *out = control;
    return rc;
}

int os_control_accept(struct os_control *control, uv_pipe_t *connection) {
    return uv_accept((uv_stream_t *)&control->pipe, (uv_stream_t *)connection);
}

void os_control_close(struct os_control *control) {
    if (!control)
        return;
    posix_node_remove(control->name, &control->node);
    uv_close((uv_handle_t *)&control->pipe, memory_free_data);
}

bool os_control_is_there(const struct os_control *control) {
    return posix_node_is_there(control->name, &control->node);
}

int os_control_connect(uv_pipe_t *pipe, const char *name) {
    int fd = posix_local_socket(name, POSIX_CONNECT), rc;
    if (fd < 0)
        return fd;
    rc = uv_pipe_open(pipe, fd);
    if (rc < 0)
        close(fd);
    return rc;
}

int os_control_peer(const uv_pipe_t *connection, struct os_peer *peer) {
    uv_os_fd_t handle;
    int rc = uv_fileno((const uv_handle_t *)connection, &handle);
    *peer = (struct os_peer){.process.handle = OS_NO_HANDLE};
    return rc < 0 ? rc : os_peer_of(handle, peer);
}
