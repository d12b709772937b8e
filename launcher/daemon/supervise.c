#include "supervise.h"

#include <stdlib.h>

#include "daemon.h"
#include "memory.h"
#include "must.h"
#include "os/os_pipe.h"

enum { LAST_WORDS = 1024 * 1024 }; /* read of a server's output after its end, at most */

/* Handles of the loop are closed by it later, so those that change from run to run live apart. */
struct supervisor_stream {
    uv_pipe_t pipe;
    struct supervisor *supervisor;
    enum log_stream kind;
};

/* ---- the server's output ---- */

static void stream_close(struct supervisor *supervisor, int index) {
    struct supervisor_stream *stream = supervisor->streams[index];
    supervisor->streams[index] = NULL;
    if (stream)
        uv_close((uv_handle_t *)&stream->pipe, memory_free_data);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct supervisor_stream *stream = handle->data;
    (void)suggested;
    *buf = uv_buf_init(stream->supervisor->buffer, sizeof stream->supervisor->buffer);
}

static void on_output(uv_stream_t *pipe, ssize_t count, const uv_buf_t *buf) {
    struct supervisor_stream *stream = pipe->data;
    if (count > 0)
        log_server_output(&stream->supervisor->daemon->log, stream->kind, buf->base, (size_t)count);
    else if (count < 0)
        stream_close(stream->supervisor, stream->kind == LOG_STDERR);
}

static int stream_open(struct supervisor *supervisor, int index, os_handle *write_end) {
    struct supervisor_stream *stream = memory_zeroed(sizeof *stream);
    int rc;
    if (!stream)
        return UV_ENOMEM;
    rc = os_pipe_reader(&supervisor->daemon->loop, &stream->pipe, write_end);
    stream->pipe.data = stream;
    stream->supervisor = supervisor;
    stream->kind = index == 0 ? LOG_STDOUT : LOG_STDERR;
    supervisor->streams[index] = stream;
    return rc < 0 ? rc : uv_read_start((uv_stream_t *)&stream->pipe, on_alloc, on_output);
}

/* Reads what the server wrote before its end but the loop has not come to: it belongs to the reason
 * that is about to be told. */
static void stream_drain(struct supervisor *supervisor, int index) {
    struct supervisor_stream *stream = supervisor->streams[index];
    char *buffer = supervisor->buffer;
    int64_t total = 0, count = 1;
    while (stream && count > 0 && total < LAST_WORDS) {
        count = os_pipe_read_now(&stream->pipe, buffer, sizeof supervisor->buffer);
        if (count > 0)
            log_server_output(&supervisor->daemon->log, stream->kind, buffer, (size_t)count);
        total += count;
    }
}

/* ---- what becomes of it ---- */

static void on_started(void *context, const struct os_identity *root) {
    struct supervisor *supervisor = context;
    must(root->pid > 0);
    supervisor->server = *root;
    daemon_server_started(supervisor->daemon);
}

static void on_exited(void *context, const struct os_exit *how) {
    struct supervisor *supervisor = context;
    must(supervisor->server.pid != 0);
    supervisor->server.pid = 0;
    stream_drain(supervisor, 0);
    stream_drain(supervisor, 1);
    daemon_server_exited(supervisor->daemon, how);
}

static void on_drained(void *context) {
    const struct supervisor *supervisor = context;
    daemon_feed_kind(supervisor->daemon, LIFECYCLE_ON_DRAINED);
}

static void run_over(struct supervisor *supervisor) {
    must(supervisor->server.pid == 0);
    for (int i = 0; i < 2; i++) {
        stream_drain(supervisor, i);
        stream_close(supervisor, i);
    }
    log_server_end(&supervisor->daemon->log);
    os_handle_close(&supervisor->stdin_handle);
}

static void on_unstarted(void *context, const struct error *why) {
    struct supervisor *supervisor = context;
    run_over(supervisor);
    daemon_server_unstarted(supervisor->daemon, LIFECYCLE_FAILURE_SPAWN, why);
}

static void on_emptied(void *context) {
    struct supervisor *supervisor = context;
    run_over(supervisor);
    daemon_feed_kind(supervisor->daemon, LIFECYCLE_ON_TREE_EMPTY);
}

static void on_said(void *context, const char *text) {
    const struct supervisor *supervisor = context;
    log_say(&supervisor->daemon->log, "%s", text);
}

/* ---- starting ---- */

static int open_pipes(struct supervisor *supervisor, os_handle stdio[3]) {
    int rc = os_pipe(&stdio[0], &supervisor->stdin_handle);
    if (rc == 0)
        rc = stream_open(supervisor, 0, &stdio[1]);
    return rc < 0 ? rc : stream_open(supervisor, 1, &stdio[2]);
}

static int start_tree(struct supervisor *supervisor, const struct server_start *start,
                      const os_handle *listeners, size_t listener_count, struct error *err) {
    struct text_list command = {0}, environment = {0};
    struct os_tree_spec spec = {
        .stdio = {OS_NO_HANDLE, OS_NO_HANDLE, OS_NO_HANDLE},
        .listeners = listeners,
        .listener_names = listener_count == 1 ? "http" : "http:ws",
        .listener_count = listener_count,
        .grace_ms = start->options->config.stop_grace_ms,
    };
    int rc = open_pipes(supervisor, spec.stdio);
    os_environment(&environment);
    environment_build(&environment, start);
    command_build(&command, start);
    if (rc == 0 && (environment.failed || command.failed))
        rc = UV_ENOMEM;
    spec.words = (const char *const *)command.items;
    spec.environment = (const char *const *)environment.items;
    if (rc < 0)
        error_set(err, rc, "cannot prepare the start of the server: %s", uv_strerror(rc));
    else
        rc = os_tree_start(supervisor->tree, &spec, err);
    text_list_finish(&command);
    text_list_finish(&environment);
    for (int i = 0; i < 3; i++)
        os_handle_close(&spec.stdio[i]);
    return rc;
}

void supervisor_start(struct supervisor *supervisor, const struct server_start *start,
                      const os_handle *listeners, size_t listener_count) {
    struct error err = {0};
    log_server_begin(&supervisor->daemon->log);
    if (start_tree(supervisor, start, listeners, listener_count, &err) < 0)
        on_unstarted(supervisor, &err);
}

/* ---- ending ---- */

int supervisor_init(struct supervisor *supervisor, struct daemon *daemon) {
    static const struct os_tree_events events = {on_started, on_unstarted, on_exited,
                                                 on_drained, on_emptied,   on_said};
    supervisor->daemon = daemon;
    supervisor->stdin_handle = OS_NO_HANDLE;
    return os_tree_create(&supervisor->tree, &daemon->loop, &events, supervisor);
}

void supervisor_finish(struct supervisor *supervisor) {
    os_tree_destroy(supervisor->tree);
    for (int i = 0; i < 2; i++)
        stream_close(supervisor, i);
    os_handle_close(&supervisor->stdin_handle);
}
