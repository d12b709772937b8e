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

/* Which namespace of that kind a process is in; 0: older kernels have none of the kind. */
static int namespace_of(const char *process, const char *kind, uint64_t *number) {
    struct stat stat_of;
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/ns/%s", process, kind);
    *number = 0;
    if (stat(path, &stat_of) < 0)
        return errno == ENOENT && strcmp(kind, "time") == 0 ? 0 : -errno;
    *number = stat_of.st_ino;
    return 0;
}

/* Pids count in the one, the starts of processes in the other. */
static const char *const kinds[] = {"pid", "time"};

enum os_answer os_same_namespace(int64_t pid) {
    char process[24];
    snprintf(process, sizeof process, "%" PRId64, pid);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        uint64_t ours, theirs;
        if (!proc_is_ours() || namespace_of("self", kinds[i], &ours) < 0 ||
            namespace_of(process, kinds[i], &theirs) < 0)
            return OS_MAYBE;
        if (ours != theirs)
            return OS_NO;
    }
    return OS_YES;
}

/* "<boot id>/<pid namespace>/<time namespace>"; "/0" at the end if the first of them is unknown. */
void os_place(char out[OS_PLACE_MAX]) {
    char boot[64] = "";
    uint64_t spaces[2] = {0, 0};
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : posix_read_all(fd, boot, sizeof boot - 1);
    if (fd >= 0)
        close(fd);
    boot[n > 0 ? n : 0] = '\0';
    boot[strcspn(boot, "\n")] = '\0';
    if (!proc_is_ours() || namespace_of("self", kinds[0], &spaces[0]) < 0 ||
        namespace_of("self", kinds[1], &spaces[1]) < 0)
        snprintf(out, OS_PLACE_MAX, "%s/0", boot);
    else
        snprintf(out, OS_PLACE_MAX, "%s/%" PRIu64 "/%" PRIu64, boot, spaces[0], spaces[1]);
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
