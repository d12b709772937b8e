/* What the system tells about a process: its path by libproc, its words and variables by the copy
 * of its first stack that KERN_PROCARGS2 gives. */
#include "bsdinfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysctl.h>

#include "first_stack.h"
#include "os/posix/posix.h"
#include "readable.h"

/* On success the bytes are the caller's to free. */
static int stack_read(const struct os_identity *identity, struct first_stack *stack, char **bytes) {
    struct proc_bsdinfo info;
    int most = 0, ask_most[] = {CTL_KERN, KERN_ARGMAX};
    int ask[] = {CTL_KERN, KERN_PROCARGS2, (int)identity->pid};
    size_t size = sizeof most;
    if (sysctl(ask_most, 2, &most, &size, NULL, 0) < 0 || most <= 0)
        return -EACCES;
    *bytes = malloc((size_t)most);
    if (!*bytes)
        return -ENOMEM;
    size = (size_t)most;
    int rc = sysctl(ask, 3, *bytes, &size, NULL, 0) < 0 ? -EACCES : 0;
    /* Read first, then looked whose it was: the pid may have changed hands before. */
    int now = bsdinfo_of_identity(identity, &info);
    if (rc == 0 || now == -ESRCH)
        rc = now;
    if (rc == 0)
        *stack = first_stack_of(*bytes, size);
    else
        free(*bytes);
    return rc;
}

int os_process_command(const struct os_identity *identity, char *out, size_t size) {
    struct first_stack stack;
    char *bytes;
    if (size == 0)
        return -EINVAL;
    out[0] = '\0';
    int rc = stack_read(identity, &stack, &bytes);
    if (rc < 0)
        return rc;
    if (stack.variables > stack.words)
        readable_cut(bytes + stack.words, stack.variables - stack.words - 1, out, size);
    free(bytes);
    return 0;
}

int os_process_executable(const struct os_identity *identity, char *out, size_t size) {
    char path[PROC_PIDPATHINFO_MAXSIZE];
    struct proc_bsdinfo info;
    if (size == 0)
        return -EINVAL;
    out[0] = '\0';
    int length = proc_pidpath((int)identity->pid, path, sizeof path);
    int rc = bsdinfo_of_identity(identity, &info);
    if (rc == 0 && length <= 0)
        rc = -EACCES;
    if (rc == 0)
        readable_cut(path, (size_t)length, out, size);
    return rc;
}

int os_process_parent(const struct os_identity *identity, int64_t *parent) {
    struct proc_bsdinfo info;
    int rc = bsdinfo_of_identity(identity, &info);
    if (rc == 0)
        *parent = info.pbi_ppid;
    return rc;
}

int os_process_user(const struct os_identity *identity, uint32_t *user) {
    struct proc_bsdinfo info;
    int rc = bsdinfo_of_identity(identity, &info);
    if (rc == 0)
        *user = info.pbi_uid;
    return rc;
}

int os_process_variable(const struct os_identity *identity, const char *name, char *out,
                        size_t size) {
    struct first_stack stack;
    char *bytes;
    if (size == 0 || !name[0] || strchr(name, '='))
        return -EINVAL;
    out[0] = '\0';
    int rc = stack_read(identity, &stack, &bytes);
    if (rc < 0)
        return rc;
    rc = first_stack_variable(&stack, name, out, size);
    free(bytes);
    return rc;
}

enum { VALUE_BYTES = 256 };

struct wanted {
    const char *name, *value;
    os_identity_fn fn;
    void *arg;
};

static bool offer(int64_t pid, void *arg) {
    const struct wanted *wanted = arg;
    struct os_identity identity;
    char value[VALUE_BYTES];
    uint32_t user;
    if (os_identity_of(pid, &identity) < 0 || os_process_user(&identity, &user) < 0 ||
        user != os_user_self() ||
        os_process_variable(&identity, wanted->name, value, sizeof value) < 0 ||
        strcmp(value, wanted->value) != 0 || os_liveness(&identity) == OS_DEAD)
        return true;
    return wanted->fn(&identity, wanted->arg);
}

int os_process_each(const char *name, const char *value, os_identity_fn fn, void *arg) {
    struct wanted wanted = {.name = name, .value = value, .fn = fn, .arg = arg};
    if (!name[0] || strchr(name, '=') || strlen(value) >= VALUE_BYTES)
        return -EINVAL;
    return bsdinfo_each(offer, &wanted);
}
