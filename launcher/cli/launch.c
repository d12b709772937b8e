/* `tether launch`: adopts the daemon of an instance, or starts one and waits for its word.
 *
 * Whoever gets the lock starts the daemon and hands the lock over to it, so of any number of
 * launches at once one starts it and the others adopt it. */
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "client.h"
#include "commands.h"
#include "daemon/command_words.h"
#include "daemon/place.h"
#include "daemon/ports.h"
#include "daemon/records.h"
#include "exit_code.h"
#include "memory.h"
#include "os/os_pipe.h"
#include "os/os_spawn.h"
#include "protocol/lines.h"
#include "protocol/message.h"
#include "protocol/version.h"

enum {
    MOMENT_MS = 20, /* between looks for a daemon that holds the lock but does not listen */
    HANDSHAKE_MOST_MS = 60000,
    LOST_MOST_MS = 10000,     /* for a daemon to make again what was removed */
    SUCCESSOR_MOST_MS = 5000, /* for who has asked a daemon of ours to make room */
    QUIET_MS = 5000,          /* from a daemon that was started; then it is asked */
    SILENT_MOST_MS = 20000,
    COMMAND_SHOWN = 200, /* characters of another command, in a message */
};

enum outcome { AGAIN, UNANSWERED, DONE };

struct launch {
    struct options options; /* the ports change with --ports auto */
    json_t *result;
    int64_t began;
    int64_t unanswered_since; /* 0: who has the lock has answered since */
    bool restarted;           /* a failed server has been given one more try */
    int64_t replaced;         /* the daemon of ours that made room for a newer one; 0: none */
};

/* ---- results ---- */

static enum outcome give_up(struct launch *launch, int code, const char *message) {
    launch->result = launch_result("failed", code, message, 0, 0, launch->options.http_port,
                                   launch->options.ws_port, "");
    return DONE;
}

static void adopted(struct launch *launch, const struct client *client, const json_t *state,
                    const char *message) {
    const json_t *daemon = json_object_get(state, "daemon");
    const json_t *server = json_object_get(state, "server");
    launch->result = launch_result("adopted", 0, message, message_number(daemon, "pid", 0),
                                   message_number(server, "pid", 0), launch->options.http_port,
                                   launch->options.ws_port, client->endpoint);
}

/* For the editor, which asks for it: a line before the result, with which it can hold its session
 * while the server is on its way, to show it and to call it off. Takes the reference. */
static void announce(json_t *line) {
    const char *wanted = os_variable("TETHER_ANNOUNCE");
    if (wanted && wanted[0]) {
        command_print_json(line);
        fflush(stdout);
    }
    json_decref(line);
}

/* ---- starting ---- */

/* What is about the launcher's own surroundings is not for the daemon. */
static void daemon_environment(struct text_list *list) {
    static const char *const dropped[] = {"TETHER_INSTANCE", "TETHER_DAEMON", "TETHER_MARK",
                                          "TETHER_WS_TOKEN", "LISTEN_FDS",    "LISTEN_PID",
                                          "LISTEN_FDNAMES",  "NOTIFY_SOCKET", "TETHER_ANNOUNCE"};
    os_environment(list);
    for (size_t i = 0; i < sizeof dropped / sizeof dropped[0]; i++)
        environment_set(list, dropped[i], NULL);
}

/* The daemon has both handles under the values that they have here. */
static int spawn_daemon(const struct options *options, os_handle lock, os_handle result,
                        int64_t *pid) {
    const os_handle handed[] = {lock, result};
    struct options told = *options;
    char self[OS_PATH_MAX];
    struct text_list words = {0}, environment = {0};
    struct os_spawn_spec spec = {.path = self,
                                 .output = OS_NO_HANDLE,
                                 .handed = handed,
                                 .handed_count = sizeof handed / sizeof handed[0],
                                 .detached = true};
    struct os_child child = {0};
    int rc = os_own_program(self, sizeof self);
    told.lock_handle = lock;
    told.result_handle = result;
    text_list_add(&words, "tether");
    text_list_add(&words, "daemon");
    options_emit(&told, &words);
    daemon_environment(&environment);
    spec.words = words.items;
    spec.environment = environment.items;
    if (rc == 0 && (words.failed || environment.failed))
        rc = UV_ENOMEM;
    if (rc == 0)
        rc = os_spawn(&child, &spec);
    *pid = child.pid;
    text_list_finish(&words);
    text_list_finish(&environment);
    return rc;
}

