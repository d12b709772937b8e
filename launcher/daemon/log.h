/* The logs of an instance: launcher.log and server.log, bounded and readable whatever comes in.
 *
 * A line of a file is "2026-01-31T12:34:56.789Z STREAM text\n". What a server writes is cut into
 * lines; a line longer than LOG_LINE_MAX is broken, so that output without newlines is
 * neither held back nor collected. Colour sequences are dropped, other control bytes and broken
 * UTF-8 become visible. A file that has reached its size becomes .1, .1 becomes .2, and so on; so
 * logging can neither fill the disk nor fail in a way that matters: what cannot be written is lost,
 * and counted. */
#ifndef TETHER_DAEMON_LOG_H
#define TETHER_DAEMON_LOG_H

#include <stdint.h>

#include "echo.h"
#include "os/os.h"
#include "readable.h"

#define LOG_FILE_SIZE  ((uint64_t)1024 * 1024)
#define LOG_FILES      3 /* generations, the current one included */
#define LOG_LINE_MAX   4096
#define LOG_BATCH      (READABLE_GROWTH * LOG_LINE_MAX + 4096)
#define LOG_LAST_LINES 10

enum log_stream { LOG_STDOUT, LOG_STDERR, LOG_LAUNCHER, LOG_STREAMS };

const char *log_stream_name(enum log_stream stream);

/* Told of each line, just before it is written. The text is valid UTF-8 without control characters.
 * Says nothing itself: the line is where the next one goes. */
typedef void (*log_line_fn)(void *context, enum log_stream stream, const char *text,
                            uint64_t number);

struct log_file {
    const char *name;
    os_handle handle;
    uint64_t size;
};

/* A line of which not everything has come. */
struct log_pending {
    char *bytes; /* LOG_LINE_MAX, made when first needed */
    size_t length;
    bool broken; /* a part of it has gone already */
};

struct log {
    const struct os_dir *dir; /* borrowed */
    struct log_file server, launcher;
    struct log_pending pending[2]; /* stdout and stderr */
    bool echoes;                   /* lines go to the terminal, too */
    struct echo echo;
    uint64_t number;            /* of the last line */
    char began[32];             /* when; lines of the file sort by such stamps */
    uint64_t lost;              /* bytes that could not be written */
    char *last[LOG_LAST_LINES]; /* of the server's current run, a ring */
    unsigned last_count;
    log_line_fn on_line;
    void *context;
    /* A line of our own, then lines on their way; here, for a stack stays as deep as it was once.
     */
    char own[LOG_LINE_MAX], batch[LOG_BATCH];
};

/* The time as it stands before each line of a file. */
void log_stamp(char out[32]);

/* Never fails: a log that cannot be written is an empty one. on_line may be NULL. */
void log_init(struct log *log, const struct os_dir *dir, bool echo, log_line_fn on_line,
              void *context);

/* Closes the files; they are looked up again: somebody may have removed them. */
void log_reopen(struct log *log);
void log_finish(struct log *log);

/* A line of our own. */
void log_say(struct log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Bytes that the server wrote to one of its streams, as they come. */
void log_server_output(struct log *log, enum log_stream stream, const char *bytes, size_t count);

/* The server's streams have ended: what has come of a line is a line. */
void log_server_end(struct log *log);

/* A new run begins: the last lines of the one before are forgotten. */
void log_server_begin(struct log *log);

/* The last lines of this run, oldest first, joined by newlines into `out`. */
void log_last_lines(const struct log *log, char *out, size_t size);

/* Calls `fn` with the last `count` lines of server.log and its older generations, oldest first.
 * `fn` gets whole lines as they stand in the file. Needs no log: the files are enough. */
typedef void (*log_tail_fn)(void *context, const char *line, size_t length);
int log_tail(const struct os_dir *dir, const char *name, size_t count, log_tail_fn fn,
             void *context);

#endif
