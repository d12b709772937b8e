/* `tether doctor` and `tether sweep`: what is there, what is wrong, and cleaning what is safe.
 *
 * The doctor only looks. The sweep removes what dead processes left and ends the orphans of this
 * instance, and does so only while it holds the instance's lock: then no daemon runs. */
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "client.h"
#include "client_files.h"
#include "commands.h"
#include "daemon/command_words.h"
#include "daemon/log.h"
#include "daemon/orphans.h"
#include "daemon/place.h"
#include "daemon/ports.h"
#include "daemon/records.h"
#include "exit_code.h"
#include "last_run.h"
#include "protocol/message.h"
#include "protocol/version.h"
#include "readable.h"

struct report {
    const struct options *options;
    struct orphans orphans;
    json_t *findings;
    bool is_held; /* a daemon runs here */
};

/* ---- findings ---- */

/* Advice NULL: all is well. */
__attribute__((format(printf, 4, 5))) static void add(struct report *report, const char *what,
                                                      const char *advice, const char *format, ...) {
    char text[1400];
    struct buffer shown = {0}; /* for it may have been cut, and JSON takes no half letters */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    readable_add_lines(&shown, text, 0);
    json_array_append_new(report->findings,
                          json_pack("{s:s, s:b, s:s, s:s?}", "what", what, "ok", advice == NULL,
                                    "text", shown.data ? shown.data : "", "advice", advice));
    buffer_finish(&shown);
}

static void examine_daemon(struct report *report, const struct os_dir *dir) {
    struct error err = {0}, silent = {0};
    json_t *state = NULL;
    struct client *client = client_open(report->options, &state, &err);
    if (state) {
        const json_t *server = json_object_get(state, "server");
        const char *reason = message_text(server, "reason");
        add(report, "daemon", NULL, "tether %s runs as process %" PRId64 ": %s",
            message_text(state, "version"),
            message_number(json_object_get(state, "daemon"), "pid", 0), message_text(state, "why"));
        add(report, "server", reason[0] ? "see `tether logs`; `tether restart` tries again" : NULL,
            "%s%s%.1200s", message_text(server, "state"), reason[0] ? ": " : "", reason);
    } else {
        place_tell_silent(dir, &silent);
        add(report, "daemon", "wait a moment; if it stays so, do what it says", "%s (%s)",
            silent.message, err.message);
    }
    client_close(client, state);
}

/* The run before. A failure is the user's to know; that it was killed tells nothing of now. */
static void examine_last(struct report *report) {
    struct buffer text = {0};
    json_t *last = last_run(report->options);
    add(report, "daemon", NULL, "none runs");
    if (last) {
        const char *reason = message_text(last, "reason");
        last_run_text(&text, last, 0);
        add(report, "last run",
            reason[0] ? "see `tether logs`; `tether launch` starts it again" : NULL, "%s",
            text.data ? text.data : "");
    }
    buffer_finish(&text);
    json_decref(last);
}

static void examine_place(struct report *report) {
    struct error err = {0};
    struct os_dir dir;
    int rc = options_dir(report->options, &dir, false, &err);
    options_instance(report->options, report->orphans.instance);
    if (rc == UV_ENOENT) {
        add(report, "directory", NULL, "there is none yet: nothing has run for these ports");
    } else if (rc < 0) {
        add(report, "directory", "do what it says", "%s", err.message);
    } else {
        orphans_init(&report->orphans, report->options, &dir);
        add(report, "directory", NULL, "%s", dir.path);
        report->is_held = place_is_taken(&dir);
        if (report->is_held)
            examine_daemon(report, &dir);
        else
            examine_last(report);
        os_dir_finish(&dir);
    }
}

/* ---- another tether on our ports ---- */

/* One that listens for its server; `tether serve` alone is a server like any other. */
static bool is_tether(const struct os_port_holder *holder) {
    const char *slash = strrchr(holder->executable, '/');
    const char *name = slash ? slash + 1 : holder->executable;
    const char *word = holder->command + strcspn(holder->command, " ");
    return strncmp(name, "tether", 6) == 0 && strchr(". ", name[6]) && /* or the end */
           strncmp(word, " serve", 6) != 0;
}

/* Whether the holder is a tether, or of one, that keeps its state elsewhere: no stranger, then, but
 * none that our commands reach. `place` becomes where, empty for the usual place. */
static bool is_elsewhere(const struct report *report, const struct os_port_holder *holder,
                         char *instance, char *place) {
    const char *ours = report->options->state_dir ? report->options->state_dir : "";
    int rc =
        os_process_variable(&holder->identity, "TETHER_INSTANCE", instance, OPTIONS_INSTANCE_MAX);
    if (rc < 0)
        instance[0] = 0;
    if (rc < 0 && !is_tether(holder))
        return false;
    rc = os_process_variable(&holder->identity, "TETHER_STATE_DIR", place, OS_PATH_MAX);
    if (rc == UV_ENOENT)
        place[0] = 0;
    return (rc == 0 || rc == UV_ENOENT) && strcmp(place, ours) != 0;
}