/* What comes from the daemon that was started, on a loop of its own. */
struct report {
    struct line_stream stream;
    uv_loop_t loop;
    uv_timer_t timer;
    struct launch *launch;
    bool over, heard, quiet;
    char bytes[4096];
};

static bool on_told(const char *line, size_t length, void *context) {
    struct report *report = context;
    struct launch *launch = report->launch;
    json_t *message = message_parse(line, length, NULL);
    report->heard = true;
    if (message && json_object_get(message, "listening")) {
        announce(message);
    } else {
        json_decref(launch->result);
        launch->result = message;
        report->over = message && !json_object_get(message, "ending");
        json_object_del(message, "ending");
    }
    return !report->over;
}

static void on_over(void *context, int why) {
    struct report *report = context;
    (void)why;
    report->over = true;
}

static void on_quiet(uv_timer_t *timer) {
    struct report *report = timer->data;
    report->quiet = true;
}

/* Whether a daemon that has said nothing for long is there to say something later. */
static bool is_answering(const struct options *options) {
    struct error err;
    json_t *welcome = NULL;
    struct client *client = client_open(options, &welcome, &err);
    bool answers = client != NULL || err.code == UV_EAGAIN;
    client_close(client, welcome);
    return answers;
}

static int report_open(struct report *report, struct launch *launch, os_handle *to) {
    int rc;
    memset(report, 0, offsetof(struct report, bytes));
    report->launch = launch;
    uv_loop_init(&report->loop);
    uv_timer_init(&report->loop, &report->timer);
    report->timer.data = report;
    rc = os_pipe_reader(&report->loop, &report->stream.pipe, to);
    report->stream.pipe.data = report;
    return rc;
}

static void report_close(struct report *report) {
    uv_close((uv_handle_t *)&report->stream.pipe, NULL);
    uv_close((uv_handle_t *)&report->timer, NULL);
    uv_run(&report->loop, UV_RUN_DEFAULT);
    uv_loop_close(&report->loop);
    buffer_finish(&report->stream.lines);
}

/* What the daemon tells: that it listens, then how the start went; nothing if it died without a
 * word. Its own limits see to it that it speaks, unless somebody stops it: while it is quiet it is
 * asked, and before it listens it gets the time that ending an orphan may take. False: it is there,
 * but does not answer. */
static bool report_read(struct report *report) {
    const struct options *options = &report->launch->options;
    int64_t silent_since = os_clock_ms();
    line_stream_read(&report->stream, uv_buf_init(report->bytes, sizeof report->bytes), on_told,
                     on_over);
    uv_timer_start(&report->timer, on_quiet, QUIET_MS, QUIET_MS);
    while (!report->over) {
        report->heard = report->quiet = false;
        uv_run(&report->loop, UV_RUN_ONCE);
        if (report->heard || (report->quiet && is_answering(options)))
            silent_since = os_clock_ms();
        if (os_clock_ms() - silent_since > SILENT_MOST_MS + (int64_t)options->config.stop_grace_ms)
            return false;
    }
    return true;
}

static enum outcome start(struct launch *launch, os_handle lock) {
    char text[256];
    struct error err = {0};
    struct report report;
    os_handle to;
    int64_t pid = 0;
    bool answers;
    int rc;
    if (options_check_start(&launch->options, &err) < 0) {
        os_handle_close(&lock);
        return give_up(launch, EXIT_FAILED, err.message);
    }
    rc = report_open(&report, launch, &to);
    if (rc == 0)
        rc = spawn_daemon(&launch->options, lock, to, &pid);
    os_handle_close(&to);
    os_handle_close(&lock);
    if (rc < 0) {
        report_close(&report);
        snprintf(text, sizeof text, "cannot start the daemon: %s", uv_strerror(rc));
        return give_up(launch, EXIT_FAILED, text);
    }
    answers = report_read(&report);
    report_close(&report);
    if (!answers) {
        snprintf(text, sizeof text, "the daemon, process %lld, was started but does not answer; %s",
                 (long long)pid, os_silent_advice);
        return give_up(launch, EXIT_FAILED, text);
    }
    if (launch->result && json_is_true(json_object_get(launch->result, "again"))) {
        json_decref(launch->result);
        launch->result = NULL;
        launch->replaced = pid;
        return AGAIN;
    }
    if (launch->result)
        return DONE;
    return give_up(launch, EXIT_FAILED,
                   "the daemon ended without a word; `tether logs` and launcher.log in its "
                   "directory (`tether doctor` names it) may tell why");
}

/* ---- adopting ---- */

