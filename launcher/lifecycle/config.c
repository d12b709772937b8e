/* The defaults of every setting, in one table. */
#include "lifecycle.h"

#define SECONDS *1000u
#define MINUTES *60u SECONDS
#define DAYS    *24u * 60u MINUTES

#define FIELD(field) offsetof(struct lifecycle_config, field)

const struct lifecycle_knob lifecycle_knobs[] = {
    /* name, field, default, least, most */
    {"grace-ms", FIELD(grace_ms), 500, 0, 1 DAYS},
    {"stop-grace-ms", FIELD(stop_grace_ms), 5 SECONDS, 0, 1 DAYS},
    {"ready-timeout-ms", FIELD(ready_timeout_ms), 30 SECONDS, 0, 1 DAYS},
    {"sweep-ms", FIELD(sweep_ms), 30 SECONDS, 1, 1 DAYS},
    {"idle-limit-ms", FIELD(idle_limit_ms), 0, 0, 30 DAYS},
    {"silence-limit-ms", FIELD(silence_limit_ms), 30 MINUTES, 0, 30 DAYS},
    {"poll-ms", FIELD(poll_ms), 1 SECONDS, 1, 1 MINUTES},
    {"parent-watchdog", FIELD(parent_watchdog), 1, 0, 1},
    {"parent-poll-ms", FIELD(parent_poll_ms), 2 SECONDS, 1, 1 MINUTES},
    {"restart", FIELD(restart), LIFECYCLE_RESTART_ON_FAILURE, LIFECYCLE_RESTART_ON_FAILURE,
     LIFECYCLE_RESTART_NEVER},
    {NULL, FIELD(hold_ms), 30 SECONDS, 0, 1 DAYS},
    {NULL, FIELD(kill_limit_ms), 10 SECONDS, 1, 1 DAYS},
    {NULL, FIELD(port_check_ms), 2 SECONDS, 1, 1 DAYS},
    {NULL, FIELD(backoff_first_ms), 100, 1, 1 MINUTES},
    {NULL, FIELD(backoff_cap_ms), 30 SECONDS, 1, 1 DAYS},
    {NULL, FIELD(crash_limit), 5, 1, LIFECYCLE_MAX_CRASHES},
    {NULL, FIELD(crash_window_ms), 60 SECONDS, 1, 1 DAYS},
    {NULL, FIELD(health_ms), 60 SECONDS, 1, 1 DAYS},
};

const size_t lifecycle_knob_count = sizeof lifecycle_knobs / sizeof *lifecycle_knobs;

static uint32_t *knob_field(const struct lifecycle_knob *knob, struct lifecycle_config *config) {
    return (uint32_t *)(void *)((char *)config + knob->offset);
}

void lifecycle_config_defaults(struct lifecycle_config *config) {
    for (size_t i = 0; i < lifecycle_knob_count; i++)
        *knob_field(&lifecycle_knobs[i], config) = lifecycle_knobs[i].fallback;
}

unsigned lifecycle_config_repair(struct lifecycle_config *config) {
    unsigned repaired = 0;
    for (size_t i = 0; i < lifecycle_knob_count; i++) {
        const struct lifecycle_knob *knob = &lifecycle_knobs[i];
        uint32_t *field = knob_field(knob, config);
        if (*field < knob->least || *field > knob->most) {
            *field = knob->fallback;
            repaired++;
        }
    }
    return repaired;
}
