/* The children of a process that need not be ours. */
#include "os/posix/descent.h"

#include "proc.h"

struct family {
    const struct os_identity *parent;
    descent_fn fn;
    void *context;
};

/* The parent is looked at after the child has named it: its number meant this process. */
static void offer(void *context, int pid) {
    const struct family *family = context;
    const struct os_identity *parent = family->parent;
    struct proc_stat child, now;
    if (proc_read_stat(pid, &child) == 0 && child.parent == parent->pid &&
        proc_read_stat((int)parent->pid, &now) == 0 && now.start == parent->start)
        family->fn(family->context, &(struct os_identity){pid, child.start});
}

void descent_each_child(const struct os_identity *parent, descent_fn fn, void *context) {
    struct family family = {parent, fn, context};
    proc_each_child((int)parent->pid, offer, &family);
}
