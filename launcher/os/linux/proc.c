#include "proc.h"

#include "os/posix/posix.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH_SIZE = 64, CHUNK = 4096 };

/* Fields of /proc/PID/stat, counted from 1 as in proc(5). */
enum {
    FIELD_PARENT = 4,
    FIELD_GROUP = 5,
    FIELD_THREADS = 20,
    FIELD_START = 22,
    FIELD_ARGUMENTS = 48, /* the next is their end */
};

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
    if (posix_is_shortage(-code))
        return -code;
    return kill((pid_t)pid, 0) < 0 && errno == ESRCH ? -ESRCH : -EACCES;
}

static bool pid_is_possible(int64_t pid) {
    return pid > 0 && pid <= INT32_MAX;
}

int proc_read_stat(int pid, struct proc_stat *out) {
    char path[PATH_SIZE], text[PROC_STAT_SIZE];
    ssize_t got;

    if (pid <= 0)
        return -ESRCH;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    got = proc_read(AT_FDCWD, path, text, sizeof text);
    return got < 0 ? (int)got : proc_stat_parse(text, out);
}

int proc_stat_of(int64_t pid, struct proc_stat *stat) {
    int rc;
    if (!pid_is_possible(pid))
        return -EINVAL;
    rc = proc_is_ours() ? proc_read_stat((int)pid, stat) : -ENOENT;
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
    char path[PATH_SIZE];
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
    char text[CHUNK];
    ssize_t n = proc_read(process, "status", text, sizeof text);
    if (n < 0)
        return (int)n;
    /* The owner of /proc/PID will not do: it is root for a process that may not be traced. The
     * name on the first line has its line breaks escaped, so the text cannot be imitated. */
    const char *line = strstr(text, "\nUid:");
    return line && sscanf(line, " Uid: %*u %" SCNu32, user) == 1 ? 0 : -EACCES;
}

char *proc_arguments(size_t *size) {
    char text[PROC_STAT_SIZE];
    const char *at;
    char *next;
    uint64_t start, end;

    if (proc_read(AT_FDCWD, "/proc/self/stat", text, sizeof text) < 0)
        return NULL;
    at = strrchr(text, ')');
    for (int field = 2; at && field < FIELD_ARGUMENTS; field++)
        at = strchr(at + 1, ' ');
    if (!at)
        return NULL;
    start = strtoull(at, &next, 10);
    end = strtoull(next, NULL, 10);
    if (start == 0 || end <= start)
        return NULL;
    *size = (size_t)(end - start);
    return (char *)(uintptr_t)start;
}

/* ---- one after the other ---- */

/* The kernel's own layout: the C libraries disagree about its name and its wrapper. */
struct directory_entry {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

static bool is_number(const char *name) {
    size_t length = strspn(name, "0123456789");
    return length > 0 && length <= 9 && name[length] == '\0';
}

int proc_each_number(const char *path, proc_visit *visit, void *context) {
    _Alignas(struct directory_entry) char entries[CHUNK];
    long got;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    while ((got = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0) {
        for (long at = 0; at < got;) {
            const struct directory_entry *entry = (const void *)(entries + at);
            if (is_number(entry->name))
                visit(context, (int)strtol(entry->name, NULL, 10));
            at += entry->length;
        }
    }
    got = got < 0 ? -errno : 0;
    close(fd);
    return (int)got;
}

int proc_each(proc_visit *visit, void *context) {
    return proc_is_ours() ? proc_each_number("/proc", visit, context) : -EACCES;
}

/* ---- children ---- */

struct child_walk {
    int parent;
    bool unsupported; /* this kernel was built without lists of children */
    proc_visit *visit;
    void *context;
};

static void visit_if_child(void *context, int pid) {
    const struct child_walk *walk = context;
    struct proc_stat stat;
    if (proc_read_stat(pid, &stat) == 0 && stat.parent == walk->parent)
        walk->visit(walk->context, pid);
}

/* The file holds "PID PID … "; a number may lie across two reads. */
static void read_numbers(int fd, proc_visit *visit, void *context) {
    char text[CHUNK];
    ssize_t got;
    int number = 0;

    while ((got = posix_read_all(fd, text, sizeof text)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            if (text[i] >= '0' && text[i] <= '9') {
                number = number * 10 + (text[i] - '0');
            } else if (number > 0) {
                visit(context, number);
                number = 0;
            }
        }
    }
}

static void visit_children_of_thread(void *context, int thread) {
    struct child_walk *walk = context;
    char path[PATH_SIZE];
    int fd;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", walk->parent, thread);
    fd = proc_open_file(AT_FDCWD, path);
    if (fd >= 0) {
        read_numbers(fd, walk->visit, walk->context);
        close(fd);
    } else if (fd == -ENOENT && access("/proc/thread-self/children", F_OK) != 0) {
        /* The thread did not just end. */
        walk->unsupported = true;
    }
}

int proc_each_child(int pid, proc_visit *visit, void *context) {
    struct child_walk walk = {pid, false, visit, context};
    char path[PATH_SIZE];
    int result;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    result = proc_each_number(path, visit_children_of_thread, &walk);
    return walk.unsupported ? proc_each_number("/proc", visit_if_child, &walk) : result;
}
