#include "records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "memory.h"
#include "protocol/message.h"

#define STATE_FILE   "state.json"
#define LAST_FILE    "last.json"
#define SESSIONS_DIR "sessions"

enum { RECORD_MAX = 64 * 1024 };

/* ---- reading ---- */

static json_t *read_json(const struct os_dir *dir, const char *name) {
    char *text = memory_resize(NULL, RECORD_MAX);
    json_t *json = NULL;
    size_t length;
    if (text && os_file_read(dir, name, text, RECORD_MAX, &length) == 0)
        json = message_parse(text, length, NULL);
    free(text);
    return json;
}

/* Without a usable pid and start nothing is known: half an identity could be somebody else's. */
static struct os_identity identity_of(const json_t *json) {
    struct os_identity identity = {.pid = message_number(json, "pid", 0)};
    if (identity.pid <= 0 || os_start_parse(message_text(json, "start"), &identity.start) < 0)
        identity = (struct os_identity){0};
    return identity;
}

bool records_read_state(const struct os_dir *dir, struct records_state *state) {
    json_t *json = read_json(dir, STATE_FILE);
    *state = (struct records_state){0};
    if (!json)
        return false;
    state->daemon = identity_of(json_object_get(json, "daemon"));
    state->guard = identity_of(json_object_get(json, "guard"));
    state->server = identity_of(json_object_get(json, "server"));
    for (size_t i = 0; i < RECORDS_ABOVE; i++)
        state->above[i] = identity_of(json_array_get(json_object_get(json, "above"), i));
    snprintf(state->place, sizeof state->place, "%s", message_text(json, "place"));
    snprintf(state->mark, sizeof state->mark, "%s", message_text(json, "mark"));
    snprintf(state->lock, sizeof state->lock, "%s", message_text(json, "lock"));
    json_decref(json);
    return true;
}

static json_t *read_run(const struct os_dir *dir, const char *name, const char *instance) {
    json_t *json = read_json(dir, name);
    if (strcmp(message_text(json, "instance"), instance) == 0 &&
        json_is_object(json_object_get(json, "server")))
        return json;
    json_decref(json);
    return NULL;
}

json_t *records_read_last(const struct os_dir *dir, const char *instance) {
    json_t *json = read_run(dir, STATE_FILE, instance);
    if (!json)
        return read_run(dir, LAST_FILE, instance);
    json_object_del(json, "ended");
    return json;
}

/* ---- writing ---- */

static int write_json(const struct os_dir *dir, const char *name, json_t *json, struct error *err) {
    size_t length;
    char *line = message_line(json, &length);
    int rc = line ? os_file_write(dir, name, line, length, err)
                  : error_set(err, UV_ENOMEM, "out of memory");
    free(line);
    return rc;
}

int records_write_state(const struct os_dir *dir, json_t *state, struct error *err) {
    return write_json(dir, STATE_FILE, state, err);
}

int records_write_last(const struct os_dir *dir, json_t *last, struct error *err) {
    return write_json(dir, LAST_FILE, last, err);
}

void records_keep_last(const struct os_dir *dir) {
    os_file_rename(dir, STATE_FILE, LAST_FILE);
}

static void session_name(char out[40], int64_t pid) {
    snprintf(out, 40, "%lld.json", (long long)pid);
}

int records_write_session(const struct os_dir *dir, int64_t pid, json_t *session) {
    struct os_dir sessions;
    char name[40];
    int rc = os_dir_enter(&sessions, dir, SESSIONS_DIR, true, NULL);
    if (rc < 0) {
        json_decref(session);
        return rc;
    }
    session_name(name, pid);
    rc = write_json(&sessions, name, session, NULL);
    os_dir_finish(&sessions);
    return rc;
}

void records_remove_session(const struct os_dir *dir, int64_t pid) {
    struct os_dir sessions;
    char name[40];
    if (os_dir_enter(&sessions, dir, SESSIONS_DIR, false, NULL) < 0)
        return;
    session_name(name, pid);
    os_file_remove(&sessions, name);
    os_dir_finish(&sessions);
}

/* ---- hygiene ---- */

struct cleaning {
    const struct os_dir *dir;
    void (*removed)(const char *name, void *context);
    void *context;
    unsigned count;
};

static void clean_away(struct cleaning *cleaning, const char *name) {
    if (os_file_remove(cleaning->dir, name) < 0)
        return;
    cleaning->count++;
    if (cleaning->removed)
        cleaning->removed(name, cleaning->context);
}

/* "4711.json": a pid as we write it, and nothing else. */
static bool is_session_name(const char *name, int64_t *pid) {
    char digits[OS_NUMBER_MAX];
    const char *dot = strchr(name, '.');
    size_t length = dot ? (size_t)(dot - name) : 0;
    if (!dot || strcmp(dot, ".json") != 0 || length == 0 || length >= sizeof digits)
        return false;
    memcpy(digits, name, length);
    digits[length] = 0;
    return os_pid_parse(digits, pid) == 0;
}

static bool clean_session(const char *name, void *arg) {
    struct cleaning *cleaning = arg;
    struct os_identity identity;
    int64_t pid;
    json_t *json;
    if (os_file_is_temporary(name)) {
        clean_away(cleaning, name);
        return true;
    }
    if (!is_session_name(name, &pid))
        return true;
    json = read_json(cleaning->dir, name);
    if (!json)
        return true;
    identity = identity_of(json);
    json_decref(json);
    if (identity.pid == pid && os_liveness(&identity) == OS_DEAD)
        clean_away(cleaning, name);
    return true;
}

static bool clean_temporary(const char *name, void *arg) {
    if (os_file_is_temporary(name))
        clean_away(arg, name);
    return true;
}

unsigned records_clean(const struct os_dir *dir, void (*removed)(const char *name, void *context),
                       void *context) {
    struct cleaning cleaning = {dir, removed, context, 0};
    struct os_dir sessions;
    os_dir_each(dir, clean_temporary, &cleaning);
    if (os_dir_enter(&sessions, dir, SESSIONS_DIR, false, NULL) == 0) {
        cleaning.dir = &sessions;
        os_dir_each(&sessions, clean_session, &cleaning);
        os_dir_finish(&sessions);
    }
    return cleaning.count;
}

void records_remove_all(const struct os_dir *dir, const struct os_identity *daemon) {
    struct records_state state;
    if (records_read_state(dir, &state) && os_identity_same(&state.daemon, daemon))
        os_file_remove(dir, STATE_FILE);
}
