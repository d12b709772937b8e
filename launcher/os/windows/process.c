/* Holding on to a process: a handle for waiting and asking, through which nothing can be done to
 * it. */
#include "win.h"

int os_process_open(struct os_process *process, const struct os_identity *identity) {
    HANDLE handle = NULL;
    process->identity = *identity;
    process->handle = OS_NO_HANDLE;
    int rc = win_process_open(&process->identity, WIN_ASK, &handle);
    if (rc == 0 && win_has_ended(handle)) {
        CloseHandle(handle);
        rc = UV_ESRCH;
    }
    if (rc == 0)
        process->handle = (os_handle)handle;
    return rc;
}

int os_process_wait(const struct os_process *process, int timeout_ms) {
    if (process->handle == OS_NO_HANDLE)
        return UV_EINVAL;
    switch (WaitForSingleObject((HANDLE)process->handle,
                                timeout_ms < 0 ? INFINITE : (DWORD)timeout_ms)) {
    case WAIT_OBJECT_0:
        return 0;
    case WAIT_TIMEOUT:
        return UV_ETIMEDOUT;
    default:
        return win_error();
    }
}

void os_process_close(struct os_process *process) {
    os_handle_close(&process->handle);
}

void os_handle_close(os_handle *handle) {
    DWORD saved = GetLastError();
    if (*handle != OS_NO_HANDLE)
        CloseHandle((HANDLE)*handle);
    *handle = OS_NO_HANDLE;
    SetLastError(saved);
}

void os_thread_block_signals(void) {
}

/* There are no forks. */
void os_keep_from_forks(void *memory, size_t size) {
    (void)memory;
    (void)size;
}

/* What is called a session here is all of a user's desktop. */
int os_process_session(const struct os_identity *identity, int64_t *session) {
    (void)identity;
    (void)session;
    return UV_ENOSYS;
}
