#include "daemon.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "command_words.h"
#include "memory.h"
#include "must.h"
#include "orphans.h"
#include "protocol/message.h"
#include "protocol/version.h"
#include "records.h"
#include "state_json.h"

enum { AGAIN_MS = 200 }; /* until what failed for want of memory is tried again */
enum { PORTS_AGAIN_MS = 100, PORTS_PATIENCE_MS = 5000 }; /* for a port that nobody has */

/* ---- telling ---- */

/* Without memory for more; a server that is ready is so all the same. */
static void report_briefly(os_handle to, const struct options *options, int code,
                           int64_t server_pid) {
    char line[256];
    int length =
        snprintf(line, sizeof line,
                 "{\"result\":\"%s\",\"code\":%d,\"message\":\"out of memory\","
                 "\"daemon_pid\":%lld,\"server_pid\":%lld,\"http_port\":%u,"
                 "\"ws_port\":%u,\"control\":\"\"}\n",
                 code == 0 ? "started" : "failed", code, (long long)uv_os_getpid(),
                 (long long)server_pid, (unsigned)options->http_port, (unsigned)options->ws_port);
    os_write(to, line, (size_t)length);
}

/* Sends a line to `launch`; takes the reference. False: there was no memory for it. */
static bool tell_launch(const struct daemon *daemon, json_t *message) {
    size_t length;
    char *line = message_line(message, &length);
    bool made = line != NULL;
    if (made)
        os_write(daemon->result, line, length);
    free(line);
    return made;
}

/* Tells `launch` how the start went, once. */
static void report_result(struct daemon *daemon, int code, const char *message) {
    json_t *result;
    if (daemon->result == OS_NO_HANDLE)
        return;
    result = status_result(daemon, code, message);
    /* Of an end `launch` awaits the end, after which the lock is free; else it goes on at once. */
    if (daemon->ended)
        json_object_set_new(result, "ending", json_true());
    /* A newer release took over before this start was through: `launch` adopts that one. */
    if (code != 0 && daemon->life.cause == LIFECYCLE_CAUSE_HANDOVER)
        json_object_set_new(result, "again", json_true());
    if (!tell_launch(daemon, result))
        report_briefly(daemon->result, daemon->options, code, daemon->supervisor.server.pid);
    if (!daemon->ended)
        os_handle_close(&daemon->result);
}

/* Tells `launch` where sessions can be held already, while the server is on its way. */
static void report_listening(struct daemon *daemon) {
    if (daemon->result != OS_NO_HANDLE && daemon->life.server == LIFECYCLE_STARTING)
        tell_launch(daemon, json_pack("{s:s}", "listening", daemon->control_name));
}

static json_t *list_above(const struct daemon *daemon) {
    json_t *list = json_array();
    for (size_t i = 0; i < RECORDS_ABOVE && daemon->above[i].pid; i++)
        json_array_append_new(list, process_json(daemon->above[i].pid, daemon->above[i].start));
    return list;
}

static int write_state(struct daemon *daemon, struct error *err) {
    json_t *state = status_json(daemon, "state");
    char place[OS_PLACE_MAX], lock[OS_LOCK_TEXT_MAX];
    must(daemon->lock != OS_NO_HANDLE && !daemon->ended); /* the records are who has the lock's */
    os_place(place);
    os_lock_text(daemon->lock, lock);
    json_object_set_new(state, "control", json_string(daemon->control_name));
    json_object_set_new(state, "place", json_string(place));
    json_object_set_new(state, "lock", json_string(lock));
    json_object_set_new(state, "mark", json_string(daemon->mark));
    json_object_set_new(state, "above", list_above(daemon));
    return records_write_state(&daemon->dir, state, err);
}

/* What others know of us. What could not be told for want of memory is told a little later. */
static void on_state_timer(uv_timer_t *timer) {
    struct daemon *daemon = timer->data;
    struct error err = {0};
    if (write_state(daemon, &err) < 0 && err.code != UV_ENOMEM)
        log_say(&daemon->log, "%s", err.message);
    if (daemon->untold)
        daemon->untold = !control_publish(&daemon->control);
    if (daemon->untold || err.code == UV_ENOMEM)
        uv_timer_start(timer, on_state_timer, AGAIN_MS, 0);
}

