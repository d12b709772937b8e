#include "client_io.h"

#include <string.h>

#include "os/os.h"
#include "protocol/lines.h"

static int open_handle(union stream_handle *handle, uv_loop_t *loop, int number, bool *is_file) {
    int rc;
    *is_file = false;
    switch (uv_guess_handle(number)) {
    case UV_TTY:
        return uv_tty_init(loop, &handle->tty, number, 0);
    case UV_NAMED_PIPE:
        rc = uv_pipe_init(loop, &handle->pipe, 0);
        return rc < 0 ? rc : uv_pipe_open(&handle->pipe, number);
    case UV_TCP:
        rc = uv_tcp_init(loop, &handle->tcp);
        return rc < 0 ? rc : uv_tcp_open(&handle->tcp, number);
    default:
        *is_file = true;
        return uv_idle_init(loop, &handle->idle);
    }
}

/* ---- input ---- */

static void end_line(struct client_reader *input) {
    size_t length = input->line.length;
    if (input->overlong) {
        input->overlong = false;
        input->events->overlong(input->context);
    } else {
        if (length > 0 && input->line.data[length - 1] == '\r')
            length--;
        if (length > 0)
            input->events->line(input->context, input->line.data, length);
    }
    buffer_clear(&input->line, BUFFER_KEPT);
}

/* From the first byte beyond the limit on the line is not kept. */
static void add_to_line(struct client_reader *input, const char *bytes, size_t count) {
    if (input->line.length + count > INPUT_KEPT_MAX)
        input->overlong = true;
    if (input->overlong)
        buffer_clear(&input->line, BUFFER_KEPT);
    else
        buffer_add(&input->line, bytes, count);
}

static void take_bytes(struct client_reader *input, const char *bytes, size_t count) {
    while (count > 0 && !input->closed) {
        const char *newline = memchr(bytes, '\n', count);
        size_t length = newline ? (size_t)(newline - bytes) : count;
        add_to_line(input, bytes, length);
        if (newline) {
            end_line(input);
            length++;
        }
        bytes += length;
        count -= length;
    }
}

static void set_reading(struct client_reader *input);

/* A last line without an end is a line. */
static void take_end(struct client_reader *input) {
    if (input->ended)
        return;
    input->ended = true;
    set_reading(input);
    if (input->line.length > 0 || input->overlong)
        end_line(input);
    input->events->ended(input->context);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct client_reader *input = handle->data;
    (void)suggested;
    *buf = uv_buf_init(input->buffer, sizeof input->buffer);
}

/* Nothing, or an error, is the end. */
static void take(struct client_reader *input, ssize_t count) {
    if (count > 0)
        take_bytes(input, input->buffer, (size_t)count);
    else
        take_end(input);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    (void)buf;
    if (count != 0)
        take(stream->data, count);
}

/* A file never lets anybody wait, so it is read piece by piece as the loop turns. */
static void on_turn(uv_idle_t *idle) {
    struct client_reader *input = idle->data;
    uv_buf_t buf = uv_buf_init(input->buffer, sizeof input->buffer);
    uv_fs_t request;
    ssize_t count = uv_fs_read(idle->loop, &request, 0, &buf, 1, -1, NULL);
    uv_fs_req_cleanup(&request);
    take(input, count);
}

static void set_reading(struct client_reader *input) {
    bool wanted = !input->paused && !input->ended && !input->closed;
    if (wanted == input->reading || input->closed)
        return;
    input->reading = wanted;
    if (input->is_file && wanted)
        uv_idle_start(&input->handle.idle, on_turn);
    else if (input->is_file)
        uv_idle_stop(&input->handle.idle);
    else if (wanted)
        uv_read_start(&input->handle.stream, on_alloc, on_read);
    else
        uv_read_stop(&input->handle.stream);
}

int input_init(struct client_reader *input, uv_loop_t *loop, const struct input_events *events,
               void *context) {
    int rc;
    input->events = events;
    input->context = context;
    rc = open_handle(&input->handle, loop, 0, &input->is_file);
    if (rc < 0)
        return rc;
    input->handle.any.data = input;
    set_reading(input);
    return 0;
}

void input_pause(struct client_reader *input, bool paused) {
    input->paused = paused;
    set_reading(input);
}

void input_finish(struct client_reader *input) {
    if (input->closed)
        return;
    input->closed = true;
    buffer_finish(&input->line);
    uv_close(&input->handle.any, NULL);
}

/* ---- output ---- */

static void on_sent(uv_stream_t *stream, int status) {
    struct output *output = stream->data;
    if (status < 0)
        output->broken = true;
    if (!output->closed)
        output->drained(output->context);
}

void output_line(struct output *output, const char *line, size_t length) {
    struct buffer text = {0};
    int rc = 0;
    if (output->broken || output->closed)
        return;
    buffer_add(&text, line, length);
    for (size_t i = 0; i < text.length; i++)
        if (text.data[i] == '\n' || text.data[i] == '\r')
            text.data[i] = ' ';
    buffer_add_char(&text, '\n');
    if (!text.failed && output->is_file)
        rc = os_write(1, text.data, text.length);
    else if (!text.failed)
        rc = line_send(&output->handle.stream, text.data, text.length, on_sent);
    if (rc < 0)
        output->broken = true;
    buffer_finish(&text);
}

size_t output_pending(const struct output *output) {
    if (output->is_file || output->broken || output->closed)
        return 0;
    return uv_stream_get_write_queue_size(&output->handle.stream);
}

int output_init(struct output *output, uv_loop_t *loop, void (*drained)(void *context),
                void *context) {
    int rc;
    output->drained = drained;
    output->context = context;
    rc = open_handle(&output->handle, loop, 1, &output->is_file);
    if (rc == 0)
        output->handle.any.data = output;
    return rc;
}

void output_finish(struct output *output) {
    if (output->closed)
        return;
    output->closed = true;
    uv_close(&output->handle.any, NULL);
}
