/* What /proc tells about a process. */
#include "os/posix/posix.h"
#include "proc.h"
#include "readable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The most that is read of a command line: callers show less. */
#define COMMAND_BYTES 4096
#define VALUE_BYTES   256

/* Why a file about the process could not be read: the process has ended meanwhile, or it is hidden
 * from us. */
static int failure(const struct os_identity *identity, int code) {
    if (posix_is_shortage(code))
        return code;
    return os_liveness(identity) == OS_DEAD ? -ESRCH : -EACCES;
}

/* Kernel threads and zombies have no command line, only a name. */
static int command_from_name(int process, char *out, size_t size) {
    char name[64];
    ssize_t n = proc_read(process, "comm", name + 1, sizeof name - 2);
    if (n < 0)
        return (int)n;
    if (n > 0 && name[n] == '\n')
        n--;
    name[0] = '[';
    name[n + 1] = ']';
    readable_cut(name, (size_t)n + 2, out, size);
    return 0;
}

int os_process_command(const struct os_identity *identity, char *out, size_t size) {
    char text[COMMAND_BYTES];
    int rc = 0;
    if (size == 0)
        return -EINVAL;
    out[0] = '\0';
    int process = proc_open(identity);
    if (process < 0)
        return process;
    ssize_t n = proc_read(process, "cmdline", text, sizeof text);
    while (n > 0 && text[n - 1] == '\0')
        n--;
    if (n < 0)
        rc = (int)n;
    else if (n == 0)
        rc = command_from_name(process, out, size);
    else
        readable_cut(text, (size_t)n, out, size);
    close(process);
    return rc < 0 ? failure(identity, rc) : 0;
}

int os_process_executable(const struct os_identity *identity, char *out, size_t size) {
    char text[COMMAND_BYTES];
    if (size == 0)
        return -EINVAL;
    out[0] = '\0';
    int process = proc_open(identity);
    if (process < 0)
        return process;
    ssize_t n = readlinkat(process, "exe", text, sizeof text);
    int rc = n < 0 ? failure(identity, -errno) : 0;
    close(process);
    if (rc == 0)
        readable_cut(text, (size_t)n, out, size);
    return rc;
}

int os_process_parent(const struct os_identity *identity, int64_t *parent) {
    struct proc_stat stat;
    int rc = proc_stat_of(identity->pid, &stat);
    if (rc == 0 && identity->start != 0 && identity->start != stat.start)
        rc = -ESRCH;
    if (rc == 0)
        *parent = stat.parent;
    return rc;
}

int os_process_user(const struct os_identity *identity, uint32_t *user) {
    int process = proc_open(identity);
    if (process < 0)
        return process;
    int rc = proc_user(process, user);
    close(process);
    return rc < 0 ? failure(identity, rc) : 0;
}

/* Looks for NAME=value among the entries, which end with NUL each, but for perhaps the last. */
static int search_environment(FILE *file, const char *name, char *out, size_t size) {
    size_t length = strlen(name), capacity = 0;
    char *entry = NULL;
    int rc = -ENOENT;
    while (rc == -ENOENT && getdelim(&entry, &capacity, '\0', file) > 0) {
        if (strncmp(entry, name, length) != 0 || entry[length] != '=')
            continue;
        rc = strlen(entry + length + 1) < size ? 0 : -ENOBUFS;
        if (rc == 0)
            memcpy(out, entry + length + 1, strlen(entry + length + 1) + 1);
    }
    free(entry);
    return rc == -ENOENT && !feof(file) ? -EACCES : rc;
}

static int read_variable(int process, const struct os_identity *identity, const char *name,
                         char *out, size_t size) {
    int fd = proc_open_file(process, "environ");
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    int rc = file ? search_environment(file, name, out, size) : fd < 0 ? fd : -errno;
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    return rc == -ENOENT || rc == -ENOBUFS || rc == 0 ? rc : failure(identity, rc);
}

int os_process_variable(const struct os_identity *identity, const char *name, char *out,
                        size_t size) {
    if (size == 0 || !name[0] || strchr(name, '='))
        return -EINVAL;
    out[0] = '\0';
    int process = proc_open(identity);
    if (process < 0)
        return process;
    int rc = read_variable(process, identity, name, out, size);
    if (rc < 0)
        out[0] = '\0';
    close(process);
    return rc;
}

struct wanted {
    const char *name, *value;
    os_identity_fn fn;
    void *arg;
    bool is_over; /* fn wants no more */
};

/* Whether the process is our user's and has the variable with this value. */
static bool is_wanted(const struct os_identity *identity, const struct wanted *wanted) {
    char value[VALUE_BYTES];
    uint32_t user;
    int process = proc_open(identity);
    if (process < 0)
        return false;
    bool found = proc_user(process, &user) == 0 && user == os_user_self() &&
                 read_variable(process, identity, wanted->name, value, sizeof value) == 0 &&
                 strcmp(value, wanted->value) == 0;
    close(process);
    return found;
}

static void offer(void *context, int pid) {
    struct wanted *wanted = context;
    struct os_identity identity;
    if (!wanted->is_over && os_identity_of(pid, &identity) == 0 && is_wanted(&identity, wanted) &&
        os_liveness(&identity) != OS_DEAD)
        wanted->is_over = !wanted->fn(&identity, wanted->arg);
}

int os_process_each(const char *name, const char *value, os_identity_fn fn, void *arg) {
    struct wanted wanted = {.name = name, .value = value, .fn = fn, .arg = arg};
    if (!name[0] || strchr(name, '=') || strlen(value) >= VALUE_BYTES)
        return -EINVAL;
    return proc_each(offer, &wanted);
}
