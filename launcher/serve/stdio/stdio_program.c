#include "stdio_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "os/os_loop.h"
#include "os/os_spawn.h"
#include "protocol/lines.h"
#include "text_list.h"

enum { INPUT_GRACE_MS = 2000, HOW_MAX = 160 };

/* Handles of the loop are closed by it later, so those of a run live apart. */
struct stdio_run {
    uv_process_t process;
    uv_pipe_t input, output; /* the program's */
    struct stdio_program *program;
    unsigned open; /* handles that the loop has */
    bool exited, silent, input_closed;
    int64_t status;
    int signal;
};

/* ---- the end of a run ---- */

static void on_closed(uv_handle_t *handle) {
    struct stdio_run *run = handle->data;
    if (--run->open == 0)
        free(run);
}

static void close_input(struct stdio_run *run) {
    if (!run->input_closed)
        uv_close((uv_handle_t *)&run->input, on_closed);
    run->input_closed = true;
}

static void on_start(uv_timer_t *timer);

static void on_timer_closed(uv_handle_t *timer) {
    struct stdio_program *program = timer->data;
    buffer_finish(&program->line);
    program->events->over(program->context);
}

static void over(struct stdio_program *program) {
    uv_close((uv_handle_t *)&program->timer, on_timer_closed);
}

/* If nothing has come of the first start another one would end in the same way. */
static bool is_hopeless(struct stdio_program *program) {
    const struct lifecycle_config *config = &program->options->config;
    int64_t now = os_clock_ms();
    if (program->ready_at && (uint64_t)(now - program->ready_at) >= config->health_ms)
        crashes_forget(&program->crashes);
    program->ready_at = 0;
    return crashes_note(&program->crashes, config, (uint64_t)now) || !program->was_ready ||
           config->restart == LIFECYCLE_RESTART_NEVER;
}

static void lost(struct stdio_program *program, const char *how) {
    bool final = is_hopeless(program);
    if (!final)
        uv_timer_start(&program->timer, on_start,
                       crashes_delay(&program->crashes, &program->options->config), 0);
    program->events->lost(program->context, how, final);
}

static void tell_end(const struct stdio_run *run, char out[HOW_MAX]) {
    if (run->signal)
        snprintf(out, HOW_MAX, "it was ended by signal %d (%s)", run->signal,
                 os_signal_name(run->signal));
    else
        snprintf(out, HOW_MAX, "it ended with exit code %lld", (long long)run->status);
}

/* What it said before its end has been read by now. */
static void run_over(struct stdio_run *run) {
    struct stdio_program *program = run->program;
    char how[HOW_MAX];
    if (!run->exited || !run->silent)
        return;
    program->run = NULL;
    program->overlong = false;
    buffer_clear(&program->line, BUFFER_KEPT);
    tell_end(run, how);
    close_input(run);
    uv_close((uv_handle_t *)&run->output, on_closed);
    uv_close((uv_handle_t *)&run->process, on_closed);
    uv_timer_stop(&program->timer);
    if (program->ending)
        over(program);
    else
        lost(program, how);
}

static void on_process_end(uv_process_t *process, int64_t status, int signal) {
    struct stdio_run *run = process->data;
    run->exited = true;
    run->status = status;
    run->signal = signal;
    run_over(run);
}

static void on_input_grace(uv_timer_t *timer) {
    struct stdio_program *program = timer->data;
    if (program->run && !program->run->exited)
        os_program_ask(uv_process_get_pid(&program->run->process));
}

static void ask(struct stdio_program *program) {
    close_input(program->run);
    uv_timer_start(&program->timer, on_input_grace, INPUT_GRACE_MS, 0);
}

void stdio_program_end(struct stdio_program *program) {
    if (program->ending)
        return;
    program->ending = true;
    if (program->run)
        ask(program);
    else
        over(program);
}

/* ---- what it says ---- */

/* Of a line that is too long its beginning stays, and behind that what came last. */
static void keep_edges(struct stdio_program *program, const char *bytes, size_t count) {
    struct buffer *line = &program->line;
    size_t tail = count < STDIO_EDGE ? count : STDIO_EDGE;
    size_t room = line->length - STDIO_EDGE;
    size_t kept = room < STDIO_EDGE - tail ? room : STDIO_EDGE - tail;
    memmove(line->data + STDIO_EDGE, line->data + line->length - kept, kept);
    line->length = STDIO_EDGE + kept;
    buffer_add(line, bytes + count - tail, tail);
}

