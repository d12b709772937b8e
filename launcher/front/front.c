#include "front.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "exit_code.h"
#include "memory.h"
#include "os/os.h"
#include "parent_watch.h"
#include "request_head.h"
#include "target.h"

enum {
    LINE_MAX_SENT = 4 * 1024 * 1024, /* longer ones are read, for their id, and refused */
    OUTPUT_HIGH = 1024 * 1024,       /* beyond it nothing more is read from the server */
    OUTPUT_LOW = 256 * 1024,
    OUTPUT_FULL = 8 * 1024 * 1024, /* beyond it nothing more is read from the client either */
    WAITING_MOST = 4096,
    WAITING_BYTES_MOST = 16 * 1024 * 1024,
    HOLD_FIRST_MS = 10,
    HOLD_MOST_MS = 1000,
    END_MS = 1000, /* for goodbyes and for the last lines */
};

/* ---- telling ---- */

void front_say(const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    exit_tell("tether mcp", text);
}

void front_answer(struct front *front, const struct scan_span *id, const char *error,
                  size_t length) {
    struct buffer line = {0};
    buffer_add_literal(&line, "{\"jsonrpc\":\"2.0\",\"id\":");
    if (id && scan_is_scalar(id))
        buffer_add(&line, id->at, id->length);
    else
        buffer_add_literal(&line, "null");
    buffer_add_literal(&line, ",\"error\":");
    buffer_add(&line, error, length);
    buffer_add_char(&line, '}');
    if (!line.failed)
        output_line(&front->output, line.data, line.length);
    buffer_finish(&line);
}

void front_answer_error(struct front *front, const struct scan_span *id, int code,
                        const char *message) {
    struct buffer error = {0};
    buffer_format(&error, "{\"code\":%d,\"message\":", code);
    buffer_add_json(&error, message);
    buffer_add_char(&error, '}');
    if (!error.failed)
        front_answer(front, id, error.data, error.length);
    buffer_finish(&error);
}

static void set_pressure(struct front *front) {
    size_t pending = output_pending(&front->output);
    size_t bytes, waiting = flights_waiting(front, &bytes);
    if (pending > OUTPUT_HIGH)
        pool_pause(&front->pool, true);
    else if (pending < OUTPUT_LOW)
        pool_pause(&front->pool, false);
    input_pause(&front->input,
                pending > OUTPUT_FULL || waiting > WAITING_MOST || bytes > WAITING_BYTES_MOST);
}

void front_output(struct front *front, const char *data, size_t length) {
    output_line(&front->output, data, length);
    set_pressure(front);
}

/* ---- requests of the server ---- */

static bool is_asked(const struct asked *asked, size_t i, const struct scan_span *id) {
    struct scan_span own = {asked->ids[i], strlen(asked->ids[i])};
    return asked->ids[i][0] && scan_same_id(id, &own);
}

static void note_asked(struct front *front, const struct scan_span *id) {
    struct asked *asked = &front->asked;
    if (!scan_is_scalar(id) || id->length >= FRONT_ID_MAX)
        return;
    memcpy(asked->ids[asked->next], id->at, id->length);
    asked->ids[asked->next][id->length] = 0;
    asked->generation[asked->next] = front->asked_generation;
    asked->next = (asked->next + 1) % FRONT_ABANDONED_MOST;
}

/* Forgets the request that this answers; true if whoever asked is gone. */
static bool take_asked(struct front *front, const struct scan_span *id) {
    struct asked *asked = &front->asked;
    for (size_t back = 1; back <= FRONT_ABANDONED_MOST; back++) {
        size_t i = (asked->next + FRONT_ABANDONED_MOST - back) % FRONT_ABANDONED_MOST;
        if (is_asked(asked, i, id)) {
            asked->ids[i][0] = 0;
            return asked->generation[i] != front->asked_generation;
        }
    }
    return false;
}

/* The server is another one: the client need not answer the former one's questions. */
static void abandon_asked(struct front *front) {
    const struct asked *asked = &front->asked;
    char line[FRONT_ID_MAX + 160];
    for (size_t i = 0; i < FRONT_ABANDONED_MOST; i++) {
        if (!asked->ids[i][0] || asked->generation[i] != front->asked_generation)
            continue;
        snprintf(line, sizeof line,
                 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
                 "{\"requestId\":%s,\"reason\":\"the server that asked is gone\"}}",
                 asked->ids[i]);
        output_line(&front->output, line, strlen(line));
    }
}

