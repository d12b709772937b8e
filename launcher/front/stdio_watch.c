/* `tether mcp -- COMMAND`: watches an MCP server that its client starts.
 *
 * The server has the client's own pipes as standard input and output, so nothing that the two say
 * to each other passes through here, and a call costs nothing. What it gets is an end: with the
 * client, however that dies, and with all that it started. */
#include "front.h"

#include <stdlib.h>

#include <uv.h>

#include "exit_code.h"
#include "memory.h"
#include "os/os_pipe.h"
#include "os/os_tree.h"
#include "parent_watch.h"
#include "stderr_log.h"
#include "text_list.h"

enum { SIGNAL_BASE = 128 }; /* as shells tell the end by a signal */

struct watcher {
    const struct options *options;
    uv_loop_t loop;
    uv_timer_t timer;
    struct os_tree *tree;
    struct os_wishes *wishes;
    struct os_watch *parent;
    struct stderr_log log;
    int64_t kill_at; /* once it is asked to end */
    bool asked, over;
    int code;
};

/* ---- the end ---- */

static void close_all(struct watcher *watcher) {
    watcher->over = true;
    uv_close((uv_handle_t *)&watcher->timer, NULL);
    os_wishes_destroy(watcher->wishes);
    os_watch_destroy(watcher->parent);
    os_tree_destroy(watcher->tree);
    stderr_log_finish(&watcher->log);
}

/* Or not yet, where the loop's time goes on while the machine sleeps. */
static void on_grace_over(uv_timer_t *timer) {
    struct watcher *watcher = timer->data;
    int64_t left = watcher->kill_at - os_clock_ms();
    if (left > 0)
        uv_timer_start(timer, on_grace_over, (uint64_t)left, 0);
    else
        os_tree_kill(watcher->tree);
}

/* Who is asked twice does not wait. */
static void end(struct watcher *watcher) {
    if (watcher->over)
        return;
    if (watcher->asked || !os_tree_ask(watcher->tree)) {
        os_tree_kill(watcher->tree);
    } else {
        watcher->kill_at = os_clock_ms() + watcher->options->config.stop_grace_ms;
        uv_timer_start(&watcher->timer, on_grace_over, watcher->options->config.stop_grace_ms, 0);
    }
    watcher->asked = true;
}

static void on_wish(void *context, enum os_wish wish) {
    (void)wish;
    end(context);
}

static void on_parent_end(void *context, const struct os_identity *identity) {
    struct watcher *watcher = context;
    stderr_log_say(&watcher->log, "the client (process %lld) is gone, and so ends its server",
                   (long long)identity->pid);
    end(watcher);
}

/* ---- the server ---- */

static void on_started(void *context, const struct os_identity *root) {
    struct watcher *watcher = context;
    stderr_log_say(&watcher->log, "%s runs as process %lld", watcher->options->command[0],
                   (long long)root->pid);
}

static void on_unstarted(void *context, const struct error *why) {
    struct watcher *watcher = context;
    front_say("%s", why->message);
    watcher->code = EXIT_FAILED;
    close_all(watcher);
}

/* What the server leaves behind serves nobody. */
static void on_exited(void *context, const struct os_exit *how) {
    struct watcher *watcher = context;
    int number = (int)how->value;
    stderr_log_catch_up(&watcher->log);
    if (how->by_signal)
        stderr_log_say(&watcher->log, "the server was ended by signal %d (%s)", number,
                       os_signal_name(number));
    else
        stderr_log_say(&watcher->log, "the server ended with exit code %d", number);
    watcher->code = how->by_signal ? SIGNAL_BASE + number : number;
    os_tree_kill(watcher->tree);
}

static void on_drained(void *context) {
    struct watcher *watcher = context;
    os_tree_kill(watcher->tree);
}

static void on_emptied(void *context) {
    close_all(context);
}

static void on_said(void *context, const char *text) {
    struct watcher *watcher = context;
    stderr_log_say(&watcher->log, "%s", text);
}

/* ---- beginning ---- */

static int start(struct watcher *watcher, struct error *err) {
    struct os_tree_spec spec = {
        .words = (const char *const *)watcher->options->command,
        .stdio = {0, 1, 2},
        .grace_ms = watcher->options->config.stop_grace_ms,
    };
    struct text_list environment = {0};
    int rc = stderr_log_open(&watcher->log, &watcher->loop, watcher->options->log_file,
                             &spec.stdio[2], err);
    if (rc < 0)
        return rc;
    os_environment(&environment);
    spec.environment = (const char *const *)environment.items;
    rc = os_tree_start(watcher->tree, &spec, err);
    if (spec.stdio[2] != 2)
        os_handle_close(&spec.stdio[2]);
    text_list_finish(&environment);
    if (rc == 0)
        os_stdio_let_go(); /* if the server closes its streams, its client is to see that */
    return rc;
}

int command_watch(const struct options *options) {
    static const struct os_tree_events events = {on_started, on_unstarted, on_exited,
                                                 on_drained, on_emptied,   on_said};
    struct watcher *watcher = memory_zeroed(sizeof *watcher);
    struct error err = {0};
    int rc, code;
    watcher->options = options;
    rc = options_check_start(options, &err);
    if (rc < 0) {
        free(watcher);
        return exit_failing(EXIT_FAILED, &err);
    }
    uv_loop_init(&watcher->loop);
    uv_timer_init(&watcher->loop, &watcher->timer);
    watcher->timer.data = watcher;
    rc = os_tree_create(&watcher->tree, &watcher->loop, &events, watcher);
    if (rc == 0)
        rc = os_wishes_create(&watcher->wishes, &watcher->loop, OS_WISH_END | OS_WISH_HANGUP,
                              on_wish, watcher);
    if (rc < 0)
        error_set(&err, rc, "cannot watch a server: %s", uv_strerror(rc));
    else
        rc = start(watcher, &err);
    if (rc < 0) {
        watcher->code = exit_failing(EXIT_FAILED, &err);
        close_all(watcher);
    } else {
        parent_watch(&watcher->parent, &watcher->loop, options, on_parent_end, watcher);
    }
    uv_run(&watcher->loop, UV_RUN_DEFAULT);
    uv_loop_close(&watcher->loop);
    code = watcher->code;
    free(watcher);
    return code;
}
