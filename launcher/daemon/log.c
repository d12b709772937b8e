#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <uv.h>

#include "memory.h"
#include "utf8.h"

enum { PREFIX_MAX = 48 /* time and stream */ };

/* Lines on their way to a file, in the log's bytes for that: one write for all that came at once.
 */
struct batch {
    struct log_file *file;
    size_t length;
    char stamp[32];
};

const char *log_stream_name(enum log_stream stream) {
    static const char *const names[LOG_STREAMS] = {"stdout", "stderr", "launcher"};
    return names[stream];
}

/* ---- files ---- */

static void generation_name(char out[64], const char *name, int generation) {
    snprintf(out, 64, generation ? "%s.%d" : "%s", name, generation);
}

static void file_open(struct log *log, struct log_file *file) {
    if (os_file_append(log->dir, file->name, &file->handle, &file->size) < 0)
        file->handle = OS_NO_HANDLE;
}

static void file_rotate(struct log *log, struct log_file *file) {
    char from[64], to[64];
    os_handle_close(&file->handle);
    for (int generation = LOG_FILES - 1; generation > 0; generation--) {
        generation_name(from, file->name, generation - 1);
        generation_name(to, file->name, generation);
        os_file_rename(log->dir, from, to);
    }
    file_open(log, file);
}

static void file_write(struct log *log, struct log_file *file, const char *bytes, size_t count) {
    if (file->handle == OS_NO_HANDLE)
        file_open(log, file);
    if (file->handle != OS_NO_HANDLE && file->size + count > LOG_FILE_SIZE && file->size > 0)
        file_rotate(log, file);
    if (file->handle == OS_NO_HANDLE || (file->size > 0 && file->size + count > LOG_FILE_SIZE) ||
        os_write(file->handle, bytes, count) < 0)
        log->lost += count;
    else
        file->size += count;
}

/* ---- lines ---- */

void log_stamp(char out[32]) {
    uv_timeval64_t now;
    struct tm parts;
    uv_gettimeofday(&now);
    if (!os_utc(now.tv_sec, &parts) || strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &parts) == 0)
        out[0] = 0;
    snprintf(out + strlen(out), 32 - strlen(out), ".%03dZ", (int)(now.tv_usec / 1000));
}

static void batch_init(struct batch *batch, struct log_file *file) {
    *batch = (struct batch){.file = file};
    log_stamp(batch->stamp);
}

static void batch_flush(struct log *log, struct batch *batch) {
    if (batch->length > 0)
        file_write(log, batch->file, log->batch, batch->length);
    batch->length = 0;
}

static void remember(struct log *log, const char *text, size_t length) {
    char **slot = &log->last[log->last_count++ % LOG_LAST_LINES];
    char *copy = realloc(*slot, length + 1);
    if (!copy)
        return;
    memcpy(copy, text, length + 1);
    *slot = copy;
}

/* Makes a line of these bytes: for the file, for who listens, and for the terminal. */
static void add_line(struct log *log, struct batch *batch, enum log_stream stream,
                     const char *bytes, size_t count) {
    char *text;
    size_t length;
    if (batch->length + PREFIX_MAX + READABLE_GROWTH * count + 2 > sizeof log->batch)
        batch_flush(log, batch);
    batch->length += (size_t)snprintf(log->batch + batch->length, PREFIX_MAX, "%s %s ",
                                      batch->stamp, log_stream_name(stream));
    text = log->batch + batch->length;
    length = readable_text(text, bytes, count);
    if (stream != LOG_LAUNCHER)
        remember(log, text, length);
    if (log->echoes)
        echo_line(&log->echo, stream != LOG_STDOUT, stream == LOG_LAUNCHER ? "tether: " : "", text,
                  length);
    log->number++;
    if (log->on_line)
        log->on_line(log->context, stream, text, log->number);
    text[length] = '\n';
    batch->length += length + 1;
}

/* Adds to the line that is being collected, and lets it go when it is as long as a line may be. A
 * UTF-8 sequence that the break would cut waits for its rest. */
static void collect(struct log *log, struct batch *batch, enum log_stream stream, const char *bytes,
                    size_t count) {
    struct log_pending *pending = &log->pending[stream];
    if (!pending->bytes && count > 0)
        pending->bytes = malloc(LOG_LINE_MAX);
    if (!pending->bytes)
        log->lost += count;
    while (count > 0 && pending->bytes) {
        size_t room = LOG_LINE_MAX - pending->length;
        size_t taken = count < room ? count : room;
        memcpy(pending->bytes + pending->length, bytes, taken);
        pending->length += taken;
        bytes += taken;
        count -= taken;
        if (pending->length == LOG_LINE_MAX) {
            size_t kept = utf8_unfinished(pending->bytes, LOG_LINE_MAX);
            add_line(log, batch, stream, pending->bytes, LOG_LINE_MAX - kept);
            memmove(pending->bytes, pending->bytes + LOG_LINE_MAX - kept, kept);
            pending->length = kept;
            pending->broken = true;
        }
    }
}

