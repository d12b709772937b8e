/* A tree of processes is a job: whoever is started in it is in it for good, the program before its
 * first instruction, and all of them end with the last handle of the job, which is ours alone.
 *
 * The job has no name and is not inherited, and lets nobody break away. What it tells comes through
 * a completion port to a small thread, which wakes the loop; it is only told that something may
 * have changed, and asks. */
#include "console.h"
#include "find.h"
#include "os/os_tree.h"
#include "start.h"
#include "top_windows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "text_list.h"

const bool os_tree_is_certain = true;

enum { KILLED = 1, AGAIN_MS = 50, THREAD_BYTES = 65536, LISTENERS_MAX = 8 };

struct os_tree {
    uv_async_t woken;
    uv_timer_t again; /* asks a second time in the middle of the grace; or a kill is under way */
    int open_handles;
    const struct os_tree_events *events;
    void *context;
    HANDLE port, thread;

    /* Of the present run. */
    HANDLE job; /* NULL: there is none */
    HANDLE root, wait;
    struct os_identity identity;
    uint32_t grace_ms;
    bool is_started, has_exited, was_asked, has_drained;
    bool has_closed_windows;
};

/* ---- what wakes the loop ---- */

static DWORD WINAPI wait_for_port(void *context) {
    struct os_tree *tree = context;
    DWORD message;
    ULONG_PTR key;
    OVERLAPPED *detail;
    while (GetQueuedCompletionStatus(tree->port, &message, &key, &detail, INFINITE) && key != 0)
        if (message != JOB_OBJECT_MSG_NEW_PROCESS)
            uv_async_send(&tree->woken);
    return 0;
}

static void CALLBACK on_root_signalled(void *context, BOOLEAN timed_out) {
    struct os_tree *tree = context;
    (void)timed_out;
    uv_async_send(&tree->woken);
}

/* ---- what has become of it ---- */

static bool is_empty(HANDLE job) {
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION info = {0};
    return QueryInformationJobObject(job, JobObjectBasicAccountingInformation, &info, sizeof info,
                                     NULL) &&
           info.ActiveProcesses == 0;
}

static void forget_run(struct os_tree *tree) {
    if (tree->wait)
        UnregisterWaitEx(tree->wait, INVALID_HANDLE_VALUE);
    if (tree->root)
        CloseHandle(tree->root);
    if (tree->job)
        CloseHandle(tree->job); /* which ends whoever may be left */
    tree->wait = tree->root = tree->job = NULL;
}

/* How many windows there are. They are asked to close once, for they may ask back. */
static int close_windows(struct os_tree *tree) {
    int count = windows_count(tree->job, !tree->has_closed_windows);
    tree->has_closed_windows = tree->has_closed_windows || count > 0;
    return count;
}

static void tell_exit(struct os_tree *tree) {
    struct os_exit how = {0};
    DWORD code = 0;
    tree->has_exited = true;
    GetExitCodeProcess(tree->root, &code);
    how.value = code;
    tree->events->exited(tree->context, &how);
}

static void on_woken(uv_async_t *async) {
    struct os_tree *tree = async->data;
    if (!tree->job)
        return;
    if (!tree->is_started) {
        tree->is_started = true;
        tree->events->started(tree->context, &tree->identity);
    }
    if (!tree->has_exited && win_has_ended(tree->root))
        tell_exit(tree);
    if (!tree->has_exited || !tree->job)
        return;
    if (is_empty(tree->job)) {
        uv_timer_stop(&tree->again);
        forget_run(tree);
        tree->events->emptied(tree->context);
    } else if (tree->was_asked && !tree->has_drained && console_is_left(tree->job) &&
               close_windows(tree) == 0) {
        tree->has_drained = true;
        tree->events->drained(tree->context);
    }
}

/* ---- the place ---- */

int os_tree_create(struct os_tree **out, uv_loop_t *loop, const struct os_tree_events *events,
                   void *context) {
    struct os_tree *tree = memory_zeroed(sizeof *tree);
    int rc = tree ? uv_async_init(loop, &tree->woken, on_woken) : UV_ENOMEM;
    *out = NULL;
    if (rc < 0) {
        free(tree);
        return rc;
    }
    uv_timer_init(loop, &tree->again);
    tree->woken.data = tree->again.data = tree;
    tree->open_handles = 2;
    tree->events = events;
    tree->context = context;
    tree->port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 1);
    if (tree->port)
        tree->thread = CreateThread(NULL, THREAD_BYTES, wait_for_port, tree,
                                    STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    if (!tree->thread) {
        rc = win_error();
        os_tree_destroy(tree);
        return rc;
    }
    *out = tree;
    if (win_is_bound())
        events->said(context,
                     "this runs in a job that nobody may leave, as Steam and build servers "
                     "make them: if that is ended with the program that made it, so are "
                     "Tether and the server");
    return 0;
}

