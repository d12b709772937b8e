/* The defaults of every setting, in one table. */
#include "lifecycle.h"

#define SECONDS *1000u
#define MINUTES *60u SECONDS
#define DAYS    *24u * 60u MINUTES

#define FIELD(field) offsetof(struct lifecycle_config, field)

const struct lifecycle_knob lifecycle_knobs[] = {
    /* name, field, default, least, most, what it is */
    {"grace-ms", FIELD(grace_ms), 500, 0, 1 DAYS, "between the two looks at a dead owner"},
    {"stop-grace-ms", FIELD(stop_grace_ms), 5 SECONDS, 0, 1 DAYS,
     "from SIGTERM until the tree is killed"},
    {"ready-timeout-ms", FIELD(ready_timeout_ms), 30 SECONDS, 0, 1 DAYS,
     "from start to ready; 0: wait for ever"},
    {"sweep-ms", FIELD(sweep_ms), 30 SECONDS, 1, 1 DAYS,
     "between looks for dead peers that no event told of"},
    {"idle-limit-ms", FIELD(idle_limit_ms), 0, 0, 30 DAYS,
     "without a session for so long: stop; 0: never"},
    {"linger-ms", FIELD(linger_ms), 0, 0, 30 DAYS,
     "for clients with a stream, when all editors are gone; 0: not at all"},
    {"silence-limit-ms", FIELD(silence_limit_ms), 30 MINUTES, 0, 30 DAYS,
     "a session silent for so long does not count; 0: it always does"},
    {"poll-ms", FIELD(poll_ms), 1 SECONDS, 1, 1 MINUTES,
     "between looks at a process where the system has no event"},
    {"parent-watchdog", FIELD(parent_watchdog), 1, 0, 1, NULL},
    {"parent-poll-ms", FIELD(parent_poll_ms), 2 SECONDS, 1, 1 MINUTES,
     "the same for the program that started `tether run`"},
    {"restart", FIELD(restart), LIFECYCLE_RESTART_ON_FAILURE, LIFECYCLE_RESTART_ON_FAILURE,
     LIFECYCLE_RESTART_NEVER, NULL},
    {NULL, FIELD(hold_ms), 30 SECONDS, 0, 1 DAYS, NULL},
    {NULL, FIELD(kill_limit_ms), 10 SECONDS, 1, 1 DAYS, NULL},
    {NULL, FIELD(port_check_ms), 2 SECONDS, 1, 1 DAYS, NULL},
    {NULL, FIELD(backoff_first_ms), 100, 1, 1 MINUTES, NULL},
    {NULL, FIELD(backoff_cap_ms), 30 SECONDS, 1, 1 DAYS, NULL},
    {NULL, FIELD(crash_limit), 5, 1, CRASHES_MOST, NULL},
    {NULL, FIELD(crash_window_ms), 60 SECONDS, 1, 1 DAYS, NULL},
    {NULL, FIELD(health_ms), 60 SECONDS, 1, 1 DAYS, NULL},
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
