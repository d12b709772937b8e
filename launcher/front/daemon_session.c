#include "daemon_session.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "blob.h"
#include "buffer.h"
#include "os/os.h"
#include "protocol/lines.h"
#include "protocol/message.h"
#include "protocol/send.h"
#include "protocol/version.h"
#include "text_list.h"

enum {
    LASTING_MS = 5000, /* a session that held so long makes up for failed tries before it */
    TRIES_MOST = 4,
    REST_MS = 1000, /* after a failure nothing is tried for so long */
    AGAIN_MS = 10,  /* between tries to connect to a socket that is full */
    CONNECTS_MOST = 500,
};

/* A connection to the daemon. It outlives its place in the link until libuv has let go of it. */
struct link_wire {
    uv_pipe_t pipe;
    uv_timer_t again;
    uv_connect_t connect;
    struct link *link; /* NULL: nobody listens any more */
    struct lines lines;
    unsigned open_handles, connects;
    char path[OS_ENDPOINT_MAX];
    char buffer[16384];
};

/* A `tether launch` at work. */
struct link_launch {
    uv_process_t process;
    uv_pipe_t output;
    struct link *link;
    struct buffer said;
    int64_t code;
    unsigned open_handles;
    bool exited, ended;
    char buffer[4096];
};

static void begin_launch(struct link *link);
static void begin_joining(struct link *link, const char *path);

static void tell_changed(struct link *link) {
    link->events->changed(link->context);
}

static void set_reason(struct link *link, const char *text) {
    struct error err;
    error_set(&err, 0, "%.500s", text);
    memcpy(link->reason, err.message, sizeof link->reason);
}

static void fail(struct link *link, const char *why) {
    link->state = LINK_DOWN;
    link->ready = link->in_doubt = false;
    link->failed_at = os_clock_ms();
    set_reason(link, why);
    link->events->failed(link->context, link->reason);
}

/* Once more, unless that has led to nothing several times in a row. */
static void try_again(struct link *link, const char *why) {
    set_reason(link, why);
    if (link->leaving)
        return;
    if (++link->tries > TRIES_MOST) {
        link->tries = 0;
        fail(link, why);
    } else {
        begin_launch(link);
    }
}

/* ---- launching ---- */

static void launch_free(uv_handle_t *handle) {
    struct link_launch *launch = handle->data;
    if (--launch->open_handles > 0)
        return;
    buffer_finish(&launch->said);
    free(launch);
}

static void launch_close(struct link_launch *launch) {
    if (launch->process.loop)
        uv_close((uv_handle_t *)&launch->process, launch_free);
    else /* it never came so far */
        launch->open_handles--;
    uv_close((uv_handle_t *)&launch->output, launch_free);
}

static void launch_over(struct link_launch *launch) {
    struct link *link = launch->link;
    const char *end = launch->said.data ? strchr(launch->said.data, '\n') : NULL;
    json_t *result =
        end ? message_parse(launch->said.data, (size_t)(end - launch->said.data), NULL) : NULL;
    char text[128];
    launch_close(launch);
    if (!link) {
        json_decref(result);
        return;
    }
    link->launch = NULL;
    if (result && message_number(result, "code", 1) == 0) {
        link->port = (uint16_t)message_number(result, "http_port", link->port);
        begin_joining(link, message_text(result, "control"));
    } else if (result) {
        fail(link, message_text(result, "message"));
    } else {
        snprintf(text, sizeof text, "`tether launch` ended with code %d and without a word",
                 (int)launch->code);
        fail(link, text);
    }
    json_decref(result);
}

static void on_launch_exit(uv_process_t *process, int64_t code, int signal_number) {
    struct link_launch *launch = process->data;
    (void)signal_number;
    launch->code = code;
    launch->exited = true;
    if (launch->ended)
        launch_over(launch);
}

static void on_launch_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct link_launch *launch = handle->data;
    (void)suggested;
    *buf = uv_buf_init(launch->buffer, sizeof launch->buffer);
}