static void on_closed(uv_handle_t *handle) {
    struct os_tree *tree = handle->data;
    if (--tree->open_handles == 0)
        free(tree);
}

void os_tree_destroy(struct os_tree *tree) {
    if (!tree)
        return;
    forget_run(tree);
    if (tree->thread) {
        PostQueuedCompletionStatus(tree->port, 0, 0, NULL);
        WaitForSingleObject(tree->thread, INFINITE);
        CloseHandle(tree->thread);
    }
    if (tree->port)
        CloseHandle(tree->port);
    uv_close((uv_handle_t *)&tree->woken, on_closed);
    uv_close((uv_handle_t *)&tree->again, on_closed);
}

/* ---- the start ---- */

static int make_job(struct os_tree *tree) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {.BasicLimitInformation.LimitFlags =
                                                       JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE};
    JOBOBJECT_ASSOCIATE_COMPLETION_PORT port = {tree, tree->port};
    tree->job = CreateJobObjectW(NULL, NULL);
    if (!tree->job ||
        !SetInformationJobObject(tree->job, JobObjectExtendedLimitInformation, &limits,
                                 sizeof limits) ||
        !SetInformationJobObject(tree->job, JobObjectAssociateCompletionPortInformation, &port,
                                 sizeof port))
        return win_error();
    return 0;
}

/* Where a start within a job is refused, as for programs from packages: put into it before it has
 * done anything. */
static int start_suspended(struct start_spec *start, HANDLE job, PROCESS_INFORMATION *started) {
    int rc;
    start->job = NULL;
    start->flags |= CREATE_SUSPENDED;
    rc = start_process(start, started);
    if (rc < 0)
        return rc;
    if (AssignProcessToJobObject(job, started->hProcess) &&
        ResumeThread(started->hThread) != (DWORD)-1)
        return 0;
    rc = win_error();
    TerminateProcess(started->hProcess, KILLED); /* ours, and never run */
    CloseHandle(started->hProcess);
    CloseHandle(started->hThread);
    return rc;
}

/* The program's environment, and in it where its sockets are. */
static void fill_environment(struct text_list *list, const struct os_tree_spec *spec) {
    char values[LISTENERS_MAX * (OS_NUMBER_MAX + 1)] = "", pid[OS_NUMBER_MAX];
    size_t used = 0;
    for (const char *const *entry = spec->environment; *entry; entry++)
        text_list_add(list, *entry);
    for (size_t i = 0; i < spec->listener_count; i++)
        used += (size_t)snprintf(values + used, sizeof values - used, "%s%" PRIdPTR, i ? ":" : "",
                                 spec->listeners[i]);
    os_pid_format(pid, GetCurrentProcessId());
    environment_set(list, win_listeners, used ? values : NULL);
    environment_set(list, win_listeners_from, used ? pid : NULL);
}

static int start_in_job(struct os_tree *tree, const struct os_tree_spec *spec,
                        const wchar_t *program, wchar_t *command_line,
                        PROCESS_INFORMATION *started) {
    struct text_list environment = {0};
    struct start_spec start = {.program = program,
                               .command_line = command_line,
                               .handed = spec->listeners,
                               .handed_count = spec->listener_count,
                               .job = tree->job};
    int rc = UV_ENOMEM;
    /* At our console it can be interrupted; it gets no other, so that no window comes up. */
    start.flags = console_is_there() ? 0 : CREATE_NO_WINDOW;
    memcpy(start.stdio, spec->stdio, sizeof start.stdio);
    fill_environment(&environment, spec);
    if (!environment.failed) {
        union {
            char **plain;
            const char *const *constant;
        } entries = {.plain = environment.items};
        start.environment = start_environment(entries.constant);
    }
    if (start.environment) {
        rc = start_process(&start, started);
        if (rc < 0 && rc != UV_ENOENT && rc != UV_ENOMEM)
            rc = start_suspended(&start, tree->job, started);
    }
    free(start.environment);
    text_list_finish(&environment);
    return rc;
}

