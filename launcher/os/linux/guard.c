/* The daemon's side. */
#include "guard.h"

#include "fork.h"
#include "guard_plan.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Ours replace whatever an outer service manager left for the daemon itself. */
static const char *const listen_names[] = {
    "LISTEN_PID=", "LISTEN_FDS=", "LISTEN_FDNAMES=", "LISTEN_PIDFDID="};

enum { OWN_ENTRIES = 3, LISTEN_NAME_MAX = 255 };

static size_t count_strings(const char *const *strings) {
    size_t count = 0;
    while (strings[count])
        count++;
    return count;
}

static bool is_listen_entry(const char *entry) {
    for (size_t i = 0; i < sizeof listen_names / sizeof *listen_names; i++) {
        if (strncmp(entry, listen_names[i], strlen(listen_names[i])) == 0)
            return true;
    }
    return false;
}

static int check_spec(const struct guard_spec *spec, struct error *err) {
    if (!spec->argv || !spec->argv[0] || !*spec->argv[0])
        return error_set(err, -EINVAL, "no server command is set; set the command to start");
    if (spec->listen_count > GUARD_LISTEN_MAX)
        return error_set(err, -EINVAL,
                         "%zu sockets to hand down to %s, %d is the limit; hand "
                         "down fewer",
                         spec->listen_count, spec->argv[0], GUARD_LISTEN_MAX);
    for (size_t i = 0; spec->listen_names && i < spec->listen_count; i++) {
        const char *name = spec->listen_names[i];
        if (strchr(name, ':') || strlen(name) > LISTEN_NAME_MAX)
            return error_set(err, -EINVAL,
                             "the socket name '%.64s' for %s holds a ':' or is "
                             "longer than %d; choose another",
                             name, spec->argv[0], LISTEN_NAME_MAX);
    }
    return 0;
}

/* Room for our entries: the pid is filled in by the server's child, who alone knows it. */
static size_t own_environment_size(const struct guard_spec *spec) {
    size_t size = sizeof "LISTEN_PID=" + GUARD_PID_DIGITS +
                  sizeof "LISTEN_FDS=" + GUARD_PID_DIGITS + sizeof "LISTEN_FDNAMES=";
    for (size_t i = 0; spec->listen_names && i < spec->listen_count; i++)
        size += strlen(spec->listen_names[i]) + 1;
    return size;
}

static void join_names(char *at, const struct guard_spec *spec) {
    for (size_t i = 0; i < spec->listen_count; i++) {
        size_t length = strlen(spec->listen_names[i]);
        if (i > 0)
            *at++ = ':';
        memcpy(at, spec->listen_names[i], length + 1);
        at += length;
    }
}

/* Writes our entries behind one another into plan->environment and the pointers to *slot. */
static void put_own_environment(struct guard_plan *plan, char **slot) {
    const struct guard_spec *spec = plan->spec;
    char *at = plan->environment;
    char *end = at + own_environment_size(spec);

    *slot++ = at;
    at += snprintf(at, (size_t)(end - at), "LISTEN_PID=");
    plan->listen_pid = at;
    memset(at, '\0', GUARD_PID_DIGITS + 1);
    at += GUARD_PID_DIGITS + 1;
    *slot++ = at;
    at += snprintf(at, (size_t)(end - at), "LISTEN_FDS=%zu", spec->listen_count) + 1;
    if (spec->listen_names) {
        *slot++ = at;
        at += snprintf(at, (size_t)(end - at), "LISTEN_FDNAMES=");
        join_names(at, spec);
    }
    *slot = NULL;
}

static int plan_environment(struct guard_plan *plan) {
    const struct guard_spec *spec = plan->spec;
    size_t given = spec->envp ? count_strings(spec->envp) : 0;
    size_t kept = 0;
    char **own = environ;

    while (!spec->envp && own[given])
        given++;
    plan->envp = calloc(given + OWN_ENTRIES + 1, sizeof *plan->envp);
    plan->environment = malloc(own_environment_size(spec));
    if (!plan->envp || !plan->environment)
        return -ENOMEM;
    if (given > 0)
        memcpy(plan->envp, spec->envp ? (const void *)spec->envp : own, given * sizeof *plan->envp);
    for (size_t i = 0; i < given; i++) {
        if (!is_listen_entry(plan->envp[i]))
            plan->envp[kept++] = plan->envp[i];
    }
    plan->envp[kept] = NULL;
    if (spec->listen_count > 0)
        put_own_environment(plan, plan->envp + kept);
    return 0;
}

static int plan_arguments(struct guard_plan *plan) {
    size_t size = (count_strings(plan->spec->argv) + 1) * sizeof *plan->argv;

    plan->argv = malloc(size);
    if (!plan->argv)
        return -ENOMEM;
    memcpy(plan->argv, plan->spec->argv, size);
    return 0;
}

