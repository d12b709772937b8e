/* What the extension asks of Windows so far: it loads, and says plainly that it starts no servers
 * here yet. */
#define _CRT_RAND_S /* for rand_s, which is the system's own source of randomness */

#include "os/os_pipe.h"
#include "os/os_spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include <uv.h>

void os_handle_close(os_handle *handle) {
    if (*handle != OS_NO_HANDLE)
        CloseHandle((HANDLE)*handle);
    *handle = OS_NO_HANDLE;
}

int os_identity_self(struct os_identity *identity) {
    FILETIME created, exited, kernel, user;
    if (!GetProcessTimes(GetCurrentProcess(), &created, &exited, &kernel, &user))
        return UV_EACCES;
    identity->pid = GetCurrentProcessId();
    identity->start = (uint64_t)created.dwHighDateTime << 32 | created.dwLowDateTime;
    return 0;
}

int os_process_command(const struct os_identity *identity, char *out, size_t size) {
    if (identity->pid != GetCurrentProcessId())
        return UV_ENOSYS;
    snprintf(out, size, "%s", GetCommandLineA());
    return 0;
}

uint32_t os_user_self(void) {
    return 0;
}

int os_tcp_server_user(os_handle connection, uint32_t *user) {
    (void)connection;
    (void)user;
    return UV_ENOSYS;
}

int64_t os_clock_ms(void) {
    ULONGLONG ticks = 0; /* of 100 ns, without those spent asleep */
    QueryUnbiasedInterruptTime(&ticks);
    return (int64_t)(ticks / 10000);
}

struct os_error_text os_error_text(int code) {
    struct os_error_text text;
    snprintf(text.text, sizeof text.text, "%s",
             code == UV_ENOSYS ? "Tether starts no servers on Windows yet" : strerror(abs(code)));
    return text;
}

int os_random(void *out, size_t size) {
    unsigned char *at = out;
    while (size > 0) {
        unsigned int word;
        size_t part = size < sizeof word ? size : sizeof word;
        if (rand_s(&word) != 0)
            return UV_EIO;
        memcpy(at, &word, part);
        at += part;
        size -= part;
    }
    return 0;
}

char *const *os_environment(void) {
    return _environ;
}

void os_thread_block_signals(void) {
}

int os_pipe_reader(uv_loop_t *loop, uv_pipe_t *reader, os_handle *writing) {
    uv_pipe_init(loop, reader, 0);
    *writing = OS_NO_HANDLE;
    return UV_ENOSYS;
}

int os_spawn(struct os_child *child, const struct os_spawn_spec *spec) {
    (void)spec;
    *child = (struct os_child){0, OS_NO_HANDLE};
    return UV_ENOSYS;
}

void os_child_finish(struct os_child *child, bool kill_first) {
    (void)kill_first;
    os_handle_close(&child->handle);
}