static void on_launch_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    struct link_launch *launch = stream->data;
    if (count > 0 && launch->said.length < LINES_MAX)
        buffer_add(&launch->said, buf->base, (size_t)count);
    if (count >= 0)
        return;
    uv_read_stop(stream);
    launch->ended = true;
    if (launch->exited)
        launch_over(launch);
}

static void add_word(const char *word, void *context) {
    text_list_add(context, word);
}

/* The server belongs to this process if nobody else was named: it then ends after the front, unless
 * others use it, and passes on to the oldest of them. */
static void launch_words(const struct link *link, struct text_list *words) {
    struct options told = *link->options;
    struct os_identity self = {0};
    text_list_add(words, "tether");
    text_list_add(words, "launch");
    if (told.owner.pid == 0) {
        os_identity_self(&self);
        told.owner = (struct lifecycle_process){(uint64_t)self.pid, self.start};
        text_list_add(words, "--owner-role");
        text_list_add(words, "front");
    }
    if (told.ports_auto) {
        text_list_add(words, "--ports");
        text_list_add(words, "auto");
    }
    options_emit(&told, add_word, words);
}

static int launch_spawn(struct link_launch *launch, uv_loop_t *loop, struct text_list *words) {
    char self[OS_PATH_MAX];
    size_t size = sizeof self;
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_IGNORE},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&launch->output},
        {.flags = UV_INHERIT_FD, .data.fd = 2},
    };
    uv_process_options_t spawn = {.exit_cb = on_launch_exit,
                                  .file = self,
                                  .args = words->items,
                                  .stdio = stdio,
                                  .stdio_count = 3,
                                  .flags = UV_PROCESS_WINDOWS_HIDE};
    int rc = uv_exepath(self, &size);
    if (rc == 0 && words->failed)
        rc = UV_ENOMEM;
    return rc < 0 ? rc : uv_spawn(loop, &launch->process, &spawn);
}

static void begin_launch(struct link *link) {
    struct link_launch *launch = calloc(1, sizeof *launch);
    struct text_list words = {0};
    char text[128];
    int rc;
    if (!launch) {
        fail(link, "out of memory");
        return;
    }
    link->state = LINK_LAUNCHING;
    link->ready = link->in_doubt = link->going = false;
    uv_pipe_init(link->loop, &launch->output, 0);
    launch->process.data = launch->output.data = launch;
    launch->open_handles = 2;
    launch->link = link;
    launch_words(link, &words);
    rc = launch_spawn(launch, link->loop, &words);
    text_list_finish(&words);
    if (rc < 0) {
        launch_close(launch);
        snprintf(text, sizeof text, "cannot start `tether launch`: %s", uv_strerror(rc));
        fail(link, text);
        return;
    }
    link->launch = launch;
    uv_read_start((uv_stream_t *)&launch->output, on_launch_alloc, on_launch_read);
}

/* ---- what the daemon says ---- */

static void note_generation(struct link *link, const json_t *state, const json_t *server) {
    int64_t daemon = message_number(json_object_get(state, "daemon"), "pid", 0);
    int64_t pid = message_number(server, "pid", 0);
    int64_t restarts = message_number(state, "restarts", 0);
    if (daemon == link->daemon_pid && pid == link->server_pid && restarts == link->restarts)
        return;
    link->generation++;
    link->daemon_pid = daemon;
    link->server_pid = pid;
    link->restarts = restarts;
}

static void note_reason(struct link *link, const char *state, const json_t *server) {
    const char *reason = message_text(server, "reason");
    const char *exit_text = message_text(json_object_get(server, "last_exit"), "text");
    char text[512];
    snprintf(link->last_exit, sizeof link->last_exit, "%s", exit_text);
    if (strcmp(state, "failed") == 0)
        snprintf(text, sizeof text, "the server failed: %.400s", reason);
    else if (link->going)
        snprintf(text, sizeof text, "the server was stopped");
    else if (exit_text[0] && !link->ready)
        snprintf(text, sizeof text, "the server %.400s", exit_text);
    else
        snprintf(text, sizeof text, "the server is %s", state);
    set_reason(link, text);
}

