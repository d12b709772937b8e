#include "place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon.h"
#include "memory.h"
#include "records.h"

enum { AGAIN_FIRST_MS = 20, AGAIN_MOST_MS = 30000 };

/* ---- taking it ---- */

/* Whether the recorded daemon lives or may do so, by what pids mean here. */
static bool may_live(const struct records_state *state) {
    /* It has none if a release recorded it that did not note the place. */
    enum os_answer is_ours = state->place[0] ? os_place_is_ours(state->place) : OS_YES;
    if (state->daemon.pid == 0 || is_ours == OS_NO)
        return false;
    return is_ours == OS_MAYBE || os_liveness(&state->daemon) != OS_DEAD;
}

/* For who has the lock. If that is the very file that the recorded daemon had locked, it is dead.
 */
static bool has_living_daemon(const struct os_dir *dir, os_handle lock,
                              struct os_identity *daemon) {
    struct records_state before;
    char locked[OS_LOCK_TEXT_MAX];
    bool known = records_read_state(dir, &before);
    *daemon = before.daemon;
    os_lock_text(lock, locked);
    if (known && before.lock[0] && strcmp(before.lock, locked) == 0)
        return false;
    return os_control_is_answered(dir) || may_live(&before);
}

/* "process 4711 (tether daemon …)", of a daemon by its record. */
static void name_daemon(const struct os_identity *daemon, char *out, size_t size) {
    char command[160];
    snprintf(out, size, "a tether that is not recorded");
    if (daemon->pid == 0)
        return;
    if (os_process_command(daemon, command, sizeof command) < 0)
        snprintf(command, sizeof command, "which cannot be seen from here");
    snprintf(out, size, "process %lld (%s)", (long long)daemon->pid, command);
}

static int tell_living(const struct os_dir *dir, const struct os_identity *living,
                       struct error *err) {
    char who[224];
    name_daemon(living, who, sizeof who);
    return error_set(err, UV_EBUSY,
                     "%s runs this instance, although its lock %s/lock was removed, and cannot be "
                     "reached: %s. If there is no such daemon, remove %s/state.json",
                     who, dir->path, os_silent_advice, dir->path);
}

int place_tell_silent(const struct os_dir *dir, struct error *err) {
    struct records_state state;
    char who[224];
    records_read_state(dir, &state);
    name_daemon(&state.daemon, who, sizeof who);
    return error_set(err, UV_ETIMEDOUT, "%s has the lock of this instance but does not answer: %s",
                     who, os_silent_advice);
}

int place_take(os_handle *lock, const struct os_dir *dir, struct error *err) {
    struct os_identity living;
    int rc = os_lock_take(lock, dir, "lock", err);
    if (rc < 0 || !has_living_daemon(dir, *lock, &living))
        return rc;
    os_handle_close(lock);
    return tell_living(dir, &living, err);
}

bool place_is_taken(const struct os_dir *dir) {
    struct records_state state;
    records_read_state(dir, &state);
    return os_lock_is_held(dir, "lock") == 1 || os_control_is_answered(dir) || may_live(&state);
}

/* ---- keeping it ---- */

static void check(struct daemon *daemon);

/* Takes the lock anew, in the directory that the instance has now. */
static int regain_lock(struct daemon *daemon, struct error *err) {
    struct os_dir dir = {.handle = OS_NO_HANDLE};
    os_handle lock = OS_NO_HANDLE;
    int rc = options_dir(daemon->options, &dir, true, err);
    if (rc == 0)
        rc = os_lock_take(&lock, &dir, "lock", err);
    if (rc < 0) {
        os_dir_finish(&dir);
        return rc;
    }
    os_handle_close(&daemon->lock);
    os_dir_finish(&daemon->dir);
    daemon->lock = lock;
    daemon->dir = dir;
    return 0;
}

