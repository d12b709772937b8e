#include "client_io.h"

#include <stdlib.h>
#include <string.h>

#include "os/os.h"

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
        return 0;
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

/* A last line without an end is a line. */
static void take_end(struct client_reader *input) {
    if (input->ended)
        return;
    input->ended = true;
    if (input->line.length > 0 || input->overlong)
        end_line(input);
    input->events->ended(input->context);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct client_reader *input = handle->data;
    (void)suggested;
    *buf = uv_buf_init(input->buffer, sizeof input->buffer);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    struct client_reader *input = stream->data;
    if (count > 0) {
        take_bytes(input, buf->base, (size_t)count);
    } else if (count < 0) {
        uv_read_stop(stream);
        take_end(input);
    }
}

static void set_reading(struct client_reader *input);

static void on_file_read(uv_fs_t *request) {
    struct client_reader *input = request->data;
    ssize_t count = request->result;
    uv_fs_req_cleanup(request);
    if (count > 0 && !input->closed)
        take_bytes(input, input->buffer, (size_t)count);
    input->reading = false; /* only now: the buffer was in use */
    if (count <= 0 && !input->closed)
        take_end(input);
    else
        set_reading(input);
}

static void read_file(struct client_reader *input) {
    uv_buf_t buf = uv_buf_init(input->buffer, sizeof input->buffer);
    input->read.data = input;
    input->reading =
        uv_fs_read(input->handle.any.loop, &input->read, 0, &buf, 1, -1, on_file_read) == 0;
}

static void set_reading(struct client_reader *input) {
    bool wanted = !input->paused && !input->ended && !input->closed;
    if (wanted == input->reading)
        return;
    if (input->is_file) {
        if (wanted)
            read_file(input); /* a step that is under way comes to its end by itself */
        return;
    }
    input->reading = wanted;
    if (wanted)
        uv_read_start(&input->handle.stream, on_alloc, on_read);
    else
        uv_read_stop(&input->handle.stream);
}

int input_init(struct client_reader *input, uv_loop_t *loop, const struct input_events *events,
               void *context) {
    int rc;
    memset(input, 0, offsetof(struct client_reader, buffer));
    input->events = events;
    input->context = context;
    rc = open_handle(&input->handle, loop, 0, &input->is_file);
    if (rc < 0)
        return rc;
    input->handle.any.data = input;
    input->handle.any.loop = loop;
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
    if (input->is_file)
        uv_cancel((uv_req_t *)&input->read);
    else
        uv_close(&input->handle.any, NULL);
}

/* ---- output ---- */

struct piece {
    uv_write_t write;
    struct output *output;
    size_t length;
    char bytes[];
};

static void on_written(uv_write_t *write, int status) {
    struct piece *piece = write->data;
    struct output *output = piece->output;
    free(piece);
    if (status < 0)
        output->broken = true;
    if (!output->closed)
        output->drained(output->context);
}

static struct piece *piece_create(const char *line, size_t length) {
    struct piece *piece = malloc(sizeof *piece + length + 1);
    if (!piece)
        return NULL;
    piece->length = length + 1;
    memcpy(piece->bytes, line, length);
    for (char *at = piece->bytes; (at = memchr(at, '\n', length - (size_t)(at - piece->bytes)));)
        *at = ' ';
    for (char *at = piece->bytes; (at = memchr(at, '\r', length - (size_t)(at - piece->bytes)));)
        *at = ' ';
    piece->bytes[length] = '\n';
    return piece;
}

static void write_stream(struct output *output, struct piece *piece) {
    uv_buf_t buf = uv_buf_init(piece->bytes, (unsigned)piece->length);
    int sent = uv_try_write(&output->handle.stream, &buf, 1);
    if (sent == (int)piece->length) {
        free(piece);
        return;
    }
    if (sent > 0)
        buf = uv_buf_init(piece->bytes + sent, (unsigned)(piece->length - (size_t)sent));
    piece->output = output;
    piece->write.data = piece;
    if (uv_write(&piece->write, &output->handle.stream, &buf, 1, on_written) < 0) {
        output->broken = true;
        free(piece);
    }
}

void output_line(struct output *output, const char *line, size_t length) {
    struct piece *piece = output->broken || output->closed ? NULL : piece_create(line, length);
    if (!piece)
        return;
    if (!output->is_file) {
        write_stream(output, piece);
        return;
    }
    if (os_write(1, piece->bytes, piece->length) < 0)
        output->broken = true;
    free(piece);
}

size_t output_pending(const struct output *output) {
    if (output->is_file || output->broken || output->closed)
        return 0;
    return uv_stream_get_write_queue_size(&output->handle.stream);
}

int output_init(struct output *output, uv_loop_t *loop, void (*drained)(void *context),
                void *context) {
    int rc;
    memset(output, 0, sizeof *output);
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
    if (!output->is_file)
        uv_close(&output->handle.any, NULL);
}
