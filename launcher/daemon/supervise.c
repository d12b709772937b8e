#include "supervise.h"

#include <signal.h>
#include <stdlib.h>

#include <uv.h>

extern char **environ;

enum {
    LAST_WORDS = 1024 * 1024, /* what is read of a server's output after its end, at most */
    PATIENCE_MS = 5000,       /* with processes that do not die though killed */
};

/* Handles of the loop are closed by it later, so those that change from run to run live apart. */
struct supervisor_stream {
    uv_pipe_t pipe;
    struct supervisor *supervisor;
    enum log_stream kind;
};

struct supervisor_channel {
    uv_poll_t poll;
    struct supervisor *supervisor;
};

static void free_handle(uv_handle_t *handle) {
    free(handle->data);
}

/* ---- the server's output ---- */

static void stream_close(struct supervisor *supervisor, int index) {
    struct supervisor_stream *stream = supervisor->streams[index];
    supervisor->streams[index] = NULL;
    if (stream)
        uv_close((uv_handle_t *)&stream->pipe, free_handle);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct supervisor_stream *stream = handle->data;
    (void)suggested;
    *buf = uv_buf_init(stream->supervisor->buffer, sizeof stream->supervisor->buffer);
}

static void on_output(uv_stream_t *pipe, ssize_t count, const uv_buf_t *buf) {
    struct supervisor_stream *stream = pipe->data;
    if (count > 0)
        log_server_output(stream->supervisor->log, stream->kind, buf->base, (size_t)count);
    else if (count < 0)
        stream_close(stream->supervisor, stream->kind == LOG_STDERR);
}

static int stream_open(struct supervisor *supervisor, int index, os_handle *write_end) {
    struct supervisor_stream *stream = calloc(1, sizeof *stream);
    uv_file ends[2];
    int rc;
    if (!stream)
        return UV_ENOMEM;
    rc = uv_pipe(ends, UV_NONBLOCK_PIPE, 0);
    if (rc < 0) {
        free(stream);
        return rc;
    }
    uv_pipe_init(supervisor->loop, &stream->pipe, 0);
    stream->pipe.data = stream;
    stream->supervisor = supervisor;
    stream->kind = index == 0 ? LOG_STDOUT : LOG_STDERR;
    supervisor->streams[index] = stream;
    *write_end = ends[1];
    rc = uv_pipe_open(&stream->pipe, ends[0]);
    return rc < 0 ? rc : uv_read_start((uv_stream_t *)&stream->pipe, on_alloc, on_output);
}

/* Reads what the server wrote before its end but the loop has not come to: it belongs to the reason
 * that is about to be told. */
static void stream_drain(struct supervisor *supervisor, int index) {
    struct supervisor_stream *stream = supervisor->streams[index];
    uv_os_fd_t handle;
    int64_t total = 0, count = 1;
    if (!stream || uv_fileno((uv_handle_t *)&stream->pipe, &handle) < 0)
        return;
    while (count > 0 && total < LAST_WORDS) {
        count = os_read((os_handle)handle, supervisor->buffer, sizeof supervisor->buffer);
        if (count > 0)
            log_server_output(supervisor->log, stream->kind, supervisor->buffer, (size_t)count);
        total += count;
    }
}

/* ---- the end of a run ---- */

static void channel_close(struct supervisor *supervisor) {
    if (supervisor->channel)
        uv_close((uv_handle_t *)&supervisor->channel->poll, free_handle);
    supervisor->channel = NULL;
}

static void run_over(struct supervisor *supervisor) {
    struct error why = supervisor->unstarted;
    if (!supervisor->running)
        return;
    for (int i = 0; i < 2; i++) {
        stream_drain(supervisor, i);
        stream_close(supervisor, i);
    }
    log_server_end(supervisor->log);
    supervisor_close_stdin(supervisor);
    supervisor->running = false;
    supervisor->unstarted = (struct error){0};
    text_list_finish(&supervisor->command);
    if (why.code != 0)
        supervisor->events->unstarted(supervisor->context, &why);
    else
        supervisor->events->emptied(supervisor->context);
}

static void root_exited(struct supervisor *supervisor, const struct tree_exit *how) {
    if (supervisor->server.pid == 0)
        return;
    supervisor->server.pid = 0;
    stream_drain(supervisor, 0);
    stream_drain(supervisor, 1);
    supervisor->events->exited(supervisor->context, how);
}