static bool is_settled(const json_t *state) {
    enum server_state server = message_state(state);
    return server != SERVER_STARTING && server != SERVER_BACKOFF && server != SERVER_STOPPING;
}

/* Replaces the state by newer ones until none has come and the server is neither on its way up nor
 * down. NULL: the daemon has gone meanwhile, or does not answer. */
static json_t *settled_state(struct client *client, json_t *state) {
    json_t *message;
    while ((message = is_settled(state) ? client_receive(client, 0) : client_await(client))) {
        if (message_kind(message) == MESSAGE_STATE) {
            json_decref(state);
            state = message;
        } else {
            json_decref(message);
        }
    }
    if (!client->closed && is_settled(state))
        return state;
    json_decref(state);
    return NULL;
}

static bool is_ok(json_t *reply) {
    bool ok = json_is_true(json_object_get(reply, "ok"));
    json_decref(reply);
    return ok;
}

/* An older daemon makes room for us if it had an owner, and nobody else uses it. */
static bool replaced(struct client *client, const struct os_identity *owner) {
    json_t *request = owner->pid ? process_json(owner->pid, owner->start) : json_object();
    json_object_set_new(request, "type", json_string("handover"));
    return is_ok(client_request(client, request, 5000)) &&
           client_wait_closed(client, HANDSHAKE_MOST_MS);
}

static void register_owner(struct client *client, const struct options *options) {
    json_t *request = process_json(options->owner.pid, options->owner.start);
    json_object_set_new(request, "type", json_string("adopt"));
    json_object_set_new(request, "role", json_string(options->owner_is_front ? "front" : "editor"));
    json_decref(client_request(client, request, 5000));
}

/* Takes the state as it was before a request, and returns it as it is afterwards: a change that was
 * told while the reply was awaited has been passed over, and nobody would tell it again. */
static json_t *renewed(struct client *client, json_t *state) {
    json_t *newer = client_request(client, json_pack("{s:s}", "type", "status"), 5000);
    if (!newer)
        return state;
    json_decref(state);
    return newer;
}

/* What was adopted is perhaps not what was asked for. */
static void note_other_command(struct launch *launch, const json_t *server) {
    struct buffer text = {0};
    if (!command_words_differ(server, &launch->options))
        return;
    buffer_add_text(&text, message_text(launch->result, "message"));
    buffer_add_literal(&text, "; it was started with another command: ");
    command_words_quote(&text, json_object_get(server, "command"), COMMAND_SHOWN);
    buffer_add_literal(&text, "; to run yours, end it first (`tether stop`)");
    if (text.data && !text.failed)
        json_object_set_new(launch->result, "message", json_string(text.data));
    json_object_set_new(launch->result, "other_command", json_true());
    buffer_finish(&text);
}

static enum outcome judge(struct launch *launch, struct client *client, json_t *state) {
    struct error err = {0};
    char text[256] = "adopted the server that runs";
    const char *version = message_text(state, "version");
    if (!state && !client->closed) {
        client_tell_silent(client, &err);
        return give_up(launch, EXIT_FAILED, err.message);
    }
    if (!state)
        return AGAIN;
    if (message_state(state) == SERVER_FAILED) {
        if (!launch->restarted &&
            is_ok(client_request(client, json_pack("{s:s}", "type", "restart"), 5000))) {
            launch->restarted = true;
            return AGAIN;
        }
        return give_up(launch, EXIT_FAILED,
                       message_text(json_object_get(state, "server"), "reason"));
    }
    if (strcmp(version, tether_version) != 0)
        snprintf(text, sizeof text, "adopted the server that runs under tether %.40s (this is %s)",
                 version, tether_version);
    adopted(launch, client, state, text);
    note_other_command(launch, json_object_get(state, "server"));
    return DONE;
}

static enum outcome adopt(struct launch *launch, struct client *client) {
    struct error err = {0};
    enum outcome outcome = AGAIN;
    json_t *state = client_hello(client, &err);
    const struct os_identity *owner = &launch->options.owner;
    bool is_older = version_compare(message_text(state, "version"), tether_version) < 0;
    if (!state && err.code != UV_EAGAIN)
        return give_up(launch, EXIT_FAILED, err.message);
    if (!state && client->closed)
        return UNANSWERED;
    if (!state)
        client_wait_closed(client, HANDSHAKE_MOST_MS);
    else if (!is_older || !replaced(client, owner)) {
        if (owner->pid)
            register_owner(client, &launch->options);
        if (owner->pid || is_older)
            state = renewed(client, state);
        if (!is_settled(state))
            announce(json_pack("{s:s}", "listening", client->endpoint));
        state = settled_state(client, state);
        outcome = judge(launch, client, state);
    }
    json_decref(state);
    return outcome;
}

