#include "procfs.h"

#include "os/posix/posix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PATH_SIZE = 64,
    CHUNK = 4096,
    ARGUMENTS_FIELD = 48, /* of /proc/self/stat, counted from 1; the next is their end */
};

/* The kernel's own layout: the C libraries disagree about its name and its wrapper. */
struct directory_entry {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

struct child_scan {
    int parent;
    procfs_visit *visit;
    void *context;
};

struct thread_walk {
    int pid;
    bool unsupported;
    procfs_visit *visit;
    void *context;
};

int procfs_read_stat(int pid, struct proc_stat *out) {
    char path[PATH_SIZE];
    char text[PROC_STAT_SIZE];
    ssize_t got;

    if (pid <= 0)
        return -ESRCH;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    got = proc_read(AT_FDCWD, path, text, sizeof text);
    return got < 0 ? (int)got : proc_stat_parse(text, out);
}

char *procfs_arguments(size_t *size) {
    char text[PROC_STAT_SIZE];
    const char *at;
    char *next;
    uint64_t start, end;

    if (proc_read(AT_FDCWD, "/proc/self/stat", text, sizeof text) < 0)
        return NULL;
    at = strrchr(text, ')');
    for (int field = 2; at && field < ARGUMENTS_FIELD; field++)
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

static bool is_number(const char *name) {
    size_t length = strspn(name, "0123456789");
    return length > 0 && length <= 9 && name[length] == '\0';
}

int procfs_each_number(const char *path, procfs_visit *visit, void *context) {
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

static void visit_if_child(void *context, int pid) {
    const struct child_scan *scan = context;
    struct proc_stat stat;

    if (procfs_read_stat(pid, &stat) == 0 && stat.parent == scan->parent)
        scan->visit(scan->context, pid);
}

static int scan_for_children(int pid, procfs_visit *visit, void *context) {
    struct child_scan scan = {pid, visit, context};
    return procfs_each_number("/proc", visit_if_child, &scan);
}

/* The file holds "PID PID … "; a number may lie across two reads. */
static void read_numbers(int fd, procfs_visit *visit, void *context) {
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
    struct thread_walk *walk = context;
    char path[PATH_SIZE];
    int fd;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", walk->pid, thread);
    fd = proc_open_file(AT_FDCWD, path);
    if (fd >= 0) {
        read_numbers(fd, walk->visit, walk->context);
        close(fd);
    } else if (fd == -ENOENT && access("/proc/thread-self/children", F_OK) != 0) {
        /* The thread did not just end: this kernel was built without the file. */
        walk->unsupported = true;
    }
}

int procfs_each_child(int pid, procfs_visit *visit, void *context) {
    struct thread_walk walk = {pid, false, visit, context};
    char path[PATH_SIZE];
    int result;

    snprintf(path, sizeof path, "/proc/%d/task", pid);
    result = procfs_each_number(path, visit_children_of_thread, &walk);
    return walk.unsupported ? scan_for_children(pid, visit, context) : result;
}
