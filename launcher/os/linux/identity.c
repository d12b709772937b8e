/* Who is who, and who still lives. */
#include "proc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int os_identity_of(int64_t pid, struct os_identity *identity) {
    struct proc_stat stat;
    int rc = proc_stat_of(pid, &stat);
    if (rc == 0)
        *identity = (struct os_identity){.pid = pid, .start = stat.start};
    return rc;
}

int os_identity_self(struct os_identity *identity) {
    return os_identity_of(getpid(), identity);
}

int os_identity_parent(struct os_identity *identity) {
    /* The parent may die while we look, and its pid be given away; then we have a new one. */
    for (;;) {
        struct os_identity found;
        pid_t parent = getppid();
        if (parent <= 1 || getpid() == 1)
            return -ESRCH;
        int rc = os_identity_of(parent, &found);
        if (getppid() != parent)
            continue;
        if (rc == 0)
            *identity = found;
        return rc;
    }
}

enum os_life os_liveness(const struct os_identity *identity) {
    struct proc_stat stat;
    int rc = proc_stat_of(identity->pid, &stat);
    if (rc == -ESRCH)
        return OS_DEAD;
    if (rc < 0)
        return OS_UNKNOWN;
    if (proc_stat_is_dead(&stat))
        return OS_DEAD;
    if (identity->start != 0 && identity->start != stat.start)
        return OS_DEAD;
    return OS_ALIVE;
}

enum os_answer os_same_namespace(int64_t pid) {
    struct stat ours, theirs;
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/ns/pid", pid);
    if (!proc_is_ours() || stat("/proc/self/ns/pid", &ours) < 0 || stat(path, &theirs) < 0)
        return OS_MAYBE;
    return ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino ? OS_YES : OS_NO;
}

uint32_t os_user_self(void) {
    return (uint32_t)geteuid();
}
