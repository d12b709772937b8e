/* Ending a process tree that is not below us: one that an earlier daemon left behind.
 *
 * Nothing holds such a tree together: when its root dies, the others are adopted by somebody else.
 * So its members are listed while the root lives, each by pid and start with a parent that was
 * listed before, and every signal goes through a pidfd to a process that still is the one listed.
 * All are stopped before any is killed; a tree that grows faster than that is told as not ended. */
#include "os/os.h"

#include "os/posix/posix.h"
#include "procfs.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

enum { MEMBERS_FIRST = 64, PASSES_MOST = 100, GONE_MOST_MS = 5000 };

struct orphan_tree {
    struct os_identity *members;
    size_t count, capacity;
    size_t parent; /* whose children are being read */
    int problem;   /* 0, or why members are missing */
};

static void add(struct orphan_tree *tree, const struct os_identity *identity) {
    if (tree->count == tree->capacity) {
        size_t capacity = tree->capacity ? 2 * tree->capacity : MEMBERS_FIRST;
        struct os_identity *members = realloc(tree->members, capacity * sizeof *members);
        if (!members) {
            tree->problem = -ENOMEM;
            return;
        }
        tree->members = members;
        tree->capacity = capacity;
    }
    tree->members[tree->count++] = *identity;
}

static bool is_member(const struct orphan_tree *tree, int pid) {
    for (size_t i = 0; i < tree->count; i++)
        if (tree->members[i].pid == pid)
            return true;
    return false;
}

/* The parent is looked at after the child has named it: its number meant the listed process. */
static void add_child(void *context, int pid) {
    struct orphan_tree *tree = context;
    const struct os_identity *parent = &tree->members[tree->parent];
    struct proc_stat stat, parent_stat;
    if (is_member(tree, pid) || procfs_read_stat(pid, &stat) < 0)
        return;
    if (stat.parent == parent->pid && procfs_read_stat((int)parent->pid, &parent_stat) == 0 &&
        parent_stat.start == parent->start)
        add(tree, &(struct os_identity){pid, stat.start});
}

/* Adds the children of everybody listed; returns whether there were new ones. */
static bool extend(struct orphan_tree *tree) {
    size_t before = tree->count;
    for (tree->parent = 0; tree->parent < tree->count; tree->parent++)
        procfs_each_child((int)tree->members[tree->parent].pid, add_child, tree);
    return tree->count > before;
}

static int signal_one(const struct os_identity *identity, int number) {
    struct os_process process;
    int rc = os_process_open(&process, identity);
    if (rc == 0)
        rc = posix_process_signal(&process, number);
    os_process_close(&process);
    return rc;
}

static int wait_one(const struct os_identity *identity, int limit_ms) {
    struct os_process process;
    int rc = os_process_open(&process, identity);
    if (rc == 0)
        rc = os_process_wait(&process, limit_ms);
    else if (rc == -ESRCH)
        rc = 0;
    os_process_close(&process);
    return rc;
}

static void signal_all(const struct orphan_tree *tree, int number) {
    for (size_t i = tree->count; i-- > 0;)
        signal_one(&tree->members[i], number);
}

static int wait_all(const struct orphan_tree *tree) {
    int64_t until = os_clock_ms() + GONE_MOST_MS;
    int rc = 0;
    for (size_t i = 0; i < tree->count; i++) {
        int64_t left = until - os_clock_ms();
        int one = wait_one(&tree->members[i], left > 0 ? (int)left : 0);
        rc = rc == 0 ? one : rc;
    }
    return rc;
}

static int kill_all(struct orphan_tree *tree) {
    int passes = 0, rc;
    do
        signal_all(tree, SIGSTOP);
    while (extend(tree) && ++passes < PASSES_MOST);
    if (passes == PASSES_MOST)
        tree->problem = -EAGAIN;
    signal_all(tree, SIGKILL);
    rc = wait_all(tree);
    return tree->problem ? tree->problem : rc;
}

int os_orphan_end(const struct os_identity *root, int grace_ms) {
    struct orphan_tree tree = {0};
    int rc;
    add(&tree, root);
    extend(&tree);
    rc = signal_one(root, SIGTERM);
    signal_one(root, SIGCONT); /* a stopped process acts on nothing else */
    if (rc == 0) {
        wait_one(root, grace_ms);
        extend(&tree);
        rc = kill_all(&tree);
    }
    free(tree.members);
    return rc;
}
