#include "launch_run.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "os/os_pipe.h"
#include "os/os_spawn.h"
#include "protocol/lines.h"
#include "protocol/message.h"

struct launch_run {
    uv_pipe_t pipe;
    struct os_child child;
    launch_listening_fn listening;
    launch_done_fn done;
    void *context;
    struct lines lines;
    json_t *result; /* its last line, if that is one */
    bool spoke;
    char buffer[4096];
};

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

static int spawn_with_owner(struct os_child *child, struct launch_setup *setup, os_handle output) {
    struct os_identity self;
    char pid[OS_NUMBER_MAX], start[OS_NUMBER_MAX];
    struct os_spawn_spec spec = {.path = setup->program, .output = output};
    int rc = os_identity_self(&self);
    if (rc < 0)
        return rc;
    os_pid_format(pid, self.pid);
    os_start_format(start, self.start);
    set_owner(setup, setup->is_unowned ? NULL : pid, setup->is_unowned ? NULL : start);
    environment_set(&setup->environment, "TETHER_ANNOUNCE", "1");
    spec.words = setup->words.items;
    spec.environment = setup->environment.items;
    rc = setup->environment.failed || setup->words.failed ? UV_ENOMEM : os_spawn(child, &spec);
    set_owner(setup, NULL, NULL);
    return rc;
}

static void on_closed(uv_handle_t *handle) {
    struct launch_run *run = handle->data;
    lines_finish(&run->lines);
    json_decref(run->result);
    free(run);
}

static bool on_line(const char *line, size_t length, void *context) {
    struct launch_run *run = context;
    json_t *message = message_parse(line, length, NULL);
    const char *listening = message_text(message, "listening");
    if (listening[0]) {
        run->listening(run->context, listening);
        json_decref(message);
    } else {
        json_decref(run->result);
        run->result = message;
        run->spoke = true;
    }
    return true;
}

static void finish(struct launch_run *run) {
    /* It has closed its output, so it has nothing left to do; one that is not launch might go on.
     */
    os_child_finish(&run->child, true);
    if (run->lines.length > 0)
        on_line(run->lines.data, run->lines.length, run);
    run->done(run->context, run->result,
              run->spoke ? "tether launch printed something that is no result"
                         : "tether launch ended without a word; run it in a terminal to see why");
    uv_close((uv_handle_t *)&run->pipe, on_closed);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct launch_run *run = handle->data;
    (void)suggested;
    *buf = uv_buf_init(run->buffer, sizeof run->buffer);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    struct launch_run *run = stream->data;
    int rc = 0;
    if (count > 0)
        rc = lines_feed(&run->lines, buf->base, (size_t)count, on_line, run);
    if (count < 0 || rc < 0) { /* its end, or more than any result has */
        uv_read_stop(stream);
        finish(run);
    }
}

int launch_run_start(struct launch_run **out, uv_loop_t *loop, struct launch_setup *setup,
                     launch_listening_fn listening, launch_done_fn done, void *context) {
    struct launch_run *run = calloc(1, sizeof *run);
    os_handle output;
    int rc;
    if (!run)
        return UV_ENOMEM;
    run->listening = listening;
    run->done = done;
    run->context = context;
    run->pipe.data = run;
    rc = os_pipe_reader(loop, &run->pipe, &output);
    if (rc == 0)
        rc = spawn_with_owner(&run->child, setup, output);
    os_handle_close(&output);
    if (rc == 0)
        rc = uv_read_start((uv_stream_t *)&run->pipe, on_alloc, on_read);
    if (rc < 0)
        launch_run_abort(run);
    else
        *out = run;
    return rc;
}

void launch_run_abort(struct launch_run *run) {
    os_child_finish(&run->child, true);
    uv_close((uv_handle_t *)&run->pipe, on_closed);
}