void front_relay(struct front *front, const char *data, size_t length, const struct scan *scan) {
    if (scan_kind(scan) == SCAN_REQUEST)
        note_asked(front, &scan->spans[SCAN_ID]);
    if (scan_is(&scan->spans[SCAN_METHOD], "notifications/tools/list_changed"))
        hints_doubt(&front->hints);
    front_output(front, data, length);
}

/* ---- the client's lines ---- */

static const char too_long[] = "This message is longer than 4 MiB, which is the limit here.";

static void take_line(struct front *front, const char *line, size_t length) {
    struct scan *scan = &front->scan;
    const struct scan_span *id = &scan->spans[SCAN_ID];
    enum scan_kind kind;
    if (scan_message(scan, line, length) < 0) {
        front_answer_error(front, NULL, -32700, "This line is no JSON.");
        return;
    }
    kind = scan_kind(scan);
    if (length > LINE_MAX_SENT && kind == SCAN_REQUEST) {
        front_answer_error(front, id, -32600, too_long);
    } else if (length > LINE_MAX_SENT) {
        front_say("a message of the client was longer than 4 MiB; left out");
    } else if (kind == SCAN_INVALID) {
        front_answer_error(front, id, -32600,
                           "This line is no message of JSON-RPC 2.0: one object with \"method\", "
                           "\"result\" or \"error\".");
    } else if (kind != SCAN_RESPONSE || !take_asked(front, id)) {
        if (head_is_modern(scan))
            scan_decode(&scan->spans[SCAN_VERSION], front->modern, sizeof front->modern);
        flights_add(front, line, length);
        daemon_session_wake(&front->daemon);
    }
}

static void on_line(void *context, const char *line, size_t length) {
    struct front *front = context;
    if (front->phase != FRONT_RUNS)
        return;
    take_line(front, line, length);
    front_settle(front);
}

static void on_overlong(void *context) {
    struct front *front = context;
    if (front->phase == FRONT_RUNS)
        front_answer_error(front, NULL, -32600, too_long);
}

/* ---- the end ---- */

static void end(struct front *front, const char *why) {
    if (front->phase >= FRONT_ENDS)
        return;
    front->phase = FRONT_ENDS;
    front->end_by = os_clock_ms() + END_MS;
    input_finish(&front->input);
    flights_finish(front, why);
    dialog_end(front);
    daemon_session_leave(&front->daemon);
    front_settle(front);
}

static void on_input_end(void *context) {
    struct front *front = context;
    if (front->phase == FRONT_RUNS)
        front->phase = FRONT_DRAINS;
    front_settle(front);
}

static void on_wish(void *context, enum os_wish wish) {
    (void)wish;
    end(context, "`tether mcp` was asked to end.");
}

static void on_parent_end(void *context, const struct os_identity *identity) {
    front_say("the program that started this (process %lld) is gone", (long long)identity->pid);
    end(context, "The program that started `tether mcp` is gone.");
}

static void close_all(struct front *front) {
    front->phase = FRONT_OVER;
    uv_close((uv_handle_t *)&front->timer, NULL);
    os_wishes_destroy(front->wishes);
    os_watch_destroy(front->parent);
    daemon_session_finish(&front->daemon);
    pool_finish(&front->pool);
    output_finish(&front->output);
}

/* Sees whether it is time for the next phase. */
static void settle_end(struct front *front) {
    int64_t now = os_clock_ms();
    size_t bytes;
    if (front->phase == FRONT_RUNS && front->output.broken)
        end(front, "");
    if (front->phase == FRONT_DRAINS) {
        if (!flights_open(front) || front->output.broken || (front->end_by && now >= front->end_by))
            end(front, "The client closed its side before this was done.");
        else if (flights_waiting(front, &bytes) > 0)
            front->end_by = 0;
        else if (!front->end_by)
            front->end_by = now + front->options->config.stop_grace_ms;
    }
    if (front->phase != FRONT_ENDS)
        return;
    if (now >= front->end_by || (front->daemon.left && !front->dialog.goodbye.connection &&
                                 output_pending(&front->output) == 0))
        close_all(front);
}

