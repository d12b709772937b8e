#include "ready.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "memory.h"
#include "must.h"
#include "orphans.h"

enum { FIRST_DELAY_MS = 5, MOST_DELAY_MS = 100 };

/* One try: a connection, and over it perhaps one request. Freed by the loop. */
struct ready_probe {
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_write_t write;
    struct ready *ready; /* NULL: nobody waits for this one any more */
    char request[640];
    size_t length;   /* of what has come */
    char answer[16]; /* as much of it as has the status in it, terminated */
};

static void schedule(struct ready *ready);

static void succeed(struct ready *ready) {
    ready_end(ready);
    ready->on_ready(ready->context);
}

/* ---- trying ---- */

static void probe_close(struct ready_probe *probe) {
    if (probe->ready)
        probe->ready->probe = NULL;
    probe->ready = NULL;
    if (!uv_is_closing((uv_handle_t *)&probe->tcp))
        uv_close((uv_handle_t *)&probe->tcp, memory_free_data);
}

/* Whether a port was taken since it was tried, by the server of another daemon: that one has
 * accepted. */
static bool is_anothers(uint16_t port) {
    struct os_port_holder holder;
    return os_port_holder(port, &holder) == 0 && holder.listening &&
           orphans_is_others(&holder.identity);
}

/* The try is over. Of two ports the second is tried as soon as the first accepts. */
static void probe_done(struct ready_probe *probe, bool good) {
    struct ready *ready = probe->ready;
    probe_close(probe);
    if (!ready)
        return;
    if (!good || is_anothers(ready->next_port)) {
        schedule(ready);
        return;
    }
    if (options_ready(ready->options) == READY_PORTS &&
        ready->next_port == ready->options->http_port)
        ready->next_port = ready->options->ws_port;
    else
        ready->next_port = 0;
    if (ready->next_port == 0) {
        succeed(ready);
    } else {
        ready->delay_ms = 0;
        schedule(ready);
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct ready_probe *probe = handle->data;
    (void)suggested;
    *buf = uv_buf_init(probe->answer + probe->length,
                       (unsigned)(sizeof probe->answer - 1 - probe->length));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    struct ready_probe *probe = stream->data;
    int status = 0;
    (void)buf;
    if (!probe->ready)
        return;
    probe->length += count > 0 ? (size_t)count : 0;
    if (count >= 0 && probe->length < sizeof probe->answer - 1)
        return;
    sscanf(probe->answer, "HTTP/1.%*1[01] %3d", &status);
    probe_done(probe, status >= 200 && status < 400);
}

static void on_written(uv_write_t *write, int status) {
    struct ready_probe *probe = write->data;
    if (status < 0)
        probe_done(probe, false);
}

static void ask(struct ready_probe *probe) {
    const struct options *options = probe->ready->options;
    uv_buf_t buf;
    int length = snprintf(probe->request, sizeof probe->request,
                          "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n",
                          options->ready_path, (unsigned)options->http_port);
    buf = uv_buf_init(probe->request, (unsigned)length);
    probe->write.data = probe;
    if (uv_write(&probe->write, (uv_stream_t *)&probe->tcp, &buf, 1, on_written) < 0 ||
        uv_read_start((uv_stream_t *)&probe->tcp, on_alloc, on_read) < 0)
        probe_done(probe, false);
}

static void on_connect(uv_connect_t *connect, int status) {
    struct ready_probe *probe = connect->data;
    if (status < 0 || !probe->ready)
        probe_done(probe, false);
    else if (options_ready(probe->ready->options) == READY_HTTP)
        ask(probe);
    else
        probe_done(probe, true);
}

static void on_timer(uv_timer_t *timer) {
    struct ready *ready = timer->data;
    struct ready_probe *probe;
    struct sockaddr_storage address;
    if (options_ready(ready->options) == READY_NONE) {
        succeed(ready);
        return;
    }
    must(!ready->probe); /* one at a time */
    probe = calloc(1, sizeof *probe);
    if (!probe || uv_tcp_init(ready->loop, &probe->tcp) < 0) {
        free(probe);
        schedule(ready);
        return;
    }
    probe->tcp.data = probe;
    probe->connect.data = probe;
    probe->ready = ready;
    ready->probe = probe;
    uv_ip4_addr("127.0.0.1", ready->next_port, (struct sockaddr_in *)&address);
    if (uv_tcp_connect(&probe->connect, &probe->tcp, (struct sockaddr *)&address, on_connect) < 0)
        probe_done(probe, false);
}

static void schedule(struct ready *ready) {
    if (!ready->waiting)
        return;
    uv_timer_start(&ready->timer, on_timer, ready->delay_ms, 0);
    ready->delay_ms = ready->delay_ms ? ready->delay_ms * 2 : FIRST_DELAY_MS;
    if (ready->delay_ms > MOST_DELAY_MS)
        ready->delay_ms = MOST_DELAY_MS;
}

/* ---- the whole ---- */

static void on_told(void *context) {
    struct ready *ready = context;
    if (ready->waiting)
        succeed(ready);
}

int ready_init(struct ready *ready, uv_loop_t *loop, const struct options *options,
               const struct os_dir *dir, void (*on_ready)(void *context), void *context,
               struct error *err) {
    *ready =
        (struct ready){.loop = loop, .options = options, .on_ready = on_ready, .context = context};
    uv_timer_init(loop, &ready->timer);
    ready->timer.data = ready;
    return options_ready(options) == READY_NOTIFY
               ? os_ready_listen(&ready->told, loop, dir, on_told, ready, err)
               : 0;
}

int ready_listen(struct ready *ready, const struct os_dir *dir, struct error *err) {
    struct os_ready *told;
    int rc;
    if (!ready->told || os_ready_is_there(ready->told))
        return 0;
    rc = os_ready_listen(&told, ready->loop, dir, on_told, ready, err);
    if (rc < 0)
        return rc;
    os_ready_close(ready->told);
    ready->told = told;
    return 0;
}

const char *ready_place(const struct ready *ready) {
    return ready->told ? os_ready_place(ready->told) : NULL;
}

void ready_begin(struct ready *ready) {
    ready_end(ready);
    ready->waiting = true;
    ready->next_port = ready->options->http_port;
    ready->delay_ms = 0;
    if (ready->told)
        os_ready_forget(ready->told);
    else
        schedule(ready);
}

void ready_end(struct ready *ready) {
    ready->waiting = false;
    uv_timer_stop(&ready->timer);
    if (ready->probe)
        probe_close(ready->probe);
}

void ready_finish(struct ready *ready) {
    ready_end(ready);
    uv_close((uv_handle_t *)&ready->timer, NULL);
    os_ready_close(ready->told);
    ready->told = NULL;
}
