/* The children of a process that need not be ours. */
#include "os/posix/descent.h"

#include "bsdinfo.h"

#include <stdlib.h>

#include "memory.h"

enum { MORE = 16 }; /* room for those that start between the two questions */

/* The parent is looked at after the child has named it: its number meant this process. */
static void offer(const struct os_identity *parent, int64_t pid, descent_fn fn, void *context) {
    struct proc_bsdinfo child, now;
    if (bsdinfo_of(pid, &child) == 0 && child.pbi_ppid == (uint32_t)parent->pid &&
        bsdinfo_of_identity(parent, &now) == 0)
        fn(context, &(struct os_identity){pid, bsdinfo_start(&child)});
}

void descent_each_child(const struct os_identity *parent, descent_fn fn, void *context) {
    int bytes = proc_listpids(PROC_PPID_ONLY, (uint32_t)parent->pid, NULL, 0);
    size_t room = (size_t)(bytes > 0 ? bytes : 0) + MORE * sizeof(pid_t);
    pid_t *pids = memory_zeroed(room);
    if (!pids)
        return;
    bytes = proc_listpids(PROC_PPID_ONLY, (uint32_t)parent->pid, pids, (int)room);
    for (int i = 0; i < bytes / (int)sizeof *pids; i++)
        if (pids[i] > 0)
            offer(parent, pids[i], fn, context);
    free(pids);
}