/* At the next turn of the loop: several changes at once are one file, and a restart does not wait
 * for the disk. */
void daemon_write_state(struct daemon *daemon) {
    if (!daemon->ended)
        uv_timer_start(&daemon->state_timer, on_state_timer, 0, 0);
}

static void on_log_line(void *context, enum log_stream stream, const char *text, uint64_t number) {
    struct daemon *daemon = context;
    control_log(&daemon->control, stream, text, number);
}

/* ---- the owner ---- */

/* Reports the lifecycle's own form of the identity: a start that it does not know stays unknown. */
static void report_owner(struct daemon *daemon, enum os_life liveness) {
    struct lifecycle_event event = {
        .kind = LIFECYCLE_ON_PROCESS, .process = daemon->life.owner, .liveness = liveness};
    daemon_feed(daemon, &event, NULL);
}

static void sample_owner(struct daemon *daemon) {
    report_owner(daemon, daemon->owner_ended ? OS_DEAD : os_liveness(&daemon->life.owner));
}

static void on_owner_end(void *context, const struct os_identity *identity) {
    struct daemon *daemon = context;
    (void)identity;
    daemon->owner_ended = true;
    report_owner(daemon, OS_DEAD);
}

static void watch_owner(struct daemon *daemon);

static void on_owner_timer(uv_timer_t *timer) {
    watch_owner(timer->data);
}

static void watch_owner(struct daemon *daemon) {
    struct os_identity owner = daemon->life.owner;
    int rc;
    os_watch_destroy(daemon->owner_watch);
    daemon->owner_watch = NULL;
    daemon->owner_ended = false;
    uv_timer_stop(&daemon->owner_timer);
    if (owner.pid == 0)
        return;
    rc = os_watch_create(&daemon->owner_watch, &daemon->loop, &owner, daemon->life.config.poll_ms,
                         on_owner_end, daemon);
    if (rc < 0 && rc != UV_ESRCH) { /* its end must not go unnoticed */
        log_say(&daemon->log, "owner %lld cannot be watched at present: %s", (long long)owner.pid,
                uv_strerror(rc));
        uv_timer_start(&daemon->owner_timer, on_owner_timer, daemon->life.config.poll_ms, 0);
    }
    sample_owner(daemon);
}

/* ---- actions ---- */

/* A port that cannot be had is one thing, not even being able to ask for it another. */
static enum lifecycle_failure port_failure(int code) {
    bool is_port = code == UV_EADDRINUSE || code == UV_EAGAIN || code == UV_EACCES;
    return is_port ? LIFECYCLE_FAILURE_PORT : LIFECYCLE_FAILURE_SPAWN;
}

static void start_server(struct daemon *daemon);

static void on_ports_timer(uv_timer_t *timer) {
    start_server(timer->data);
}

/* What is left of the connections of an earlier server goes as soon as its clients have noticed,
 * and what was that of a process when it has ended. Not for so long that there is no time left to
 * become ready, nor where another pair will do. */
static bool wait_for_ports(struct daemon *daemon, const struct error *why) {
    int64_t now = os_clock_ms(), most = daemon->options->config.ready_timeout_ms / 2;
    if (daemon->options->ports_auto && !daemon->life.was_ready)
        return false;
    if (daemon->ports_by == 0) {
        log_say(&daemon->log, "%s; waiting a moment", why->message);
        daemon->ports_by = now + (most > 0 && most < PORTS_PATIENCE_MS ? most : PORTS_PATIENCE_MS);
    }
    return now < daemon->ports_by &&
           uv_timer_start(&daemon->ports_timer, on_ports_timer, PORTS_AGAIN_MS, 0) == 0;
}

/* A start that waits has no tree yet, whatever is done to that. */
static void end_waiting(struct daemon *daemon) {
    if (!uv_is_active((uv_handle_t *)&daemon->ports_timer))
        return;
    uv_timer_stop(&daemon->ports_timer);
    daemon->ports_by = 0;
    daemon_feed_kind(daemon, LIFECYCLE_ON_TREE_EMPTY);
}

