/* `tether serve`: sockets, readiness, and an orderly end. */
#include "serve.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "exit_code.h"
#include "memory.h"
#include "protocol/version.h"
#include "serve/mcp/mcp.h"
#include "serve/mcp/sessions.h"
#include "serve/mcp/subscriptions.h"
#include "serve/relay/calls.h"
#include "serve/relay/editors.h"
#include "serve/relay/expect.h"
#include "serve/stdio/stdio_server.h"

enum { SERVE_BACKLOG = 511 };

/* ---- sockets ---- */

static int explain_busy(uint16_t port, struct error *err) {
    struct os_port_holder holder;
    int rc = os_port_holder(port, &holder);
    if (rc == 0 && holder.hidden_pid != 0)
        return error_set(err, UV_EADDRINUSE,
                         "port %u is in use by process %lld (%.160s), of which the system tells us "
                         "no more: choose other ports with --http-port and --ws-port",
                         (unsigned)port, (long long)holder.hidden_pid, holder.executable);
    if (rc < 0 || holder.identity.pid == 0)
        return err->code;
    return error_set(err, UV_EADDRINUSE,
                     "port %u is in use by process %lld (%.160s): stop it, or choose other ports "
                     "with --http-port and --ws-port",
                     (unsigned)port, (long long)holder.identity.pid, holder.command);
}

static int open_port(os_handle *handle, uint16_t port, struct error *err) {
    int rc = os_port_try(port, err);
    if (rc == 0)
        rc = os_listen(handle, port, SERVE_BACKLOG, err);
    return rc == UV_EADDRINUSE ? explain_busy(port, err) : rc;
}

/* The socket for this place: handed down, or opened here. */
static int get_socket(struct serve *serve, os_handle *handle, size_t place, uint16_t *port,
                      struct error *err) {
    if (place >= serve->inherited_count)
        return open_port(handle, *port, err);
    *handle = serve->inherited[place];
    if (os_socket_port(*handle, port) < 0)
        return error_set(err, UV_EINVAL,
                         "what was handed down as listening socket %u (LISTEN_FDS) is none",
                         (unsigned)place + 1);
    return 0;
}

static int start_http(struct serve *serve, struct error *err) {
    os_handle handle = OS_NO_HANDLE;
    int rc = get_socket(serve, &handle, 0, &serve->http_port, err);
    const char *token = os_variable("TETHER_HTTP_TOKEN");
    if (rc < 0)
        return rc;
    serve->http.port = serve->http_port;
    serve->http.token = token && token[0] ? token : NULL;
    serve->http.on_request = mcp_on_request;
    serve->http.context = serve;
    rc = http_server_init(&serve->http, &serve->loop, &serve->deadlines, handle);
    if (rc < 0)
        return error_set(err, rc, "cannot serve on port %u: %s", (unsigned)serve->http.port,
                         uv_strerror(rc));
    return 0;
}

static int start_editors(struct serve *serve, struct error *err) {
    const char *token = os_variable("TETHER_WS_TOKEN");
    os_handle handle = OS_NO_HANDLE;
    int rc;
    if (serve->ws_port == 0)
        return 0;
    if (!token || !token[0]) {
        fprintf(stderr, "tether serve: TETHER_WS_TOKEN is not set, so no editor can connect; "
                        "`tether launch` and `tether run` set it\n");
        serve->ws_port = 0;
        return 0;
    }
    rc = get_socket(serve, &handle, 1, &serve->ws_port, err);
    return rc < 0 ? rc
                  : editor_socket_listen(&serve->editor_sockets, &serve->loop, handle, token,
                                         &editor_events, serve, err);
}

/* ---- the end ---- */

/* Being asked again must not end us before those behind us. */
static void stop_listening_to_wishes(struct serve *serve) {
    os_wishes_destroy(serve->wishes);
}

static void stop(struct serve *serve) {
    if (serve->stopped)
        return;
    serve->stopped = true;
    calls_end(serve);
    expect_stop(serve);
    sessions_finish(serve);
    editor_socket_server_finish(&serve->editor_sockets);
    http_server_finish(&serve->http);
    deadlines_finish(&serve->deadlines);
    uv_close((uv_handle_t *)&serve->input, NULL);
    uv_close((uv_handle_t *)&serve->drain_timer, NULL);
    stdio_end(serve, stop_listening_to_wishes);
}

/* What is still under way gets its answer now; connections have a moment to take it. */
static void on_drain_over(uv_timer_t *timer) {
    struct serve *serve = timer->data;
    if (serve->call_count > 0 && serve->http.connections) {
        calls_end(serve);
        uv_timer_start(timer, on_drain_over, SERVE_DRAIN_MS / 3, 0);
        return;
    }
    serve->http.on_drained = NULL;
    stop(serve);
}

/* The last connection may have ended in the middle of something. */
static void on_drained(void *context) {
    struct serve *serve = context;
    uv_timer_start(&serve->drain_timer, on_drain_over, 0, 0);
}

