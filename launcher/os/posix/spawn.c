/* posix_spawn neither copies the memory of a large program nor runs its fork handlers, and the
 * child's environment is a block of its own: no setenv, which would race with every other thread's
 * getenv. The child is collected by its pid, without a handler for SIGCHLD. */
#include "os/os_spawn.h"
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

static int set_attributes(posix_spawnattr_t *attributes, bool detached) {
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    if (detached)
        flags |= POSIX_SPAWN_SETSID;
    return posix_spawnattr_setflags(attributes, flags);
}

/* Nothing here is below 3 but the output, which may itself be 0: its place is taken first. */
static int set_descriptors(posix_spawn_file_actions_t *actions, const struct os_spawn_spec *spec) {
    int rc = spec->output == OS_NO_HANDLE
                 ? posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0)
                 : posix_spawn_file_actions_adddup2(actions, (int)spec->output, 1);
    if (rc == 0)
        rc = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    if (rc == 0 && spec->detached)
        rc = posix_spawn_file_actions_addopen(actions, 2, "/dev/null", O_WRONLY, 0);
    for (size_t i = 0; rc == 0 && i < spec->handed_count; i++) /* to itself: exec leaves it open */
        rc = posix_spawn_file_actions_adddup2(actions, (int)spec->handed[i], (int)spec->handed[i]);
    return rc;
}

static int spawn_once(pid_t *pid, const struct os_spawn_spec *spec) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int rc = posix_spawn_file_actions_init(&actions);
    if (rc != 0)
        return -rc;
    rc = posix_spawnattr_init(&attributes);
    if (rc == 0) {
        rc = set_attributes(&attributes, spec->detached);
        if (rc == 0)
            rc = set_descriptors(&actions, spec);
        if (rc == 0)
            rc =
                posix_spawn(pid, spec->path, &actions, &attributes, spec->words, spec->environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return -rc;
}

/* Gives a file of ours the execute permission back. */
static bool make_executable(const char *path, const struct stat *info) {
    return info->st_uid == geteuid() && chmod(path, (info->st_mode & 07777) | S_IXUSR) == 0;
}

static int spawn_copy(pid_t *pid, const struct os_spawn_spec *spec) {
    char path[32];
    struct os_spawn_spec copied = *spec;
    int fd = posix_program_copy(spec->path), rc;
    if (fd < 0)
        return -EACCES; /* why it came to this says more */
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    copied.path = path;
    rc = spawn_once(pid, &copied);
    close(fd);
    return rc;
}

/* What somebody may execute, and not we, stays so. */
int os_spawn(struct os_child *child, const struct os_spawn_spec *spec) {
    struct stat info;
    pid_t pid = 0;
    int rc = spawn_once(&pid, spec);
    if (rc == -EACCES && stat(spec->path, &info) == 0 && S_ISREG(info.st_mode) &&
        !(info.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)))
        rc = make_executable(spec->path, &info) ? spawn_once(&pid, spec) : spawn_copy(&pid, spec);
    if (child)
        *child = (struct os_child){rc < 0 ? 0 : pid, OS_NO_HANDLE};
    return rc;
}

/* The kernel marks a path at which the file is not any more: another one may be, put there by an
 * update. Without one, the running program itself can be executed again. */
int os_own_program(char *out, size_t size) {
    static const char gone[] = " (deleted)";
    size_t length = size, mark = sizeof gone - 1;
    int rc = uv_exepath(out, &length);
    if (rc == 0 && length > mark && strcmp(out + length - mark, gone) == 0 &&
        access(out, F_OK) < 0) {
        out[length - mark] = 0;
        if (access(out, X_OK) < 0)
            snprintf(out, size, "/proc/self/exe");
    }
    return rc;
}

void os_child_finish(struct os_child *child, bool kill_first) {
    if (child->pid > 0) {
        if (kill_first)
            kill((pid_t)child->pid, SIGKILL);
        while (waitpid((pid_t)child->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    child->pid = 0;
}

void os_program_ask(int64_t pid) {
    kill((pid_t)pid, SIGTERM);
}
