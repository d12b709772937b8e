#include "names.h"

#define NAME(table, value) name_of((table), sizeof(table) / sizeof *(table), (size_t)(value))

static const char *name_of(const char *const *table, size_t count, size_t value) {
    return value < count && table[value] ? table[value] : "?";
}

static const char *const liveness_names[] = {
    [OS_UNKNOWN] = "unknown",
    [OS_ALIVE] = "alive",
    [OS_DEAD] = "dead",
};

static const char *const event_names[] = {
    [LIFECYCLE_ON_TIMER] = "timer",
    [LIFECYCLE_ON_HELLO] = "hello",
    [LIFECYCLE_ON_HEARD] = "heard",
    [LIFECYCLE_ON_CLOSED] = "closed",
    [LIFECYCLE_ON_LEAVE] = "leave",
    [LIFECYCLE_ON_PROCESS] = "process",
    [LIFECYCLE_ON_READY] = "ready",
    [LIFECYCLE_ON_UNSTARTED] = "unstarted",
    [LIFECYCLE_ON_EXIT] = "exit",
    [LIFECYCLE_ON_DRAINED] = "drained",
    [LIFECYCLE_ON_TREE_EMPTY] = "tree empty",
    [LIFECYCLE_ON_PORTS] = "ports",
    [LIFECYCLE_ON_STOP] = "stop",
    [LIFECYCLE_ON_RESTART] = "restart",
    [LIFECYCLE_ON_HANDOVER] = "handover",
    [LIFECYCLE_ON_SIGNAL] = "signal",
    [LIFECYCLE_ON_PARENT] = "parent died",
    [LIFECYCLE_ON_CLIENTS] = "clients",
};

/* By bit number. */
static const char *const action_names[] = {
    "answer",    "drop",      "ping",        "sweep",  "watch owner", "sample owner", "close stdin",
    "terminate", "kill tree", "check ports", "record", "start",       "publish",      "exit",
};

static const char *const answer_names[] = {
    [LIFECYCLE_ANSWER_NONE] = "none",
    [LIFECYCLE_ANSWER_OK] = "ok",
    [LIFECYCLE_ANSWER_ADMITTED] = "admitted",
    [LIFECYCLE_ANSWER_RESUMED] = "resumed",
    [LIFECYCLE_ANSWER_STOPPING] = "stopping",
    [LIFECYCLE_ANSWER_FULL] = "full",
    [LIFECYCLE_ANSWER_OTHER_EDITORS] = "other editors",
    [LIFECYCLE_ANSWER_OTHER_SESSIONS] = "other sessions",
};

static const char *const leave_names[] = {
    [LIFECYCLE_LEAVE_DISABLE] = "disable",
    [LIFECYCLE_LEAVE_QUIT] = "quit",
    [LIFECYCLE_LEAVE_RELOAD] = "reload",
    [LIFECYCLE_LEAVE_RESTART] = "restart",
};

const char *liveness_name(enum os_life value) {
    return NAME(liveness_names, value);
}

const char *event_name(enum lifecycle_event_kind value) {
    return NAME(event_names, value);
}

const char *leave_name(enum lifecycle_leave value) {
    return NAME(leave_names, value);
}

const char *action_name(enum lifecycle_action value) {
    size_t bit = 0;
    while (bit < 32 && (uint32_t)value != UINT32_C(1) << bit)
        bit++;
    return NAME(action_names, bit);
}

const char *answer_name(enum lifecycle_answer value) {
    return NAME(answer_names, value);
}