/* ---- who has the lock ---- */

/* Waits a moment, but not for ever in all. `why` is what is wrong if it stays so. */
static enum outcome be_patient(struct launch *launch, const struct os_dir *dir,
                               const struct error *why) {
    int64_t now = os_clock_ms();
    if (launch->unanswered_since == 0)
        launch->unanswered_since = now;
    if (now - launch->unanswered_since > (why->code == UV_EBUSY ? LOST_MOST_MS : HANDSHAKE_MOST_MS))
        return give_up(launch, EXIT_FAILED, why->message);
    os_dir_wait(dir, MOMENT_MS);
    return AGAIN;
}

/* Somebody has the lock. If nobody listens, it is somebody who does not yet, or not any more. One
 * who listens but hangs up has no room for us at present, or is about to go. */
static enum outcome join(struct launch *launch, const struct os_dir *dir, const struct error *why) {
    struct error err = {0};
    struct client client;
    enum outcome outcome = UNANSWERED;
    int rc = client_init(&client, &launch->options, &err);
    if (rc == 0) {
        outcome = adopt(launch, &client);
        client_finish(&client);
    } else if (rc != UV_ENOENT) {
        outcome = give_up(launch, EXIT_FAILED, err.message);
    }
    if (outcome == UNANSWERED)
        return be_patient(launch, dir, why);
    launch->unanswered_since = 0;
    return outcome;
}

/* With --ports auto, no daemon is started only to find a stranger there. At the last pair one is:
 * it says who that is. */
static bool is_passed_over(struct launch *launch, const struct os_dir *dir) {
    return launch->options.ports_auto && ports_have_stranger(&launch->options, dir) &&
           options_next_pair(&launch->options);
}

/* Who took the lock first would start the older release again, to be replaced again, for ever. */
static void let_successor_in(struct launch *launch, const struct os_dir *dir) {
    int64_t until = os_clock_ms() + SUCCESSOR_MOST_MS;
    struct records_state state;
    while (os_clock_ms() < until &&
           !(records_read_state(dir, &state) && state.daemon.pid != launch->replaced &&
             os_control_is_answered(dir)))
        os_dir_wait(dir, MOMENT_MS);
    launch->replaced = 0;
}

static enum outcome try_instance(struct launch *launch) {
    struct error err = {0};
    struct os_dir dir;
    os_handle lock;
    enum outcome outcome;
    int rc = options_dir(&launch->options, &dir, true, &err);
    if (rc < 0)
        return give_up(launch, EXIT_FAILED, err.message);
    if (launch->replaced)
        let_successor_in(launch, &dir);
    rc = place_take(&lock, &dir, &err);
    if (rc == UV_EAGAIN)
        place_tell_silent(&dir, &err);
    if (rc == 0 && is_passed_over(launch, &dir)) {
        os_handle_close(&lock);
        outcome = AGAIN;
    } else if (rc == 0)
        outcome = start(launch, lock);
    else if (rc == UV_EAGAIN || rc == UV_EBUSY)
        outcome = join(launch, &dir, &err);
    else
        outcome = give_up(launch, EXIT_FAILED, err.message);
    os_dir_finish(&dir);
    return outcome;
}

static int result_code(const struct launch *launch) {
    return (int)message_number(launch->result, "code", EXIT_FAILED);
}

static bool next_pair(struct launch *launch) {
    if (result_code(launch) != EXIT_PORT_HELD || !options_next_pair(&launch->options))
        return false;
    json_decref(launch->result);
    launch->result = NULL;
    return true;
}

/* Whoever reads the one line gets the reason, too. A daemon that was started is not called back:
 * its owner, or `tether stop`, ends it. */
static void say_no_memory(void *context) {
    memory_say(context);
    puts("{\"result\":\"failed\",\"code\":1,\"message\":\"out of memory\"}");
}

int command_launch(const struct options *options) {
    struct launch launch = {.options = *options, .began = os_clock_ms()};
    int code;
    memory_require(say_no_memory, NULL);
    do {
        while (try_instance(&launch) == AGAIN)
            ;
    } while (next_pair(&launch));
    json_object_set_new(launch.result, "ms", json_integer(os_clock_ms() - launch.began));
    command_print_json(launch.result);
    code = result_code(&launch);
    json_decref(launch.result);
    return code;
}
