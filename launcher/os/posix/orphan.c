/* Ending a process tree that is not below us: one that an earlier daemon left behind.
 *
 * Nothing holds such a tree together: when its root dies, the others are adopted by somebody else.
 * So its members are listed while the root lives, and all are stopped before any is killed; a tree
 * that grows faster than that is told as not ended. */
#include "descent.h"

#include <errno.h>
#include <signal.h>

enum { GONE_MOST_MS = 5000 };

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

static int wait_all(const struct descent *tree) {
    int64_t until = os_clock_ms() + GONE_MOST_MS;
    int rc = 0;
    for (size_t i = 0; i < tree->count; i++) {
        int64_t left = until - os_clock_ms();
        int one = wait_one(&tree->members[i], left > 0 ? (int)left : 0);
        rc = rc == 0 ? one : rc;
    }
    return rc;
}

int os_orphan_end(const struct os_identity *root, int grace_ms) {
    struct descent tree = {0};
    int rc, gone;
    descent_add(&tree, root);
    descent_extend(&tree);
    rc = descent_signal_one(root, SIGTERM);
    descent_signal_one(root, SIGCONT); /* a stopped process acts on nothing else */
    if (rc == 0) {
        wait_one(root, grace_ms);
        descent_extend(&tree);
        rc = descent_kill(&tree);
        gone = wait_all(&tree);
        rc = rc == 0 ? gone : rc;
    }
    descent_finish(&tree);
    return rc;
}