static void keep(struct stdio_program *program, const char *bytes, size_t count) {
    program->overlong |= program->line.length + count > STDIO_LINE_MOST;
    if (program->overlong && program->line.length >= STDIO_EDGE)
        keep_edges(program, bytes, count);
    else
        buffer_add(&program->line, bytes, count);
}

static void hand_out(struct stdio_program *program, char *line, size_t length) {
    if (length > 0 && line[length - 1] == '\r')
        length--;
    if (length == 0)
        return;
    if (program->overlong)
        program->events->overlong(program->context, line, length);
    else
        program->events->line(program->context, line, length);
}

/* A line that comes in one piece is not copied. */
static void take(struct stdio_program *program, char *bytes, size_t count) {
    while (count > 0) {
        char *newline = memchr(bytes, '\n', count);
        size_t length = newline ? (size_t)(newline - bytes) : count;
        if (newline && program->line.length == 0) {
            hand_out(program, bytes, length);
        } else {
            keep(program, bytes, length);
            if (newline && !program->line.failed)
                hand_out(program, program->line.data, program->line.length);
            if (newline)
                buffer_clear(&program->line, BUFFER_KEPT);
            program->overlong &= !newline;
        }
        length += newline != NULL;
        bytes += length;
        count -= length;
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct stdio_run *run = handle->data;
    (void)suggested;
    *buf = uv_buf_init(run->program->read_buffer, sizeof run->program->read_buffer);
}

/* A server that says no more is of no use, also if it lives. */
static void on_output(uv_stream_t *output, ssize_t count, const uv_buf_t *buf) {
    struct stdio_run *run = output->data;
    if (count > 0) {
        take(run->program, buf->base, (size_t)count);
    } else if (count < 0) {
        uv_read_stop(output);
        run->silent = true;
        if (!run->exited && !run->input_closed)
            ask(run->program);
        run_over(run);
    }
}

/* ---- starting ---- */

static void build_environment(struct text_list *list) {
    /* Of these one is meant for us alone, or is a secret between daemon, editors and us. */
    static const char *const ours[] = {"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES",
                                       "TETHER_WS_TOKEN", "TETHER_HTTP_TOKEN"};
    options_environment(list);
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        environment_set(list, ours[i], NULL);
    environment_set(list, os_ready_variable, NULL);
}

static void build_words(struct text_list *list, const struct options *options) {
    char grace[16];
    snprintf(grace, sizeof grace, "%u", (unsigned)options->config.stop_grace_ms);
    text_list_add(list, "tether");
    text_list_add(list, "mcp");
    text_list_add(list, "--parent-watchdog");
    text_list_add(list, "on");
    text_list_add(list, "--stop-grace-ms");
    text_list_add(list, grace);
    text_list_add(list, "--");
    for (char **word = options->command; *word; word++)
        text_list_add(list, *word);
}

static void close_file(uv_file file) {
    uv_fs_t request;
    uv_fs_close(NULL, &request, file, NULL);
    uv_fs_req_cleanup(&request);
}

/* A pipe, of which one end is of the loop and the other of the program. Not what uv_spawn would
 * make itself: a pair of sockets, which costs each message more, and which no program can open by
 * the names that its standard streams have. */
static int make_pipe(uv_pipe_t *ours, uv_stdio_container_t *theirs, bool writes) {
    uv_file ends[2];
    int rc = uv_pipe(ends, writes ? 0 : UV_NONBLOCK_PIPE, writes ? UV_NONBLOCK_PIPE : 0);
    if (rc < 0)
        return rc;
    *theirs = (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = ends[!writes]};
    rc = uv_pipe_open(ours, ends[writes]);
    if (rc < 0)
        close_file(ends[writes]);
    return rc;
}

/* In a session of its own: who asks us to end by a signal to our group does not ask it. */
static int spawn(struct stdio_run *run, const char *path, struct text_list *words,
                 struct text_list *environment) {
    uv_stdio_container_t stdio[3] = {[2] = {.flags = UV_INHERIT_FD, .data.fd = 2}};
    uv_process_options_t options = {
        .exit_cb = on_process_end,
        .file = words->failed || environment->failed ? "" : path,
        .args = words->items,
        .env = environment->items,
        .flags = UV_PROCESS_DETACHED | UV_PROCESS_WINDOWS_HIDE,
        .stdio_count = 3,
        .stdio = stdio,
    };
    int rc = make_pipe(&run->input, &stdio[0], true), spawned;
    if (rc == 0)
        rc = make_pipe(&run->output, &stdio[1], false);
    if (rc < 0)
        options.file = ""; /* the handle is initialised in any case */
    spawned = uv_spawn(run->program->loop, &run->process, &options);
    for (int i = 0; i < 2; i++)
        if (stdio[i].flags)
            close_file(stdio[i].data.fd);
    return rc < 0 ? rc : spawned;
}

static int start_run(struct stdio_run *run) {
    struct text_list words = {0}, environment = {0};
    char path[OS_PATH_MAX];
    int rc;
    if (os_own_program(path, sizeof path) < 0)
        path[0] = 0; /* which is no program: uv_spawn says so */
    build_words(&words, run->program->options);
    build_environment(&environment);
    uv_pipe_init(run->program->loop, &run->input, 0);
    uv_pipe_init(run->program->loop, &run->output, 0);
    run->process.data = run->input.data = run->output.data = run;
    run->open = 3;
    rc = spawn(run, path, &words, &environment);
    text_list_finish(&words);
    text_list_finish(&environment);
    if (rc == 0)
        rc = uv_read_start((uv_stream_t *)&run->output, on_alloc, on_output);
    return rc;
}

/* What does not tell what it offers would let calls wait without end. The timer may come too early,
 * where the loop's time goes on while the machine sleeps. */
static void on_late(uv_timer_t *timer) {
    struct stdio_program *program = timer->data;
    int64_t left = program->late_at - os_clock_ms();
    if (left > 0) {
        uv_timer_start(timer, on_late, (uint64_t)left, 0);
        return;
    }
    fprintf(stderr,
            "tether serve: the server has not answered what it was asked first within %u ms\n",
            (unsigned)program->options->config.ready_timeout_ms);
    ask(program);
}

static void on_start(uv_timer_t *timer) {
    struct stdio_program *program = timer->data;
    struct stdio_run *run = memory_zeroed(sizeof *run);
    char how[HOW_MAX];
    int rc = run ? 0 : UV_ENOMEM;
    program->starts++;
    if (run) {
        run->program = program;
        rc = start_run(run);
    }
    if (rc == 0) {
        program->run = run;
        program->late_at = os_clock_ms() + program->options->config.ready_timeout_ms;
        if (program->options->config.ready_timeout_ms)
            uv_timer_start(timer, on_late, program->options->config.ready_timeout_ms, 0);
        program->events->started(program->context);
        return;
    }
    if (run) {
        uv_close((uv_handle_t *)&run->input, on_closed);
        uv_close((uv_handle_t *)&run->output, on_closed);
        uv_close((uv_handle_t *)&run->process, on_closed);
    }
    snprintf(how, sizeof how, "it cannot be started: %s", uv_strerror(rc));
    lost(program, how);
}

void stdio_program_start(struct stdio_program *program) {
    uv_timer_init(program->loop, &program->timer);
    program->timer.data = program;
    os_random(&program->crashes.random, sizeof program->crashes.random);
    uv_timer_start(&program->timer, on_start, 0, 0);
}

void stdio_program_ready(struct stdio_program *program) {
    if (!program->ending)
        uv_timer_stop(&program->timer);
    program->ready_at = os_clock_ms();
    program->was_ready = true;
}

/* ---- speaking to it ---- */

/* One that hears no more is of no use, also if it lives. */
static void on_sent(uv_stream_t *input, int status) {
    struct stdio_run *run = input->data;
    if (status < 0 && !run->exited && !run->input_closed)
        ask(run->program);
}

bool stdio_program_hears(const struct stdio_program *program) {
    return program->run && !program->run->input_closed;
}

bool stdio_program_send(struct stdio_program *program, const struct buffer *line) {
    uv_stream_t *input;
    int rc;
    if (!stdio_program_hears(program) || line->failed)
        return false;
    input = (uv_stream_t *)&program->run->input;
    if (uv_stream_get_write_queue_size(input) > STDIO_QUEUE_MOST)
        return false;
    rc = line_send(input, line->data, line->length, on_sent);
    if (rc < 0) /* some systems say so at once */
        on_sent(input, rc);
    return rc == 0;
}

int64_t stdio_program_pid(const struct stdio_program *program) {
    return program->run ? uv_process_get_pid(&program->run->process) : 0;
}
