/* The guard process. It never calls exec, so it runs in memory shared copy-on-write with the
 * daemon: no heap, no stdio. It touches few pages and holds two descriptors.
 *
 * It sleeps in pselect() until the daemon says something or is gone (the channel), exec is through
 * (the pipe), a child ended (SIGCHLD), or the daemon's death continued it (SIGCONT). Both signals
 * are blocked at all other times and have an empty handler: that pselect() was interrupted is all
 * the news there is, and each turn looks at everything. All other signals stay blocked, so that
 * Ctrl-C or a hang-up on the daemon's terminal cannot take away the one who cleans up. */
#include "guard.h"

#include "os/posix/posix.h"
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FD_CHANNEL = 3, FD_FAILURE = 4, FD_FIRST_UNUSED = 5 };

enum { NANOSECONDS = 1000000000 };

/* Without our own name: `pkill -9 tether` must not hit the one who then ends the tree. */
static const char title[] = "server guard";

struct guard_process {
    struct guard_plan *plan;
    int root; /* the server's first process; 0 if there was no fork */
    uint64_t root_start;
    int channel; /* -1 once the daemon is gone */
    int failure; /* -1 once it is known how exec went */
    bool root_gone;
    bool never_ran;
    bool terminated;
    bool drained;
    bool killed;
    bool refused;
    bool deadline_set;
    struct timespec deadline;
};

/* A handful of these in a life: they fit into the channel even if nobody reads. */
static void report(const struct guard_process *guard, struct guard_event event) {
    if (guard->channel >= 0)
        send(guard->channel, &event, sizeof event, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void report_failure(struct guard_process *guard, struct program_failure failure) {
    guard->never_ran = true;
    report(guard,
           (struct guard_event){.type = GUARD_EXEC_FAILED, .pid = guard->root, .failure = failure});
}

/* The pipe brings a failure, or its end: exec closed it. (So does a SIGKILL before exec; then the
 * exit that is told next says so.) */
static void note_exec(struct guard_process *guard) {
    struct program_failure failure;
    ssize_t got;

    if (guard->failure < 0)
        return;
    do {
        got = read(guard->failure, &failure, sizeof failure);
    } while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN)
        return;
    close(guard->failure);
    guard->failure = -1;
    if (got == (ssize_t)sizeof failure)
        report_failure(guard, failure);
    else
        report(guard, (struct guard_event){
                          .type = GUARD_SPAWNED, .pid = guard->root, .start = guard->root_start});
}

static void note_reaped(void *context, int pid, struct os_exit how) {
    struct guard_process *guard = context;

    if (pid != guard->root || guard->root_gone)
        return;
    /* The dead hold no pipe: how exec went can be read by now, and is told first. */
    note_exec(guard);
    guard->root_gone = true;
    if (!guard->never_ran)
        report(guard, (struct guard_event){.type = GUARD_ROOT_EXITED, .pid = pid, .exit = how});
}

/* Reaps whoever has ended, strays included: all are children of the guard sooner or later. False
 * when no child is left, and with that no descendant. */
static bool reap_children(struct guard_process *guard) {
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        note_reaped(guard, pid, posix_exit_of(status));
    return pid == 0 || errno != ECHILD;
}

static void signal_group(const struct guard_process *guard, int signal) {
    if (guard->root <= 0)
        return;
    if (guard->root_gone)
        tree_signal_group(guard->root, signal);
    else if (kill(-guard->root, signal) < 0)
        kill(guard->root, signal); /* it has not come to its setsid() yet */
}

/* SIGCONT, so that a stopped process hears the SIGTERM. */
static void ask_to_end(struct guard_process *guard) {
    if (guard->terminated)
        return;
    guard->terminated = true;
    signal_group(guard, SIGTERM);
    signal_group(guard, SIGCONT);
}

/* Signal 0 harms nobody, so the number of a reaped leader may be used; at worst a stranger's group
 * of the same number makes us wait for the whole grace. */
static void note_drained(struct guard_process *guard) {
    if (!guard->terminated || !guard->root_gone || guard->drained)
        return;
    if (kill(-guard->root, 0) < 0 && errno == ESRCH) {
        guard->drained = true;
        report(guard, (struct guard_event){.type = GUARD_DRAINED});
    }
}

static int64_t nanoseconds_left(const struct guard_process *guard) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)(guard->deadline.tv_sec - now.tv_sec) * NANOSECONDS +
           (guard->deadline.tv_nsec - now.tv_nsec);
}

