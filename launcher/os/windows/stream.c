/* Reading and writing handles, and the standard streams. */
#include "win.h"

#include <fcntl.h>
#include <io.h>

HANDLE win_handle(os_handle handle) {
    static const DWORD numbers[] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
    return handle >= 0 && handle <= 2 ? GetStdHandle(numbers[handle]) : (HANDLE)handle;
}

/* A handle of the loop's is for overlapped use, and then has to be waited for; any other one takes
 * no notice. An event with its lowest bit set keeps the result from the loop. */
static int await(HANDLE handle, OVERLAPPED *overlapped, BOOL started, DWORD *count) {
    if (!started && GetLastError() != ERROR_IO_PENDING)
        return win_error();
    return GetOverlappedResult(handle, overlapped, count, TRUE) ? 0 : win_error();
}

static int begin(OVERLAPPED *overlapped) {
    HANDLE event = CreateEventW(NULL, TRUE, FALSE, NULL);
    *overlapped = (OVERLAPPED){.hEvent = (HANDLE)((ULONG_PTR)event | 1)};
    return event ? 0 : win_error();
}

static void finish(const OVERLAPPED *overlapped) {
    CloseHandle((HANDLE)((ULONG_PTR)overlapped->hEvent & ~(ULONG_PTR)1));
}

static int write_some(HANDLE handle, const void *data, DWORD length, DWORD *count) {
    OVERLAPPED overlapped;
    int rc;
    *count = 0;
    if (GetFileType(handle) != FILE_TYPE_PIPE)
        return WriteFile(handle, data, length, count, NULL) ? 0 : win_error();
    rc = begin(&overlapped);
    if (rc == 0) {
        rc = await(handle, &overlapped, WriteFile(handle, data, length, NULL, &overlapped), count);
        finish(&overlapped);
    }
    return rc;
}

int os_write(os_handle handle, const void *data, size_t length) {
    const char *at = data;
    while (length > 0) {
        DWORD part = length < INT32_MAX ? (DWORD)length : INT32_MAX, count = 0;
        int rc = write_some(win_handle(handle), at, part, &count);
        if (rc < 0)
            return rc;
        at += count;
        length -= count;
    }
    return 0;
}

/* What is in a pipe now; UV_EAGAIN: nothing. A pipe without a writer is at its end. */
static int64_t available(HANDLE pipe) {
    DWORD count = 0;
    if (PeekNamedPipe(pipe, NULL, 0, NULL, &count, NULL))
        return count > 0 ? (int64_t)count : UV_EAGAIN;
    return GetLastError() == ERROR_BROKEN_PIPE || GetLastError() == ERROR_PIPE_NOT_CONNECTED
               ? 0
               : win_error();
}

static int64_t read_some(HANDLE handle, void *out, DWORD size) {
    OVERLAPPED overlapped;
    DWORD count = 0;
    int rc;
    if (GetFileType(handle) != FILE_TYPE_PIPE) {
        rc = ReadFile(handle, out, size, &count, NULL) ? 0 : win_error();
    } else {
        rc = begin(&overlapped);
        if (rc < 0)
            return rc;
        rc = await(handle, &overlapped, ReadFile(handle, out, size, NULL, &overlapped), &count);
        finish(&overlapped);
    }
    return rc == 0 ? (int64_t)count : rc == UV_EOF || rc == UV_EPIPE ? 0 : rc;
}

int64_t os_read(os_handle handle, void *out, size_t size) {
    return read_some(win_handle(handle), out, size < INT32_MAX ? (DWORD)size : INT32_MAX);
}

int64_t win_read_now(HANDLE pipe, void *out, size_t size) {
    int64_t count = available(pipe);
    if (count <= 0)
        return count;
    return read_some(pipe, out, size < (size_t)count ? (DWORD)size : (DWORD)count);
}
