/* The daemon's side. */
#include "guard.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"

enum { COLLECT_MOST_MS = 1000 };

/* Between the fork and the moment in which the guard has its own dispositions, no handler of the
 * daemon may run in it: they write to descriptors that both share. */
static int fork_guard(struct guard_plan *plan, int daemon_end) {
    sigset_t all;
    sigset_t before;
    int pid;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid = guard_fork(SIGCONT);
    if (pid == 0) {
        close(daemon_end);
        guard_run(plan);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

int guard_open(struct guard *guard, struct error *err) {
    int channel[2];

    *guard = (struct guard){.fd = -1, .other_end = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, channel) < 0)
        return error_set(err, -errno,
                         "cannot open a channel to the guard of the server: %s; close programs or "
                         "raise the limit of open files",
                         strerror(errno));
    guard->fd = channel[0];
    guard->other_end = channel[1];
    return 0;
}

int guard_start(struct guard *guard, const struct os_tree_spec *spec, struct error *err) {
    struct guard_plan plan = {.daemon = getpid(), .channel = guard->other_end};
    int result = program_plan_make(&plan.program, spec, err);

    must(guard->pid == 0 && guard->other_end >= 0);
    if (result == 0) {
        result = fork_guard(&plan, guard->fd);
        if (result > 0)
            guard->pid = result;
        else
            error_set(err, result,
                      "cannot start the guard of %s: %s; close programs or raise the limit of "
                      "processes",
                      spec->words[0], strerror(-result));
    }
    program_plan_finish(&plan.program);
    close(guard->other_end);
    guard->other_end = -1;
    return result < 0 ? result : 0;
}

int guard_read(struct guard *guard, struct guard_event *event) {
    ssize_t got;

    must(guard->fd >= 0);
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
int guard_tell(const struct guard *guard, enum guard_command what) {
    if (guard->pid <= 0)
        return -ESRCH;
    if (send(guard->fd, &what, sizeof what, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return -errno;
    kill(guard->pid, SIGCONT);
    return 0;
}

void guard_abandon(struct guard *guard) {
    if (guard->pid > 0)
        kill(guard->pid, SIGKILL);
}

/* The channel ends a moment before the process does. One that somebody traces can be dead and still
 * be kept from us until the tracer ends; whoever is collected then is one more stray. */
static void collect(int pid) {
    struct os_process process;
    int result = os_process_open(&process, &(struct os_identity){.pid = pid});

    if (result == 0)
        os_process_wait(&process, COLLECT_MOST_MS);
    os_process_close(&process);
    while (waitpid(pid, NULL, (result == -ENOSYS ? 0 : WNOHANG) | __WALL) < 0 && errno == EINTR)
        ;
}

bool guard_reap(struct guard *guard) {
    bool ended = guard->tree_empty;

    if (guard->pid > 0)
        collect(guard->pid);
    if (guard->fd >= 0)
        close(guard->fd);
    if (guard->other_end >= 0)
        close(guard->other_end);
    *guard = (struct guard){.fd = -1, .other_end = -1};
    return ended;
}