static int start_found(struct os_tree *tree, const struct os_tree_spec *spec,
                       const wchar_t *program, wchar_t *command_line, struct error *err) {
    PROCESS_INFORMATION started;
    int rc = make_job(tree);
    if (rc == 0)
        rc = start_in_job(tree, spec, program, command_line, &started);
    if (rc < 0)
        return error_set(err, rc, "cannot start %s: %s%s", spec->words[0], os_error_text(rc).text,
                         rc == UV_EFTYPE ? "; check that it is a program for this system" : "");
    CloseHandle(started.hThread);
    tree->root = started.hProcess;
    tree->identity.pid = started.dwProcessId;
    rc = win_process_start(tree->root, &tree->identity.start);
    if (rc == 0 &&
        !RegisterWaitForSingleObject(&tree->wait, tree->root, on_root_signalled, tree, INFINITE,
                                     WT_EXECUTEONLYONCE | WT_EXECUTEINWAITTHREAD))
        rc = win_error();
    return rc < 0
               ? error_set(err, rc, "cannot watch %s: %s", spec->words[0], os_error_text(rc).text)
               : 0;
}

int os_tree_start(struct os_tree *tree, const struct os_tree_spec *spec, struct error *err) {
    wchar_t *program, *command_line = NULL;
    int rc;
    if (!spec->words || !spec->words[0] || !*spec->words[0])
        return error_set(err, UV_EINVAL, "no server command is set; set the command to start");
    if (spec->listener_count > LISTENERS_MAX)
        return error_set(err, UV_EINVAL, "more than %d sockets to hand down to %s", LISTENERS_MAX,
                         spec->words[0]);
    rc = find_program(spec->words[0], spec->environment, NULL, &program);
    if (rc == UV_ENOENT)
        return error_set(err, rc,
                         "cannot start %s: there is no such program; check its name and "
                         "PATH",
                         spec->words[0]);
    if (rc < 0)
        return error_set(err, rc, "cannot look for %s: %s", spec->words[0], os_error_text(rc).text);
    tree->is_started = tree->has_exited = tree->was_asked = tree->has_drained = false;
    tree->has_closed_windows = false;
    tree->grace_ms = spec->grace_ms;
    rc = start_command(&program, spec->words, &command_line);
    if (rc == 0)
        rc = start_found(tree, spec, program, command_line, err);
    else if (rc == UV_EINVAL)
        error_set(err, rc,
                  "cannot start %s: a batch file gets no words of more than one line; start the "
                  "program that it runs",
                  spec->words[0]);
    else
        error_set(err, rc, "cannot start %s: %s", spec->words[0], os_error_text(rc).text);
    free(program);
    free(command_line);
    if (rc < 0)
        forget_run(tree);
    else
        uv_async_send(&tree->woken);
    return rc;
}

/* ---- the end ---- */

/* Not all programs know an interrupt: some know Break only, and those with windows neither. */
static void ask_again(uv_timer_t *timer) {
    struct os_tree *tree = timer->data;
    if (!tree->job)
        return;
    console_break(tree->job); /* where there is none, or it is refused, the grace goes on */
    close_windows(tree);
}

bool os_tree_ask(struct os_tree *tree) {
    if (!tree->job)
        return false;
    if (tree->was_asked)
        return true;
    tree->was_asked = console_interrupt(tree->job);
    if (!tree->was_asked)
        tree->was_asked = close_windows(tree) > 0;
    uv_timer_start(&tree->again, ask_again, tree->grace_ms / 2, 0);
    return tree->was_asked;
}

/* What is started in a job while that is ended is in it, too, and ends the next time. */
static void end_all(uv_timer_t *timer) {
    struct os_tree *tree = timer->data;
    if (!tree->job)
        return;
    TerminateJobObject(tree->job, KILLED);
    uv_async_send(&tree->woken);
}

void os_tree_kill(struct os_tree *tree) {
    if (!tree->job)
        return;
    TerminateJobObject(tree->job, KILLED);
    uv_timer_start(&tree->again, end_all, AGAIN_MS, AGAIN_MS);
}

bool os_tree_forward(struct os_tree *tree, enum os_wish wish) {
    (void)tree;
    (void)wish;
    return false;
}

/* The system does that. */
struct os_identity os_tree_keeper(const struct os_tree *tree) {
    (void)tree;
    return (struct os_identity){0};
}