/* How to reach that one; an instance that is not known has its ports in the holder's command. */
static void advise_stop(struct buffer *out, const char *instance, const char *place) {
    char variable[OS_PATH_MAX + 20], ports[2][OPTIONS_INSTANCE_MAX] = {"", ""};
    json_t *words;
    snprintf(variable, sizeof variable, "TETHER_STATE_DIR%s%s", place[0] ? "=" : "", place);
    words = json_pack("[s, s*, o*, s, s]", "env", place[0] ? NULL : "-u", json_string(variable),
                      "tether", "stop");
    if (sscanf(instance, "%15[0-9]-%15[0-9]", ports[0], ports[1]) == 2) {
        json_t *both = json_pack("[s, s, s, s]", "--http-port", ports[0], "--ws-port", ports[1]);
        json_array_extend(words, both);
        json_decref(both);
    }
    buffer_add_literal(out, "that one stops with `");
    command_words_quote(out, words, SIZE_MAX);
    buffer_format(out, "`%s; or use other ports (--http-port, --ws-port)",
                  ports[1][0] ? "" : " and its --http-port and --ws-port");
    json_decref(words);
}

static void add_elsewhere(struct report *report, const char *name,
                          const struct os_port_holder *holder, const char *instance,
                          const char *place) {
    struct buffer advice = {0};
    advise_stop(&advice, instance, place);
    add(report, name, advice.data ? advice.data : "use other ports",
        "held by process %lld (%s: %s), of another tether, which keeps its state in %.400s",
        (long long)holder->identity.pid, holder->executable, holder->command,
        place[0] ? place : "the usual place (we have another TETHER_STATE_DIR)");
    buffer_finish(&advice);
}

/* ---- ports ---- */

enum { ADVICE_MAX = 128 };

/* For a process that says that it is an orphan of ours. */
static void advise_end(const struct report *report, const struct os_identity *identity,
                       char advice[ADVICE_MAX]) {
    if (orphans_is_ours(&report->orphans, identity))
        snprintf(advice, ADVICE_MAX, "`tether sweep` ends it");
    else
        snprintf(advice, ADVICE_MAX,
                 "nothing proves that it is ours, so it is left alone; `%s %" PRId64 "` ends it",
                 os_end_command, identity->pid);
}

/* While tether runs here it is taken for its own, unless it is known to be another user's. */
static void add_hidden(struct report *report, const char *name,
                       const struct os_port_holder *holder) {
    const char *advice = "use other ports (--http-port, --ws-port)";
    if (holder->hidden_pid != 0)
        add(report, name, advice, "held by process %lld (%s), of which the system tells us no more",
            (long long)holder->hidden_pid, holder->executable);
    else if (holder->user != OS_USER_UNKNOWN)
        add(report, name, advice, "held by a process of user %u that the system does not show us",
            (unsigned)holder->user);
    else
        add(report, name, report->is_held ? NULL : advice,
            "held by a process that the system does not show us");
}

static void examine_port(struct report *report, uint16_t port) {
    struct os_port_holder holder;
    struct error err = {0};
    char name[16], instance[OPTIONS_INSTANCE_MAX], place[OS_PATH_MAX], advice[ADVICE_MAX];
    int rc;
    if (port == 0)
        return;
    snprintf(name, sizeof name, "port %u", (unsigned)port);
    rc = os_port_try(port, &err);
    if (rc == 0) {
        add(report, name, NULL, "free");
    } else if (rc != UV_EADDRINUSE || (rc = os_port_holder(port, &holder)) < 0) {
        add(report, name, "use other ports (--http-port, --ws-port)", "%s%s", err.message,
            rc == UV_ENOMEM ? "; who has it cannot be told: out of memory" : "");
    } else if (holder.identity.pid == 0) {
        add_hidden(report, name, &holder);
    } else if (!orphans_says_so(&report->orphans, &holder.identity) &&
               is_elsewhere(report, &holder, instance, place)) {
        add_elsewhere(report, name, &holder, instance, place);
    } else {
        bool orphan = orphans_says_so(&report->orphans, &holder.identity);
        advise_end(report, &holder.identity, advice);
        add(report, name,
            report->is_held ? NULL
            : orphan        ? advice
                            : "end it, or use other ports (--http-port, --ws-port)",
            "held by %s%lld (%s: %s)", orphan ? "an orphan of this instance, process " : "process ",
            (long long)holder.identity.pid, holder.executable, holder.command);
    }
}