static void start_server(struct daemon *daemon) {
    struct server_start start = {
        .options = daemon->options,
        .daemon = daemon->self,
        .ready_place = ready_place(&daemon->ready),
        .mark = daemon->mark,
        .token = daemon->token,
    };
    struct server_facts *facts = &daemon->facts;
    struct error err;
    if (daemon->life.owner_liveness != OS_DEAD)
        start.owner = daemon->life.owner;
    facts->started_at = os_clock_ms();
    facts->ready_ms = -1;
    facts->failure = (struct error){0};
    json_decref(facts->command);
    facts->command = command_words(&start);
    if (ports_prepare(&daemon->ports, &err) < 0) {
        if (err.code == UV_EAGAIN && wait_for_ports(daemon, &err))
            return;
        daemon->ports_by = 0;
        daemon_server_unstarted(daemon, port_failure(err.code), &err);
        return;
    }
    daemon->ports_by = 0;
    daemon->ready_early = false;
    ready_begin(&daemon->ready); /* before the server can say so */
    supervisor_start(&daemon->supervisor, &start, daemon->ports.listeners,
                     daemon->ports.listener_count);
}

static void check_ports(struct daemon *daemon) {
    struct lifecycle_event event = {.kind = LIFECYCLE_ON_PORTS};
    struct error err;
    ports_release(&daemon->ports);
    event.success = ports_are_free(&daemon->ports, &err);
    if (!event.success)
        log_say(&daemon->log, "after the end: %s", err.message);
    daemon_feed(daemon, &event, NULL);
}

static void record_end(struct daemon *daemon) {
    log_say(&daemon->log, "ended (%s): %s, %s", lifecycle_cause_name(daemon->life.cause),
            daemon->life.survivors ? "processes of the server are left" : "no process is left",
            daemon->life.ports_free ? "both ports are free" : "a port is not free");
}

/* For whoever comes later and finds nothing. */
static void keep_last(struct daemon *daemon) {
    struct error err;
    uv_timeval64_t now;
    json_t *last = status_json(daemon, "last");
    uv_gettimeofday(&now);
    json_object_set_new(last, "ended", json_integer((json_int_t)now.tv_sec));
    json_object_set_new(last, "cause", json_string(lifecycle_cause_name(daemon->life.cause)));
    if (records_write_last(&daemon->dir, last, &err) < 0)
        log_say(&daemon->log, "%s", err.message);
}

static void finish_handles(struct daemon *daemon);

static void end(struct daemon *daemon) {
    int code = lifecycle_exit_code(&daemon->life);
    const char *failure;
    must(!daemon->ended);
    daemon->ended = true;
    keep_last(daemon);
    failure = status_failure(daemon);
    report_result(daemon, code ? code : 1,
                  failure[0] ? failure
                  : daemon->life.cause == LIFECYCLE_CAUSE_OWNER
                      ? "the owner died before the server was ready"
                      : "the server ended before it was ready");
    finish_handles(daemon);
}

static void publish(struct daemon *daemon) {
    daemon_write_state(daemon);
    daemon->untold = !control_publish(&daemon->control);
}

static void carry_out(struct daemon *daemon, struct control_call *caller) {
    const struct lifecycle_actions *todo = &daemon->actions;
    struct control *control = &daemon->control;
    if (caller)
        control_answer(caller, todo->answer);
    for (uint32_t i = 0; i < todo->dropped_count; i++)
        control_drop(control, todo->dropped[i]);
    for (uint32_t i = 0; i < todo->pinged_count; i++)
        control_ping(control, todo->pinged[i]);
    if (todo->set & LIFECYCLE_DO_SWEEP)
        control_sweep(control);
    if (todo->set & LIFECYCLE_DO_WATCH_OWNER)
        watch_owner(daemon);
    if (todo->set & LIFECYCLE_DO_SAMPLE_OWNER)
        sample_owner(daemon);
    if (todo->set & LIFECYCLE_DO_CLOSE_STDIN)
        os_handle_close(&daemon->supervisor.stdin_handle);
    if (todo->set & (LIFECYCLE_DO_TERMINATE | LIFECYCLE_DO_KILL_TREE))
        end_waiting(daemon);
    if (todo->set & LIFECYCLE_DO_TERMINATE)
        os_tree_ask(daemon->supervisor.tree);
    if (todo->set & LIFECYCLE_DO_KILL_TREE)
        os_tree_kill(daemon->supervisor.tree);
    if (todo->set & LIFECYCLE_DO_CHECK_PORTS)
        check_ports(daemon);
    if (todo->set & LIFECYCLE_DO_RECORD)
        record_end(daemon);
    if (todo->set & LIFECYCLE_DO_START)
        start_server(daemon);
    if (todo->set & LIFECYCLE_DO_PUBLISH)
        publish(daemon);
    if (todo->set & LIFECYCLE_DO_EXIT)
        end(daemon);
}

