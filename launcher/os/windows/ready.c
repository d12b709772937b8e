/* Being told that a server is ready: an event with a name that nobody guesses, for our user alone.
 * The server is one of ours; others have no such habit here. */
#include "os/os_loop.h"
#include "win.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"

const char os_ready_variable[] = "TETHER_READY_EVENT";

struct os_ready {
    uv_async_t said;
    HANDLE event, wait;
    volatile LONG count; /* how often somebody said so */
    LONG told;           /* how much of it is known, or forgotten */
    char name[64];
    void (*fn)(void *context);
    void *context;
};

/* On a thread of the system's. The event has reset itself. */
static void CALLBACK on_signalled(void *context, BOOLEAN timed_out) {
    struct os_ready *ready = context;
    (void)timed_out;
    InterlockedIncrement(&ready->count);
    uv_async_send(&ready->said);
}

static void on_said(uv_async_t *async) {
    struct os_ready *ready = async->data;
    LONG count = InterlockedCompareExchange(&ready->count, 0, 0);
    if (count == ready->told)
        return;
    ready->told = count;
    ready->fn(ready->context);
}

static int start_wait(struct os_ready *ready) {
    return RegisterWaitForSingleObject(&ready->wait, ready->event, on_signalled, ready, INFINITE,
                                       WT_EXECUTEINWAITTHREAD)
               ? 0
               : win_error();
}

static int make_event(struct os_ready *ready) {
    SECURITY_ATTRIBUTES attributes = {.nLength = sizeof attributes};
    uint64_t random[2];
    int rc = os_random(random, sizeof random);
    if (rc == 0)
        rc = win_descriptor(WIN_PRIVATE_PIPE, &attributes.lpSecurityDescriptor);
    if (rc < 0)
        return rc;
    snprintf(ready->name, sizeof ready->name, "Local\\tether-%016" PRIx64 "%016" PRIx64, random[0],
             random[1]);
    ready->event = CreateEventA(&attributes, FALSE, FALSE, ready->name);
    rc = ready->event ? 0 : win_error();
    LocalFree(attributes.lpSecurityDescriptor);
    return rc;
}

int os_ready_listen(struct os_ready **out, uv_loop_t *loop, const struct os_dir *dir,
                    void (*fn)(void *context), void *context, struct error *err) {
    struct os_ready *ready = memory_zeroed(sizeof *ready);
    int rc = ready ? uv_async_init(loop, &ready->said, on_said) : UV_ENOMEM;
    (void)dir;
    *out = NULL;
    if (rc < 0) {
        free(ready);
        return error_set(err, rc, "cannot wait for a server to be ready: %s", uv_strerror(rc));
    }
    ready->said.data = ready;
    ready->fn = fn;
    ready->context = context;
    rc = make_event(ready);
    if (rc == 0)
        rc = start_wait(ready);
    if (rc < 0) {
        os_ready_close(ready);
        return error_set(err, rc, "cannot wait for a server to be ready: %s", uv_strerror(rc));
    }
    *out = ready;
    return 0;
}

const char *os_ready_place(const struct os_ready *ready) {
    return ready->name;
}

bool os_ready_is_there(const struct os_ready *ready) {
    return ready->event != NULL;
}

/* What was said is what is not forgotten: the thread counts, and the loop compares. */
void os_ready_forget(struct os_ready *ready) {
    ResetEvent(ready->event);
    ready->told = InterlockedCompareExchange(&ready->count, 0, 0);
}

static void free_ready(uv_handle_t *handle) {
    struct os_ready *ready = handle->data;
    if (ready->event)
        CloseHandle(ready->event);
    free(ready);
}

void os_ready_close(struct os_ready *ready) {
    if (!ready)
        return;
    if (ready->wait)
        UnregisterWaitEx(ready->wait, INVALID_HANDLE_VALUE);
    uv_close((uv_handle_t *)&ready->said, free_ready);
}

int os_ready_tell(enum os_readiness what) {
    const char *name = os_variable(os_ready_variable);
    HANDLE event;
    int rc = 0;
    if (!name || what != OS_IS_READY)
        return 0;
    event = OpenEventA(EVENT_MODIFY_STATE, FALSE, name);
    if (!event)
        return win_error();
    if (!SetEvent(event))
        rc = win_error();
    CloseHandle(event);
    return rc;
}

/* The system removes an event with the last who has it. */
void os_ready_remove(const struct os_dir *dir) {
    (void)dir;
}
