/* Preloaded into programs by a test: whoever asks for the date is told one twenty years ahead, then
 * one twenty years back, and so on. Clocks that only count are as they are. */
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { JUMP = 20 * 365 * 24 * 3600 };

static atomic_uint count;

static int ask(clockid_t clock, struct timespec *now) {
    int rc = (int)syscall(SYS_clock_gettime, clock, now);
    if (rc == 0 &&
        (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI))
        now->tv_sec += atomic_fetch_add(&count, 1) % 2 ? -JUMP : JUMP;
    return rc;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *now) {
    return ask(clock, now);
}

EXPORT int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec at;
    (void)zone;
    ask(CLOCK_REALTIME, &at);
    *now = (struct timeval){at.tv_sec, at.tv_nsec / 1000};
    return 0;
}

EXPORT time_t time(time_t *now) {
    struct timespec at;
    ask(CLOCK_REALTIME, &at);
    if (now)
        *now = at.tv_sec;
    return at.tv_sec;
}
