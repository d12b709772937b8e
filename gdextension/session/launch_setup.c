#include "launch_setup.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

void launch_setup_finish(struct launch_setup *setup) {
    free(setup->program);
    free(setup->project);
    free(setup->path);
    free(setup->godot);
    text_list_finish(&setup->words);
    text_list_finish(&setup->environment);
    text_list_finish(&setup->additions);
    text_list_finish(&setup->aliases);
    *setup = (struct launch_setup){0};
}

static bool is_same_text(const char *a, const char *b) {
    return a && b && strcmp(a, b) == 0;
}

static bool is_same_list(const struct text_list *a, const struct text_list *b) {
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = is_same_text(a->items[i], b->items[i]);
    return same;
}

static bool is_same(const struct launch_setup *a, const struct launch_setup *b) {
    return is_same_text(a->program, b->program) && is_same_list(&a->words, &b->words) &&
           is_same_list(&a->additions, &b->additions) && a->is_unowned == b->is_unowned;
}

void launch_plan_change(struct launch_plan *plan, struct launch_setup *setup) {
    struct launch_setup *outdated = plan->is_launched ? &plan->last : &plan->next;
    launch_setup_finish(outdated);
    if (plan->is_launched)
        plan->last = plan->next;
    plan->next = *setup;
    *setup = (struct launch_setup){0};
    plan->is_launched = is_same(&plan->next, &plan->last);
}

bool launch_plan_keeps_ports(const struct launch_plan *plan) {
    return plan->next.http_port == plan->last.http_port && plan->next.ws_port == plan->last.ws_port;
}

void launch_plan_finish(struct launch_plan *plan) {
    launch_setup_finish(&plan->next);
    launch_setup_finish(&plan->last);
}

/* Sets the owner, or with NULL unsets it, also one that the editor inherited itself. */
static void set_owner(struct launch_setup *setup, const char *pid, const char *start) {
    environment_set(&setup->environment, "TETHER_OWNER_PID", pid);
    environment_set(&setup->environment, "TETHER_OWNER_START", start);
    for (size_t i = 0; i < setup->aliases.count; i++)
        environment_set(&setup->environment, setup->aliases.items[i], pid);
}

int launch_setup_run(struct launch_run **run, uv_loop_t *loop, struct launch_setup *setup,
                     launch_listening_fn listening, launch_done_fn done, void *context) {
    struct os_identity self;
    char pid[OS_NUMBER_MAX], start[OS_NUMBER_MAX];
    struct os_spawn_spec spec = {.path = setup->program};
    int rc = os_identity_self(&self);
    if (rc < 0)
        return rc;
    os_pid_format(pid, self.pid);
    os_start_format(start, self.start);
    set_owner(setup, setup->is_unowned ? NULL : pid, setup->is_unowned ? NULL : start);
    environment_set(&setup->environment, "TETHER_ANNOUNCE", "1");
    spec.words = setup->words.items;
    spec.environment = setup->environment.items;
    rc = setup->environment.failed || setup->words.failed
             ? UV_ENOMEM
             : launch_run_start(run, loop, &spec, listening, done, context);
    set_owner(setup, NULL, NULL);
    return rc;
}
