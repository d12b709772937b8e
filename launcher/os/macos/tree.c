/* Trees on macOS, where nobody can be made the adopter of orphans.
 *
 * The program gets a session of its own. It is listed with everybody found in that session or below
 * somebody listed, and a queue of the kernel's tells of every fork and end of these, so that the
 * list is read again. Who leaves the session and loses his parent before he was listed gets away;
 * hence os_tree_is_certain is false.
 *
 * The program's first process is collected only when all is over: until then its number is its own,
 * and with it that of its group and session.
 *
 * There is no keeper yet. If we are killed, the tree goes on, and the next start of the instance
 * ends it (os_orphan_end). */
#include "os/os_tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/event.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bsdinfo.h"
#include "memory.h"
#include "must.h"
#include "os/posix/descent.h"
#include "os/posix/posix.h"
#include "os/posix/program.h"

enum {
    KILL_AGAIN_MS = 20, /* for whoever was forked while the others were killed */
    LOOK_MS = 500,      /* for those whose end the queue does not tell us */
};

const bool os_tree_is_certain = false;

/* How exec went. Handles of the loop are closed by it later, so what changes from run to run lives
 * apart. */
struct news {
    uv_poll_t poll;
    struct os_tree *tree;
    int pipe;
};

struct os_tree {
    uv_poll_t poll;   /* the queue */
    uv_timer_t timer; /* when to look again without an event */
    int open_handles;
    int queue;
    const struct os_tree_events *events;
    void *context;

    bool running; /* something of the current run may be left */
    struct os_identity root;
    struct descent members; /* all but the root */
    struct news *news;      /* NULL: it has been told how exec went */
    bool root_gone;         /* dead, and not collected */
    bool asked, drained, killed;
    struct error unstarted;    /* code 0: it was started */
    char command[OS_PATH_MAX]; /* of the run, for its errors */
};

/* ---- the list ---- */

/* Being told is a help, no more: who cannot be watched is found by looking again. */
static void watch(const struct os_tree *tree, int64_t pid) {
    struct kevent event;
    EV_SET(&event, (uintptr_t)pid, EVFILT_PROC, EV_ADD | EV_CLEAR, NOTE_EXIT | NOTE_FORK, 0, NULL);
    kevent(tree->queue, &event, 1, NULL, 0, NULL);
}

static void add_child(void *context, const struct os_identity *child) {
    descent_add(context, child);
}

static bool add_of_session(int64_t pid, void *context) {
    struct os_tree *tree = context;
    struct os_identity identity;
    if (pid != tree->root.pid && getsid((pid_t)pid) == tree->root.pid &&
        os_identity_of(pid, &identity) == 0)
        descent_add(&tree->members, &identity);
    return true;
}

static void drop_dead(struct descent *members) {
    size_t kept = 0;
    for (size_t i = 0; i < members->count; i++)
        if (os_liveness(&members->members[i]) != OS_DEAD)
            members->members[kept++] = members->members[i];
    members->count = kept;
}

/* Whoever starts to be watched may have forked just before, so all are asked once more. */
static void list(struct os_tree *tree) {
    struct descent *members = &tree->members;
    size_t before;
    members->problem = 0;
    do {
        before = members->count;
        bsdinfo_each(add_of_session, tree);
        descent_each_child(&tree->root, add_child, members);
        descent_extend(members);
        for (size_t i = before; i < members->count; i++)
            watch(tree, members->members[i].pid);
    } while (members->count > before);
    drop_dead(members);
}

/* ---- what becomes of the run ---- */

static void free_news(uv_handle_t *handle) {
    struct news *news = handle->data;
    close(news->pipe);
    free(news);
}

/* The pipe brings a failure, or its end: exec closed it. */
static void note_exec(struct os_tree *tree) {
    struct program_failure failure;
    struct news *news = tree->news;
    ssize_t got;
    if (!news)
        return;
    do
        got = read(news->pipe, &failure, sizeof failure);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN)
        return;
    tree->news = NULL;
    uv_close((uv_handle_t *)&news->poll, free_news);
    if (got == (ssize_t)sizeof failure)
        program_explain(&failure, tree->command, &tree->unstarted);
    else
        tree->events->started(tree->context, &tree->root);
}

