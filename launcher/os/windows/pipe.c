/* Pipes with one end to give away. The end that a loop reads is for overlapped use, which a
 * nameless pipe cannot be: it gets a name that nobody guesses, for one connection that is made at
 * once. */
#include "os/os_pipe.h"
#include "win.h"

#include <io.h>
#include <stdio.h>

enum { PIPE_BYTES = 65536 };

int os_pipe(os_handle *reading, os_handle *writing) {
    HANDLE ends[2];
    *reading = *writing = OS_NO_HANDLE;
    if (!CreatePipe(&ends[0], &ends[1], NULL, PIPE_BYTES))
        return win_error();
    *reading = (os_handle)ends[0];
    *writing = (os_handle)ends[1];
    return 0;
}

static int make_pair(HANDLE *reading, HANDLE *writing) {
    SECURITY_ATTRIBUTES attributes = {.nLength = sizeof attributes};
    wchar_t name[80];
    uint64_t random[2];
    int rc = os_random(random, sizeof random);
    if (rc == 0)
        rc = win_descriptor(WIN_PRIVATE_PIPE, &attributes.lpSecurityDescriptor);
    if (rc < 0)
        return rc;
    swprintf(name, sizeof name / sizeof name[0], L"\\\\.\\pipe\\tether-%016llx%016llx",
             (unsigned long long)random[0], (unsigned long long)random[1]);
    *reading = CreateNamedPipeW(
        name, PIPE_ACCESS_INBOUND | FILE_FLAG_OVERLAPPED | FILE_FLAG_FIRST_PIPE_INSTANCE,
        PIPE_TYPE_BYTE | PIPE_REJECT_REMOTE_CLIENTS, 1, PIPE_BYTES, PIPE_BYTES, 0, &attributes);
    rc = *reading == INVALID_HANDLE_VALUE ? win_error() : 0;
    LocalFree(attributes.lpSecurityDescriptor);
    if (rc < 0)
        return rc;
    *writing = CreateFileW(name, GENERIC_WRITE | FILE_READ_ATTRIBUTES, 0, NULL, OPEN_EXISTING,
                           SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION, NULL);
    if (*writing != INVALID_HANDLE_VALUE)
        return 0;
    rc = win_error();
    CloseHandle(*reading);
    return rc;
}

int win_pipe_open(uv_pipe_t *pipe, HANDLE handle) {
    int fd = _open_osfhandle((intptr_t)handle, 0), rc;
    if (fd < 0) {
        CloseHandle(handle);
        return UV_EMFILE;
    }
    rc = uv_pipe_open(pipe, fd);
    if (rc < 0)
        _close(fd);
    return rc;
}

int os_pipe_reader(uv_loop_t *loop, uv_pipe_t *reader, os_handle *writing) {
    HANDLE ours, theirs;
    int rc;
    uv_pipe_init(loop, reader, 0);
    *writing = OS_NO_HANDLE;
    rc = make_pair(&ours, &theirs);
    if (rc < 0)
        return rc;
    rc = win_pipe_open(reader, ours);
    if (rc < 0)
        CloseHandle(theirs);
    else
        *writing = (os_handle)theirs;
    return rc;
}

int64_t os_pipe_read_now(uv_pipe_t *reader, void *out, size_t size) {
    uv_os_fd_t handle;
    int rc = uv_fileno((uv_handle_t *)reader, &handle);
    return rc < 0 ? rc : win_read_now(handle, out, size);
}