static void on_state(struct link *link, const json_t *message) {
    const char *state = message_text(message, "state");
    const json_t *server = json_object_get(message, "server");
    link->going = strcmp(state, "stopping") == 0 || strcmp(state, "stopped") == 0;
    link->ready = strcmp(state, "ready") == 0;
    if (link->ready) {
        link->port = (uint16_t)message_number(server, "http_port", link->port);
        note_generation(link, message, server);
    }
    note_reason(link, state, server);
    if (strcmp(state, "failed") == 0)
        link->events->failed(link->context, link->reason);
    else
        tell_changed(link);
}

static void on_welcome(struct link *link, const json_t *message) {
    snprintf(link->session, sizeof link->session, "%s", message_text(message, "session"));
    link->state = LINK_JOINED;
    link->joined_at = os_clock_ms();
    on_state(link, message);
}

static void on_refusal(struct link *link, const json_t *message) {
    char text[256];
    if (link->state != LINK_JOINING)
        return;
    if (strcmp(message_text(message, "code"), "stopping") == 0) {
        set_reason(link, "the server was being stopped");
        return; /* the end of the connection comes when the place is free */
    }
    snprintf(text, sizeof text, "the daemon refused: %.200s", message_text(message, "message"));
    link->tries = TRIES_MOST;
    set_reason(link, text);
}

static void on_message(struct link_wire *wire, const json_t *message) {
    struct link *link = wire->link;
    const char *type = message_text(message, "type");
    if (strcmp(type, "welcome") == 0) {
        on_welcome(link, message);
    } else if (strcmp(type, "state") == 0) {
        on_state(link, message);
    } else if (strcmp(type, "status") == 0) {
        link->in_doubt = false;
        on_state(link, message);
    } else if (strcmp(type, "ping") == 0) {
        message_send((uv_stream_t *)&wire->pipe, json_pack("{s:s}", "type", "pong"));
    } else if (strcmp(type, "error") == 0) {
        on_refusal(link, message);
    }
}

/* ---- the connection ---- */

static void wire_free(uv_handle_t *handle) {
    struct link_wire *wire = handle->data;
    if (--wire->open_handles > 0)
        return;
    lines_finish(&wire->lines);
    free(wire);
}

static void wire_close(struct link_wire *wire) {
    if (wire->link)
        wire->link->wire = NULL;
    wire->link = NULL;
    if (!uv_is_closing((uv_handle_t *)&wire->pipe))
        uv_close((uv_handle_t *)&wire->pipe, wire_free);
    if (!uv_is_closing((uv_handle_t *)&wire->again))
        uv_close((uv_handle_t *)&wire->again, wire_free);
}

static void on_lost(struct link_wire *wire) {
    struct link *link = wire->link;
    bool was_joined = link->state == LINK_JOINED;
    wire_close(wire);
    link->state = LINK_DOWN;
    link->ready = link->in_doubt = false;
    if (link->leaving) {
        link->left = true;
        tell_changed(link);
    } else if (was_joined && link->going) {
        fail(link, "the server was stopped; the next request starts it again");
        link->failed_at = 0;
    } else {
        if (was_joined && os_clock_ms() - link->joined_at > LASTING_MS)
            link->tries = 0;
        try_again(link, was_joined        ? "the daemon of the server ended unexpectedly"
                        : link->reason[0] ? link->reason
                                          : "the daemon of the server does not answer");
        tell_changed(link);
    }
}

