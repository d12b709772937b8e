/* Writing to standard output and error without waiting for who reads.
 *
 * The system has no such writing on handles that were not opened for it, and does not tell how much
 * room a pipe has: of one whose reader waits for more than that, it says that there is none. So a
 * thread writes, and what it has not taken yet is kept here, up to a limit. */
#include "os/os.h"
#include "win.h"

#include <string.h>

enum { KEPT = 65536, THREAD_BYTES = 65536, LAST_MS = 200 };

/* Zeroed memory is one without a thread: then whoever writes waits. */
struct writer {
    HANDLE thread;
    int number;

    SRWLOCK lock;
    CONDITION_VARIABLE changed; /* any of these */
    int rc;                     /* of the last write; after a failure there is none */
    bool is_writing;
    size_t used;
    char kept[KEPT];

    char taken[KEPT]; /* the thread's */
};

static struct writer writers[2];

static void write_taken(struct writer *writer) {
    size_t length = writer->used;
    int rc;
    memcpy(writer->taken, writer->kept, length);
    writer->used = 0;
    writer->is_writing = true;
    WakeAllConditionVariable(&writer->changed);
    ReleaseSRWLockExclusive(&writer->lock);
    rc = os_write(writer->number, writer->taken, length);
    AcquireSRWLockExclusive(&writer->lock);
    writer->is_writing = false;
    writer->rc = rc;
    WakeAllConditionVariable(&writer->changed);
}

static DWORD WINAPI write_all(void *context) {
    struct writer *writer = context;
    AcquireSRWLockExclusive(&writer->lock);
    while (writer->rc == 0) {
        if (writer->used > 0)
            write_taken(writer);
        else
            SleepConditionVariableSRW(&writer->changed, &writer->lock, INFINITE, 0);
    }
    ReleaseSRWLockExclusive(&writer->lock);
    return 0;
}

os_handle os_stdio_unblocked(int number) {
    struct writer *writer = &writers[number - 1];
    writer->number = number;
    if (!writer->thread)
        writer->thread = CreateThread(NULL, THREAD_BYTES, write_all, writer,
                                      STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    return number;
}

int64_t os_write_now(os_handle handle, const void *data, size_t length) {
    struct writer *writer = &writers[handle - 1];
    int64_t rc;
    if (!writer->thread) {
        rc = os_write(handle, data, length);
        return rc < 0 ? rc : (int64_t)length;
    }
    AcquireSRWLockExclusive(&writer->lock);
    rc = writer->rc;
    if (rc == 0 && writer->used == KEPT) {
        rc = UV_EAGAIN;
    } else if (rc == 0) {
        size_t room = KEPT - writer->used, count = length < room ? length : room;
        memcpy(writer->kept + writer->used, data, count);
        writer->used += count;
        rc = (int64_t)count;
        WakeAllConditionVariable(&writer->changed);
    }
    ReleaseSRWLockExclusive(&writer->lock);
    return rc;
}

/* Waits until no more than so much is kept, and with 0 until that is written. */
static bool wait_for(struct writer *writer, size_t most, int limit_ms) {
    int64_t until = os_clock_ms() + limit_ms, left = limit_ms;
    bool done;
    AcquireSRWLockExclusive(&writer->lock);
    for (;;) {
        done = !writer->thread || writer->rc < 0 ||
               (writer->used <= most && (most > 0 || !writer->is_writing));
        if (done || left <= 0)
            break;
        SleepConditionVariableSRW(&writer->changed, &writer->lock, (DWORD)left, 0);
        left = until - os_clock_ms();
    }
    ReleaseSRWLockExclusive(&writer->lock);
    return done;
}

bool os_wait_writable(os_handle handle, int limit_ms) {
    return wait_for(&writers[handle - 1], KEPT - 1, limit_ms);
}

void os_stdio_release(os_handle *handle, int number) {
    wait_for(&writers[number - 1], 0, LAST_MS);
    *handle = OS_NO_HANDLE;
}