static bool examine_process(const struct os_identity *identity, void *arg) {
    struct report *report = arg;
    char command[256] = "?", advice[ADVICE_MAX];
    if (orphans_says_so(&report->orphans, identity)) {
        os_process_command(identity, command, sizeof command);
        advise_end(report, identity, advice);
        add(report, "orphan", advice, "process %lld (%s) was started by a daemon that is gone",
            (long long)identity->pid, command);
    }
    return true;
}

/* ---- AI clients ---- */

/* A client that is not connected is nobody's fault; an entry that leads nowhere is told. */
static void examine_clients(struct report *report) {
    struct client_files files;
    struct error err = {0};
    if (client_files_init(&files, report->options, &err) < 0) {
        add(report, "clients", "give --project the folder of a project", "%s", err.message);
        return;
    }
    for (size_t i = 0; i < client_kind_count; i++) {
        const struct client_kind *kind = &client_kinds[i];
        json_t *client = clients_describe(kind, &files.place);
        const char *stale = message_text(client, "stale"), *way = message_text(client, "transport");
        char advice[ADVICE_MAX];
        snprintf(advice, sizeof advice, "`tether clients add %s` mends it, `remove` takes it out",
                 kind->id);
        if (stale[0])
            add(report, "client", advice, "%s: %.600s (%.600s)", kind->name, stale,
                message_text(client, "file"));
        else if (way[0])
            add(report, "client", NULL, "%s is connected (%s, %.600s)", kind->name, way,
                message_text(client, "file"));
        json_decref(client);
    }
}

/* ---- printing ---- */

enum { TEXT_AT = 16 /* the column in which it begins */ };

static int print_findings(const struct report *report) {
    struct buffer words = {0};
    const json_t *finding;
    size_t i;
    int code = EXIT_FINE;
    json_array_foreach(report->findings, i, finding) {
        bool ok = json_is_true(json_object_get(finding, "ok"));
        if (!ok)
            code = EXIT_FAILED;
        if (report->options->json)
            continue;
        buffer_format(&words, "%-4s %-10s ", ok ? "ok" : "!!", message_text(finding, "what"));
        readable_add_lines(&words, message_text(finding, "text"), TEXT_AT);
        if (!ok) {
            buffer_format(&words, "\n%*s→ ", TEXT_AT, "");
            readable_add_lines(&words, message_text(finding, "advice"), TEXT_AT);
        }
        buffer_add_char(&words, '\n');
    }
    if (words.data && !words.failed)
        fputs(words.data, stdout);
    buffer_finish(&words);
    if (report->options->json) {
        json_t *all = json_pack("{s:s, s:s, s:b, s:O}", "version", tether_version, "instance",
                                report->orphans.instance, "ok", code == EXIT_FINE, "findings",
                                report->findings);
        command_print_json(all);
        json_decref(all);
    }
    return code;
}

int command_doctor(const struct options *options) {
    struct report report = {.options = options, .findings = json_array()};
    int code;
    examine_place(&report);
    examine_port(&report, options->http_port);
    examine_port(&report, options->ws_port);
    os_process_each("TETHER_INSTANCE", report.orphans.instance, examine_process, &report);
    examine_clients(&report);
    code = print_findings(&report);
    json_decref(report.findings);
    return code;
}

/* ---- sweep ---- */

static void on_removed(const char *name, void *context) {
    log_say(context, "removed %s, left by a process that is gone", name);
}

static void sweep_place(const struct options *options, const struct os_dir *dir) {
    struct orphans orphans;
    struct log log;
    log_init(&log, dir, true, NULL, NULL);
    orphans_init(&orphans, options, dir);
    orphans_end(&orphans, (int)options->config.stop_grace_ms, &log);
    records_clean(dir, on_removed, &log);
    records_keep_last(dir);
    os_control_remove(dir, NULL);
    os_ready_remove(dir);
    log_finish(&log);
}

int command_sweep(const struct options *options) {
    struct error err = {0};
    struct os_dir dir;
    os_handle lock = OS_NO_HANDLE;
    int rc = options_dir(options, &dir, false, &err);
    if (rc == UV_ENOENT) {
        puts("nothing to sweep: nothing has run for these ports");
        return EXIT_FINE;
    }
    if (rc < 0)
        return exit_failing(EXIT_FAILED, &err);
    rc = place_take(&lock, &dir, &err);
    if (rc == 0)
        sweep_place(options, &dir);
    os_dir_finish(&dir);
    os_handle_close(&lock);
    if (rc == 0)
        puts("swept");
    else if (rc == UV_EAGAIN)
        puts("nothing to sweep: tether runs here, and keeps its own place clean");
    else if (rc == UV_EBUSY)
        printf("nothing is swept: %s\n", err.message);
    else
        return exit_failing(EXIT_FAILED, &err);
    return EXIT_FINE;
}
