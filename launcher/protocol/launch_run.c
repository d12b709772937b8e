#include "launch_run.h"

#include <stdlib.h>

#include "lines.h"
#include "memory.h"
#include "message.h"
#include "os/os_loop.h"
#include "os/os_pipe.h"

enum { LOOK_MS = 500 }; /* where the system does not tell of an end */

struct launch_run {
    struct line_stream output;
    struct os_child child;
    struct os_watch *watch; /* NULL: it is not watched, and its output alone tells of its end */
    uv_timer_t ended;       /* for the one that has ended before it was watched */
    int open_handles;
    launch_listening_fn listening;
    launch_done_fn done;
    void *context;
    json_t *result; /* its last line, if that is one */
    bool spoke;
    char buffer[4096];
};

static bool on_line(const char *line, size_t length, void *context) {
    struct launch_run *run = context;
    json_t *message = message_parse(line, length, NULL);
    const char *listening = message_text(message, "listening");
    if (!listening[0]) {
        json_decref(run->result);
        run->result = message;
        run->spoke = true;
        return true;
    }
    if (run->listening)
        run->listening(run->context, listening);
    json_decref(message);
    return true;
}

static void on_closed(uv_handle_t *handle) {
    struct launch_run *run = handle->data;
    if (--run->open_handles > 0)
        return;
    buffer_finish(&run->output.lines);
    json_decref(run->result);
    free(run);
}

void launch_run_abort(struct launch_run *run) {
    if (!run)
        return;
    os_watch_destroy(run->watch);
    os_child_finish(&run->child, true);
    uv_close((uv_handle_t *)&run->output.pipe, on_closed);
    uv_close((uv_handle_t *)&run->ended, on_closed);
}

/* It has closed its output, or said more than any result has, so it has nothing left to do; one
 * that is not launch might go on. */
static void on_end(void *context, int why) {
    struct launch_run *run = context;
    (void)why;
    if (run->output.lines.length > 0)
        on_line(run->output.lines.data, run->output.lines.length, run);
    launch_run_abort(run);
    run->done(run->context, run->result,
              run->spoke ? "tether launch printed something that is no result"
                         : "tether launch ended without a word; run it in a terminal to see why");
}

/* Its output may stay open nevertheless: another thread of this process that starts a program in
 * the same moment may let that inherit it. All that launch has said is there by now. */
static void end_by_exit(struct launch_run *run) {
    int64_t count;
    int rc = 0;
    while (rc == 0 &&
           (count = os_pipe_read_now(&run->output.pipe, run->buffer, sizeof run->buffer)) > 0)
        rc = lines_feed(&run->output.lines, run->buffer, (size_t)count, on_line, run);
    on_end(run, rc);
}

static void on_process_end(void *context, const struct os_identity *identity) {
    (void)identity;
    end_by_exit(context);
}

static void on_timer(uv_timer_t *timer) {
    end_by_exit(timer->data);
}

static void watch_end(struct launch_run *run, uv_loop_t *loop) {
    struct os_identity identity;
    int rc = os_identity_of(run->child.pid, &identity);
    if (rc == 0)
        rc = os_watch_create(&run->watch, loop, &identity, LOOK_MS, on_process_end, run);
    if (rc == UV_ESRCH)
        uv_timer_start(&run->ended, on_timer, 0, 0);
}

int launch_run_start(struct launch_run **out, uv_loop_t *loop, const struct os_spawn_spec *spec,
                     launch_listening_fn listening, launch_done_fn done, void *context) {
    struct launch_run *run = memory_zeroed(sizeof *run);
    struct os_spawn_spec with_output = *spec;
    int rc;
    if (!run)
        return UV_ENOMEM;
    run->listening = listening;
    run->done = done;
    run->context = context;
    with_output.output = OS_NO_HANDLE;
    rc = os_pipe_reader(loop, &run->output.pipe, &with_output.output);
    uv_timer_init(loop, &run->ended);
    run->output.pipe.data = run->ended.data = run;
    run->open_handles = 2;
    if (rc == 0)
        rc = os_spawn(&run->child, &with_output);
    os_handle_close(&with_output.output);
    if (rc == 0)
        rc = line_stream_read(&run->output, uv_buf_init(run->buffer, sizeof run->buffer), on_line,
                              on_end);
    if (rc < 0) {
        launch_run_abort(run);
        return rc;
    }
    watch_end(run, loop);
    *out = run;
    return 0;
}