static void plan_descriptors(struct guard_plan *plan) {
    const struct guard_spec *spec = plan->spec;

    memcpy(plan->fds, spec->stdio, sizeof spec->stdio);
    if (spec->listen_count > 0)
        memcpy(plan->fds + GUARD_STDIO_COUNT, spec->listen_fds,
               spec->listen_count * sizeof *spec->listen_fds);
    plan->fd_count = GUARD_STDIO_COUNT + (int)spec->listen_count;
}

/* Between the fork and the moment in which the guard has its own dispositions, no handler of the
 * daemon may run in it: they write to descriptors that both share. */
static int fork_guard(struct guard_plan *plan, int daemon_end) {
    sigset_t all;
    sigset_t before;
    int pid;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid = os_fork_waking();
    if (pid == 0) {
        close(daemon_end);
        guard_run(plan);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

int guard_start(const struct guard_spec *spec, struct guard *out, struct error *err) {
    struct guard_plan plan = {.spec = spec, .daemon = getpid()};
    int channel[2] = {-1, -1};
    int result;

    *out = (struct guard){.fd = -1};
    result = check_spec(spec, err);
    if (result < 0)
        return result;
    result = plan_environment(&plan);
    if (result == 0)
        result = plan_arguments(&plan);
    if (result < 0) {
        error_set(err, result, "no memory to start %s; free some and try again", spec->argv[0]);
        goto release;
    }
    plan_descriptors(&plan);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, channel) < 0) {
        result = error_set(err, -errno,
                           "cannot open a channel to the guard of %s: %s; close "
                           "programs or raise the limit of open files",
                           spec->argv[0], strerror(errno));
        goto release;
    }
    plan.channel = channel[1];
    result = fork_guard(&plan, channel[0]);
    if (result < 0) {
        error_set(err, result,
                  "cannot start the guard of %s: %s; close programs or raise the "
                  "limit of processes",
                  spec->argv[0], strerror(-result));
        close(channel[0]);
    } else {
        out->pid = result;
        out->fd = channel[0];
        result = 0;
    }
    close(channel[1]);
release:
    free(plan.argv);
    free(plan.envp);
    free(plan.environment);
    return result;
}

int guard_read(struct guard *guard, struct guard_event *event) {
    ssize_t got;

    /* ECONNRESET: the guard ended with a command unread. It is told once, and before what the guard
     * had still said, which is worth having. */
    do {
        got = recv(guard->fd, event, sizeof *event, MSG_DONTWAIT);
    } while (got < 0 && (errno == EINTR || errno == ECONNRESET));
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    if (got < 0)
        return -errno;
    if (got == 0)
        *event = (struct guard_event){.type = GUARD_GONE};
    else if (got != (ssize_t)sizeof *event)
        return -EPROTO;
    if (event->type == GUARD_TREE_EMPTY)
        guard->tree_empty = true;
    return 1;
}

/* The guard is a child that only guard_reap waits for, so its number is safe to signal. */
static int command(struct guard *guard, enum guard_command what) {
    if (guard->pid <= 0)
        return -ESRCH;
    if (send(guard->fd, &what, sizeof what, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return -errno;
    kill(guard->pid, SIGCONT);
    return 0;
}

int guard_terminate(struct guard *guard) {
    int result = guard->terminated ? 0 : command(guard, GUARD_COMMAND_TERMINATE);
    guard->terminated = guard->terminated || result == 0;
    return result;
}

int guard_kill(struct guard *guard) {
    int result = guard->killed ? 0 : command(guard, GUARD_COMMAND_KILL);
    guard->killed = guard->killed || result == 0;
    return result;
}

void guard_abandon(struct guard *guard) {
    if (guard->pid > 0)
        kill(guard->pid, SIGKILL);
}

bool guard_reap(struct guard *guard) {
    bool ended = guard->tree_empty;

    if (guard->pid > 0) {
        os_wait(guard->pid, NULL);
        close(guard->fd);
    }
    *guard = (struct guard){.fd = -1};
    return ended;
}

int guard_explain(const struct guard_event *event, const struct guard_spec *spec,
                  struct error *err) {
    const char *command = spec->argv[0];
    const char *reason = strerror(event->error);

    switch (event->step) {
    case GUARD_STEP_FORK:
        return error_set(err, -event->error,
                         "cannot start %s: no new process: %s; close "
                         "programs or raise the limit of processes",
                         command, reason);
    case GUARD_STEP_DESCRIPTORS:
        return error_set(err, -event->error,
                         "cannot start %s: its pipes and sockets cannot be "
                         "set up: %s; raise the limit of open files",
                         command, reason);
    case GUARD_STEP_CHDIR:
        return error_set(err, -event->error,
                         "cannot start %s in the directory %s: %s; check the "
                         "directory",
                         command, spec->cwd ? spec->cwd : ".", reason);
    default:
        return error_set(err, -event->error,
                         "cannot start %s: %s; check the path, its execute "
                         "permission and PATH",
                         command, reason);
    }
}
