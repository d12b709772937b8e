/* Who is who, and who still lives. */
#include "bsdinfo.h"

#include <errno.h>
#include <string.h>
#include <sys/proc.h>
#include <sys/sysctl.h>
#include <unistd.h>

int os_identity_of(int64_t pid, struct os_identity *identity) {
    struct proc_bsdinfo info;
    int rc = bsdinfo_of(pid, &info);
    if (rc == 0)
        *identity = (struct os_identity){.pid = pid, .start = bsdinfo_start(&info)};
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
    struct proc_bsdinfo info;
    int rc = bsdinfo_of_identity(identity, &info);
    if (rc == -ESRCH)
        return OS_DEAD;
    if (rc < 0)
        return OS_UNKNOWN;
    return info.pbi_status == SZOMB ? OS_DEAD : OS_ALIVE;
}

enum os_answer os_same_namespace(int64_t pid) {
    (void)pid;
    return OS_YES; /* there is but one */
}

void os_place(char out[OS_PLACE_MAX]) {
    size_t size = OS_PLACE_MAX;
    if (sysctlbyname("kern.bootsessionuuid", out, &size, NULL, 0) < 0)
        size = 0;
    out[size > 0 ? size - 1 : 0] = '\0';
}

enum os_answer os_place_is_ours(const char *place) {
    char ours[OS_PLACE_MAX];
    os_place(ours);
    if (!place[0] || !ours[0])
        return OS_MAYBE;
    return strcmp(ours, place) == 0 ? OS_YES : OS_NO;
}

uint32_t os_user_self(void) {
    return (uint32_t)geteuid();
}