static void begin_end(struct serve *serve) {
    if (serve->ending)
        return;
    serve->ending = true;
    uv_timer_start(&serve->drain_timer, on_drain_over, SERVE_DRAIN_MS, 0);
    serve->http.on_drained = on_drained;
    listen_finish(serve);
    sessions_close_streams(serve);
    http_server_drain(&serve->http);
}

/* Who asks twice does not want to wait. */
static void on_wish(void *context, enum os_wish wish) {
    struct serve *serve = context;
    (void)wish;
    begin_end(serve);
    if (serve->asked_to_end)
        on_drain_over(&serve->drain_timer);
    serve->asked_to_end = true;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct serve *serve = handle->data;
    (void)suggested;
    *buf = uv_buf_init(serve->unread, sizeof serve->unread);
}

static void on_input(uv_stream_t *input, ssize_t count, const uv_buf_t *buf) {
    (void)buf;
    if (count < 0) {
        uv_read_stop(input);
        begin_end(input->data);
    }
}

/* A daemon ends us by closing our input, before anything else and on every system. Of others, a
 * terminal, /dev/null or a pipe that was at its end from the start means nothing of that kind. */
static void watch_input(struct serve *serve) {
    uv_pipe_init(&serve->loop, &serve->input, 0);
    serve->input.data = serve;
    if (os_variable("TETHER_DAEMON") && uv_guess_handle(0) == UV_NAMED_PIPE &&
        uv_pipe_open(&serve->input, 0) == 0)
        uv_read_start((uv_stream_t *)&serve->input, on_alloc, on_input);
}

/* ---- the whole ---- */

uint64_t serve_interval(const char *variable, uint64_t fallback) {
    const char *given = os_variable(variable);
    uint64_t number = 0;
    char *end = NULL;
    if (!given)
        return fallback;
    if (given[0] >= '0' && given[0] <= '9')
        number = strtoull(given, &end, 10);
    if (end && *end == 0 && number > 0 && number <= UINT32_MAX)
        return number;
    fprintf(stderr, "tether: warning: %s: '%.40s' is not valid here; the default is taken\n",
            variable, given);
    return fallback;
}

/* Of a kept secret; or of the daemon's token, which is good for its life; or of one of our own. */
static void make_key(struct serve *serve) {
    const char *token = os_variable("TETHER_WS_TOKEN");
    uint8_t secret[32] = {0};
    const void *from = secret;
    size_t length = sizeof secret;
    if (!kept_secret(serve, secret)) {
        os_random(secret, sizeof secret);
        if (token && token[0]) {
            from = token;
            length = strlen(token);
        }
    }
    seal_key_derive(&serve->key, from, length, "sessions and states");
}

static void init(struct serve *serve, const struct options *options) {
    serve->options = options;
    kept_open(serve);
    serve->http_port = options->http_port;
    serve->ws_port = options->ws_port;
    serve->started_at = os_clock_ms();
    os_identity_self(&serve->self);
    make_key(serve);
    serve->inherited_count = os_inherited_listeners(serve->inherited, 2);
    uv_loop_init(&serve->loop);
    deadlines_init(&serve->deadlines, &serve->loop);
    uv_timer_init(&serve->loop, &serve->drain_timer);
    serve->drain_timer.data = serve;
    watch_input(serve);
    os_wishes_create(&serve->wishes, &serve->loop, OS_WISH_END, on_wish, serve);
    calls_init(serve);
    expect_init(serve);
}

static void finish(struct serve *serve) {
    uv_loop_close(&serve->loop);
    editors_finish(serve);
    expect_finish(serve);
    kept_finish(serve);
    json_decref(serve->selections);
    json_decref(serve->watched);
    json_decref(serve->presented);
    free(serve);
}

static void tell_ready(const struct serve *serve) {
    int rc;
    memory_survive(); /* from here on one request may fail, and the others not */
    rc = os_ready_tell(OS_IS_READY);
    if (rc < 0)
        fprintf(stderr, "tether serve: cannot tell that it is ready (%s): %s\n", os_ready_variable,
                uv_strerror(rc));
    printf("tether serve: http://127.0.0.1:%u/mcp\n", (unsigned)serve->http_port); /* no error */
    fflush(stdout);
}

/* Lets clients in. */
static void open_all(struct serve *serve) {
    struct error err = {0};
    int rc = start_http(serve, &err);
    if (rc == 0)
        rc = start_editors(serve, &err);
    if (rc == 0) {
        tell_ready(serve);
        return;
    }
    serve->exit_code = exit_failing(rc == UV_EADDRINUSE ? EXIT_PORT_HELD : EXIT_FAILED, &err);
    stop(serve);
}

/* Without the server behind us there is nothing to serve. */
static void on_stdio_failed(struct serve *serve) {
    serve->exit_code = EXIT_FAILED;
    if (serve->http.listening)
        begin_end(serve);
    else
        stop(serve);
}

int command_serve(const struct options *options) {
    struct serve *serve = memory_zeroed(sizeof *serve);
    int exit_code;
    init(serve, options);
    if (options->stdio)
        stdio_begin(serve, open_all, on_stdio_failed);
    else
        open_all(serve);
    uv_run(&serve->loop, UV_RUN_DEFAULT);
    exit_code = serve->exit_code;
    finish(serve);
    return exit_code;
}