/* ---- events ---- */

static void on_timer(uv_timer_t *timer) {
    daemon_feed_kind(timer->data, LIFECYCLE_ON_TIMER);
}

static void set_timer(struct daemon *daemon) {
    uint64_t deadline = lifecycle_deadline(&daemon->life);
    uint64_t now = (uint64_t)os_clock_ms();
    uv_timer_stop(&daemon->timer);
    if (daemon->ended || deadline == LIFECYCLE_NEVER)
        return;
    uv_update_time(&daemon->loop);
    uv_timer_start(&daemon->timer, on_timer, deadline > now ? deadline - now : 0, 0);
}

static void note_server_state(struct daemon *daemon, enum lifecycle_server before) {
    enum lifecycle_server now = daemon->life.server;
    bool has_told = daemon->told == daemon->life.failure && before != LIFECYCLE_STARTING &&
                    before != LIFECYCLE_READY;
    const char *failure;
    if (now == before)
        return;
    if (before == LIFECYCLE_STARTING || now != LIFECYCLE_STARTING)
        ready_end(&daemon->ready);
    failure = status_failure(daemon);
    log_say(&daemon->log, "server %s%s%s", lifecycle_server_name(now),
            failure[0] && !has_told ? ": " : "", has_told ? "" : failure);
    daemon->told = daemon->life.failure;
    if (now == LIFECYCLE_READY) {
        daemon->facts.ready_ms = os_clock_ms() - daemon->facts.started_at;
        report_result(daemon, 0, "ready");
        os_ready_tell(OS_IS_READY);
    } else if (now == LIFECYCLE_STOPPING && daemon->life.purpose == LIFECYCLE_TO_END) {
        os_ready_tell(OS_IS_STOPPING);
    } else if (now == LIFECYCLE_FAILED) {
        report_result(daemon, lifecycle_failure_code(&daemon->life), failure);
    }
}

static void step(struct daemon *daemon, const struct lifecycle_event *event,
                 struct control_call *caller) {
    enum lifecycle_server before = daemon->life.server;
    must(daemon->busy && !daemon->ended); /* one step at a time: they share the actions */
    lifecycle_step(&daemon->life, event, (uint64_t)os_clock_ms(), &daemon->actions);
    note_server_state(daemon, before);
    carry_out(daemon, caller);
}

/* Events that come out of an action wait until all actions of the current one are done. None may be
 * lost: a death that nobody heard of would keep a server for ever. */
static void enqueue(struct daemon *daemon, const struct lifecycle_event *event) {
    must(daemon->queued < DAEMON_QUEUE);
    if (daemon->queued == 0)
        daemon->first = 0; /* or in time all of the ring's memory would have been written to */
    daemon->queue[(daemon->first + daemon->queued) % DAEMON_QUEUE] = *event;
    daemon->queued++;
}

static void work_off_queue(struct daemon *daemon) {
    while (daemon->queued > 0 && !daemon->ended) {
        struct lifecycle_event event = daemon->queue[daemon->first];
        daemon->first = (daemon->first + 1) % DAEMON_QUEUE;
        daemon->queued--;
        step(daemon, &event, NULL);
    }
}

void daemon_feed(struct daemon *daemon, const struct lifecycle_event *event,
                 struct control_call *caller) {
    if (daemon->ended)
        return; /* nothing has any effect on a life that is over */
    if (daemon->busy) {
        must(!caller); /* who asks comes from outside, and gets the answer at once */
        enqueue(daemon, event);
        return;
    }
    daemon->busy = true;
    step(daemon, event, caller);
    work_off_queue(daemon);
    daemon->busy = false;
    if (daemon->ended)
        return;
    control_settle(&daemon->control);
    set_timer(daemon);
}