/* ---- settling ---- */

static void on_timer(uv_timer_t *timer) {
    front_settle(timer->data);
}

static int64_t earlier(int64_t a, int64_t b) {
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* Asleep unless something waits. */
static void set_timer(struct front *front) {
    int64_t now = os_clock_ms(), stream = dialog_deadline(front), flight = flights_due(front);
    int64_t due = earlier(flight, stream > now ? stream : 0);
    due = earlier(due, front->end_by);
    if (flight || stream)
        due = earlier(due, front->hold_until);
    uv_timer_stop(&front->timer);
    if (!due)
        return;
    uv_update_time(&front->loop);
    uv_timer_start(&front->timer, on_timer, due > now ? (uint64_t)(due - now) : 1, 0);
}

void front_settle(struct front *front) {
    if (front->phase == FRONT_OVER)
        return;
    if (front->hold_until && os_clock_ms() >= front->hold_until)
        front->hold_until = 0;
    if (front->phase < FRONT_ENDS) {
        dialog_settle(front);
        flights_pump(front);
    }
    settle_end(front);
    if (front->phase == FRONT_OVER)
        return;
    if (front->phase < FRONT_ENDS)
        set_pressure(front);
    set_timer(front);
}

/* Asks the daemon how the server is. If it says that all is well, and yet nothing comes of it, each
 * further try waits longer. */
void front_doubt(struct front *front) {
    int64_t hold = HOLD_FIRST_MS;
    for (unsigned i = 0; i < front->misses && hold < HOLD_MOST_MS; i++)
        hold *= 2;
    front->misses++;
    front->hold_until = os_clock_ms() + (hold < HOLD_MOST_MS ? hold : HOLD_MOST_MS);
    daemon_session_doubt(&front->daemon);
}

static void on_daemon_changed(void *context) {
    struct front *front = context;
    if (front->daemon.ready && front->asked_generation != front->daemon.generation) {
        abandon_asked(front);
        front->asked_generation = front->daemon.generation;
        front->misses = 0;
        front->hold_until = 0;
    }
    front_settle(front);
}

static void on_daemon_failed(void *context, const char *why) {
    struct front *front = context;
    front_say("%s", why);
    flights_fail_waiting(front, why);
    front_settle(front);
}

/* ---- beginning ---- */

static void on_drained(void *context) {
    front_settle(context);
}

static int open_all(struct front *front) {
    static const struct input_events input_events = {on_line, on_overlong, on_input_end};
    static const struct daemon_session_events daemon_events = {on_daemon_changed, on_daemon_failed};
    int rc = uv_loop_init(&front->loop);
    if (rc < 0)
        return rc;
    uv_timer_init(&front->loop, &front->timer);
    front->timer.data = front;
    front->pool.loop = &front->loop;
    daemon_session_init(&front->daemon, &front->loop, front->options, &daemon_events, front);
    rc = output_init(&front->output, &front->loop, on_drained, front);
    if (rc == 0)
        rc = input_init(&front->input, &front->loop, &input_events, front);
    return rc < 0 ? rc
                  : os_wishes_create(&front->wishes, &front->loop, OS_WISH_END | OS_WISH_HANGUP,
                                     on_wish, front);
}

int command_mcp(const struct options *options) {
    struct front *front;
    struct error err;
    int rc;
    if (!options->builtin && !options->stdio && !options->http)
        return command_watch(options);
    front = memory_zeroed(sizeof *front);
    front->options = options;
    front->token = os_variable("TETHER_HTTP_TOKEN");
    target_write(&front->target, options);
    rc = open_all(front);
    if (rc < 0) {
        error_set(&err, rc, "cannot use standard input and output: %s", uv_strerror(rc));
        return exit_failing(EXIT_FAILED, &err);
    }
    daemon_session_wake(&front->daemon);
    parent_watch(&front->parent, &front->loop, options, on_parent_end, front);
    uv_run(&front->loop, UV_RUN_DEFAULT);
    uv_loop_close(&front->loop);
    dialog_finish(&front->dialog);
    hints_finish(&front->hints);
    buffer_finish(&front->target);
    free(front);
    return EXIT_FINE;
}