static void end_line(struct log *log, struct batch *batch, enum log_stream stream,
                     const char *bytes, size_t count) {
    struct log_pending *pending = &log->pending[stream];
    if (pending->length > 0 || pending->broken || count > LOG_LINE_MAX) {
        collect(log, batch, stream, bytes, count);
        if (pending->length > 0 && pending->bytes[pending->length - 1] == '\r')
            pending->length--;
        if (pending->length > 0 || !pending->broken)
            add_line(log, batch, stream, pending->bytes, pending->length);
        pending->length = 0;
        pending->broken = false;
    } else {
        add_line(log, batch, stream, bytes, count && bytes[count - 1] == '\r' ? count - 1 : count);
    }
}

void log_server_output(struct log *log, enum log_stream stream, const char *bytes, size_t count) {
    struct batch batch;
    batch_init(&batch, &log->server);
    while (count > 0) {
        const char *newline = memchr(bytes, '\n', count);
        size_t length = newline ? (size_t)(newline - bytes) : count;
        if (!newline) {
            collect(log, &batch, stream, bytes, length);
            break;
        }
        end_line(log, &batch, stream, bytes, length);
        bytes += length + 1;
        count -= length + 1;
    }
    batch_flush(log, &batch);
}

void log_server_end(struct log *log) {
    for (int stream = LOG_STDOUT; stream <= LOG_STDERR; stream++) {
        if (log->pending[stream].length > 0)
            log_server_output(log, (enum log_stream)stream, "\n", 1);
        free(log->pending[stream].bytes);
        log->pending[stream] = (struct log_pending){0};
    }
}

void log_server_begin(struct log *log) {
    for (int i = 0; i < LOG_LAST_LINES; i++) {
        free(log->last[i]);
        log->last[i] = NULL;
    }
    log->last_count = 0;
}

void log_last_lines(const struct log *log, char *out, size_t size) {
    unsigned kept = log->last_count < LOG_LAST_LINES ? log->last_count : LOG_LAST_LINES;
    unsigned first = log->last_count;
    size_t used = 0, needed = 0;
    /* The newest tell most; of them as many as fit. One that is too long by itself is cut. */
    while (first > log->last_count - kept && log->last[(first - 1) % LOG_LAST_LINES]) {
        size_t length = strlen(log->last[(first - 1) % LOG_LAST_LINES]) + 1;
        if (needed + length > size && first < log->last_count)
            break;
        needed += length;
        first--;
    }
    out[0] = 0;
    for (; first < log->last_count && used < size; first++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "\n" : "",
                                 log->last[first % LOG_LAST_LINES]);
    used = strlen(out);
    out[used - utf8_unfinished(out, used)] = 0;
}

/* Needs no memory: what is wrong may be that there is none. */
void log_say(struct log *log, const char *format, ...) {
    struct batch batch;
    va_list args;
    va_start(args, format);
    vsnprintf(log->own, sizeof log->own, format, args);
    va_end(args);
    batch_init(&batch, &log->launcher);
    for (const char *at = log->own; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        add_line(log, &batch, LOG_LAUNCHER, at, strcspn(at, "\n"));
    batch_flush(log, &batch);
}

void log_init(struct log *log, const struct os_dir *dir, bool echo, log_line_fn on_line,
              void *context) {
    memset(log, 0, offsetof(struct log, own)); /* no more, so that the rest takes no memory */
    log->dir = dir;
    log->server = (struct log_file){"server.log", OS_NO_HANDLE, 0};
    log->launcher = (struct log_file){"launcher.log", OS_NO_HANDLE, 0};
    log->echoes = echo;
    log->on_line = on_line;
    log->context = context;
    log_stamp(log->began);
    if (echo)
        echo_init(&log->echo);
}

void log_reopen(struct log *log) {
    os_handle_close(&log->server.handle);
    os_handle_close(&log->launcher.handle);
}

void log_finish(struct log *log) {
    log_server_end(log);
    log_server_begin(log);
    log_reopen(log);
    if (log->echoes)
        echo_finish(&log->echo);
}

/* ---- reading back ---- */

/* The files' text joined, oldest first, for the caller to free. */
static char *read_generations(const struct os_dir *dir, const char *name, size_t *length) {
    size_t capacity = LOG_FILES * ((size_t)LOG_FILE_SIZE + LOG_BATCH) + 1;
    char *text = memory_resize(NULL, capacity);
    *length = 0;
    for (int generation = LOG_FILES - 1; text && generation >= 0; generation--) {
        char file[64];
        size_t count = 0;
        generation_name(file, name, generation);
        if (os_file_read(dir, file, text + *length, capacity - *length, &count) == 0)
            *length += count;
    }
    return text;
}

int log_tail(const struct os_dir *dir, const char *name, size_t count, log_tail_fn fn,
             void *context) {
    size_t length, start;
    char *text = read_generations(dir, name, &length);
    if (!text)
        return -1;
    start = length;
    for (size_t seen = 0; start > 0; start--)
        if (text[start - 1] == '\n' && start < length && ++seen == count)
            break;
    while (count > 0 && start < length) {
        const char *end = memchr(text + start, '\n', length - start);
        size_t line = end ? (size_t)(end - text) - start : length - start;
        fn(context, text + start, line);
        start += line + 1;
    }
    free(text);
    return 0;
}
