/* Trees on Linux: each run has a guard, and this process is the adopter of orphans, so that the
 * tree of a guard that was killed falls to it. */
#include "os/os_tree.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "guard.h"
#include "memory.h"
#include "must.h"
#include "os/posix/posix.h"

enum {
    PATIENCE_MS = 5000, /* with processes that do not die though killed */
    HELD_MS = 4000,     /* in which the guard ends the tree, or is held up by somebody */
};

#ifndef TREE_IS_CERTAIN /* but in a test of what is said where it is not */
#define TREE_IS_CERTAIN true
#endif

const bool os_tree_is_certain = TREE_IS_CERTAIN;

/* Handles of the loop are closed by it later, so the one that changes from run to run lives apart.
 */
struct channel {
    uv_poll_t poll;
    struct os_tree *tree;
};

struct os_tree {
    uv_signal_t child_signal; /* tells of orphans that came to us */
    uv_timer_t held;          /* while the guard is to end the tree */
    uv_loop_t *loop;
    const struct os_tree_events *events;
    void *context;

    bool running; /* something of the current run may be left */
    struct guard guard;
    struct channel *channel;   /* the guard's reports */
    struct os_identity root;   /* pid 0: its end has been told, or it was never started */
    struct error unstarted;    /* code 0: it was started */
    char command[OS_PATH_MAX]; /* of the run, for its errors */
};

/* ---- the end of a run ---- */

static void channel_close(struct os_tree *tree) {
    if (tree->channel)
        uv_close((uv_handle_t *)&tree->channel->poll, memory_free_data);
    tree->channel = NULL;
}

static void run_over(struct os_tree *tree) {
    struct error why = tree->unstarted;
    must(tree->running && tree->guard.pid == 0);
    tree->running = false;
    if (why.code != 0)
        tree->events->unstarted(tree->context, &why);
    else
        tree->events->emptied(tree->context);
}

static void root_exited(struct os_tree *tree, const struct os_exit *how) {
    if (tree->root.pid == 0)
        return;
    tree->root.pid = 0;
    tree->events->exited(tree->context, how);
}

static bool out_of_patience(void *context) {
    return os_clock_ms() >= *(int64_t *)context;
}

/* The guard was killed: what it guarded is ours now. If something of it survives its killing, as a
 * process stuck in the kernel does, the next orphan's signal brings us here again. */
static void end_inherited(struct os_tree *tree) {
    int64_t until = os_clock_ms() + PATIENCE_MS;
    struct tree_kill how = {.give_up = out_of_patience, .context = &until};
    struct os_exit lost = {.by_signal = true, .value = SIGKILL};
    char text[128];
    int rc = tree_kill_all(&how);
    root_exited(tree, &lost);
    if (rc == 0) {
        run_over(tree);
        return;
    }
    snprintf(text, sizeof text, "processes of the server cannot be ended: %s", uv_strerror(rc));
    tree->events->said(tree->context, text);
}

static void guard_gone(struct os_tree *tree) {
    uv_timer_stop(&tree->held);
    channel_close(tree);
    if (guard_reap(&tree->guard)) {
        run_over(tree);
        return;
    }
    tree->events->said(tree->context, "the guard was killed; ending what it guarded");
    end_inherited(tree);
}

static void on_child_signal(uv_signal_t *signal, int number) {
    struct os_tree *tree = signal->data;
    (void)number;
    tree_reap_strays(tree->guard.pid);
    if (tree->running && tree->guard.pid == 0)
        end_inherited(tree);
}

/* ---- reports of the guard ---- */

static void on_guard_event(struct os_tree *tree, const struct guard_event *event) {
    switch (event->type) {
    case GUARD_SPAWNED:
        tree->root = (struct os_identity){event->pid, event->start};
        tree->events->started(tree->context, &tree->root);
        break;
    case GUARD_EXEC_FAILED:
        program_explain(&event->failure, tree->command, &tree->unstarted);
        break;
    case GUARD_ROOT_EXITED:
        root_exited(tree, &event->exit);
        break;
    case GUARD_DRAINED:
        tree->events->drained(tree->context);
        break;
    case GUARD_KILL_REFUSED:
        tree->events->said(tree->context, "some processes of the server belong to another user; "
                                          "they cannot be ended, only waited for");
        break;
    case GUARD_GONE:
        guard_gone(tree);
        break;
    case GUARD_TREE_EMPTY:
        break;
    }
}

