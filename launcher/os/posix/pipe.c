#include "os/os_pipe.h"

int os_pipe(os_handle *reading, os_handle *writing) {
    uv_file ends[2];
    int rc = uv_pipe(ends, 0, 0);
    *reading = rc < 0 ? OS_NO_HANDLE : ends[0];
    *writing = rc < 0 ? OS_NO_HANDLE : ends[1];
    return rc;
}

int os_pipe_reader(uv_loop_t *loop, uv_pipe_t *reader, os_handle *writing) {
    os_handle reading;
    int rc;
    uv_pipe_init(loop, reader, 0);
    rc = os_pipe(&reading, writing);
    if (rc < 0)
        return rc;
    rc = uv_pipe_open(reader, (uv_file)reading); /* which makes this end non-blocking */
    if (rc < 0) {
        os_handle_close(&reading);
        os_handle_close(writing);
    }
    return rc;
}

int64_t os_pipe_read_now(uv_pipe_t *reader, void *out, size_t size) {
    uv_os_fd_t handle;
    int rc = uv_fileno((uv_handle_t *)reader, &handle);
    return rc < 0 ? rc : os_read((os_handle)handle, out, size);
}
