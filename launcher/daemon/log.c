#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "readable.h"

enum { BATCH = 32 * 1024 };

/* Lines on their way to a file: one write for all that came at once. */
struct batch {
    char stamp[32];
    size_t length;
    char bytes[BATCH];
};

const char *log_stream_name(enum log_stream stream) {
    static const char *const names[LOG_STREAMS] = {"stdout", "stderr", "launcher"};
    return names[stream];
}

/* ---- files -------------------------------------------------------------------------------------
 */

static void generation_name(char out[64], const char *name, int generation) {
    if (generation == 0)
        snprintf(out, 64, "%s", name);
    else
        snprintf(out, 64, "%s.%d", name, generation);
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
    if (file->handle == OS_NO_HANDLE || os_write(file->handle, bytes, count) < 0)
        log->lost += count;
    else
        file->size += count;
}

/* ---- lines -------------------------------------------------------------------------------------
 */

static void stamp_now(char out[32]) {
    struct timespec now;
    struct tm parts;
    timespec_get(&now, TIME_UTC);
    if (!os_utc(now.tv_sec, &parts) || strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &parts) == 0)
        out[0] = 0;
    snprintf(out + strlen(out), 32 - strlen(out), ".%03ldZ", now.tv_nsec / 1000000);
}

static void batch_flush(struct log *log, struct log_file *file, struct batch *batch) {
    if (batch->length > 0)
        file_write(log, file, batch->bytes, batch->length);
    batch->length = 0;
}

static void batch_add(struct log *log, struct log_file *file, struct batch *batch,
                      const char *stream, const char *text, size_t length) {
    if (batch->length + length + 64 > BATCH)
        batch_flush(log, file, batch);
    batch->length += (size_t)snprintf(batch->bytes + batch->length, BATCH - batch->length,
                                      "%s %s %s\n", batch->stamp, stream, text);
}

static void remember(struct log *log, const char *text, size_t length) {
    char **slot = &log->last[log->last_count++ % LOG_LAST_LINES];
    char *copy = realloc(*slot, length + 1);
    if (!copy)
        return;
    memcpy(copy, text, length + 1);
    *slot = copy;
}

static void server_line(struct log *log, struct batch *batch, enum log_stream stream,
                        const char *bytes, size_t count) {
    char text[READABLE_GROWTH * LOG_LINE_MAX + 1];
    size_t length = readable_text(text, bytes, count);
    batch_add(log, &log->server, batch, log_stream_name(stream), text, length);
    remember(log, text, length);
    log->number++;
    if (log->echo)
        fprintf(stream == LOG_STDERR ? stderr : stdout, "%s\n", text);
    log->on_line(log->context, stream, text, log->number);
}

/* Adds to the line that is being collected, and lets it go when it is as long as a line may be. A
 * UTF-8 sequence that the break would cut waits for its rest. */
static void collect(struct log *log, struct batch *batch, enum log_stream stream, const char *bytes,
                    size_t count) {
    struct log_pending *pending = &log->pending[stream];
    if (!pending->bytes && count > 0)
        pending->bytes = malloc(LOG_LINE_MAX);
    while (count > 0 && pending->bytes) {
        size_t room = LOG_LINE_MAX - pending->length;
        size_t taken = count < room ? count : room;
        memcpy(pending->bytes + pending->length, bytes, taken);
        pending->length += taken;
        bytes += taken;
        count -= taken;
        if (pending->length == LOG_LINE_MAX) {
            size_t kept = readable_unfinished(pending->bytes, LOG_LINE_MAX);
            server_line(log, batch, stream, pending->bytes, LOG_LINE_MAX - kept);
            memmove(pending->bytes, pending->bytes + LOG_LINE_MAX - kept, kept);
            pending->length = kept;
        }
    }
}

static void end_line(struct log *log, struct batch *batch, enum log_stream stream,
                     const char *bytes, size_t count) {
    struct log_pending *pending = &log->pending[stream];
    if (pending->length > 0 || count > LOG_LINE_MAX) {
        collect(log, batch, stream, bytes, count);
        if (pending->length > 0)
            server_line(log, batch, stream, pending->bytes, pending->length);
        pending->length = 0;
    } else {
        server_line(log, batch, stream, bytes, count);
    }
}

void log_server_output(struct log *log, enum log_stream stream, const char *bytes, size_t count) {
    struct batch batch;
    batch.length = 0;
    stamp_now(batch.stamp);
    while (count > 0) {
        const char *newline = memchr(bytes, '\n', count);
        size_t length = newline ? (size_t)(newline - bytes) : count;
        if (!newline) {
            collect(log, &batch, stream, bytes, length);
            break;
        }
        end_line(log, &batch, stream, bytes, length && newline[-1] == '\r' ? length - 1 : length);
        bytes += length + 1;
        count -= length + 1;
    }
    batch_flush(log, &log->server, &batch);
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
    unsigned first = log->last_count > LOG_LAST_LINES ? log->last_count - LOG_LAST_LINES : 0;
    size_t used = 0;
    out[0] = 0;
    for (unsigned i = first; i < log->last_count && used < size; i++) {
        const char *text = log->last[i % LOG_LAST_LINES];
        if (text)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "\n" : "", text);
    }
}

void log_say(struct log *log, const char *format, ...) {
    char raw[1024], text[READABLE_GROWTH * sizeof raw + 1];
    struct batch batch;
    va_list args;
    size_t length;
    va_start(args, format);
    vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    length = readable_text(text, raw, strlen(raw));
    batch.length = 0;
    stamp_now(batch.stamp);
    batch_add(log, &log->launcher, &batch, log_stream_name(LOG_LAUNCHER), text, length);
    batch_flush(log, &log->launcher, &batch);
    log->number++;
    if (log->echo)
        fprintf(stderr, "tether: %s\n", text);
    log->on_line(log->context, LOG_LAUNCHER, text, log->number);
}

void log_init(struct log *log, const struct os_dir *dir, bool echo, log_line_fn on_line,
              void *context) {
    *log = (struct log){.dir = dir,
                        .server = {"server.log", OS_NO_HANDLE, 0},
                        .launcher = {"launcher.log", OS_NO_HANDLE, 0},
                        .echo = echo,
                        .on_line = on_line,
                        .context = context};
}

void log_finish(struct log *log) {
    log_server_end(log);
    log_server_begin(log);
    os_handle_close(&log->server.handle);
    os_handle_close(&log->launcher.handle);
}

/* ---- reading back ------------------------------------------------------------------------------
 */

/* The files' text joined, oldest first, for the caller to free. */
static char *read_generations(const struct os_dir *dir, const char *name, size_t *length) {
    size_t capacity = LOG_FILES * ((size_t)LOG_FILE_SIZE + BATCH) + 1;
    char *text = malloc(capacity);
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
