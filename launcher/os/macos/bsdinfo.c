#include "bsdinfo.h"

#include <errno.h>
#include <stdlib.h>

/* Asks for processes that have exited and are not collected yet, too. */
#define WITH_ZOMBIES 1

int bsdinfo_of(int64_t pid, struct proc_bsdinfo *info) {
    if (pid < 0 || pid > INT32_MAX)
        return -EINVAL;
    errno = 0;
    if (proc_pidinfo((int)pid, PROC_PIDTBSDINFO, WITH_ZOMBIES, info, sizeof *info) ==
        (int)sizeof *info)
        return 0;
    return errno == ESRCH ? -ESRCH : -EACCES;
}

int bsdinfo_of_identity(const struct os_identity *identity, struct proc_bsdinfo *info) {
    int rc = bsdinfo_of(identity->pid, info);
    if (rc == 0 && identity->start != 0 && identity->start != bsdinfo_start(info))
        return -ESRCH;
    return rc;
}

uint64_t bsdinfo_start(const struct proc_bsdinfo *info) {
    return info->pbi_start_tvsec * 1000000 + info->pbi_start_tvusec;
}

int bsdinfo_each(bool (*fn)(int64_t pid, void *arg), void *arg) {
    enum { MORE = 64 }; /* room for those that start between the two questions */
    int count = proc_listallpids(NULL, 0);
    if (count < 0)
        return -errno;
    size_t room = (size_t)count + MORE;
    pid_t *pids = calloc(room, sizeof *pids);
    if (!pids)
        return -ENOMEM;
    count = proc_listallpids(pids, (int)(room * sizeof *pids));
    for (int i = 0; i < count && fn(pids[i], arg); i++)
        ;
    free(pids);
    return count < 0 ? -errno : 0;
}