static bool out_of_patience(void *context) {
    return os_clock_ms() >= *(int64_t *)context;
}

/* The guard was killed: what it guarded is ours now. If something of it survives its killing, as a
 * process stuck in the kernel does, the next orphan's signal brings us here again. */
static void end_inherited_tree(struct supervisor *supervisor) {
    int64_t until = os_clock_ms() + PATIENCE_MS;
    struct tree_kill how = {.give_up = out_of_patience, .context = &until};
    struct tree_exit lost = {.signalled = true, .value = SIGKILL};
    int rc = tree_kill_all(&how);
    root_exited(supervisor, &lost);
    if (rc == 0)
        run_over(supervisor);
    else
        log_say(supervisor->log, "processes of the server cannot be ended: %s", uv_strerror(rc));
}

static void guard_gone(struct supervisor *supervisor) {
    bool ended;
    channel_close(supervisor);
    ended = guard_reap(&supervisor->guard);
    if (ended) {
        run_over(supervisor);
        return;
    }
    log_say(supervisor->log, "the guard was killed; ending what it guarded");
    end_inherited_tree(supervisor);
}

static void on_child_signal(uv_signal_t *signal, int number) {
    struct supervisor *supervisor = signal->data;
    (void)number;
    tree_reap_strays(&supervisor->guard.pid, supervisor->guard.pid ? 1 : 0);
    if (supervisor->running && supervisor->guard.pid == 0)
        end_inherited_tree(supervisor);
}

/* ---- reports of the guard ---- */

static void on_guard_event(struct supervisor *supervisor, const struct guard_event *event) {
    struct guard_spec spec = {.argv = (const char *const *)supervisor->command.items};
    switch (event->type) {
    case GUARD_SPAWNED:
        supervisor->server = (struct os_identity){event->pid, event->start};
        supervisor->events->started(supervisor->context);
        break;
    case GUARD_EXEC_FAILED:
        guard_explain(event, &spec, &supervisor->unstarted);
        break;
    case GUARD_ROOT_EXITED:
        root_exited(supervisor, &event->exit);
        break;
    case GUARD_DRAINED:
        supervisor->events->drained(supervisor->context);
        break;
    case GUARD_KILL_REFUSED:
        log_say(supervisor->log, "some processes of the server belong to another user; they "
                                 "cannot be ended, only waited for");
        break;
    case GUARD_GONE:
        guard_gone(supervisor);
        break;
    case GUARD_TREE_EMPTY:
    case GUARD_NOTHING:
        break;
    }
}

static void on_guard(uv_poll_t *poll, int status, int events) {
    struct supervisor_channel *channel = poll->data;
    struct supervisor *supervisor = channel->supervisor;
    struct guard_event event;
    int rc = 1;
    (void)status;
    (void)events;
    while (supervisor->channel == channel && (rc = guard_read(&supervisor->guard, &event)) > 0)
        on_guard_event(supervisor, &event);
    if (rc < 0 && supervisor->channel == channel)
        guard_gone(supervisor);
}

static int channel_open(struct supervisor *supervisor) {
    struct supervisor_channel *channel = calloc(1, sizeof *channel);
    int rc;
    if (!channel)
        return UV_ENOMEM;
    rc = uv_poll_init(supervisor->loop, &channel->poll, supervisor->guard.fd);
    if (rc < 0) {
        free(channel);
        return rc;
    }
    channel->poll.data = channel;
    channel->supervisor = supervisor;
    supervisor->channel = channel;
    return uv_poll_start(&channel->poll, UV_READABLE, on_guard);
}

/* ---- starting ---- */

static int open_pipes(struct supervisor *supervisor, os_handle stdio[3]) {
    uv_file ends[2];
    int rc = uv_pipe(ends, 0, 0);
    if (rc < 0)
        return rc;
    stdio[0] = ends[0];
    supervisor->stdin_handle = ends[1];
    rc = stream_open(supervisor, 0, &stdio[1]);
    return rc < 0 ? rc : stream_open(supervisor, 1, &stdio[2]);
}

