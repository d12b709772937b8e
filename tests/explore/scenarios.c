/* What is explored. Each scenario turns the knobs that its subject needs and keeps the others out
 * of the way, because the subjects multiply: all of them at once would have more states than
 * memory, and no further interplay between, say, crash counting and silence. Numbers are ticks. */
#include "world.h"

#include <string.h>

static const struct lifecycle_config base = {
    .grace_ms = 2,
    .stop_grace_ms = 2,
    .ready_timeout_ms = 0,
    .sweep_ms = 1,
    .idle_limit_ms = 0,
    .silence_limit_ms = 0,
    .poll_ms = 1,
    .parent_watchdog = 1,
    .parent_poll_ms = 1,
    .restart = LIFECYCLE_RESTART_ON_FAILURE,
    .hold_ms = 3,
    .kill_limit_ms = 1,
    .port_check_ms = 1,
    .backoff_first_ms = 1,
    .backoff_cap_ms = 1,
    .crash_limit = 1,
    .crash_window_ms = 1,
    .health_ms = 1,
};

#define KNOB(name, value)                                                                          \
    { true, offsetof(struct lifecycle_config, name), (value) }

#define EDITOR    LIFECYCLE_ROLE_EDITOR
#define FRONT     LIFECYCLE_ROLE_FRONT
#define ANONYMOUS LIFECYCLE_ROLE_ANONYMOUS
#define CLI       LIFECYCLE_ROLE_CLI

const struct scenario_plan scenario_plans[] = {
    {.name = "two editors",
     .armed = true,
     .roles = {EDITOR, EDITOR},
     .actors = 2,
     .requests = true,
     .misfires = true,
     .knobs = {KNOB(hold_ms, 2)}},
    {.name = "editor and front",
     .armed = true,
     .roles = {EDITOR, FRONT},
     .actors = 2,
     .requests = true,
     .misfires = true},
    {.name = "no grace",
     .armed = true,
     .roles = {EDITOR, ANONYMOUS},
     .actors = 2,
     .requests = true,
     .misfires = true,
     .knobs = {KNOB(grace_ms, 0)}},
    {.name = "cli does not count",
     .armed = true,
     .roles = {EDITOR, CLI},
     .actors = 2,
     .requests = true,
     .misfires = true},
    {.name = "no owner",
     .roles = {EDITOR, ANONYMOUS},
     .actors = 2,
     .requests = true,
     .signals = true,
     .knobs = {KNOB(idle_limit_ms, 3)}},
    {.name = "idle limit",
     .armed = true,
     .roles = {EDITOR},
     .actors = 1,
     .requests = true,
     .signals = true,
     .misfires = true,
     .knobs = {KNOB(idle_limit_ms, 5)}},
    {.name = "clients",
     .armed = true,
     .roles = {EDITOR, ANONYMOUS},
     .actors = 2,
     .requests = true,
     .misfires = true,
     .clients = true,
     .knobs = {KNOB(linger_ms, 3), KNOB(grace_ms, 1), KNOB(hold_ms, 1)}},
    {.name = "silence",
     .armed = true,
     .roles = {ANONYMOUS, EDITOR},
     .actors = 2,
     .knobs = {KNOB(sweep_ms, 2), KNOB(silence_limit_ms, 5)}},
    {.name = "crashes",
     .armed = true,
     .roles = {EDITOR},
     .actors = 1,
     .requests = true,
     .signals = true,
     .knobs = {KNOB(ready_timeout_ms, 3), KNOB(backoff_cap_ms, 3), KNOB(crash_limit, 4),
               KNOB(crash_window_ms, 7), KNOB(health_ms, 5), KNOB(kill_limit_ms, 2)}},
    {.name = "never restart",
     .armed = true,
     .roles = {EDITOR},
     .actors = 1,
     .requests = true,
     .signals = true,
     .knobs = {KNOB(restart, LIFECYCLE_RESTART_NEVER), KNOB(ready_timeout_ms, 2),
               KNOB(parent_watchdog, 0)}},
    {.name = "no stop grace",
     .armed = true,
     .roles = {EDITOR},
     .actors = 1,
     .requests = true,
     .signals = true,
     .knobs = {KNOB(stop_grace_ms, 0), KNOB(ready_timeout_ms, 2), KNOB(crash_limit, 2)}},
    {.name = "three",
     .armed = true,
     .roles = {EDITOR, EDITOR, FRONT},
     .actors = 3,
     .knobs = {KNOB(hold_ms, 2), KNOB(stop_grace_ms, 1)}},
};

const size_t scenario_count = sizeof scenario_plans / sizeof *scenario_plans;

void scenario_open(const struct scenario_plan *plan, struct scenario *sc) {
    *sc = (struct scenario){.plan = plan, .config = base};
    for (size_t i = 0; i < SCENARIO_KNOBS && plan->knobs[i].set; i++)
        memcpy((char *)&sc->config + plan->knobs[i].offset, &plan->knobs[i].value,
               sizeof plan->knobs[i].value);
}