static bool is_kill_due(const struct guard_process *guard) {
    bool alone = guard->channel < 0;
    return guard->killed || (alone && guard->drained) ||
           (guard->deadline_set && nanoseconds_left(guard) <= 0);
}

/* True when the tree is empty. Otherwise somebody is left whom we may not signal. */
static bool end_tree(struct guard_process *guard) {
    const struct tree_kill how = {.reaped = note_reaped, .context = guard};
    int result = tree_kill_all(&how);

    guard->killed = true;
    if (result < 0 && !guard->refused) {
        guard->refused = true;
        report(guard, (struct guard_event){.type = GUARD_KILL_REFUSED, .error = -result});
    }
    return result == 0;
}

/* The daemon is gone: what the server is granted now was agreed at the start. */
static void note_daemon_gone(struct guard_process *guard) {
    uint32_t grace_ms = guard->plan->program.spec->grace_ms;

    if (guard->channel < 0)
        return;
    close(guard->channel);
    guard->channel = -1;
    if (grace_ms == 0) {
        guard->killed = true;
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &guard->deadline);
    guard->deadline.tv_sec += grace_ms / 1000;
    guard->deadline.tv_nsec += (long)(grace_ms % 1000) * 1000000;
    guard->deadline_set = true;
    ask_to_end(guard);
}

static void obey(struct guard_process *guard, enum guard_command command) {
    if (command == GUARD_TERMINATE)
        ask_to_end(guard);
    else if (command == GUARD_KILL)
        guard->killed = true;
}

/* The end of the channel and a new parent say the same; either is enough. */
static void note_channel(struct guard_process *guard) {
    enum guard_command command;
    ssize_t got = -1;

    while (guard->channel >= 0 && got != 0) {
        got = recv(guard->channel, &command, sizeof command, MSG_DONTWAIT);
        if (got == (ssize_t)sizeof command)
            obey(guard, command);
        else if (got < 0 && errno != EINTR && errno != ECONNRESET)
            break;
    }
    if (got == 0 || getppid() != guard->plan->daemon)
        note_daemon_gone(guard);
}

static void wait_for_news(const struct guard_process *guard) {
    int64_t left = guard->deadline_set && !guard->killed ? nanoseconds_left(guard) : 0;
    struct timespec timeout = {.tv_sec = left / NANOSECONDS, .tv_nsec = left % NANOSECONDS};
    sigset_t mask;
    fd_set readable;

    if (left < 0)
        return;
    FD_ZERO(&readable);
    if (guard->channel >= 0)
        FD_SET(guard->channel, &readable);
    if (guard->failure >= 0)
        FD_SET(guard->failure, &readable);
    sigfillset(&mask);
    sigdelset(&mask, SIGCHLD);
    sigdelset(&mask, SIGCONT);
    pselect(FD_FIRST_UNUSED, &readable, NULL, NULL, left > 0 ? &timeout : NULL, &mask);
}

static void be_interrupted(int signal) {
    (void)signal;
}

/* Be continued, too, if the parent dies while this process is stopped. -ESRCH: it is dead already.
 */
static int follow_parent(int parent) {
    if (prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0) < 0)
        return -errno;
    /* If it died before the line above took effect, no signal will ever come. */
    return getppid() == parent ? 0 : -ESRCH;
}

