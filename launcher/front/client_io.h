/* Standard input and output as they are given to us: pipes, sockets, terminals or files.
 *
 * In come lines, out go lines; each goes out whole. Neither side is read faster than the other one
 * takes: `input_pause` and `output_pending` are for whoever connects the two. */
#ifndef TETHER_FRONT_CLIENT_IO_H
#define TETHER_FRONT_CLIENT_IO_H

#include <stdint.h>
#include <uv.h>

#include "blob.h"
#include "buffer.h"
#include "json_scan.h"

enum { INPUT_KEPT_MAX = 64 * 1024 * 1024 };

union stream_handle {
    uv_handle_t any;
    uv_stream_t stream;
    uv_pipe_t pipe;
    uv_tcp_t tcp;
    uv_tty_t tty;
    uv_idle_t idle; /* for a file, which is no handle of the loop's */
};

struct input_events {
    /* A line without its end. */
    void (*line)(void *context, const char *line, size_t length);
    /* A line that was too long to keep. */
    void (*overlong)(void *context);
    void (*ended)(void *context);
};

struct client_reader {
    const struct input_events *events;
    void *context;
    union stream_handle handle;
    bool is_file, reading, paused, ended, closed;
    struct buffer line;
    bool overlong; /* the line is beyond its limit */
    char buffer[65536];
};

/* In zeroed memory, as the output. */
int input_init(struct client_reader *input, uv_loop_t *loop, const struct input_events *events,
               void *context);
void input_pause(struct client_reader *input, bool paused);
void input_finish(struct client_reader *input);

struct output {
    union stream_handle handle;
    bool is_file, closed, broken;   /* broken: nobody reads it any more */
    void (*drained)(void *context); /* something has gone out, or cannot any more */
    void *context;
};

int output_init(struct output *output, uv_loop_t *loop, void (*drained)(void *context),
                void *context);

/* Writes one line. Newlines within a JSON message stand between its tokens, and become spaces. */
void output_line(struct output *output, const char *line, size_t length);

/* Bytes that the other side has not taken. */
size_t output_pending(const struct output *output);

void output_finish(struct output *output);

#endif
