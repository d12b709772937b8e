#include "frame_pace.h"

#include <uv.h>

#include "engine/variant.h"
#include "session/bell.h"

enum {
    ENGINE_US = 997,      /* what the engine sleeps while we wait; a number that nobody else sets */
    UNFOCUSED_US = 20000, /* an editor that sleeps longer is not focused */
    CALLED_US = 10000,    /* the longest wait in the second after a call … */
    HURRY_US = 3000,      /* … and while a tool waits for frames */
    CALLED_FOR_NS = 1000000000,
};

/* Of the main thread alone. The engine's callbacks carry no context, and there is one main loop. */
static struct {
    int64_t wanted_us; /* what the engine would sleep; 0: it does so itself */
    bool hurries;
    uint64_t called_until, waited_until;
} pace;

void frame_pace_call(void) {
    pace.called_until = uv_hrtime() + CALLED_FOR_NS;
}

void frame_pace_hurry(void) {
    pace.hurries = true;
}

/* ---- the engine's sleep ---- */

static int64_t engine_sleep(void) {
    struct engine_variant result;
    int64_t sleep;
    singleton_call("OS", "get_low_processor_usage_mode_sleep_usec", NULL, 0, &result);
    sleep = variant_int(&result);
    variant_finish(&result);
    return sleep;
}

static void set_engine_sleep(int64_t microseconds) {
    struct engine_variant argument;
    variant_init_int(&argument, microseconds);
    singleton_call("OS", "set_low_processor_usage_mode_sleep_usec", &argument, 1, NULL);
    variant_finish(&argument);
}

void frame_pace_release(void) {
    if (pace.wanted_us > 0 && engine_sleep() == ENGINE_US)
        set_engine_sleep(pace.wanted_us);
    pace.wanted_us = 0;
}

/* The engine sets its own value when the focus changes; then that is the one that counts. A focused
 * editor sleeps by itself, but for the moments in which it is called. */
static bool takes_over(bool is_called) {
    int64_t sleep = engine_sleep();
    if (sleep != ENGINE_US)
        pace.wanted_us = sleep > UNFOCUSED_US || (is_called && sleep > ENGINE_US) ? sleep : 0;
    if (pace.wanted_us == 0)
        return false;
    if (pace.wanted_us <= UNFOCUSED_US && !is_called) {
        frame_pace_release();
        return false;
    }
    if (sleep != ENGINE_US)
        set_engine_sleep(ENGINE_US);
    return true;
}

void frame_pace_wait(bool may_be_called) {
    uint64_t now = uv_hrtime();
    bool is_called = pace.hurries || now < pace.called_until;
    int64_t wait = pace.hurries ? HURRY_US : is_called ? CALLED_US : INT64_MAX;
    pace.hurries = false;
    if (!may_be_called) {
        frame_pace_release();
        return;
    }
    /* An editor that is to draw all the time does not sleep. */
    if (!takes_over(is_called) || !singleton_says("OS", "is_in_low_processor_usage_mode"))
        return;
    if (wait > pace.wanted_us)
        wait = pace.wanted_us;
    bell_wait(pace.waited_until + (uint64_t)wait * 1000);
    pace.waited_until = uv_hrtime();
}
