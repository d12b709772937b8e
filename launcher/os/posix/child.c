/* Starting a program from a thread of the editor.
 *
 * posix_spawn neither copies the editor's memory nor runs its fork handlers, and the child's
 * environment is a block of its own: no setenv, which would race with every other thread's getenv.
 * The child is collected by its pid, without a handler for SIGCHLD. */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

char *const *os_environment(void) {
    return environ;
}

void os_thread_block_signals(void) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    sigset_t others;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&others, faults[i]); /* for the host's crash handler, whosever the fault is */
    pthread_sigmask(SIG_BLOCK, &others, NULL);
}

static int set_attributes(posix_spawnattr_t *attributes) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static int spawn(struct os_child *child, int output, const char *path, char *const *words,
                 char *const *environment) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t pid = 0;
    int rc = posix_spawn_file_actions_init(&actions);
    if (rc != 0)
        return -rc;
    rc = posix_spawnattr_init(&attributes);
    if (rc == 0) {
        set_attributes(&attributes);
        posix_spawn_file_actions_adddup2(&actions, output, 1); /* first: it may be 0 itself */
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        rc = posix_spawn(&pid, path, &actions, &attributes, words, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    child->pid = pid;
    return -rc;
}

/* Gives a regular file of ours the execute permission it has lost. */
static bool make_executable(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
           !(info.st_mode & S_IXUSR) && chmod(path, (info.st_mode & 07777) | S_IXUSR) == 0;
}

int os_child_start(struct os_child *child, const char *path, char *const *words,
                   char *const *environment) {
    int ends[2], rc;
    *child = (struct os_child){.output = OS_NO_HANDLE};
    rc = posix_pipe(ends);
    if (rc < 0)
        return rc;
    rc = spawn(child, ends[1], path, words, environment);
    if (rc == -EACCES && make_executable(path))
        rc = spawn(child, ends[1], path, words, environment);
    close(ends[1]);
    if (rc == 0)
        child->output = ends[0];
    else
        close(ends[0]);
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
    os_handle_close(&child->output);
}