static int restore(struct daemon *daemon, bool *changed, struct error *err) {
    int rc = 0;
    *changed = false;
    if (!os_lock_is_current(daemon->lock, &daemon->dir, "lock")) {
        rc = regain_lock(daemon, err);
        *changed = rc == 0;
    }
    if (rc == 0 && !os_control_is_there(daemon->control.endpoint)) {
        rc = control_listen(&daemon->control, err);
        *changed = true;
    }
    if (rc == 0)
        rc = ready_listen(&daemon->ready, &daemon->dir, err);
    return rc;
}

static void on_again(uv_timer_t *timer) {
    check(timer->data);
}

static void on_change(uv_fs_event_t *event, const char *name, int events, int status) {
    (void)name;
    (void)events;
    if (status == 0)
        check(event->data);
}

static void free_handle(uv_handle_t *handle) {
    free(handle);
}

static void unwatch(uv_fs_event_t *event) {
    if (event)
        uv_close((uv_handle_t *)event, free_handle);
}

/* Each time a new one: on Windows libuv cannot start one again whose last news are still to come.
 */
static void watch_file(struct daemon *daemon, uv_fs_event_t **event, const char *path) {
    unwatch(*event);
    *event = memory_zeroed(sizeof **event);
    if (!*event)
        return;
    uv_fs_event_init(&daemon->loop, *event);
    (*event)->data = daemon;
    uv_fs_event_start(*event, on_change, path, 0);
}

/* What is removed changes, too, as long as we have it open: one name fewer. Without such news, as
 * when the system has no more watches to give, nothing is noticed; the next to come still finds us
 * by the record or the endpoint. */
static void watch(struct daemon *daemon) {
    char path[OS_PATH_MAX + sizeof "/lock"];
    snprintf(path, sizeof path, "%s/lock", daemon->dir.path);
    watch_file(daemon, &daemon->keeper.lock, path);
    if (os_control_is_file) /* or who looks at it connects to it */
        watch_file(daemon, &daemon->keeper.endpoint, daemon->control_name);
}

static void try_again(struct daemon *daemon, const struct error *why) {
    struct place_keeper *keeper = &daemon->keeper;
    uint64_t delay = keeper->delay_ms ? 2 * keeper->delay_ms : AGAIN_FIRST_MS;
    if (keeper->delay_ms == AGAIN_FIRST_MS) /* before, it may have been one who only looked */
        log_say(&daemon->log,
                "somebody has removed files of this instance; until they can be made again only "
                "who is connected already reaches it: %s",
                why->message);
    keeper->delay_ms = delay < AGAIN_MOST_MS ? delay : AGAIN_MOST_MS;
    uv_timer_start(&keeper->again, on_again, keeper->delay_ms, 0);
}

/* Who removes a directory removes, one after the other, also what is made meanwhile, before there
 * is a watch or where there is none. So what was made is looked at, and written, once more. */
static void check(struct daemon *daemon) {
    struct error err = {0};
    bool changed;
    int rc;
    if (daemon->ended)
        return;
    rc = restore(daemon, &changed, &err);
    if (changed) {
        log_reopen(&daemon->log);
        log_say(&daemon->log, "somebody has removed files of this instance; made again in %s",
                daemon->dir.path);
    }
    if (changed || daemon->keeper.changed) {
        control_write_records(&daemon->control);
        daemon_write_state(daemon);
        watch(daemon);
    }
    if (rc < 0)
        try_again(daemon, &err);
    else
        daemon->keeper.delay_ms = 0;
    if (rc == 0 && changed)
        uv_timer_start(&daemon->keeper.again, on_again, AGAIN_FIRST_MS, 0);
    daemon->keeper.changed = changed;
}

void place_keep(struct daemon *daemon) {
    struct place_keeper *keeper = &daemon->keeper;
    uv_timer_init(&daemon->loop, &keeper->again);
    keeper->again.data = daemon;
    keeper->kept = true;
    watch(daemon);
    check(daemon); /* of what came before the watch nobody tells */
}

void place_finish(struct daemon *daemon) {
    struct place_keeper *keeper = &daemon->keeper;
    if (!keeper->kept)
        return;
    uv_close((uv_handle_t *)&keeper->again, NULL);
    unwatch(keeper->lock);
    unwatch(keeper->endpoint);
}
