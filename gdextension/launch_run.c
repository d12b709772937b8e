#include "launch_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "protocol/lines.h"
#include "protocol/message.h"

struct launch_run {
    uv_pipe_t pipe;
    struct os_child child;
    launch_done_fn done;
    void *context;
    size_t used;
    char output[LINES_MAX];
};

void launch_setup_finish(struct launch_setup *setup) {
    free(setup->program);
    free(setup->project);
    free(setup->path);
    free(setup->godot);
    text_list_finish(&setup->words);
    text_list_finish(&setup->environment);
    text_list_finish(&setup->aliases);
    *setup = (struct launch_setup){0};
}

/* Sets the owner, or with NULL unsets it, also one that the editor inherited itself. */
static void set_owner(struct launch_setup *setup, const char *pid, const char *start) {
    environment_set(&setup->environment, "TETHER_OWNER_PID", pid);
    environment_set(&setup->environment, "TETHER_OWNER_START", start);
    for (size_t i = 0; i < setup->aliases.count; i++)
        environment_set(&setup->environment, setup->aliases.items[i], pid);
}

static int spawn_with_owner(struct os_child *child, struct launch_setup *setup) {
    struct os_identity self;
    char pid[OS_NUMBER_MAX], start[OS_NUMBER_MAX];
    int rc = os_identity_self(&self);
    if (rc < 0)
        return rc;
    os_pid_format(pid, self.pid);
    os_start_format(start, self.start);
    set_owner(setup, setup->is_unowned ? NULL : pid, setup->is_unowned ? NULL : start);
    rc = setup->environment.failed || setup->words.failed
             ? -ENOMEM
             : os_child_start(child, setup->program, setup->words.items, setup->environment.items);
    set_owner(setup, NULL, NULL);
    return rc;
}

static void on_closed(uv_handle_t *handle) {
    free(handle->data);
}

static void finish(struct launch_run *run) {
    json_t *result = NULL;
    char *line;
    /* It has closed its output, so it has nothing left to do; one that is not launch might go on.
     */
    os_child_finish(&run->child, true);
    while (run->used > 0 && run->output[run->used - 1] == '\n')
        run->used--;
    run->output[run->used] = 0;
    line = strrchr(run->output, '\n');
    line = line ? line + 1 : run->output;
    result = message_parse(line, strlen(line), NULL);
    run->done(run->context, result,
              run->used ? "tether launch printed something that is no result"
                        : "tether launch ended without a word; run it in a terminal to see why");
    json_decref(result);
    uv_close((uv_handle_t *)&run->pipe, on_closed);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct launch_run *run = handle->data;
    (void)suggested;
    *buf = uv_buf_init(run->output + run->used, (unsigned)(sizeof run->output - 1 - run->used));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    struct launch_run *run = stream->data;
    (void)buf;
    if (count > 0)
        run->used += (size_t)count;
    else if (count < 0) /* its end, or more than any result has */
        finish(run);
}

int launch_run_start(struct launch_run **out, uv_loop_t *loop, struct launch_setup *setup,
                     launch_done_fn done, void *context) {
    struct launch_run *run = calloc(1, sizeof *run);
    int rc = run ? 0 : -ENOMEM;
    if (rc == 0)
        rc = spawn_with_owner(&run->child, setup);
    if (rc < 0) {
        free(run);
        return rc;
    }
    run->done = done;
    run->context = context;
    run->pipe.data = run;
    uv_pipe_init(loop, &run->pipe, 0);
    rc = uv_pipe_open(&run->pipe, (uv_file)run->child.output);
    if (rc == 0) {
        run->child.output = OS_NO_HANDLE; /* the pipe's now */
        rc = uv_read_start((uv_stream_t *)&run->pipe, on_alloc, on_read);
    }
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