static bool on_line(const char *line, size_t length, void *context) {
    struct link_wire *wire = context;
    json_t *message = message_parse(line, length, NULL);
    if (message && wire->link)
        on_message(wire, message);
    json_decref(message);
    return wire->link != NULL;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct link_wire *wire = handle->data;
    (void)suggested;
    *buf = uv_buf_init(wire->buffer, sizeof wire->buffer);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    struct link_wire *wire = stream->data;
    if (!wire->link)
        return;
    if (count >= 0 && lines_feed(&wire->lines, buf->base, (size_t)count, on_line, wire) == 0)
        return;
    if (wire->link)
        on_lost(wire);
}

static void say_hello(struct link_wire *wire) {
    struct os_identity self = {0};
    struct hello hello = {.protocol = TETHER_PROTOCOL,
                          .role = "front",
                          .version = tether_version,
                          .resume = wire->link->session};
    os_identity_self(&self);
    hello.pid = self.pid;
    hello.start = self.start;
    message_send((uv_stream_t *)&wire->pipe, hello_message(&hello));
    uv_read_start((uv_stream_t *)&wire->pipe, on_alloc, on_read);
}

static void connect_wire(struct link_wire *wire);

static void on_again(uv_timer_t *timer) {
    struct link_wire *wire = timer->data;
    if (wire->link)
        connect_wire(wire);
}

static void on_connected(uv_connect_t *connect, int status) {
    struct link_wire *wire = connect->data;
    if (!wire->link)
        return;
    if (status == UV_EAGAIN && wire->connects++ < CONNECTS_MOST)
        uv_timer_start(&wire->again, on_again, AGAIN_MS, 0);
    else if (status < 0)
        on_lost(wire);
    else
        say_hello(wire);
}

static void connect_wire(struct link_wire *wire) {
    uv_pipe_connect(&wire->connect, &wire->pipe, wire->path, on_connected);
}

static void begin_joining(struct link *link, const char *path) {
    struct link_wire *wire = calloc(1, sizeof *wire);
    if (!wire) {
        fail(link, "out of memory");
        return;
    }
    snprintf(wire->path, sizeof wire->path, "%s", path);
    uv_pipe_init(link->loop, &wire->pipe, 0);
    uv_timer_init(link->loop, &wire->again);
    wire->pipe.data = wire->again.data = wire->connect.data = wire;
    wire->open_handles = 2;
    wire->link = link;
    link->wire = wire;
    link->state = LINK_JOINING;
    connect_wire(wire);
}

/* ---- for the others ---- */

void link_init(struct link *link, uv_loop_t *loop, const struct options *options,
               const struct link_events *events, void *context) {
    *link = (struct link){.events = events,
                          .context = context,
                          .loop = loop,
                          .options = options,
                          .port = options->http_port};
}

/* A server that has given up gets one more try from a launch. */
void link_wake(struct link *link) {
    bool failed = link->state == LINK_JOINED && !link->ready &&
                  strncmp(link->reason, "the server failed", 17) == 0;
    if (link->leaving || (link->state != LINK_DOWN && !failed))
        return;
    if (link->failed_at && os_clock_ms() - link->failed_at < REST_MS) {
        link->events->failed(link->context, link->reason);
        return;
    }
    if (failed) {
        link->failed_at = os_clock_ms();
        wire_close(link->wire);
    }
    begin_launch(link);
}

void link_doubt(struct link *link) {
    if (link->state != LINK_JOINED || link->in_doubt)
        return;
    link->in_doubt = true;
    message_send((uv_stream_t *)&link->wire->pipe,
                 json_pack("{s:i, s:s}", "id", 1, "type", "status"));
}

void link_leave(struct link *link) {
    link->leaving = true;
    link->ready = false;
    if (link->launch)
        uv_process_kill(&link->launch->process, SIGTERM);
    if (link->state == LINK_JOINED)
        message_send((uv_stream_t *)&link->wire->pipe,
                     json_pack("{s:s, s:s}", "type", "leave", "reason", "quit"));
    else
        link->left = true;
}

void link_finish(struct link *link) {
    if (link->launch) {
        link->launch->link = NULL;
        link->launch = NULL;
    }
    if (link->wire)
        wire_close(link->wire);
}
