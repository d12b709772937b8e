/* Ending a process tree that is not below us: one that an earlier daemon left behind.
 *
 * Nothing holds such a tree together: when its root dies, the others are adopted by somebody else.
 * So its members are listed while the root lives, each by pid and start with a parent that was
 * listed before, and every signal goes through a pidfd to a process that still is the one listed.
 */
#include "../os.h"

#include "procfs.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

enum { MEMBERS_MOST = 1024, GONE_MOST_MS = 5000 };

struct orphan_tree {
    size_t count;
    size_t parent; /* whose children are being read */
    struct os_identity members[MEMBERS_MOST];
};

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
    if (tree->count == MEMBERS_MOST || is_member(tree, pid) || procfs_read_stat(pid, &stat) < 0)
        return;
    if (stat.parent != parent->pid || procfs_read_stat((int)parent->pid, &parent_stat) < 0 ||
        parent_stat.start != parent->start)
        return;
    tree->members[tree->count++] = (struct os_identity){pid, stat.start};
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
        rc = os_process_signal(&process, number);
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

static int kill_all(struct orphan_tree *tree) {
    int rc = 0;
    do
        signal_all(tree, SIGSTOP);
    while (extend(tree));
    signal_all(tree, SIGKILL);
    for (size_t i = 0; i < tree->count; i++) {
        int one = wait_one(&tree->members[i], GONE_MOST_MS);
        rc = rc == 0 ? one : rc;
    }
    return rc;
}

int os_orphan_end(const struct os_identity *root, int grace_ms) {
    struct orphan_tree *tree = malloc(sizeof *tree);
    int rc;
    if (!tree)
        return -ENOMEM;
    tree->count = 1;
    tree->members[0] = *root;
    extend(tree);
    rc = signal_one(root, SIGTERM);
    signal_one(root, SIGCONT); /* a stopped process acts on nothing else */
    if (rc == 0) {
        wait_one(root, grace_ms);
        extend(tree);
        rc = kill_all(tree);
    }
    free(tree);
    return rc;
}