static void on_guard(uv_poll_t *poll, int status, int events) {
    struct channel *channel = poll->data;
    struct os_tree *tree = channel->tree;
    struct guard_event event;
    int rc = 1;
    (void)status;
    (void)events;
    while (tree->channel == channel && (rc = guard_read(&tree->guard, &event)) > 0)
        on_guard_event(tree, &event);
    if (rc < 0 && tree->channel == channel)
        guard_gone(tree);
}

/* ---- starting ---- */

static int channel_open(struct os_tree *tree, struct error *err) {
    struct channel *channel = memory_zeroed(sizeof *channel);
    int rc = channel ? uv_poll_init(tree->loop, &channel->poll, tree->guard.fd) : UV_ENOMEM;
    if (rc < 0) {
        free(channel);
        return error_set(err, rc, "cannot listen to the guard of the server: %s", uv_strerror(rc));
    }
    channel->poll.data = channel;
    channel->tree = tree;
    tree->channel = channel;
    uv_poll_start(&channel->poll, UV_READABLE, on_guard);
    return 0;
}

int os_tree_start(struct os_tree *tree, const struct os_tree_spec *spec, struct error *err) {
    int rc;
    must(!tree->running && !tree->channel && tree->guard.pid == 0);
    rc = guard_open(&tree->guard, err);
    if (rc == 0)
        rc = channel_open(tree, err); /* without its reports a guard would be of no use */
    if (rc == 0)
        rc = guard_start(&tree->guard, spec, err);
    if (rc < 0) {
        channel_close(tree);
        guard_reap(&tree->guard);
        return rc;
    }
    tree->running = true;
    tree->root = (struct os_identity){0};
    tree->unstarted = (struct error){0};
    snprintf(tree->command, sizeof tree->command, "%s", spec->words[0]);
    return 0;
}

/* ---- while it runs ---- */

bool os_tree_ask(struct os_tree *tree) {
    if (tree->guard.pid)
        guard_tell(&tree->guard, GUARD_TERMINATE);
    return true;
}

/* The server may hold its guard up: trace it, freeze its control group, take its descriptors. Such
 * a guard is killed; its tree is ours then. So is that of one that is only slow: no harm. */
static void on_held(uv_timer_t *timer) {
    struct os_tree *tree = timer->data;
    tree->events->said(tree->context, "the guard is held up by somebody, so it is killed");
    guard_abandon(&tree->guard);
}

void os_tree_kill(struct os_tree *tree) {
    if (tree->guard.pid && guard_tell(&tree->guard, GUARD_KILL) == 0)
        uv_timer_start(&tree->held, on_held, HELD_MS, 0);
}

bool os_tree_forward(struct os_tree *tree, enum os_wish wish) {
    struct os_process process = {.handle = OS_NO_HANDLE};
    must(wish == OS_WISH_USER1 || wish == OS_WISH_USER2);
    if (tree->root.pid != 0 && os_process_open(&process, &tree->root) == 0)
        process_signal(&process, wish == OS_WISH_USER1 ? SIGUSR1 : SIGUSR2);
    os_process_close(&process);
    return true;
}

struct os_identity os_tree_keeper(const struct os_tree *tree) {
    struct os_identity identity = {0};
    if (tree->guard.pid)
        os_identity_of(tree->guard.pid, &identity);
    return identity;
}

/* ---- the place ---- */

int os_tree_create(struct os_tree **out, uv_loop_t *loop, const struct os_tree_events *events,
                   void *context) {
    struct os_tree *tree = memory_zeroed(sizeof *tree);
    int rc = tree ? tree_adopt_orphans() : UV_ENOMEM;
    *out = NULL;
    if (rc == 0)
        rc = uv_signal_init(loop, &tree->child_signal);
    if (rc < 0) {
        free(tree);
        return rc;
    }
    uv_timer_init(loop, &tree->held);
    tree->child_signal.data = tree->held.data = tree;
    tree->loop = loop;
    tree->events = events;
    tree->context = context;
    tree->guard = (struct guard){.fd = -1, .other_end = -1};
    rc = uv_signal_start(&tree->child_signal, on_child_signal, SIGCHLD);
    if (rc < 0)
        os_tree_destroy(tree);
    else
        *out = tree;
    return rc;
}

static void on_held_closed(uv_handle_t *handle) {
    struct os_tree *tree = handle->data;
    uv_close((uv_handle_t *)&tree->child_signal, memory_free_data);
}

void os_tree_destroy(struct os_tree *tree) {
    if (!tree)
        return;
    channel_close(tree);
    uv_close((uv_handle_t *)&tree->held, on_held_closed);
}
