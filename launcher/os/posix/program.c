#include "program.h"

#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_NOT_STARTED = 127, PID_DIGITS = 10 };

/* ---- before the fork ---- */

static int check_spec(const struct os_tree_spec *spec, struct error *err) {
    if (!spec->words || !spec->words[0] || !*spec->words[0])
        return error_set(err, -EINVAL, "no server command is set; set the command to start");
    if (spec->listener_count > PROGRAM_LISTEN_MAX)
        return error_set(err, -EINVAL,
                         "%zu sockets to hand down to %s, %d is the limit; hand down fewer",
                         spec->listener_count, spec->words[0], PROGRAM_LISTEN_MAX);
    return 0;
}

/* Ours replace whatever an outer service manager left for the daemon itself. The pid is filled in
 * by the child, who alone knows it. */
static int plan_environment(struct program_plan *plan) {
    static const char *const ours[] = {"LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID",
                                       "LISTEN_PID"};
    const struct os_tree_spec *spec = plan->spec;
    struct text_list *list = &plan->environment;
    char count[24];

    for (const char *const *entry = spec->environment; *entry; entry++)
        text_list_add(list, *entry);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        environment_set(list, ours[i], NULL);
    if (spec->listener_count > 0) {
        snprintf(count, sizeof count, "%zu", spec->listener_count);
        environment_set(list, "LISTEN_FDS", count);
        environment_set(list, "LISTEN_FDNAMES", spec->listener_names);
        environment_set(list, "LISTEN_PID", "          "); /* PID_DIGITS of room */
    }
    if (list->failed)
        return -ENOMEM;
    if (spec->listener_count > 0)
        plan->listen_pid = strchr(list->items[list->count - 1], '=') + 1;
    return 0;
}

static void plan_descriptors(struct program_plan *plan) {
    const struct os_tree_spec *spec = plan->spec;

    for (int i = 0; i < PROGRAM_STDIO_COUNT; i++)
        plan->fds[i] = (int)spec->stdio[i];
    for (size_t i = 0; i < spec->listener_count; i++)
        plan->fds[PROGRAM_STDIO_COUNT + i] = (int)spec->listeners[i];
    plan->fd_count = PROGRAM_STDIO_COUNT + (int)spec->listener_count;
}

int program_plan_make(struct program_plan *plan, const struct os_tree_spec *spec,
                      struct error *err) {
    int result = check_spec(spec, err);

    *plan = (struct program_plan){.spec = spec};
    if (result < 0)
        return result;
    result = plan_environment(plan);
    if (result < 0)
        return error_set(err, result, "no memory to start %s; free some and try again",
                         spec->words[0]);
    plan_descriptors(plan);
    return 0;
}

void program_plan_finish(struct program_plan *plan) {
    text_list_finish(&plan->environment);
}

/* ---- in the child: no heap; of stdio nothing but snprintf, and else system calls ---- */

static int move_up(int fd, int lowest) {
    return fd >= lowest ? fd : fcntl(fd, F_DUPFD_CLOEXEC, lowest);
}

/* Puts plan->fds[i] at i, whatever the numbers were before, and the pipe behind them; closes the
 * rest. First everything moves out of the way, so that nothing is overwritten unread. */
static int place_descriptors(struct program_plan *plan, int *failure_pipe) {
    int count = plan->fd_count;
    int moved = move_up(*failure_pipe, count + 1);

    if (moved < 0)
        return -1;
    *failure_pipe = moved;
    for (int i = 0; i < count; i++) {
        if (plan->fds[i] < 0)
            plan->fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
        plan->fds[i] = move_up(plan->fds[i], count + 1);
        if (plan->fds[i] < 0)
            return -1;
    }
    for (int i = 0; i < count; i++) {
        if (dup2(plan->fds[i], i) < 0)
            return -1;
    }
    if (dup2(*failure_pipe, count) < 0 || fcntl(count, F_SETFD, FD_CLOEXEC) < 0)
        return -1;
    *failure_pipe = count;
    posix_close_from(count + 1);
    return 0;
}

/* What is ignored stays ignored across exec, and what is blocked stays blocked. */
static void reset_signals(void) {
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        sigaction(number, &standard, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void fail(int failure_pipe, enum program_step step) {
    struct program_failure failure = {step, errno};
    ssize_t written;

    /* Short of a dead parent this cannot fail: the pipe is empty. Without it, the parent sees a
     * program that exited with this code. */
    do {
        written = write(failure_pipe, &failure, sizeof failure);
    } while (written < 0 && errno == EINTR);
    _exit(EXIT_NOT_STARTED);
}

static const char *find_path(char *const *environment) {
    for (; *environment; environment++) {
        if (strncmp(*environment, "PATH=", strlen("PATH=")) == 0)
            return *environment + strlen("PATH=");
    }
    return "/usr/local/bin:/usr/bin:/bin";
}

/* What execvpe() does, with the program's own PATH, but for one thing: a file that is no program is
 * an error, and is not given to a shell. Returns with errno set; that a file is there but may not
 * be run tells more than that the next folder has none. */
static void execute(const struct program_plan *plan) {
    char *const nothing[] = {NULL};
    char *const *environment = plan->environment.items ? plan->environment.items : nothing;
    char *const *words = (char *const *)(uintptr_t)plan->spec->words; /* exec only reads them */
    const char *path = find_path(environment), *name = words[0];
    char file[PATH_MAX];
    bool denied = false;

    if (strchr(name, '/') || name[0] == '\0') {
        execve(name, words, environment);
        return;
    }
    while (path) {
        int length = (int)strcspn(path, ":");
        int size =
            snprintf(file, sizeof file, "%.*s/%s", length ? length : 1, length ? path : ".", name);
        errno = ENOENT;
        if (size < PATH_MAX)
            execve(file, words, environment);
        if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
            return;
        denied |= errno == EACCES;
        path = path[length] ? path + length + 1 : NULL;
    }
    if (denied)
        errno = EACCES;
}

_Noreturn void program_become(struct program_plan *plan, int failure_pipe) {
    setsid();
    if (place_descriptors(plan, &failure_pipe) < 0)
        fail(failure_pipe, PROGRAM_STEP_DESCRIPTORS);
    reset_signals();
    if (plan->listen_pid)
        snprintf(plan->listen_pid, PID_DIGITS + 1, "%d", (int)getpid());
    execute(plan);
    fail(failure_pipe, PROGRAM_STEP_EXEC);
}

/* ---- what went wrong ---- */

int program_explain(const struct program_failure *failure, const char *command, struct error *err) {
    const char *reason = strerror(failure->error);

    switch (failure->step) {
    case PROGRAM_STEP_FORK:
        return error_set(err, -failure->error,
                         "cannot start %s: no new process: %s; close programs or raise the limit "
                         "of processes",
                         command, reason);
    case PROGRAM_STEP_DESCRIPTORS:
        return error_set(err, -failure->error,
                         "cannot start %s: its pipes and sockets cannot be set up: %s; raise the "
                         "limit of open files",
                         command, reason);
    default:
        return error_set(err, -failure->error,
                         "cannot start %s: %s; check the path, its execute permission and PATH",
                         command, reason);
    }
}