void daemon_feed_kind(struct daemon *daemon, enum lifecycle_event_kind kind) {
    struct lifecycle_event event = {.kind = kind};
    daemon_feed(daemon, &event, NULL);
}

static void on_ready(void *context) {
    struct daemon *daemon = context;
    if (daemon->supervisor.server.pid == 0)
        daemon->ready_early = true;
    else
        daemon_feed_kind(daemon, LIFECYCLE_ON_READY);
}

void daemon_server_started(struct daemon *daemon) {
    log_say(&daemon->log, "server started: process %lld", (long long)daemon->supervisor.server.pid);
    daemon_write_state(daemon);
    if (daemon->ready_early)
        daemon_feed_kind(daemon, LIFECYCLE_ON_READY);
}

void daemon_server_unstarted(struct daemon *daemon, enum lifecycle_failure failure,
                             const struct error *why) {
    struct lifecycle_event event = {.kind = LIFECYCLE_ON_UNSTARTED, .failure = failure};
    daemon->facts.failure = *why;
    daemon_feed(daemon, &event, NULL);
}

void daemon_server_exited(struct daemon *daemon, const struct os_exit *how) {
    struct lifecycle_event event = {.kind = LIFECYCLE_ON_EXIT,
                                    .success = !how->by_signal && how->value == 0};
    char text[96];
    daemon->facts.has_exited = true;
    daemon->facts.last_exit = *how;
    log_last_lines(&daemon->log, daemon->facts.last_lines, sizeof daemon->facts.last_lines);
    status_exit_text(how, text, sizeof text);
    log_say(&daemon->log, "server %s", text);
    daemon_feed(daemon, &event, NULL);
}

/* A daemon in the background has no terminal that could go. */
static void on_wish(void *context, enum os_wish wish) {
    struct daemon *daemon = context;
    if (wish == OS_WISH_USER1 || wish == OS_WISH_USER2)
        os_tree_forward(daemon->supervisor.tree, wish);
    else if (wish != OS_WISH_HANGUP || daemon->foreground)
        daemon_feed_kind(daemon, LIFECYCLE_ON_SIGNAL);
}

static void on_parent_end(void *context, const struct os_identity *identity) {
    struct daemon *daemon = context;
    log_say(&daemon->log, "the program that started this (process %lld) is gone",
            (long long)identity->pid);
    daemon_feed_kind(daemon, LIFECYCLE_ON_PARENT);
}

/* ---- beginning ---- */

/* A program that dies without a signal to its children leaves `tether run` alone. Without a parent
 * from the start, as for an orphan or for process 1, there is nothing to watch. */
static void watch_parent(struct daemon *daemon) {
    struct os_identity parent;
    if (!daemon->foreground || !daemon->options->config.parent_watchdog)
        return;
    if (os_identity_parent(&parent) < 0)
        return;
    if (os_watch_create(&daemon->parent_watch, &daemon->loop, &parent,
                        daemon->options->config.parent_poll_ms, on_parent_end, daemon) == UV_ESRCH)
        on_parent_end(daemon, &parent);
}