/* Everything that has to be true before the first process of the tree exists. */
static int settle(const struct guard_plan *plan) {
    struct sigaction action = {.sa_handler = be_interrupted, .sa_flags = SA_NOCLDSTOP};
    int result = follow_parent(plan->daemon);

    if (result == 0)
        result = tree_adopt_orphans();
    prctl(PR_SET_NAME, "server-guard", 0, 0, 0);
    /* Only who may trace everybody may trace us: the server, which is of the same user, could hold
     * its guard still for ever. */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    setsid(); /* a kill of the daemon's whole group does not reach us */
    sigfillset(&action.sa_mask);
    sigaction(SIGCHLD, &action, NULL);
    sigaction(SIGCONT, &action, NULL);
    return result;
}

/* Leaves open the channel and the pipe, and no new descriptor is needed for that: the daemon may
 * have used up all that a process may have. The server's own must go: a pipe held here would never
 * end, a port never become free, nor would the daemon's lock. Gives the two their numbers and, lest
 * a later open() gets such a number, fills 0 to 2. */
static int keep_descriptors(struct guard_process *guard) {
    const os_handle kept[] = {guard->channel, guard->failure};
    int channel, failure, null;

    posix_close_but(0, kept, 2);
    channel = fcntl(guard->channel, F_DUPFD_CLOEXEC, FD_FIRST_UNUSED);
    failure = fcntl(guard->failure, F_DUPFD_CLOEXEC, FD_FIRST_UNUSED);
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (channel < 0 || failure < 0 || null < 0)
        return -errno;
    dup2(channel, FD_CHANNEL);
    dup2(failure, FD_FAILURE);
    for (int fd = 0; fd < PROGRAM_STDIO_COUNT; fd++)
        dup2(null, fd);
    guard->channel = FD_CHANNEL;
    guard->failure = FD_FAILURE;
    posix_close_from(FD_FIRST_UNUSED);
    return 0;
}

static void fork_server(struct guard_process *guard) {
    struct proc_stat stat;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
        report_failure(guard, (struct program_failure){PROGRAM_STEP_DESCRIPTORS, errno});
        return;
    }
    guard->root = guard_fork(SIGCHLD);
    if (guard->root == 0)
        program_become(&guard->plan->program, ends[1]);
    close(ends[1]);
    guard->failure = ends[0];
    if (guard->root < 0) {
        report_failure(guard, (struct program_failure){PROGRAM_STEP_FORK, -guard->root});
        guard->root = 0;
    } else if (proc_read_stat(guard->root, &stat) == 0) {
        guard->root_start = stat.start;
    }
}

/* The system shows the text that is in the memory where the arguments were put at exec. */
static void show_title(void) {
    size_t size;
    char *arguments = proc_arguments(&size);

    if (!arguments || size < sizeof title)
        return;
    memset(arguments, '\0', size);
    memcpy(arguments, title, sizeof title);
}

/* Starts the server and gives up all that only it needs. Text from the plan is not read after this:
 * it may lie in the arguments that the title overwrites. */
static void start_server(struct guard_process *guard) {
    int result;

    fork_server(guard);
    if (guard->root == 0)
        return;
    result = keep_descriptors(guard);
    if (result < 0) {
        report_failure(guard, (struct program_failure){PROGRAM_STEP_DESCRIPTORS, -result});
        posix_close_from(0); /* to end the tree takes two descriptors */
        guard->channel = -1;
        guard->failure = -1;
        guard->killed = true;
    }
    show_title();
}

_Noreturn void guard_run(struct guard_plan *plan) {
    struct guard_process guard = {.plan = plan, .channel = plan->channel, .failure = -1};
    int result = settle(plan);

    if (result < 0)
        report_failure(&guard, (struct program_failure){PROGRAM_STEP_FORK, -result});
    else
        start_server(&guard);
    while (reap_children(&guard)) {
        note_exec(&guard);
        note_drained(&guard);
        if (is_kill_due(&guard) && end_tree(&guard))
            continue;
        wait_for_news(&guard);
        note_channel(&guard);
    }
    report(&guard, (struct guard_event){.type = GUARD_TREE_EMPTY});
    _exit(0);
}
