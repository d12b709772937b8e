#include "descent.h"

#include "posix.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "memory.h"

enum { MEMBERS_FIRST = 64, PASSES_MOST = 100 };

static bool is_member(const struct descent *descent, int64_t pid) {
    for (size_t i = 0; i < descent->count; i++)
        if (descent->members[i].pid == pid)
            return true;
    return false;
}

void descent_add(struct descent *descent, const struct os_identity *identity) {
    if (is_member(descent, identity->pid))
        return;
    if (descent->count == descent->capacity) {
        size_t capacity = descent->capacity ? 2 * descent->capacity : MEMBERS_FIRST;
        struct os_identity *members =
            memory_resize(descent->members, capacity * sizeof *descent->members);
        if (!members) {
            descent->problem = -ENOMEM;
            return;
        }
        descent->members = members;
        descent->capacity = capacity;
    }
    descent->members[descent->count++] = *identity;
}

static void add_child(void *context, const struct os_identity *child) {
    descent_add(context, child);
}

bool descent_extend(struct descent *descent) {
    size_t before = descent->count;
    for (size_t i = 0; i < descent->count; i++) {
        struct os_identity parent = descent->members[i]; /* a copy: the list may move */
        descent_each_child(&parent, add_child, descent);
    }
    return descent->count > before;
}

int descent_signal_one(const struct os_identity *identity, int number) {
    struct os_process process;
    int rc = os_process_open(&process, identity);
    if (rc == 0)
        rc = process_signal(&process, number);
    os_process_close(&process);
    return rc;
}

/* Children first. */
static void descent_signal(const struct descent *descent, int number) {
    for (size_t i = descent->count; i-- > 0;)
        descent_signal_one(&descent->members[i], number);
}

int descent_kill(struct descent *descent) {
    int passes = 0;
    do
        descent_signal(descent, SIGSTOP);
    while (descent_extend(descent) && ++passes < PASSES_MOST);
    descent_signal(descent, SIGKILL);
    return passes == PASSES_MOST ? -EAGAIN : descent->problem;
}

void descent_finish(struct descent *descent) {
    free(descent->members);
    *descent = (struct descent){0};
}
