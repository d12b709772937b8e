/* Output that nobody reads any more. The system has no event for that, but tells whether the other
 * end of a pipe is closed. */
#include "os/os_loop.h"
#include "win.h"

#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <winternl.h>

#include "memory.h"

enum { FILE_PIPE_LOCAL_INFORMATION_CLASS = 24, PIPE_CONNECTED = 3, LOOK_MS = 250 };

/* FILE_PIPE_LOCAL_INFORMATION, which mingw's headers lack. */
struct pipe_information {
    ULONG type, configuration, maximum_instances, current_instances, inbound_quota, read_available,
        outbound_quota, write_available, state, end;
};

static bool ask_pipe(HANDLE handle, struct pipe_information *information) {
    IO_STATUS_BLOCK status;
    return GetFileType(handle) == FILE_TYPE_PIPE &&
           NtQueryInformationFile(handle, &status, information, sizeof *information,
                                  (FILE_INFORMATION_CLASS)FILE_PIPE_LOCAL_INFORMATION_CLASS) == 0;
}

bool os_reader_gone(os_handle output) {
    struct pipe_information information;
    return ask_pipe(win_handle(output), &information) && information.state != PIPE_CONNECTED;
}

/* ---- watching for the reader's end ---- */

struct os_reader {
    uv_timer_t timer;
    os_handle output;
    void (*fn)(void *context);
    void *context;
};

static void on_timer(uv_timer_t *timer) {
    struct os_reader *reader = timer->data;
    if (!os_reader_gone(reader->output))
        return;
    uv_timer_stop(timer);
    reader->fn(reader->context);
}

int os_reader_watch(struct os_reader **out, uv_loop_t *loop, os_handle output,
                    void (*fn)(void *context), void *context) {
    struct os_reader *reader = memory_zeroed(sizeof *reader);
    *out = NULL;
    if (!reader)
        return UV_ENOMEM;
    *reader = (struct os_reader){.output = output, .fn = fn, .context = context};
    uv_timer_init(loop, &reader->timer);
    reader->timer.data = reader;
    if (GetFileType(win_handle(output)) == FILE_TYPE_PIPE)
        uv_timer_start(&reader->timer, on_timer, LOOK_MS, LOOK_MS);
    *out = reader;
    return 0;
}

static void free_reader(uv_handle_t *handle) {
    free(handle->data);
}

void os_reader_forget(struct os_reader *reader) {
    if (reader)
        uv_close((uv_handle_t *)&reader->timer, free_reader);
}

/* ---- the standard streams ---- */

/* As bytes, on every system the same: no line gets another end on its way. */
int os_stdio_ensure(void) {
    for (int fd = 0; fd <= 2; fd++) {
        if (_get_osfhandle(fd) < 0 && _open("NUL", _O_RDWR) < 0)
            return uv_translate_sys_error(ERROR_TOO_MANY_OPEN_FILES);
        _setmode(fd, _O_BINARY);
    }
    return 0;
}

/* The descriptor becomes these streams, both what the system and what the C library think they are,
 * and is closed. */
static int become(int fd, int first, int last) {
    static const DWORD names[] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
    int rc = 0;
    for (int number = first; number <= last && rc == 0; number++) {
        rc = _dup2(fd, number) == 0 ? 0 : UV_EBADF;
        if (rc == 0 && !SetStdHandle(names[number], (HANDLE)_get_osfhandle(number)))
            rc = win_error();
    }
    _close(fd);
    return rc;
}

int os_stdio_redirect(os_handle handle) {
    HANDLE self = GetCurrentProcess(), copy;
    int fd;
    if (!DuplicateHandle(self, (HANDLE)handle, self, &copy, 0, FALSE, DUPLICATE_SAME_ACCESS))
        return win_error();
    fd = _open_osfhandle((intptr_t)copy, _O_APPEND | _O_BINARY);
    if (fd < 0) {
        CloseHandle(copy);
        return UV_EMFILE;
    }
    return become(fd, 1, 2);
}

int os_stdio_let_go(void) {
    int nothing = _open("NUL", _O_RDWR | _O_BINARY);
    return nothing < 0 ? UV_EMFILE : become(nothing, 0, 1);
}
