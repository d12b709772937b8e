#include "orphans.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "memory.h"

enum { FOUND_MOST = 256, GENERATIONS_MOST = 64 };

static bool has_variable(const struct os_identity *identity, const char *name, const char *value) {
    char found[96];
    return os_process_variable(identity, name, found, sizeof found) == 0 &&
           strcmp(found, value) == 0;
}

/* TETHER_DAEMON is "pid:start". */
static bool parse_daemon(char *text, struct os_identity *daemon) {
    char *colon = strchr(text, ':');
    if (!colon)
        return false;
    *colon = 0;
    return os_pid_parse(text, &daemon->pid) == 0 && os_start_parse(colon + 1, &daemon->start) == 0;
}

/* The daemon is named as its server's namespace counts. Seen from another one it looks dead. */
bool orphans_says_so(const struct orphans *orphans, const struct os_identity *identity) {
    char value[64];
    struct os_identity daemon;
    return os_same_namespace(identity->pid) == OS_YES &&
           has_variable(identity, "TETHER_INSTANCE", orphans->instance) &&
           os_process_variable(identity, "TETHER_DAEMON", value, sizeof value) == 0 &&
           parse_daemon(value, &daemon) && os_liveness(&daemon) == OS_DEAD;
}

static bool is_above(int64_t pid, const struct os_identity *below) {
    struct os_identity at = *below;
    for (int i = 0; i < GENERATIONS_MOST && at.pid > 0; i++) {
        if (at.pid == pid)
            return true;
        if (os_process_parent(&at, &at.pid) < 0)
            return false;
        at.start = 0;
    }
    return false;
}

bool orphans_is_others(const struct os_identity *identity) {
    char value[64];
    struct os_identity daemon, self;
    return os_identity_self(&self) == 0 &&
           os_process_variable(identity, "TETHER_DAEMON", value, sizeof value) == 0 &&
           parse_daemon(value, &daemon) && !os_identity_same(&daemon, &self) &&
           !is_above(self.pid, identity);
}

/* ---- proof ---- */

static bool is_server(const struct orphans *orphans, const struct os_identity *identity) {
    const struct os_identity *server = &orphans->record.server;
    return server->start > 0 && os_identity_same(server, identity);
}

/* Who has lost his parent is given to one of those above the daemon, or to the first process. */
static bool is_adopter(const struct orphans *orphans, int64_t pid) {
    struct os_identity parent;
    if (pid == 1)
        return true;
    if (os_identity_of(pid, &parent) < 0)
        return false;
    for (size_t i = 0; i < RECORDS_ABOVE; i++)
        if (orphans->record.above[i].pid == pid && orphans->record.above[i].start == parent.start)
            return true;
    return false;
}

/* Nobody gets into a session that is there already: those that the server's descendants are in were
 * begun by one of them. A copy of the server's environment that runs in a terminal is in an older
 * one, which shows by its leader, or, if that one is gone or of the very moment of the daemon, by
 * somebody above the daemon who is in it, too. A session of number 0 was begun outside of what we
 * see. */
static bool is_older_session(const struct orphans *orphans, int64_t session) {
    const struct records_state *record = &orphans->record;
    struct os_identity leader;
    int64_t other;
    if (session == 0)
        return true;
    if (os_identity_of(session, &leader) == 0 && leader.start < record->daemon.start)
        return true;
    for (size_t i = 0; i < RECORDS_ABOVE && record->above[i].pid > 0; i++)
        if (os_process_session(&record->above[i], &other) == 0 && other == session)
            return true;
    return false;
}

/* The server leads a session, whose number is not given away as long as somebody is in it. */
static bool descends(const struct orphans *orphans, const struct os_identity *identity) {
    const struct records_state *record = &orphans->record;
    int64_t session, parent;
    if (is_server(orphans, identity))
        return true;
    if (os_process_session(identity, &session) == 0) {
        if (record->server.pid > 0 && session == record->server.pid)
            return true;
        if (is_older_session(orphans, session))
            return false;
    }
    return os_process_parent(identity, &parent) == 0 && is_adopter(orphans, parent);
}

bool orphans_is_ours(const struct orphans *orphans, const struct os_identity *identity) {
    return orphans->known && orphans->record.mark[0] && orphans_says_so(orphans, identity) &&
           has_variable(identity, "TETHER_MARK", orphans->record.mark) &&
           descends(orphans, identity) && !is_above(identity->pid, &orphans->self) &&
           !is_above(identity->pid, &orphans->owner);
}

void orphans_init(struct orphans *orphans, const struct options *options,
                  const struct os_dir *dir) {
    *orphans = (struct orphans){.owner = {(int64_t)options->owner.pid, options->owner.start}};
    options_instance(options, orphans->instance);
    os_identity_self(&orphans->self);
    orphans->known = records_read_state(dir, &orphans->record) &&
                     os_place_is_ours(orphans->record.place) == OS_YES &&
                     os_liveness(&orphans->record.daemon) == OS_DEAD;
}

/* ---- ending ---- */

struct found {
    const struct orphans *orphans;
    struct os_identity list[FOUND_MOST];
    size_t count;
};

static bool note(const struct os_identity *identity, void *context) {
    struct found *found = context;
    if (orphans_says_so(found->orphans, identity))
        found->list[found->count++] = *identity;
    return found->count < FOUND_MOST;
}

static void end_one(const struct orphans *orphans, const struct os_identity *identity, int grace_ms,
                    struct log *log) {
    char command[256] = "?";
    const char *why = is_server(orphans, identity) ? "the server of a daemon that is gone"
                                                   : "started by a daemon that is gone";
    int rc;
    os_process_command(identity, command, sizeof command);
    rc = os_orphan_end(identity, grace_ms);
    if (rc == 0)
        log_say(log, "ended process %lld (%s), left over from an earlier run: %s",
                (long long)identity->pid, command, why);
    else if (rc != UV_ESRCH)
        log_say(log, "process %lld (%s), left over from an earlier run, cannot be ended: %s",
                (long long)identity->pid, command, uv_strerror(rc));
}

static void leave_one(const struct os_identity *identity, struct log *log) {
    char command[256] = "?";
    os_process_command(identity, command, sizeof command);
    log_say(log,
            "process %lld (%s) may be left over from an earlier run, but nothing proves it: it is "
            "left alone; `%s %lld` ends it",
            (long long)identity->pid, command, os_end_command, (long long)identity->pid);
}

/* The server goes first: what is below it is found from there. Whom it took along is not told of.
 */
void orphans_end(const struct orphans *orphans, int grace_ms, struct log *log) {
    const struct os_identity *server = &orphans->record.server;
    struct found *found = memory_zeroed(sizeof *found);
    if (!found)
        return;
    found->orphans = orphans;
    if (orphans_is_ours(orphans, server))
        end_one(orphans, server, grace_ms, log);
    else if (orphans->known && server->start && os_liveness(server) == OS_ALIVE)
        leave_one(server, log);
    os_process_each("TETHER_INSTANCE", orphans->instance, note, found);
    for (size_t i = 0; i < found->count; i++) {
        const struct os_identity *one = &found->list[i];
        if (orphans_is_ours(orphans, one))
            end_one(orphans, one, grace_ms, log);
        else if (os_liveness(one) == OS_ALIVE && !is_server(orphans, one) &&
                 !is_above(one->pid, &orphans->self))
            leave_one(one, log);
    }
    free(found);
}
