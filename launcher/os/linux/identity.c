/* Who is who, and who still lives. */
#include "os/posix/posix.h"
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
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

/* "<boot id>/<pid namespace>". */
void os_place(char out[OS_PLACE_MAX]) {
    char boot[64] = "";
    struct stat space = {0};
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : posix_read_all(fd, boot, sizeof boot - 1);
    if (fd >= 0)
        close(fd);
    boot[n > 0 ? n : 0] = '\0';
    boot[strcspn(boot, "\n")] = '\0';
    if (!proc_is_ours() || stat("/proc/self/ns/pid", &space) < 0)
        space.st_ino = 0;
    snprintf(out, OS_PLACE_MAX, "%s/%" PRIu64, boot, (uint64_t)space.st_ino);
}

enum os_answer os_place_is_ours(const char *place) {
    char ours[OS_PLACE_MAX];
    size_t boot = strcspn(place, "/");
    os_place(ours);
    if (boot == 0 || ours[0] == '/' || !place[boot])
        return OS_MAYBE;
    if (strcspn(ours, "/") != boot || strncmp(ours, place, boot) != 0)
        return OS_NO;
    return strcmp(ours, place) == 0 && strcmp(place + boot, "/0") != 0 ? OS_YES : OS_MAYBE;
}

uint32_t os_user_self(void) {
    return (uint32_t)geteuid();
}