static void make_token(char token[DAEMON_TOKEN]) {
    unsigned char bytes[DAEMON_TOKEN / 2];
    os_random(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
}

/* Those above us, the nearest first: to one of them goes what loses its parents with us. */
static void find_above(struct daemon *daemon) {
    struct os_identity at = daemon->self;
    for (size_t i = 0; i < RECORDS_ABOVE && os_process_parent(&at, &at.pid) == 0 && at.pid > 0 &&
                       os_identity_of(at.pid, &at) == 0;
         i++)
        daemon->above[i] = at;
}

/* Without that nobody could be told from anybody else: neither whom to end nor who lives. */
static int know_self(struct daemon *daemon, struct error *err) {
    int rc = os_identity_self(&daemon->self);
    if (rc < 0)
        error_set(err, rc,
                  "cannot tell processes apart (%s): there must be a /proc, and it must be that of "
                  "our own pid namespace; mount one (`unshare` does with --mount-proc)",
                  uv_strerror(rc));
    return rc;
}

/* Goes into the folder, or into the nearest above it that a process can be in. */
static void enter(const char *path) {
    char at[OS_PATH_MAX];
    size_t length = strlen(path);
    memcpy(at, path, length + 1);
    while (uv_chdir(at) < 0) {
        while (length > 0 && !os_is_separator(at[length - 1]))
            length--;
        if (length == 0)
            return;
        at[--length] = 0;
    }
}

/* There are systems on which the folder that a process is in can be neither moved nor removed, and
 * on the others what is mounted there stays. So we leave that of an editor which we may outlive,
 * and with us the built-in server does. Another server runs in it, and so that it can be started
 * again there, whatever the folder is called by then, we stay with it. */
static void leave_folder(struct daemon *daemon) {
    if (daemon->options->builtin && !daemon->foreground)
        enter(daemon->dir.path);
}

static int open_place(struct daemon *daemon, struct error *err) {
    int rc;
    options_instance(daemon->options, daemon->instance);
    rc = options_dir(daemon->options, &daemon->dir, true, err);
    if (rc < 0)
        return rc;
    leave_folder(daemon);
    if (daemon->options->lock_handle >= 0) {
        daemon->lock = (os_handle)daemon->options->lock_handle;
        return os_lock_adopt(daemon->lock, &daemon->dir, "lock", err);
    }
    rc = place_take(&daemon->lock, &daemon->dir, err);
    if (rc == UV_EAGAIN)
        error_set(err, rc,
                  "tether already runs for ports %u and %u; see `tether status`, end it with "
                  "`tether stop`, or choose other ports",
                  (unsigned)daemon->options->http_port, (unsigned)daemon->options->ws_port);
    return rc;
}

static void on_removed(const char *name, void *context) {
    log_say(context, "removed %s, left by a process that is gone", name);
}

/* Leaves the place as if nobody had been here before. A daemon that ends in order removes its state
 * file; only if it is there can orphans be, and only then is the search through all processes worth
 * its time. */
static void tidy_up(struct daemon *daemon) {
    struct records_state before;
    struct orphans orphans;
    bool unclean = records_read_state(&daemon->dir, &before);
    records_clean(&daemon->dir, on_removed, &daemon->log);
    os_ready_remove(&daemon->dir);
    if (!unclean)
        return;
    orphans_init(&orphans, daemon->options, &daemon->dir);
    orphans_end(&orphans, (int)daemon->options->config.stop_grace_ms, &daemon->log);
}

/* What libraries or a sanitizer have to say belongs into the log, too. */
static void redirect_stdio(const struct daemon *daemon) {
    os_handle log;
    uint64_t size;
    if (daemon->foreground || os_file_append(&daemon->dir, "launcher.log", &log, &size) < 0)
        return;
    os_stdio_redirect(log);
    os_handle_close(&log);
}

static int open_all(struct daemon *daemon, struct error *err) {
    int rc = uv_loop_init(&daemon->loop);
    if (rc < 0)
        return error_set(err, rc, "cannot start: %s", uv_strerror(rc));
    redirect_stdio(daemon);
    uv_timer_init(&daemon->loop, &daemon->timer);
    daemon->timer.data = daemon;
    uv_timer_init(&daemon->loop, &daemon->state_timer);
    daemon->state_timer.data = daemon;
    uv_timer_init(&daemon->loop, &daemon->owner_timer);
    daemon->owner_timer.data = daemon;
    uv_timer_init(&daemon->loop, &daemon->ports_timer);
    daemon->ports_timer.data = daemon;
    log_init(&daemon->log, &daemon->dir, daemon->foreground, on_log_line, daemon);
    ports_init(&daemon->ports, daemon->options);
    tidy_up(daemon);
    make_token(daemon->token);
    make_token(daemon->mark);
    find_above(daemon);
    rc = os_wishes_create(&daemon->wishes, &daemon->loop,
                          OS_WISH_END | OS_WISH_HANGUP | OS_WISH_USER1 | OS_WISH_USER2, on_wish,
                          daemon);
    if (rc < 0)
        return error_set(err, rc, "cannot start: %s", uv_strerror(rc));
    rc = supervisor_init(&daemon->supervisor, daemon);
    if (rc < 0)
        return error_set(err, rc, "cannot supervise processes: %s", uv_strerror(rc));
    daemon->opened = true; /* what finish_handles closes is there from here on */
    rc = ready_init(&daemon->ready, &daemon->loop, daemon->options, &daemon->dir, on_ready, daemon,
                    err);
    if (rc == 0)
        rc = control_init(&daemon->control, daemon, err);
    /* From here on a daemon that is killed can be found out by the next start. Without that record,
     * as on a full disk, none is started. */
    return rc < 0 ? rc : write_state(daemon, err);
}

static void begin(struct daemon *daemon) {
    struct os_identity owner = daemon->options->owner;
    char whose[32];
    uint32_t seed = 0;
    if (owner.pid != 0 && owner.start == 0) /* hold on to whoever has this pid now */
        os_identity_of(owner.pid, &owner);
    os_random(&seed, sizeof seed);
    daemon->busy = true;
    lifecycle_init(&daemon->life, &daemon->options->config, &owner, seed, (uint64_t)os_clock_ms(),
                   &daemon->actions);
    snprintf(whose, sizeof whose, owner.pid ? "owner %" PRId64 : "no owner", owner.pid);
    log_say(&daemon->log, "tether %s, process %lld, ports %s, %s", tether_version,
            (long long)daemon->self.pid, daemon->instance, whose);
    carry_out(daemon, NULL);
    work_off_queue(daemon);
    daemon->busy = false;
    set_timer(daemon);
}

/* ---- ending ---- */

/* The record goes before the connections: whoever sees those closed finds none. */
static void finish_handles(struct daemon *daemon) {
    records_remove_all(&daemon->dir, &daemon->self);
    uv_close((uv_handle_t *)&daemon->timer, NULL);
    uv_close((uv_handle_t *)&daemon->state_timer, NULL);
    uv_close((uv_handle_t *)&daemon->owner_timer, NULL);
    uv_close((uv_handle_t *)&daemon->ports_timer, NULL);
    os_wishes_destroy(daemon->wishes);
    os_watch_destroy(daemon->owner_watch);
    os_watch_destroy(daemon->parent_watch);
    control_finish(&daemon->control);
    ready_finish(&daemon->ready);
    supervisor_finish(&daemon->supervisor);
    place_finish(daemon);
}

/* As long as it starts; there is no server yet. */
static void say_no_memory(void *context) {
    const struct options *options = *(const struct options *const *)context;
    memory_say(NULL);
    if (options->result_handle >= 0)
        report_briefly((os_handle)options->result_handle, options, 1, 0);
}

static void release(struct daemon *daemon) {
    if (daemon->opened)
        log_finish(&daemon->log);
    os_handle_close(&daemon->lock);
    os_dir_finish(&daemon->dir);
    json_decref(daemon->facts.command);
    free(daemon);
}

static int fail_early(struct daemon *daemon, const struct error *err) {
    daemon->ended = true;
    if (daemon->opened) {
        finish_handles(daemon);
        uv_run(&daemon->loop, UV_RUN_DEFAULT);
        uv_loop_close(&daemon->loop);
    }
    report_result(daemon, 1, err->message);
    if (daemon->foreground)
        fprintf(stderr, "tether: %s\n", err->message);
    release(daemon);
    return 1;
}

int daemon_run(const struct options *options, bool foreground) {
    struct daemon *daemon;
    struct error err = {0};
    int code;
    memory_require(say_no_memory, &options);
    daemon = memory_zeroed(sizeof *daemon);
    os_keep_from_forks(daemon, sizeof *daemon);
    daemon->options = options;
    daemon->foreground = foreground;
    daemon->dir.handle = OS_NO_HANDLE;
    daemon->lock = OS_NO_HANDLE;
    daemon->result = (os_handle)options->result_handle;
    daemon->started_at = os_clock_ms();
    if (know_self(daemon, &err) < 0 || open_place(daemon, &err) < 0 || open_all(daemon, &err) < 0)
        return fail_early(daemon, &err);
    memory_survive(); /* from here on there is a server to keep */
    watch_parent(daemon);
    place_keep(daemon);
    begin(daemon);
    report_listening(daemon);
    uv_run(&daemon->loop, UV_RUN_DEFAULT);
    uv_loop_close(&daemon->loop);
    code = lifecycle_exit_code(&daemon->life);
    release(daemon);
    return code;
}
