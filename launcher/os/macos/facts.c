/* What the system tells about a process: its path by libproc, its words and variables by the copy
 * of its first stack that KERN_PROCARGS2 gives. */
#include "bsdinfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysctl.h>

#include "os/posix/posix.h"
#include "readable.h"

/* The number of words, the path, zeros, the words, the variables; each text ends with a zero. */
struct first_stack {
    char *bytes;
    size_t length;
    size_t words, variables; /* where they begin */
};

static size_t after_text(const struct first_stack *stack, size_t at) {
    while (at < stack->length && stack->bytes[at])
        at++;
    return at < stack->length ? at + 1 : at;
}

static void find_parts(struct first_stack *stack) {
    int count = 0;
    memcpy(&count, stack->bytes, sizeof count);
    size_t at = after_text(stack, sizeof count);
    while (at < stack->length && !stack->bytes[at])
        at++;
    stack->words = at;
    for (int i = 0; i < count && at < stack->length; i++)
        at = after_text(stack, at);
    stack->variables = at;
}

static int stack_read(const struct os_identity *identity, struct first_stack *stack) {
    struct proc_bsdinfo info;
    int most = 0, ask_most[] = {CTL_KERN, KERN_ARGMAX};
    int ask[] = {CTL_KERN, KERN_PROCARGS2, (int)identity->pid};
    size_t size = sizeof most;
    *stack = (struct first_stack){.bytes = NULL};
    if (sysctl(ask_most, 2, &most, &size, NULL, 0) < 0 || most <= (int)sizeof(int))
        return -EACCES;
    stack->bytes = malloc((size_t)most);
    if (!stack->bytes)
        return -ENOMEM;
    stack->length = (size_t)most;
    int rc =
        sysctl(ask, 3, stack->bytes, &stack->length, NULL, 0) < 0 || stack->length < sizeof(int)
            ? -EACCES
            : 0;
    /* Read first, then looked whose it was: the pid may have changed hands before. */
    int now = bsdinfo_of_identity(identity, &info);
    if (rc == 0 || now == -ESRCH)
        rc = now;
    if (rc == 0)
        find_parts(stack);
    return rc;
}

int os_process_command(const struct os_identity *identity, char *out, size_t size) {
    struct first_stack stack;
    if (size == 0)
        return -EINVAL;
    out[0] = '\0';
    int rc = stack_read(identity, &stack);
    if (rc == 0 && stack.variables > stack.words)
        readable_cut(stack.bytes + stack.words, stack.variables - stack.words - 1, out, size);
    free(stack.bytes);
    return rc;
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

static int find_variable(const struct first_stack *stack, const char *name, char *out,
                         size_t size) {
    size_t length = strlen(name);
    for (size_t at = stack->variables; at < stack->length; at = after_text(stack, at)) {
        const char *entry = stack->bytes + at;
        size_t left = stack->length - at;
        if (left <= length || memcmp(entry, name, length) != 0 || entry[length] != '=')
            continue;
        size_t value = strnlen(entry + length + 1, left - length - 1);
        if (value >= size)
            return -ENOBUFS;
        memcpy(out, entry + length + 1, value);
        out[value] = '\0';
        return 0;
    }
    return -ENOENT;
}

int os_process_variable(const struct os_identity *identity, const char *name, char *out,
                        size_t size) {
    struct first_stack stack;
    if (size == 0 || !name[0] || strchr(name, '='))
        return -EINVAL;
    out[0] = '\0';
    int rc = stack_read(identity, &stack);
    if (rc == 0)
        rc = find_variable(&stack, name, out, size);
    free(stack.bytes);
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
