#include "proc.h"

#include "os/posix/posix.h"
#include "procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_BYTES 4096

/* Fields of /proc/PID/stat, counted from 1 as in proc(5). */
enum { FIELD_STATE = 3, FIELD_PARENT = 4, FIELD_GROUP = 5, FIELD_THREADS = 20, FIELD_START = 22 };

int proc_stat_parse(const char *text, struct proc_stat *stat) {
    const char *at = strrchr(text, ')');
    struct proc_stat result = {0};
    if (!at || at[1] != ' ' || !at[2] || at[3] != ' ')
        return -EINVAL;
    result.state = at[2];
    at += 3;
    for (int field = FIELD_PARENT; field <= FIELD_START; field++) {
        char *end;
        /* Some of the fields between are negative; none of those is of interest. */
        uint64_t value = strtoull(at, &end, 10);
        if (end == at)
            return -EINVAL;
        at = end;
        if (field == FIELD_PARENT)
            result.parent = (int64_t)value;
        else if (field == FIELD_GROUP)
            result.group = (int64_t)value;
        else if (field == FIELD_THREADS)
            result.threads = (int64_t)value;
        else if (field == FIELD_START)
            result.start = value;
    }
    *stat = result;
    return 0;
}

/* A process whose first thread has ended while others go on also shows as a zombie. */
bool proc_stat_is_dead(const struct proc_stat *stat) {
    return stat->state == 'X' || stat->state == 'x' || (stat->state == 'Z' && stat->threads <= 1);
}

bool proc_is_ours(void) {
    char link[32], self[32];
    ssize_t n = readlink("/proc/self", link, sizeof link - 1);
    if (n < 0)
        return false;
    link[n] = '\0';
    snprintf(self, sizeof self, "%d", (int)getpid());
    return strcmp(link, self) == 0;
}

/* Turns an errno about a process into "gone" or "not shown to us". */
static int failure(int64_t pid, int code) {
    if (code == EMFILE || code == ENFILE || code == ENOMEM)
        return -code;
    return kill((pid_t)pid, 0) < 0 && errno == ESRCH ? -ESRCH : -EACCES;
}

static bool pid_is_possible(int64_t pid) {
    return pid > 0 && pid <= INT32_MAX;
}

int proc_stat_of(int64_t pid, struct proc_stat *stat) {
    int rc;
    if (!pid_is_possible(pid))
        return -EINVAL;
    rc = proc_is_ours() ? procfs_read_stat((int)pid, stat) : -ENOENT;
    return rc < 0 ? failure(pid, -rc) : 0;
}

/* Makes sure that the opened entry belongs to the process meant. */
static int verify(int process, const struct os_identity *identity) {
    char text[PROC_STAT_SIZE];
    struct proc_stat stat;
    ssize_t n;
    int rc;
    if (identity->start == 0)
        return 0;
    n = proc_read(process, "stat", text, sizeof text);
    rc = n < 0 ? (int)n : proc_stat_parse(text, &stat);
    if (rc < 0)
        return failure(identity->pid, -rc);
    return stat.start == identity->start ? 0 : -ESRCH;
}

int proc_open(const struct os_identity *identity) {
    char path[64];
    if (!pid_is_possible(identity->pid))
        return -EINVAL;
    if (!proc_is_ours())
        return failure(identity->pid, ENOENT);
    snprintf(path, sizeof path, "/proc/%" PRId64, identity->pid);
    int process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (process < 0)
        return failure(identity->pid, errno);
    int rc = verify(process, identity);
    if (rc < 0) {
        close(process);
        return rc;
    }
    return process;
}

int proc_open_file(int process, const char *name) {
    int fd = openat(process, name, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

ssize_t proc_read(int process, const char *name, char *out, size_t size) {
    int fd = proc_open_file(process, name);
    if (fd < 0)
        return fd;
    ssize_t n = posix_read_all(fd, out, size - 1);
    close(fd);
    out[n < 0 ? 0 : n] = '\0';
    return n;
}

int proc_user(int process, uint32_t *user) {
    char text[STATUS_BYTES];
    ssize_t n = proc_read(process, "status", text, sizeof text);
    if (n < 0)
        return (int)n;
    /* The owner of /proc/PID will not do: it is root for a process that may not be traced. The
     * name on the first line has its line breaks escaped, so the text cannot be imitated. */
    const char *line = strstr(text, "\nUid:");
    return line && sscanf(line, " Uid: %*u %" SCNu32, user) == 1 ? 0 : -EACCES;
}

int proc_each(proc_pid_fn fn, void *arg) {
    if (!proc_is_ours())
        return -EACCES;
    DIR *dir = opendir("/proc");
    if (!dir)
        return -errno;
    const struct dirent *entry;
    while (errno = 0, (entry = readdir(dir))) {
        int64_t pid;
        if (os_pid_parse(entry->d_name, &pid) == 0 && !fn(pid, arg))
            break;
    }
    int rc = entry ? 0 : -errno;
    closedir(dir);
    return rc;
}