/* Looks without collecting it. */
static void note_root(struct os_tree *tree) {
    struct os_exit how;
    siginfo_t info = {0};
    if (tree->root_gone ||
        waitid(P_PID, (id_t)tree->root.pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
        info.si_pid == 0)
        return;
    note_exec(tree); /* the dead hold no pipe: that is told first */
    if (!tree->running)
        return;
    tree->root_gone = true;
    how = (struct os_exit){.by_signal = info.si_code != CLD_EXITED,
                           .dumped_core = info.si_code == CLD_DUMPED,
                           .value = info.si_status};
    if (tree->unstarted.code == 0)
        tree->events->exited(tree->context, &how);
}

static void note_drained(struct os_tree *tree) {
    if (!tree->running || !tree->asked || !tree->root_gone || tree->drained ||
        tree->members.count == 0)
        return;
    for (size_t i = 0; i < tree->members.count; i++)
        if (getpgid((pid_t)tree->members.members[i].pid) == tree->root.pid)
            return;
    tree->drained = true;
    tree->events->drained(tree->context);
}

static void run_over(struct os_tree *tree) {
    struct error why = tree->unstarted;
    waitpid((pid_t)tree->root.pid, NULL, 0); /* it is dead, so this does not wait */
    descent_finish(&tree->members);
    uv_timer_stop(&tree->timer);
    tree->running = false;
    if (why.code != 0)
        tree->events->unstarted(tree->context, &why);
    else
        tree->events->emptied(tree->context);
}

static void kill_all(struct os_tree *tree) {
    if (!tree->root_gone)
        kill((pid_t)tree->root.pid, SIGSTOP);
    descent_kill(&tree->members);
    if (!tree->root_gone)
        kill((pid_t)tree->root.pid, SIGKILL);
}

static void on_timer(uv_timer_t *timer);

/* Each turn looks at everything. */
static void look(struct os_tree *tree) {
    if (!tree->running)
        return;
    note_exec(tree);
    note_root(tree);
    list(tree);
    note_drained(tree);
    if (!tree->running)
        return; /* whoever was told has let go of the tree */
    if (tree->root_gone && tree->members.count == 0 && tree->members.problem == 0) {
        run_over(tree);
        return;
    }
    if (tree->killed)
        kill_all(tree);
    if (tree->killed || tree->root_gone)
        uv_timer_start(&tree->timer, on_timer, tree->killed ? KILL_AGAIN_MS : LOOK_MS, 0);
}

static void on_timer(uv_timer_t *timer) {
    look(timer->data);
}

static void on_queue(uv_poll_t *poll, int status, int events) {
    const struct timespec now = {0};
    struct os_tree *tree = poll->data;
    struct kevent event;
    (void)status;
    (void)events;
    while (kevent(tree->queue, NULL, 0, &event, 1, &now) > 0)
        continue;
    look(tree);
}

static void on_news(uv_poll_t *poll, int status, int events) {
    const struct news *news = poll->data;
    (void)status;
    (void)events;
    look(news->tree);
}

/* ---- starting ---- */

static int news_open(struct os_tree *tree, uv_file *write_end, struct error *err) {
    struct news *news = memory_zeroed(sizeof *news);
    uv_file ends[2];
    int rc = news ? uv_pipe(ends, UV_NONBLOCK_PIPE, 0) : UV_ENOMEM;
    if (rc == 0 && (rc = uv_poll_init(tree->poll.loop, &news->poll, ends[0])) < 0) {
        close(ends[0]);
        close(ends[1]);
    }
    if (rc < 0) {
        free(news);
        return error_set(err, rc, "cannot listen to the start of the server: %s", uv_strerror(rc));
    }
    *news = (struct news){.poll = news->poll, .tree = tree, .pipe = ends[0]};
    news->poll.data = news;
    uv_poll_start(&news->poll, UV_READABLE, on_news);
    tree->news = news;
    *write_end = ends[1];
    return 0;
}

static void news_close(struct os_tree *tree) {
    if (tree->news)
        uv_close((uv_handle_t *)&tree->news->poll, free_news);
    tree->news = NULL;
}

/* Until the child has its own dispositions no handler of ours may run in it. */
static int fork_program(struct program_plan *plan, int write_end) {
    sigset_t all, before;
    int pid;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid = fork();
    if (pid == 0)
        program_become(plan, write_end);
    if (pid < 0)
        pid = -errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

static int start_root(struct os_tree *tree, const struct os_tree_spec *spec, struct error *err) {
    struct program_plan plan;
    uv_file write_end = -1;
    int rc = program_plan_make(&plan, spec, err);
    if (rc == 0)
        rc = news_open(tree, &write_end, err);
    if (rc == 0) {
        rc = fork_program(&plan, write_end);
        close(write_end);
        if (rc < 0)
            program_explain(&(struct program_failure){PROGRAM_STEP_FORK, -rc}, spec->words[0], err);
    }
    program_plan_finish(&plan);
    return rc;
}

int os_tree_start(struct os_tree *tree, const struct os_tree_spec *spec, struct error *err) {
    int pid;
    must(!tree->running);
    pid = start_root(tree, spec, err);
    if (pid < 0) {
        news_close(tree);
        return pid;
    }
    tree->running = true;
    tree->root = (struct os_identity){.pid = pid};
    os_identity_of(pid, &tree->root);
    tree->root_gone = tree->asked = tree->drained = tree->killed = false;
    tree->unstarted = (struct error){0};
    snprintf(tree->command, sizeof tree->command, "%s", spec->words[0]);
    watch(tree, pid);
    uv_timer_start(&tree->timer, on_timer, 0, 0); /* it may have ended before it was watched */
    return 0;
}

/* ---- while it runs ---- */

/* The number of the first process is its own as long as the run is not over. */
static void signal_group(const struct os_tree *tree, int number) {
    if (kill(-(pid_t)tree->root.pid, number) < 0 && !tree->root_gone)
        kill((pid_t)tree->root.pid, number); /* it has not come to its setsid() yet */
}

bool os_tree_ask(struct os_tree *tree) {
    if (tree->running && !tree->asked) {
        tree->asked = true;
        signal_group(tree, SIGTERM);
        signal_group(tree, SIGCONT); /* a stopped process acts on nothing else */
        uv_timer_start(&tree->timer, on_timer, 0, 0);
    }
    return true;
}

void os_tree_kill(struct os_tree *tree) {
    if (tree->running && !tree->killed) {
        tree->killed = true;
        uv_timer_start(&tree->timer, on_timer, 0, 0);
    }
}

bool os_tree_forward(struct os_tree *tree, enum os_wish wish) {
    must(wish == OS_WISH_USER1 || wish == OS_WISH_USER2);
    if (tree->running && !tree->root_gone)
        kill((pid_t)tree->root.pid, wish == OS_WISH_USER1 ? SIGUSR1 : SIGUSR2);
    return true;
}

struct os_identity os_tree_keeper(const struct os_tree *tree) {
    (void)tree;
    return (struct os_identity){0};
}

/* ---- the place ---- */

static int open_queue(struct os_tree *tree, uv_loop_t *loop) {
    int rc;
    tree->queue = kqueue();
    if (tree->queue < 0)
        return -errno;
    rc = posix_cloexec(tree->queue);
    if (rc == 0)
        rc = uv_poll_init(loop, &tree->poll, tree->queue);
    if (rc < 0)
        close(tree->queue);
    return rc;
}

int os_tree_create(struct os_tree **out, uv_loop_t *loop, const struct os_tree_events *events,
                   void *context) {
    struct os_tree *tree = memory_zeroed(sizeof *tree);
    int rc = tree ? open_queue(tree, loop) : UV_ENOMEM;
    *out = NULL;
    if (rc < 0) {
        free(tree);
        return rc;
    }
    signal(SIGCHLD,
           SIG_DFL); /* were it ignored, the system would collect what is ours to collect */
    uv_timer_init(loop, &tree->timer);
    tree->timer.data = tree;
    tree->poll.data = tree;
    tree->open_handles = 2;
    tree->events = events;
    tree->context = context;
    rc = uv_poll_start(&tree->poll, UV_READABLE, on_queue);
    if (rc < 0)
        os_tree_destroy(tree);
    else
        *out = tree;
    return rc;
}

static void on_closed(uv_handle_t *handle) {
    struct os_tree *tree = handle->data;
    if (--tree->open_handles > 0)
        return;
    close(tree->queue);
    descent_finish(&tree->members);
    free(tree);
}

void os_tree_destroy(struct os_tree *tree) {
    if (!tree)
        return;
    tree->running = false;
    news_close(tree);
    uv_close((uv_handle_t *)&tree->timer, on_closed);
    uv_close((uv_handle_t *)&tree->poll, on_closed);
}
