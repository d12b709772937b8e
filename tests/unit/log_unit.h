/* A log in a private directory, and a listener that keeps every line. */
#ifndef TETHER_TESTS_LOG_UNIT_H
#define TETHER_TESTS_LOG_UNIT_H

#include "daemon/log.h"

#include "os_unit.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* "2026-01-31T12:34:56.789Z " */
#define STAMP_LENGTH 25

struct heard {
    char *text; /* "STREAM text\n" for every line */
    size_t length, capacity;
    uint64_t count;
};

static inline void hear(void *context, enum log_stream stream, const char *text, uint64_t number) {
    struct heard *heard = context;
    size_t needed = heard->length + strlen(text) + 16;
    if (needed > heard->capacity) {
        heard->capacity = 2 * needed;
        heard->text = realloc(heard->text, heard->capacity);
        assert_non_null(heard->text);
    }
    heard->length += (size_t)snprintf(heard->text + heard->length, heard->capacity - heard->length,
                                      "%s %s\n", log_stream_name(stream), text);
    assert_true(number == ++heard->count);
}

struct place {
    struct unit_dir root;
    struct os_dir dir;
    struct log log;
    struct heard heard;
};

static inline void place_init(struct place *place) {
    char path[128];
    unit_dir_init(&place->root);
    snprintf(path, sizeof path, "%s/tether/8000-9500", place->root.path);
    assert_int_equal(os_dir_open(&place->dir, path, true, NULL), 0);
    place->heard = (struct heard){.text = calloc(1, 1), .capacity = 1};
    log_init(&place->log, &place->dir, false, hear, &place->heard);
}

static inline void place_finish(struct place *place) {
    log_finish(&place->log);
    free(place->heard.text);
    os_dir_finish(&place->dir);
    unit_dir_finish(&place->root);
}

static inline void forget_heard(struct place *place) {
    place->heard.length = 0;
    place->heard.text[0] = 0;
}

static inline void expect_heard(struct place *place, const char *expected) {
    assert_string_equal(place->heard.text, expected);
    forget_heard(place);
}

static inline void output(struct place *place, enum log_stream stream, const char *text) {
    log_server_output(&place->log, stream, text, strlen(text));
}

static inline void file_path(const struct place *place, const char *name, char out[256]) {
    snprintf(out, 256, "%.120s/%.120s", place->dir.path, name);
}

/* -1: it is not there. */
static inline int64_t file_size(const struct place *place, const char *name) {
    char path[256];
    struct stat st;
    file_path(place, name, path);
    return lstat(path, &st) < 0 ? -1 : (int64_t)st.st_size;
}

/* The file's text, for the caller to free. */
static inline char *file_text(const struct place *place, const char *name) {
    size_t size = 4 * LOG_FILE_SIZE;
    char *text = malloc(size);
    assert_non_null(text);
    assert_int_equal(os_file_read(&place->dir, name, text, size, NULL), 0);
    return text;
}

static inline void file_put(const struct place *place, const char *name, const char *text) {
    assert_int_equal(os_file_write(&place->dir, name, text, strlen(text), NULL), 0);
}

/* All there is to be had from an instance's log, joined. */
struct tail {
    char *text;
    size_t length, count;
};

static inline void add_tail(void *context, const char *line, size_t length) {
    struct tail *tail = context;
    assert_null(memchr(line, '\n', length));
    tail->text = realloc(tail->text, tail->length + length + 2);
    assert_non_null(tail->text);
    memcpy(tail->text + tail->length, line, length);
    memcpy(tail->text + tail->length + length, "\n", 2);
    tail->length += length + 1;
    tail->count++;
}

static inline void expect_tail(const struct place *place, size_t count, const char *expected) {
    struct tail tail = {.text = calloc(1, 1)};
    assert_int_equal(log_tail(&place->dir, "server.log", count, add_tail, &tail), 0);
    assert_string_equal(tail.text, expected);
    free(tail.text);
}

#endif
