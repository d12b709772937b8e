/* Why the server is still alive, and words for everything that `status` and logs show. */
#include "internal.h"

#include <string.h>

/* Counts the sessions; returns when the last of them runs out, NEVER unless all are kept places. */
static uint64_t explain_sessions(const struct lifecycle *l, struct lifecycle_why *why) {
    uint64_t last = 0;
    for (uint32_t i = 0; i < l->session_count; i++) {
        const struct lifecycle_session *s = &l->sessions[i];
        uint64_t end = s->link == LIFECYCLE_HELD ? s->until : LIFECYCLE_NEVER;
        if (!lifecycle_session_counts(s))
            continue;
        why->sessions++;
        last = end > last ? end : last;
    }
    return last;
}

static enum lifecycle_why_kind explain_owner(const struct lifecycle *l) {
    if (l->ownership == LIFECYCLE_UNARMED)
        return LIFECYCLE_WHY_UNARMED;
    return l->owner_liveness == OS_ALIVE  ? LIFECYCLE_WHY_OWNER
           : l->owner_liveness == OS_DEAD ? LIFECYCLE_WHY_GRACE
                                          : LIFECYCLE_WHY_OWNER_UNKNOWN;
}

struct lifecycle_why lifecycle_explain(const struct lifecycle *l, uint64_t now_ms) {
    struct lifecycle_why why = {0};
    uint64_t end = explain_sessions(l, &why);
    if (l->server == LIFECYCLE_STOPPED) {
        why.kind = LIFECYCLE_WHY_ENDED;
    } else if (server_ending(l)) {
        why.kind = LIFECYCLE_WHY_STOPPING;
    } else if (l->linger_by != 0) {
        why.kind = LIFECYCLE_WHY_CLIENTS;
        why.held_ms = l->linger_by > now_ms ? l->linger_by - now_ms : 0;
    } else if (why.sessions == 0) {
        why.kind = explain_owner(l);
    } else if (end == LIFECYCLE_NEVER) {
        why.kind = LIFECYCLE_WHY_SESSIONS;
    } else {
        why.kind = LIFECYCLE_WHY_HOLD;
        why.held_ms = end > now_ms ? end - now_ms : 0;
    }
    return why;
}

/* ---- Names ---- */

#define NAME(table, value) name_of((table), sizeof(table) / sizeof *(table), (size_t)(value))

static const char *name_of(const char *const *table, size_t count, size_t value) {
    return value < count && table[value] ? table[value] : "?";
}

static const char *const server_names[] = {
    [LIFECYCLE_STARTING] = "starting", [LIFECYCLE_READY] = "ready",
    [LIFECYCLE_BACKOFF] = "backoff",   [LIFECYCLE_STOPPING] = "stopping",
    [LIFECYCLE_STOPPED] = "stopped",   [LIFECYCLE_FAILED] = "failed",
};

static const char *const ownership_names[] = {
    [LIFECYCLE_UNARMED] = "unarmed",
    [LIFECYCLE_OWNED] = "owned",
    [LIFECYCLE_ADOPTED] = "adopted",
    [LIFECYCLE_ORPHAN] = "orphan?",
};

static const char *const role_names[] = {
    [LIFECYCLE_ROLE_ANONYMOUS] = "anonymous",
    [LIFECYCLE_ROLE_EDITOR] = "editor",
    [LIFECYCLE_ROLE_FRONT] = "front",
    [LIFECYCLE_ROLE_CLI] = "cli",
};

static const char *const link_names[] = {
    [LIFECYCLE_CONNECTED] = "connected",
    [LIFECYCLE_AWAY] = "away",
    [LIFECYCLE_HELD] = "restarting",
};

static const char *const cause_names[] = {
    [LIFECYCLE_CAUSE_NONE] = "none",
    [LIFECYCLE_CAUSE_REQUEST] = "stop requested",
    [LIFECYCLE_CAUSE_SIGNAL] = "signal",
    [LIFECYCLE_CAUSE_PARENT] = "parent died",
    [LIFECYCLE_CAUSE_OWNER] = "owner died",
    [LIFECYCLE_CAUSE_LEAVE] = "last editor left",
    [LIFECYCLE_CAUSE_IDLE] = "idle limit",
    [LIFECYCLE_CAUSE_HANDOVER] = "hand-over",
    [LIFECYCLE_CAUSE_FINISHED] = "server ended",
    [LIFECYCLE_CAUSE_FAILED] = "server failed",
};

static const char *const failure_names[] = {
    [LIFECYCLE_FAILURE_NONE] = "none",       [LIFECYCLE_FAILURE_SPAWN] = "spawn",
    [LIFECYCLE_FAILURE_PORT] = "port",       [LIFECYCLE_FAILURE_NOT_READY] = "not-ready",
    [LIFECYCLE_FAILURE_CRASHES] = "crashes", [LIFECYCLE_FAILURE_STUCK] = "stuck",
};

static const char *const leave_names[] = {
    [LIFECYCLE_LEAVE_DISABLE] = "disable",
    [LIFECYCLE_LEAVE_QUIT] = "quit",
    [LIFECYCLE_LEAVE_RELOAD] = "reload",
    [LIFECYCLE_LEAVE_RESTART] = "restart",
};

const char *lifecycle_server_name(enum lifecycle_server value) {
    return NAME(server_names, value);
}

const char *lifecycle_ownership_name(enum lifecycle_ownership value) {
    return NAME(ownership_names, value);
}

const char *lifecycle_role_name(enum lifecycle_role value) {
    return NAME(role_names, value);
}

const char *lifecycle_link_name(enum lifecycle_link value) {
    return NAME(link_names, value);
}

const char *lifecycle_cause_name(enum lifecycle_cause value) {
    return NAME(cause_names, value);
}

const char *lifecycle_failure_name(enum lifecycle_failure value) {
    return NAME(failure_names, value);
}

bool lifecycle_role_parse(const char *word, enum lifecycle_role *role) {
    for (size_t i = 0; i < sizeof role_names / sizeof *role_names; i++) {
        if (i == LIFECYCLE_ROLE_ANONYMOUS || strcmp(word, role_names[i]) != 0)
            continue;
        *role = (enum lifecycle_role)i;
        return true;
    }
    return false;
}

bool lifecycle_leave_parse(const char *word, enum lifecycle_leave *leave) {
    for (size_t i = 0; i < sizeof leave_names / sizeof *leave_names; i++) {
        if (strcmp(word, leave_names[i]) != 0)
            continue;
        *leave = (enum lifecycle_leave)i;
        return true;
    }
    return false;
}
