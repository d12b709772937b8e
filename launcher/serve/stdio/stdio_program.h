/* A program with which we speak in lines, over its standard input and output.
 *
 * It is kept running: after an end that nobody asked for it is started again, at once at first and
 * then later and later, until it has ended too often. It is started as `tether mcp -- COMMAND`,
 * which ends all of its processes with it, and all of them if we die; its standard error is ours.
 */
#ifndef TETHER_SERVE_STDIO_PROGRAM_H
#define TETHER_SERVE_STDIO_PROGRAM_H

#include <uv.h>

#include "buffer.h"
#include "error.h"
#include "lifecycle/crashes.h"
#include "options/options.h"

enum {
    STDIO_LINE_MOST = 64 * 1024 * 1024, /* what it says in one line */
    STDIO_EDGE = 512,                   /* what is kept of a longer one: its beginning and end */
    STDIO_QUEUE_MOST = 16 * 1024 * 1024 /* what waits to be read by it */
};

struct stdio_program;
struct stdio_run;

/* All come out of the loop. */
struct stdio_program_events {
    void (*started)(void *context);
    void (*line)(void *context, char *line, size_t length);
    /* A line that was too long: its beginning and its end. */
    void (*overlong)(void *context, char *edges, size_t length);
    /* It has ended, and `how` says how. It is started again, unless that is `final`. */
    void (*lost)(void *context, const char *how, bool final);
    void (*over)(void *context); /* after stdio_program_end: nothing of it is left */
};

struct stdio_program {
    uv_loop_t *loop;
    const struct options *options;
    const struct stdio_program_events *events;
    void *context;
    struct stdio_run *run; /* NULL: it does not run */
    uv_timer_t timer;      /* until it is started again, or asked to end in another way */
    struct crashes crashes;
    int64_t ready_at; /* 0: this run has not been ready */
    int64_t late_at;  /* when it should have been */
    bool was_ready, ending;
    unsigned starts;
    struct buffer line;
    bool overlong;
    char read_buffer[65536];
};

/* Starts it. In zeroed memory, which is the caller's again after `over`. */
void stdio_program_start(struct stdio_program *program);

/* It has shown that it works. */
void stdio_program_ready(struct stdio_program *program);

/* False: it does not run, or is about to end. */
bool stdio_program_hears(const struct stdio_program *program);

/* A line with its newline. False: it is not there, or does not read what it is sent. */
bool stdio_program_send(struct stdio_program *program, const struct buffer *line);

/* 0: it does not run. */
int64_t stdio_program_pid(const struct stdio_program *program);

/* Ends it in order: its input is closed, then it is asked, then killed. */
void stdio_program_end(struct stdio_program *program);

#endif
