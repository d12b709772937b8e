#include "stderr_log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "os/os_pipe.h"

enum {
    CATCH_UP_MOST = 1024 * 1024, /* more than a pipe holds */
    LOG_MOST = 1024 * 1024,      /* a file beyond it becomes FILE.1 when the next server starts */
    STAMP_MAX = 32,
    MODE = 0600,
};

static void write_file(struct stderr_log *log, const char *data, size_t length) {
    /* libuv does not write to these bytes; its buffers only lack the const. */
    uv_buf_t buf = uv_buf_init((char *)(uintptr_t)data, (unsigned)length);
    uv_fs_t request;
    uv_fs_write(NULL, &request, log->file, &buf, 1, -1, NULL); /* a full disk costs lines */
    uv_fs_req_cleanup(&request);
}

static void write_stamp(struct stderr_log *log) {
    char text[STAMP_MAX];
    uv_timeval64_t now;
    struct tm parts;
    uv_gettimeofday(&now);
    if (!os_utc(now.tv_sec, &parts))
        return;
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ ", &parts);
    write_file(log, text, strlen(text));
}

/* Each line begins with its time. */
static void write_lines(struct stderr_log *log, const char *data, size_t length) {
    while (length > 0) {
        const char *newline = memchr(data, '\n', length);
        size_t part = newline ? (size_t)(newline - data) + 1 : length;
        if (log->at_line_start)
            write_stamp(log);
        write_file(log, data, part);
        log->at_line_start = newline != NULL;
        data += part;
        length -= part;
    }
}

void stderr_log_say(struct stderr_log *log, const char *format, ...) {
    char text[512];
    va_list arguments;
    int length;
    if (!log->is_open)
        return;
    va_start(arguments, format);
    length = vsnprintf(text, sizeof text - 1, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    length = (int)strlen(text);
    text[length++] = '\n';
    if (!log->at_line_start)
        write_file(log, "\n", 1);
    log->at_line_start = true;
    write_lines(log, text, (size_t)length);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct stderr_log *log = handle->data;
    (void)suggested;
    *buf = uv_buf_init(log->buffer, sizeof log->buffer);
}

static void on_read(uv_stream_t *pipe, ssize_t count, const uv_buf_t *buf) {
    struct stderr_log *log = pipe->data;
    if (count < 0)
        uv_read_stop(pipe);
    if (count <= 0)
        return;
    write_lines(log, buf->base, (size_t)count);
    os_write_now(log->error_output, buf->base, (size_t)count);
}

static int open_file(struct stderr_log *log, const char *path) {
    char old[OS_PATH_MAX];
    uv_fs_t request;
    int rc = uv_fs_stat(NULL, &request, path, NULL);
    bool is_large = rc == 0 && request.statbuf.st_size > LOG_MOST;
    uv_fs_req_cleanup(&request);
    if (is_large && snprintf(old, sizeof old, "%s.1", path) < (int)sizeof old) {
        uv_fs_rename(NULL, &request, path, old, NULL);
        uv_fs_req_cleanup(&request);
    }
    log->file = uv_fs_open(NULL, &request, path, UV_FS_O_WRONLY | UV_FS_O_CREAT | UV_FS_O_APPEND,
                           MODE, NULL);
    uv_fs_req_cleanup(&request);
    return log->file < 0 ? (int)log->file : 0;
}

int stderr_log_open(struct stderr_log *log, uv_loop_t *loop, const char *path, os_handle *given,
                    struct error *err) {
    int rc;
    if (!path)
        return 0;
    rc = open_file(log, path);
    if (rc < 0)
        return error_set(err, rc, "cannot write the log %.400s: %s; name another file (--log)",
                         path, uv_strerror(rc));
    rc = os_pipe_reader(loop, &log->pipe, given);
    log->pipe.data = log;
    log->is_open = true;
    log->at_line_start = true;
    log->error_output = os_stdio_unblocked(2);
    if (rc == 0)
        rc = uv_read_start((uv_stream_t *)&log->pipe, on_alloc, on_read);
    return rc == 0 ? 0 : error_set(err, rc, "cannot read standard error: %s", uv_strerror(rc));
}

void stderr_log_catch_up(struct stderr_log *log) {
    int64_t count = log->is_open;
    for (int64_t left = CATCH_UP_MOST; count > 0 && left > 0; left -= count) {
        count = os_pipe_read_now(&log->pipe, log->buffer, sizeof log->buffer);
        if (count <= 0)
            return;
        write_lines(log, log->buffer, (size_t)count);
        os_write_now(log->error_output, log->buffer, (size_t)count);
    }
}

void stderr_log_finish(struct stderr_log *log) {
    uv_fs_t request;
    if (!log->is_open)
        return;
    stderr_log_catch_up(log);
    os_stdio_release(&log->error_output, 2);
    uv_close((uv_handle_t *)&log->pipe, NULL);
    uv_fs_close(NULL, &request, log->file, NULL);
    uv_fs_req_cleanup(&request);
    log->is_open = false;
}