static int start_guard(struct supervisor *supervisor, const struct server_start *start,
                       const os_handle *listeners, size_t listener_count, struct error *err) {
    static const char *const names[] = {"http", "ws"};
    os_handle stdio[3] = {OS_NO_HANDLE, OS_NO_HANDLE, OS_NO_HANDLE};
    int handed_down[2] = {-1, -1};
    struct text_list environment = {0};
    struct guard_spec spec = {
        .listen_fds = handed_down,
        .listen_names = names,
        .listen_count = listener_count,
        .stop_grace_ms = start->options->config.stop_grace_ms,
        .title = supervisor->title,
        .title_size = supervisor->title_size,
    };
    int rc = open_pipes(supervisor, stdio);

    environment_build(&environment, environ, start);
    command_build(&supervisor->command, start);
    if (rc == 0 && (environment.failed || supervisor->command.failed))
        rc = UV_ENOMEM;
    for (size_t i = 0; i < listener_count; i++)
        handed_down[i] = (int)listeners[i];
    for (int i = 0; i < 3; i++)
        spec.stdio[i] = (int)stdio[i];
    spec.argv = (const char *const *)supervisor->command.items;
    spec.envp = (const char *const *)environment.items;
    if (rc < 0)
        error_set(err, rc, "cannot prepare the start of the server: %s", uv_strerror(rc));
    else
        rc = guard_start(&spec, &supervisor->guard, err);
    text_list_finish(&environment);
    for (int i = 0; i < 3; i++)
        os_handle_close(&stdio[i]);
    return rc;
}

void supervisor_start(struct supervisor *supervisor, const struct server_start *start,
                      const os_handle *listeners, size_t listener_count) {
    struct error err = {0};
    supervisor->running = true;
    supervisor->server = (struct os_identity){0};
    log_server_begin(supervisor->log);
    if (start_guard(supervisor, start, listeners, listener_count, &err) < 0) {
        supervisor->unstarted = err;
        run_over(supervisor);
        return;
    }
    if (channel_open(supervisor) < 0) { /* no reports: such a guard is of no use */
        error_set(&supervisor->unstarted, UV_ENOMEM, "cannot listen to the guard: out of memory");
        guard_abandon(&supervisor->guard);
        guard_gone(supervisor);
    }
}

/* ---- ending ---- */

void supervisor_close_stdin(struct supervisor *supervisor) {
    os_handle_close(&supervisor->stdin_handle);
}

void supervisor_terminate(struct supervisor *supervisor) {
    if (supervisor->guard.pid)
        guard_terminate(&supervisor->guard);
}

void supervisor_kill(struct supervisor *supervisor) {
    if (supervisor->guard.pid)
        guard_kill(&supervisor->guard);
}

void supervisor_forward(struct supervisor *supervisor, enum os_wish wish) {
    struct os_process process = {.handle = OS_NO_HANDLE};
    if (supervisor->server.pid == 0)
        return;
    if (os_process_open(&process, &supervisor->server) == 0)
        os_process_signal(&process, wish == OS_WISH_USER1 ? SIGUSR1 : SIGUSR2);
    os_process_close(&process);
}

struct os_identity supervisor_guard(const struct supervisor *supervisor) {
    struct os_identity identity = {0};
    if (supervisor->guard.pid)
        os_identity_of(supervisor->guard.pid, &identity);
    return identity;
}

int supervisor_init(struct supervisor *supervisor, uv_loop_t *loop, struct log *log,
                    const struct supervisor_events *events, void *context) {
    int rc = tree_adopt_orphans();
    supervisor->loop = loop;
    supervisor->log = log;
    supervisor->events = events;
    supervisor->context = context;
    supervisor->stdin_handle = OS_NO_HANDLE;
    uv_signal_init(loop, &supervisor->child_signal);
    supervisor->child_signal.data = supervisor;
    if (rc == 0)
        rc = uv_signal_start(&supervisor->child_signal, on_child_signal, SIGCHLD);
    return rc;
}

void supervisor_finish(struct supervisor *supervisor) {
    uv_close((uv_handle_t *)&supervisor->child_signal, NULL);
    channel_close(supervisor);
    for (int i = 0; i < 2; i++)
        stream_close(supervisor, i);
    supervisor_close_stdin(supervisor);
    text_list_finish(&supervisor->command);
}
